// SPDX-License-Identifier: GPL-2.0-only
#include "consensus/cleaning.h"
#include "consensus/commit.h"
#include "consensus/trail.h"
#include "memory.h"
#include "nodes/shard.h"

static struct {
	struct store_request *request;
	struct commit *unknown;
	bool *holds;			/* of each shard */
	size_t done;			/* records that are in the log, or on their way */

	/* What was committed for the request gets numbers when all of it is there. */
	struct commit_part *parts;
	size_t parts_count;
} cleaning;

/* Shards that are released may be lost with it. */
static void cleaning_end(enum store_outcome outcome, int error)
{
	struct store_request *request = cleaning.request;
	bool *holds = cleaning.holds;

	request->seq = trail_numbers(request->count);
	for (size_t i = 0; i < cleaning.parts_count; i++) {
		const struct commit_part *part = &cleaning.parts[i];

		trail_add(part->shard, part->tenure, part->number, trail_numbers(0));
	}
	free(cleaning.parts);
	cleaning.parts = NULL;
	cleaning.parts_count = 0;
	cleaning.request = NULL;
	request->outcome = outcome;
	request->error = error;
	request->done(request);
	for (unsigned int i = 0; i < shard_count(); i++)
		if (holds[i])
			shard_release(i);
	free(holds);
}

static void cleaning_go_on(void);

static void cleaning_committed(struct commit *commit, enum store_outcome outcome, int error)
{
	size_t count = cleaning.parts_count + commit->count;

	cleaning.unknown = outcome == STORE_UNKNOWN ? commit : NULL;
	if (outcome == STORE_UNKNOWN)
		return;
	if (outcome == STORE_REFUSED) {
		cleaning_end(outcome, error);
		return;
	}
	cleaning.parts = memory_need(realloc(cleaning.parts, count * sizeof(*cleaning.parts)));
	memcpy(cleaning.parts + cleaning.parts_count, commit->parts,
	       commit->count * sizeof(*cleaning.parts));
	cleaning.parts_count = count;
	cleaning_go_on();
}

static void cleaning_go_on(void)
{
	const struct store_request *request = cleaning.request;
	struct commit *commit;

	if (cleaning.done == request->count) {
		trail_remove(request->clean_before);
		cleaning_end(STORE_COMMITTED, 0);
		return;
	}
	commit = commit_new();
	for (; cleaning.done < request->count; cleaning.done++) {
		const struct record *record = &request->records[cleaning.done];

		if (commit->bytes + COMMIT_PART_COST + commit_cost(record) > COMMIT_MAX)
			break;
		commit_add(commit, record);
	}
	commit_send(commit, cleaning_committed);
}

/* The shards of the records are not lost before the cleaning ends. */
void cleaning_begin(struct store_request *request)
{
	cleaning.request = request;
	cleaning.done = 0;
	cleaning.holds = memory_get(shard_count(), sizeof(*cleaning.holds));
	for (size_t i = 0; i < request->count; i++) {
		unsigned int shard = request->records[i].key.shard;

		if (!cleaning.holds[shard])
			shard_at(shard)->held++;
		cleaning.holds[shard] = true;
	}
	cleaning_go_on();
}

void cleaning_read_back(void)
{
	if (cleaning.unknown)
		commit_read_back(cleaning.unknown);
}

void cleaning_give_up(void)
{
	if (cleaning.unknown)
		commit_give_up(cleaning.unknown);
}

bool cleaning_is_busy(void)
{
	return cleaning.request;
}

bool cleaning_is_unknown(void)
{
	return cleaning.unknown;
}
