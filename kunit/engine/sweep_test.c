// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sweeping a wheel: the timeouts of one owner end, wherever they are, and no others.
 */
#include <linux/delay.h>
#include <linux/workqueue.h>

#include "../sim.h"

#include "engine/source.h"
#include "engine/sweep.h"

#define NR	2000

/* For how long a callback holds the worker, in us */
#define HOLD_US	20

/* Those of the owner, told by their ops */
static const struct hwheel_timeout_ops own_ops = {
	.expire = sim_expire, .release = sim_release,
};

static bool has_ops(const struct hwheel_timeout *timeout, const void *owner)
{
	return timeout->ops == owner;
}

static u64 sweep(struct hwheel *wheel)
{
	return hwheel_sweep(wheel, has_ops, &own_ops);
}

static const unsigned int levels[] = { 1, 2, 3 };

static void describe_levels(const unsigned int *n, char *text)
{
	snprintf(text, KUNIT_PARAM_DESC_SIZE, "%u levels", *n);
}

KUNIT_ARRAY_PARAM(levels, levels, describe_levels);

static struct hwheel *wheel_of_levels(struct kunit *test)
{
	return sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS,
		.levels = *(const unsigned int *)test->param_value,
	});
}

static void expect_ended(struct kunit *test, struct sim_timeout *sim)
{
	KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&sim->timeout));
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	KUNIT_EXPECT_EQ(test, sim->released, 0);
	KUNIT_EXPECT_FALSE(test, atomic64_read(&sim->timeout.word) & HWHEEL_QUEUED);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&sim->timeout.node.link));
}

/* Near and far ones, some for a later round, some refreshed to later, some only submitted */
static void timeouts_of_an_owner_end(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test);
	struct sim_timeout *own = sim_timeouts(test, wheel, 100, &own_ops);
	struct sim_timeout *others = sim_timeouts(test, wheel, 100, &sim_ops);
	struct hwheel_stats stats;
	unsigned int i;

	for (i = 0; i < 90; i++) {
		arm_edge(test, &own[i], 10 + 7 * i);
		arm_edge(test, &others[i], 10 + 7 * i);
	}
	sim_pass(wheel, 2);
	for (i = 0; i < 30; i++) {
		refresh_edge(test, &own[i], 1000 + i);
		refresh_edge(test, &others[i], 1000 + i);
	}
	sim_pass(wheel, 5);
	for (; i < 60; i++) {
		refresh_edge(test, &own[i], 9);
		refresh_edge(test, &others[i], 9);
	}
	for (i = 90; i < 100; i++) {
		arm_edge(test, &own[i], 10 + 7 * i);
		arm_edge(test, &others[i], 10 + 7 * i);
	}
	KUNIT_EXPECT_EQ(test, sweep(wheel), 100);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 100);
	stats = stats_of(wheel);
	KUNIT_EXPECT_EQ(test, stats.handed_back, 100);
	for (i = 0; i < 100; i++) {
		expect_ended(test, &own[i]);
		KUNIT_EXPECT_EQ(test, sim_found_if_freed(&own[i]), 0);
	}
	sim_pass(wheel, 1100);
	for (i = 0; i < 100; i++) {
		KUNIT_EXPECT_EQ(test, own[i].expired, 0);
		sim_expect_fired(test, &others[i], i < 30 ? 1000 + i : i < 60 ? 9 : 10 + 7 * i);
	}
}

/* At each time from the first edge to the last: also while a full slot moves down */
static void full_slots_are_swept(struct kunit *test)
{
	u64 at;

	for (at = 2; at < 60; at += 3) {
		struct hwheel *wheel = wheel_of_levels(test);
		struct sim_timeout *own = sim_timeouts(test, wheel, NR, &own_ops);
		struct sim_timeout *others = sim_timeouts(test, wheel, NR, &sim_ops);
		unsigned int i, fired = 0;

		for (i = 0; i < NR; i++) {
			arm_edge(test, &own[i], 60);
			arm_edge(test, &others[i], 60);
		}
		sim_pass(wheel, at);
		KUNIT_EXPECT_EQ(test, sweep(wheel), NR);
		KUNIT_EXPECT_EQ(test, sim_count_expired(others, NR), 0);
		sim_pass(wheel, 60);
		test_sleep(wheel, SIM_TICK / 2);
		for (i = 0; i < NR; i++)
			fired += others[i].expired && others[i].edge == 60;
		KUNIT_EXPECT_EQ(test, fired, NR);
		KUNIT_EXPECT_EQ(test, sim_count_expired(own, NR), 0);
		hwheel_stop(wheel, NULL, NULL);
	}
}

