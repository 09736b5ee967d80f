// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commits and the epochs of their shards, with an ensemble that the tests make up: the outcome of a
 * commit whose answer is lost.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "consensus/commit.h"
#include "consensus/ensemble.h"
#include "consensus/loading.h"
#include "consensus/tree.h"
#include "nodes/shard.h"

#define SHARDS	2
#define CALLS	16
#define COMMITS	8
#define SESSION	1

enum kind { EXISTS, SET, DELETE, MULTI };

/* A call that waits for its answer, or a late one whose sender has given it up */
struct asked {
	enum kind is;
	struct ensemble_call *call;
	char path[TREE_PATH];
	int version;
	const zoo_op_t *ops;
	int count;
};

static struct {
	int epochs[SHARDS];		/* in the ensemble */
	bool locks[SHARDS];
	bool logs[SHARDS][COMMITS];
	struct asked calls[CALLS];	/* the oldest first */
	size_t count;
	struct commit *commit;
	enum store_outcome outcome;
	int error;
	int endings;
	bool is_renewed;
} world;

/* The ensemble: paths are SHARD, SHARD/lock and SHARD/log/NUMBER. */

static unsigned int shard_in(const char *path)
{
	unsigned int shard;

	return sscanf(path, "/shards/%u", &shard) == 1 ? shard : SHARDS;
}

static bool *place_of(const char *path)
{
	unsigned int shard, number;

	if (sscanf(path, "/shards/%u/log/%x", &shard, &number) == 2)
		return &world.logs[shard][number];
	return strstr(path, "/lock") ? &world.locks[shard_in(path)] : NULL;
}

static int set_epoch(const char *path, int version, struct Stat *stat)
{
	int *epoch = &world.epochs[shard_in(path)];

	if (version != -1 && version != *epoch)
		return ZBADVERSION;
	stat->version = ++*epoch;
	return ZOK;
}

static int look(const char *path, struct Stat *stat)
{
	const bool *place = place_of(path);

	stat->version = world.epochs[shard_in(path)];
	stat->ephemeralOwner = SESSION;
	return place && !*place ? ZNONODE : ZOK;
}

/* Commits and takeovers are all multis; the checks of all parts come before the first creation. */
static int perform_multi(const struct asked *it)
{
	for (int i = 0; i < it->count; i++) {
		const zoo_op_t *op = &it->ops[i];

		if (op->type == ZOO_CHECK_OP &&
		    op->check_op.version != world.epochs[shard_in(op->check_op.path)])
			return ZBADVERSION;
		if (op->type == ZOO_CREATE_OP && *place_of(op->create_op.path))
			return ZNODEEXISTS;
	}
	for (int i = 0; i < it->count; i++) {
		const zoo_op_t *op = &it->ops[i];

		if (op->type == ZOO_CREATE_OP)
			*place_of(op->create_op.path) = true;
		else if (op->type == ZOO_SETDATA_OP)
			set_epoch(op->set_op.path, -1, op->set_op.stat);
	}
	return ZOK;
}

static int perform(struct asked *it)
{
	switch (it->is) {
	case EXISTS:
		return look(it->path, &it->call->stat);
	case SET:
		return set_epoch(it->path, it->version, &it->call->stat);
	case DELETE:
		*place_of(it->path) = false;
		return ZOK;
	case MULTI:
		return perform_multi(it);
	}
	return ZSYSTEMERROR;
}

static struct asked *ask(enum kind which, struct ensemble_call *call, const char *path)
{
	struct asked *it = &world.calls[world.count++];

	*it = (struct asked) { .is = which, .call = call };
	if (path)
		snprintf(it->path, sizeof(it->path), "%s", path);
	return it;
}

void ensemble_exists(struct ensemble_call *call, const char *path, bool watch)
{
	(void)watch;
	ask(EXISTS, call, path);
}

void ensemble_delete(struct ensemble_call *call, const char *path)
{
	ask(DELETE, call, path);
}

void ensemble_set(struct ensemble_call *call, const char *path, const char *value, int version)
{
	(void)value;
	ask(SET, call, path)->version = version;
}

void ensemble_multi(struct ensemble_call *call, int count, const zoo_op_t *ops,
		    zoo_op_result_t *results)
{
	struct asked *it = ask(MULTI, call, NULL);

	(void)results;
	it->ops = ops;
	it->count = count;
}

