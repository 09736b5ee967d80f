// SPDX-License-Identifier: GPL-2.0-only
/*
 * Simple, hashed and hierarchical wheels, in simulated time: what sets them apart, and
 * what the worker has to do in each.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/mm.h>

#include "../sim.h"

#define TURN		(SIM_SLOTS * SIM_TICK)

/* How many callbacks others may have to wait for: 3 x EXPIRE_MAX, of a microsecond each */
#define BACKLOG		200000
#define BACKLOG_BOUND	(SIM_TICK + 3 * 10000 * 1300ULL)

static struct hwheel *simple_wheel(struct kunit *test)
{
	return sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .flags = HWHEEL_SIMPLE,
	});
}

static struct hwheel *wheel_of_levels(struct kunit *test, unsigned int levels)
{
	return sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .levels = levels,
	});
}

/* Parameters */

static void wrong_kinds_are_refused(struct kunit *test)
{
	expect_refused(test, (struct hwheel_params) {
		.levels = HWHEEL_MAX_LEVELS + 1 });
	expect_refused(test, (struct hwheel_params) { .levels = UINT_MAX });
	expect_refused(test, (struct hwheel_params) { .flags = 8 });
	expect_refused(test, (struct hwheel_params) { .flags = 1U << 31 });
	expect_refused(test, (struct hwheel_params) {
		.flags = HWHEEL_SIMPLE, .levels = 2 });
}

static void expect_levels(struct kunit *test, struct hwheel_params params,
			  unsigned int levels)
{
	struct hwheel *wheel = sim_create(test, params);

	KUNIT_EXPECT_EQ(test, wheel->slots.levels, levels);
}

/* 2^63 ns are 2^39.7 ticks of 10 ms, 2^19.7 of 3 hours. Each level spans half a turn as much. */
/* With a tick of 10 ms, if none is given */
static void turn_chooses_slots_and_levels(struct kunit *test)
{
	const u64 tick = 10 * NSEC_PER_MSEC;
	const struct {
		struct hwheel_params	params;
		unsigned int		slots;
		unsigned int		levels;
	} turns[] = {
		{ { .turn_ns = 1 }, 1, 1 },
		{ { .turn_ns = tick }, 1, 1 },
		{ { .turn_ns = tick + 1 }, 2, 1 },
		{ { .turn_ns = 3 * tick }, 4, 1 },
		{ { .turn_ns = 30 * NSEC_PER_SEC }, 4096, 1 },
		{ { .turn_ns = 4096 * tick }, 4096, 1 },
		{ { .turn_ns = 4096 * tick + 1 }, 8192, 1 },
		{ { .turn_ns = 16384 * tick }, 16384, 1 },
		{ { .turn_ns = 16384 * tick + 1 }, 4096, 2 },
		{ { .turn_ns = (tick << 23) }, 4096, 2 },
		{ { .turn_ns = (tick << 23) + 1 }, 4096, 3 },
		{ { .turn_ns = U64_MAX, .tick_ns = HWHEEL_MIN_TICK_NS }, 4096, 5 },
		{ { .turn_ns = 3 * tick, .tick_ns = tick - 7 }, 4, 1 },
		{ { .turn_ns = 16384 * tick + 1, .flags = HWHEEL_SIMPLE }, 32768, 1 },
		{ { .turn_ns = tick << 20, .flags = HWHEEL_SIMPLE }, HWHEEL_MAX_SLOTS, 1 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(turns); i++) {
		struct hwheel_params params = turns[i].params;
		struct hwheel *wheel;

		params.tick_ns = params.tick_ns ?: tick;
		wheel = sim_create(test, params);
		KUNIT_EXPECT_EQ_MSG(test, wheel->slots.mask + 1, turns[i].slots, "turn %u", i);
		KUNIT_EXPECT_EQ_MSG(test, wheel->slots.levels, turns[i].levels, "turn %u", i);
	}
	expect_refused(test, (struct hwheel_params) { .turn_ns = tick, .slots = 1 });
	expect_refused(test, (struct hwheel_params) { .turn_ns = tick, .levels = 1 });
	expect_refused(test, (struct hwheel_params) {
		.turn_ns = (tick << 20) + 1, .tick_ns = tick, .flags = HWHEEL_SIMPLE });
	expect_refused(test, (struct hwheel_params) {
		.turn_ns = U64_MAX, .tick_ns = HWHEEL_MIN_TICK_NS, .flags = HWHEEL_SIMPLE });
}

static void levels_beyond_the_clock_are_left_out(struct kunit *test)
{
	const u64 hours = 3 * 3600ULL * NSEC_PER_SEC;

	expect_levels(test, (struct hwheel_params) { .tick_ns = SIM_TICK }, 1);
	expect_levels(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = 8, .levels = 8 }, 8);
	expect_levels(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = 512, .levels = 8 }, 5);
	expect_levels(test, (struct hwheel_params) {
		.tick_ns = hours, .slots = 512, .levels = 8 }, 3);
	expect_levels(test, (struct hwheel_params) {
		.tick_ns = hours, .slots = 2048, .levels = 8 }, 2);
}

