// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system wheel: it is there, and nobody stops it.
 */
#include "../sim.h"

static const char destroyed[] = "the system wheel is destroyed by destroyed_system_wheel_goes_on";

static void there_is_one_system_wheel(struct kunit *test)
{
	struct hwheel *wheel = hwheel_system();

	KUNIT_ASSERT_NOT_NULL(test, wheel);
	KUNIT_EXPECT_PTR_EQ(test, wheel, hwheel_system());
	KUNIT_EXPECT_STREQ(test, wheel->name, "system");
	KUNIT_EXPECT_EQ(test, wheel->tick, 10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, wheel->clock, CLOCK_MONOTONIC);
	KUNIT_EXPECT_EQ(test, hwheel_kind(wheel), HWHEEL_IS_HASHED);
	KUNIT_EXPECT_FALSE(test, wheel->own);
	KUNIT_EXPECT_FALSE(test, list_empty(&wheel->registered));
}

/* A timeout on it, 5 edges from now, which fires then */
static void expect_to_fire(struct kunit *test)
{
	struct hwheel *wheel = hwheel_system();
	struct sim_timeout sim = { };
	u64 edge;

	sim_needs_time(test);
	hwheel_timeout_init(&sim.timeout, wheel, &sim_ops);
	edge = div64_u64(test_now(wheel) - wheel->epoch, wheel->tick) + 5;
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim.timeout, sim_edge_time(wheel, edge)), 0);
	sim_pass(wheel, edge);
	sim_expect_fired(test, &sim, edge);
	hwheel_cancel_sync(&sim.timeout);
}

static void system_wheel_fires_on_edges(struct kunit *test)
{
	expect_to_fire(test);
}

static void idle_system_wheel_sleeps(struct kunit *test)
{
	struct hwheel *wheel = hwheel_system();
	unsigned long wakeups;

	sim_needs_time(test);
	sim_settle(wheel);
	wakeups = sim_wakeups(wheel);
	test_sleep(wheel, 60ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel), wakeups);
}

static void system_wheel_is_not_stopped(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, hwheel_stop(hwheel_system(), sim_handback, NULL), -EPERM);
	expect_to_fire(test);
}

static void destroyed_system_wheel_goes_on(struct kunit *test)
{
	test_complaint_begin();
	hwheel_destroy(hwheel_system());
	hwheel_destroy(hwheel_system());
	test_complaint_end();
	KUNIT_EXPECT_EQ(test, test_count_logged(destroyed), 1);
	expect_to_fire(test);
}

static struct kunit_case system_cases[] = {
	KUNIT_CASE(there_is_one_system_wheel),
	KUNIT_CASE(system_wheel_fires_on_edges),
	KUNIT_CASE(idle_system_wheel_sleeps),
	KUNIT_CASE(system_wheel_is_not_stopped),
	KUNIT_CASE(destroyed_system_wheel_goes_on),
	{}
};

static struct kunit_suite system_suite = {
	.name		= "hwheel_system",
	.suite_init	= test_wait_for_timers,
	.test_cases	= system_cases,
};

kunit_test_suite(system_suite);