const struct ACL_vector *ensemble_acl(void)
{
	return NULL;
}

int64_t ensemble_session(void)
{
	return SESSION;
}

static struct asked take_oldest(void)
{
	struct asked it = world.calls[0];

	world.count--;
	memmove(world.calls, world.calls + 1, world.count * sizeof(it));
	return it;
}

static void end_call(const struct asked *it, int error)
{
	it->call->error = error;
	it->call->done(it->call);
}

/* The oldest call arrives and is answered. */
static void answer(void)
{
	struct asked it = take_oldest();

	end_call(&it, perform(&it));
}

/* The oldest call ends with an error; it may have arrived before. */
static void fail(int error, bool arrives)
{
	struct asked it = take_oldest();

	if (arrives)
		perform(&it);
	end_call(&it, error);
}

static void answer_all(void)
{
	while (world.count)
		answer();
}

/* What shard.c needs beside it */

void tree_path(char path[TREE_PATH], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path, TREE_PATH, format, arguments);
	va_end(arguments);
}

void tree_shard_path(unsigned int shard, const char *below, char path[TREE_PATH])
{
	tree_path(path, "/shards/%05u%s", shard, below);
}

void tree_log_path(unsigned int shard, uint64_t number, char path[TREE_PATH])
{
	tree_path(path, "/shards/%05u/log/%016llx", shard, (unsigned long long)number);
}

const char *tree_below(const char *path)
{
	return path;
}

void loading_begin(unsigned int shard,
		   bool (*each)(const char *bytes, size_t length, unsigned int shard,
				uint64_t number),
		   void (*done)(unsigned int shard, uint64_t next, bool is_whole))
{
	(void)each;
	done(shard, 1, true);
}

static void note_shard(unsigned int shard)
{
	(void)shard;
}

static const struct shard_events events = { .gained = note_shard, .lost = note_shard };

/* A node that owns all shards, and a commit of it */

static void renewed(void)
{
	world.is_renewed = true;
	if (world.commit)
		commit_read_back(world.commit);
}

static void ended(struct commit *commit, enum store_outcome outcome, int error)
{
	world.commit = outcome == STORE_UNKNOWN ? commit : NULL;
	world.outcome = outcome;
	world.error = error;
	world.endings++;
}

/* A connection is lost, and there is another one. Each shard's renewal is on its way then. */
static void reconnect(void)
{
	shard_disconnected();
	world.is_renewed = false;
	shard_connected(false, renewed);
}

static void answer_renewals(void)
{
	for (unsigned int i = 0; i < SHARDS; i++)
		answer();
}

FIXTURE(commit)
{
	char unused;
};

FIXTURE_SETUP(commit)
{
	(void)self;
	shard_begin(SHARDS, "node", &events);
	shard_connected(true, renewed);
	for (unsigned int i = 0; i < SHARDS; i++)
		shard_want(i, true);
	answer_all();
	for (unsigned int i = 0; i < SHARDS; i++)
		ASSERT_EQ(SHARD_OWNED, shard_at(i)->state);
}

FIXTURE_TEARDOWN(commit)
{
	(void)self;
	answer_all();
	EXPECT_EQ(NULL, world.commit);
	shard_end();
}

/* With a record of each key's shard */
static void send_commit(const char *keys)
{
	struct commit *commit = commit_new();

	for (; *keys; keys++) {
		struct record record = {
			.type = RECORD_CANCEL,
			.key = { .text = keys, .length = 1, .shard = (unsigned int)(*keys - '0') },
		};

		commit_add(commit, &record);
	}
	commit_send(commit, ended);
}

TEST_F(commit, an_answer_makes_it_known)
{
	send_commit("01");
	answer();
	EXPECT_EQ(STORE_COMMITTED, world.outcome);
	EXPECT_EQ(0, world.error);
	EXPECT_TRUE(world.logs[0][1] && world.logs[1][1]);
}

TEST_F(commit, another_epoch_refuses_it)
{
	send_commit("01");
	world.epochs[1]++;
	answer();
	EXPECT_EQ(STORE_REFUSED, world.outcome);
	EXPECT_EQ(-ESTALE, world.error);
	EXPECT_FALSE(world.logs[0][1] || world.logs[1][1]);
}

