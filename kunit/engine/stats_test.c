// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheel_get_stats(): every figure, in scenes of which it is known what happens.
 */
#include <linux/build_bug.h>
#include <linux/prandom.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "engine/limit.h"
#include "engine/stats.h"
#include "cancel_sync_sim.h"

/* Those before the histogram, in their order */
static const char *const names[] = {
	"pending", "armed", "refreshed_later", "refreshed_earlier",
	"cancelled_queued", "cancelled_filed", "expired",
	"handed_back", "passes", "visited", "moved", "wakeups", "drained", "drained_max", "lag",
	"lag_max", "overlong", "contained",
};

static_assert(offsetof(struct hwheel_stats, lateness) ==
	      ARRAY_SIZE(names) * sizeof(u64));

static void expect_stats(struct kunit *test, const struct hwheel *wheel,
			 struct hwheel_stats want)
{
	struct hwheel_stats stats = stats_of(wheel);
	const u64 *got = &stats.pending, *wanted = &want.pending;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		KUNIT_EXPECT_EQ_MSG(test, got[i], wanted[i], "%s", names[i]);
	for (i = 0; i < HWHEEL_LATENESS_BINS; i++)
		KUNIT_EXPECT_EQ_MSG(test, stats.lateness[i], want.lateness[i],
				    "lateness[%u]", i);
}

static void arm_edges(struct kunit *test, struct sim_timeout *sim,
		      unsigned int nr, u64 edge)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		arm_edge(test, &sim[i], edge);
}

static struct hwheel *limited_wheel(struct kunit *test, u64 max_pending)
{
	return sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = max_pending,
	});
}

/* A bit of everything */

/* The worker looks for work when it starts, and then not any more. */
static void expect_fresh(struct kunit *test, struct hwheel *wheel)
{
	sim_pass(wheel, 1);
	expect_stats(test, wheel, (struct hwheel_stats) { .passes = 1 });
}

/* It is woken by the first arm, lingers in vain until the next edge, and sleeps to edge 5. */
static void expect_armed(struct kunit *test, struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);

	arm_edges(test, sim, 10, 5);
	sim_pass(wheel, 3);
	expect_stats(test, wheel, (struct hwheel_stats) {
		.pending = 10, .armed = 10,
		.passes = 3, .wakeups = 2, .drained = 10, .drained_max = 10,
	});
}

/* Later ones are seen when their slot comes up. Two edges with something due follow. */
static void expect_refreshed(struct kunit *test, struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned int i;

	for (i = 0; i < 3; i++)
		refresh_edge(test, &sim[0], 20);
	refresh_edge(test, &sim[1], 4);
	sim_pass(wheel, 10);
	expect_stats(test, wheel, (struct hwheel_stats) {
		.pending = 1, .armed = 10,
		.refreshed_later = 3, .refreshed_earlier = 1, .expired = 9,
		.passes = 6, .visited = 2, .moved = 1,
		.wakeups = 5, .drained = 11, .drained_max = 10,
		.lateness[0] = 9,
	});
}

/* Filed; then thrice armed and cancelled at once. Each wakes the worker, which lingers no more. */
static void expect_cancelled(struct kunit *test, struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned int i;

	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
	sim_pass(wheel, 12);
	for (i = 0; i < 3; i++) {
		arm_edge(test, &sim[0], 50);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
	}
	sim_pass(wheel, 60);
	expect_stats(test, wheel, (struct hwheel_stats) {
		.armed = 13, .refreshed_later = 3, .refreshed_earlier = 1,
		.cancelled_queued = 3, .cancelled_filed = 1, .expired = 9,
		.passes = 8, .visited = 2, .moved = 1,
		.wakeups = 7, .drained = 13, .drained_max = 10,
		.lateness[0] = 9,
	});
}

