// SPDX-License-Identifier: GPL-2.0-only
/*
 * What include/linux/hwheel.h promises, on real wheels in simulated time.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/preempt.h>
#include <linux/workqueue.h>

#include "../sim.h"
#include "admin/registry.h"

/* Long times */

static void ten_days(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	u64 edge;

	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, 10 * SIM_DAY), 0);
	edge = sim_edge_due(wheel, hwheel_deadline(&sim->timeout));
	sim_pass_long(wheel, edge - 1);
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	sim_pass(wheel, edge);
	sim_expect_fired(test, sim, edge);
	test_took_long(test);
}

/* With more turns than an unsigned int counts edges, and a neighbour each side */
static void one_year(struct kunit *test)
{
	const u64 edge = 365 * SIM_DAY / (50 * NSEC_PER_USEC);
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = 50 * NSEC_PER_USEC, .slots = 1,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	unsigned int i;

	for (i = 0; i < 3; i++)
		arm_edge(test, &sim[i], edge - 1 + i);
	sim_pass_long(wheel, edge - 2);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 3), 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 3);
	for (i = 0; i < 3; i++) {
		sim_pass(wheel, edge - 1 + i);
		sim_expect_fired(test, &sim[i], edge - 1 + i);
		KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 3), i + 1);
	}
	test_took_long(test);
}

/* As arming with them does, whatever was the deadline before */
static void refresh_beyond_the_clock_means_never(struct kunit *test)
{
	static const u64 ends[] = {
		S64_MAX / 2, HWHEEL_NEVER - 9, HWHEEL_NEVER - 8, HWHEEL_NEVER - 7,
		HWHEEL_NEVER - 1, HWHEEL_NEVER, HWHEEL_NEVER + 1, S64_MAX,
		BIT_ULL(63), BIT_ULL(63) + 1, BIT_ULL(63) + BIT_ULL(62),
		U64_MAX - 8, U64_MAX - 7, U64_MAX - 6, U64_MAX,
	};
	struct hwheel *wheel = sim_wheel(test);
	const unsigned int nr = ARRAY_SIZE(ends);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);
	unsigned int i, round;

	for (i = 0; i < nr; i++)
		arm_edge(test, &sim[i], 1000);
	sim_settle(wheel);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < nr; i++) {
			KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim[i].timeout, ends[i]), 0);
			KUNIT_EXPECT_EQ(test, hwheel_deadline(&sim[i].timeout),
					hwheel_deadline_store(ends[i]));
			KUNIT_EXPECT_TRUE(test, hwheel_is_pending(&sim[i].timeout));
		}
	}
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_FALSE(test, atomic64_read(&sim[i].timeout.word) & HWHEEL_QUEUED);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), nr);
}

static void never_does_not_fire(struct kunit *test)
{
	static const u64 never[] = { U64_MAX, U64_MAX - 7, S64_MAX };
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 7, &sim_ops);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[i].timeout, never[i]), 0);
		KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim[3 + i].timeout, never[i]), 0);
	}
	arm_edge(test, &sim[6], 3);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim[6].timeout, U64_MAX), 0);
	sim_pass_long(wheel, 100 * SIM_DAY / SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 7), 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 7);

	/* and it can come after all */
	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim[0].timeout, SIM_TICK), 0);
	test_sleep(wheel, 2 * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim[0].expired, 1);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 6);
	test_took_long(test);
}

/* Wake-ups */

static void empty_wheel_does_not_wake_up_in_a_day(struct kunit *test)
{
	struct hwheel *fresh = sim_wheel(test), *used = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, used, 2, &sim_ops);
	unsigned long before[2];

	arm_edge(test, &sim[0], 3);
	arm_edge(test, &sim[1], 50);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[1].timeout));
	test_sleep(used, NSEC_PER_SEC);
	before[0] = sim_wakeups(fresh);
	before[1] = sim_wakeups(used);
	test_sleep(used, SIM_DAY);
	KUNIT_EXPECT_EQ(test, sim_wakeups(fresh) - before[0], 0);
	KUNIT_EXPECT_EQ(test, sim_wakeups(used) - before[1], 0);
	test_took_long(test);
}

/* Once for the arm, once when it lingered for a tick, once to expire it */
static void timeout_a_day_away_costs_three_wakeups(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	unsigned long before;
	u64 edge;

	sim_settle(wheel);
	before = sim_wakeups(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, SIM_DAY), 0);
	edge = sim_edge_due(wheel, hwheel_deadline(&sim->timeout));
	sim_pass(wheel, edge - 1);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel) - before, 2);
	sim_pass(wheel, edge);
	sim_expect_fired(test, sim, edge);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel) - before, 3);
	test_took_long(test);
}

/*
 * Once for the first cancel, and once to find that the earlier ones in the slot of the one that is
 * left are gone. The worker lingered in vain after the arms, so it does not after the cancels.
 */
static void cancel_on_a_quiet_wheel_costs_two_wakeups(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 100, &sim_ops);
	unsigned long before;
	unsigned int i;

	for (i = 0; i < 100; i++)
		arm_edge(test, &sim[i], 100000 + i);
	sim_settle(wheel);
	before = sim_wakeups(wheel);
	for (i = 0; i < 99; i++)
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel) - before, 1);
	sim_pass(wheel, 100098);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel) - before, 2);
	sim_pass(wheel, 100099);
	sim_expect_fired(test, &sim[99], 100099);
	test_took_long(test);
}

/* Of many slots each has one that is due, but in a later turn */
#define FULL_SLOTS	65536U

static struct hwheel *full_wheel(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = FULL_SLOTS,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, FULL_SLOTS, &sim_ops);
	unsigned int i;

	for (i = 0; i < FULL_SLOTS; i++)
		arm_edge(test, &sim[i], 2 * FULL_SLOTS + i);
	return wheel;
}

/* Beside that for a timeout's own edge, there is one at the most: of a worker that lingered. */
static void a_full_wheel_is_slept_through(struct kunit *test)
{
	struct hwheel *wheel = full_wheel(test);
	struct sim_timeout *first = sim_timeouts(test, wheel, 1, &sim_ops);
	unsigned long before;

	arm_edge(test, first, 10);
	sim_pass(wheel, 10);
	sim_expect_fired(test, first, 10);
	before = sim_wakeups(wheel);
	sim_pass(wheel, 2 * FULL_SLOTS - 1);
	KUNIT_EXPECT_LE(test, sim_wakeups(wheel) - before, 1);
	sim_pass(wheel, 2 * FULL_SLOTS);
	KUNIT_EXPECT_LE(test, sim_wakeups(wheel) - before, 2);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), FULL_SLOTS - 1);
	test_took_long(test);
}

static void refresh_to_later_does_not_wake_up(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	unsigned long before;
	unsigned int i;

	arm_edge(test, sim, 1000);
	sim_settle(wheel);
	before = sim_wakeups(wheel);
	for (i = 1; i <= 1000; i++) {
		refresh_edge(test, sim, 1000 + i);
		test_sleep(wheel, SIM_TICK / 2);
	}
	sim_pass(wheel, 999);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel) - before, 0);

	/* once to look at it again when its old slot comes up, once to expire it */
	sim_pass(wheel, 1999);
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel) - before, 1);
	sim_pass(wheel, 2000);
	sim_expect_fired(test, sim, 2000);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel) - before, 2);
}

/* As many connections as ticks and more, each refreshed every 100 ms for 3 s */
static void heartbeats_cost_a_wakeup_per_tick_at_most(struct kunit *test)
{
	const unsigned int nr = 1000, silent = 100;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);
	unsigned long before;
	unsigned int i;

	sim_pass(wheel, 1);
	before = sim_wakeups(wheel);
	for (i = 0; i < 30 * nr; i++) {
		struct hwheel_timeout *timeout = &sim[i % nr].timeout;

		if (i < nr)
			hwheel_arm(timeout, 500 * NSEC_PER_MSEC);
		else if (i % nr >= silent)
			hwheel_refresh(timeout, 500 * NSEC_PER_MSEC);
		if (i % 10 == 9)
			test_sleep(wheel, NSEC_PER_MSEC);
	}
	KUNIT_EXPECT_GE(test, test_now(wheel), sim_edge_time(wheel, 300));
	KUNIT_EXPECT_LE(test, sim_wakeups(wheel) - before,
			div64_u64(test_now(wheel) - wheel->epoch, SIM_TICK));
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, silent), silent);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), silent);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), nr - silent);
}

