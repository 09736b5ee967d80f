// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheel_mod_jiffies(): on real wheels in simulated time; and once more, with jiffies and a clock
 * that the test sets, so that jiffies lag, lose ticks and wrap. The test takes the place of the
 * wheel's worker then, which sleeps meanwhile.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/timekeeping.h>

/**
 * struct mock - what the copies below read
 * @jiffies: jiffies_64
 * @ns:      CLOCK_MONOTONIC
 * @reads:   how often that was read
 */
static struct mock {
	u64		jiffies;
	u64		ns;
	unsigned int	reads;
} mock;

static u64 mock_jiffies_64(void)
{
	return mock.jiffies;
}

static u64 mock_clock(void)
{
	mock.reads++;
	return mock.ns;
}

#define get_jiffies_64			mock_jiffies_64

#include "../sim.h"

/* The module's own */
static int real_mod_jiffies(struct hwheel_timeout *timeout, unsigned long expires)
{
	return hwheel_mod_jiffies(timeout, expires);
}

/* The functions of the copy, by their names here */
static bool mock_take(struct hwheel *wheel, unsigned int *words) __maybe_unused;
static bool mock_empty(const struct hwheel *wheel) __maybe_unused;
static void mock_kick(struct hwheel *wheel) __maybe_unused;
static void mock_source(struct hwheel *wheel, struct llist_node *node) __maybe_unused;
static void mock_return(struct hwheel *wheel, struct hwheel_timeout *timeout) __maybe_unused;
static int mock_arm_at(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static int mock_arm(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static int mock_mod_at(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static int mock_mod(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static int mock_mod_jiffies(struct hwheel_timeout *timeout, unsigned long expires);
static int mock_reduce_at(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static int mock_refresh_at(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static int mock_refresh(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static bool mock_cancel(struct hwheel_timeout *timeout) __maybe_unused;

/* Nothing of the copy is exported. */
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)	static_assert(sizeof(typeof(symbol) *))

#define hwheel_submit_take		mock_take
#define hwheel_submit_empty		mock_empty
#define hwheel_submit_kick		mock_kick
#define hwheel_submit_source		mock_source
#define hwheel_submit_return		mock_return
#define hwheel_arm_at			mock_arm_at
#define hwheel_arm			mock_arm
#define hwheel_mod_at			mock_mod_at
#define hwheel_mod			mock_mod
#define hwheel_mod_jiffies		mock_mod_jiffies
#define hwheel_reduce_at		mock_reduce_at
#define hwheel_refresh_at		mock_refresh_at
#define hwheel_refresh			mock_refresh
#define hwheel_cancel			mock_cancel
#define ktime_get_ns			mock_clock

#include "engine/submit.c"

/* In jiffies from now; all timeouts are filed for an earlier time. */
#define LATER		500
#define FILED_EDGE	20

/* The worker's part of a pass */
static void mock_pass(struct hwheel *wheel)
{
	wheel->jiffies = mock.jiffies;
	wheel->now = mock.ns;
	hwheel_offset_measure(wheel);
}

/* A timeout that is filed, on a wheel whose worker is asleep. Jiffies have just begun. */
static struct sim_timeout *mock_timeout(struct kunit *test, u64 jiffies_now)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	arm_edge(test, sim, FILED_EDGE);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&wheel->jiffies_offset),
			wheel->offset ^ HWHEEL_OFFSET_OLD);
	mock = (struct mock) { .jiffies = jiffies_now, .ns = round_up(test_now(wheel), 8) };
	wheel->offset = mock.ns - jiffies_now * TICK_NSEC;
	mock_pass(wheel);
	return sim;
}

static void mock_advance(s64 nr_jiffies, s64 ns)
{
	mock.jiffies += nr_jiffies;
	mock.ns += ns;
}

/* Returns the deadline. */
static u64 mock_mod_to(struct kunit *test, struct sim_timeout *sim, unsigned long expires)
{
	KUNIT_EXPECT_EQ(test, mock_mod_jiffies(&sim->timeout, expires), HWHEEL_WAS_PENDING);
	return hwheel_deadline(&sim->timeout);
}

static bool is_queued(const struct sim_timeout *sim)
{
	return atomic64_read(&sim->timeout.word) & HWHEEL_QUEUED;
}

static void same_expires_submits_nothing(struct kunit *test)
{
	struct sim_timeout *sim = mock_timeout(test, 1000000);
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned long expires = mock.jiffies + LATER;
	u64 deadline = mock.ns + LATER * TICK_NSEC;

	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	mock_advance(0, TICK_NSEC / 2);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	mock_pass(wheel);
	deadline += TICK_NSEC / 2;
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	mock_advance(1, TICK_NSEC / 2 + 8);
	mock_pass(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	KUNIT_EXPECT_FALSE(test, is_queued(sim));
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires + 1), deadline + TICK_NSEC);
	KUNIT_EXPECT_FALSE(test, is_queued(sim));
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires - 1), deadline - TICK_NSEC);
	KUNIT_EXPECT_TRUE(test, is_queued(sim));
	KUNIT_EXPECT_EQ(test, mock.reads, 0);
}

