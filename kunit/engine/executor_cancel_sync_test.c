// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheel_cancel_sync() on wheels whose callbacks run on a workqueue: of what was handed
 * over, of what runs, and in callbacks. On return the object may be freed; KASAN watches.
 */
#include "executor_sim.h"

static void expect_taken_back(struct kunit *test, const struct sim_timeout *sim,
			      unsigned int released)
{
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	KUNIT_EXPECT_EQ(test, sim->released, released);
	KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&sim->timeout));
}

/* Handed over, and not run yet */

static void check_taken_back(struct kunit *test,
			     const struct hwheel_timeout_ops *ops)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *slow = sim_timeouts(test, wheel, 1, &sim_ops);
	struct sim_timeout *sim = sim_alloc(test, wheel, ops);
	struct tally tally = { };
	u64 start;

	hand_over_behind(test, slow, sim, &tally);
	start = test_now(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
	KUNIT_EXPECT_LT(test, test_now(wheel), start + SIM_SETTLE);
	expect_taken_back(test, sim, !!ops->release);
	kfree(sim);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).recalled, 1);
	KUNIT_EXPECT_EQ(test, tally.running, 1);
	test_sleep(wheel, 2 * SLOW * SIM_TICK);
	KUNIT_EXPECT_EQ(test, tally.ended, 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).recalled, 1);
}

static void handed_over_one_is_freed_at_once(struct kunit *test)
{
	check_taken_back(test, &sim_ops);
	check_taken_back(test, &sim_release_ops);
}

static void arm_backlog_behind(struct kunit *test, struct sim_timeout *slow,
			       struct sim_timeout *sim, unsigned int nr,
			     struct tally *tally)
{
	unsigned int i;

	slow->then = sleep_10_ticks;
	slow->data = tally;
	arm_edge(test, slow, 2);
	for (i = 0; i < nr; i++)
		arm_edge(test, &sim[i], 4);
	sim_pass(sim_wheel_of(sim), 4);
	KUNIT_ASSERT_EQ(test, sim_count_expired(sim, nr), 0);
}

static void some_of_a_backlog_are_taken_back(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *slow = sim_timeouts(test, wheel, 1, &sim_ops);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 300,
					       &sim_release_ops);
	struct tally tally = { };
	unsigned int i;

	arm_backlog_behind(test, slow, sim, 300, &tally);
	for (i = 0; i < 300; i += 3)
		KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[i].timeout), 1);
	sim_pass(wheel, 5 + SLOW);
	for (i = 0; i < 300; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, i % 3 != 0);
		KUNIT_EXPECT_EQ(test, sim[i].released, i % 3 == 0);
	}
	KUNIT_EXPECT_EQ(test, stats_of(wheel).recalled, 100);
}

static void taken_back_one_can_be_armed_again(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_release_ops);
	struct tally tally = { };

	hand_over_behind(test, &sim[0], &sim[1], &tally);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[1].timeout), 1);
	expect_taken_back(test, &sim[1], 1);
	arm_edge(test, &sim[1], 30);
	sim_pass(wheel, 29);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 0);
	sim_pass(wheel, 30);
	sim_expect_fired(test, &sim[1], 30);
}

static void release_slowly(struct hwheel_timeout *timeout)
{
	test_sleep(hwheel_of(timeout), 2 * SLOW * SIM_TICK);
	sim_release(timeout);
}

static const struct hwheel_timeout_ops slow_release_ops = {
	.expire = sim_expire,
	.release = release_slowly,
};