/* Whatever the error is: an error is no commit. */
TEST_F(commit, no_error_makes_it_committed)
{
	for (int error = -1; error >= -130; error--) {
		world.endings = 0;
		send_commit("0");
		fail(error, false);
		EXPECT_EQ(1, world.endings);
		EXPECT_NE(STORE_COMMITTED, world.outcome);
		EXPECT_NE(0, world.error);
		if (world.commit)
			commit_give_up(world.commit);
		answer_all();
		ASSERT_EQ(SHARD_OWNED, shard_at(0)->state);
	}
}

TEST_F(commit, one_that_arrived_is_read_back_without_an_error)
{
	send_commit("01");
	fail(ZCONNECTIONLOSS, true);
	EXPECT_EQ(STORE_UNKNOWN, world.outcome);
	EXPECT_EQ(-EIO, world.error);
	reconnect();
	answer_all();
	EXPECT_EQ(2, world.endings);
	EXPECT_EQ(STORE_COMMITTED, world.outcome);
	EXPECT_EQ(0, world.error);
}

TEST_F(commit, one_that_did_not_arrive_is_refused_and_arrives_in_vain)
{
	struct asked late;
	zoo_op_t ops[2];

	send_commit("0");
	late = world.calls[0];
	memcpy(ops, late.ops, sizeof(ops));
	late.ops = ops;
	fail(ZCONNECTIONLOSS, false);
	EXPECT_EQ(STORE_UNKNOWN, world.outcome);
	reconnect();
	answer_renewals();
	EXPECT_TRUE(world.is_renewed);
	EXPECT_EQ(ZBADVERSION, perform(&late));
	answer_all();
	EXPECT_EQ(STORE_REFUSED, world.outcome);
	EXPECT_EQ(-EIO, world.error);
	EXPECT_FALSE(world.logs[0][1]);
}

/* The log, and then the epoch; an answer that is lost leaves the commit unknown. */
TEST_F(commit, reading_back_may_fail_again_and_again)
{
	static const int errors[] = {
		ZCONNECTIONLOSS, ZOPERATIONTIMEOUT, ZINVALIDSTATE, ZSESSIONEXPIRED, ZCLOSING,
		ZSYSTEMERROR, ZNOAUTH,
	};

	send_commit("0");
	fail(ZCONNECTIONLOSS, true);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		for (int answers = 0; answers < 2; answers++) {
			reconnect();
			answer_renewals();
			for (int left = answers; left; left--)
				answer();
			ASSERT_EQ(1, world.count);
			fail(errors[i], true);
			EXPECT_EQ(STORE_UNKNOWN, world.outcome);
			EXPECT_EQ(-EIO, world.error);
		}
	}
	reconnect();
	answer_all();
	EXPECT_EQ(STORE_COMMITTED, world.outcome);
	EXPECT_EQ(0, world.error);
}

/* Without a new epoch the commit may arrive after its place in the log was looked at. */
TEST_F(commit, an_epoch_that_was_not_renewed_tells_nothing)
{
	send_commit("0");
	fail(ZCONNECTIONLOSS, false);
	reconnect();
	fail(ZSYSTEMERROR, false);
	while (world.commit && world.count)
		answer();
	EXPECT_EQ(STORE_REFUSED, world.outcome);
	EXPECT_EQ(-ESTALE, world.error);
	EXPECT_NE(SHARD_OWNED, shard_at(0)->state);
	answer_all();
	EXPECT_EQ(SHARD_OWNED, shard_at(0)->state);
}

/* Another shard that is still this node's tells of all parts. */
TEST_F(commit, any_shard_that_is_left_tells_of_all_parts)
{
	send_commit("01");
	fail(ZCONNECTIONLOSS, true);
	world.epochs[0]++;
	reconnect();
	answer_all();
	EXPECT_EQ(STORE_COMMITTED, world.outcome);
	EXPECT_EQ(0, world.error);
}

TEST_F(commit, without_a_shard_nobody_will_know)
{
	send_commit("01");
	fail(ZCONNECTIONLOSS, true);
	world.epochs[0]++;
	world.epochs[1]++;
	reconnect();
	answer_all();
	EXPECT_EQ(STORE_REFUSED, world.outcome);
	EXPECT_EQ(-ESTALE, world.error);
}

TEST_HARNESS_MAIN