static void arms_without_the_clock(struct kunit *test)
{
	struct sim_timeout *sim = mock_timeout(test, 1000000);

	KUNIT_EXPECT_TRUE(test, mock_cancel(&sim->timeout));
	KUNIT_EXPECT_EQ(test, mock_mod_jiffies(&sim->timeout, mock.jiffies + 1),
			HWHEEL_WAS_CANCELLED);
	KUNIT_EXPECT_EQ(test, hwheel_deadline(&sim->timeout), mock.ns + TICK_NSEC);
	KUNIT_EXPECT_EQ(test, mock.reads, 0);
}

/* Ticks that were lost in the sleep count. Until its next pass the worker is as good as asleep. */
static void deep_sleep_reads_the_clock(struct kunit *test)
{
	struct sim_timeout *sim = mock_timeout(test, 1000000);
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned long expires = mock.jiffies + LATER;
	u64 deadline = mock.ns + LATER * TICK_NSEC;

	hwheel_offset_hide(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	KUNIT_EXPECT_EQ(test, mock.reads, 1);
	mock_advance(0, 10 * TICK_NSEC);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline + 10 * TICK_NSEC);
	KUNIT_EXPECT_EQ(test, mock.reads, 2);
	WRITE_ONCE(wheel->idle, 0);
	mock_mod_to(test, sim, expires);
	KUNIT_EXPECT_EQ(test, mock.reads, 3);
	mock_pass(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline + 10 * TICK_NSEC);
	KUNIT_EXPECT_EQ(test, mock.reads, 3);
}

/* Within a jiffy it goes by the worker's offset, as the worker will. */
static void asleep_or_awake_it_is_the_same(struct kunit *test)
{
	struct sim_timeout *sim = mock_timeout(test, 1000000);
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned long expires = mock.jiffies + LATER;
	u64 deadline;

	mock_advance(0, TICK_NSEC - 8);
	mock_pass(wheel);
	deadline = mock_mod_to(test, sim, expires);
	mock_advance(1, 8);
	hwheel_offset_hide(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	mock_pass(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	KUNIT_EXPECT_FALSE(test, is_queued(sim));
}

/* Also where only the jiffies of 32 bits wrap, and where those of 64 do */
static void jiffies_wrap(struct kunit *test)
{
	static const u64 wraps[] = { 1ULL << 32, 1ULL << 33, 0 };
	unsigned int i, asleep;

	for (i = 0; i < 2 * ARRAY_SIZE(wraps); i++) {
		struct sim_timeout *sim = mock_timeout(test, wraps[i / 2] - 10);
		struct hwheel *wheel = sim_wheel_of(sim);
		unsigned long expires = wraps[i / 2] + LATER;
		u64 deadline = mock.ns + (LATER + 10) * TICK_NSEC;

		asleep = i % 2;
		if (asleep)
			hwheel_offset_hide(wheel);
		KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
		mock_advance(20, 20 * TICK_NSEC);
		KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
		mock_pass(wheel);
		KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
		KUNIT_EXPECT_FALSE(test, is_queued(sim));
		KUNIT_EXPECT_EQ(test, mock.reads, 2 * asleep);
		KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires - LATER - 1),
				mock.ns - 11 * TICK_NSEC);
	}
}

