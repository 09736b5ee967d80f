// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "consensus/tenure/state.h"

/* A page is about so large, and has so many items at first. */
#define TENURE_PAGE_BYTES	1048576U
#define TENURE_PAGE_FIRST	16

static void tenure_load_done(struct consensus_range *range);

static void tenure_load_page(struct tenure *tenure)
{
	struct consensus *store = tenure->tenures->store;

	tenure->load.range.from = tenure->load.from;
	tenure->load.range.end = tenure->load.end;
	tenure->load.range.done = tenure_load_done;
	store->ops->range(store, &tenure->load.range);
}

void tenure_begin_load(struct tenure *tenure)
{
	tenure->is_loading = true;
	tenure->tenures->loads++;
	tenure->has_loaded = true;
	memcpy(tenure->expected, tenure->heard, sizeof(tenure->heard));
	chain_begin(&tenure->walk, &tenure->tail, tenure->expected, tenure->heard_count);
	chain_log_key(tenure->shard, 0, tenure->load.from);
	chain_log_end(tenure->shard, tenure->load.end);
	tenure->load.tenure = tenure;
	tenure->load.range.most = TENURE_PAGE_FIRST;
	tenure->load.range.revision = 0;
	tenure_load_page(tenure);
}

static void tenure_stop_loading(struct tenure *tenure)
{
	struct tenures *tenures = tenure->tenures;

	tenure->is_loading = false;
	tenures->loads--;
	for (unsigned int i = 0; i < tenures->count; i++)
		if (tenures->list[i].state == TENURE_LOADING && !tenures->list[i].is_loading)
			tenure_list(&tenures->list[i]);
}

/* All of it again: what was read is compacted, or an answer was lost. */
static void tenure_load_again(struct tenure *tenure, int error)
{
	struct tenures *tenures = tenure->tenures;

	tenure_stop_loading(tenure);
	tenure->has_loaded = false;
	tenures->events->lost(tenures->owner, tenure->shard);
	tenures->is_stalled |= error != -ESTALE;
	if (error == -ENOTRECOVERABLE)
		tenure_break(tenure, "the store was restored from a backup");
	else
		tenure_leave_if_idle(tenure);
}

static void tenure_loaded(struct tenure *tenure)
{
	struct tenures *tenures = tenure->tenures;
	const char *why = chain_judge(&tenure->walk, &tenure->tail);

	tenure_stop_loading(tenure);
	if (why) {
		tenure_suspect(tenure, why);
		return;
	}
	tenure->mended = tenure->walk.mended;
	tenure->accepts = false;
	tenure->state = TENURE_OWNED;
	tenure->heard_count = tenure_count_new(tenure);
	tenures->events->gained(tenures->owner, tenure->shard);
	tenure_list(tenure);
	tenure_leave_if_idle(tenure);
}

static void tenure_load_item(struct tenure *tenure, const struct consensus_item *item)
{
	struct tenures *tenures = tenure->tenures;
	struct chain_commit commit;

	if (!chain_walk(&tenure->walk, item->value, item->size, &commit))
		return;
	tenures->events->commit(tenures->owner, tenure->shard, commit.first);
	if (commit.size && !tenures->events->load(tenures->owner, tenure->shard, commit.first,
						  commit.content, commit.size))
		tenure->walk.has_hole = true;
}

static void tenure_load_done(struct consensus_range *range)
{
	struct tenure *tenure = ((struct tenure_range *)range)->tenure;
	size_t bytes = 0, most;

	if (range->error) {
		tenure_load_again(tenure, range->error);
		return;
	}
	for (size_t i = 0; i < range->count; i++) {
		tenure_load_item(tenure, &range->items[i]);
		bytes += range->items[i].size;
	}
	if (!range->has_more) {
		tenure_loaded(tenure);
		return;
	}
	snprintf(tenure->load.from, CONSENSUS_KEY, "%.*s\1", CONSENSUS_KEY - 2,
		 range->items[range->count - 1].key);
	most = TENURE_PAGE_BYTES / (bytes / range->count + 1) + 1;
	range->most = most < TENURE_PAGE_MOST ? most : TENURE_PAGE_MOST;
	tenure_load_page(tenure);
}
