// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheel_mod(), hwheel_reduce_at() and hwheel_shutdown_sync(): what they return from every state,
 * and that references which are counted as hwheel_mod_at() says are dropped once each.
 */
#include <linux/prandom.h>
#include <linux/refcount.h>

#include "cancel_sync_sim.h"

static int mod_edge(struct sim_timeout *sim, u64 edge)
{
	return hwheel_mod_at(&sim->timeout, sim_edge_time(sim_wheel_of(sim), edge));
}

static void arms_what_is_not_held(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);

	KUNIT_EXPECT_EQ(test, mod_edge(sim, 3), HWHEEL_NOT_HELD);
	sim_pass(wheel, 3);
	sim_expect_fired(test, sim, 3);
	KUNIT_EXPECT_EQ(test, mod_edge(sim, 5), HWHEEL_NOT_HELD);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	sim_pass(wheel, 6);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_EQ(test, mod_edge(sim, 9), HWHEEL_NOT_HELD);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 1);
	sim_pass(wheel, 9);
	KUNIT_EXPECT_EQ(test, sim->expired, 2);
	KUNIT_EXPECT_EQ(test, sim->edge, 9);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).armed, 3);
}

/* Earlier, to the same deadline and later, before the worker has filed it and after */
static void moves_what_is_pending(struct kunit *test)
{
	static const unsigned int edges[] = { 10, 20, 30 };
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 6, &sim_release_ops);
	struct hwheel_stats stats;
	unsigned int i;

	for (i = 0; i < 3; i++)
		arm_edge(test, &sim[i], 20);
	sim_pass(wheel, 3);
	for (i = 3; i < 6; i++)
		arm_edge(test, &sim[i], 20);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, mod_edge(&sim[i], edges[i % 3]), HWHEEL_WAS_PENDING);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 6);
	sim_pass(wheel, 40);
	for (i = 0; i < 6; i++)
		sim_expect_fired(test, &sim[i], edges[i % 3]);
	stats = stats_of(wheel);
	KUNIT_EXPECT_EQ(test, stats.armed, 6);
	KUNIT_EXPECT_EQ(test, stats.refreshed_later, 4);
	KUNIT_EXPECT_EQ(test, stats.refreshed_earlier, 2);
}

/* The release that was owed does not come, and one that is owed later does. */
static void takes_back_what_is_still_held(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_release_ops);
	unsigned int i;

	arm_edge(test, &sim[0], 20);
	sim_pass(wheel, 3);
	arm_edge(test, &sim[1], 20);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[i].timeout, 0), -EBUSY);
		KUNIT_EXPECT_EQ(test, mod_edge(&sim[i], 30), HWHEEL_WAS_CANCELLED);
	}
	sim_pass(wheel, 25);
	KUNIT_EXPECT_EQ(test, sim[0].released + sim[1].released, 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 2);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[1].timeout));
	sim_pass(wheel, 30);
	sim_expect_fired(test, &sim[0], 30);
	KUNIT_EXPECT_EQ(test, sim[1].released, 1);
	KUNIT_EXPECT_EQ(test, sim[0].released + sim[1].expired, 0);
}

/* A release op that mods, and one that waits while another thread does */

static void mod_in_release(struct hwheel_timeout *timeout)
{
	struct sim_timeout *sim = sim_of(timeout);

	sim_release(timeout);
	*(int *)sim->data = mod_edge(sim, 20);
}

static const struct hwheel_timeout_ops mod_in_release_ops = {
	.expire = sim_expire, .release = mod_in_release,
};

static void works_in_the_release_op(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &mod_in_release_ops);
	int held = -1;

	sim->data = &held;
	arm_edge(test, sim, FAR);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	sim_pass(wheel, 4);
	KUNIT_EXPECT_EQ(test, held, HWHEEL_NOT_HELD);
	sim_pass(wheel, 20);
	sim_expect_fired(test, sim, 20);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
}

static void sleep_in_release(struct hwheel_timeout *timeout)
{
	sim_release(timeout);
	test_sleep(hwheel_of(timeout), 3 * SIM_TICK);
}

static const struct hwheel_timeout_ops sleep_in_release_ops = {
	.expire = sim_expire, .release = sleep_in_release,
};

/* The second cancel is owed a release of its own. */
static void works_while_the_release_op_runs(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sleep_in_release_ops);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		arm_edge(test, &sim[i], FAR);
		sim_pass(wheel, 2 + 10 * i);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		sim_pass(wheel, 3 + 10 * i);
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
		if (i)
			KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[i].timeout, SIM_DAY), 0);
		else
			KUNIT_EXPECT_EQ(test, mod_edge(&sim[i], FAR), HWHEEL_NOT_HELD);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
		sim_pass(wheel, 10 + 10 * i);
		KUNIT_EXPECT_EQ(test, sim[i].released, 2);
	}
}

