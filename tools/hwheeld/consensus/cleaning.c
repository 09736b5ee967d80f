// SPDX-License-Identifier: GPL-2.0-only
#include "consensus/cleaning.h"
#include "consensus/commit.h"
#include "consensus/trail.h"
#include "memory.h"
#include "nodes/shard.h"

static struct store_request *request;
static void (*ended)(struct store_request *request);
static struct commit *unknown;
static bool *holds;			/* of each shard */
static size_t done;			/* records that are in the log, or on their way */

/* The parts that were committed for the request get numbers when all of them are there. */
static struct commit_part *parts;
static size_t parts_count;

static void keep_parts(const struct commit *commit)
{
	parts = memory_need(realloc(parts, (parts_count + commit->count) * sizeof(*parts)));
	memcpy(parts + parts_count, commit->parts, commit->count * sizeof(*parts));
	parts_count += commit->count;
}

static void number_parts(void)
{
	request->seq = trail_numbers(request->count);
	for (size_t i = 0; i < parts_count; i++)
		trail_add(parts[i].shard, parts[i].tenure, parts[i].number, trail_numbers(0));
	free(parts);
	parts = NULL;
	parts_count = 0;
}

/* The shards of the records are not lost before the cleaning ends. */
static void hold_shards(void)
{
	holds = memory_get(shard_count(), sizeof(*holds));
	for (size_t i = 0; i < request->count; i++) {
		const struct record *record = &request->records[i];
		unsigned int shard = shard_of(record->key, record->key_length);

		if (!holds[shard])
			shard_hold(shard);
		holds[shard] = true;
	}
}

/* Shards that are released may be lost with it. */
static void release_shards(bool *held)
{
	for (unsigned int i = 0; i < shard_count(); i++)
		if (held[i])
			shard_release(i);
	free(held);
}

static void end(enum store_outcome outcome, int error)
{
	struct store_request *it = request;
	bool *held = holds;

	request = NULL;
	it->outcome = outcome;
	it->error = error;
	ended(it);
	release_shards(held);
}

static void go_on(void);

static void committed(struct commit *commit, enum store_outcome outcome, int error)
{
	unknown = NULL;
	if (outcome == STORE_UNKNOWN) {
		unknown = commit;
		return;
	}
	if (outcome == STORE_REFUSED) {
		number_parts();
		end(outcome, error);
		return;
	}
	keep_parts(commit);
	go_on();
}

static void go_on(void)
{
	struct commit *commit;

	if (done == request->count) {
		trail_remove(request->clean_before);
		number_parts();
		end(STORE_COMMITTED, 0);
		return;
	}
	commit = commit_new();
	while (done < request->count &&
	       commit->bytes + COMMIT_PART_COST + commit_cost(&request->records[done]) <=
	       COMMIT_MAX) {
		commit_add(commit, &request->records[done]);
		done++;
	}
	commit_send(commit, committed);
}

void cleaning_begin(struct store_request *the_request,
		    void (*the_ended)(struct store_request *request))
{
	request = the_request;
	ended = the_ended;
	done = 0;
	hold_shards();
	go_on();
}

void cleaning_read_back(void)
{
	if (unknown)
		commit_read_back(unknown);
}

void cleaning_give_up(void)
{
	if (unknown)
		commit_give_up(unknown);
}

bool cleaning_is_busy(void)
{
	return request;
}

bool cleaning_is_unknown(void)
{
	return unknown;
}