/* Each request is answered after 3 ms: arms and cancels all the time */
static void requests_cost_a_wakeup_per_tick_at_most(struct kunit *test)
{
	const unsigned int nr = 3000;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_release_ops);
	unsigned long before;
	unsigned int i;

	sim_settle(wheel);
	before = sim_wakeups(wheel);
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[i].timeout, NSEC_PER_SEC), 0);
		if (i >= 3)
			KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i - 3].timeout));
		test_sleep(wheel, NSEC_PER_MSEC);
	}
	KUNIT_EXPECT_LE(test, sim_wakeups(wheel) - before, nr / 10 + 2);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 3);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), 0);
	for (i = 0; i < nr - 20; i++)
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
}

/* Lingering: what a round costs once the wheel remembers a few. */

/**
 * struct rounds - what rounds of a caller cost
 * @wakeups: of the worker
 * @kicks:   calls that found the worker in deep sleep
 */
struct rounds {
	unsigned long	wakeups;
	unsigned long	kicks;
};

static struct rounds sim_rounds(struct hwheel *wheel, unsigned int nr,
				unsigned int (*round)(struct sim_timeout *sim),
				struct sim_timeout *sim)
{
	struct rounds rounds = { .wakeups = -sim_wakeups(wheel) };

	while (nr--)
		rounds.kicks += round(sim);
	rounds.wakeups += sim_wakeups(wheel);
	return rounds;
}

static void expect_rounds(struct kunit *test, unsigned int (*round)(struct sim_timeout *sim),
			  struct sim_timeout *sim, struct rounds each)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	struct rounds rounds;

	sim_rounds(wheel, 5, round, sim);
	rounds = sim_rounds(wheel, 50, round, sim);
	KUNIT_EXPECT_EQ(test, rounds.wakeups, 50 * each.wakeups);
	KUNIT_EXPECT_EQ(test, rounds.kicks, 50 * each.kicks);
}

/* Each time that it fires the caller arms it anew, for so many ticks later. */
static unsigned int round_of(struct sim_timeout *sim, unsigned int ticks)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	u64 edge = hwheel_edge_reached(wheel, test_now(wheel)) + ticks;
	bool kicks = READ_ONCE(wheel->idle);

	hwheel_arm_at(&sim->timeout, sim_edge_time(wheel, edge));
	sim_pass(wheel, edge);
	return kicks;
}

static unsigned int round_of_10_ms(struct sim_timeout *sim)
{
	return round_of(sim, 1);
}

static unsigned int round_of_100_ms(struct sim_timeout *sim)
{
	return round_of(sim, 10);
}

/* A timeout that stays pending is refreshed to an earlier deadline, which the worker must see. */
static unsigned int lone_submission(struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	bool kicks = READ_ONCE(wheel->idle);

	if (hwheel_arm(&sim->timeout, SIM_DAY))
		hwheel_refresh_at(&sim->timeout, hwheel_deadline(&sim->timeout) - SIM_TICK);
	test_sleep(wheel, 5 * SIM_TICK);
	return kicks;
}

/* A tick of them */
static unsigned int steady_arms_and_cancels(struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned int kicks = 0, i;

	for (i = 0; i < 10; i++) {
		kicks += READ_ONCE(wheel->idle);
		hwheel_arm(&sim->timeout, NSEC_PER_SEC);
		hwheel_cancel(&sim->timeout);
		test_sleep(wheel, NSEC_PER_MSEC);
	}
	return kicks;
}

static void rearm_in_ten_ticks(struct sim_timeout *sim)
{
	hwheel_arm_at(&sim->timeout, sim_edge_time(sim_wheel_of(sim), sim->edge + 10));
}

static unsigned int ten_ticks(struct sim_timeout *sim)
{
	test_sleep(sim_wheel_of(sim), 10 * SIM_TICK);
	return 0;
}

static void a_period_of_a_tick_costs_a_wakeup(struct kunit *test)
{
	struct sim_timeout *sim = sim_timeouts(test, sim_wheel(test), 1, &sim_ops);

	expect_rounds(test, round_of_10_ms, sim, (struct rounds) { 1, 0 });
	KUNIT_EXPECT_EQ(test, sim->expired, 55);
}

/* Once to enqueue it, as the worker lingers after the expiry, and once to expire it */
static void a_period_of_ten_ticks_costs_two_wakeups(struct kunit *test)
{
	struct sim_timeout *sim = sim_timeouts(test, sim_wheel(test), 1, &sim_ops);

	expect_rounds(test, round_of_100_ms, sim, (struct rounds) { 2, 0 });
	KUNIT_EXPECT_EQ(test, sim->expired, 55);
}

/* The worker drains at once what callbacks armed, also if others made it linger before. */
static void a_callback_that_arms_costs_a_wakeup(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	sim_rounds(wheel, 5, round_of_100_ms, sim);
	sim->then = rearm_in_ten_ticks;
	round_of_100_ms(sim);
	expect_rounds(test, ten_ticks, sim, (struct rounds) { 1, 0 });
}

static void a_lone_submission_costs_a_wakeup_and_a_kick(struct kunit *test)
{
	struct sim_timeout *sim = sim_timeouts(test, sim_wheel(test), 1, &sim_ops);

	expect_rounds(test, lone_submission, sim, (struct rounds) { 1, 1 });
	KUNIT_EXPECT_EQ(test, hwheel_pending(sim_wheel_of(sim)), 1);
}

static void steady_submissions_cost_a_wakeup_per_tick(struct kunit *test)
{
	struct sim_timeout *sim = sim_timeouts(test, sim_wheel(test), 1, &sim_ops);

	expect_rounds(test, steady_arms_and_cancels, sim, (struct rounds) { 1, 0 });
}

/* The second kick comes before the next edge, and is the last one. */
static void steady_submissions_end_the_kicks(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct rounds rounds;

	sim_rounds(wheel, 5, lone_submission, &sim[0]);
	rounds = sim_rounds(wheel, 10, steady_arms_and_cancels, &sim[1]);
	KUNIT_EXPECT_EQ(test, rounds.kicks, 2);
	KUNIT_EXPECT_LE(test, rounds.wakeups, 12);
}

/* Callers on a new wheel kick once, however many they arm in the first tick. */
static void first_arms_cost_a_kick(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	sim_pass(wheel, 1);
	KUNIT_EXPECT_EQ(test, steady_arms_and_cancels(sim), 1);
}

/* Edges */

static void delay_0_fires_at_the_next_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);

	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), 0);
	sim_pass(wheel, 1);
	sim_expect_fired(test, &sim[0], 1);

	/* again when the wheel was quiet for long, in the middle of a tick */
	test_sleep_until(wheel, sim_edge_time(wheel, 1000) + SIM_TICK / 2);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, 0), 0);
	test_sleep(wheel, SIM_TICK / 4);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 0);
	sim_pass(wheel, 1001);
	sim_expect_fired(test, &sim[1], 1001);
}

static void past_deadline_fires_once_by_the_next_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 4, &sim_ops);
	u64 past[4] = { 0, 1, wheel->epoch, sim_edge_time(wheel, 99) };
	unsigned int i;
	u64 armed;

	test_sleep_until(wheel, sim_edge_time(wheel, 100) + SIM_TICK / 2);
	armed = test_now(wheel);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim[i].timeout, past[i]), 0);
	sim_pass(wheel, 101);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, 1);
		KUNIT_EXPECT_GE(test, sim[i].fired_ns, armed);
	}
	test_sleep(wheel, 20 * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 4), 4);
}