/* Each later than the one before, from the past to never */
static void past_and_far_future(struct kunit *test)
{
	const long delays[] = {
		LONG_MIN, LONG_MIN + 1, LONG_MIN / 2, -1000000000, -LATER, -1, 0, 1, LATER,
		INT_MAX - 1, INT_MAX, LONG_MAX / 2, LONG_MAX - 1, LONG_MAX,
	};
	unsigned int i, asleep;

	for (asleep = 0; asleep < 2; asleep++) {
		struct sim_timeout *sim = mock_timeout(test, 1000000);
		u64 before = 0;

		if (asleep)
			hwheel_offset_hide(sim_wheel_of(sim));
		for (i = 0; i < ARRAY_SIZE(delays); i++) {
			u64 deadline = mock_mod_to(test, sim, mock.jiffies + delays[i]);

			KUNIT_EXPECT_GE(test, deadline, before);
			KUNIT_EXPECT_EQ(test, deadline > mock.ns, delays[i] > 0);
			if (delays[i] >= -1 && delays[i] <= INT_MAX)
				KUNIT_EXPECT_EQ(test, deadline,
						mock.ns + (s64)delays[i] * TICK_NSEC);
			before = deadline;
		}
		if (BITS_PER_LONG == 32)
			continue;
		KUNIT_EXPECT_EQ(test, before, HWHEEL_NEVER);
		KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, mock.jiffies + LONG_MIN), 0);
	}
}

/* For good, so that all later values are reached later by as much */
static void ticks_lost_before_count(struct kunit *test)
{
	struct sim_timeout *sim = mock_timeout(test, 1000000);
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned long expires = mock.jiffies + LATER;

	mock_advance(1, 4 * TICK_NSEC);
	mock_pass(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires),
			mock.ns + (LATER - 1) * TICK_NSEC);
	mock_advance(1, TICK_NSEC);
	mock_pass(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires),
			mock.ns + (LATER - 2) * TICK_NSEC);
	KUNIT_EXPECT_FALSE(test, is_queued(sim));
}

/* The machine stood still. Jiffies are not up to date yet when the worker measures. */
static void lag_that_was_made_up_is_forgotten(struct kunit *test)
{
	struct sim_timeout *sim = mock_timeout(test, 1000000);
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned long expires = mock.jiffies + LATER;
	u64 deadline = mock.ns + LATER * TICK_NSEC;

	mock_advance(0, 100 * TICK_NSEC);
	mock_pass(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline + 100 * TICK_NSEC);
	mock_advance(100, 0);
	mock_pass(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	mock_advance(0, TICK_NSEC);
	mock_pass(wheel);
	mock_advance(1, 0);
	mock_pass(wheel);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	KUNIT_EXPECT_EQ(test, mock.reads, 0);
}

/* Jiffies that lag at the call catch up: the deadline is right, whatever they are. */
static void lag_at_the_call_does_not_matter(struct kunit *test)
{
	struct sim_timeout *sim = mock_timeout(test, 1000000);
	unsigned long expires = mock.jiffies + LATER;
	u64 deadline = mock.ns + LATER * TICK_NSEC;

	mock_advance(0, 30 * TICK_NSEC);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
	mock_advance(30, 0);
	KUNIT_EXPECT_EQ(test, mock_mod_to(test, sim, expires), deadline);
}

/* By the module itself */

static unsigned long jiffies_fired;
static bool measured;

static void note_jiffies(struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);

	jiffies_fired = jiffies;
	measured = (u64)atomic64_read(&wheel->jiffies_offset) == wheel->offset;
}

