// SPDX-License-Identifier: GPL-2.0-only
/* selftests/models/chain.pml has what goes on here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "consensus/tenure.h"
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

#define TENURE_MISSING	"a commit that a node has heard of is missing"

/* Beyond all numbers that what is missing may have had: none of them comes again. */
#define TENURE_JUMP	4294967296ULL

/* So many shards are loaded at a time; a page is about so large, and has so many items at first. */
#define TENURE_LOADS		4
#define TENURE_PAGE_BYTES	1048576U
#define TENURE_PAGE_FIRST	16
#define TENURE_PAGE_MOST	10000

struct tenure_range {
	struct consensus_range range;
	struct tenure *tenure;
	char from[CONSENSUS_KEY];
	char end[CONSENSUS_KEY];
};

struct tenure {
	struct tenure *prev, *next;	/* in tenures.todo */
	struct tenures *tenures;
	unsigned int shard;
	enum tenure_state state;
	bool is_wanted;
	bool accepts;			/* an operator does */
	bool is_listed;			/* in tenures.todo */

	struct chain_tail tail;		/* that is known to be there, with its revision */
	uint64_t revision;

	/* The commit that is on its way, or in doubt; it stays the same until it is known. */
	unsigned char *bytes;		/* NULL: there is none */
	size_t size;
	struct chain_tail becomes;
	struct tenure_commit *carried;
	bool is_busy;			/* in a txn */
	bool was_unknown;		/* or may be done though the answer was a refusal */
	bool is_refused;		/* as the store is full, if the tail is the one before */
	bool is_stale;			/* a check did not hold */

	bool wants_reading;		/* the tail is to be read back */
	bool is_read;			/* by the reading that is on its way */
	uint64_t looked;		/* the revision as it began, if only to look; or 0 */
	const char *suspicion;		/* why it is broken if it still is this node's */

	struct tenure_commit *waiting;
	struct tenure_range load;
	struct chain_walk walk;
	struct chain_tail expected[CHAIN_HEARD];	/* the walk's copy of what was heard */
	bool is_loading;		/* with the range */
	bool has_loaded;
	uint64_t mended;

	/* What the chain has to have. An owner checks these, one after the other. */
	struct chain_tail heard[CHAIN_HEARD];
	size_t heard_count;
	uint64_t told;			/* the owner that has heard of all, and may check them */
	struct tenure_range check;	/* of the first one, as it was then */
	struct chain_tail checked;
	bool is_checking;
};

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
		char tail[CONSENSUS_KEY], log[CONSENSUS_KEY];
		char oldest[CONSENSUS_KEY], kept[CONSENSUS_KEY];
		unsigned char value[CHAIN_TAIL];
	} texts[TENURE_PARTS];
};

struct tenures {
	struct consensus *store;
	const struct tenure_events *events;
	void *owner;
	struct tenure *list;
	unsigned int count;
	struct tenure *todo;		/* with something to send, read or load */
	size_t commits, fences;		/* txns on their way */
	size_t loads;
	struct consensus_range reading;	/* of all tails */
	bool is_reading;
	bool wants_look;
	bool is_stalled;		/* until tenures_retry() */
	char from[CONSENSUS_KEY];
};

static void tenure_list(struct tenure *tenure)
{
	if (!tenure->is_listed)
		DL_APPEND(tenure->tenures->todo, tenure);
	tenure->is_listed = true;
}

/* Commits */

static void tenure_end_commits(struct tenure_commit **list, enum consensus_outcome outcome,
			       int error, uint64_t first)
{
	struct tenure_commit *commit = *list, *next;

	*list = NULL;
	for (; commit; commit = next) {
		next = commit->next;
		commit->first = first;
		first += commit->count;
		commit->outcome = outcome;
		commit->error = error;
		commit->done(commit);
	}
}

static void tenure_drop_bytes(struct tenure *tenure)
{
	free(tenure->bytes);
	tenure->bytes = NULL;
	tenure->was_unknown = false;
	tenure->is_refused = false;
	tenure->is_stale = false;
}