/* A deadline is rounded up to 8 ns, then to an edge. */
static void deadline_fires_on_the_first_edge_not_before_it(struct kunit *test)
{
	static const struct { s64 offset; unsigned int edge; } cases[] = {
		{ -SIM_TICK + 1, 10 }, { -SIM_TICK / 2, 10 }, { -9, 10 },
		{ -8, 10 }, { -7, 10 }, { -1, 10 }, { 0, 10 },
		{ 1, 11 }, { 7, 11 }, { 8, 11 }, { 9, 11 },
		{ SIM_TICK / 2, 11 }, { SIM_TICK, 11 }, { SIM_TICK + 1, 12 },
	};
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, ARRAY_SIZE(cases),
					       &sim_ops);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 deadline = sim_edge_time(wheel, 10) + cases[i].offset;

		KUNIT_ASSERT_EQ(test, hwheel_arm_at(&sim[i].timeout, deadline), 0);
	}
	sim_pass(wheel, 9);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, ARRAY_SIZE(cases)), 0);
	sim_pass(wheel, 15);
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		sim_expect_fired(test, &sim[i], cases[i].edge);
}

/* Each look at the clock takes 256 ns. The worker lingers, so no call wakes it. */
#define LOOK_NS		256

static void expect_looks(struct kunit *test, struct hwheel *wheel, u64 since, unsigned int looks)
{
	KUNIT_EXPECT_EQ(test, test_now(wheel) - since, looks * LOOK_NS);
}

static void relative_times_cost_one_look_at_the_clock(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	u64 since;

	arm_edge(test, &sim[2], 100);
	test_sleep(wheel, SIM_SETTLE);
	since = test_now(wheel);
	hwheel_arm(&sim[0].timeout, NSEC_PER_SEC);
	expect_looks(test, wheel, since, 1);
	since = test_now(wheel);
	hwheel_refresh(&sim[0].timeout, 2ULL * NSEC_PER_SEC);
	expect_looks(test, wheel, since, 1);
	since = test_now(wheel);
	hwheel_refresh(&sim[0].timeout, NSEC_PER_SEC);
	expect_looks(test, wheel, since, 1);
	since = test_now(wheel);
	hwheel_arm_at(&sim[1].timeout, since + NSEC_PER_SEC);
	hwheel_refresh_at(&sim[1].timeout, since + 2ULL * NSEC_PER_SEC);
	hwheel_cancel(&sim[1].timeout);
	hwheel_is_pending(&sim[0].timeout);
	expect_looks(test, wheel, since, 0);
}

/* Of 1,000 connections each is heard every second, on a wheel as it is by default. */
static void moved_ones_cost_a_look_per_delay(struct kunit *test)
{
	const unsigned int nr = 1000, seconds = 300, delay = 30;
	const u64 delay_ns = 30ULL * NSEC_PER_SEC;
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) { });
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);
	struct hwheel_stats stats;
	unsigned int i, s;

	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, hwheel_arm(&sim[i].timeout, delay_ns), 0);
	for (s = 0; s < seconds; s++) {
		test_sleep(wheel, NSEC_PER_SEC);
		for (i = 0; i < nr; i++)
			hwheel_refresh(&sim[i].timeout, delay_ns);
	}
	hwheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), 0);
	KUNIT_EXPECT_LE(test, stats.moved, nr * (seconds / (delay - 1) + 1));
	KUNIT_EXPECT_GE(test, stats.moved, nr * (seconds / delay - 1));
}

static void deadline_reads_back_rounded_up_to_8ns(struct kunit *test)
{
	static const struct { u64 asked, stored; } cases[] = {
		{ 0, 0 }, { 1, 8 }, { 7, 8 }, { 8, 8 }, { 9, 16 },
		{ 1ULL << 32, 1ULL << 32 }, { (1ULL << 60) + 1, (1ULL << 60) + 8 },
		{ S64_MAX - 8, (1ULL << 63) - 8 }, { S64_MAX, (1ULL << 63) - 8 },
		{ 1ULL << 63, (1ULL << 63) - 8 }, { U64_MAX, (1ULL << 63) - 8 },
	};
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct hwheel_timeout *timeout = &sim->timeout;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_EXPECT_EQ(test, hwheel_arm_at(timeout, cases[i].asked), 0);
		KUNIT_EXPECT_EQ(test, hwheel_deadline(timeout), cases[i].stored);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(timeout));
		KUNIT_EXPECT_EQ(test, hwheel_deadline(timeout), cases[i].stored);
		KUNIT_EXPECT_EQ(test, hwheel_arm_at(timeout, 12345), 0);
		KUNIT_EXPECT_EQ(test, hwheel_refresh_at(timeout, cases[i].asked), 0);
		KUNIT_EXPECT_EQ(test, hwheel_deadline(timeout), cases[i].stored);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(timeout));
	}
	KUNIT_EXPECT_PTR_EQ(test, hwheel_of(timeout), wheel);
}

/* A machine that stood still: 60,000 edges are missed, and made up for in one pass. */
static void stall_of_ten_minutes_is_caught_up(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1000, &sim_ops);
	unsigned long before;
	unsigned int i;
	u64 now;

	for (i = 0; i < 1000; i++)
		arm_edge(test, &sim[i], 10 + 59 * i);
	sim_pass(wheel, 9);
	before = sim_wakeups(wheel);
	sim_stall(600ULL * NSEC_PER_SEC);
	now = test_now(wheel);
	sim_settle(wheel);
	KUNIT_EXPECT_LE(test, sim_wakeups(wheel) - before, 2);
	for (i = 0; i < 1000; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, 1);
		KUNIT_EXPECT_LE(test, sim[i].edge, 10 + 59 * i);
		KUNIT_EXPECT_LT(test, sim[i].fired_ns, now + SIM_SETTLE);
	}
	test_took_long(test);
}

/* More than the worker drains in one pass, submitted while it lingers until they are due */
static void none_is_late_after_a_long_drain(struct kunit *test)
{
	const u64 tick = HWHEEL_DEFAULT_TICK_NS;
	const unsigned int nr = 150000;
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) { });
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr + 1, &sim_ops);
	unsigned int i, late = 0;

	KUNIT_ASSERT_EQ(test, hwheel_arm(&sim[nr].timeout, SIM_DAY), 0);
	test_sleep(wheel, SIM_SETTLE);
	for (i = 0; i < nr; i++)
		arm_edge(test, &sim[i], wheel->slots.cursor + 1);
	sim_settle(wheel);
	for (i = 0; i < nr; i++)
		late += sim[i].fired_ns >= hwheel_deadline(&sim[i].timeout) + tick;
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), nr);
	KUNIT_EXPECT_EQ(test, late, 0);
	KUNIT_EXPECT_EQ(test, local_read(&wheel->counts.drained_max), 100000);
}

static void release_slowly(struct hwheel_timeout *timeout)
{
	sim_release(timeout);
	sim_stall(NSEC_PER_MSEC);
}

static const struct hwheel_timeout_ops slow_release_ops = {
	.expire = sim_expire,
	.release = release_slowly,
};

/*
 * The last ones in the queue, behind slow release ops, because of which the drain takes many
 * passes, but not a tick. Later arms do not make it longer.
 */
static void none_is_late_after_slow_releases(struct kunit *test)
{
	const unsigned int nr = 50;
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) { });
	struct sim_timeout *slow = sim_timeouts(test, wheel, nr, &slow_release_ops);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	unsigned long before;
	unsigned int i;
	u64 edge;

	for (i = 0; i < nr; i++)
		arm_edge(test, &slow[i], 1000);
	test_sleep(wheel, SIM_SETTLE);
	before = local_read(&wheel->counts.passes);
	edge = wheel->slots.cursor + 1;
	arm_edge(test, sim, edge);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&slow[i].timeout));
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_EQ(test, sim->edge, edge);
	KUNIT_EXPECT_LT(test, sim->fired_ns, sim_edge_time(wheel, edge + 1));
	KUNIT_EXPECT_GT(test, local_read(&wheel->counts.passes) - before, 2);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, slow[i].released, 1);
}

