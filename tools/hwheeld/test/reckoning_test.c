// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes that reckon the ensemble's time, in simulated time and without a server: leaders with other
 * clocks, steps, drift and slow answers. The simulated world knows the real time.
 */
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "clock/now.h"
#include "clock/reckoning.h"

#define NODES		3
#define DELAYS		64
#define STEP_NS		NS_PER_MS
#define BEAT_NS		NS_PER_S
#define SETTLED_NS	(3 * NS_PER_S)

enum beat {
	BEAT_RESTS,
	BEAT_CHANGES,			/* its znode */
	BEAT_READS,			/* the correction */
	BEAT_WRITES,			/* another one */
};

struct node {
	struct reckoning reckoning;
	struct sample sample;
	struct reading reading;
	struct correction wanted;
	enum beat beat;
	int64_t boot_ns;		/* CLOCK_BOOTTIME less the real time */
	int64_t ppm;			/* of its clock */
	uint64_t asked_ns;		/* real times */
	uint64_t handled_ns;
	uint64_t answered_ns;
	uint64_t paused_ns;		/* in all */
};

struct delay {
	uint64_t deadline_ns;		/* in the ensemble's time */
	uint64_t over_ns;		/* in real time */
};

static struct {
	struct node nodes[NODES];
	struct delay delays[DELAYS];
	struct reading znode;
	uint64_t now_ns;
	int64_t wall_ns;		/* the leader's wall clock less the real time */
	int64_t ppm;
	int64_t epoch;
	int64_t changes;
	uint64_t outage_until_ns;
	uint64_t jitter_ns;
	bool has_delays;
	bool is_corrected;		/* since the leader or its clock has changed */
	unsigned int corrections;
	uint64_t worst_early_ns, worst_late_ns;
	unsigned int ended, outside;
} world;

static uint64_t chance(uint64_t below)
{
	return below ? (uint64_t)random() % below : 0;
}

static uint64_t wall(uint64_t real_ns)
{
	return (uint64_t)((int64_t)real_ns + (int64_t)real_ns / 1000000 * world.ppm +
			  world.wall_ns);
}

static uint64_t boot(const struct node *node, uint64_t real_ns)
{
	real_ns -= node->paused_ns;
	return (uint64_t)((int64_t)real_ns + (int64_t)real_ns / 1000000 * node->ppm +
			  node->boot_ns);
}

static int64_t next_zxid(void)
{
	return (int64_t)((uint64_t)world.epoch << 32) + ++world.changes;
}

static void write_znode(const struct correction *correction)
{
	world.znode.correction = *correction;
	world.znode.mtime_ns = wall(world.now_ns) / NS_PER_MS * NS_PER_MS;
	world.znode.zxid = next_zxid();
	world.znode.version++;
}

/* A request reaches the leader, and its answer comes, each after a time of its own. */
static void ask(struct node *node, enum beat beat)
{
	node->beat = beat;
	node->asked_ns = world.now_ns;
	node->handled_ns = world.now_ns + 200000 + chance(world.jitter_ns);
	node->answered_ns = node->handled_ns + 200000 + chance(world.jitter_ns);
}

static void rest(struct node *node)
{
	node->beat = BEAT_RESTS;
	node->answered_ns = world.now_ns + BEAT_NS;
	node->handled_ns = UINT64_MAX;
}

static void begin_world(uint64_t jitter_ns)
{
	memset(&world, 0, sizeof(world));
	srandom(1);
	world.now_ns = 1000 * NS_PER_S;
	world.jitter_ns = jitter_ns;
	world.epoch = 1;
	world.wall_ns = 1700000000LL * (int64_t)NS_PER_S;
	world.is_corrected = true;
	for (int i = 0; i < NODES; i++) {
		world.nodes[i].boot_ns = (int64_t)(chance(900) * NS_PER_S);
		reckoning_doubt(&world.nodes[i].reckoning, boot(&world.nodes[i], world.now_ns));
		rest(&world.nodes[i]);
		world.nodes[i].answered_ns = world.now_ns + chance(BEAT_NS);
	}
	write_znode(&(struct correction) { 0, world.epoch });
}