/* A slot of a level above would be no longer than this one. */
static void one_slot_is_one_level(struct kunit *test)
{
	expect_levels(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = 2, .levels = 8 }, 1);
	expect_levels(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = 1, .levels = 1 }, 1);
	expect_levels(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = 1, .levels = 8 }, 1);
}

/* Simple */

/* The clock stands still with interrupts off. */
static void a_revolution_limits_delays(struct kunit *test)
{
	struct hwheel *wheel = simple_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	static const u64 refused[] = { TURN + 1, 2 * TURN, SIM_DAY, U64_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, refused[i]), -ERANGE);
		KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->timeout, refused[i]), -ERANGE);
	}
	KUNIT_EXPECT_EQ(test, hwheel_timeout_state(&sim->timeout), HWHEEL_IDLE);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, TURN), 0);
	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->timeout, TURN), 0);
	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->timeout, 0), 0);
}

static void a_revolution_limits_deadlines(struct kunit *test)
{
	struct hwheel *wheel = simple_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	u64 last, deadline;

	local_irq_disable();
	last = hwheel_deadline_store(hwheel_now(wheel) + TURN);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim[0].timeout, last + 1), -ERANGE);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim[0].timeout, U64_MAX), -ERANGE);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim[0].timeout, last), 0);
	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim[0].timeout, last + 1), -ERANGE);
	deadline = hwheel_deadline(&sim[0].timeout);
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, deadline, last);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim[1].timeout, 0), 0);
	sim_pass(wheel, sim_edge_due(wheel, last));
	KUNIT_EXPECT_EQ(test, sim[0].expired, 1);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 1);
}

/* One that the worker knows of needs no more than its word, but not here. */
static void a_revolution_limits_enqueued_deadlines(struct kunit *test)
{
	struct hwheel *wheel = simple_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	u64 last;

	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, TURN), 0);
	sim_settle(wheel);
	local_irq_disable();
	last = hwheel_deadline_store(hwheel_now(wheel) + TURN);
	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim->timeout, last + 1), -ERANGE);
	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim->timeout, HWHEEL_NEVER), -ERANGE);
	KUNIT_EXPECT_LT(test, hwheel_deadline(&sim->timeout), last);
	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim->timeout, last), 0);
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, hwheel_deadline(&sim->timeout), last);
	sim_pass(wheel, sim_edge_due(wheel, last));
	sim_expect_fired(test, sim, sim_edge_due(wheel, last));
}

/* Of a wheel that was stopped, too: what can never be right comes first. */
static void too_far_is_refused_after_stop(struct kunit *test)
{
	struct hwheel *wheel = simple_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	hwheel_stop(wheel, NULL, NULL);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, TURN + 1), -ERANGE);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, TURN), -ESHUTDOWN);
}

/* Hierarchical */

