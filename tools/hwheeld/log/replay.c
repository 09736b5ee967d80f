// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "log/log.h"
#include "log/replay.h"
#include "queue/change.h"
#include "queue/life.h"

void replay_record(void *data, struct record *record)
{
	struct service *service = data;
	struct key key = hash_key(record->key.text, record->key.length, service->shards);
	struct timeout *timeout = timeout_find(service, &key);
	struct queue *queue;

	record->key = key;
	log_note(service, record);
	if (record->type <= RECORD_RESTART) {
		queue = queue_get(service, record->queue, record->queue_length, SIZE_MAX);
		queue->timeouts++;
		if (timeout)
			timeout_move(timeout, queue);
		else
			timeout = timeout_add(queue, &key);
		timeout_end_lease(timeout);
		timeout_take_over(timeout, record);
		timeout->state = TIMEOUT_PENDING;
		timeout_logged(timeout, record->seq);
	} else if (timeout && record->type != RECORD_LEASE) {
		timeout_remove(timeout);
		timeout = NULL;
	}
	if (!record->lease_ns || !timeout)
		return;
	timeout_lease(timeout, record->token, record->lease_ns);
	timeout->deliveries = record->deliveries;
	timeout->due_ns = record->at_ns;
	timeout->state = TIMEOUT_LEASED;
}

int replay(struct service *service)
{
	struct store *store = service->store;
	int error = 0;

	if (store->ops->load) {
		log_begin(service);
		error = store->ops->load(store, replay_record, service);
		service->logs->first = service->logs->first ?: 1;
		service->logs->next = service->logs->next ?: 1;
	}
	return error;
}

void replay_gained(struct service *service, unsigned int shard)
{
	struct timeout *timeout;

	DL_FOREACH2(service->logs[shard].oldest, timeout, newer) {
		timeout->busy = false;
		life_arm(timeout);
	}
}

void replay_arm_all(struct service *service)
{
	for (unsigned int i = 0; i < log_count(service); i++)
		replay_gained(service, i);
}

void replay_lost(struct service *service, unsigned int shard)
{
	struct log *log = &service->logs[shard];
	struct timeout *timeout, *next;

	DL_FOREACH_SAFE2(log->oldest, timeout, next, newer) {
		change_fail_waiters(timeout);
		timeout_remove(timeout);
	}
	log_forget(log);
}
