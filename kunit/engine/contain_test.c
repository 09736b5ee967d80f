// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callbacks that misbehave: the wheel and the others go on, and it is counted.
 */
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/preempt.h>

#include "engine/callback.h"
#include "cancel_sync_sim.h"

static void expect_counted(struct kunit *test, const struct hwheel *wheel,
			   u64 contained, u64 overlong)
{
	struct hwheel_stats stats;

	hwheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.contained, contained);
	KUNIT_EXPECT_EQ(test, stats.overlong, overlong);
}

/* What a callback leaves behind */

static void leave_preemption_off(struct sim_timeout *sim)
{
	preempt_disable();
}

static void leave_preemption_off_twice(struct sim_timeout *sim)
{
	preempt_disable();
	preempt_disable();
}

static void leave_both_off(struct sim_timeout *sim)
{
	preempt_disable();
	local_irq_disable();
}

static void leave_nothing(struct sim_timeout *sim)
{
	preempt_disable();
	local_irq_disable();
	local_irq_enable();
	preempt_enable();
}

static void (*const misdeeds[])(struct sim_timeout *sim) = {
	leave_preemption_off, leave_preemption_off_twice, leave_both_off,
};

/* The next callback finds all as it should be, and may sleep. */
static void look_around(struct sim_timeout *sim)
{
	bool *ok = sim->data;

	*ok = !preempt_count() && !irqs_disabled() && in_task();
	test_sleep(sim_wheel_of(sim), SIM_SETTLE);
}

static void release_and_misbehave(struct hwheel_timeout *timeout)
{
	struct sim_timeout *sim = sim_of(timeout);

	sim_release(timeout);
	sim->then(sim);
}

static const struct hwheel_timeout_ops misbehave_ops = {
	.expire = sim_expire,
	.release = release_and_misbehave,
};

/* @sim[0] does it on @edge or before, @sim[1] looks around after that. */
static void expect_contained(struct kunit *test, struct sim_timeout *sim,
			     u64 edge, u64 contained)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	bool ok = false;

	sim[1].expired = 0;
	sim[1].then = look_around;
	sim[1].data = &ok;
	arm_edge(test, &sim[1], edge + 2);
	sim_pass(wheel, edge + 3);
	sim_expect_fired(test, &sim[1], edge + 2);
	KUNIT_EXPECT_TRUE(test, ok);
	expect_counted(test, wheel, contained, 0);
}

static void check_expire(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(misdeeds); i++) {
		sim[0].then = misdeeds[i];
		arm_edge(test, &sim[0], 10 * i + 2);
		expect_contained(test, sim, 10 * i + 2, i + 1);
		KUNIT_EXPECT_EQ(test, sim[0].expired, i + 1);
	}
	sim[0].then = leave_nothing;
	arm_edge(test, &sim[0], 10 * i + 2);
	expect_contained(test, sim, 10 * i + 2, i);
}

static void check_release(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &misbehave_ops);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(misdeeds); i++) {
		sim[0].then = misdeeds[i];
		arm_edge(test, &sim[0], FAR);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
		expect_contained(test, sim, 10 * i + 2, i + 1);
		KUNIT_EXPECT_EQ(test, sim[0].released, i + 1);
		sim_pass(wheel, 10 * i + 9);
	}
}

static void expire_callback_is_contained(struct kunit *test)
{
	check_expire(test, sim_wheel(test));
}

static void release_op_is_contained(struct kunit *test)
{
	check_release(test, sim_wheel(test));
}

/* The neighbours on the same edge are none the worse for it. */
static void all_of_a_backlog_are_contained(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 100, &sim_ops);
	unsigned int i;
	bool ok[50];

	memset(ok, 0, sizeof(ok));
	for (i = 0; i < 100; i++) {
		sim[i].then = i % 2 ? look_around : misdeeds[i / 2 % ARRAY_SIZE(misdeeds)];
		sim[i].data = &ok[i / 2];
		arm_edge(test, &sim[i], 2);
	}
	sim_pass(wheel, 10);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 100), 100);
	for (i = 0; i < 50; i++)
		KUNIT_EXPECT_TRUE(test, ok[i]);
	expect_counted(test, wheel, 50, 0);
}

/* In the release op of one that a callback cancels, which then goes on waiting */
static void nested_release_op_is_contained(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct sim_timeout *other = sim_alloc(test, wheel, &misbehave_ops);
	struct order order = { .other = other, .result = -1, .free = true };

	other->then = leave_both_off;
	sim[0].then = cancel_other;
	sim[0].data = &order;
	arm_edge(test, other, FAR);
	arm_edge(test, &sim[0], 2);
	expect_contained(test, sim, 2, 1);
	KUNIT_EXPECT_EQ(test, order.result, 1);
	sim_expect_fired(test, &sim[0], 2);
}