/* It is not run by a runner that is done before the worker comes to unlink it. */
static void taken_back_while_the_worker_is_held(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_release_ops);
	struct sim_timeout *hold = sim_timeouts(test, wheel, 1, &slow_release_ops);
	struct canceller canceller;
	struct tally tally = { };

	arm_edge(test, hold, FAR);
	hand_over_behind(test, &sim[0], &sim[1], &tally);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&hold->timeout));
	sim_settle(wheel);
	start_canceller(&canceller, &sim[1]);
	test_sleep(wheel, SLOW * SIM_TICK);
	KUNIT_EXPECT_EQ(test, tally.ended, 1);
	KUNIT_EXPECT_EQ(test, canceller.result, -1);
	expect_taken_back(test, &sim[1], 0);
	end_canceller(&canceller);
	KUNIT_EXPECT_EQ(test, canceller.result, 1);
	KUNIT_EXPECT_GE(test, canceller.returned_ns, hold->released_ns);
	expect_taken_back(test, &sim[1], 1);
}

static void two_threads_take_it_back_once(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_release_ops);
	struct canceller one, two;
	struct tally tally = { };

	hand_over_behind(test, &sim[0], &sim[1], &tally);
	start_canceller(&one, &sim[1]);
	start_canceller(&two, &sim[1]);
	end_canceller(&one);
	end_canceller(&two);
	KUNIT_EXPECT_EQ(test, one.result + two.result, 1);
	expect_taken_back(test, &sim[1], 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).recalled, 1);
	KUNIT_EXPECT_EQ(test, tally.running, 1);
	test_sleep(wheel, SLOW * SIM_TICK);
}

/* Running */

static void another_callback_is_not_waited_for(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	struct tally tally = { };
	u64 start;

	sim[0].then = sleep_10_ticks;
	sim[0].data = &tally;
	arm_edge(test, &sim[0], 2);
	arm_edge(test, &sim[1], 2);
	arm_edge(test, &sim[2], FAR);
	sim_pass(wheel, 3);
	start = test_now(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[1].timeout), 0);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[2].timeout), 1);
	KUNIT_EXPECT_LT(test, test_now(wheel), start + SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, tally.running, 1);
	sim_pass(wheel, 3 + SLOW);
}

struct rearming {
	struct tally	tally;
	u64		delay;
	int		before, after;
};

/* Arms before it sleeps, and again after that. */
static void rearm_sleep_rearm(struct sim_timeout *sim)
{
	struct rearming *rearming = sim->data;

	rearming->before = hwheel_arm(&sim->timeout, rearming->delay);
	sleep_10_ticks(sim);
	rearming->after = hwheel_arm(&sim->timeout, 0);
}

/*
 * Cancelled while its callback runs, which armed it again: it may be enqueued, or handed
 * over once more. Either way that is prevented, and the callback waited for; released
 * after that, if there is such an op.
 */
static void check_rearmed(struct kunit *test, u64 delay,
			  const struct hwheel_timeout_ops *ops)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_alloc(test, wheel, ops);
	struct rearming rearming = { .delay = delay };

	sim->then = rearm_sleep_rearm;
	sim->data = &rearming;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 5);
	KUNIT_EXPECT_EQ(test, hwheel_is_pending(&sim->timeout), delay != 0);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
	KUNIT_EXPECT_EQ(test, rearming.tally.ended, 1);
	KUNIT_EXPECT_EQ(test, rearming.before, 0);
	KUNIT_EXPECT_EQ(test, rearming.after, -EBUSY);
	KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&sim->timeout));
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_EQ(test, sim->released, !!ops->release);
	if (ops->release)
		KUNIT_EXPECT_GE(test, sim->released_ns,
				sim_edge_time(wheel, 2 + SLOW));
	kfree(sim);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).recalled, delay == 0);
	sim_pass(wheel, FAR + SLOW);
}

static void one_armed_by_its_running_callback_is_cancelled(struct kunit *test)
{
	check_rearmed(test, FAR * SIM_TICK, &sim_ops);
	check_rearmed(test, FAR * SIM_TICK, &sim_release_ops);
}

static void one_handed_over_again_is_taken_back(struct kunit *test)
{
	check_rearmed(test, 0, &sim_ops);
	check_rearmed(test, 0, &sim_release_ops);
}

#define ARMS	100

