// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "consensus/tenure/state.h"
#include "memory.h"

/*
 * Txns of commits on their way: while there are so many, commits gather for the next one. A second
 * one halves the groups, and a busy etcd commits a third less by it. Fences are no commits of
 * clients, and take less time when several are on their way.
 */
#define TENURE_WINDOW	1
#define TENURE_FENCES	4

/* A part of a txn has two puts, and a delete if it cleans. */
#define TENURE_PARTS	(CONSENSUS_CHANGES / 2)
#define TENURE_COST(size)	((size) + CHAIN_TAIL + 5 * CONSENSUS_KEY)

/* A txn */
struct tenure_group {
	struct consensus_txn txn;
	struct tenures *tenures;
	size_t *on_their_way;		/* in the tenures: txns, or fences */
	struct tenure *parts[TENURE_PARTS];
	size_t count;
	size_t bytes;
	struct consensus_check checks[2 * TENURE_PARTS];
	struct consensus_put puts[2 * TENURE_PARTS];
	struct consensus_delete deletes[TENURE_PARTS];
	struct {
		char tail[CONSENSUS_KEY], log[CONSENSUS_KEY], held[CONSENSUS_KEY];
		char oldest[CONSENSUS_KEY], kept[CONSENSUS_KEY];
		unsigned char value[CHAIN_TAIL];
	} texts[TENURE_PARTS];
};

static void tenure_group_done(struct consensus_txn *txn)
{
	struct tenure_group *group = (struct tenure_group *)txn;

	--*group->on_their_way;
	for (size_t i = 0; i < group->count; i++)
		tenure_done(group->parts[i], txn);
	free(group);
}

static void tenure_group_add(struct tenure_group *group, struct tenure *tenure)
{
	size_t i = group->count++;
	struct consensus_put *puts = &group->puts[2 * i];
	char *tail = group->texts[i].tail, *log = group->texts[i].log;

	chain_tail_key(tenure->shard, tail);
	chain_log_key(tenure->shard, tenure->becomes.last, log);
	chain_write_tail(&tenure->becomes, group->texts[i].value);
	tenure->is_busy = true;
	group->parts[i] = tenure;
	group->bytes += TENURE_COST(tenure->size);
	group->checks[group->txn.checks_count++] =
		(struct consensus_check) { tail, tenure->revision };
	puts[0] = (struct consensus_put) { log, tenure->bytes, tenure->size, false };
	puts[1] = (struct consensus_put) { tail, group->texts[i].value, CHAIN_TAIL, false };
	group->txn.puts_count += 2;
	if (tenure->becomes.oldest == tenure->tail.oldest || !tenure->tail.last)
		return;
	chain_log_key(tenure->shard, tenure->tail.oldest, group->texts[i].oldest);
	chain_log_key(tenure->shard, tenure->becomes.oldest, group->texts[i].kept);
	group->deletes[group->txn.deletes_count++] =
		(struct consensus_delete) { group->texts[i].oldest, group->texts[i].kept };
}

/*
 * A tail that was lost leaves a log: nothing of that is put again. No other node had the shard with
 * the tail that was read, and one that takes it puts a tail. Model: held.pml.
 */
static void tenure_group_add_fence(struct tenure_group *group, struct tenure *tenure)
{
	char *held = group->texts->held;

	tenure_group_add(group, tenure);
	group->checks[group->txn.checks_count++] =
		(struct consensus_check) { group->texts->log, 0 };
	chain_held_key(tenure->shard, tenure->tenures->id, held);
	group->puts[group->txn.puts_count++] =
		(struct consensus_put) { held, group->texts->value, CHAIN_TAIL, true };
}

/* Two puts, and perhaps a delete */
static bool tenure_group_has_room(const struct tenure_group *group, const struct tenure *tenure)
{
	return 2 * group->count + group->txn.deletes_count + 3 <= CONSENSUS_CHANGES &&
	       group->bytes + TENURE_COST(tenure->size) <= CONSENSUS_BYTES;
}

static void tenure_group_send(struct tenure_group *group)
{
	struct consensus *store = group->tenures->store;

	group->txn.checks = group->checks;
	group->txn.puts = group->puts;
	group->txn.deletes = group->deletes;
	group->txn.done = tenure_group_done;
	++*group->on_their_way;
	store->ops->txn(store, &group->txn);
}

/*
 * Goes on with one shard; returns false if it has to wait for a place in a txn. A fence has a txn
 * of its own, so that a check which does not hold is one of its own.
 */
static bool tenure_go_on(struct tenure *tenure, struct tenure_group **group)
{
	bool is_alone = tenure->state == TENURE_FENCING;
	struct tenures *tenures = tenure->tenures;
	size_t *on_their_way = is_alone ? &tenures->fences : &tenures->commits;

	if (tenure->state == TENURE_LOADING && !tenure->is_loading && !tenure->wants_reading &&
	    !tenure->is_read && !tenures->is_stalled && tenures->loads < TENURE_LOADS)
		tenure_begin_load(tenure);
	if (tenure->state == TENURE_OWNED && tenure->heard_count && !tenure->is_checking &&
	    !tenure->suspicion && !tenures->is_stalled)
		tenure_check(tenure);
	if (tenure->state == TENURE_OWNED && !tenure->bytes && tenure->waiting &&
	    !tenure->suspicion)
		tenure_gather(tenure);
	if (!tenure->bytes || tenure->is_busy || tenure->wants_reading || tenure->is_read)
		return true;
	if (tenures->is_stalled && (tenure->was_unknown || tenure->state == TENURE_FENCING))
		return true;
	if (*group && (is_alone || !tenure_group_has_room(*group, tenure))) {
		tenure_group_send(*group);
		*group = NULL;
	}
	if (!*group && *on_their_way >= (is_alone ? TENURE_FENCES : TENURE_WINDOW))
		return false;
	if (!*group) {
		*group = memory_get(1, sizeof(**group));
		(*group)->tenures = tenures;
		(*group)->on_their_way = on_their_way;
	}
	if (!is_alone) {
		tenure_group_add(*group, tenure);
		return true;
	}
	tenure_group_add_fence(*group, tenure);
	tenure_group_send(*group);
	*group = NULL;
	return true;
}

void tenures_flush(struct tenures *tenures)
{
	struct tenure *tenure, *next, *todo = tenures->todo;
	struct tenure_group *group = NULL;

	if (!todo)
		return;
	if (!tenures->is_stalled)
		tenures_begin_reading(tenures);
	tenures->todo = NULL;
	DL_FOREACH_SAFE(todo, tenure, next) {
		DL_DELETE(todo, tenure);
		tenure->is_listed = false;
		if (!tenure_go_on(tenure, &group))
			tenure_list(tenure);
	}
	if (group)
		tenure_group_send(group);
}
