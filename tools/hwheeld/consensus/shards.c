// SPDX-License-Identifier: GPL-2.0-only
#include "clock/now.h"
#include "consensus/shards.h"
#include "memory.h"

struct shards_one {
	size_t held;
	bool is_lost;			/* to be forgotten when it is not held */
};

static struct {
	struct consensus *store;
	struct tenures *tenures;
	struct tenure_events events;
	struct shards_one *list;
	void (*forget)(unsigned int shard);
} shards;

struct consensus *shards_store(void)
{
	return shards.store;
}

struct tenures *shards_tenures(void)
{
	return shards.tenures;
}

bool shards_are_sure(void)
{
	return shards.store &&
	       now_clock_ns(CLOCK_BOOTTIME) < shards.store->ops->sure_ns(shards.store);
}

bool shards_serve(unsigned int shard)
{
	return tenure_serves(shards.tenures, shard) && !shards.list[shard].is_lost;
}

void shards_want(unsigned int shard, bool is_wanted)
{
	if (!shards.list[shard].is_lost)
		tenure_want(shards.tenures, shard, is_wanted);
}

void shards_hold(unsigned int shard)
{
	shards.list[shard].held++;
}

void shards_release(unsigned int shard)
{
	struct shards_one *it = &shards.list[shard];

	if (--it->held || !it->is_lost)
		return;
	it->is_lost = false;
	shards.forget(shard);
}

static void shards_lost(void *owner, unsigned int shard)
{
	if (shards.list[shard].held)
		shards.list[shard].is_lost = true;
	else
		shards.forget(shard);
}

void shards_begin(struct consensus *store, unsigned int count, const struct tenure_events *events,
		  void (*forget)(unsigned int shard))
{
	shards.store = store;
	shards.forget = forget;
	shards.events = *events;
	shards.events.lost = shards_lost;
	shards.list = memory_get(count, sizeof(*shards.list));
	shards.tenures = tenures_new(store, count, &shards.events, NULL);
}

void shards_end(void)
{
	shards.store = NULL;
	tenures_free(shards.tenures);
	free(shards.list);
}