/* The leader does it, at that moment: a change, what a read returns, or a write. */
static void handle(struct node *node)
{
	node->handled_ns = UINT64_MAX;
	if (node->beat == BEAT_CHANGES) {
		node->sample.zxid = next_zxid();
		node->sample.leader.offset_ns = (int64_t)(wall(world.now_ns) / NS_PER_MS);
	} else if (node->beat == BEAT_READS) {
		node->reading = world.znode;
	} else if (node->reading.version == world.znode.version) {
		write_znode(&node->wanted);
		world.is_corrected = true;
		world.corrections++;
	} else {
		node->wanted.epoch = 0;
	}
}

static void hear(struct node *node)
{
	if (reckoning_hear(&node->reckoning, &node->sample, &node->reading,
			   boot(node, world.now_ns), &node->wanted))
		ask(node, BEAT_WRITES);
	else
		rest(node);
}

static void answer(struct node *node)
{
	uint64_t now = boot(node, world.now_ns);

	if (node->beat == BEAT_RESTS) {
		ask(node, BEAT_CHANGES);
	} else if (node->beat == BEAT_CHANGES) {
		sample_take(&node->sample, boot(node, node->asked_ns), now,
			    node->sample.leader.offset_ns, node->sample.zxid);
		ask(node, BEAT_READS);
	} else if (node->beat == BEAT_READS) {
		hear(node);
	} else {
		if (node->wanted.epoch)
			reckoning_correct(&node->reckoning, &node->sample, &node->wanted, now);
		rest(node);
	}
}

/* Without a leader requests fail. */
static void run_node(struct node *node)
{
	if (world.now_ns < world.outage_until_ns) {
		rest(node);
		node->answered_ns = world.outage_until_ns + chance(BEAT_NS / 10);
		return;
	}
	if (node->handled_ns <= world.now_ns)
		handle(node);
	if (node->answered_ns <= world.now_ns)
		answer(node);
}

/* What now.c makes of a line */
static uint64_t top(const struct node *node)
{
	uint64_t now = boot(node, world.now_ns);
	struct line line = reckoning_line(&node->reckoning, now);

	return now + (uint64_t)line.offset_ns + line.bound_ns;
}

static uint64_t low(const struct node *node)
{
	uint64_t now = boot(node, world.now_ns);
	struct line line = reckoning_line(&node->reckoning, now);

	return now + (uint64_t)line.offset_ns - line.bound_ns;
}

static void put_delay(struct delay *delay)
{
	uint64_t ns = chance(5 * NS_PER_S);

	delay->deadline_ns = top(&world.nodes[chance(NODES)]) + ns;
	delay->over_ns = world.now_ns + ns;
}

static void note(uint64_t *worst, uint64_t ns)
{
	if (ns > *worst)
		*worst = ns;
}

/* The first node that comes to it may be early, and the last one late. */
static void look_at_delay(struct delay *delay, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns >= delay->deadline_ns && world.now_ns < delay->over_ns)
		note(&world.worst_early_ns, delay->over_ns - world.now_ns);
	if (last_ns < delay->deadline_ns)
		return;
	world.ended++;
	if (world.now_ns > delay->over_ns)
		note(&world.worst_late_ns, world.now_ns - delay->over_ns);
	put_delay(delay);
}

static void look_at_delays(void)
{
	uint64_t first = 0, last = UINT64_MAX;

	for (int i = 0; i < NODES; i++) {
		uint64_t time = low(&world.nodes[i]);

		first = time > first ? time : first;
		last = time < last ? time : last;
	}
	for (int i = 0; i < DELAYS; i++)
		look_at_delay(&world.delays[i], first, last);
}

/* Is the ensemble's time what each node that knows the correction thinks that it may be? */
static void look_at_bounds(void)
{
	uint64_t time = wall(world.now_ns) + (uint64_t)world.znode.correction.ns;

	for (int i = 0; world.is_corrected && i < NODES; i++) {
		const struct node *node = &world.nodes[i];

		if (!node->reckoning.count || node->reckoning.correction.ns !=
					      world.znode.correction.ns)
			continue;
		world.outside += time > top(node) || time < low(node);
	}
}