/*
 * The drain takes several ticks, in which the cursor passes the edge of one that is behind slow
 * ones in its list.
 */
static void drained_late_it_fires_at_once(struct kunit *test)
{
	const unsigned int nr = 400;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *slow = sim_timeouts(test, wheel, nr, &slow_release_ops);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	u64 edge, last = 0;
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (sim_share_list(&slow[i], sim))
			arm_edge(test, &slow[i], 1000);
	sim_settle(wheel);
	edge = wheel->slots.cursor + 1;
	arm_edge(test, sim, edge);
	for (i = 0; i < nr; i++)
		hwheel_cancel(&slow[i].timeout);
	sim_pass(wheel, edge + 50);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_GT(test, sim->edge, edge);
	for (i = 0; i < nr; i++)
		last = max(last, slow[i].released_ns);
	KUNIT_EXPECT_LT(test, sim->fired_ns, last + 2 * NSEC_PER_MSEC);
}

/* Some times */
static void release_and_come_again(struct hwheel_timeout *timeout)
{
	struct sim_timeout *sim = sim_of(timeout);

	release_slowly(timeout);
	if (sim->released < 10 && !hwheel_arm(timeout, SIM_DAY))
		hwheel_cancel(timeout);
}

static const struct hwheel_timeout_ops stream_ops = {
	.expire = sim_expire,
	.release = release_and_come_again,
};

/*
 * There is always more to drain than a tick has time for. An enqueued timeout waits for two
 * parts of the drain, that in which its edge comes and the next one: each ends after two jiffies
 * and a release op; and for a look at the clock after each.
 */
static void a_stream_of_submissions_keeps_no_edge_waiting(struct kunit *test)
{
	const unsigned int nr = 150;
	const u64 bound = 4 * TICK_NSEC + 2 * NSEC_PER_MSEC + nr * NSEC_PER_USEC;
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) { });
	struct sim_timeout *stream = sim_timeouts(test, wheel, nr, &stream_ops);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 10, &sim_ops);
	unsigned int i;

	for (i = 0; i < 10; i++)
		arm_edge(test, &sim[i], 10 + i);
	for (i = 0; i < nr; i++)
		arm_edge(test, &stream[i], 1000);
	sim_pass(wheel, 8);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&stream[i].timeout));
	sim_pass(wheel, 60);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, 1);
		KUNIT_EXPECT_LT(test, sim[i].fired_ns, sim_edge_time(wheel, 10 + i) + bound);
	}
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, stream[i].released, 10);
}

/* Several times what the worker drains or expires in one pass */
static void load_of_250000_submissions_in_one_tick(struct kunit *test)
{
	const unsigned int nr = 250000;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);
	unsigned int i;

	for (i = 0; i < nr; i++)
		arm_edge(test, &sim[i], 1 + i % 2);
	KUNIT_EXPECT_LT(test, test_now(wheel), sim_edge_time(wheel, 1));
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), nr);
	test_sleep(wheel, SIM_TICK / 2);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), 0);
	sim_pass(wheel, 1);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), nr / 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), nr);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	for (i = 0; i < nr; i++)
		if (sim[i].expired != 1 || sim[i].edge != 1 + i % 2)
			break;
	KUNIT_EXPECT_EQ(test, i, nr);
}

/* Timeouts that are due while a callback sleeps, and timeouts that are due after it */
static void catch_up_after_a_long_callback(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 8, &sim_ops);
	unsigned int i;

	sim[0].then = sleep_3_ticks;
	for (i = 0; i < 8; i++)
		arm_edge(test, &sim[i], 4 + i);
	test_sleep_until(wheel, sim_edge_time(wheel, 7) - SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 8), 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 7);

	/* 5 and 6 were missed, in one pass, in order; no drift after it */
	sim_pass(wheel, 7);
	sim_expect_fired(test, &sim[0], 4);
	for (i = 1; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, 1);
		KUNIT_EXPECT_EQ(test, sim[i].edge, 4 + i);
		KUNIT_EXPECT_GE(test, sim[i].fired_ns, sim_edge_time(wheel, 7));
		KUNIT_EXPECT_LT(test, sim[i].fired_ns,
				sim_edge_time(wheel, 7) + SIM_SETTLE);
	}
	sim_pass(wheel, 20);
	for (i = 4; i < 8; i++)
		sim_expect_fired(test, &sim[i], 4 + i);
}

static void note_order(struct sim_timeout *sim)
{
	u64 *last = sim->data;

	if (*last > sim->edge)
		*last = U64_MAX;
	else
		*last = sim->edge;
}

/* More than a turn is missed, so slots come up that hold several of its edges. */
static void catch_up_of_several_revolutions_is_in_order(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 101, &sim_ops);
	unsigned int i;
	u64 last = 0;

	sim[0].then = sleep_3_ticks;
	for (i = 0; i < 101; i++) {
		sim[i].data = &last;
		if (i)
			sim[i].then = note_order;
		arm_edge(test, &sim[i], i ? 4 + i : 3);
	}
	/* hold the worker for longer than the callback alone would */
	for (i = 1; i < 101; i++)
		if (i % 10 == 0)
			sim[i].then = sleep_3_ticks;
	sim_pass(wheel, 110);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 101), 101);
	for (i = 1; i < 101; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, 1);
		KUNIT_EXPECT_EQ(test, sim[i].edge, 4 + i);
		KUNIT_EXPECT_GE(test, sim[i].fired_ns, sim_edge_time(wheel, 4 + i));
	}
}

/* Callbacks */

/* The worker is about to sleep for long and does not know of the new one yet. */
static void arm_another_edge(struct sim_timeout *sim)
{
	hwheel_arm_at(sim->data, sim_edge_time(sim_wheel_of(sim), 1000));
}

static void armed_from_the_last_callback_before_a_deep_sleep(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);

	sim[0].then = arm_another_edge;
	sim[0].data = &sim[1].timeout;
	arm_edge(test, &sim[0], 100);
	sim_pass(wheel, 999);
	sim_expect_fired(test, &sim[0], 100);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 0);
	sim_pass(wheel, 1000);
	sim_expect_fired(test, &sim[1], 1000);
}

static void rearm_then_cancel(struct sim_timeout *sim)
{
	bool *ok = sim->data;

	*ok = !hwheel_cancel(&sim->timeout) &&
	      hwheel_arm(&sim->timeout, 0) == 0 &&
	      hwheel_arm(&sim->timeout, 0) == -EBUSY &&
	      hwheel_cancel(&sim->timeout) && !hwheel_cancel(&sim->timeout);
}

static void cancel_from_own_callback(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);
	bool ok = false;

	sim->then = rearm_then_cancel;
	sim->data = &ok;
	arm_edge(test, sim, 5);
	sim_pass(wheel, 50);
	KUNIT_EXPECT_TRUE(test, ok);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static void check_context(struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	bool *ok = sim->data;

	*ok = in_task() && !irqs_disabled() && !preempt_count() &&
	      current == wheel->worker && hwheel_is_expired(&sim->timeout);
	msleep(20);
	*ok = *ok && current == wheel->worker;
}

static void callback_is_in_process_context_and_may_sleep(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	bool ok[2] = { };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sim[i].then = check_context;
		sim[i].data = &ok[i];
		arm_edge(test, &sim[i], 2);
	}
	sim_pass(wheel, 10);
	KUNIT_EXPECT_TRUE(test, ok[0]);
	KUNIT_EXPECT_TRUE(test, ok[1]);
}