static void reduces_only_to_earlier(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);
	struct hwheel_timeout *timeout = &sim->timeout;
	u64 ten = sim_edge_time(wheel, 10);

	KUNIT_EXPECT_EQ(test, hwheel_reduce_at(timeout, ten), HWHEEL_NOT_HELD);
	KUNIT_EXPECT_EQ(test, hwheel_reduce_at(timeout, ten + SIM_DAY), HWHEEL_WAS_PENDING);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, hwheel_reduce_at(timeout, ten), HWHEEL_WAS_PENDING);
	KUNIT_EXPECT_EQ(test, hwheel_deadline(timeout), ten);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).refreshed_later, 0);
	KUNIT_EXPECT_EQ(test, hwheel_reduce_at(timeout, sim_edge_time(wheel, 5)),
			HWHEEL_WAS_PENDING);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(timeout));
	KUNIT_EXPECT_EQ(test, hwheel_reduce_at(timeout, ten), HWHEEL_WAS_CANCELLED);
	sim_pass(wheel, 10);
	sim_expect_fired(test, sim, 10);
}

/* A filed word that is all zero, and deadlines that round up to one */
static void never_is_not_taken_for_zero(struct kunit *test)
{
	static const u64 deadlines[] = { S64_MAX, S64_MAX - 6, U64_MAX, U64_MAX - 6 };
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 8, &sim_ops);
	unsigned int i;

	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim[i].timeout, 0), 0);
	test_sleep(wheel, SIM_SETTLE);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, atomic64_read(&sim[i].timeout.word), 0);
		KUNIT_EXPECT_EQ(test, hwheel_mod_at(&sim[i].timeout, deadlines[i]),
				HWHEEL_WAS_PENDING);
		KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim[i + 4].timeout, deadlines[i]), 0);
	}
	sim_pass(wheel, 2 * SIM_SLOTS);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 8), 0);
}

static void relative_times_count_from_now(struct kunit *test)
{
	static const struct hwheel_params params[] = {
		{ .tick_ns = SIM_TICK, .slots = SIM_SLOTS },
		{ .tick_ns = SIM_TICK, .slots = SIM_SLOTS, .flags = HWHEEL_BOOTTIME },
		{ .tick_ns = SIM_TICK, .slots = SIM_SLOTS, .flags = HWHEEL_SIMPLE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(params); i++) {
		struct hwheel *wheel = sim_create(test, params[i]);
		struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

		KUNIT_EXPECT_EQ(test, hwheel_mod(&sim->timeout, 6 * SIM_TICK), HWHEEL_NOT_HELD);
		KUNIT_EXPECT_EQ(test, hwheel_mod(&sim->timeout, 3 * SIM_TICK), HWHEEL_WAS_PENDING);
		KUNIT_EXPECT_EQ(test, hwheel_mod(&sim->timeout, 5 * SIM_TICK), HWHEEL_WAS_PENDING);
		sim_pass(wheel, 6);
		sim_expect_fired(test, sim, 6);
	}
}

/* Refusals, with which nothing changes */

static void expect_unchanged(struct kunit *test, struct sim_timeout *sim, u64 deadline, int err)
{
	s64 word = atomic64_read(&sim->timeout.word);
	u64 pending = hwheel_pending(sim_wheel_of(sim));

	KUNIT_EXPECT_EQ(test, hwheel_mod_at(&sim->timeout, deadline), err);
	KUNIT_EXPECT_EQ(test, hwheel_reduce_at(&sim->timeout, deadline), err);
	KUNIT_EXPECT_EQ(test, (s64)atomic64_read(&sim->timeout.word), word);
	KUNIT_EXPECT_EQ(test, hwheel_pending(sim_wheel_of(sim)), pending);
}

static void refuses_more_than_a_turn_on_a_simple_wheel(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .flags = HWHEEL_SIMPLE,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	u64 far = sim_edge_time(wheel, 2 * SIM_SLOTS);

	expect_unchanged(test, sim, far, -ERANGE);
	KUNIT_EXPECT_EQ(test, mod_edge(sim, 4), HWHEEL_NOT_HELD);
	expect_unchanged(test, sim, far, -ERANGE);
	KUNIT_EXPECT_EQ(test, hwheel_mod(&sim->timeout, SIM_DAY), -ERANGE);
}

/* A move takes no place. */
static void counts_against_the_limit(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = 1,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);

	KUNIT_EXPECT_EQ(test, mod_edge(&sim[0], 20), HWHEEL_NOT_HELD);
	KUNIT_EXPECT_EQ(test, mod_edge(&sim[0], 10), HWHEEL_WAS_PENDING);
	KUNIT_EXPECT_EQ(test, mod_edge(&sim[0], 30), HWHEEL_WAS_PENDING);
	expect_unchanged(test, &sim[1], sim_edge_time(wheel, 10), -EDQUOT);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
	KUNIT_EXPECT_EQ(test, mod_edge(&sim[1], 10), HWHEEL_NOT_HELD);
	expect_unchanged(test, &sim[0], sim_edge_time(wheel, 10), -EDQUOT);
	sim_pass(wheel, 10);
	sim_expect_fired(test, &sim[1], 10);
	KUNIT_EXPECT_EQ(test, mod_edge(&sim[0], 20), HWHEEL_NOT_HELD);
}