static void run(uint64_t ns)
{
	for (uint64_t end = world.now_ns + ns; world.now_ns < end; world.now_ns += STEP_NS) {
		for (int i = 0; i < NODES; i++)
			run_node(&world.nodes[i]);
		look_at_bounds();
		if (world.has_delays)
			look_at_delays();
	}
}

static void begin_delays(void)
{
	world.has_delays = true;
	for (int i = 0; i < DELAYS; i++)
		put_delay(&world.delays[i]);
}

static void change_leader(int64_t by_ns, uint64_t outage_ns)
{
	world.outage_until_ns = world.now_ns + outage_ns;
	world.epoch++;
	world.changes = 0;
	world.wall_ns += by_ns;
	world.is_corrected = false;
}

static void step_leader(int64_t by_ns)
{
	world.wall_ns += by_ns;
	world.is_corrected = false;
}

#define SECONDS(s)	((s) * (int64_t)NS_PER_S)

/* No node has a delay before it is over; a step of simulated time is as exact as this can tell. */
#define expect_in_time(most_late_ns, early_ns)			\
do {								\
	EXPECT_LE(world.worst_early_ns, early_ns);		\
	EXPECT_LT(world.worst_late_ns, most_late_ns);		\
	EXPECT_GT(world.ended, 500);				\
	EXPECT_EQ(0, world.outside);				\
} while (0)

TEST(without_events_nothing_is_corrected)
{
	begin_world(5 * NS_PER_MS);
	run(SETTLED_NS);
	begin_delays();
	run(60 * NS_PER_S);
	expect_in_time(50 * NS_PER_MS, 0);
	EXPECT_EQ(0, world.corrections);
}

TEST(slow_answers_widen_the_bound)
{
	begin_world(400 * NS_PER_MS);
	run(SETTLED_NS);
	begin_delays();
	run(120 * NS_PER_S);
	expect_in_time(NS_PER_S, 0);
	EXPECT_EQ(0, world.corrections);
}

TEST(clocks_that_drift_are_followed)
{
	begin_world(20 * NS_PER_MS);
	world.ppm = 400;
	world.nodes[0].ppm = 100;
	world.nodes[1].ppm = -90;
	run(SETTLED_NS);
	begin_delays();
	run(600 * NS_PER_S);
	/* 400 ppm of the longest delay: the leader's clock is fast, and all go by it. */
	expect_in_time(100 * NS_PER_MS, 2 * NS_PER_MS);
	EXPECT_EQ(0, world.corrections);
}

TEST(a_leader_whose_clock_steps_is_corrected)
{
	begin_world(5 * NS_PER_MS);
	world.nodes[0].ppm = 100;
	world.nodes[1].ppm = -100;
	run(SETTLED_NS);
	begin_delays();
	for (int i = 0; i < 20; i++) {
		run(10 * NS_PER_S + chance(BEAT_NS));
		step_leader(i % 2 ? SECONDS(-100) : SECONDS(90));
	}
	run(10 * NS_PER_S);
	expect_in_time(500 * NS_PER_MS, 0);
	EXPECT_EQ(20, world.corrections);
}

TEST(a_new_leader_with_another_clock_is_corrected)
{
	begin_world(5 * NS_PER_MS);
	world.nodes[0].ppm = 300;
	world.nodes[1].ppm = -300;
	run(SETTLED_NS);
	begin_delays();
	for (int i = 0; i < 20; i++) {
		run(10 * NS_PER_S + chance(BEAT_NS));
		change_leader(i % 2 ? SECONDS(-100) : SECONDS(90), chance(3 * NS_PER_S));
	}
	run(10 * NS_PER_S);
	expect_in_time(500 * NS_PER_MS, 0);
	EXPECT_EQ(20, world.corrections);
}

TEST(without_servers_the_bound_grows)
{
	struct line before, after;

	begin_world(5 * NS_PER_MS);
	for (int i = 0; i < NODES; i++)
		world.nodes[i].ppm = 450 * (i - 1);
	run(SETTLED_NS);
	begin_delays();
	run(10 * NS_PER_S);
	before = reckoning_line(&world.nodes->reckoning, boot(world.nodes, world.now_ns));
	change_leader(SECONDS(3600), 100 * NS_PER_S);
	run(100 * NS_PER_S);
	after = reckoning_line(&world.nodes->reckoning, boot(world.nodes, world.now_ns));
	EXPECT_GT(after.bound_ns, before.bound_ns + 45 * NS_PER_MS);
	EXPECT_LT(after.bound_ns, before.bound_ns + 55 * NS_PER_MS);
	run(10 * NS_PER_S);
	expect_in_time(500 * NS_PER_MS, 0);
	EXPECT_EQ(1, world.corrections);
}