/* Objects that free themselves: KASAN and a count watch. */
struct own_object {
	struct hwheel_timeout	timeout;
	unsigned int		*freed;
};

static void free_own_object(struct hwheel_timeout *timeout)
{
	struct own_object *object = container_of(timeout, struct own_object,
						 timeout);

	++*object->freed;
	memset(object, 0x6b, sizeof(*object));
	kfree(object);
}

static void free_handed_back(struct hwheel_timeout *timeout, void *data)
{
	free_own_object(timeout);
}

static const struct hwheel_timeout_ops own_object_ops = {
	.expire = free_own_object,
	.release = free_own_object,
};

static struct own_object *arm_own_object(struct kunit *test,
					 struct hwheel *wheel, u64 edge,
					 unsigned int *freed)
{
	struct own_object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, object);
	object->freed = freed;
	hwheel_timeout_init(&object->timeout, wheel, &own_object_ops);
	KUNIT_ASSERT_EQ(test, hwheel_arm_at(&object->timeout,
					    sim_edge_time(wheel, edge)), 0);
	return object;
}

/* Among others in the same slot, enqueued and still queued */
static void object_may_be_freed_by_its_release_op(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct own_object *object[100];
	unsigned int freed = 0, i;

	for (i = 0; i < 100; i++) {
		if (i == 50)
			sim_settle(wheel);
		object[i] = arm_own_object(test, wheel, 100 + i / 10, &freed);
	}
	for (i = 0; i < 100; i += 2)
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&object[i]->timeout));
	sim_pass(wheel, 99);
	KUNIT_EXPECT_EQ(test, freed, 50);
	sim_pass(wheel, 120);
	KUNIT_EXPECT_EQ(test, freed, 100);
}

static void object_may_be_freed_by_the_handback(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	unsigned int freed = 0, i;

	for (i = 0; i < 500; i++) {
		if (i == 400)
			sim_settle(wheel);
		arm_own_object(test, wheel, 100 + i, &freed);
	}
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, free_handed_back, NULL), 500);
	KUNIT_EXPECT_EQ(test, freed, 500);
}

/* Cancel against expire */

struct backlog {
	struct sim_timeout	*sim;
	unsigned int		nr;
	unsigned int		cancelled;
};

static void cancel_all_others(struct sim_timeout *sim)
{
	struct backlog *backlog = sim->data;
	unsigned int i;

	for (i = 0; i < backlog->nr; i++)
		backlog->cancelled += hwheel_cancel(&backlog->sim[i].timeout);
}

static void arm_backlog(struct kunit *test, struct backlog *backlog, u64 edge)
{
	unsigned int i;

	for (i = 0; i < backlog->nr; i++) {
		backlog->sim[i].then = cancel_all_others;
		backlog->sim[i].data = backlog;
		arm_edge(test, &backlog->sim[i], edge);
	}
}

/*
 * All are due at one edge, and the first to fire cancels the others, which the
 * worker has taken from their slot by then: one outcome for each.
 */
static void cancel_against_expire_at_one_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct backlog backlog = { .nr = 100 };
	unsigned int i;

	backlog.sim = sim_timeouts(test, wheel, 100, &sim_release_ops);
	arm_backlog(test, &backlog, 3);
	sim_pass(wheel, 3);
	KUNIT_EXPECT_EQ(test, sim_count_expired(backlog.sim, 100), 1);
	KUNIT_EXPECT_EQ(test, backlog.cancelled, 99);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);

	test_sleep(wheel, 3 * SIM_SLOTS * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim_count_expired(backlog.sim, 100), 1);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, backlog.sim[i].expired +
				      backlog.sim[i].released, 1);
}

/* Whichever wakes first on the edge, the canceller or the worker */
static void cancel_against_expire_from_another_thread(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 201, &sim_ops);
	unsigned int i, cancelled = 0;

	for (i = 0; i < 201; i++) {
		u64 edge = 10 + 2 * i;
		bool prevented;

		arm_edge(test, &sim[i], edge);
		/* from 10 us before the edge to 10 us after it */
		test_sleep_until(wheel, sim_edge_time(wheel, edge) - 10000 + 100 * i);
		prevented = hwheel_cancel(&sim[i].timeout);
		cancelled += prevented;
		sim_pass(wheel, edge + 1);
		KUNIT_EXPECT_EQ(test, sim[i].expired + prevented, 1);
	}
	KUNIT_EXPECT_GE(test, cancelled, 100);
	KUNIT_EXPECT_LT(test, cancelled, 201);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* Of those with one counter, the first to fire holds the worker. */
static void hold_for_a_second(struct sim_timeout *sim)
{
	unsigned int *fired = sim->data;

	if (!(*fired)++)
		msleep(1000);
}

static void pending_right_when_cancelled_in_the_goal_tick(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) { });
	struct sim_timeout *sim = sim_timeouts(test, wheel, 11, &sim_ops);
	unsigned int fired = 0, cancelled = 0, i;

	for (i = 0; i < 11; i++) {
		sim[i].then = hold_for_a_second;
		sim[i].data = &fired;
		KUNIT_ASSERT_EQ(test, hwheel_arm(&sim[i].timeout, 200 * NSEC_PER_MSEC), 0);
	}
	test_sleep(wheel, 500 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 10);
	for (i = 0; i < 11; i++)
		cancelled += hwheel_cancel(&sim[i].timeout);
	KUNIT_EXPECT_EQ(test, cancelled, 10);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);

	test_sleep(wheel, 2ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 11), 1);
}

/* Release */

/* After a cancel while it is queued, lingering and in deep sleep */
static void release_is_called_once_within_a_tick(struct kunit *test)
{
	static const u64 waits[] = { 0, SIM_TICK / 2, 50 * SIM_TICK };
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_release_ops);
	unsigned int i;

	sim_settle(wheel);
	for (i = 0; i < 3; i++) {
		u64 cancelled;

		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[i].timeout, NSEC_PER_SEC), 0);
		test_sleep(wheel, waits[i]);
		KUNIT_EXPECT_EQ(test, sim[i].released, 0);
		cancelled = test_now(wheel);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim[i].timeout));
		test_sleep(wheel, 200 * SIM_TICK);
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
		KUNIT_EXPECT_GE(test, sim[i].released_ns, cancelled);
		KUNIT_EXPECT_LE(test, sim[i].released_ns,
				cancelled + SIM_TICK + SIM_SETTLE);
		KUNIT_EXPECT_EQ(test, sim[i].expired, 0);
	}
}

/* Of a timeout that is due at the next edge, or later; lingering, and when that is over */
static void release_does_not_wait_for_a_long_tick(struct kunit *test)
{
	static const u64 waits[] = { 0, NSEC_PER_MSEC, NSEC_PER_SEC };
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = 3600ULL * NSEC_PER_SEC,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2 * ARRAY_SIZE(waits),
					       &sim_release_ops);
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(waits); i++) {
		u64 cancelled;

		arm_edge(test, &sim[i], i % 2 ? 100 : 1);
		test_sleep(wheel, waits[i / 2]);
		cancelled = test_now(wheel);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		test_sleep(wheel, NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
		KUNIT_EXPECT_LE(test, sim[i].released_ns,
				cancelled + 100 * NSEC_PER_MSEC + SIM_SETTLE);
	}
}

static void not_armed_between_cancel_and_release(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);
	unsigned int i;

	for (i = 1; i <= 10; i++) {
		arm_edge(test, sim, 10 * i + 8);
		if (i % 2)
			sim_pass(wheel, 10 * i + 3);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, 0), -EBUSY);
		KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->timeout, 0), -ENOENT);
		KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&sim->timeout));
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
		sim_pass(wheel, 10 * i + 5);
		KUNIT_EXPECT_EQ(test, sim->released, i);
	}
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	arm_edge(test, sim, 120);
	sim_pass(wheel, 120);
	sim_expect_fired(test, sim, 120);
	KUNIT_EXPECT_EQ(test, sim->released, 10);
}