/* The carried commits end: what may have been sent stays unknown. */
static void tenure_drop(struct tenure *tenure, int error)
{
	bool was_unknown = tenure->was_unknown;

	tenure_drop_bytes(tenure);
	tenure_end_commits(&tenure->carried, was_unknown ? CONSENSUS_UNKNOWN : CONSENSUS_REFUSED,
			   error, 0);
}

/* What is oldest among too many goes. */
static void tenure_keep(struct tenure *tenure, const struct chain_tail *tail)
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

static void tenure_leave(struct tenure *tenure, enum tenure_state state)
{
	struct tenures *tenures = tenure->tenures;
	bool had = tenure->has_loaded;

	if (tenure->state == TENURE_OWNED || tenure->state == TENURE_LOADING)
		tenure_keep(tenure, &tenure->tail);
	tenure->state = state;
	tenure->has_loaded = false;
	tenure->wants_reading = false;
	tenure->suspicion = NULL;
	tenure_drop(tenure, -ESTALE);
	tenure_end_commits(&tenure->waiting, CONSENSUS_REFUSED, -ESTALE, 0);
	if (had)
		tenures->events->lost(tenures->owner, tenure->shard);
}

static void tenure_lose(struct tenure *tenure)
{
	tenure->is_wanted = false;
	tenure_leave(tenure, TENURE_FREE);
}

static void tenure_break(struct tenure *tenure, const char *why)
{
	struct tenures *tenures = tenure->tenures;

	tenure_leave(tenure, TENURE_BROKEN);
	tenures->events->broken(tenures->owner, tenure->shard, why);
}

/* Nothing is on its way or to be checked: a shard that is not wanted is left. */
static void tenure_leave_if_idle(struct tenure *tenure)
{
	if (tenure->is_wanted || tenure->state == TENURE_FREE || tenure->bytes ||
	    tenure->is_loading || tenure->waiting || tenure->suspicion ||
	    (tenure->state == TENURE_OWNED && tenure->heard_count))
		return;
	tenure_leave(tenure, TENURE_FREE);
}

static void tenure_seal(struct tenure *tenure, struct chain_commit *commit, size_t size)
{
	commit->owner = tenure->becomes.owner;
	memcpy(commit->before, tenure->tail.hash, CHAIN_HASH);
	chain_seal(commit, tenure->bytes);
	tenure->size = CHAIN_HEADER + size;
	tenure->becomes.last = commit->last;
	chain_hash(tenure->bytes, tenure->size, tenure->becomes.hash);
	tenure_list(tenure);
}

/* As many of the waiting commits as fit into one */
static void tenure_gather(struct tenure *tenure)
{
	struct chain_commit commit = { .first = tenure->tail.last + 1, .last = tenure->tail.last };
	struct tenure_commit *it = tenure->waiting, **end = &tenure->carried;
	size_t size = 0, used = 0;

	for (; it && size + it->size <= TENURE_CONTENT; it = it->next)
		size += it->size;
	tenure->bytes = memory_get(CHAIN_HEADER + size, 1);
	tenure->becomes.oldest = tenure->tail.oldest;
	while (tenure->waiting && used + tenure->waiting->size <= TENURE_CONTENT) {
		it = tenure->waiting;
		LL_DELETE(tenure->waiting, it);
		memcpy(tenure->bytes + CHAIN_HEADER + used, it->content, it->size);
		used += it->size;
		commit.last += it->count;
		if (it->clean_before > tenure->becomes.oldest &&
		    it->clean_before <= tenure->tail.last)
			tenure->becomes.oldest = it->clean_before;
		it->next = NULL;
		*end = it;
		end = &it->next;
	}
	tenure_seal(tenure, &commit, used);
}

/* Fences */