/* Up to a turn of the third of four levels, and beyond all of them: to the tick */
static void expires_on_its_edge_from_any_level(struct kunit *test)
{
	static const u64 edges[] = {
		1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 600, 601, 4095, 4096,
		4097, 20000, 40001,
	};
	struct hwheel *wheel = wheel_of_levels(test, 4);
	struct sim_timeout *sim =
		sim_timeouts(test, wheel, ARRAY_SIZE(edges), &sim_ops);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(edges); i++)
		KUNIT_EXPECT_EQ(test,
				hwheel_arm_at(&sim[i].timeout,
					      sim_edge_time(wheel, edges[i])), 0);
	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		sim_pass(wheel, edges[i]);
		sim_expect_fired(test, &sim[i], edges[i]);
	}
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	test_took_long(test);
}

/* On four levels three moves each are enough; in rounds there are many more. */
static void levels_save_moves(struct kunit *test)
{
	struct hwheel *hashed = wheel_of_levels(test, 1);
	struct hwheel *levels = wheel_of_levels(test, 4);
	struct sim_timeout *a = sim_timeouts(test, hashed, 500, &sim_ops);
	struct sim_timeout *b = sim_timeouts(test, levels, 500, &sim_ops);
	unsigned int i;

	for (i = 0; i < 500; i++) {
		hwheel_arm_at(&a[i].timeout, sim_edge_time(hashed, i + 10));
		hwheel_arm_at(&b[i].timeout, sim_edge_time(levels, i + 10));
	}
	sim_pass(levels, 510);
	KUNIT_EXPECT_EQ(test, sim_count_expired(a, 500), 500);
	KUNIT_EXPECT_EQ(test, sim_count_expired(b, 500), 500);
	KUNIT_EXPECT_LE(test, stats_of(levels).moved, 3 * 500);
	KUNIT_EXPECT_GT(test, stats_of(hashed).moved, 20 * 500);
}

static void refreshed_on_a_higher_level(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, 3);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_release_ops);
	unsigned int i;

	for (i = 0; i < 3; i++)
		hwheel_arm_at(&sim[i].timeout, sim_edge_time(wheel, 300));
	sim_settle(wheel);
	hwheel_refresh_at(&sim[0].timeout, sim_edge_time(wheel, 20));
	hwheel_refresh_at(&sim[1].timeout, sim_edge_time(wheel, 400));
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[2].timeout));
	sim_pass(wheel, 20);
	sim_expect_fired(test, &sim[0], 20);
	KUNIT_EXPECT_EQ(test, sim[2].released, 1);
	sim_pass(wheel, 399);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 0);
	sim_pass(wheel, 400);
	sim_expect_fired(test, &sim[1], 400);
	KUNIT_EXPECT_EQ(test, sim[2].expired, 0);
}

/* How many of them are still above the lowest level, or on the way down */
static unsigned int count_above(const struct hwheel *wheel, const struct sim_timeout *sim,
				unsigned int nr)
{
	unsigned int n = 0, i;

	for (i = 0; i < nr; i++)
		n += sim[i].timeout.node.slot >= wheel->slots.stride;
	return n;
}

/* 5,120 are five times the rate of a tick of 1 ms, so the slot is begun seven ticks early. */
static void a_full_slot_is_emptied_before_it_is_due(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = NSEC_PER_MSEC, .slots = 64, .levels = 2,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 5120, &sim_ops);
	unsigned int i;

	for (i = 0; i < 5120; i++)
		hwheel_arm_at(&sim[i].timeout, sim_edge_time(wheel, 320 + i % 32));
	sim_pass(wheel, 312);
	KUNIT_EXPECT_EQ(test, count_above(wheel, sim, 5120), 5120);
	sim_pass(wheel, 319);
	KUNIT_EXPECT_EQ(test, count_above(wheel, sim, 5120), 0);
	for (i = 0; i < 32; i++) {
		sim_pass(wheel, 320 + i);
		KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 5120), (i + 1) * 5120 / 32);
		sim_expect_fired(test, &sim[i], 320 + i);
	}
	KUNIT_EXPECT_EQ(test, stats_of(wheel).moved, 5120);
}

#define CROWD	200000

/*
 * The clock, which takes 256 ns to read, is read once for so many moves that 100 readings fill half
 * a tick, and a pass.
 */