/* Filed and queued ones; the worker makes no pass to stop. */
static void expect_handed_back(struct kunit *test, struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);

	arm_edges(test, sim, 4, FAR);
	sim_settle(wheel);
	arm_edges(test, sim + 4, 3, FAR);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 7);
	expect_stats(test, wheel, (struct hwheel_stats) {
		.armed = 20, .refreshed_later = 3, .refreshed_earlier = 1,
		.cancelled_queued = 3, .cancelled_filed = 1, .expired = 9,
		.handed_back = 7,
		.passes = 9, .visited = 2, .moved = 1,
		.wakeups = 9, .drained = 17, .drained_max = 10,
		.lateness[0] = 9,
	});
}

static void tell_all(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 10, &sim_ops);

	expect_fresh(test, wheel);
	expect_armed(test, sim);
	expect_refreshed(test, sim);
	expect_cancelled(test, sim);
	expect_handed_back(test, sim);
}

static void all_that_happens_is_told(struct kunit *test)
{
	tell_all(test, sim_wheel(test));
	tell_all(test, limited_wheel(test, 10));
}

/* However many are drained in a row */
static void the_most_that_a_pass_drained(struct kunit *test)
{
	static const unsigned int backlogs[] = { 3, 600, 7, 599 };
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1209, &sim_ops);
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(backlogs); i++) {
		arm_edges(test, sim + n, backlogs[i], FAR);
		n += backlogs[i];
		sim_settle(wheel);
		KUNIT_EXPECT_EQ(test, stats_of(wheel).drained, n);
		KUNIT_EXPECT_EQ(test, stats_of(wheel).drained_max, i ? 600 : 3);
	}
}

static void cancel_sync_counts_as_a_cancel(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 4, &sim_ops);

	arm_edges(test, sim, 2, FAR);
	sim_settle(wheel);
	arm_edges(test, sim + 2, 2, FAR);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[3].timeout), 1);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[3].timeout), 0);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).cancelled_queued, 1);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[0].timeout), 1);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[1].timeout), 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).cancelled_queued, 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).cancelled_filed, 2);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 1);
}

/* Calls that fail do not count */

static void fail_all(struct kunit *test, struct hwheel_timeout *timeout, int err)
{
	struct hwheel *wheel = hwheel_of(timeout);
	struct hwheel_stats before = stats_of(wheel), after;

	KUNIT_EXPECT_EQ(test, hwheel_arm(timeout, 0), err);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(timeout, U64_MAX), err);
	if (!hwheel_is_pending(timeout)) {
		KUNIT_EXPECT_EQ(test, hwheel_refresh(timeout, 0), -ENOENT);
		KUNIT_EXPECT_EQ(test, hwheel_refresh_at(timeout, 0), -ENOENT);
		KUNIT_EXPECT_FALSE(test, hwheel_cancel(timeout));
	}
	after = stats_of(wheel);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &after, sizeof(before)), 0);
}

/* Pending, to be released, one too many, on a stopped wheel */
static void failures(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_release_ops);

	arm_edge(test, &sim[0], FAR);
	fail_all(test, &sim[0].timeout, -EBUSY);
	sim_settle(wheel);
	fail_all(test, &sim[0].timeout, -EBUSY);
	if (wheel->max_pending)
		fail_all(test, &sim[1].timeout, -EDQUOT);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
	fail_all(test, &sim[0].timeout, -EBUSY);
	sim_settle(wheel);
	arm_edge(test, &sim[0], FAR);
	hwheel_stop(wheel, sim_handback, NULL);
	fail_all(test, &sim[0].timeout, -ESHUTDOWN);
	fail_all(test, &sim[1].timeout, -ESHUTDOWN);
}

static void what_fails_does_not_count(struct kunit *test)
{
	failures(test, sim_wheel(test));
	failures(test, limited_wheel(test, 1));
}

/* At any time */

static void expect_sum(struct kunit *test, const struct sim_timeout *sim,
		       unsigned int nr)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	struct hwheel_stats stats = stats_of(wheel);
	u64 pending = 0, late = 0;
	unsigned int i;

	for (i = 0; i < nr; i++)
		pending += hwheel_is_pending(&sim[i].timeout);
	for (i = 0; i < HWHEEL_LATENESS_BINS; i++)
		late += stats.lateness[i];
	KUNIT_EXPECT_EQ(test, stats.pending, pending);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), pending);
	KUNIT_EXPECT_EQ(test, stats.armed,
			stats.pending + stats.cancelled_queued +
			stats.cancelled_filed + stats.expired + stats.handed_back);
	KUNIT_EXPECT_EQ(test, late, stats.expired);
}

