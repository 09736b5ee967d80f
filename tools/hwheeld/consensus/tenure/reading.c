// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "consensus/tenure/state.h"

static void tenures_stall(struct tenures *tenures, int error)
{
	tenures->is_stalled = true;
	for (unsigned int i = 0; i < tenures->count; i++) {
		struct tenure *tenure = &tenures->list[i];

		if (!tenure->is_read)
			continue;
		tenure->is_read = false;
		if (error == -ENOTRECOVERABLE && tenure->state != TENURE_FREE) {
			tenure_break(tenure, "the store was restored from a backup");
			continue;
		}
		tenure->wants_reading = true;
		tenure_list(tenure);
	}
}

static void tenures_read_tails(struct tenures *tenures);

/* Without a tail, in which case @item is NULL, the chain is bare. */
static void tenures_take_tail(struct tenure *tenure, const struct consensus_item *item)
{
	struct chain_tail tail = { 0 };
	bool is_read = tenure->is_read;

	tenure->is_read = false;
	if (!is_read || tenure->state == TENURE_FREE || tenure->state == TENURE_BROKEN)
		return;
	if (item && !chain_read_tail(&tail, item->value, item->size))
		tenure_break(tenure, "its tail is damaged");
	else
		tenure_read(tenure, &tail, item ? item->revision : 0);
}

/* Keys of nodes that have shards come before all tails. */
static void tenures_take_item(struct tenures *tenures, const struct consensus_item *item)
{
	uint64_t node;
	unsigned int held = chain_held_shard(item->key, &node);
	unsigned int shard = chain_tail_shard(item->key);

	if (held < tenures->count && node == tenures->id) {
		tenures->list[held].is_held_here = true;
		tenure_note_held(&tenures->list[held], item->revision);
	} else if (held < tenures->count) {
		tenures->list[held].is_held = true;
	} else if (shard < tenures->count) {
		tenures_take_tail(&tenures->list[shard], item);
	}
}

static void tenures_read_done(struct consensus_range *range)
{
	struct tenures *tenures = (struct tenures *)((char *)range -
						     offsetof(struct tenures, reading));

	if (range->error) {
		tenures->is_reading = false;
		tenures_stall(tenures, range->error);
		return;
	}
	for (size_t i = 0; i < range->count; i++)
		tenures_take_item(tenures, &range->items[i]);
	if (range->has_more) {
		snprintf(tenures->from, CONSENSUS_KEY, "%.*s\1", CONSENSUS_KEY - 2,
			 range->items[range->count - 1].key);
		tenures_read_tails(tenures);
		return;
	}
	tenures->is_reading = false;
	for (unsigned int i = 0; i < tenures->count; i++) {
		struct tenure *tenure = &tenures->list[i];

		tenures_take_tail(tenure, NULL);
		if (!tenure->is_held_here && tenure->held <= range->revision)
			tenure->held = 0;
		tenure_release(tenure);
		if (tenure->wants_reading)
			tenure_list(tenure);
	}
}

static void tenures_read_tails(struct tenures *tenures)
{
	tenures->reading.from = tenures->from;
	tenures->reading.end = CHAIN_TAILS_END;
	tenures->reading.most = TENURE_PAGE_MOST;
	tenures->reading.done = tenures_read_done;
	tenures->store->ops->range(tenures->store, &tenures->reading);
}

/* A reading sees what happened before it was sent. */
void tenures_begin_reading(struct tenures *tenures)
{
	bool is_needed = false;

	if (tenures->is_reading)
		return;
	for (unsigned int i = 0; i < tenures->count; i++) {
		struct tenure *tenure = &tenures->list[i];

		tenure->is_read = tenure->wants_reading && !tenure->is_busy;
		is_needed |= tenure->is_read;
		tenure->wants_reading &= !tenure->is_read;
		tenure->is_held = false;
		tenure->is_held_here = false;
	}
	if (!is_needed)
		return;
	tenures->is_reading = true;
	tenures->reading.revision = 0;
	snprintf(tenures->from, CONSENSUS_KEY, CHAIN_HELD);
	tenures_read_tails(tenures);
}