static void fails_on_a_stopped_wheel(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	arm_edge(test, sim, 20);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 1);
	expect_unchanged(test, sim, 0, -ESHUTDOWN);
}

static void without_an_expire_op_it_is_refused(struct kunit *test)
{
	static const struct hwheel_timeout_ops none;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim;

	test_complaint_begin();
	sim = sim_timeouts(test, wheel, 1, &none);
	test_complaint_end();
	expect_unchanged(test, sim, 0, -EINVAL);
}

/* By a callback that is waited for */
static void mod_after_sleep(struct sim_timeout *sim)
{
	test_sleep(sim_wheel_of(sim), 3 * SIM_TICK);
	*(int *)sim->data = mod_edge(sim, 30);
}

static void refused_while_it_is_closed(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	int held = 0;

	sim->then = mod_after_sleep;
	sim->data = &held;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 0);
	KUNIT_EXPECT_EQ(test, held, -EBUSY);
	KUNIT_EXPECT_EQ(test, mod_edge(sim, 30), HWHEEL_NOT_HELD);
}

/* Shutdown */

static void shut_down_one_is_never_armed(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_release_ops);
	unsigned int i;

	arm_edge(test, &sim[1], FAR);
	sim_settle(wheel);
	arm_edge(test, &sim[2], FAR);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, hwheel_shutdown_sync(&sim[i].timeout), i > 0);
		KUNIT_EXPECT_EQ(test, sim[i].released, i > 0);
		expect_unchanged(test, &sim[i], 0, -ESHUTDOWN);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[i].timeout, 0), -ESHUTDOWN);
		KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim[i].timeout, 0), -ENOENT);
		KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim[i].timeout));
		KUNIT_EXPECT_EQ(test, hwheel_shutdown_sync(&sim[i].timeout), 0);
		KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[i].timeout), 0);
		expect_unchanged(test, &sim[i], 0, -ESHUTDOWN);
		KUNIT_EXPECT_EQ(test, hwheel_timeout_state(&sim[i].timeout), HWHEEL_IDLE);
		hwheel_timeout_init(&sim[i].timeout, wheel, &sim_ops);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[i].timeout, 0), 0);
	}
}

static void shutdown_work(struct work_struct *work)
{
	struct canceller *canceller = container_of(work, struct canceller, work);

	canceller->result = hwheel_shutdown_sync(&canceller->sim->timeout);
}

/* Whichever of the two began first */
static void cancel_sync_does_not_reopen_it(struct kunit *test)
{
	work_func_t works[] = { shutdown_work, cancel_sync_work, shutdown_work };
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct canceller one, two;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sim[i].then = sleep_3_ticks;
		arm_edge(test, &sim[i], 2 + 10 * i);
		sim_pass(wheel, 2 + 10 * i);
		start_work(&one, &sim[i], works[i]);
		start_work(&two, &sim[i], works[i + 1]);
		end_canceller(&one);
		end_canceller(&two);
		KUNIT_EXPECT_EQ(test, one.result + two.result, 0);
		KUNIT_EXPECT_NOT_NULL(test, sim[i].data);
		expect_unchanged(test, &sim[i], 0, -ESHUTDOWN);
	}
}

/* A deadline that is never reached is not what marks a timeout that was shut down. */
static void never_is_not_shut_down(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
	KUNIT_EXPECT_EQ(test, mod_edge(sim, 5), HWHEEL_NOT_HELD);
	sim_pass(wheel, 5);
	sim_expect_fired(test, sim, 5);
}