/* Also in callbacks: those that are under way have expired. */
static void rearm_some(struct sim_timeout *sim)
{
	if (sim->expired % 3 == 0)
		hwheel_arm(&sim->timeout, 5 * SIM_TICK);
	expect_sum(sim->data, sim, 1);
}

static void do_something(struct sim_timeout *sim, struct rnd_state *rnd)
{
	u64 delay = prandom_u32_state(rnd) % (20 * SIM_TICK);

	switch (prandom_u32_state(rnd) % 4) {
	case 0:
	case 1:
		hwheel_arm(&sim->timeout, delay);
		break;
	case 2:
		hwheel_refresh(&sim->timeout, delay);
		break;
	case 3:
		hwheel_cancel(&sim->timeout);
		break;
	}
}

static void walk(struct kunit *test, struct hwheel *wheel, u64 seed)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 30, &sim_ops);
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, seed);
	for (i = 0; i < 3000; i++) {
		do_something(&sim[i / 2 * 7 % 30], &rnd);
		expect_sum(test, sim, 30);
		if (i % 5 == 0)
			test_sleep(wheel, prandom_u32_state(&rnd) % SIM_TICK);
		expect_sum(test, sim, 30);
	}
	KUNIT_EXPECT_GT(test, stats_of(wheel).expired, 20);
	KUNIT_EXPECT_GT(test, stats_of(wheel).cancelled_queued, 20);
	KUNIT_EXPECT_GT(test, stats_of(wheel).cancelled_filed, 20);
	KUNIT_EXPECT_GT(test, hwheel_stop(wheel, sim_handback, NULL), 0);
	expect_sum(test, sim, 30);
}

static void what_was_armed_is_pending_or_ended(struct kunit *test)
{
	walk(test, sim_wheel(test), 1);
	walk(test, limited_wheel(test, 10), 2);
}

static void expired_is_counted_before_the_callback(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	sim->then = rearm_some;
	sim->data = test;
	sim->expired = 1;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 100);
	KUNIT_EXPECT_EQ(test, sim->expired, 2);
	sim->expired = 2;
	arm_edge(test, sim, 102);
	sim_pass(wheel, 200);
	KUNIT_EXPECT_EQ(test, sim->expired, 4);
}

/* Lag */

static void missed_edges_are_counted(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 6, &sim_ops);
	struct hwheel_stats stats;
	unsigned int i;

	for (i = 0; i < 6; i++)
		arm_edge(test, &sim[i], 5 + i);
	/* up at edge 8 instead of 5 */
	sim_pass(wheel, 4);
	sim_stall(4 * SIM_TICK);
	sim_pass(wheel, 8);
	test_sleep(wheel, SIM_SETTLE);
	stats = stats_of(wheel);
	KUNIT_EXPECT_EQ(test, stats.lag, 3);
	KUNIT_EXPECT_EQ(test, stats.lag_max, 3);
	KUNIT_EXPECT_EQ(test, stats.lateness[10], 2);
	KUNIT_EXPECT_EQ(test, stats.lateness[9], 1);
	KUNIT_EXPECT_EQ(test, stats.lateness[0], 1);

	/* at edge 10 instead of 9: less than before */
	sim_stall(2 * SIM_TICK);
	test_sleep(wheel, SIM_SETTLE);
	stats = stats_of(wheel);
	KUNIT_EXPECT_EQ(test, stats.lag, 4);
	KUNIT_EXPECT_EQ(test, stats.lag_max, 3);
	KUNIT_EXPECT_EQ(test, stats.expired, 6);

	/* on time, a bit late, and when there was nothing to miss */
	arm_edge(test, sim, 20);
	sim_pass(wheel, 19);
	sim_stall(SIM_TICK + SIM_TICK / 2);
	sim_settle(wheel);
	sim_stall(100 * SIM_TICK);
	arm_edge(test, sim, 150);
	sim_pass(wheel, 150);
	stats = stats_of(wheel);
	KUNIT_EXPECT_EQ(test, stats.lag, 4);
	KUNIT_EXPECT_EQ(test, stats.expired, 8);
}

