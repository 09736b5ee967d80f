// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines that owners keep to themselves until they are asked.
 */
#include <linux/prandom.h>
#include <linux/workqueue.h>

#include "../sim.h"
#include "engine/state.h"

/**
 * struct kept - a timeout and its owner's deadline
 * @sim:    the timeout
 * @later:  what the owner says when asked
 * @growth: by how much more each time that the owner is asked
 * @asked:  how often the owner was asked
 */
struct kept {
	struct sim_timeout	sim;
	u64			later;
	u64			growth;
	unsigned int		asked;
};

static void kept_due(struct hwheel_timeout *timeout)
{
	struct kept *kept = container_of(sim_of(timeout), struct kept, sim);

	kept->asked++;
	kept->later += kept->growth;
	if (kept->later > hwheel_deadline(timeout))
		hwheel_refresh_at(timeout, kept->later);
}

static const struct hwheel_timeout_ops kept_ops = {
	.expire = sim_expire,
	.due = kept_due,
};

static int kept_init(struct kunit_resource *res, void *size)
{
	res->data = kvzalloc(*(size_t *)size, GFP_KERNEL);
	return res->data ? 0 : -ENOMEM;
}

static void kept_free(struct kunit_resource *res)
{
	struct kept *kept = res->data;

	hwheel_stop(sim_wheel_of(&kept->sim), NULL, NULL);
	kvfree(kept);
}

static struct kept *make_kept(struct kunit *test, struct hwheel *wheel,
			      unsigned int nr)
{
	size_t size = array_size(nr, sizeof(struct kept));
	struct kept *kept;
	unsigned int i;

	kept = kunit_alloc_resource(test, kept_init, kept_free, GFP_KERNEL,
				    &size);
	KUNIT_ASSERT_NOT_NULL(test, kept);
	for (i = 0; i < nr; i++)
		hwheel_timeout_init(&kept[i].sim.timeout, wheel, &kept_ops);
	return kept;
}

static struct kept *arm_kept(struct kunit *test, struct hwheel *wheel, u64 edge)
{
	struct kept *kept = make_kept(test, wheel, 1);

	KUNIT_ASSERT_EQ(test, 0, hwheel_arm_at(&kept->sim.timeout,
					       sim_edge_time(wheel, edge)));
	return kept;
}

static void later_one_counts(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = arm_kept(test, wheel, 2);

	kept->later = sim_edge_time(wheel, 5);
	sim_pass(wheel, 4);
	KUNIT_EXPECT_EQ(test, kept->asked, 1);
	KUNIT_EXPECT_EQ(test, kept->sim.expired, 0);
	KUNIT_EXPECT_TRUE(test, hwheel_is_pending(&kept->sim.timeout));
	KUNIT_EXPECT_EQ(test, hwheel_deadline(&kept->sim.timeout), kept->later);
	sim_pass(wheel, 5);
	sim_expect_fired(test, &kept->sim, 5);
	KUNIT_EXPECT_EQ(test, kept->asked, 2);
}

static void earlier_one_does_not(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	u64 edges[] = { 0, 1, 3 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		u64 due = 10 * i + 3;
		struct kept *kept = arm_kept(test, wheel, due);

		kept->later = sim_edge_time(wheel, 10 * i + edges[i]);
		sim_pass(wheel, due - 1);
		KUNIT_EXPECT_EQ(test, kept->asked, 0);
		sim_pass(wheel, due);
		sim_expect_fired(test, &kept->sim, due);
		KUNIT_EXPECT_EQ(test, hwheel_deadline(&kept->sim.timeout),
				sim_edge_time(wheel, due));
	}
}

/* It expires at once, and tells the later deadline. */
static void later_on_the_same_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = make_kept(test, wheel, 1);
	u64 time = sim_edge_time(wheel, 3);

	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&kept->sim.timeout, time - 800), 0);
	kept->later = time - 400;
	sim_pass(wheel, 3);
	sim_expect_fired(test, &kept->sim, 3);
	KUNIT_EXPECT_EQ(test, hwheel_deadline(&kept->sim.timeout), time - 400);
}

static void between_edges_means_the_next(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = arm_kept(test, wheel, 2);

	kept->later = sim_edge_time(wheel, 4) + 1;
	sim_pass(wheel, 4);
	KUNIT_EXPECT_EQ(test, kept->sim.expired, 0);
	sim_pass(wheel, 5);
	sim_expect_fired(test, &kept->sim, 5);
}

static void forever_can_still_be_ended(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = arm_kept(test, wheel, 2);
	unsigned long wakeups;

	kept->later = U64_MAX;
	sim_pass(wheel, 10);
	wakeups = sim_wakeups(wheel);
	sim_pass(wheel, 1000);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel), wakeups);
	KUNIT_EXPECT_EQ(test, hwheel_deadline(&kept->sim.timeout), HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&kept->sim.timeout), 1);
	KUNIT_EXPECT_EQ(test, kept->sim.expired, 0);
}

/* A heartbeat per tick, and a look when the timeout would have come */
static void heartbeats_cost_a_look_per_deadline(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = arm_kept(test, wheel, 20);
	unsigned int edge;

	for (edge = 1; edge <= 200; edge++) {
		kept->later = sim_edge_time(wheel, edge + 20);
		sim_pass(wheel, edge);
	}
	KUNIT_EXPECT_EQ(test, kept->sim.expired, 0);
	KUNIT_EXPECT_GE(test, kept->asked, 9);
	KUNIT_EXPECT_LE(test, kept->asked, 12);
	sim_pass(wheel, 220);
	sim_expect_fired(test, &kept->sim, 220);
}