static void rearm_and_shut_down(struct sim_timeout *sim)
{
	test_complaint_begin();
	*(int *)sim->data = hwheel_shutdown_sync(&sim->timeout);
	test_complaint_end();
	hwheel_arm(&sim->timeout, SIM_TICK);
}

static void shutdown_in_its_own_callback_changes_nothing(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	int result = 0;

	sim->then = rearm_and_shut_down;
	sim->data = &result;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, result, -EDEADLK);
	KUNIT_EXPECT_EQ(test, hwheel_shutdown_sync(&sim->timeout), 1);
}

/* References */

/**
 * struct counted - an object whose timeout has a reference while the wheel holds it
 * @timeout: its timeout
 * @refs:    the test's reference, and the wheel's
 * @freed:   how often the last one was dropped
 */
struct counted {
	struct hwheel_timeout	timeout;
	refcount_t		refs;
	unsigned int		freed;
};

static void counted_put(struct counted *counted)
{
	counted->freed += refcount_dec_and_test(&counted->refs);
}

static void counted_end(struct hwheel_timeout *timeout)
{
	counted_put(container_of(timeout, struct counted, timeout));
}

static const struct hwheel_timeout_ops counted_ops = {
	.expire = counted_end, .release = counted_end,
};

static void counted_mod(struct counted *counted, u64 delay)
{
	refcount_inc(&counted->refs);
	if (hwheel_mod(&counted->timeout, delay) != HWHEEL_NOT_HELD)
		counted_put(counted);
}

static void counted_do(struct kunit *test, struct rnd_state *random, struct counted *counted)
{
	struct hwheel *wheel = hwheel_of(&counted->timeout);
	u32 choice = prandom_u32_state(random) % 16;
	u64 delay = prandom_u32_state(random) % (20 * SIM_TICK);

	if (choice < 7)
		counted_mod(counted, delay);
	else if (choice < 12)
		hwheel_cancel(&counted->timeout);
	else if (choice == 12)
		hwheel_cancel_sync(&counted->timeout);
	else
		test_sleep(wheel, delay % (2 * SIM_TICK));
	KUNIT_ASSERT_EQ(test, counted->freed, 0);
	KUNIT_ASSERT_LE(test, refcount_read(&counted->refs), 2);
	if (hwheel_is_pending(&counted->timeout))
		KUNIT_ASSERT_EQ(test, refcount_read(&counted->refs), 2);
}

static void references_are_dropped_once_each(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct counted *counted = kunit_kzalloc(test, sizeof(*counted), GFP_KERNEL);
	struct rnd_state random;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, counted);
	prandom_seed_state(&random, 1);
	refcount_set(&counted->refs, 1);
	hwheel_timeout_init(&counted->timeout, wheel, &counted_ops);
	for (i = 0; i < 20000; i++)
		counted_do(test, &random, counted);
	hwheel_shutdown_sync(&counted->timeout);
	KUNIT_EXPECT_EQ(test, refcount_read(&counted->refs), 1);
	counted_mod(counted, 0);
	counted_put(counted);
	KUNIT_EXPECT_EQ(test, counted->freed, 1);
}

static struct kunit_case mod_cases[] = {
	KUNIT_CASE(arms_what_is_not_held),
	KUNIT_CASE(moves_what_is_pending),
	KUNIT_CASE(takes_back_what_is_still_held),
	KUNIT_CASE(works_in_the_release_op),
	KUNIT_CASE(works_while_the_release_op_runs),
	KUNIT_CASE(reduces_only_to_earlier),
	KUNIT_CASE(never_is_not_taken_for_zero),
	KUNIT_CASE(relative_times_count_from_now),
	KUNIT_CASE(refuses_more_than_a_turn_on_a_simple_wheel),
	KUNIT_CASE(counts_against_the_limit),
	KUNIT_CASE(fails_on_a_stopped_wheel),
	KUNIT_CASE(without_an_expire_op_it_is_refused),
	KUNIT_CASE(refused_while_it_is_closed),
	KUNIT_CASE(shut_down_one_is_never_armed),
	KUNIT_CASE(cancel_sync_does_not_reopen_it),
	KUNIT_CASE(never_is_not_shut_down),
	KUNIT_CASE(shutdown_in_its_own_callback_changes_nothing),
	KUNIT_CASE(references_are_dropped_once_each),
	{}
};

static struct kunit_suite mod_suite = {
	.name = "hwheel_mod",
	.test_cases = mod_cases,
};

kunit_test_suite(mod_suite);