static void tenure_fence(struct tenure *tenure, const struct chain_tail *tail, uint64_t revision)
{
	struct chain_commit commit = { .first = tail->last, .mends = tenure->accepts };
	struct tenures *tenures = tenure->tenures;

	for (size_t i = 0; i < tenure->heard_count; i++) {
		const struct chain_tail *heard = &tenure->heard[i];

		if (heard->last > commit.first)
			commit.first = heard->last;
		if (tenure->accepts || heard->last < tail->last || chain_is_same(heard, tail))
			continue;
		tenure_break(tenure, "the end of its log, which a node has heard of, is missing");
		return;
	}
	tenure->tail = *tail;
	tenure->revision = revision;
	tenure->becomes.owner = tenures->events->draw(tenures->owner);
	tenure->becomes.oldest = tail->oldest ?: 1;
	commit.first += tenure->accepts ? TENURE_JUMP : 1;
	commit.last = commit.first;
	tenure->bytes = memory_get(CHAIN_HEADER, 1);
	tenure->state = TENURE_FENCING;
	tenure_seal(tenure, &commit, 0);
}

/* A reading that is on its way may have missed what gave the reason for another one. */
static void tenure_read_anew(struct tenure *tenure)
{
	tenure->is_read = false;
	tenure->wants_reading = true;
	tenure_list(tenure);
}

/* Another node may have the log: that is looked at before it is called broken. */
static void tenure_suspect(struct tenure *tenure, const char *why)
{
	tenure->suspicion = why;
	tenure_read_anew(tenure);
}

/* What others heard */

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

static void tenure_check(struct tenure *tenure)
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

/* Loading */

static void tenure_load_done(struct consensus_range *range);

static void tenure_load_page(struct tenure *tenure)
{
	struct consensus *store = tenure->tenures->store;

	tenure->load.range.from = tenure->load.from;
	tenure->load.range.end = tenure->load.end;
	tenure->load.range.done = tenure_load_done;
	store->ops->range(store, &tenure->load.range);
}

static void tenure_begin_load(struct tenure *tenure)
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

/* What was heard during the load goes to the front, and is still to be checked. */
static size_t tenure_count_new(struct tenure *tenure)
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

/* Reading back */

static void tenure_committed(struct tenure *tenure, uint64_t revision)
{
	struct tenures *tenures = tenure->tenures;
	uint64_t first = tenure->tail.last + 1;

	tenure->tail = tenure->becomes;
	tenure->revision = revision;
	tenure_drop_bytes(tenure);
	if (tenure->state == TENURE_FENCING)
		tenure->state = TENURE_LOADING;
	else
		tenures->events->commit(tenures->owner, tenure->shard, first);
	tenure_end_commits(&tenure->carried, CONSENSUS_DONE, 0, first);
	tenure_leave_if_idle(tenure);
	tenure_list(tenure);
}

/* @revision: 0: there is no tail */
static void tenure_read(struct tenure *tenure, const struct chain_tail *tail, uint64_t revision)
{
	bool is_there = tenure->bytes && !memcmp(tail->hash, tenure->becomes.hash, CHAIN_HASH);
	bool is_own = is_there || revision == tenure->revision;
	const char *suspicion = tenure->suspicion;

	tenure->suspicion = NULL;
	if (tenure->state == TENURE_READING) {
		tenure_fence(tenure, tail, revision);
	} else if (is_own) {
		if (is_there)
			tenure_committed(tenure, revision);
		else if (tenure->is_refused)
			tenure_drop(tenure, -ENOSPC);
		else if (tenure->state == TENURE_FENCING && tenure->is_stale)
			suspicion = "its log goes on behind its tail";
		if (suspicion)
			tenure_break(tenure, suspicion);
		else
			tenure_leave_if_idle(tenure);
		tenure_list(tenure);
	} else if (tenure->state == TENURE_FENCING) {
		tenure_drop_bytes(tenure);
		tenure_fence(tenure, tail, revision);
	} else if (tail->last <= tenure->tail.last) {
		tenure_break(tenure, "commits that were done are missing at its end");
	} else {
		tenure_lose(tenure);
	}
}