static void moving_leaves_time_for_what_is_due(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = HWHEEL_MIN_TICK_NS, .slots = 512, .levels = 2,
	});
	struct sim_timeout *crowd = sim_timeouts(test, wheel, CROWD, &sim_ops);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 6, &sim_ops);
	const u64 start = 40 * 256, begin = start - 256;
	unsigned int left = CROWD, above, i;

	for (i = 0; i < CROWD; i++)
		hwheel_arm_at(&crowd[i].timeout, sim_edge_time(wheel, start + i % 256));
	for (i = 0; i < 6; i++)
		hwheel_arm_at(&sim[i].timeout, sim_edge_time(wheel, begin + i));
	for (i = 0; i < 6; i++) {
		sim_pass(wheel, begin + i);
		sim_expect_fired(test, &sim[i], begin + i);
		above = count_above(wheel, crowd, CROWD);
		KUNIT_EXPECT_GT(test, above, 0);
		KUNIT_EXPECT_LT(test, above, left);
		left = above;
	}
	sim_pass(wheel, start - 1);
	KUNIT_EXPECT_EQ(test, count_above(wheel, crowd, CROWD), 0);
	sim_pass(wheel, start + 255);
	for (i = 0; i < CROWD; i++)
		KUNIT_ASSERT_EQ(test, crowd[i].edge, start + i % 256);
}

static void stop_hands_back_from_all_levels(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, 4);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 100, &sim_ops);
	unsigned int i;

	for (i = 0; i < 100; i++)
		hwheel_arm_at(&sim[i].timeout,
			      sim_edge_time(wheel, 20 + i * i * i));
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 100);
	KUNIT_EXPECT_EQ(test, sim_count_handed_back(sim, 100), 100);
}

/* Tickless */

static const unsigned int level_counts[] = { 1, 2, 5 };

static void describe_levels(const unsigned int *levels, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u levels", *levels);
}

KUNIT_ARRAY_PARAM(levels, level_counts, describe_levels);

/* 100 timeouts over three days in which the machine stood still */
static void three_days_are_caught_up_in_one_pass(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, *(unsigned int *)test->param_value);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 100, &sim_ops);
	struct hwheel_stats before, after;
	unsigned int i;

	for (i = 0; i < 100; i++)
		hwheel_arm(&sim[i].timeout, SIM_DAY / 33 * i + SIM_DAY / 40);
	sim_settle(wheel);
	before = stats_of(wheel);
	sim_stall(3 * SIM_DAY + SIM_DAY / 2);
	test_sleep(wheel, SIM_SETTLE);
	after = stats_of(wheel);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 100), 100);
	KUNIT_EXPECT_EQ(test, after.passes - before.passes, 1);
	KUNIT_EXPECT_LE(test, after.visited - before.visited, 100);
	KUNIT_EXPECT_GT(test, after.lag - before.lag, 3 * SIM_DAY / SIM_TICK);
	test_took_long(test);
}

/* Nothing is in the lower levels' way to it: it is looked at when it is due. */
static void a_far_deadline_costs_no_wakeup_before(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, *(unsigned int *)test->param_value);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct hwheel_stats before, after;
	u64 edge = SIM_DAY / SIM_TICK;

	hwheel_arm_at(&sim->timeout, sim_edge_time(wheel, edge));
	sim_settle(wheel);
	before = stats_of(wheel);
	sim_pass_long(wheel, edge);
	after = stats_of(wheel);
	sim_expect_fired(test, sim, edge);
	KUNIT_EXPECT_EQ(test, after.wakeups - before.wakeups, 1);
	KUNIT_EXPECT_EQ(test, after.visited - before.visited, 1);
	KUNIT_EXPECT_EQ(test, after.moved, 0);
	test_took_long(test);
}

/* Bounded */

static void backlog_expire(struct hwheel_timeout *timeout)
{
	udelay(1);
}

static void take_a_microsecond(struct sim_timeout *sim)
{
	udelay(1);
}

static const struct hwheel_timeout_ops backlog_ops = { .expire = backlog_expire };