/* More than one pass expires: the second one has not missed them again. */
static void missed_edges_of_a_backlog_are_counted_once(struct kunit *test)
{
	const unsigned int nr = 12345;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);

	arm_edges(test, sim, nr, 5);
	sim_pass(wheel, 4);
	sim_stall(4 * SIM_TICK);
	sim_pass(wheel, 10);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).expired, nr);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).lag, 3);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).lag_max, 3);
}

static void sleep_5_ticks(struct sim_timeout *sim)
{
	test_sleep(sim_wheel_of(sim), 5 * SIM_TICK);
}

/* Edge 4 is looked at when the callback on edge 2 has returned, which was on edge 7. */
static void edges_missed_in_a_callback_are_counted(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct hwheel_stats stats;

	sim[0].then = sleep_5_ticks;
	arm_edge(test, &sim[0], 2);
	arm_edge(test, &sim[1], 4);
	sim_pass(wheel, 10);
	stats = stats_of(wheel);
	KUNIT_EXPECT_EQ(test, stats.lag, 3);
	KUNIT_EXPECT_EQ(test, stats.lag_max, 3);
	KUNIT_EXPECT_EQ(test, stats.lateness[0], 1);
	KUNIT_EXPECT_EQ(test, stats.lateness[10], 1);
	KUNIT_EXPECT_EQ(test, stats.overlong, 1);
}

/* Lateness */

/* The least that is counted in a bin, in 1/256 of a tick */
static u64 bin_begin(unsigned int bin)
{
	return bin ? 1ULL << (bin - 1) : 0;
}

/* Fires on the next edge but one, having been due this long before that. */
static void fire_late(struct kunit *test, struct sim_timeout *sim, u64 late)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	u64 edge = sim_edge_due(wheel, test_now(wheel)) + 1;
	unsigned int expired = sim->expired;
	u64 deadline = sim_edge_time(wheel, edge) - late;

	/* something that happens on the edge before, which it comes after */
	arm_edge(test, sim + 1, edge - 1);
	sim_pass(wheel, edge - 1);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, deadline), 0);
	sim_pass(wheel, edge);
	KUNIT_EXPECT_EQ(test, sim->expired, expired + 1);
	KUNIT_EXPECT_EQ(test, sim->edge, edge);
}

static void count_each_bin(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct hwheel_stats want = { };
	unsigned int bin, i;

	test_sleep(wheel, 200 * SIM_TICK);
	for (bin = 0; bin < HWHEEL_LATENESS_BINS; bin++) {
		u64 begin = bin_begin(bin) * SIM_TICK >> 8;
		u64 end = bin_begin(bin + 1) * SIM_TICK >> 8;

		fire_late(test, sim, begin + 8);
		fire_late(test, sim, (begin + end) / 2);
		fire_late(test, sim, end - SIM_SETTLE / 4);
		want.lateness[bin] += 3;
		want.lateness[0] += 3;
		for (i = 0; i < HWHEEL_LATENESS_BINS; i++)
			KUNIT_EXPECT_EQ_MSG(test, stats_of(wheel).lateness[i],
					    want.lateness[i], "[%u] of %u",
					    i, bin);
	}
}

static void lateness_is_told_by_its_logarithm(struct kunit *test)
{
	count_each_bin(test, sim_wheel(test));
}

static void hours_late_is_in_the_last_bin(struct kunit *test)
{
	static const u64 late[] = { 64, 65, 128, 1000, 360000, 36000000 };
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	unsigned int i;

	test_sleep(wheel, 101 * 3600ULL * NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(late); i++) {
		fire_late(test, sim, late[i] * SIM_TICK);
		KUNIT_EXPECT_EQ(test, stats_of(wheel).lateness[15], i + 1);
	}
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, 0), 0);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).lateness[15], i + 1);
	test_took_long(test);
}