static void sweep_without_any_ends_none(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *others = sim_timeouts(test, wheel, 1, &sim_ops);
	unsigned long wakeups;

	KUNIT_EXPECT_EQ(test, sweep(wheel), 0);
	arm_edge(test, others, 1000);
	KUNIT_EXPECT_EQ(test, sweep(wheel), 0);
	KUNIT_EXPECT_NULL(test, wheel->sweep);
	sim_settle(wheel);
	wakeups = sim_wakeups(wheel);
	sim_pass(wheel, 999);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel), wakeups);
	sim_pass(wheel, 1000);
	sim_expect_fired(test, others, 1000);
}

/* The places of those that ended are free again. */
static void limit_counts_them_no_more(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = 10,
	});
	struct sim_timeout *own = sim_timeouts(test, wheel, 6, &own_ops);
	struct sim_timeout *others = sim_timeouts(test, wheel, 10, &sim_ops);
	unsigned int i;

	for (i = 0; i < 6; i++)
		arm_edge(test, &own[i], 100);
	for (i = 0; i < 4; i++)
		arm_edge(test, &others[i], 100);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&others[4].timeout, SIM_TICK), -EDQUOT);
	KUNIT_EXPECT_EQ(test, sweep(wheel), 6);
	KUNIT_EXPECT_EQ(test, atomic64_read(&wheel->pending), 4);
	for (; i < 10; i++)
		arm_edge(test, &others[i], 100);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 10);
}

/* What was cancelled before is released, and is no timeout that was left. */
static void cancelled_ones_are_released(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *own = sim_timeouts(test, wheel, 2, &own_ops);

	arm_edge(test, &own[0], 100);
	sim_settle(wheel);
	arm_edge(test, &own[1], 100);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&own[0].timeout));
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&own[1].timeout));
	KUNIT_EXPECT_EQ(test, sweep(wheel), 0);
	KUNIT_EXPECT_EQ(test, own[0].released, 1);
	KUNIT_EXPECT_EQ(test, own[1].released, 1);
}

/* Has others move the timeout while the worker looks at it. */
static bool is_moved(const struct hwheel_timeout *timeout, const void *owner)
{
	struct sim_timeout *sim = sim_of((struct hwheel_timeout *)timeout);
	unsigned long *moves = sim->data;

	if (timeout->ops != owner)
		return false;
	if (*moves && --*moves)
		WARN_ON(hwheel_refresh_at(&sim->timeout, hwheel_deadline(timeout) - SIM_TICK));
	return true;
}

static void moved_ones_are_met_again(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test);
	struct sim_timeout *own = sim_timeouts(test, wheel, 1, &own_ops);
	unsigned long moves = 5;

	own->data = &moves;
	arm_edge(test, own, 100);
	KUNIT_EXPECT_EQ(test, hwheel_sweep(wheel, is_moved, &own_ops), 1);
	KUNIT_EXPECT_EQ(test, moves, 0);
	expect_ended(test, own);
}

/* More than a pass looks at are due, and each holds the worker. */

struct sweeper {
	struct work_struct	work;
	struct hwheel		*wheel;
	u64			ended;
};

static void sweep_work(struct work_struct *work)
{
	struct sweeper *sweeper = container_of(work, struct sweeper, work);

	sweeper->ended = sweep(sweeper->wheel);
}

static void hold_worker(struct sim_timeout *sim)
{
	udelay(HOLD_US);
}

static void start_sweep(struct sim_timeout *sim)
{
	struct sweeper *sweeper = sim->data;

	queue_work(system_unbound_wq, &sweeper->work);
}

static void backlogs_are_swept(struct kunit *test)
{
	const unsigned int nr = 20000;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *first = sim_timeouts(test, wheel, 1, &sim_ops);
	struct sim_timeout *own = sim_timeouts(test, wheel, nr, &own_ops);
	struct sim_timeout *others = sim_timeouts(test, wheel, nr, &sim_ops);
	struct sweeper sweeper = { .wheel = wheel };
	unsigned int i, wrong = 0;

	INIT_WORK_ONSTACK(&sweeper.work, sweep_work);
	first->then = start_sweep;
	first->data = &sweeper;
	arm_edge(test, first, 9);
	for (i = 0; i < nr; i++) {
		own[i].then = hold_worker;
		others[i].then = hold_worker;
		arm_edge(test, &own[i], 10);
		arm_edge(test, &others[i], 10);
	}
	sim_pass(wheel, 200);
	flush_work(&sweeper.work);
	destroy_work_on_stack(&sweeper.work);
	for (i = 0; i < nr; i++)
		wrong += own[i].expired + hwheel_is_cancelled(&own[i].timeout) != 1;
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, sim_count_expired(others, nr), nr);
	KUNIT_EXPECT_GT(test, sweeper.ended, 0);
	KUNIT_EXPECT_EQ(test, sweeper.ended + sim_count_expired(own, nr), nr);
}

