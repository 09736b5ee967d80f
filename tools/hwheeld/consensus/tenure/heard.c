// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "consensus/tenure/state.h"

#define TENURE_MISSING	"a commit that a node has heard of is missing"

void tenure_keep(struct tenure *tenure, const struct chain_tail *tail)
{
	for (size_t i = 0; i < tenure->heard_count; i++)
		if (chain_is_same(&tenure->heard[i], tail))
			return;
	if (tenure->heard_count == CHAIN_HEARD)
		memmove(tenure->heard, tenure->heard + 1,
			--tenure->heard_count * sizeof(*tenure->heard));
	tenure->heard[tenure->heard_count++] = *tail;
	tenure->told = 0;
}

static void tenure_checked(struct consensus_range *range)
{
	struct tenure *tenure = ((struct tenure_range *)range)->tenure;
	struct chain_tail heard = tenure->heard[0], is = { .last = heard.last };

	tenure->is_checking = false;
	tenure->tenures->is_stalled |= range->error != 0;
	tenure_list(tenure);
	if (tenure->state != TENURE_OWNED || !tenure->heard_count || range->error ||
	    !chain_is_same(&heard, &tenure->checked))
		return;
	if (range->count)
		chain_hash(range->items[0].value, range->items[0].size, is.hash);
	/* It may just have been cleaned away. */
	if (heard.last >= (tenure->bytes ? tenure->becomes.oldest : tenure->tail.oldest) &&
	    !chain_is_same(&heard, &is)) {
		tenure_suspect(tenure, TENURE_MISSING);
		return;
	}
	tenure->heard_count--;
	memmove(tenure->heard, tenure->heard + 1, tenure->heard_count * sizeof(*tenure->heard));
	tenure_leave_if_idle(tenure);
}

void tenure_check(struct tenure *tenure)
{
	struct consensus *store = tenure->tenures->store;
	struct tenure_range *check = &tenure->check;

	tenure->is_checking = true;
	tenure->checked = tenure->heard[0];
	chain_log_key(tenure->shard, tenure->heard[0].last, check->from);
	chain_log_key(tenure->shard, tenure->heard[0].last + 1, check->end);
	check->tenure = tenure;
	check->range = (struct consensus_range) { .from = check->from, .end = check->end,
						  .most = 1, .done = tenure_checked };
	store->ops->range(store, &check->range);
}

size_t tenure_tails(const struct tenures *tenures, unsigned int shard,
		    struct chain_tail tails[CHAIN_HEARD], bool *is_owner)
{
	const struct tenure *tenure = &tenures->list[shard];

	*is_owner = tenure->state == TENURE_OWNED && !tenure->heard_count && !tenure->suspicion;
	memcpy(tails, tenure->heard, sizeof(tenure->heard));
	if (tenure->state == TENURE_OWNED)
		tails[0] = tenure->tail;
	return tenure->state == TENURE_OWNED ? 1 : tenure->heard_count;
}

/* The owner's own commits, which it does not have to look for */
static bool tenure_has(const struct tenure *tenure, const struct chain_tail *tail)
{
	return tail->owner == tenure->tail.owner || tail->last < tenure->mended ||
	       tail->last < tenure->tail.oldest;
}

static void tenure_hear_as_owner(struct tenure *tenure, const struct chain_tail *tail)
{
	if (tenure_has(tenure, tail))
		return;
	tenure_keep(tenure, tail);
	if (tail->last > tenure->tail.last)
		tenure_suspect(tenure, TENURE_MISSING);
	tenure_list(tenure);
}

/*
 * Does the owner have all that this node heard of? It does if the same owner was the last one that
 * this node heard of; others have to answer once more, when they have checked what they were told.
 */
static bool tenure_is_told(const struct tenure *tenure, const struct chain_tail *tail)
{
	return tail->owner == tenure->told ||
	       (tenure->heard_count == 1 && tenure->heard[0].owner == tail->owner);
}

void tenure_hear(struct tenures *tenures, unsigned int shard, const struct chain_tail *tail,
		 bool by_owner)
{
	struct tenure *tenure = &tenures->list[shard];

	if (tenure->state == TENURE_OWNED) {
		tenure_hear_as_owner(tenure, tail);
		return;
	}
	if (by_owner && tenure->heard_count && !tenure_is_told(tenure, tail))
		tenure->told = tail->owner;
	else if (by_owner)
		tenure->heard_count = 0;
	if (tenure->heard_count)
		return;
	tenure->heard[tenure->heard_count++] = *tail;
	if (tenure->is_read)
		tenure_read_anew(tenure);
}

size_t tenure_count_new(struct tenure *tenure)
{
	size_t count = 0;

	for (size_t i = 0; i < tenure->heard_count; i++) {
		const struct chain_tail *heard = &tenure->heard[i];
		bool is_new = !tenure_has(tenure, heard);

		for (size_t j = 0; j < tenure->walk.heard_count; j++)
			is_new = is_new && !chain_is_same(heard, &tenure->expected[j]);
		if (is_new)
			tenure->heard[count++] = *heard;
	}
	return count;
}
