// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trail of commits and cleaning, with shards, commits and an ensemble that the tests make up:
 * what is removed from the logs, and in which order.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kselftest_harness.h"

#include "consensus/cleaning.h"
#include "consensus/commit.h"
#include "consensus/ensemble.h"
#include "consensus/trail.h"
#include "nodes/shard.h"

#define SHARDS	4
#define COMMITS	64

static struct {
	struct shard shards[SHARDS];
	bool logs[SHARDS][COMMITS];	/* what is in the ensemble */
	struct ensemble_call *call;	/* that waits for its answer */
	const zoo_op_t *ops;
	zoo_op_result_t *results;
	int count;
	struct commit *commit;		/* of a cleaning, not answered yet */
	void (*committed)(struct commit *commit, enum store_outcome outcome, int error);
	struct store_request *ended;
} world;

struct shard *shard_at(unsigned int shard)
{
	return &world.shards[shard];
}

void tree_shard_path(unsigned int shard, const char *below, char path[TREE_PATH])
{
	snprintf(path, TREE_PATH, "%u%s", shard, below);
}

void tree_log_path(unsigned int shard, uint64_t number, char path[TREE_PATH])
{
	snprintf(path, TREE_PATH, "%u/%llu", shard, (unsigned long long)number);
}

void shard_lose(unsigned int shard)
{
	world.shards[shard].state = SHARD_LEAVING;
}

void ensemble_multi(struct ensemble_call *call, int count, const zoo_op_t *ops,
		    zoo_op_result_t *results)
{
	world.call = call;
	world.ops = ops;
	world.results = results;
	world.count = count;
}

unsigned int shard_count(void)
{
	return SHARDS;
}

void shard_release(unsigned int shard)
{
	(void)shard;
}

/* Commits of cleaning */

struct commit *commit_new(void)
{
	return calloc(1, sizeof(struct commit));
}

size_t commit_cost(const struct record *record)
{
	(void)record;
	return 1;
}

void commit_add(struct commit *commit, const struct record *record)
{
	(void)record;
	commit->count = 1;
}

void commit_send(struct commit *commit,
		 void (*done)(struct commit *commit, enum store_outcome outcome, int error))
{
	world.commit = commit;
	world.committed = done;
}

void commit_read_back(struct commit *commit)
{
	(void)commit;
}

void commit_give_up(struct commit *commit)
{
	(void)commit;
}

/* The place in the ensemble of what the operation deletes; NULL for a check */
static bool *place_of(const zoo_op_t *op)
{
	unsigned long shard;
	char *rest;

	if (op->type != ZOO_DELETE_OP)
		return NULL;
	shard = strtoul(op->delete_op.path, &rest, 10);
	return &world.logs[shard][strtoul(rest + 1, NULL, 10)];
}

/* All of the operations happen, or none. */
static int first_without_node(void)
{
	for (int i = 0; i < world.count; i++)
		if (place_of(&world.ops[i]) && !*place_of(&world.ops[i]))
			return i;
	return world.count;
}

static void perform(void)
{
	for (int i = 0; i < world.count; i++)
		if (place_of(&world.ops[i]))
			*place_of(&world.ops[i]) = false;
}

static void end_call(int error)
{
	struct ensemble_call *call = world.call;

	world.call = NULL;
	call->error = error;
	call->done(call);
}

static void answer(void)
{
	int missing = first_without_node();

	for (int i = 0; i < world.count; i++)
		world.results[i].err = i < missing ? ZOK : ZRUNTIMEINCONSISTENCY;
	if (missing == world.count) {
		perform();
		end_call(ZOK);
	} else {
		world.results[missing].err = ZNONODE;
		end_call(ZNONODE);
	}
}

/* Until all of it is answered */
static void remove_before(uint64_t before)
{
	trail_remove(before);
	while (world.call)
		answer();
}

/* A commit with one record. Returns its place. */
static size_t commit(unsigned int shard, uint64_t number)
{
	trail_numbers(1);
	world.logs[shard][number] = true;
	return trail_add(shard, world.shards[shard].tenure, number, trail_numbers(0));
}

static void own(unsigned int shard)
{
	world.shards[shard].state = SHARD_OWNED;
	world.shards[shard].tenure++;
}

static void load(unsigned int shard)
{
	world.shards[shard].state = SHARD_LOADING;
	world.shards[shard].tenure++;
}