/* Its clock stood still meanwhile, as that of a virtual machine does. */
TEST(a_node_that_was_paused_takes_over_the_time)
{
	struct node *node = &world.nodes[1];

	begin_world(5 * NS_PER_MS);
	run(10 * NS_PER_S);
	node->paused_ns = 30 * NS_PER_S;
	reckoning_doubt(&node->reckoning, boot(node, world.now_ns));
	run(3 * NS_PER_S);
	EXPECT_EQ(0, world.corrections);
	EXPECT_EQ(0, world.outside);
	change_leader(SECONDS(50), NS_PER_S);
	node->paused_ns += 30 * NS_PER_S;
	reckoning_doubt(&node->reckoning, boot(node, world.now_ns));
	run(5 * NS_PER_S);
	EXPECT_EQ(1, world.corrections);
	EXPECT_EQ(0, world.outside);
	EXPECT_LT(llabs(SECONDS(50) + world.znode.correction.ns), SECONDS(1));
}

TEST(a_node_in_doubt_corrects_if_no_other_does)
{
	begin_world(5 * NS_PER_MS);
	run(10 * NS_PER_S);
	change_leader(SECONDS(50), NS_PER_S);
	for (int i = 0; i < NODES; i++)
		reckoning_doubt(&world.nodes[i].reckoning, boot(&world.nodes[i], world.now_ns));
	run(5 * NS_PER_S);
	EXPECT_EQ(0, world.corrections);
	run(2 * NS_PER_S);
	EXPECT_EQ(1, world.corrections);
	EXPECT_LT(llabs(SECONDS(50) + world.znode.correction.ns), SECONDS(1));
}

/* The sample and the correction would be of two clocks. */
TEST(a_sample_before_the_correction_does_not_count)
{
	struct reckoning reckoning = { 0 };
	struct reading reading = { .correction = { SECONDS(-100), 1 }, .zxid = 1LL << 32 | 5 };
	struct correction wanted;
	struct sample sample;

	reckoning_doubt(&reckoning, NS_PER_S);
	sample_take(&sample, NS_PER_S, NS_PER_S + 10, 5000, 1LL << 32 | 4);
	EXPECT_FALSE(reckoning_hear(&reckoning, &sample, &reading, NS_PER_S, &wanted));
	EXPECT_EQ(0, reckoning.count);
	sample.zxid += 2;
	EXPECT_FALSE(reckoning_hear(&reckoning, &sample, &reading, NS_PER_S, &wanted));
	EXPECT_EQ(1, reckoning.count);
}

/* Whichever time it is between the bounds, before and after */
TEST(a_correction_never_moves_the_time_ahead)
{
	struct reckoning reckoning = { .correction = { 0, 1 }, .count = 1 };
	struct reading reading = { .correction = { 0, 1 } };
	struct correction wanted;
	struct sample sample;

	reckoning.lines[0] = (struct line) { SECONDS(500), 3 * NS_PER_MS, 10 * NS_PER_S };
	sample_take(&sample, 10 * NS_PER_S, 10 * NS_PER_S + 4 * NS_PER_MS, 7000, 2LL << 32);
	ASSERT_TRUE(reckoning_hear(&reckoning, &sample, &reading, sample.leader.boot_ns, &wanted));
	EXPECT_EQ(2, wanted.epoch);
	EXPECT_LE(sample.leader.offset_ns + (int64_t)sample.leader.bound_ns + wanted.ns,
		  SECONDS(500) - 3 * (int64_t)NS_PER_MS);
	EXPECT_GT(sample.leader.offset_ns + (int64_t)sample.leader.bound_ns + wanted.ns,
		  SECONDS(500) - 4 * (int64_t)NS_PER_MS);
}

