// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "log/log.h"
#include "log/replay.h"
#include "queue/change.h"
#include "queue/life.h"

void replay_record(struct service *service, uint64_t seq, const struct record *record)
{
	struct key key = hash_key(record->key.text, record->key.length, service->shards);
	struct timeout *timeout = timeout_find(service, &key);
	struct queue *queue;

	log_note(service, seq, record);
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
		timeout_logged(timeout, seq);
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

static bool replay_each(void *data, uint64_t seq, const struct record *record)
{
	struct service *service = data;

	service->log.first = service->log.first ?: seq;
	replay_record(service, seq, record);
	return true;
}

int replay(struct service *service)
{
	struct store *store = service->store;
	int error = store->ops->load ? store->ops->load(store, replay_each, service) : 0;

	service->log.first = service->log.first ?: 1;
	service->log.next = service->log.next ?: 1;
	return error;
}

void replay_arm_all(struct service *service)
{
	struct timeout *timeout;

	DL_FOREACH2(service->oldest, timeout, newer) {
		timeout->busy = false;
		life_arm(timeout);
	}
}

/* They come at the end of the list, with those of other parts that are being loaded. */
void replay_gained(struct service *service, uint64_t seq, unsigned int shard)
{
	struct timeout *oldest = service->oldest;
	struct timeout *timeout = oldest ? oldest->older : NULL;

	for (; timeout && timeout->seq >= seq; timeout = timeout->older) {
		if (timeout->shard == shard) {
			timeout->busy = false;
			life_arm(timeout);
		}
		if (timeout == oldest)
			break;
	}
}

void replay_lost(struct service *service, const bool *is_lost)
{
	struct timeout *timeout, *next;

	DL_FOREACH_SAFE2(service->oldest, timeout, next, newer) {
		if (!is_lost[timeout->shard])
			continue;
		change_fail_waiters(timeout);
		timeout_remove(timeout);
	}
}
