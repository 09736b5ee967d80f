// SPDX-License-Identifier: GPL-2.0-only
#include "../memory.h"
#include "cleaning.h"
#include "commit.h"
#include "trail.h"

static struct store_request *request;
static void (*ended)(struct store_request *request);
static struct commit *unknown;
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

static void end(enum store_outcome outcome, int error)
{
	struct store_request *it = request;

	request = NULL;
	it->outcome = outcome;
	it->error = error;
	ended(it);
}

static void removed(void)
{
	end(STORE_COMMITTED, 0);
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
		number_parts();
		trail_remove(request->clean_before, removed);
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
