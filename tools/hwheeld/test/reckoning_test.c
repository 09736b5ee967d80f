// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes that reckon the cluster's time, in simulated time: keepers that end, drift and slow
 * answers. The simulated world knows the real time.
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
#define SECONDS(s)	((s) * (int64_t)NS_PER_S)

struct node {
	struct reckoning reckoning;
	bool is_asking;
	int64_t boot_ns;		/* CLOCK_BOOTTIME less the real time */
	int64_t ppm;			/* of its clock */
	uint64_t asked_ns;		/* real times */
	uint64_t handled_ns;
	uint64_t answered_ns;
	uint64_t paused_ns;		/* in all */
	uint64_t time_ns, bound_ns, epoch;	/* of the answer; epoch 0: none */
};

struct delay {
	uint64_t deadline_ns;		/* in the cluster's time */
	uint64_t over_ns;		/* in real time */
};

static struct {
	struct node nodes[NODES];
	struct delay delays[DELAYS];
	unsigned int keeper;
	uint64_t epoch;
	uint64_t now_ns;
	uint64_t outage_until_ns;
	uint64_t jitter_ns;
	bool has_delays;
	uint64_t worst_early_ns, worst_late_ns;
	unsigned int ended, outside;
} world;

static uint64_t chance(uint64_t below)
{
	return below ? (uint64_t)random() % below : 0;
}

static uint64_t boot(const struct node *node, uint64_t real_ns)
{
	real_ns -= node->paused_ns;
	return (uint64_t)((int64_t)real_ns + (int64_t)real_ns / 1000000 * node->ppm +
			  node->boot_ns);
}

static struct line line_of(const struct node *node)
{
	return reckoning_line(&node->reckoning, boot(node, world.now_ns));
}

/* What now.c makes of a line */
static uint64_t top(const struct node *node)
{
	struct line line = line_of(node);

	return boot(node, world.now_ns) + (uint64_t)line.offset_ns + line.bound_ns;
}

static uint64_t low(const struct node *node)
{
	struct line line = line_of(node);

	return boot(node, world.now_ns) + (uint64_t)line.offset_ns - line.bound_ns;
}

/* A request reaches the keeper, and its answer comes, each after a time of its own. */
static void ask(struct node *node)
{
	node->is_asking = true;
	node->epoch = 0;
	node->asked_ns = world.now_ns;
	node->handled_ns = world.now_ns + 200000 + chance(world.jitter_ns);
	node->answered_ns = node->handled_ns + 200000 + chance(world.jitter_ns);
}

static void rest(struct node *node)
{
	node->is_asking = false;
	node->handled_ns = UINT64_MAX;
	node->answered_ns = world.now_ns + BEAT_NS;
}

/* Whoever is asked answers as it has the time. */
static void handle(struct node *node)
{
	const struct node *keeper = &world.nodes[world.keeper];
	struct line line = line_of(keeper);

	node->handled_ns = UINT64_MAX;
	if (world.now_ns < world.outage_until_ns)
		return;
	node->epoch = keeper->reckoning.epoch;
	node->time_ns = boot(keeper, world.now_ns) + (uint64_t)line.offset_ns;
	node->bound_ns = line.bound_ns;
}

static void hear(struct node *node)
{
	uint64_t now = boot(node, world.now_ns);
	struct line sample = reckoning_sample(boot(node, node->asked_ns), now, node->time_ns,
					      node->bound_ns);

	if (node->epoch)
		reckoning_hear(&node->reckoning, &sample, node->epoch, now);
	rest(node);
}

