// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cases of Netty's HashedWheelTimerTest with their durations, on real wheels in
 * simulated time. Each is named after its origin; further checks in a test are
 * further promises of this wheel.
 */
#include <linux/delay.h>
#include <linux/workqueue.h>

#include "../sim.h"

#define MS	((u64)NSEC_PER_MSEC)
#define SEC	((u64)NSEC_PER_SEC)

/* new HashedWheelTimer(): 100 ms, 512 slots */
static struct hwheel *default_wheel(struct kunit *test)
{
	return sim_create(test, (struct hwheel_params) { .name = "netty" });
}

static struct hwheel *limited_wheel(struct kunit *test, u64 max_pending)
{
	return sim_create(test, (struct hwheel_params) {
		.tick_ns = 100 * MS, .slots = 32, .max_pending = max_pending,
	});
}

static void arm_all(struct kunit *test, struct sim_timeout *sim,
		    unsigned int nr, u64 delay_ns)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, hwheel_arm(&sim[i].timeout, delay_ns), 0);
}

static void netty_schedule_timeout_should_not_run_before_delay(struct kunit *test)
{
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	arm_all(test, sim, 1, 10 * SEC);
	test_sleep(wheel, 3 * SEC);
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	KUNIT_EXPECT_FALSE(test, hwheel_is_expired(&sim->timeout));
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
}

static void netty_schedule_timeout_should_run_after_delay(struct kunit *test)
{
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	u64 armed = test_now(wheel);

	arm_all(test, sim, 1, 2 * SEC);
	test_sleep(wheel, 3 * SEC);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_TRUE(test, hwheel_is_expired(&sim->timeout));
	KUNIT_EXPECT_GE(test, sim->fired_ns, armed + 2 * SEC);
	KUNIT_EXPECT_LT(test, sim->fired_ns, armed + 2 * SEC + 101 * MS);
}

static void netty_stop_timer_processed(struct kunit *test)
{
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);

	arm_all(test, sim, 3, 1 * MS);
	test_sleep(wheel, 200 * MS);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 3), 3);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 0);
	KUNIT_EXPECT_EQ(test, sim_count_handed_back(sim, 3), 0);
}

static void netty_stop_timer_unprocessed(struct kunit *test)
{
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 5, &sim_ops);

	arm_all(test, sim, 5, 5 * SEC);
	test_sleep(wheel, 1 * SEC);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 5);
	KUNIT_EXPECT_EQ(test, sim_count_handed_back(sim, 5), 5);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 5), 0);
}

static void netty_arm_after_stop_is_an_error(struct kunit *test)
{
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);

	arm_all(test, sim, 1, 1 * MS);
	test_sleep(wheel, 200 * MS);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, 1 * MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, hwheel_timeout_state(&sim[1].timeout), HWHEEL_IDLE);
}

static void rearm_100ms(struct sim_timeout *sim)
{
	hwheel_arm(&sim->timeout, 100 * MS);
}

static void netty_timer_should_fire_again_from_its_callback(struct kunit *test)
{
	struct hwheel *wheel = limited_wheel(test, 0);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	sim->then = rearm_100ms;
	arm_all(test, sim, 1, 100 * MS);
	test_sleep(wheel, 650 * MS);
	KUNIT_EXPECT_EQ(test, sim->expired, 3);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
	KUNIT_EXPECT_EQ(test, sim->handed_back, 1);
}

static void netty_execution_on_time(struct kunit *test)
{
	const unsigned int nr = 100000;
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = 200 * MS,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);
	unsigned int wrong = 0, i;

	arm_all(test, sim, nr, 125 * MS);
	test_sleep(wheel, 650 * MS);
	for (i = 0; i < nr; i++) {
		u64 due = hwheel_deadline(&sim[i].timeout);

		if (sim[i].expired != 1 || sim[i].fired_ns < due ||
		    sim[i].fired_ns - due > (650 - 125) * MS ||
		    sim[i].edge != sim_edge_due(wheel, due))
			wrong++;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static int alloc_executor(struct kunit_resource *res, void *unused)
{
	res->data = alloc_workqueue("netty", WQ_UNBOUND, 0);
	return res->data ? 0 : -ENOMEM;
}

static void free_executor(struct kunit_resource *res)
{
	destroy_workqueue(res->data);
}

static void note_work(struct sim_timeout *sim)
{
	sim->data = current_work();
}

static void netty_execution_on_task_executor(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = 100 * MS, .slots = 32, .max_pending = 2,
		.executor = kunit_alloc_resource(test, alloc_executor,
						 free_executor, GFP_KERNEL,
						 NULL),
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	sim->then = note_work;
	arm_all(test, sim, 1, 10 * MS);
	test_sleep(wheel, 150 * MS);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_NOT_NULL(test, sim->data);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 0);
}

static void netty_rejected_when_max_pending_is_exceeded(struct kunit *test)
{
	struct hwheel *wheel = limited_wheel(test, 2);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);

	arm_all(test, sim, 2, 5 * SEC);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[2].timeout, 1 * MS), -EDQUOT);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 2);
	KUNIT_EXPECT_EQ(test, hwheel_timeout_state(&sim[2].timeout), HWHEEL_IDLE);
}

