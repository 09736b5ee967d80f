// SPDX-License-Identifier: GPL-2.0-only
#include "log/replay.h"
#include "queue/change.h"
#include "queue/timeout.h"

struct numbers {
	uint64_t first;
	uint64_t last;
};

static void put(struct timeout *timeout, uint64_t seq, const struct record *record)
{
	struct queue *queue = queue_get(record->queue, record->queue_length, SIZE_MAX);

	if (timeout)
		timeout_move(timeout, queue);
	else
		timeout = timeout_add(record->key, record->key_length, queue);
	timeout_end_lease(timeout);
	timeout_set_payload(timeout, record->payload, record->payload_length);
	timeout->absolute = record->absolute;
	timeout->deadline_ns = record->deadline_ns;
	timeout->deliveries = record->deliveries;
	timeout->state = TIMEOUT_PENDING;
	timeout_logged(timeout, seq);
}

static void lease(struct timeout *timeout, const struct record *record)
{
	timeout_lease(timeout, record->token, record->lease_ns);
	timeout->deliveries = record->deliveries;
	timeout->due_ns = record->at_ns;
	timeout->state = TIMEOUT_LEASED;
}

void replay_record(uint64_t seq, const struct record *record)
{
	struct timeout *timeout = timeout_find(record->key, record->key_length);

	change_note(seq, record);
	if (record->type <= RECORD_RESTART)
		put(timeout, seq, record);
	else if (timeout && record->type != RECORD_LEASE)
		timeout_remove(timeout);
	timeout = timeout_find(record->key, record->key_length);
	if (record->lease_ns && timeout)
		lease(timeout, record);
}

static bool each(void *data, uint64_t seq, const struct record *record)
{
	struct numbers *numbers = data;

	numbers->first = numbers->first ?: seq;
	numbers->last = seq;
	replay_record(seq, record);
	return true;
}

int replay(struct store *store)
{
	struct numbers numbers = { 0 };
	int error = store->ops->load(store, each, &numbers);

	change_loaded(numbers.first ?: 1, numbers.last + 1);
	return error;
}