static void run_node(struct node *node)
{
	if (node->handled_ns <= world.now_ns)
		handle(node);
	if (node->answered_ns > world.now_ns)
		return;
	if (node->is_asking) {
		hear(node);
	} else if (node == &world.nodes[world.keeper]) {
		reckoning_keep(&node->reckoning, world.epoch, boot(node, world.now_ns));
		rest(node);
	} else {
		ask(node);
	}
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

/* Is the keeper's time what each node of its epoch thinks that it may be? */
static void look_at_bounds(void)
{
	const struct node *keeper = &world.nodes[world.keeper];
	uint64_t time = boot(keeper, world.now_ns) + (uint64_t)line_of(keeper).offset_ns;

	for (int i = 0; i < NODES; i++)
		if (world.nodes[i].reckoning.epoch == keeper->reckoning.epoch &&
		    keeper->reckoning.keeps)
			world.outside += time > top(&world.nodes[i]) ||
					 time < low(&world.nodes[i]);
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

static void begin_world(uint64_t jitter_ns)
{
	memset(&world, 0, sizeof(world));
	srandom(1);
	world.now_ns = 1000 * NS_PER_S;
	world.jitter_ns = jitter_ns;
	world.epoch = 7;
	for (int i = 0; i < NODES; i++) {
		struct node *node = &world.nodes[i];

		node->boot_ns = (int64_t)(chance(900) * NS_PER_S);
		rest(node);
		node->answered_ns = world.now_ns + chance(BEAT_NS);
	}
	reckoning_begin(&world.nodes->reckoning, world.epoch, boot(world.nodes, world.now_ns),
			1700000000 * NS_PER_S);
	run(SETTLED_NS);
}

static void begin_delays(void)
{
	world.has_delays = true;
	for (int i = 0; i < DELAYS; i++)
		put_delay(&world.delays[i]);
}

/* The keeper leaves, and comes back as another one. */
static void change_keeper(uint64_t outage_ns)
{
	world.keeper = (world.keeper + 1) % NODES;
	world.epoch += 10;
	world.outage_until_ns = world.now_ns + outage_ns;
}

/* No node has a delay before it is over; a step of simulated time is as exact as this can tell. */
#define expect_in_time(most_late_ns, early_ns)			\
do {								\
	EXPECT_LE(world.worst_early_ns, early_ns);		\
	EXPECT_LT(world.worst_late_ns, most_late_ns);		\
	EXPECT_GT(world.ended, 500);				\
	EXPECT_EQ(0, world.outside);				\
} while (0)

TEST(nodes_take_over_the_time)
{
	begin_world(5 * NS_PER_MS);
	for (int i = 0; i < NODES; i++)
		EXPECT_EQ(7, world.nodes[i].reckoning.epoch);
	EXPECT_EQ(0, line_of(world.nodes).bound_ns);
	begin_delays();
	run(60 * NS_PER_S);
	expect_in_time(50 * NS_PER_MS, 0);
}

TEST(slow_answers_widen_the_bound)
{
	begin_world(400 * NS_PER_MS);
	begin_delays();
	run(120 * NS_PER_S);
	expect_in_time(NS_PER_S, 0);
}

/* 250 ppm of the longest delay: the keeper's clock is fast, and all go by it. */
TEST(clocks_that_drift_are_followed)
{
	begin_world(20 * NS_PER_MS);
	world.nodes[0].ppm = 250;
	world.nodes[1].ppm = -240;
	run(SETTLED_NS);
	world.outside = 0;
	begin_delays();
	run(600 * NS_PER_S);
	expect_in_time(100 * NS_PER_MS, 2 * NS_PER_MS);
}

TEST(a_delay_goes_on_from_one_keeper_to_the_next)
{
	begin_world(5 * NS_PER_MS);
	begin_delays();
	for (int i = 0; i < 40; i++) {
		run(5 * NS_PER_S + chance(BEAT_NS));
		change_keeper(chance(3 * NS_PER_S));
	}
	run(10 * NS_PER_S);
	expect_in_time(500 * NS_PER_MS, 0);
	for (int i = 0; i < NODES; i++)
		EXPECT_EQ(407, world.nodes[i].reckoning.epoch);
}

TEST(without_a_keeper_the_bound_grows)
{
	struct line before, after;

	begin_world(5 * NS_PER_MS);
	world.keeper = 1;
	world.nodes[0].ppm = 240;
	before = line_of(&world.nodes[2]);
	world.outage_until_ns = world.now_ns + 100 * NS_PER_S;
	world.epoch = 0;
	run(100 * NS_PER_S);
	after = line_of(&world.nodes[2]);
	EXPECT_GT(after.bound_ns, before.bound_ns + 45 * NS_PER_MS);
	EXPECT_LT(after.bound_ns, before.bound_ns + 55 * NS_PER_MS);
}

/* Its clock stood still meanwhile, as that of a virtual machine does. */
TEST(a_node_that_was_paused_takes_over_the_time)
{
	begin_world(5 * NS_PER_MS);
	world.nodes[1].paused_ns = 30 * NS_PER_S;
	run(SETTLED_NS);
	world.outside = 0;
	run(10 * NS_PER_S);
	EXPECT_EQ(0, world.outside);
	EXPECT_LT(top(&world.nodes[1]) - low(&world.nodes[0]), NS_PER_S / 10);
}

/* Whatever the new keeper did not know */
TEST(a_new_keeper_never_moves_the_time_ahead)
{
	struct reckoning reckoning = { .epoch = 1, .count = 1 };
	struct line line;

	reckoning.lines[0] = (struct line) { SECONDS(500), 3 * NS_PER_MS, 10 * NS_PER_S };
	reckoning_keep(&reckoning, 2, 10 * NS_PER_S);
	line = reckoning_line(&reckoning, 100 * NS_PER_S);
	EXPECT_EQ(SECONDS(500) - 3 * (int64_t)NS_PER_MS, line.offset_ns);
	EXPECT_EQ(0, line.bound_ns);
	/* Others may still go by what they had. */
	EXPECT_GE(reckoning_line(&reckoning, 11 * NS_PER_S).bound_ns, 6 * NS_PER_MS);
}

TEST(an_earlier_epoch_means_nothing)
{
	struct line sample = { SECONDS(1), NS_PER_MS, NS_PER_S };
	struct reckoning reckoning = { 0 };

	reckoning_hear(&reckoning, &sample, 5, NS_PER_S);
	sample.offset_ns = SECONDS(9);
	reckoning_hear(&reckoning, &sample, 4, NS_PER_S);
	EXPECT_EQ(SECONDS(1), reckoning_line(&reckoning, NS_PER_S).offset_ns);
	reckoning_keep(&reckoning, 5, NS_PER_S);
	EXPECT_FALSE(reckoning.keeps);
	reckoning_keep(&reckoning, 6, NS_PER_S);
	EXPECT_TRUE(reckoning.keeps);
	reckoning_hear(&reckoning, &sample, 6, NS_PER_S);
	EXPECT_EQ(SECONDS(1) - (int64_t)NS_PER_MS,
		  reckoning_line(&reckoning, 100 * NS_PER_S).offset_ns);
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