/* Has the worker, which is in its deep sleep, woken up by arms within half a tick. */
static unsigned long wakeups_by_arms(struct kunit *test, struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned long before = sim_wakeups(wheel);
	unsigned int i;

	for (i = 0; i < ARMS; i++) {
		KUNIT_ASSERT_EQ(test, hwheel_arm(&sim[i].timeout, SIM_DAY), 0);
		test_sleep(wheel, SIM_TICK / 2 / ARMS);
	}
	return sim_wakeups(wheel) - before;
}

/* A caller that waits for a callback, not for the worker, does not make it drain each arm. */
static void check_batched(struct kunit *test, void (*then)(struct sim_timeout *sim),
			  int result)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);
	struct sim_timeout *others = sim_timeouts(test, wheel, ARMS, &sim_ops);
	struct rearming rearming = { .delay = FAR * SIM_TICK };
	struct canceller canceller;

	sim->then = then;
	sim->data = &rearming;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	start_canceller(&canceller, sim);
	sim_pass(wheel, 6);
	KUNIT_EXPECT_LE(test, wakeups_by_arms(test, others), 2);
	KUNIT_EXPECT_EQ(test, canceller.result, -1);
	end_canceller(&canceller);
	KUNIT_EXPECT_EQ(test, canceller.result, result);
	KUNIT_EXPECT_EQ(test, rearming.tally.ended, 1);
	KUNIT_EXPECT_LT(test, canceller.returned_ns, sim_edge_time(wheel, 3 + SLOW));
}

static void arms_are_batched_while_a_callback_is_waited_for(struct kunit *test)
{
	check_batched(test, sleep_10_ticks, 0);
	check_batched(test, rearm_sleep_rearm, 1);
}

/* In callbacks on the executor */

static void arm_anew_and_sleep(struct sim_timeout *sim)
{
	struct order *order = sim->data;

	hwheel_timeout_init(&sim->timeout, sim_wheel_of(sim), &sim_ops);
	sim->then = NULL;
	hwheel_arm(&sim->timeout, SIM_TICK);
	test_sleep(sim_wheel_of(sim), 3 * SIM_TICK);
	order->result = sim->expired;
}

/* Two callbacks for one address do not overlap. */
static void one_set_up_anew_expires_after_the_callback(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct order order = { .result = -1 };

	sim->then = arm_anew_and_sleep;
	sim->data = &order;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 8);
	KUNIT_EXPECT_EQ(test, order.result, 1);
	KUNIT_EXPECT_EQ(test, sim->expired, 2);
}

/* Has it cancelled in a callback, on the edge after the next, and freed. */
static void freed_by_callback(struct kunit *test, struct sim_timeout *other,
			      int result)
{
	struct hwheel *wheel = sim_wheel_of(other);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct order order = { .other = other, .result = -1, .free = true };
	u64 edge = sim_edge_due(wheel, test_now(wheel)) + 1;

	sim->then = cancel_other;
	sim->data = &order;
	arm_edge(test, sim, edge);
	sim_pass(wheel, edge + 2 * SLOW);
	KUNIT_EXPECT_EQ(test, order.result, result);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	sim_pass(wheel, 2 * FAR);
}

static void check_enqueued(struct kunit *test, enum executor_kind kind,
			   const struct hwheel_timeout_ops *ops)
{
	struct hwheel *wheel = executor_wheel(test, kind);
	struct sim_timeout *other = sim_alloc(test, wheel, ops);

	arm_edge(test, other, FAR);
	sim_pass(wheel, 5);
	freed_by_callback(test, other, 1);
}

static void callback_frees_an_enqueued_one(struct kunit *test)
{
	check_enqueued(test, EXECUTOR_UNBOUND, &sim_ops);
	check_enqueued(test, EXECUTOR_ORDERED, &sim_ops);
	check_enqueued(test, EXECUTOR_ORDERED, &sim_release_ops);
}