/* The thread that stops the wheel gets its own state back. */
static void release_op_of_a_stop_is_contained(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &misbehave_ops);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		sim[i].then = misdeeds[i];
		arm_edge(test, &sim[i], FAR);
	}
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 3);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_EQ(test, preempt_count(), 0);
	expect_counted(test, wheel, 3, 0);
}

/* Those that take too long: a tick and a jiffy are as long here. */

/* Its worker is preempted by no thread of the kernel's own. */
static struct hwheel *undisturbed_wheel(struct kunit *test)
{
	return sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .rt_priority = 1,
	});
}

static void stall(struct sim_timeout *sim)
{
	sim_stall(*(u64 *)sim->data);
}

static void sleep(struct sim_timeout *sim)
{
	test_sleep(sim_wheel_of(sim), *(u64 *)sim->data);
}

static const struct {
	u64 ns;
	bool overlong;
} lengths[] = {
	{ 0, false },
	{ NSEC_PER_MSEC, false },
	{ SIM_TICK - NSEC_PER_MSEC, false },
	{ SIM_TICK + TICK_NSEC + NSEC_PER_MSEC, true },
	{ 5 * SIM_TICK, true },
	{ 60ULL * NSEC_PER_SEC, true },
};

static void check_lengths(struct kunit *test, struct hwheel *wheel,
			  void (*hold)(struct sim_timeout *sim),
			  bool counted)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	u64 edge, overlong = 0;
	unsigned int i;

	sim->then = hold;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		u64 length = lengths[i].ns;

		edge = sim_edge_due(wheel, test_now(wheel)) + 2;
		sim->data = &length;
		arm_edge(test, sim, edge);
		sim_pass(wheel, edge + 2 + div64_u64(length, SIM_TICK));
		KUNIT_EXPECT_EQ(test, sim->expired, i + 1);
		overlong += counted && lengths[i].overlong;
		expect_counted(test, wheel, 0, overlong);
	}
}

static void callback_that_holds_the_worker_is_counted(struct kunit *test)
{
	check_lengths(test, undisturbed_wheel(test), stall, true);
	check_lengths(test, undisturbed_wheel(test), sleep, true);
}

static void check_release_lengths(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &misbehave_ops);
	u64 overlong = 0;
	unsigned int i;

	sim->then = stall;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		u64 length = lengths[i].ns;

		sim->data = &length;
		KUNIT_ASSERT_EQ(test, hwheel_arm(&sim->timeout, SIM_DAY), 0);
		sim_settle(wheel);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
		test_sleep(wheel, length + 2 * SIM_TICK);
		KUNIT_EXPECT_EQ(test, sim->released, i + 1);
		overlong += lengths[i].overlong;
		expect_counted(test, wheel, 0, overlong);
	}
}

static void release_op_that_holds_the_worker_is_counted(struct kunit *test)
{
	check_release_lengths(test, undisturbed_wheel(test));
}

/* Many that take long together are not each to blame. */
static void many_short_callbacks_are_not_overlong(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 200, &misbehave_ops);
	u64 length = 3 * NSEC_PER_MSEC;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		sim[i].then = stall;
		sim[i].data = &length;
		arm_edge(test, &sim[i], i < 100 ? 2 : FAR);
	}
	sim_pass(wheel, 100);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 200), 100);
	for (i = 100; i < 200; i++)
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
	sim_pass(wheel, 200);
	KUNIT_EXPECT_EQ(test, sim[199].released, 1);
	expect_counted(test, wheel, 0, 0);
}

static void cancel_two(struct sim_timeout *sim)
{
	struct sim_timeout *two = sim->data;

	hwheel_cancel_sync(&two[0].timeout);
	hwheel_cancel_sync(&two[1].timeout);
}

/* The time that is spent in nested ones is the outer one's, and counted once. */
static void nested_release_ops_are_counted_with_their_caller(struct kunit *test)
{
	struct hwheel *wheel = undisturbed_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct sim_timeout *two = sim_timeouts(test, wheel, 2, &misbehave_ops);
	u64 length = 5 * SIM_TICK;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		two[i].then = stall;
		two[i].data = &length;
		arm_edge(test, &two[i], FAR);
		arm_edge(test, &sim[i], 2);
	}
	sim[0].then = cancel_two;
	sim[0].data = two;
	sim_pass(wheel, 20);
	KUNIT_EXPECT_EQ(test, two[0].released + two[1].released, 2);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 2), 2);
	expect_counted(test, wheel, 0, 1);
}