/* Few of them are behind more timeouts than a pass looks at, of which none is the owner's. */
static void long_lists_are_swept_to_the_end(struct kunit *test)
{
	const unsigned int nr = 30000;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *own = sim_timeouts(test, wheel, 10, &own_ops);
	struct sim_timeout *others = sim_timeouts(test, wheel, 2 * nr, &sim_ops);
	unsigned int i;

	for (i = 0; i < nr; i++)
		arm_edge(test, &others[i], 10000);
	sim_settle(wheel);
	for (i = 0; i < 10; i++)
		arm_edge(test, &own[i], 10000);
	sim_settle(wheel);
	for (i = nr; i < 2 * nr; i++)
		arm_edge(test, &others[i], 10000);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sweep(wheel), 10);
	for (i = 0; i < 10; i++)
		expect_ended(test, &own[i]);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 2 * nr);
}

/* While very many are looked at, what is due fires on its edge or some parts of a pass later. */
static void others_are_in_time(struct kunit *test)
{
	const unsigned int nr = 200000;
	struct hwheel *wheel = wheel_of_levels(test);
	struct sim_timeout *own = sim_timeouts(test, wheel, nr, &own_ops);
	struct sim_timeout *others = sim_timeouts(test, wheel, 200, &sim_ops);
	unsigned int i;
	u64 late = 0;

	for (i = 0; i < nr; i++)
		arm_edge(test, &own[i], 10000 + i % 16);
	for (i = 0; i < 200; i++)
		arm_edge(test, &others[i], 3 + i);
	sim_pass(wheel, 3);
	KUNIT_EXPECT_EQ(test, sweep(wheel), nr);
	sim_pass(wheel, 210);
	for (i = 0; i < 200; i++) {
		KUNIT_EXPECT_EQ(test, others[i].expired, 1);
		late = max(late, others[i].fired_ns - sim_edge_time(wheel, 3 + i));
	}
	KUNIT_EXPECT_LT(test, late, 60 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, sim_count_expired(own, nr), 0);
}

/* One that arms itself expires between the first run of the sweep and its look at the slots. */
static void arm_next(struct sim_timeout *sim)
{
	WARN_ON(hwheel_arm(&sim->timeout, 0));
}

static enum hwheel_source_next stall_run(struct hwheel_source *source)
{
	if (READ_ONCE(source->leaving))
		return HWHEEL_SOURCE_GONE;
	sim_stall(SIM_TICK);
	return HWHEEL_SOURCE_ACTIVE;
}

static bool stall_park(struct hwheel_source *source)
{
	return true;
}

static void stall_wake(struct hwheel_source *source)
{
}

static const struct hwheel_source_ops stall_ops = {
	.run = stall_run, .park = stall_park, .wake = stall_wake,
};

static void periodic_one_is_swept(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *own = sim_timeouts(test, wheel, 1, &own_ops);
	struct hwheel_source *stall = kunit_kzalloc(test, sizeof(*stall), GFP_KERNEL);
	u64 ended;

	own->then = arm_next;
	hwheel_source_init(stall, wheel, &stall_ops);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&own->timeout, 0), 0);
	sim_settle(wheel);
	hwheel_source_kick(stall);
	ended = sweep(wheel);
	own->then = NULL;
	hwheel_source_leave(stall);
	wait_for_completion(&stall->left);
	KUNIT_EXPECT_EQ(test, ended, 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static struct kunit_case sweep_cases[] = {
	KUNIT_CASE(periodic_one_is_swept),
	KUNIT_CASE_PARAM(timeouts_of_an_owner_end, levels_gen_params),
	KUNIT_CASE_PARAM(full_slots_are_swept, levels_gen_params),
	KUNIT_CASE(sweep_without_any_ends_none),
	KUNIT_CASE(limit_counts_them_no_more),
	KUNIT_CASE(cancelled_ones_are_released),
	KUNIT_CASE_PARAM(moved_ones_are_met_again, levels_gen_params),
	KUNIT_CASE(backlogs_are_swept),
	KUNIT_CASE(long_lists_are_swept_to_the_end),
	KUNIT_CASE_PARAM(others_are_in_time, levels_gen_params),
	{}
};

static struct kunit_suite sweep_suite = {
	.name		= "hwheel_sweep",
	.suite_init	= test_wait_for_timers,
	.test_cases	= sweep_cases,
};

kunit_test_suite(sweep_suite);