static void netty_new_timeout_accepted_after_cancel(struct kunit *test)
{
	struct hwheel *wheel = limited_wheel(test, 2);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);

	arm_all(test, sim, 2, 5 * SEC);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[1].timeout));
	test_sleep(wheel, 500 * MS);
	arm_all(test, sim + 2, 1, 90 * MS);
	test_sleep(wheel, 2 * SEC);
	KUNIT_EXPECT_EQ(test, sim[2].expired, 1);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 1);
}

static void netty_new_timeout_accepted_after_expiry(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = 25 * MS, .slots = 4, .max_pending = 2,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);

	arm_all(test, sim, 1, 5 * SEC);
	arm_all(test, sim + 1, 1, 90 * MS);
	test_sleep(wheel, 116 * MS);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 1);
	arm_all(test, sim + 2, 1, 90 * MS);
	test_sleep(wheel, 116 * MS);
	KUNIT_EXPECT_EQ(test, sim[2].expired, 1);
	KUNIT_EXPECT_EQ(test, sim[0].expired, 0);
}

static void netty_pending_timeouts_is_the_number_pending(struct kunit *test)
{
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);

	arm_all(test, sim, 2, 100 * 60 * SEC);
	arm_all(test, sim + 2, 1, 90 * MS);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 3);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[1].timeout));
	test_sleep(wheel, 201 * MS);
	KUNIT_EXPECT_EQ(test, sim[2].expired, 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* Long.MAX_VALUE ms do not fit into ns, so the caller is left with U64_MAX. */
static void netty_overflow_does_not_fire_at_once(struct kunit *test)
{
	static const u64 delays[] = { S64_MAX, U64_MAX - 1, U64_MAX };
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	unsigned int i;

	for (i = 0; i < 3; i++)
		arm_all(test, sim + i, 1, delays[i]);
	test_sleep(wheel, 1 * SEC);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 3), 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 3);
}

static void netty_stop_cancels_all(struct kunit *test)
{
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 5, &sim_ops);
	unsigned int i;

	arm_all(test, sim, 5, 5 * SEC);
	test_sleep(wheel, 1 * SEC);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 5);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&sim[i].timeout));
		KUNIT_EXPECT_FALSE(test, hwheel_is_expired(&sim[i].timeout));
		KUNIT_EXPECT_EQ(test, sim[i].handed_back, 1);
	}
}

static void netty_cancel_calls_the_cancelled_callback(struct kunit *test)
{
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);

	arm_all(test, sim, 1, 90 * MS);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	test_sleep(wheel, 1 * SEC);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
}

/* The first of those with the same counter to fire holds the worker. */
static void hold_for_a_second(struct sim_timeout *sim)
{
	unsigned int *fired = sim->data;

	if (!(*fired)++)
		msleep(1000);
}

static void netty_pending_right_when_cancelled_in_the_goal_tick(struct kunit *test)
{
	struct hwheel *wheel = default_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 11, &sim_ops);
	unsigned int fired = 0, cancelled = 0, i;

	for (i = 0; i < 11; i++) {
		sim[i].then = hold_for_a_second;
		sim[i].data = &fired;
	}
	arm_all(test, sim, 11, 200 * MS);
	test_sleep(wheel, 500 * MS);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 10);
	for (i = 0; i < 11; i++)
		cancelled += hwheel_cancel(&sim[i].timeout);
	KUNIT_EXPECT_EQ(test, cancelled, 10);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);

	test_sleep(wheel, 2 * SEC);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 11), 1);
}

static struct kunit_case netty_cases[] = {
	KUNIT_CASE(netty_schedule_timeout_should_not_run_before_delay),
	KUNIT_CASE(netty_schedule_timeout_should_run_after_delay),
	KUNIT_CASE(netty_stop_timer_processed),
	KUNIT_CASE(netty_stop_timer_unprocessed),
	KUNIT_CASE(netty_arm_after_stop_is_an_error),
	KUNIT_CASE(netty_timer_should_fire_again_from_its_callback),
	KUNIT_CASE(netty_execution_on_time),
	KUNIT_CASE(netty_execution_on_task_executor),
	KUNIT_CASE(netty_rejected_when_max_pending_is_exceeded),
	KUNIT_CASE(netty_new_timeout_accepted_after_cancel),
	KUNIT_CASE(netty_new_timeout_accepted_after_expiry),
	KUNIT_CASE(netty_pending_timeouts_is_the_number_pending),
	KUNIT_CASE(netty_overflow_does_not_fire_at_once),
	KUNIT_CASE(netty_stop_cancels_all),
	KUNIT_CASE(netty_cancel_calls_the_cancelled_callback),
	KUNIT_CASE(netty_pending_right_when_cancelled_in_the_goal_tick),
	{}
};

static struct kunit_suite netty_suite = {
	.name = "hwheel_netty",
	.test_cases = netty_cases,
};

kunit_test_suite(netty_suite);