static void stall_and_cancel_other(struct sim_timeout *sim)
{
	sim_stall(5 * SIM_TICK);
	cancel_other(sim);
}

/* The nested op is quick; its caller has nevertheless held the worker. */
static void quick_release_op_does_not_excuse_its_caller(struct kunit *test)
{
	struct hwheel *wheel = undisturbed_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_release_ops);
	struct order order = { .other = other, .result = -1, .free = true };

	sim->then = stall_and_cancel_other;
	sim->data = &order;
	arm_edge(test, other, FAR);
	arm_edge(test, sim, 2);
	sim_pass(wheel, 10);
	KUNIT_EXPECT_EQ(test, order.result, 1);
	expect_counted(test, wheel, 0, 1);
}

/* What a callback is preempted by */

static int stall_thread(void *data)
{
	sim_stall(5 * SIM_TICK);
	return 0;
}

static void get_preempted(struct sim_timeout *sim)
{
	unsigned long before = current->nivcsw;

	wake_up_process(sim->data);
	cond_resched();
	sim->released = current->nivcsw - before;
}

/* The scheduler held the worker, and that is all that is known. */
static void preempted_callback_is_not_to_blame(struct kunit *test)
{
	struct task_struct *task = kthread_create(stall_thread, NULL, "hwheel_stall");
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	sched_set_fifo(task);
	/* Real-time workers that stalled in other cases have had these threads throttled. */
	test_sleep(wheel, 200ULL * NSEC_PER_SEC);
	sim->then = get_preempted;
	sim->data = task;
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, 0), 0);
	test_sleep(wheel, 20 * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	expect_counted(test, wheel, 0, 0);
}

/* Those of the device: an administrator that reads the log could do nothing about them. */
static void own_callbacks_are_not_to_blame(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .flags = HWHEEL_OWN,
	});

	check_lengths(test, wheel, stall, false);
	check_lengths(test, wheel, sleep, false);
}

/* In the log, each wheel names the first of each kind. Earlier ones use up the ratelimit. */
static void misbehaviour_is_named_once(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.name = "misbehaved", .tick_ns = SIM_TICK, .slots = SIM_SLOTS, .rt_priority = 1,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 6, &sim_ops);
	u64 length = 5 * SIM_TICK;
	unsigned int i;

	test_sleep(wheel, 60ULL * NSEC_PER_SEC);
	for (i = 0; i < 6; i++) {
		sim[i].then = i < 3 ? leave_preemption_off : stall;
		sim[i].data = &length;
		KUNIT_ASSERT_EQ(test, hwheel_arm(&sim[i].timeout, (1 + 10 * i) * SIM_TICK), 0);
	}
	test_sleep(wheel, 100 * SIM_TICK);
	expect_counted(test, wheel, 3, 3);
	KUNIT_EXPECT_EQ(test, test_count_logged("wheel misbehaved: sim_expire"), 2);
	KUNIT_EXPECT_EQ(test, test_count_logged("wheel misbehaved: sim_expire returned with"), 1);
	KUNIT_EXPECT_EQ(test, test_count_logged("wheel misbehaved: sim_expire held the"), 1);
}

static struct kunit_case contain_cases[] = {
	KUNIT_CASE(misbehaviour_is_named_once),
	KUNIT_CASE(expire_callback_is_contained),
	KUNIT_CASE(release_op_is_contained),
	KUNIT_CASE(all_of_a_backlog_are_contained),
	KUNIT_CASE(nested_release_op_is_contained),
	KUNIT_CASE(release_op_of_a_stop_is_contained),
	KUNIT_CASE(callback_that_holds_the_worker_is_counted),
	KUNIT_CASE(release_op_that_holds_the_worker_is_counted),
	KUNIT_CASE(many_short_callbacks_are_not_overlong),
	KUNIT_CASE(nested_release_ops_are_counted_with_their_caller),
	KUNIT_CASE(quick_release_op_does_not_excuse_its_caller),
	KUNIT_CASE(preempted_callback_is_not_to_blame),
	KUNIT_CASE(own_callbacks_are_not_to_blame),
	{}
};

static struct kunit_suite contain_suite = {
	.name		= "hwheel_contain",
	.test_cases	= contain_cases,
};

kunit_test_suite(contain_suite);