/* In which bin is this, of those that are counted in? */
static unsigned int bin_of(u64 late, u64 tick)
{
	static struct hwheel_counts counts;
	unsigned int i;

	memset(&counts, 0, sizeof(counts));
	hwheel_count_lateness(&counts, late, hwheel_lateness_scale(tick));
	for (i = 0; i < ARRAY_SIZE(counts.lateness); i++)
		if (local_read(&counts.lateness[i]))
			return i;
	return -1;
}

/* Twice the lateness, with and without all the flags that there are */
static void bins_are_exact(struct kunit *test)
{
	static const u64 ticks[] = { 51200, 1024000, 10240000, 102400000, 1 << 20 };
	unsigned int i, bin;

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		KUNIT_EXPECT_EQ(test, bin_of(0, ticks[i]), 0);
		KUNIT_EXPECT_EQ(test, bin_of(15, ticks[i]), 0);
		for (bin = 1; bin < 30; bin++) {
			u64 begin = bin_begin(bin) * (ticks[i] >> 8);

			KUNIT_EXPECT_EQ(test, bin_of(2 * (begin - 8) + 15,
						     ticks[i]), bin - 1);
			KUNIT_EXPECT_EQ(test, bin_of(2 * begin, ticks[i]), bin);
		}
	}
}

static void whole_tick_is_one_with_any_tick(struct kunit *test)
{
	u64 tick;

	for (tick = HWHEEL_MIN_TICK_NS; tick < 30ULL * NSEC_PER_SEC;
	     tick = round_up(tick + tick / 7, 8)) {
		KUNIT_EXPECT_EQ(test, bin_of(2 * (tick - 8) + 15, tick), 8);
		KUNIT_EXPECT_EQ(test, bin_of(2 * tick, tick), 9);
		KUNIT_EXPECT_EQ(test, bin_of(128 * tick, tick), 15);
	}
}

/* The largest there can be: since the clock began, in the shortest ticks */
static void no_lateness_is_too_large(struct kunit *test)
{
	KUNIT_EXPECT_LT(test, bin_of(U64_MAX, HWHEEL_MIN_TICK_NS), 64);
	KUNIT_EXPECT_GE(test, bin_of(U64_MAX, HWHEEL_MIN_TICK_NS), 15);
	KUNIT_EXPECT_EQ(test, bin_of(U64_MAX, HWHEEL_NEVER), 8 + 1);
}

/* A canceller that stop does not wait for has changed the word, and not counted yet. */
static void expect_none_pending(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	s64 word;

	arm_edge(test, sim, FAR);
	word = atomic64_read(&sim->timeout.word);
	KUNIT_EXPECT_TRUE(test, hwheel_word_cancel_from(&sim->timeout.word, &word, true));
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	this_cpu_inc(wheel->cpu->cancelled[0]);
	hwheel_limit_end(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static void none_is_pending_after_stop(struct kunit *test)
{
	expect_none_pending(test, sim_wheel(test));
	expect_none_pending(test, limited_wheel(test, 1));
}

static struct kunit_case stats_cases[] = {
	KUNIT_CASE(all_that_happens_is_told),
	KUNIT_CASE(the_most_that_a_pass_drained),
	KUNIT_CASE(cancel_sync_counts_as_a_cancel),
	KUNIT_CASE(what_fails_does_not_count),
	KUNIT_CASE(what_was_armed_is_pending_or_ended),
	KUNIT_CASE(none_is_pending_after_stop),
	KUNIT_CASE(expired_is_counted_before_the_callback),
	KUNIT_CASE(missed_edges_are_counted),
	KUNIT_CASE(missed_edges_of_a_backlog_are_counted_once),
	KUNIT_CASE(edges_missed_in_a_callback_are_counted),
	KUNIT_CASE(lateness_is_told_by_its_logarithm),
	KUNIT_CASE(hours_late_is_in_the_last_bin),
	KUNIT_CASE(bins_are_exact),
	KUNIT_CASE(whole_tick_is_one_with_any_tick),
	KUNIT_CASE(no_lateness_is_too_large),
	{}
};

static struct kunit_suite stats_suite = {
	.name		= "hwheel_stats",
	.test_cases	= stats_cases,
};

kunit_test_suite(stats_suite);