static void check_cancelled(struct kunit *test, enum executor_kind kind)
{
	struct hwheel *wheel = executor_wheel(test, kind);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_release_ops);

	arm_edge(test, other, FAR);
	sim_pass(wheel, 5);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&other->timeout));
	freed_by_callback(test, other, 0);
}

static void callback_frees_a_cancelled_one(struct kunit *test)
{
	check_cancelled(test, EXECUTOR_UNBOUND);
	check_cancelled(test, EXECUTOR_ORDERED);
}

static void callback_frees_a_queued_one(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);

	expect_freed_by_arming_callback(test, wheel, &sim_release_ops);
}

static void sleep_and_cancel_other(struct sim_timeout *sim)
{
	test_sleep(sim_wheel_of(sim), SLOW * SIM_TICK);
	cancel_other(sim);
}

/* It waits for the very runner that its callback would run on: no deadlock. */
static void check_handed_over(struct kunit *test,
			      const struct hwheel_timeout_ops *ops)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct order order = {
		.other = sim_alloc(test, wheel, ops), .result = -1, .free = true,
	};

	sim->then = sleep_and_cancel_other;
	sim->data = &order;
	arm_edge(test, sim, 2);
	arm_edge(test, order.other, 4);
	sim_pass(wheel, 5);
	KUNIT_EXPECT_TRUE(test, hwheel_is_expired(&order.other->timeout));
	KUNIT_EXPECT_EQ(test, order.other->expired, 0);
	sim_pass(wheel, 3 + SLOW);
	KUNIT_EXPECT_EQ(test, order.result, 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).recalled, 1);
	sim_pass(wheel, FAR);
}

static void callback_frees_one_handed_over_behind_it(struct kunit *test)
{
	check_handed_over(test, &sim_ops);
	check_handed_over(test, &sim_release_ops);
}

/*
 * All runners are busy with callbacks that each wait for one that was handed over. The
 * first to be done may run one of the others'.
 */
static void callbacks_on_all_runners_cancel_those_behind(struct kunit *test)
{
	const unsigned int nr = HWHEEL_RUNNERS;
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2 * nr, &sim_ops);
	struct order order[HWHEEL_RUNNERS];
	unsigned int i, recalled = 0;

	for (i = 0; i < nr; i++) {
		order[i] = (struct order) { .other = &sim[nr + i], .result = -1 };
		sim[i].then = sleep_and_cancel_other;
		sim[i].data = &order[i];
		arm_edge(test, &sim[i], 2);
		arm_edge(test, &sim[nr + i], 4);
	}
	sim_pass(wheel, 1 + SLOW);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 2 * nr), nr);
	sim_pass(wheel, 3 + SLOW);
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, order[i].result + sim[nr + i].expired, 1);
		recalled += order[i].result;
	}
	KUNIT_EXPECT_GT(test, recalled, 0);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).recalled, recalled);
}

static void callback_waits_for_one_on_another_runner(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_ops);
	struct order order = { .other = other, .result = -1, .free = true };
	struct tally tally = { };

	other->then = sleep_10_ticks;
	other->data = &tally;
	sim->then = cancel_other;
	sim->data = &order;
	arm_edge(test, other, 2);
	arm_edge(test, sim, 4);
	sim_pass(wheel, 1 + SLOW);
	KUNIT_EXPECT_EQ(test, order.result, -1);
	KUNIT_EXPECT_EQ(test, tally.running, 1);
	sim_pass(wheel, 3 + SLOW);
	KUNIT_EXPECT_EQ(test, order.result, 0);
	KUNIT_EXPECT_EQ(test, tally.ended, 1);
}

/* In release ops, on the worker */

static void release_and_cancel_other(struct hwheel_timeout *timeout)
{
	sim_release(timeout);
	cancel_other(sim_of(timeout));
}

static const struct hwheel_timeout_ops cancelling_ops = {
	.expire = sim_expire,
	.release = release_and_cancel_other,
};

