// SPDX-License-Identifier: GPL-2.0-only
/* selftests/models/chain.pml has what goes on here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "consensus/tenure/state.h"
#include "memory.h"

/* Beyond all numbers that what is missing may have had: none of them comes again. */
#define TENURE_JUMP	4294967296ULL

void tenure_list(struct tenure *tenure)
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

static void tenure_leave(struct tenure *tenure, enum tenure_state state)
{
	struct tenures *tenures = tenure->tenures;
	bool had = tenure->has_loaded;

	if (tenure->state == TENURE_OWNED || tenure->state == TENURE_LOADING)
		tenure_keep(tenure, &tenure->tail);
	tenure->state = state;
	tenure->has_loaded = false;
	tenure->is_leaving = false;
	tenure->wants_reading = false;
	tenure->suspicion = NULL;
	tenure_drop(tenure, -ESTALE);
	tenure_end_commits(&tenure->waiting, CONSENSUS_REFUSED, -ESTALE, 0);
	tenure_release(tenure);
	if (had)
		tenures->events->lost(tenures->owner, tenure->shard);
}

static void tenure_lose(struct tenure *tenure)
{
	tenure->is_wanted = false;
	tenure_leave(tenure, TENURE_FREE);
}

void tenure_break(struct tenure *tenure, const char *why)
{
	struct tenures *tenures = tenure->tenures;

	tenure_leave(tenure, TENURE_BROKEN);
	tenures->events->broken(tenures->owner, tenure->shard, why);
}

void tenure_leave_if_idle(struct tenure *tenure)
{
	bool is_wanted = tenure->is_wanted && !tenure->has_loaded;

	if ((tenure->is_wanted && !tenure->is_leaving) || tenure->state == TENURE_FREE ||
	    tenure->bytes || tenure->is_loading || tenure->waiting || tenure->suspicion ||
	    (tenure->state == TENURE_OWNED && tenure->heard_count))
		return;
	tenure_lose(tenure);
	if (is_wanted)
		tenure_want(tenure->tenures, tenure->shard, true);
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

void tenure_gather(struct tenure *tenure)
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

void tenure_read_anew(struct tenure *tenure)
{
	tenure->is_read = false;
	tenure->wants_reading = true;
	tenure_list(tenure);
}

void tenure_suspect(struct tenure *tenure, const char *why)
{
	tenure->suspicion = why;
	tenure_read_anew(tenure);
}

/* Reading back */

static void tenure_committed(struct tenure *tenure, uint64_t revision)
{
	struct tenures *tenures = tenure->tenures;
	uint64_t first = tenure->tail.last + 1;

	tenure->tail = tenure->becomes;
	tenure->revision = revision;
	tenure_drop_bytes(tenure);
	if (tenure->state == TENURE_FENCING) {
		tenure->state = TENURE_LOADING;
		tenure_note_held(tenure, revision);
	} else {
		tenures->events->commit(tenures->owner, tenure->shard, first);
	}
	tenure_end_commits(&tenure->carried, CONSENSUS_DONE, 0, first);
	tenure_leave_if_idle(tenure);
	tenure_list(tenure);
}

void tenure_read(struct tenure *tenure, const struct chain_tail *tail, uint64_t revision)
{
	bool is_there = tenure->bytes && !memcmp(tail->hash, tenure->becomes.hash, CHAIN_HASH);
	bool is_own = is_there || revision == tenure->revision;
	const char *suspicion = tenure->suspicion;

	tenure->suspicion = NULL;
	if (tenure->state == TENURE_READING || (tenure->state == TENURE_FENCING && !is_own)) {
		tenure_drop_bytes(tenure);
		tenure->state = TENURE_READING;
		tenure_leave_if_idle(tenure);
		if (tenure->state == TENURE_READING && !tenure->is_held)
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
	} else if (tail->last <= tenure->tail.last) {
		tenure_break(tenure, "commits that were done are missing at its end");
	} else {
		tenure_lose(tenure);
	}
}

void tenure_done(struct tenure *tenure, const struct consensus_txn *txn)
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

void tenures_retry(struct tenures *tenures)
{
	tenures->is_stalled = false;
	for (unsigned int i = 0; i < tenures->count; i++) {
		struct tenure *tenure = &tenures->list[i];

		tenure->wants_reading |= tenure->state == TENURE_READING && !tenure->is_read;
		tenure_release(tenure);
		tenure_list(tenure);
	}
	tenures_flush(tenures);
}

bool tenure_serves(const struct tenures *tenures, unsigned int shard)
{
	const struct tenure *tenure = &tenures->list[shard];

	return tenure->state == TENURE_OWNED && tenure->is_wanted && !tenure->is_leaving;
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
	} else if (tenure->state == TENURE_FREE || tenure->state == TENURE_READING) {
		tenure->state = TENURE_READING;
		tenure_read_anew(tenure);
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
	tenures->id = events->draw(owner);
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