static void changing_one_s_mind_does_not_hold_the_worker(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = arm_kept(test, wheel, 2);

	kept->later = sim_edge_time(wheel, 2) - 100;
	kept->growth = 8;
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, kept->asked, 1);
	sim_expect_fired(test, &kept->sim, 2);
}

static void call_to_an_earlier_deadline_only_brings_the_look_forward(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = arm_kept(test, wheel, 20);

	kept->later = sim_edge_time(wheel, 6);
	KUNIT_EXPECT_EQ(test, 0, hwheel_refresh_at(&kept->sim.timeout,
						   sim_edge_time(wheel, 3)));
	sim_pass(wheel, 5);
	KUNIT_EXPECT_EQ(test, kept->sim.expired, 0);
	sim_pass(wheel, 6);
	sim_expect_fired(test, &kept->sim, 6);
}

static void arming_again_asks_again(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = arm_kept(test, wheel, 2);

	sim_pass(wheel, 2);
	sim_expect_fired(test, &kept->sim, 2);
	kept->sim.expired = 0;
	kept->later = sim_edge_time(wheel, 7);
	KUNIT_EXPECT_EQ(test, 0, hwheel_arm_at(&kept->sim.timeout,
					       sim_edge_time(wheel, 4)));
	sim_pass(wheel, 6);
	KUNIT_EXPECT_EQ(test, kept->sim.expired, 0);
	sim_pass(wheel, 7);
	sim_expect_fired(test, &kept->sim, 7);
}

/* A caller that cancels it meanwhile has prevented it. */
static void kept_cancel(struct hwheel_timeout *timeout)
{
	struct kept *kept = container_of(sim_of(timeout), struct kept, sim);

	kept->asked++;
	hwheel_cancel(timeout);
}

static void cancelled_while_asked(struct kunit *test)
{
	static const struct hwheel_timeout_ops ops = {
		.expire = sim_expire, .release = sim_release, .due = kept_cancel,
	};
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = make_kept(test, wheel, 1);

	hwheel_timeout_init(&kept->sim.timeout, wheel, &ops);
	KUNIT_EXPECT_EQ(test, 0, hwheel_arm_at(&kept->sim.timeout,
					       sim_edge_time(wheel, 2)));
	sim_pass(wheel, 5);
	KUNIT_EXPECT_EQ(test, kept->asked, 1);
	KUNIT_EXPECT_EQ(test, kept->sim.expired, 0);
	KUNIT_EXPECT_EQ(test, kept->sim.released, 1);
}

static void stop_hands_back_what_was_refreshed(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct kept *kept = arm_kept(test, wheel, 2);

	kept->later = sim_edge_time(wheel, 100);
	sim_pass(wheel, 3);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
	KUNIT_EXPECT_EQ(test, kept->sim.handed_back, 1);
}

/* The later of both deadlines is what counts, on every kind of wheel. */

#define MANY	300
#define SPAN	200

static void expect_on_time(struct kunit *test, const struct kept *kept,
			   u64 deadline)
{
	struct hwheel *wheel = sim_wheel_of(&kept->sim);

	sim_expect_fired(test, &kept->sim,
			 sim_edge_due(wheel, max(deadline, kept->later)));
}

static void random_deadlines_on(struct kunit *test, struct hwheel_params params)
{
	struct hwheel *wheel = sim_create(test, params);
	struct kept *kept = make_kept(test, wheel, MANY);
	u64 *deadlines = kunit_kcalloc(test, MANY, sizeof(u64), GFP_KERNEL);
	u64 base = sim_edge_time(wheel, 2);
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 1);
	KUNIT_ASSERT_NOT_NULL(test, deadlines);
	for (i = 0; i < MANY; i++) {
		u64 tick = SIM_TICK;

		deadlines[i] = base + prandom_u32_state(&rnd) % SPAN * tick;
		kept[i].later = base + prandom_u32_state(&rnd) % SPAN * tick +
				prandom_u32_state(&rnd) % SIM_TICK;
		KUNIT_ASSERT_EQ(test, 0, hwheel_arm_at(&kept[i].sim.timeout,
						       deadlines[i]));
	}
	sim_pass(wheel, SPAN + 4);
	for (i = 0; i < MANY; i++)
		expect_on_time(test, &kept[i], deadlines[i]);
}

static void random_deadlines(struct kunit *test)
{
	random_deadlines_on(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = 512,
	});
	random_deadlines_on(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = 4,
	});
	random_deadlines_on(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = 4, .levels = 3,
	});
	random_deadlines_on(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = 512, .flags = HWHEEL_SIMPLE,
	});
}

static struct kunit_case due_cases[] = {
	KUNIT_CASE(later_one_counts),
	KUNIT_CASE(earlier_one_does_not),
	KUNIT_CASE(later_on_the_same_edge),
	KUNIT_CASE(between_edges_means_the_next),
	KUNIT_CASE(forever_can_still_be_ended),
	KUNIT_CASE(heartbeats_cost_a_look_per_deadline),
	KUNIT_CASE(changing_one_s_mind_does_not_hold_the_worker),
	KUNIT_CASE(call_to_an_earlier_deadline_only_brings_the_look_forward),
	KUNIT_CASE(arming_again_asks_again),
	KUNIT_CASE(cancelled_while_asked),
	KUNIT_CASE(stop_hands_back_what_was_refreshed),
	KUNIT_CASE(random_deadlines),
	{}
};

static struct kunit_suite due_suite = {
	.name		= "hwheel_due",
	.suite_init	= test_wait_for_timers,
	.test_cases	= due_cases,
};

kunit_test_suite(due_suite);