static void release_is_not_called_after_expiry(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);

	arm_edge(test, sim, 3);
	sim_pass(wheel, 3);
	sim_expect_fired(test, sim, 3);
	KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim->timeout));
	sim_pass(wheel, 30);
	/* there is nothing to wait for before the next arm */
	arm_edge(test, sim, 32);
	sim_pass(wheel, 32);
	KUNIT_EXPECT_EQ(test, sim->expired, 2);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, sim->released, 0);
}

/* Queries and counts */

static void expect_state(struct kunit *test, const struct sim_timeout *sim,
			 enum hwheel_state state)
{
	const struct hwheel_timeout *timeout = &sim->timeout;

	KUNIT_EXPECT_EQ(test, hwheel_timeout_state(timeout), state);
	KUNIT_EXPECT_EQ(test, hwheel_is_pending(timeout), state == HWHEEL_PENDING);
	KUNIT_EXPECT_EQ(test, hwheel_is_expired(timeout), state == HWHEEL_EXPIRED);
	KUNIT_EXPECT_EQ(test, hwheel_is_cancelled(timeout),
			state == HWHEEL_CANCELLED);
	KUNIT_EXPECT_EQ(test, hwheel_pending(sim_wheel_of(sim)),
			state == HWHEEL_PENDING);
}

/* Each state is the same before and after the worker took notice. */
static void expect_states(struct kunit *test, const struct sim_timeout *sim,
			  enum hwheel_state state, u64 edge)
{
	expect_state(test, sim, state);
	sim_pass(sim_wheel_of(sim), edge);
	expect_state(test, sim, state);
}

static void walk_states(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	expect_states(test, sim, HWHEEL_IDLE, 1);
	arm_edge(test, sim, 10);
	expect_states(test, sim, HWHEEL_PENDING, 9);
	refresh_edge(test, sim, 20);
	expect_states(test, sim, HWHEEL_PENDING, 15);
	refresh_edge(test, sim, 17);
	expect_states(test, sim, HWHEEL_PENDING, 16);
	sim_pass(wheel, 17);
	expect_states(test, sim, HWHEEL_EXPIRED, 25);
	arm_edge(test, sim, 30);
	expect_states(test, sim, HWHEEL_PENDING, 27);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	expect_states(test, sim, HWHEEL_CANCELLED, 35);
	arm_edge(test, sim, 40);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	expect_states(test, sim, HWHEEL_CANCELLED, 45);
	arm_edge(test, sim, 50);
	expect_states(test, sim, HWHEEL_PENDING, 47);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
	expect_states(test, sim, HWHEEL_CANCELLED, 55);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
}

static void queries_tell_every_state(struct kunit *test)
{
	walk_states(test, sim_wheel(test));
	walk_states(test, sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = 1,
	}));
}

/* Some of each kind between two looks */
static void count_pending(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 400, &sim_ops);
	u64 pending = 0;
	unsigned int i;

	for (i = 0; i < 400; i++) {
		arm_edge(test, &sim[i], 10 + i / 2);
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), ++pending);
	}
	for (i = 0; i < 400; i += 4) {
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		refresh_edge(test, &sim[i + 1], 300);
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), --pending);
	}
	for (i = 9; i <= 300; i++) {
		sim_pass(wheel, i);
		pending = 300 - sim_count_expired(sim, 400);
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), pending);
	}
	KUNIT_EXPECT_EQ(test, pending, 0);
}

static void pending_is_exact(struct kunit *test)
{
	count_pending(test, sim_wheel(test));
	count_pending(test, sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = 400,
	}));
}

static void max_pending_is_exact(struct kunit *test)
{
	static const u64 limits[] = { 1, 2, 3, 1000 };
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .max_pending = limits[i],
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel,
						       limits[i] + 1, &sim_ops);

		for (n = 0; n < limits[i]; n++)
			arm_edge(test, &sim[n], 2);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[n].timeout, 0), -EDQUOT);
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), limits[i]);

		/* full again after a cancel, and after all expired */
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
		KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim[0].timeout));
		arm_edge(test, &sim[n], 2);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), -EDQUOT);
		sim_pass(wheel, 2);
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
		for (n = 0; n < limits[i]; n++)
			arm_edge(test, &sim[n], 4);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[n].timeout, 0), -EDQUOT);
	}
}

/* Refresh and re-arm */

static void refresh_to_earlier_fires_at_the_earlier_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 4, &sim_ops);
	unsigned int i;

	for (i = 0; i < 4; i++)
		arm_edge(test, &sim[i], 1000);
	refresh_edge(test, &sim[0], 7);
	sim_settle(wheel);
	refresh_edge(test, &sim[1], 8);
	sim_settle(wheel);
	/* to the same slot, a turn earlier; and to the next edge */
	refresh_edge(test, &sim[2], 1000 - SIM_SLOTS);
	sim_pass(wheel, 20);
	refresh_edge(test, &sim[3], 21);
	sim_pass(wheel, 1100);
	sim_expect_fired(test, &sim[0], 7);
	sim_expect_fired(test, &sim[1], 8);
	sim_expect_fired(test, &sim[2], 1000 - SIM_SLOTS);
	sim_expect_fired(test, &sim[3], 21);
}

/* Earlier then later, later then earlier; with and without a pass between */
static void latest_refresh_counts(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 8, &sim_ops);
	unsigned int i, settle;

	for (i = 0; i < 8; i++)
		arm_edge(test, &sim[i], 50);
	sim_pass(wheel, 2);
	for (settle = 0; settle < 2; settle++) {
		struct sim_timeout *four = sim + 4 * settle;

		refresh_edge(test, &four[0], 20);
		refresh_edge(test, &four[1], 80);
		refresh_edge(test, &four[2], 20);
		refresh_edge(test, &four[3], 80);
		if (settle)
			sim_settle(wheel);
		refresh_edge(test, &four[0], 40);
		refresh_edge(test, &four[1], 60);
		refresh_edge(test, &four[2], 90);
		refresh_edge(test, &four[3], 30);
	}
	sim_pass(wheel, 100);
	for (i = 0; i < 8; i += 4) {
		sim_expect_fired(test, &sim[i], 40);
		sim_expect_fired(test, &sim[i + 1], 60);
		sim_expect_fired(test, &sim[i + 2], 90);
		sim_expect_fired(test, &sim[i + 3], 30);
	}
}

static void refresh_needs_a_pending_timeout(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->timeout, 0), -ENOENT);
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	sim_expect_fired(test, sim, 2);
	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->timeout, 0), -ENOENT);
	arm_edge(test, sim, 10);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim->timeout, 0), -ENOENT);
	sim_pass(wheel, 20);
	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim->timeout, 0), -ENOENT);
	sim_pass(wheel, 40);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
}

static void arm_of_a_pending_timeout_changes_nothing(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	arm_edge(test, sim, 10);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, 0), -EBUSY);
	sim_pass(wheel, 5);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, U64_MAX), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_deadline(&sim->timeout),
			sim_edge_time(wheel, 10));
	sim_pass(wheel, 10);
	sim_expect_fired(test, sim, 10);
}

/* Without a release op it may be armed again at once: earlier, later, unchanged */
static void cancel_then_arm_before_the_worker_saw_it(struct kunit *test)
{
	static const unsigned int edges[] = { 20, 30, 40, 38, 38 + SIM_SLOTS };
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 10, &sim_ops);
	unsigned int i;

	for (i = 0; i < 5; i++)
		arm_edge(test, &sim[i], 38);
	sim_pass(wheel, 3);
	for (i = 5; i < 10; i++)
		arm_edge(test, &sim[i], 38);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		arm_edge(test, &sim[i], 100);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		arm_edge(test, &sim[i], edges[i % 5]);
	}
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 10);
	sim_pass(wheel, 200);
	for (i = 0; i < 10; i++)
		sim_expect_fired(test, &sim[i], edges[i % 5]);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* Contexts */

