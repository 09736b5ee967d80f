// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "clock/alarm.h"
#include "memory.h"
#include "queue/timeout.h"

/* Of each one: the record of libhwheel and of the worker, the alarm, and what malloc adds */
#define OVERHEAD	256

static struct timeout *timeouts;
static struct lease *leases;
static struct timeout *oldest;
static size_t bytes;

size_t timeout_bytes_of(size_t key_length, size_t payload_length)
{
	return sizeof(struct timeout) + OVERHEAD + key_length + payload_length;
}

struct timeout *timeout_find(const char *key, size_t length)
{
	struct timeout *timeout;

	HASH_FIND(by_key, timeouts, key, length, timeout);
	return timeout;
}

struct timeout *timeout_find_leased(const unsigned char token[TOKEN_SIZE])
{
	struct lease *lease;

	HASH_FIND(by_token, leases, token, TOKEN_SIZE, lease);
	return lease ? lease->timeout : NULL;
}

struct timeout *timeout_add(const char *key, size_t length, struct queue *queue)
{
	struct timeout *timeout = memory_get(1, sizeof(*timeout) + length + 1);

	memcpy(timeout->key, key, length);
	timeout->key_length = length;
	timeout->state = TIMEOUT_NEW;
	timeout->busy = true;
	timeout->queue = queue;
	queue->timeouts++;
	bytes += timeout_bytes_of(length, 0);
	HASH_ADD_KEYPTR(by_key, timeouts, timeout->key, length, timeout);
	return timeout;
}

static void unlist(struct timeout *timeout)
{
	if (timeout->listed)
		DL_DELETE2(oldest, timeout, older, newer);
	timeout->listed = false;
}

static void drop_due(struct timeout *timeout)
{
	if (timeout->prev_due)
		queue_remove_due(timeout->queue, timeout);
}

void timeout_remove(struct timeout *timeout)
{
	drop_due(timeout);
	alarm_clear(&timeout->alarm);
	timeout_end_lease(timeout);
	unlist(timeout);
	HASH_DELETE(by_key, timeouts, timeout);
	bytes -= timeout_bytes_of(timeout->key_length, timeout->payload_length);
	timeout->queue->timeouts--;
	queue_put(timeout->queue);
	free(timeout->payload);
	free(timeout);
}

void timeout_move(struct timeout *timeout, struct queue *queue)
{
	struct queue *old = timeout->queue;

	if (old == queue)
		return;
	drop_due(timeout);
	queue->timeouts++;
	timeout->queue = queue;
	old->timeouts--;
	queue_put(old);
}

void timeout_set_payload(struct timeout *timeout, const char *payload, size_t length)
{
	char *copy = length ? memory_copy(payload, length) : NULL;

	free(timeout->payload);
	bytes += length - timeout->payload_length;
	timeout->payload = copy;
	timeout->payload_length = length;
}

void timeout_logged(struct timeout *timeout, uint64_t seq)
{
	unlist(timeout);
	timeout->seq = seq;
	timeout->listed = true;
	DL_APPEND2(oldest, timeout, older, newer);
}

void timeout_lease(struct timeout *timeout, const unsigned char token[TOKEN_SIZE], uint64_t end_ns)
{
	struct lease *lease = memory_get(1, sizeof(*lease));

	timeout_end_lease(timeout);
	memcpy(lease->token, token, TOKEN_SIZE);
	lease->timeout = timeout;
	lease->end_ns = end_ns;
	timeout->lease = lease;
	HASH_ADD(by_token, leases, token, TOKEN_SIZE, lease);
}

void timeout_end_lease(struct timeout *timeout)
{
	if (!timeout->lease)
		return;
	HASH_DELETE(by_token, leases, timeout->lease);
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
		.key = timeout->key,
		.key_length = timeout->key_length,
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

struct timeout *timeout_oldest(void)
{
	return oldest;
}

size_t timeout_count(void)
{
	return HASH_CNT(by_key, timeouts);
}

size_t timeout_bytes(void)
{
	return bytes;
}
