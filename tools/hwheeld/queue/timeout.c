// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "clock/alarm.h"
#include "log/log.h"
#include "memory.h"
#include "queue/timeout.h"

/* Of each one: the record of libhwheel and of the worker, the alarm, and what malloc adds */
#define TIMEOUT_OVERHEAD	256

size_t timeout_bytes_of(size_t key_length, size_t payload_length)
{
	return sizeof(struct timeout) + TIMEOUT_OVERHEAD + key_length + payload_length;
}

/* The record of a put, and those of a lease and of the end */
size_t timeout_room_of(size_t key_length, size_t payload_length)
{
	struct record record = {
		.key.length = (uint32_t)key_length, .queue_length = QUEUE_MAX,
		.payload_length = (uint32_t)payload_length,
	}, end = { .key.length = (uint32_t)key_length };

	return log_cost(record_size(&record)) + 2 * log_cost(record_size(&end));
}

struct timeout *timeout_find(const struct service *service, const struct key *key)
{
	struct timeout *timeout;

	HASH_FIND_BYHASHVALUE(by_key, service->timeouts, key->text, key->length, key->hash,
			      timeout);
	return timeout;
}

struct timeout *timeout_find_leased(const struct service *service,
				    const unsigned char token[TOKEN_SIZE])
{
	struct lease *lease;

	HASH_FIND(by_token, service->leases, token, TOKEN_SIZE, lease);
	return lease ? lease->timeout : NULL;
}

static struct log *timeout_log(const struct timeout *timeout)
{
	return &timeout->queue->service->logs[timeout->shard];
}

/* Walks that are there step back. The one before the oldest is the newest, see utlist(3). */
static void timeout_unlist(struct timeout *timeout)
{
	const struct timeout *oldest = timeout_log(timeout)->oldest;
	struct walk *walk;

	if (!timeout->older)
		return;
	DL_FOREACH(timeout->queue->service->walks, walk)
		if (walk->last == timeout)
			walk->last = timeout == oldest ? NULL : timeout->older;
	DL_DELETE2(timeout_log(timeout)->oldest, timeout, older, newer);
	timeout->older = NULL;
}

/* Counts what it takes up, @times 1 or -1 modulo 2^64. */
static void timeout_account(struct timeout *timeout, size_t times)
{
	size_t key = timeout->by_key.keylen, payload = timeout->payload_length;
	struct service *service = timeout->queue->service;
	size_t bytes = times * timeout_bytes_of(key, payload);

	service->timeouts_bytes += bytes;
	service->timeouts_room += times * timeout_room_of(key, payload);
	timeout_log(timeout)->timeouts_bytes += bytes;
	timeout_log(timeout)->timeouts += times;
}

struct timeout *timeout_add(struct queue *queue, const struct key *key)
{
	struct timeout *timeout = memory_get(1, sizeof(*timeout) + key->length + 1);
	struct service *service = queue->service;

	memcpy(timeout->key, key->text, key->length);
	timeout->shard = (uint16_t)key->shard;
	timeout->state = TIMEOUT_NEW;
	timeout->busy = true;
	timeout->queue = queue;
	HASH_ADD_KEYPTR_BYHASHVALUE(by_key, service->timeouts, timeout->key, key->length,
				    key->hash, timeout);
	timeout_account(timeout, 1);
	return timeout;
}

struct key timeout_key(const struct timeout *timeout)
{
	return (struct key) {
		.text = timeout->key, .length = timeout->by_key.keylen,
		.hash = timeout->by_key.hashv, .shard = timeout->shard,
	};
}

void timeout_add_due(struct timeout *timeout)
{
	struct queue *queue = timeout->queue;

	DL_APPEND2(queue->due, timeout, prev_due, next_due);
	queue->due_count++;
	queue_make_ready(queue);
}

void timeout_drop_due(struct timeout *timeout)
{
	if (!timeout->prev_due)
		return;
	DL_DELETE2(timeout->queue->due, timeout, prev_due, next_due);
	timeout->prev_due = NULL;
	timeout->queue->due_count--;
}

void timeout_remove(struct timeout *timeout)
{
	struct service *service = timeout->queue->service;

	timeout_drop_due(timeout);
	alarm_clear(&timeout->alarm);
	timeout_end_lease(timeout);
	timeout_unlist(timeout);
	HASH_DELETE(by_key, service->timeouts, timeout);
	timeout_account(timeout, -1);
	queue_leave(timeout->queue);
	free(timeout->payload);
	free(timeout);
}

void timeout_move(struct timeout *timeout, struct queue *queue)
{
	timeout_drop_due(timeout);
	queue_leave(timeout->queue);
	timeout->queue = queue;
}

void timeout_take_over(struct timeout *timeout, const struct record *record)
{
	size_t length = record->payload_length;
	char *payload = length ? memory_copy(record->payload, length) : NULL;

	timeout_account(timeout, -1);
	free(timeout->payload);
	timeout->payload = payload;
	timeout->payload_length = record->payload_length;
	timeout->absolute = record->absolute;
	timeout->deadline_ns = record->deadline_ns;
	timeout->deliveries = record->deliveries;
	timeout_account(timeout, 1);
}

void timeout_logged(struct timeout *timeout, uint64_t seq)
{
	timeout_unlist(timeout);
	timeout->seq = seq;
	DL_APPEND2(timeout_log(timeout)->oldest, timeout, older, newer);
}

void timeout_lease(struct timeout *timeout, const unsigned char token[TOKEN_SIZE], uint64_t end_ns)
{
	struct service *service = timeout->queue->service;
	struct lease *lease = memory_get(1, sizeof(*lease));

	timeout_end_lease(timeout);
	memcpy(lease->token, token, TOKEN_SIZE);
	lease->timeout = timeout;
	lease->end_ns = end_ns;
	timeout->lease = lease;
	HASH_ADD(by_token, service->leases, token, TOKEN_SIZE, lease);
}

void timeout_end_lease(struct timeout *timeout)
{
	struct service *service = timeout->queue->service;

	if (!timeout->lease)
		return;
	HASH_DELETE(by_token, service->leases, timeout->lease);
	free(timeout->lease);
	timeout->lease = NULL;
}

void timeout_describe(const struct timeout *timeout, struct record *record)
{
	*record = (struct record) {
		.type = RECORD_PUT,
		.absolute = timeout->absolute,
		.deliveries = timeout->deliveries,
		.deadline_ns = timeout->deadline_ns,
		.key = timeout_key(timeout),
		.queue = timeout->queue->name,
		.queue_length = strlen(timeout->queue->name),
		.payload = timeout->payload,
		.payload_length = timeout->payload_length,
	};
	if (timeout->state == TIMEOUT_LEASED && timeout->lease) {
		record->lease_ns = timeout->lease->end_ns;
		memcpy(record->token, timeout->lease->token, TOKEN_SIZE);
	}
}

size_t timeout_count(const struct service *service)
{
	return HASH_CNT(by_key, service->timeouts);
}

void timeout_begin_walk(struct service *service, struct walk *walk, unsigned int shard)
{
	walk->shard = shard;
	walk->last = NULL;
	DL_APPEND(service->walks, walk);
}

void timeout_end_walk(struct service *service, struct walk *walk)
{
	DL_DELETE(service->walks, walk);
}

struct timeout *timeout_walk(const struct service *service, struct walk *walk)
{
	for (; walk->shard < log_count(service); walk->shard++) {
		walk->last = walk->last ? walk->last->newer : service->logs[walk->shard].oldest;
		if (walk->last)
			break;
	}
	return walk->last;
}