/* On a wheel that is asleep, or that another timeout keeps awake, at all times within a jiffy */
static void never_early(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = NSEC_PER_MSEC,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	unsigned long expires;
	unsigned int i;

	sim->then = note_jiffies;
	for (i = 0; i < 200; i++) {
		if (i % 2)
			hwheel_arm(&sim[1].timeout, 0);
		test_sleep(wheel, 20 * TICK_NSEC + i * (TICK_NSEC / 200));
		expires = jiffies + i % 7;
		sim->expired = 0;
		KUNIT_EXPECT_EQ(test, real_mod_jiffies(&sim->timeout, expires), HWHEEL_NOT_HELD);
		test_sleep(wheel, 10 * TICK_NSEC);
		KUNIT_ASSERT_EQ(test, sim->expired, 1);
		KUNIT_EXPECT_TRUE(test, measured);
		KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies_fired, expires));
		KUNIT_EXPECT_TRUE(test, time_before_eq(jiffies_fired, expires + 2));
	}
}

/* Moved again and again, earlier and later, by a caller that looks at jiffies alone */
static void moves_by_jiffies(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	unsigned long expires = 0;
	unsigned int i;

	sim->then = note_jiffies;
	KUNIT_EXPECT_EQ(test, real_mod_jiffies(&sim->timeout, jiffies + 20), HWHEEL_NOT_HELD);
	for (i = 0; i < 500; i++) {
		test_sleep(wheel, SIM_TICK / 3);
		expires = jiffies + 15 + (i * 7) % 10;
		KUNIT_EXPECT_EQ(test, real_mod_jiffies(&sim->timeout, expires),
				HWHEEL_WAS_PENDING);
	}
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	test_sleep(wheel, 40 * TICK_NSEC);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies_fired, expires));
}

/* With which nothing changes */
static void expect_refused_jiffies(struct kunit *test, struct sim_timeout *sim,
				   unsigned long expires, int err)
{
	s64 word = atomic64_read(&sim->timeout.word);

	KUNIT_EXPECT_EQ(test, real_mod_jiffies(&sim->timeout, expires), err);
	KUNIT_EXPECT_EQ(test, (s64)atomic64_read(&sim->timeout.word), word);
}

/* Asleep, with the timeout idle; and awake, with the timeout filed */
static void refused_on_boottime(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .flags = HWHEEL_BOOTTIME,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	expect_refused_jiffies(test, sim, jiffies + 1, -EINVAL);
	arm_edge(test, sim, FILED_EDGE);
	expect_refused_jiffies(test, sim, jiffies + LATER, -EINVAL);
	sim_pass(wheel, 1);
	expect_refused_jiffies(test, sim, jiffies + LATER, -EINVAL);
	expect_refused_jiffies(test, sim, jiffies - 1, -EINVAL);
}

static void refuses_more_than_a_turn_on_a_simple_wheel(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .flags = HWHEEL_SIMPLE,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	expect_refused_jiffies(test, sim, jiffies + LATER, -ERANGE);
	KUNIT_EXPECT_EQ(test, real_mod_jiffies(&sim->timeout, jiffies + 2), HWHEEL_NOT_HELD);
	sim_pass(wheel, 1);
	expect_refused_jiffies(test, sim, jiffies + LATER, -ERANGE);
	KUNIT_EXPECT_EQ(test, real_mod_jiffies(&sim->timeout, jiffies - 5), HWHEEL_WAS_PENDING);
}

static struct kunit_case mod_jiffies_cases[] = {
	KUNIT_CASE(same_expires_submits_nothing),
	KUNIT_CASE(arms_without_the_clock),
	KUNIT_CASE(deep_sleep_reads_the_clock),
	KUNIT_CASE(asleep_or_awake_it_is_the_same),
	KUNIT_CASE(jiffies_wrap),
	KUNIT_CASE(past_and_far_future),
	KUNIT_CASE(ticks_lost_before_count),
	KUNIT_CASE(lag_that_was_made_up_is_forgotten),
	KUNIT_CASE(lag_at_the_call_does_not_matter),
	KUNIT_CASE(never_early),
	KUNIT_CASE(moves_by_jiffies),
	KUNIT_CASE(refused_on_boottime),
	KUNIT_CASE(refuses_more_than_a_turn_on_a_simple_wheel),
	{}
};

static struct kunit_suite mod_jiffies_suite = {
	.name = "hwheel_mod_jiffies",
	.suite_init = test_wait_for_timers,
	.test_cases = mod_jiffies_cases,
};

kunit_test_suite(mod_jiffies_suite);