static void tenures_stall(struct tenures *tenures, int error)
{
	tenures->is_stalled = true;
	for (unsigned int i = 0; i < tenures->count; i++) {
		struct tenure *tenure = &tenures->list[i];

		if (!tenure->is_read)
			continue;
		tenure->is_read = false;
		if (error == -ENOTRECOVERABLE) {
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

	uint64_t revision = item ? item->revision : 0, looked = tenure->looked;
	bool is_read = tenure->is_read;

	tenure->is_read = false;
	tenure->looked = 0;
	if (!is_read && looked && tenure->state == TENURE_OWNED && revision != looked &&
	    revision != tenure->revision)
		tenure_read_anew(tenure);
	if (!is_read || tenure->state == TENURE_FREE || tenure->state == TENURE_BROKEN)
		return;
	if (item && !chain_read_tail(&tail, item->value, item->size))
		tenure_break(tenure, "its tail is damaged");
	else
		tenure_read(tenure, &tail, revision);
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
	for (size_t i = 0; i < range->count; i++) {
		unsigned int shard = chain_shard(range->items[i].key);

		if (shard < tenures->count)
			tenures_take_tail(&tenures->list[shard], &range->items[i]);
	}
	if (range->has_more) {
		snprintf(tenures->from, CONSENSUS_KEY, "%.*s\1", CONSENSUS_KEY - 2,
			 range->items[range->count - 1].key);
		tenures_read_tails(tenures);
		return;
	}
	tenures->is_reading = false;
	for (unsigned int i = 0; i < tenures->count; i++) {
		tenures_take_tail(&tenures->list[i], NULL);
		if (tenures->list[i].wants_reading)
			tenure_list(&tenures->list[i]);
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

/*
 * A reading sees what happened before it was sent. It looks at the tails of all owned shards: one
 * that has nothing to commit may have been taken by another node.
 */
static void tenures_begin_reading(struct tenures *tenures)
{
	bool is_needed = tenures->wants_look;

	if (tenures->is_reading)
		return;
	tenures->wants_look = false;
	for (unsigned int i = 0; i < tenures->count; i++) {
		struct tenure *tenure = &tenures->list[i];

		tenure->is_read = tenure->wants_reading && !tenure->is_busy;
		is_needed |= tenure->is_read;
		tenure->wants_reading &= !tenure->is_read;
		tenure->looked = tenure->state == TENURE_OWNED ? tenure->revision : 0;
	}
	if (!is_needed)
		return;
	tenures->is_reading = true;
	tenures->reading.revision = 0;
	snprintf(tenures->from, CONSENSUS_KEY, CHAIN_TAILS);
	tenures_read_tails(tenures);
}

/* Txns */

static void tenure_done(struct tenure *tenure, const struct consensus_txn *txn)
{
	bool is_stale = txn->error == -ESTALE, is_unknown = txn->outcome == CONSENSUS_UNKNOWN;
	bool is_full = txn->error == -ENOSPC && tenure->state == TENURE_OWNED;

	tenure->is_busy = false;
	if (txn->outcome == CONSENSUS_DONE) {
		tenure_committed(tenure, txn->revision);
		return;
	}
	if (is_unknown && !tenure->was_unknown)
		for (struct tenure_commit *it = tenure->carried; it; it = it->next) {
			it->outcome = CONSENSUS_UNKNOWN;
			it->error = -EAGAIN;
			it->done(it);
		}
	tenure->was_unknown |= is_unknown || is_stale;
	tenure->is_stale = is_stale;
	if (txn->error == -ENOTRECOVERABLE) {
		tenure_break(tenure, "the store was restored from a backup");
	} else if (is_stale || is_unknown || is_full || tenure->was_unknown) {
		tenure->is_refused = is_full && !tenure->was_unknown;
		tenure->wants_reading = true;
		tenure->tenures->is_stalled |= !is_stale && !is_unknown && !tenure->is_refused;
		tenure_list(tenure);
	} else if (tenure->state == TENURE_FENCING) {
		tenure->tenures->is_stalled = true;
		tenure_list(tenure);
	} else {
		tenure_drop(tenure, txn->error);
		tenure_leave_if_idle(tenure);
	}
}

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
	group->parts[i] = tenure;
	group->bytes += TENURE_COST(tenure->size);
	group->checks[group->txn.checks_count++] =
		(struct consensus_check) { tail, tenure->revision };
	/* A tail that was lost leaves a log: nothing of that is put again. */
	if (tenure->state == TENURE_FENCING)
		group->checks[group->txn.checks_count++] = (struct consensus_check) { log, 0 };
	puts[0] = (struct consensus_put) { log, tenure->bytes, tenure->size, false };
	puts[1] = (struct consensus_put) { tail, group->texts[i].value, CHAIN_TAIL, false };
	tenure->is_busy = true;
	if (tenure->becomes.oldest == tenure->tail.oldest || !tenure->tail.last)
		return;
	chain_log_key(tenure->shard, tenure->tail.oldest, group->texts[i].oldest);
	chain_log_key(tenure->shard, tenure->becomes.oldest, group->texts[i].kept);
	group->deletes[group->txn.deletes_count++] =
		(struct consensus_delete) { group->texts[i].oldest, group->texts[i].kept };
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
	group->txn.puts_count = 2 * group->count;
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
	tenure_group_add(*group, tenure);
	if (is_alone) {
		tenure_group_send(*group);
		*group = NULL;
	}
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

void tenures_retry(struct tenures *tenures)
{
	tenures->is_stalled = false;
	tenures->wants_look = true;
	for (unsigned int i = 0; i < tenures->count; i++)
		tenure_list(&tenures->list[i]);
	tenures_flush(tenures);
}

bool tenure_serves(const struct tenures *tenures, unsigned int shard)
{
	const struct tenure *tenure = &tenures->list[shard];

	return tenure->state == TENURE_OWNED && tenure->is_wanted;
}

void tenure_submit(struct tenures *tenures, struct tenure_commit *commit)
{
	struct tenure *tenure = &tenures->list[commit->shard];

	commit->next = NULL;
	if (!tenure_serves(tenures, commit->shard) || commit->size > TENURE_CONTENT) {
		commit->outcome = CONSENSUS_REFUSED;
		commit->error = commit->size > TENURE_CONTENT ? -EMSGSIZE : -ESTALE;
		commit->done(commit);
		return;
	}
	LL_APPEND(tenure->waiting, commit);
	tenure_list(tenure);
}

void tenure_want(struct tenures *tenures, unsigned int shard, bool is_wanted)
{
	struct tenure *tenure = &tenures->list[shard];

	tenure->is_wanted = is_wanted;
	if (!is_wanted) {
		tenure_leave_if_idle(tenure);
	} else if (tenure->state == TENURE_FREE) {
		tenure->state = TENURE_READING;
		tenure->wants_reading = true;
		tenure_list(tenure);
	}
}

void tenure_accept(struct tenures *tenures, unsigned int shard)
{
	struct tenure *tenure = &tenures->list[shard];

	if (tenure->state != TENURE_BROKEN)
		return;
	tenure->accepts = true;
	tenure->state = TENURE_FREE;
	tenure_want(tenures, shard, tenure->is_wanted);
}

enum tenure_state tenure_state(const struct tenures *tenures, unsigned int shard)
{
	return tenures->list[shard].state;
}

struct tenures *tenures_new(struct consensus *store, unsigned int shards,
			    const struct tenure_events *events, void *owner)
{
	struct tenures *tenures = memory_get(1, sizeof(*tenures));

	tenures->store = store;
	tenures->events = events;
	tenures->owner = owner;
	tenures->count = shards;
	tenures->list = memory_get(shards, sizeof(*tenures->list));
	for (unsigned int i = 0; i < shards; i++) {
		tenures->list[i].tenures = tenures;
		tenures->list[i].shard = i;
	}
	return tenures;
}

void tenures_free(struct tenures *tenures)
{
	for (unsigned int i = 0; i < tenures->count; i++) {
		tenure_drop(&tenures->list[i], -ESTALE);
		tenure_end_commits(&tenures->list[i].waiting, CONSENSUS_REFUSED, -ESTALE, 0);
	}
	free(tenures->list);
	free(tenures);
}