static int backlog_init(struct kunit_resource *res, void *wheel)
{
	struct hwheel_timeout *backlog =
		kvcalloc(BACKLOG, sizeof(*backlog), GFP_KERNEL);
	unsigned int i;

	res->data = backlog;
	for (i = 0; backlog && i < BACKLOG; i++)
		hwheel_timeout_init(&backlog[i], wheel, &backlog_ops);
	return backlog ? 0 : -ENOMEM;
}

static void backlog_free(struct kunit_resource *res)
{
	struct hwheel_timeout *backlog = res->data;

	hwheel_stop(hwheel_of(backlog), NULL, NULL);
	kvfree(backlog);
}

/* @nr timeouts that are due at @edge */
static struct hwheel_timeout *make_backlog_at(struct kunit *test, struct hwheel *wheel,
					      unsigned int nr, u64 edge)
{
	struct hwheel_timeout *backlog =
		kunit_alloc_resource(test, backlog_init, backlog_free, GFP_KERNEL, wheel);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, backlog);
	for (i = 0; i < nr; i++)
		hwheel_arm_at(&backlog[i], sim_edge_time(wheel, edge));
	sim_settle(wheel);
	return backlog;
}

static struct hwheel_timeout *make_backlog(struct kunit *test,
					   struct hwheel *wheel, unsigned int nr)
{
	return make_backlog_at(test, wheel, nr, 100);
}

/* Some at each of the edges from 101 on, up to the one before @end */
static void expect_not_kept(struct kunit *test, struct hwheel *wheel,
			    unsigned int each, unsigned int end)
{
	u64 pending = hwheel_pending(wheel);
	unsigned int nr = (end - 101) * each, i;
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);

	for (i = 0; i < nr; i++) {
		hwheel_arm_at(&sim[i].timeout, sim_edge_time(wheel, 101 + i / each));
		sim[i].then = take_a_microsecond;
	}
	sim_pass(wheel, 700);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).expired, pending + nr);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_LT(test, sim[i].fired_ns,
				sim_edge_time(wheel, 101 + i / each) + BACKLOG_BOUND);
	test_took_long(test);
}

/* Each takes a microsecond, so that the machine is busy with them for a fifth of a second. */
static void a_backlog_does_not_keep_others_waiting(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, *(unsigned int *)test->param_value);

	make_backlog(test, wheel, BACKLOG);
	expect_not_kept(test, wheel, 1, 131);
}

/* Also while several are worked off: each is put off by itself. */
static void backlogs_do_not_keep_others_waiting(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, *(unsigned int *)test->param_value);
	u64 edge;

	for (edge = 98; edge <= 100; edge++)
		make_backlog_at(test, wheel, BACKLOG / 2, edge);
	expect_not_kept(test, wheel, 1, 131);
}

/* Nor do the remainders of smaller ones wait behind it. */
static void a_backlog_does_not_keep_backlogs_waiting(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, *(unsigned int *)test->param_value);

	make_backlog(test, wheel, BACKLOG);
	expect_not_kept(test, wheel, 2000, 121);
}

/* EXPIRE_MAX of the edge itself, and as many of backlogs */
#define PASS_MAX	20000U

/* The worker writes this. */
static struct {
	unsigned long	pass;
	unsigned int	nr;
	unsigned int	most;
} expired;

static void count_in_pass(struct sim_timeout *sim)
{
	unsigned long pass = local_read(&sim_wheel_of(sim)->counts.passes);

	expired.nr = pass == expired.pass ? expired.nr + 1 : 1;
	expired.pass = pass;
	expired.most = max(expired.most, expired.nr);
}

/* No time goes by, so that only the count ends a pass. */
static void a_pass_expires_a_bounded_number(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, *(unsigned int *)test->param_value);
	const unsigned int nr = 2 * PASS_MAX;
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);
	unsigned int i;

	memset(&expired, 0, sizeof(expired));
	for (i = 0; i < nr; i++) {
		sim[i].then = count_in_pass;
		hwheel_arm_at(&sim[i].timeout, sim_edge_time(wheel, 100));
	}
	sim_pass(wheel, 110);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), nr);
	KUNIT_EXPECT_GT(test, expired.most, 0);
	KUNIT_EXPECT_LE(test, expired.most, PASS_MAX);
}

static void take_a_millisecond(struct sim_timeout *sim)
{
	sim_stall(NSEC_PER_MSEC);
}

