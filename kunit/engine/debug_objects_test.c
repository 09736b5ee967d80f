// SPDX-License-Identifier: GPL-2.0-only
/*
 * Debug objects: the kernel names what is freed, or set up again, while the wheel refers to it,
 * and nothing else. Nothing is freed here: what looks after objects is only asked.
 */
#include "engine/debug_objects.h"
#include "cancel_sync_sim.h"

#ifdef CONFIG_DEBUG_OBJECTS_FREE

static void timeout_is_named_while_the_wheel_has_it(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);

	KUNIT_EXPECT_EQ(test, sim_found_if_freed(sim), 0);
	arm_edge(test, sim, FAR);
	KUNIT_EXPECT_EQ(test, sim_found_if_freed(sim), 1);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim_found_if_freed(sim), 1);
	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->timeout, 20 * SIM_TICK), 0);
	KUNIT_EXPECT_EQ(test, sim_found_if_freed(sim), 1);
	sim_settle(wheel);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	KUNIT_EXPECT_EQ(test, sim_found_if_freed(sim), 1);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_EQ(test, sim_found_if_freed(sim), 0);
}

static void count_if_freed(struct sim_timeout *sim)
{
	*(unsigned int *)sim->data += sim_found_if_freed(sim);
}

/* One by one, for the sake of the limit, and in a row; it may be freed in its callback. */
static void timeout_is_not_named_from_its_callback_on(struct kunit *test)
{
	u64 limit;

	for (limit = 0; limit <= 1; limit++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .max_pending = limit,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
		unsigned int found = 0;

		sim->then = count_if_freed;
		sim->data = &found;
		arm_edge(test, sim, 2);
		sim_pass(wheel, 2);
		KUNIT_EXPECT_EQ(test, sim->expired, 1);
		KUNIT_EXPECT_EQ(test, found + sim_found_if_freed(sim), 0);
	}
}

static void handed_back_timeout_is_not_named(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	unsigned int i;

	arm_edge(test, &sim[0], FAR);
	sim_settle(wheel);
	arm_edge(test, &sim[1], FAR);
	arm_edge(test, &sim[2], FAR);
	hwheel_cancel(&sim[2].timeout);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 2);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, sim_found_if_freed(&sim[i]), 0);
}

#endif

#ifdef CONFIG_DEBUG_OBJECTS

/* Alone in its slot it does no harm. */
static void timeout_that_is_set_up_again_is_named(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	unsigned int before = atomic_read(&hwheel_debug_found);

	hwheel_timeout_init(&sim->timeout, wheel, &sim_ops);
	KUNIT_EXPECT_EQ(test, atomic_read(&hwheel_debug_found), before);
	arm_edge(test, sim, FAR);
	sim_settle(wheel);
	test_complaint_begin();
	hwheel_timeout_init(&sim->timeout, wheel, &sim_ops);
	test_complaint_end();
	KUNIT_EXPECT_EQ(test, atomic_read(&hwheel_debug_found), before + 1);
	hwheel_debug_reference(&sim->timeout);
	hwheel_stop(wheel, NULL, NULL);
}

/* It leaves nothing behind, whoever has that stack later. */
static void timeout_on_the_stack_is_like_others(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout sim = { };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		hwheel_timeout_init(&sim.timeout, wheel, &sim_ops);
		arm_edge(test, &sim, FAR);
		KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim.timeout), 1);
		arm_edge(test, &sim, FAR);
		sim_settle(wheel);
		KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim.timeout), 1);
	}
}

#endif

static struct kunit_case debug_cases[] = {
#ifdef CONFIG_DEBUG_OBJECTS_FREE
	KUNIT_CASE(timeout_is_named_while_the_wheel_has_it),
	KUNIT_CASE(timeout_is_not_named_from_its_callback_on),
	KUNIT_CASE(handed_back_timeout_is_not_named),
#endif
#ifdef CONFIG_DEBUG_OBJECTS
	KUNIT_CASE(timeout_that_is_set_up_again_is_named),
	KUNIT_CASE(timeout_on_the_stack_is_like_others),
#endif
	{}
};

static struct kunit_suite debug_suite = {
	.name		= "hwheel_debug_objects",
	.test_cases	= debug_cases,
};

kunit_test_suite(debug_suite);