TEST(old_commits_are_removed)
{
	own(0);
	commit(0, 1);
	commit(0, 2);
	commit(0, 3);
	remove_before(trail_numbers(0) - 1);
	EXPECT_FALSE(world.logs[0][1]);
	EXPECT_FALSE(world.logs[0][2]);
	EXPECT_TRUE(world.logs[0][3]);
}

TEST(a_shard_that_is_being_loaded_keeps_its_place)
{
	load(0);
	own(1);
	commit(0, 1);
	commit(1, 1);
	remove_before(trail_numbers(0));
	EXPECT_TRUE(world.logs[0][1]);
	EXPECT_FALSE(world.logs[1][1]);
	commit(0, 2);
	world.shards[0].state = SHARD_OWNED;
	remove_before(trail_numbers(0));
	EXPECT_FALSE(world.logs[0][1]);
	EXPECT_FALSE(world.logs[0][2]);
}

TEST(what_another_node_has_stays)
{
	own(0);
	own(1);
	commit(0, 1);
	commit(1, 1);
	world.shards[0].state = SHARD_FREE;
	remove_before(trail_numbers(0));
	EXPECT_TRUE(world.logs[0][1]);
	EXPECT_FALSE(world.logs[1][1]);
}

TEST(a_shard_that_came_back_is_known_by_what_was_loaded_again)
{
	own(0);
	commit(0, 1);
	load(0);
	commit(0, 1);
	commit(0, 2);
	world.shards[0].state = SHARD_OWNED;
	remove_before(trail_numbers(0));
	EXPECT_FALSE(world.logs[0][1]);
	EXPECT_FALSE(world.logs[0][2]);
}

TEST(one_that_is_not_there_does_not_keep_the_others)
{
	own(0);
	for (uint64_t number = 1; number < 10; number++)
		commit(0, number);
	world.logs[0][3] = false;
	world.logs[0][7] = false;
	remove_before(trail_numbers(0));
	for (uint64_t number = 1; number < 10; number++)
		EXPECT_FALSE(world.logs[0][number]);
}

TEST(a_removal_goes_on_while_the_next_one_is_asked_for)
{
	own(0);
	commit(0, 1);
	trail_remove(trail_numbers(0));
	commit(0, 2);
	remove_before(trail_numbers(0));
	EXPECT_FALSE(world.logs[0][1]);
	EXPECT_FALSE(world.logs[0][2]);
}

TEST(a_removal_whose_answer_was_lost_is_done_again)
{
	own(0);
	commit(0, 1);
	trail_remove(trail_numbers(0));
	end_call(ZCONNECTIONLOSS);
	EXPECT_TRUE(world.logs[0][1]);
	remove_before(trail_numbers(0));
	EXPECT_FALSE(world.logs[0][1]);
}

/* An epoch that was over when the removal arrived says nothing of an owner after that. */
TEST(a_shard_that_was_taken_over_meanwhile_is_not_lost)
{
	own(0);
	commit(0, 1);
	trail_remove(trail_numbers(0));
	load(0);
	world.shards[0].state = SHARD_OWNED;
	world.results[0].err = ZBADVERSION;
	world.results[1].err = ZRUNTIMEINCONSISTENCY;
	end_call(ZBADVERSION);
	EXPECT_EQ(world.shards[0].state, SHARD_OWNED);
}

static void ended(struct store_request *request)
{
	world.ended = request;
}

/* The timeouts are listed by their numbers: nothing may get a later number before they are. */
TEST(what_was_cleaned_has_the_last_numbers_when_it_ends)
{
	struct record records[2] = { { .key.text = "one" }, { .key.text = "two" } };
	struct commit_part part = { .shard = 0, .number = 2 };
	struct store_request request = { .records = records, .count = 2, .done = ended };

	own(0);
	commit(0, 1);
	part.tenure = world.shards[0].tenure;
	request.clean_before = trail_numbers(0);
	cleaning_begin(&request);
	commit(0, 3);
	world.commit->parts = &part;
	world.committed(world.commit, STORE_COMMITTED, 0);
	EXPECT_EQ(world.ended, &request);
	EXPECT_EQ(request.seq + request.count, trail_numbers(0));
	while (world.call)
		answer();
	EXPECT_FALSE(world.logs[0][1]);
	EXPECT_TRUE(world.logs[0][3]);
}

TEST(one_that_was_merged_is_not_asked_for)
{
	size_t place;

	own(0);
	place = commit(0, 1);
	commit(0, 2);
	trail_forget(place);
	remove_before(trail_numbers(0));
	EXPECT_TRUE(world.logs[0][1]);
	EXPECT_FALSE(world.logs[0][2]);
}

TEST_HARNESS_MAIN