struct contexts {
	struct irq_work		hardirq;
	struct tasklet_struct	softirq;
	struct sim_timeout	*sim;
	unsigned int		hardirqs, softirqs, wrong;
	bool			second;
};

/* First arms three, then refreshes one and cancels another. */
static void submit_three(struct contexts *contexts, struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned int i;

	if (contexts->second) {
		u64 deadline = sim_edge_time(wheel, 150);

		contexts->wrong += hwheel_refresh_at(&sim[0].timeout, deadline) != 0;
		contexts->wrong += !hwheel_cancel(&sim[1].timeout);
		contexts->wrong += !hwheel_is_pending(&sim[2].timeout);
		return;
	}
	for (i = 0; i < 3; i++)
		contexts->wrong += hwheel_arm_at(&sim[i].timeout,
						 sim_edge_time(wheel, 200)) != 0;
}

static void submit_in_hardirq(struct irq_work *work)
{
	struct contexts *contexts = container_of(work, struct contexts, hardirq);

	contexts->hardirqs += !!in_hardirq();
	submit_three(contexts, contexts->sim);
}

static void submit_in_softirq(struct tasklet_struct *tasklet)
{
	struct contexts *contexts = container_of(tasklet, struct contexts,
						 softirq);

	contexts->softirqs += !!in_serving_softirq();
	submit_three(contexts, contexts->sim + 3);
}

static void submit_in_both(struct contexts *contexts, bool second)
{
	contexts->second = second;
	tasklet_schedule(&contexts->softirq);
	irq_work_queue(&contexts->hardirq);
	irq_work_sync(&contexts->hardirq);
	test_sleep(sim_wheel_of(contexts->sim), 20 * SIM_TICK);
}

static void submission_from_hardirq_and_softirq(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct contexts contexts = { };
	unsigned int i;

	contexts.sim = sim_timeouts(test, wheel, 6, &sim_release_ops);
	init_irq_work(&contexts.hardirq, submit_in_hardirq);
	tasklet_setup(&contexts.softirq, submit_in_softirq);
	sim_settle(wheel);
	submit_in_both(&contexts, false);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 6);
	submit_in_both(&contexts, true);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 4);
	tasklet_kill(&contexts.softirq);
	KUNIT_EXPECT_EQ(test, contexts.hardirqs, 2);
	KUNIT_EXPECT_EQ(test, contexts.softirqs, 2);
	KUNIT_EXPECT_EQ(test, contexts.wrong, 0);

	sim_pass(wheel, 300);
	for (i = 0; i < 6; i += 3) {
		sim_expect_fired(test, &contexts.sim[i], 150);
		KUNIT_EXPECT_EQ(test, contexts.sim[i + 1].released, 1);
		KUNIT_EXPECT_EQ(test, contexts.sim[i + 1].expired, 0);
		sim_expect_fired(test, &contexts.sim[i + 2], 200);
	}
}

static void two_wheels_do_not_disturb_each_other(struct kunit *test)
{
	struct hwheel *quiet = sim_wheel(test);
	struct hwheel *busy = sim_create(test, (struct hwheel_params) {
		.name = "busy", .tick_ns = 3 * NSEC_PER_MSEC, .slots = 64,
	});
	struct sim_timeout *a = sim_timeouts(test, quiet, 2, &sim_ops);
	struct sim_timeout *b = sim_timeouts(test, busy, 200, &sim_ops);
	unsigned long before;
	unsigned int i;

	arm_edge(test, &a[0], 100);
	arm_edge(test, &a[1], 200);
	sim_settle(quiet);
	before = sim_wakeups(quiet);
	for (i = 0; i < 200; i++)
		arm_edge(test, &b[i], 20 + i);
	sim_pass(quiet, 50);
	KUNIT_EXPECT_EQ(test, sim_wakeups(quiet) - before, 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(quiet), 2);
	KUNIT_EXPECT_EQ(test, hwheel_stop(busy, sim_handback, NULL),
			200 - sim_count_expired(b, 200));
	sim_pass(quiet, 199);
	sim_expect_fired(test, &a[0], 100);
	sim_pass(quiet, 200);
	sim_expect_fired(test, &a[1], 200);
	KUNIT_EXPECT_EQ(test, sim_wakeups(quiet) - before, 2);
	for (i = 0; i < 200; i++)
		KUNIT_EXPECT_EQ(test, b[i].expired + b[i].handed_back, 1);
}

static void slow_callback_does_not_delay_another_wheel(struct kunit *test)
{
	struct hwheel *slow = sim_wheel(test), *other = sim_wheel(test);
	struct sim_timeout *a = sim_timeouts(test, slow, 1, &sim_ops);
	struct sim_timeout *b = sim_timeouts(test, other, 20, &sim_ops);
	bool ok = false;
	unsigned int i;

	a->then = check_context;	/* sleeps for two ticks */
	a->data = &ok;
	arm_edge(test, a, 3);
	for (i = 0; i < 20; i++)
		arm_edge(test, &b[i], 1 + i);
	sim_pass(other, 20);
	KUNIT_EXPECT_TRUE(test, ok);
	for (i = 0; i < 20; i++)
		sim_expect_fired(test, &b[i], 1 + i);
}

static void boottime_wheel_fires_on_its_edges(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .flags = HWHEEL_BOOTTIME,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 20, &sim_ops);
	unsigned int i;

	/* As the two clocks are one in a kernel that was never suspended */
	KUNIT_EXPECT_FALSE(test, wheel->plain);
	for (i = 0; i < 20; i++)
		arm_edge(test, &sim[i], 3 + 3 * i);
	sim_pass(wheel, 100);
	for (i = 0; i < 20; i++)
		sim_expect_fired(test, &sim[i], 3 + 3 * i);
}

/* Built-in code may create wheels before hwheel_init(). */
static void wheel_that_no_observer_saw_can_be_destroyed(struct kunit *test)
{
	struct hwheel *wheel;

	hwheel_observe(NULL);
	wheel = hwheel_create(&(struct hwheel_params) { });
	hwheel_registry_init();
	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	hwheel_destroy(wheel);
}

/* Parameters */

static void tick_bounds(struct kunit *test)
{
	static const struct { u64 asked, effective; } ticks[] = {
		{ 0, 100000000 },
		{ 1, 50000 },
		{ 49999, 50000 },
		{ 50000, 50000 },
		{ 50001, 50008 },
		{ 1000000007, 1000000008 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = ticks[i].asked,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
		u64 past;

		KUNIT_EXPECT_EQ(test, wheel->tick, ticks[i].effective);
		/* Wheels with one tick share their edges, whenever they were made. */
		div64_u64_rem(wheel->epoch, wheel->tick, &past);
		KUNIT_EXPECT_EQ(test, past, 0);
		arm_edge(test, sim, 7);
		sim_pass(wheel, 6);
		KUNIT_EXPECT_EQ(test, sim->expired, 0);
		sim_pass(wheel, 7);
		sim_expect_fired(test, sim, 7);
	}
}

/* The wheel is named in the log, once for each that is too short. */
static void short_tick_warns(struct kunit *test)
{
	static const struct { u64 asked; unsigned int warnings; } ticks[] = {
		{ 0, 0 }, { 1, 1 }, { 49999, 2 }, { 50000, 2 },
	};
	static const char text[] = "wheel too-short: tick of ";
	unsigned int i, before = test_count_logged(text);

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		sim_create(test, (struct hwheel_params) {
			.name = "too-short", .tick_ns = ticks[i].asked,
		});
		KUNIT_EXPECT_EQ(test, test_count_logged(text) - before, ticks[i].warnings);
	}
}