/* Cancels @other in the release op of another, which is called at once. */
static void freed_by_release(struct kunit *test, struct sim_timeout *other,
			     int result, u64 edge)
{
	struct hwheel *wheel = sim_wheel_of(other);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &cancelling_ops);
	struct order order = { .other = other, .result = -1, .free = true };

	sim->data = &order;
	arm_edge(test, sim, FAR);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
	KUNIT_EXPECT_EQ(test, order.result, result);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_GE(test, test_now(wheel), sim_edge_time(wheel, edge));
	KUNIT_EXPECT_LT(test, test_now(wheel), sim_edge_time(wheel, edge + 2));
	sim_pass(wheel, 2 * FAR);
}

static void release_op_frees_an_enqueued_one(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_release_ops);

	arm_edge(test, other, FAR);
	sim_pass(wheel, 5);
	freed_by_release(test, other, 1, 5);
}

static void release_op_frees_one_handed_over(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *slow = sim_timeouts(test, wheel, 1, &sim_ops);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_release_ops);
	struct tally tally = { };

	hand_over_behind(test, slow, other, &tally);
	freed_by_release(test, other, 1,
			 div64_u64(test_now(wheel) - wheel->epoch, SIM_TICK));
	KUNIT_EXPECT_EQ(test, tally.ended, 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).recalled, 1);
}

static void release_op_waits_for_one_that_runs(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_ops);
	struct tally tally = { };

	other->then = sleep_10_ticks;
	other->data = &tally;
	arm_edge(test, other, 2);
	sim_pass(wheel, 4);
	freed_by_release(test, other, 0, 2 + SLOW);
	KUNIT_EXPECT_EQ(test, tally.ended, 1);
}

/*
 * What the release op waits for itself waits for a timeout to be unlinked, which only
 * the worker can do, who is in that release op.
 */
static void release_op_waits_for_one_that_waits(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_ops);
	struct order order = {
		.other = sim_alloc(test, wheel, &sim_release_ops),
		.result = -1, .free = true,
	};

	other->then = sleep_and_cancel_other;
	other->data = &order;
	arm_edge(test, order.other, FAR);
	arm_edge(test, other, 2);
	sim_pass(wheel, 4);
	freed_by_release(test, other, 0, 2 + SLOW);
	KUNIT_EXPECT_EQ(test, order.result, 1);
}

/* While the wheel is stopped, and after that */

static void destroy_other_wheel(struct sim_timeout *sim)
{
	struct hwheel *other = sim->data;

	hwheel_destroy(other);
	sim->data = NULL;
}

/* That both have an executor, with runners, is no reason for lockdep to see a recursion. */
static void callback_may_destroy_another_wheel(struct kunit *test)
{
	struct workqueue_struct *queue = executor_queue(test, EXECUTOR_UNBOUND);
	struct hwheel_params params = { .tick_ns = SIM_TICK, .executor = queue };
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct hwheel *other = hwheel_create(&params);
	struct sim_timeout ran = { };

	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	hwheel_timeout_init(&ran.timeout, other, &sim_ops);
	arm_edge(test, &ran, 2);
	sim->then = destroy_other_wheel;
	sim->data = other;
	arm_edge(test, sim, 5);
	sim_pass(wheel, 6);
	KUNIT_EXPECT_EQ(test, ran.expired, 1);
	KUNIT_EXPECT_NULL(test, sim->data);
	test_expect_lockdep(test);
}

/* The callback waits for one that is enqueued, or queued; the stop waits for the callback. */
static void check_stop(struct kunit *test, u64 edge,
		       void (*then)(struct sim_timeout *sim), u64 recalled)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct order order = {
		.other = sim_alloc(test, wheel, &sim_release_ops),
		.result = -1, .free = true,
	};

	sim->then = then;
	sim->data = &order;
	arm_edge(test, sim, 2);
	arm_edge(test, order.other, edge);
	sim_pass(wheel, 5);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 0);
	KUNIT_EXPECT_EQ(test, order.result, 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).recalled, recalled);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_LT(test, test_now(wheel), sim_edge_time(wheel, 4 + SLOW));
}

