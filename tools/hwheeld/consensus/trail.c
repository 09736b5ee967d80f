// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "consensus/ensemble.h"
#include "consensus/trail.h"
#include "consensus/tree.h"
#include "memory.h"
#include "nodes/shard.h"

/* So many are removed at a time. */
#define TRAIL_STEP	500

struct trail_entry {
	uint64_t number;
	uint64_t end;
	unsigned int shard;
	unsigned int tenure;
};

static struct {
	struct trail_entry *entries;	/* a ring, of a power of two */
	size_t first, count, room;
	size_t dropped;			/* how many there were before the first one */
	uint64_t next;			/* the number before that of the next record */
} trail;

static struct {
	struct ensemble_call call;
	uint64_t before;
	bool is_busy;			/* with the call */
	zoo_op_t ops[2 * TRAIL_STEP];
	zoo_op_result_t results[2 * TRAIL_STEP];
	char shards[TRAIL_STEP][TREE_PATH];
	char logs[TRAIL_STEP][TREE_PATH];
	size_t places[TRAIL_STEP];	/* behind the first one */
	int count;
} removal;

uint64_t trail_numbers(size_t records)
{
	trail.next += records;
	return trail.next - records + 1;
}

static struct trail_entry *trail_at(size_t index)
{
	return &trail.entries[(trail.first + index) & (trail.room - 1)];
}

size_t trail_add(unsigned int shard, unsigned int tenure, uint64_t number, uint64_t end)
{
	size_t room = trail.room ? 2 * trail.room : 1024;
	struct trail_entry *entries;

	if (trail.count == trail.room) {
		entries = memory_get(room, sizeof(*entries));
		for (size_t i = 0; i < trail.count; i++)
			entries[i] = *trail_at(i);
		free(trail.entries);
		trail.entries = entries;
		trail.room = room;
		trail.first = 0;
	}
	*trail_at(trail.count++) = (struct trail_entry) {
		.shard = shard, .tenure = tenure, .number = number, .end = end,
	};
	return trail.dropped + trail.count - 1;
}

void trail_forget(size_t place)
{
	if (place >= trail.dropped)
		trail_at(place - trail.dropped)->number = 0;
}

static bool trail_is_of_state(const struct trail_entry *entry, enum shard_state state)
{
	const struct shard *shard = shard_at(entry->shard);

	return shard->state == state && shard->tenure == entry->tenure;
}

static bool trail_is_removable(const struct trail_entry *entry)
{
	return entry->number && trail_is_of_state(entry, SHARD_OWNED);
}

/*
 * Entries of a shard that was lost are another node's. One that is being loaded is owned soon. An
 * entry that is dropped too early leaves its commit in the log, while those behind it go: what they
 * cancelled would be there again after a takeover.
 */
static void trail_drop(void)
{
	for (; trail.count; trail.count--, trail.dropped++) {
		const struct trail_entry *entry = trail_at(0);

		if (entry->number && (trail_is_of_state(entry, SHARD_OWNED) ||
				      trail_is_of_state(entry, SHARD_LOADING)))
			break;
		trail.first = (trail.first + 1) & (trail.room - 1);
	}
}

/* Of the shards' epochs each check is needed once, but many cost little. */
static void trail_collect(void)
{
	removal.count = 0;
	for (size_t i = 0; i < trail.count && removal.count < TRAIL_STEP; i++) {
		const struct trail_entry *entry = trail_at(i);
		int n = removal.count;

		if (entry->end > removal.before)
			break;
		if (!trail_is_removable(entry))
			continue;
		removal.count++;
		removal.places[n] = i;
		tree_shard_path(entry->shard, "", removal.shards[n]);
		tree_log_path(entry->shard, entry->number, removal.logs[n]);
		zoo_check_op_init(&removal.ops[2 * n], removal.shards[n],
				  shard_at(entry->shard)->epoch);
		zoo_delete_op_init(&removal.ops[2 * n + 1], removal.logs[n], -1);
	}
}

static void trail_go_on(void);

/* An older removal, whose answer was lost, may have removed one. */
static void trail_removed(struct ensemble_call *call)
{
	removal.is_busy = false;
	if (call->error != ZOK && call->error != ZNONODE && call->error != ZBADVERSION)
		return;
	for (int i = 0; i < removal.count; i++) {
		struct trail_entry *entry = trail_at(removal.places[i]);
		int checked = removal.results[2 * i].err;

		if (call->error == ZOK || removal.results[2 * i + 1].err == ZNONODE)
			entry->number = 0;
		else if (trail_is_removable(entry) &&
			 (checked == ZBADVERSION || checked == ZNONODE))
			shard_lose(entry->shard);
	}
	trail_go_on();
}

static void trail_go_on(void)
{
	trail_drop();
	trail_collect();
	if (!removal.count)
		return;
	removal.is_busy = true;
	removal.call.done = trail_removed;
	ensemble_multi(&removal.call, 2 * removal.count, removal.ops, removal.results);
}

void trail_remove(uint64_t before)
{
	removal.before = before;
	if (!removal.is_busy)
		trail_go_on();
}