/* Each takes a millisecond, so that few of them are too many for a pass. */
static void slow_callbacks_do_not_keep_others_waiting(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, *(unsigned int *)test->param_value);
	struct sim_timeout *slow = sim_timeouts(test, wheel, 500, &sim_ops);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 30, &sim_ops);
	const u64 bound = SIM_TICK + 3 * (2 * TICK_NSEC + NSEC_PER_MSEC);
	unsigned int i;

	for (i = 0; i < 500; i++) {
		slow[i].then = take_a_millisecond;
		hwheel_arm_at(&slow[i].timeout, sim_edge_time(wheel, 100));
	}
	sim_settle(wheel);
	for (i = 0; i < 30; i++)
		hwheel_arm_at(&sim[i].timeout, sim_edge_time(wheel, 101 + i));
	sim_pass(wheel, 200);
	KUNIT_EXPECT_EQ(test, sim_count_expired(slow, 500), 500);
	for (i = 0; i < 30; i++)
		KUNIT_EXPECT_LT(test, sim[i].fired_ns, sim_edge_time(wheel, 101 + i) + bound);
}

/* In hand when its time has come, it is not enqueued again for the next edge. */
static void one_in_a_backlog_is_due_by_the_clock(struct kunit *test)
{
	struct hwheel *wheel = wheel_of_levels(test, *(unsigned int *)test->param_value);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	hwheel_arm_at(&sim->timeout, sim_edge_time(wheel, 100));
	sim_settle(wheel);
	make_backlog(test, wheel, 20002);
	hwheel_refresh_at(&sim->timeout, sim_edge_time(wheel, 101) + SIM_TICK / 2);
	sim_pass(wheel, 110);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).expired, 20003);
	KUNIT_EXPECT_GE(test, sim->fired_ns, hwheel_deadline(&sim->timeout));
	KUNIT_EXPECT_LT(test, sim->fired_ns, sim_edge_time(wheel, 103));
}

static struct kunit_case kinds_cases[] = {
	KUNIT_CASE(wrong_kinds_are_refused),
	KUNIT_CASE(turn_chooses_slots_and_levels),
	KUNIT_CASE(levels_beyond_the_clock_are_left_out),
	KUNIT_CASE(one_slot_is_one_level),
	KUNIT_CASE(a_revolution_limits_delays),
	KUNIT_CASE(a_revolution_limits_deadlines),
	KUNIT_CASE(a_revolution_limits_enqueued_deadlines),
	KUNIT_CASE(too_far_is_refused_after_stop),
	KUNIT_CASE(expires_on_its_edge_from_any_level),
	KUNIT_CASE(levels_save_moves),
	KUNIT_CASE(refreshed_on_a_higher_level),
	KUNIT_CASE(a_full_slot_is_emptied_before_it_is_due),
	KUNIT_CASE(moving_leaves_time_for_what_is_due),
	KUNIT_CASE(stop_hands_back_from_all_levels),
	KUNIT_CASE_PARAM(three_days_are_caught_up_in_one_pass, levels_gen_params),
	KUNIT_CASE_PARAM(a_far_deadline_costs_no_wakeup_before, levels_gen_params),
	KUNIT_CASE_PARAM(a_backlog_does_not_keep_others_waiting, levels_gen_params),
	KUNIT_CASE_PARAM(backlogs_do_not_keep_others_waiting, levels_gen_params),
	KUNIT_CASE_PARAM(a_backlog_does_not_keep_backlogs_waiting, levels_gen_params),
	KUNIT_CASE_PARAM(a_pass_expires_a_bounded_number, levels_gen_params),
	KUNIT_CASE_PARAM(slow_callbacks_do_not_keep_others_waiting, levels_gen_params),
	KUNIT_CASE_PARAM(one_in_a_backlog_is_due_by_the_clock, levels_gen_params),
	{}
};

static struct kunit_suite kinds_suite = {
	.name		= "hwheel_kinds",
	.suite_init	= test_wait_for_timers,
	.test_cases	= kinds_cases,
};

kunit_test_suite(kinds_suite);