static void refresh_sleep_and_cancel_other(struct sim_timeout *sim)
{
	struct order *order = sim->data;

	test_sleep(sim_wheel_of(sim), SLOW * SIM_TICK);
	hwheel_refresh(&order->other->timeout, 0);
	cancel_other(sim);
}

static void callback_frees_others_while_the_wheel_is_stopped(struct kunit *test)
{
	check_stop(test, FAR, sleep_and_cancel_other, 0);
	check_stop(test, FAR, refresh_sleep_and_cancel_other, 0);
	check_stop(test, 4, sleep_and_cancel_other, 1);
}

/* Another thread, while the stop waits: either it is taken back, or it runs. */
static void thread_frees_it_while_the_wheel_is_stopped(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_release_ops);
	struct canceller canceller[2];
	struct tally tally = { };
	s64 stopped;

	hand_over_behind(test, &sim[0], &sim[1], &tally);
	arm_edge(test, &sim[2], FAR);
	sim_settle(wheel);
	start_canceller(&canceller[0], &sim[1]);
	start_canceller(&canceller[1], &sim[2]);
	stopped = hwheel_stop(wheel, sim_handback, NULL);
	end_canceller(&canceller[0]);
	end_canceller(&canceller[1]);
	KUNIT_EXPECT_EQ(test, tally.ended, 1);
	KUNIT_EXPECT_EQ(test, canceller[0].result + sim[1].expired, 1);
	KUNIT_EXPECT_EQ(test, canceller[0].result, sim[1].released);
	KUNIT_EXPECT_EQ(test, canceller[1].result + stopped, 1);
	KUNIT_EXPECT_EQ(test, sim[2].released + sim[2].handed_back, 1);
}

static struct kunit_case executor_sync_cases[] = {
	KUNIT_CASE(handed_over_one_is_freed_at_once),
	KUNIT_CASE(some_of_a_backlog_are_taken_back),
	KUNIT_CASE(taken_back_one_can_be_armed_again),
	KUNIT_CASE(taken_back_while_the_worker_is_held),
	KUNIT_CASE(two_threads_take_it_back_once),
	KUNIT_CASE(another_callback_is_not_waited_for),
	KUNIT_CASE(one_armed_by_its_running_callback_is_cancelled),
	KUNIT_CASE(one_handed_over_again_is_taken_back),
	KUNIT_CASE(arms_are_batched_while_a_callback_is_waited_for),
	KUNIT_CASE(one_set_up_anew_expires_after_the_callback),
	KUNIT_CASE(callback_frees_an_enqueued_one),
	KUNIT_CASE(callback_frees_a_cancelled_one),
	KUNIT_CASE(callback_frees_a_queued_one),
	KUNIT_CASE(callback_frees_one_handed_over_behind_it),
	KUNIT_CASE(callbacks_on_all_runners_cancel_those_behind),
	KUNIT_CASE(callback_waits_for_one_on_another_runner),
	KUNIT_CASE(release_op_frees_an_enqueued_one),
	KUNIT_CASE(release_op_frees_one_handed_over),
	KUNIT_CASE(release_op_waits_for_one_that_runs),
	KUNIT_CASE(release_op_waits_for_one_that_waits),
	KUNIT_CASE(callback_may_destroy_another_wheel),
	KUNIT_CASE(callback_frees_others_while_the_wheel_is_stopped),
	KUNIT_CASE(thread_frees_it_while_the_wheel_is_stopped),
	{}
};

static struct kunit_suite executor_sync_suite = {
	.name		= "hwheel_executor_cancel_sync",
	.test_cases	= executor_sync_cases,
};

kunit_test_suite(executor_sync_suite);