static void tick_times_slots_bounds(struct kunit *test)
{
	static const unsigned int slots[] = { 1, 4, 512, HWHEEL_MAX_SLOTS };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		u64 most = round_down((u64)S64_MAX / slots[i], 8);

		expect_refused(test, (struct hwheel_params) {
			.tick_ns = most + 1, .slots = slots[i],
		});
		sim_create(test, (struct hwheel_params) {
			.tick_ns = most, .slots = slots[i],
		});
	}
	expect_refused(test, (struct hwheel_params) {
		.tick_ns = U64_MAX, .slots = 1,
	});
	expect_refused(test, (struct hwheel_params) {
		.tick_ns = U64_MAX, .slots = HWHEEL_MAX_SLOTS,
	});
	expect_refused(test, (struct hwheel_params) { .tick_ns = S64_MAX });
}

/* A wheel with the longest tick is good for a first edge in 292 years. */
static void longest_tick_does_not_fire(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = round_down(S64_MAX, 8), .slots = 1,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);

	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, SIM_TICK), 0);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[2].timeout, U64_MAX), 0);
	sim_stall(500ULL * NSEC_PER_SEC);
	test_sleep(wheel, 3600ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 3), 0);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 3);
	test_took_long(test);
}

static void slots_bounds(struct kunit *test)
{
	static const struct { unsigned int asked, effective; } slots[] = {
		{ 0, 512 }, { 1, 1 }, { 2, 2 }, { 3, 4 }, { 4, 4 }, { 5, 8 },
		{ 513, 1024 }, { HWHEEL_MAX_SLOTS - 1, HWHEEL_MAX_SLOTS },
		{ HWHEEL_MAX_SLOTS, HWHEEL_MAX_SLOTS },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .slots = slots[i].asked,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

		KUNIT_EXPECT_EQ(test, wheel->slots.mask + 1, slots[i].effective);
		arm_edge(test, sim, 9);
		sim_pass(wheel, 9);
		sim_expect_fired(test, sim, 9);
	}
	expect_refused(test, (struct hwheel_params) {
		.slots = HWHEEL_MAX_SLOTS + 1,
	});
	expect_refused(test, (struct hwheel_params) { .slots = UINT_MAX });
}

static void clocks(struct kunit *test)
{
	static const struct {
		unsigned int	flags;
		clockid_t	clock;
	} clocks[] = {
		{ 0, CLOCK_MONOTONIC },
		{ HWHEEL_BOOTTIME, CLOCK_BOOTTIME },
		{ HWHEEL_BOOTTIME | HWHEEL_SIMPLE, CLOCK_BOOTTIME },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .flags = clocks[i].flags,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

		KUNIT_EXPECT_EQ(test, wheel->clock, clocks[i].clock);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, SIM_TICK), 0);
		sim_pass(wheel, 2);
		sim_expect_fired(test, sim, 2);
	}
}

static void name_bounds(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);

	KUNIT_EXPECT_STREQ(test, wheel->worker->comm, "hwheel/wheel");
	wheel = sim_create(test, (struct hwheel_params) { .name = "rpc" });
	KUNIT_EXPECT_STREQ(test, wheel->worker->comm, "hwheel/rpc");
	wheel = sim_create(test, (struct hwheel_params) {
		.name = "a-name-longer-than-a-task-can-have",
	});
	KUNIT_EXPECT_EQ(test, strncmp(wheel->worker->comm, "hwheel/a-na", 11), 0);
}

static struct kunit_case wheel_cases[] = {
	KUNIT_CASE(wheel_that_no_observer_saw_can_be_destroyed),
	KUNIT_CASE(tick_bounds),
	KUNIT_CASE(short_tick_warns),
	KUNIT_CASE(tick_times_slots_bounds),
	KUNIT_CASE(slots_bounds),
	KUNIT_CASE(clocks),
	KUNIT_CASE(name_bounds),
	KUNIT_CASE(delay_0_fires_at_the_next_edge),
	KUNIT_CASE(past_deadline_fires_once_by_the_next_edge),
	KUNIT_CASE(deadline_fires_on_the_first_edge_not_before_it),
	KUNIT_CASE(relative_times_cost_one_look_at_the_clock),
	KUNIT_CASE(moved_ones_cost_a_look_per_delay),
	KUNIT_CASE(deadline_reads_back_rounded_up_to_8ns),
	KUNIT_CASE(armed_from_the_last_callback_before_a_deep_sleep),
	KUNIT_CASE(cancel_from_own_callback),
	KUNIT_CASE(callback_is_in_process_context_and_may_sleep),
	KUNIT_CASE(object_may_be_freed_by_its_release_op),
	KUNIT_CASE(object_may_be_freed_by_the_handback),
	KUNIT_CASE(cancel_against_expire_at_one_edge),
	KUNIT_CASE(cancel_against_expire_from_another_thread),
	KUNIT_CASE(pending_right_when_cancelled_in_the_goal_tick),
	KUNIT_CASE(release_is_called_once_within_a_tick),
	KUNIT_CASE(release_does_not_wait_for_a_long_tick),
	KUNIT_CASE(not_armed_between_cancel_and_release),
	KUNIT_CASE(release_is_not_called_after_expiry),
	KUNIT_CASE(queries_tell_every_state),
	KUNIT_CASE(pending_is_exact),
	KUNIT_CASE(max_pending_is_exact),
	KUNIT_CASE(refresh_to_earlier_fires_at_the_earlier_edge),
	KUNIT_CASE(latest_refresh_counts),
	KUNIT_CASE(refresh_needs_a_pending_timeout),
	KUNIT_CASE(arm_of_a_pending_timeout_changes_nothing),
	KUNIT_CASE(cancel_then_arm_before_the_worker_saw_it),
	KUNIT_CASE(submission_from_hardirq_and_softirq),
	KUNIT_CASE(two_wheels_do_not_disturb_each_other),
	KUNIT_CASE(slow_callback_does_not_delay_another_wheel),
	KUNIT_CASE(boottime_wheel_fires_on_its_edges),
	KUNIT_CASE(a_period_of_a_tick_costs_a_wakeup),
	KUNIT_CASE(a_period_of_ten_ticks_costs_two_wakeups),
	KUNIT_CASE(a_callback_that_arms_costs_a_wakeup),
	KUNIT_CASE(a_lone_submission_costs_a_wakeup_and_a_kick),
	KUNIT_CASE(steady_submissions_cost_a_wakeup_per_tick),
	KUNIT_CASE(steady_submissions_end_the_kicks),
	KUNIT_CASE(first_arms_cost_a_kick),
	KUNIT_CASE(heartbeats_cost_a_wakeup_per_tick_at_most),
	KUNIT_CASE(requests_cost_a_wakeup_per_tick_at_most),
	KUNIT_CASE(refresh_to_later_does_not_wake_up),
	KUNIT_CASE(cancel_on_a_quiet_wheel_costs_two_wakeups),
	KUNIT_CASE(a_full_wheel_is_slept_through),
	KUNIT_CASE(timeout_a_day_away_costs_three_wakeups),
	KUNIT_CASE(empty_wheel_does_not_wake_up_in_a_day),
	KUNIT_CASE(stall_of_ten_minutes_is_caught_up),
	KUNIT_CASE(none_is_late_after_a_long_drain),
	KUNIT_CASE(none_is_late_after_slow_releases),
	KUNIT_CASE(drained_late_it_fires_at_once),
	KUNIT_CASE(a_stream_of_submissions_keeps_no_edge_waiting),
	KUNIT_CASE(catch_up_after_a_long_callback),
	KUNIT_CASE(catch_up_of_several_revolutions_is_in_order),
	KUNIT_CASE(load_of_250000_submissions_in_one_tick),
	KUNIT_CASE(longest_tick_does_not_fire),
	KUNIT_CASE(ten_days),
	KUNIT_CASE(one_year),
	KUNIT_CASE(refresh_beyond_the_clock_means_never),
	KUNIT_CASE(never_does_not_fire),
	{}
};

static struct kunit_suite wheel_suite = {
	.name = "hwheel_wheel",
	.test_cases = wheel_cases,
};

kunit_test_suite(wheel_suite);
