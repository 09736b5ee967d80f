// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "consensus/ensemble.h"
#include "consensus/trail.h"
#include "memory.h"
#include "nodes/shard.h"

/* So many are removed at a time. */
#define STEP	500

struct entry {
	uint64_t number;
	uint64_t end;
	unsigned int shard;
	unsigned int tenure;
};

/* A ring, of a power of two */
static struct entry *entries;
static size_t first, count, room;
static size_t dropped;			/* how many there were before the first one */

static uint64_t next = 1;

static struct removal {
	struct ensemble_call call;
	uint64_t before;
	bool is_busy;			/* with the call */
	zoo_op_t ops[2 * STEP];
	zoo_op_result_t results[2 * STEP];
	char shards[STEP][TREE_PATH];
	char logs[STEP][TREE_PATH];
	size_t places[STEP];		/* behind the first one */
	int count;
} removal;

uint64_t trail_numbers(size_t records)
{
	next += records;
	return next - records;
}

static struct entry *at(size_t index)
{
	return &entries[(first + index) & (room - 1)];
}

static void grow(void)
{
	size_t new_room = room ? 2 * room : 1024;
	struct entry *new = memory_get(new_room, sizeof(*new));

	for (size_t i = 0; i < count; i++)
		new[i] = *at(i);
	free(entries);
	entries = new;
	room = new_room;
	first = 0;
}

size_t trail_add(unsigned int shard, unsigned int tenure, uint64_t number, uint64_t end)
{
	if (count == room)
		grow();
	*at(count++) = (struct entry) {
		.shard = shard, .tenure = tenure, .number = number, .end = end,
	};
	return dropped + count - 1;
}

void trail_forget(size_t place)
{
	if (place >= dropped)
		at(place - dropped)->number = 0;
}

static bool is_of_state(const struct entry *entry, enum shard_state state)
{
	return shard_state(entry->shard) == state && shard_tenure(entry->shard) == entry->tenure;
}

static bool is_removable(const struct entry *entry)
{
	return entry->number && is_of_state(entry, SHARD_OWNED);
}

/* Those of a shard that was lost are another node's. One that is being loaded is owned soon. */
static bool is_over(const struct entry *entry)
{
	return !entry->number ||
	       (!is_of_state(entry, SHARD_OWNED) && !is_of_state(entry, SHARD_LOADING));
}

/*
 * An entry that is dropped too early leaves its commit in the log, while those behind it go: what
 * they cancelled would be there again after a takeover.
 */
static void drop(void)
{
	while (count && is_over(at(0))) {
		first = (first + 1) & (room - 1);
		count--;
		dropped++;
	}
}

/* Of the shards' epochs each check is needed once, but many cost little. */
static void add(const struct entry *entry, size_t place)
{
	int i = removal.count++;

	removal.places[i] = place;
	tree_shard_path(entry->shard, "", removal.shards[i]);
	tree_log_path(entry->shard, entry->number, removal.logs[i]);
	zoo_check_op_init(&removal.ops[2 * i], removal.shards[i], shard_epoch(entry->shard));
	zoo_delete_op_init(&removal.ops[2 * i + 1], removal.logs[i], -1);
}

static void collect(void)
{
	removal.count = 0;
	for (size_t i = 0; i < count && removal.count < STEP; i++) {
		if (at(i)->end > removal.before)
			break;
		if (is_removable(at(i)))
			add(at(i), i);
	}
}

static void go_on(void);

/* An older removal, whose answer was lost, may have removed one. */
static void look_at_results(void)
{
	for (int i = 0; i < removal.count; i++) {
		struct entry *entry = at(removal.places[i]);

		if (removal.call.error == ZOK || removal.results[2 * i + 1].err == ZNONODE)
			entry->number = 0;
		else if (is_removable(entry) && (removal.results[2 * i].err == ZBADVERSION ||
						 removal.results[2 * i].err == ZNONODE))
			shard_lose(entry->shard);
	}
}

static void removed(struct ensemble_call *call)
{
	removal.is_busy = false;
	if (call->error == ZOK || call->error == ZNONODE || call->error == ZBADVERSION) {
		look_at_results();
		go_on();
	}
}

static void go_on(void)
{
	drop();
	collect();
	if (!removal.count)
		return;
	removal.is_busy = true;
	removal.call.done = removed;
	ensemble_multi(&removal.call, 2 * removal.count, removal.ops, removal.results);
}

void trail_remove(uint64_t before)
{
	removal.before = before;
	if (!removal.is_busy)
		go_on();
}