TEST(the_time_resumes_where_it_was_written_last)
{
	struct reading reading = {
		.correction = { SECONDS(7), 1 }, .zxid = 1LL << 32 | 5,
		.mtime_ns = 100 * NS_PER_S,
	};
	struct correction correction;
	struct sample sample;

	/* By the new leader's clock it is 60 s, and was 107 s. */
	sample_take(&sample, NS_PER_S, NS_PER_S, 60000, 2LL << 32);
	correction = reckoning_resume(&sample, &reading);
	EXPECT_EQ(2, correction.epoch);
	EXPECT_EQ(SECONDS(47) + (int64_t)NS_PER_MS, correction.ns);
	/* It is 200 s: no need of a correction. */
	sample_take(&sample, NS_PER_S, NS_PER_S, 200000, 2LL << 32);
	EXPECT_EQ(0, reckoning_resume(&sample, &reading).ns);
	/* The correction was for another clock than that of the mtime. */
	sample_take(&sample, NS_PER_S, NS_PER_S, 60000, 3LL << 32);
	reading.zxid = 2LL << 32;
	EXPECT_EQ(0, reckoning_resume(&sample, &reading).ns);
}

/* The service's time, with the clock of this machine */

TEST(the_service_follows_and_never_goes_back)
{
	uint64_t boot = now_clock_ns(CLOCK_BOOTTIME), before;

	EXPECT_FALSE(now_is_shared());
	EXPECT_EQ(0, now_bound_ns());
	now_follow(SECONDS(1000), 5 * NS_PER_MS, boot);
	EXPECT_TRUE(now_is_shared());
	EXPECT_GE(now_ns(), boot + 1000 * NS_PER_S);
	EXPECT_GE(now_bound_ns(), 5 * NS_PER_MS);
	before = now_ns();
	now_follow(SECONDS(990), 5 * NS_PER_MS, now_clock_ns(CLOCK_BOOTTIME));
	EXPECT_GE(now_ns(), before);
	EXPECT_GT(now_bound_ns(), 9 * NS_PER_S);
	EXPECT_FALSE(now_has_jumped());
	now_follow(SECONDS(2000), 5 * NS_PER_MS, now_clock_ns(CLOCK_BOOTTIME));
	EXPECT_GT(now_ns(), before + 900 * NS_PER_S);
	EXPECT_TRUE(now_has_jumped());
	EXPECT_FALSE(now_has_jumped());
	now_follow(SECONDS(2000), NS_PER_S, now_clock_ns(CLOCK_BOOTTIME));
	EXPECT_FALSE(now_has_jumped());
	now_follow(SECONDS(2000), 5 * NS_PER_MS, now_clock_ns(CLOCK_BOOTTIME));
	EXPECT_TRUE(now_has_jumped());
}

TEST(a_delay_is_over_on_all_machines)
{
	uint64_t end;

	now_follow(SECONDS(1000), 100 * NS_PER_S, now_clock_ns(CLOCK_BOOTTIME));
	end = now_after(0);
	EXPECT_GE(end, now_ns() + 99 * NS_PER_S);
	EXPECT_FALSE(now_has_come(end));
	EXPECT_FALSE(now_has_come(now_ns()));
	EXPECT_TRUE(now_has_come(now_ns() - 101 * NS_PER_S));
}

TEST(a_long_alarm_rings_before_its_time)
{
	uint64_t now;

	now_follow(0, 0, now_clock_ns(CLOCK_BOOTTIME));
	now = now_ns();
	EXPECT_GE(now_alarm_ns(now + 9 * NS_PER_S), now + 9 * NS_PER_S);
	EXPECT_LT(now_alarm_ns(now + 1024 * NS_PER_S), now + 1024 * NS_PER_S - NS_PER_S / 2);
	EXPECT_GT(now_alarm_ns(now + 1024 * NS_PER_S), now + 1022 * NS_PER_S);
}

TEST(points_in_time_do_not_move_with_the_wall_clock)
{
	now_follow(SECONDS(1000), 0, now_clock_ns(CLOCK_BOOTTIME));
	EXPECT_EQ(12345, now_from_wall(12345));
	EXPECT_EQ(12345, now_on_wall(12345));
}

TEST_HARNESS_MAIN
