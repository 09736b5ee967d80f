// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wheels whose callbacks run on a workqueue: where and when they run, and what the wheel
 * promises about them all the same. How they are cancelled is in executor_cancel_sync_test.c.
 */
#include <linux/preempt.h>

#include "executor_sim.h"

static const enum executor_kind executor_kinds[] = {
	EXECUTOR_UNBOUND, EXECUTOR_PER_CPU, EXECUTOR_ORDERED,
};

KUNIT_ARRAY_PARAM(executor_kind, executor_kinds, executor_kind_describe);

/* Callbacks on the worker, too */
static const enum executor_kind callback_kinds[] = {
	EXECUTOR_NONE, EXECUTOR_UNBOUND, EXECUTOR_PER_CPU, EXECUTOR_ORDERED,
};

KUNIT_ARRAY_PARAM(callback_kind, callback_kinds, executor_kind_describe);

/* An ordered workqueue runs one at a time. */
static const enum executor_kind parallel_kinds[] = { EXECUTOR_UNBOUND, EXECUTOR_PER_CPU };

KUNIT_ARRAY_PARAM(parallel_kind, parallel_kinds, executor_kind_describe);

/* More than a worker expires in one pass, and than the runners call at a go */
#define BACKLOG	12345

static unsigned int count_fired(const struct sim_timeout *sim, unsigned int nr,
				u64 from_edge, u64 to_edge)
{
	const struct hwheel *wheel = sim_wheel_of(sim);
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++)
		n += sim[i].expired == 1 &&
		     sim[i].fired_ns >= sim_edge_time(wheel, from_edge) &&
		     sim[i].fired_ns < sim_edge_time(wheel, to_edge);
	return n;
}

/* Where and when */

static void check_context(struct sim_timeout *sim)
{
	bool *ok = sim->data;

	test_sleep(sim_wheel_of(sim), 2 * SIM_TICK);
	*ok = in_task() && !irqs_disabled() && !preempt_count() &&
	      current_work() && current != sim_wheel_of(sim)->worker &&
	      hwheel_is_expired(&sim->timeout);
}

/* On the queue that was asked for: so that one waits for it. */
static void callback_runs_on_the_workqueue(struct kunit *test)
{
	struct workqueue_struct *queue = executor_queue(test, kind_of(test));
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .executor = queue,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	bool ok = false;

	sim->then = check_context;
	sim->data = &ok;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	sim_expect_fired(test, sim, 2);
	KUNIT_EXPECT_FALSE(test, ok);
	flush_workqueue(queue);
	KUNIT_EXPECT_TRUE(test, ok);
	KUNIT_EXPECT_GE(test, test_now(wheel), sim_edge_time(wheel, 4));
}

/* Any delay, from anywhere in a tick, on a busy wheel */
static void callbacks_run_on_their_edges(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, kind_of(test));
	struct sim_timeout *sim = sim_timeouts(test, wheel, 500, &sim_ops);
	unsigned int i;

	for (i = 0; i < 500; i++) {
		u64 delay = i * 777777ULL, now = test_now(wheel);

		KUNIT_ASSERT_EQ(test, hwheel_arm(&sim[i].timeout, delay), 0);
		KUNIT_EXPECT_GE(test, hwheel_deadline(&sim[i].timeout), now + delay);
		KUNIT_EXPECT_LT(test, hwheel_deadline(&sim[i].timeout), now + delay + 1000);
		test_sleep(wheel, 3333333);
	}
	test_sleep(wheel, 500 * 777777ULL + SIM_TICK + SIM_SETTLE);
	for (i = 0; i < 500; i++)
		sim_expect_fired(test, &sim[i],
				 sim_edge_due(wheel, hwheel_deadline(&sim[i].timeout)));
}

static void backlog_at_one_edge_runs_once_each(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, kind_of(test));
	struct sim_timeout *sim = sim_timeouts(test, wheel, BACKLOG, &sim_ops);
	unsigned int i;

	for (i = 0; i < BACKLOG; i++)
		arm_edge(test, &sim[i], 3);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, BACKLOG), 0);
	sim_pass(wheel, 100);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, BACKLOG), BACKLOG);
	KUNIT_EXPECT_EQ(test, count_fired(sim, BACKLOG, 3, 4), BACKLOG);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* Slow ones */

static void slow_callback_delays_no_other(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, kind_of(test));
	struct sim_timeout *sim = sim_timeouts(test, wheel, 51, &sim_ops);
	struct tally tally = { };
	unsigned int i;

	sim[50].then = sleep_10_ticks;
	sim[50].data = &tally;
	arm_edge(test, &sim[50], 2);
	for (i = 0; i < 50; i++)
		arm_edge(test, &sim[i], 2 + i / 5);
	sim_pass(wheel, 11);
	KUNIT_EXPECT_EQ(test, tally.running, 1);
	for (i = 0; i < 50; i++)
		sim_expect_fired(test, &sim[i], 2 + i / 5);
	sim_pass(wheel, 13);
	KUNIT_EXPECT_EQ(test, tally.ended, 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).lag, 0);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).overlong, 0);
}

static void run_slow_ones(struct kunit *test, struct sim_timeout *sim,
			  unsigned int nr, struct tally *tally)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		sim[i].then = sleep_10_ticks;
		sim[i].data = tally;
		arm_edge(test, &sim[i], 2);
	}
	sim_pass(sim_wheel_of(sim), 2 + SLOW * (nr + 1));
	KUNIT_EXPECT_EQ(test, tally->ended, nr);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), nr);
}

/* The next ones, and the last, wait for one of them to be done. */
static void so_many_slow_ones_run_at_a_time(struct kunit *test)
{
	const unsigned int nr = 2 * HWHEEL_RUNNERS + 1;
	struct hwheel *wheel = executor_wheel(test, kind_of(test));
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);
	struct tally tally = { };

	run_slow_ones(test, sim, nr, &tally);
	KUNIT_EXPECT_EQ(test, tally.most, HWHEEL_RUNNERS);
	KUNIT_EXPECT_EQ(test, count_fired(sim, nr, 2, 3), HWHEEL_RUNNERS);
	KUNIT_EXPECT_EQ(test, count_fired(sim, nr, 2 + SLOW, 3 + SLOW),
			HWHEEL_RUNNERS);
	KUNIT_EXPECT_EQ(test, count_fired(sim, nr, 2 + 2 * SLOW, 3 + 2 * SLOW), 1);
}

static void ordered_workqueue_runs_one_after_the_other(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 40, &sim_ops);
	struct tally tally = { };
	unsigned int i;

	run_slow_ones(test, sim, 40, &tally);
	KUNIT_EXPECT_EQ(test, tally.most, 1);
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ(test, count_fired(sim, 40, 2 + SLOW * i,
						  3 + SLOW * i), 1);
}

/* Arming from the callback */

static void rearm_at_once(struct sim_timeout *sim)
{
	hwheel_arm(&sim->timeout, 0);
}

static void rearm_in_the_past(struct sim_timeout *sim)
{
	hwheel_arm_at(&sim->timeout, sim_wheel_of(sim)->epoch);
}

static void rearm_3_edges_on(struct sim_timeout *sim)
{
	hwheel_arm_at(&sim->timeout, hwheel_deadline(&sim->timeout) +
				     3 * SIM_TICK);
}

static void callback_may_arm_again(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, kind_of(test));
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	unsigned int i;
	u64 edge;

	sim[0].then = rearm_at_once;
	sim[1].then = rearm_in_the_past;
	sim[2].then = rearm_3_edges_on;
	for (i = 0; i < 3; i++)
		arm_edge(test, &sim[i], 5);
	for (edge = 5; edge < 105; edge++) {
		sim_pass(wheel, edge);
		for (i = 0; i < 2; i++) {
			KUNIT_EXPECT_EQ(test, sim[i].expired, edge - 4);
			KUNIT_EXPECT_EQ(test, sim[i].edge, edge);
		}
		KUNIT_EXPECT_EQ(test, sim[2].expired, (edge - 2) / 3);
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 3);
	}
	sim[1].then = NULL;
	sim_pass(wheel, 107);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 101);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 2);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 2);
	KUNIT_EXPECT_EQ(test, sim_count_handed_back(sim, 3), 2);
}

static void rearm_then_sleep(struct sim_timeout *sim)
{
	hwheel_arm(&sim->timeout, 0);
	sleep_10_ticks(sim);
}

/* It expires again while its callback runs, and another one meanwhile. */
static void callbacks_of_one_timeout_never_overlap(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, kind_of(test));
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct tally tally = { };
	unsigned int i;

	sim[0].then = rearm_then_sleep;
	sim[0].data = &tally;
	arm_edge(test, &sim[0], 2);
	arm_edge(test, &sim[1], 5);
	sim_pass(wheel, 5);
	KUNIT_EXPECT_EQ(test, sim[0].expired, 1);
	KUNIT_EXPECT_TRUE(test, hwheel_is_expired(&sim[0].timeout));
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	if (kind_of(test) != EXECUTOR_ORDERED)
		sim_expect_fired(test, &sim[1], 5);
	for (i = 1; i < 10; i++) {
		test_sleep_until(wheel, sim_edge_time(wheel, 3 + SLOW * i));
		KUNIT_EXPECT_EQ(test, sim[0].expired, i + 1);
	}
	sim[0].then = NULL;
	test_sleep_until(wheel, sim_edge_time(wheel, 3 + SLOW * 10));
	KUNIT_EXPECT_EQ(test, sim[0].expired, 11);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 1);
	KUNIT_EXPECT_EQ(test, tally.most, 1);
}

/* Handed over, and not run yet */

static void expect_handed_over(struct kunit *test, struct sim_timeout *sim)
{
	struct hwheel_timeout *timeout = &sim->timeout;
	u64 deadline = hwheel_deadline(timeout);

	KUNIT_EXPECT_EQ(test, hwheel_arm(timeout, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(timeout, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_refresh(timeout, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(timeout, U64_MAX), -ENOENT);
	KUNIT_EXPECT_FALSE(test, hwheel_cancel(timeout));
	KUNIT_EXPECT_TRUE(test, hwheel_is_expired(timeout));
	KUNIT_EXPECT_FALSE(test, hwheel_is_pending(timeout));
	KUNIT_EXPECT_FALSE(test, hwheel_is_cancelled(timeout));
	KUNIT_EXPECT_EQ(test, hwheel_deadline(timeout), deadline);
	KUNIT_EXPECT_EQ(test, hwheel_pending(hwheel_of(timeout)), 0);
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
}

static void check_handed_over(struct kunit *test,
			      const struct hwheel_timeout_ops *ops)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, ops);
	struct tally tally = { };
	u64 edge;

	hand_over_behind(test, &sim[0], &sim[1], &tally);
	expect_handed_over(test, &sim[1]);
	sim_settle(wheel);
	expect_handed_over(test, &sim[1]);
	test_sleep(wheel, SLOW * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 1);
	KUNIT_EXPECT_EQ(test, tally.ended, 1);

	edge = sim_edge_due(wheel, test_now(wheel)) + 1;
	arm_edge(test, &sim[1], edge);
	sim_pass(wheel, edge + 10);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 2);
	KUNIT_EXPECT_EQ(test, sim[1].edge, edge);
	KUNIT_EXPECT_EQ(test, sim[1].released, 0);
}

static void handed_over_is_expired_and_not_armable(struct kunit *test)
{
	check_handed_over(test, &sim_ops);
	check_handed_over(test, &sim_release_ops);
}

/* It counts no more, whether it ran or not, and only once if it is taken back. */
static void handed_over_leaves_room_under_the_limit(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = 1,
		.executor = executor_queue(test, EXECUTOR_ORDERED),
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 4, &sim_ops);
	struct tally tally = { };

	hand_over_behind(test, &sim[0], &sim[1], &tally);
	arm_edge(test, &sim[2], FAR);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[3].timeout, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[1].timeout), 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 1);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[3].timeout, 0), -EDQUOT);
	test_sleep(wheel, 2 * SLOW * SIM_TICK);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, 0), -EDQUOT);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[2].timeout));
	arm_edge(test, &sim[3], FAR);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, 0), -EDQUOT);
}

/* Release */

static void rearm_far_then_sleep(struct sim_timeout *sim)
{
	hwheel_arm(&sim->timeout, FAR * SIM_TICK);
	sleep_10_ticks(sim);
}

static void rearm_cancel_then_sleep(struct sim_timeout *sim)
{
	hwheel_arm(&sim->timeout, FAR * SIM_TICK);
	hwheel_cancel(&sim->timeout);
	sleep_10_ticks(sim);
}

static void expect_owed(struct kunit *test, struct sim_timeout *sim)
{
	KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&sim->timeout));
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, 0), -EBUSY);
	KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim->timeout));
	KUNIT_EXPECT_EQ(test, hwheel_pending(sim_wheel_of(sim)), 0);
	KUNIT_EXPECT_EQ(test, sim->released, 0);
}

static void expect_released_once(struct kunit *test, struct sim_timeout *sim,
				 u64 edge)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	u64 drained;

	sim_pass(wheel, edge + 2);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_GE(test, sim->released_ns, sim_edge_time(wheel, edge));
	KUNIT_EXPECT_LE(test, sim->released_ns,
			sim_edge_time(wheel, edge + 1) + SIM_SETTLE);

	/* and then all is as ever: it is submitted once for each arm */
	sim->then = NULL;
	drained = stats_of(wheel).drained;
	arm_edge(test, sim, edge + 5);
	sim_pass(wheel, edge + 5);
	KUNIT_EXPECT_EQ(test, sim->expired, 2);
	sim_pass(wheel, edge + 7);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).drained, drained + 1);
	arm_edge(test, sim, edge + FAR);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	sim_pass(wheel, edge + 50);
	KUNIT_EXPECT_EQ(test, sim->released, 2);
	KUNIT_EXPECT_EQ(test, sim->expired, 2);
}

static void release_comes_after_the_callback_of_an_earlier_arm(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);
	struct tally tally = { };

	sim->then = rearm_far_then_sleep;
	sim->data = &tally;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 5);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	expect_owed(test, sim);
	sim_pass(wheel, 1 + SLOW);
	expect_owed(test, sim);
	expect_released_once(test, sim, 2 + SLOW);
}

static void release_comes_after_the_callback_that_cancels(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);
	struct tally tally = { };

	sim->then = rearm_cancel_then_sleep;
	sim->data = &tally;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	expect_owed(test, sim);
	sim_pass(wheel, 1 + SLOW);
	expect_owed(test, sim);
	expect_released_once(test, sim, 2 + SLOW);
}

/* The release op is not the callback's business: it need not wait for another's. */
static void release_does_not_wait_for_other_callbacks(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_release_ops);
	struct tally tally = { };

	sim[0].then = sleep_10_ticks;
	sim[0].data = &tally;
	arm_edge(test, &sim[0], 2);
	arm_edge(test, &sim[1], FAR);
	sim_pass(wheel, 3);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[1].timeout));
	sim_pass(wheel, 5);
	KUNIT_EXPECT_EQ(test, sim[1].released, 1);
	KUNIT_EXPECT_EQ(test, tally.running, 1);
	sim_pass(wheel, 5 + SLOW);
}

/* Objects that free themselves */

static void free_and_count(struct hwheel_timeout *timeout)
{
	struct sim_timeout *sim = sim_of(timeout);
	unsigned int *freed = sim->data;

	++*freed;
	memset(sim, 0x6b, sizeof(*sim));
	kfree(sim);
}

static const struct hwheel_timeout_ops freed_by_callback_ops = {
	.expire = free_and_count,
};

static void callback_may_free_its_object(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, kind_of(test));
	unsigned int freed = 0, i;

	for (i = 0; i < 1000; i++) {
		struct sim_timeout *sim =
			sim_alloc(test, wheel, &freed_by_callback_ops);

		sim->data = &freed;
		arm_edge(test, sim, 1 + i % 10);
	}
	sim_pass(wheel, 20);
	KUNIT_EXPECT_EQ(test, freed, 1000);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static const struct hwheel_timeout_ops freed_by_release_ops = {
	.expire = sim_expire,
	.release = free_and_count,
};

static void cancel_then_look(struct sim_timeout *sim)
{
	unsigned int *freed = sim->data;

	hwheel_arm(&sim->timeout, FAR * SIM_TICK);
	hwheel_cancel(&sim->timeout);
	test_sleep(sim_wheel_of(sim), SLOW * SIM_TICK);
	*freed += sim->data == freed ? 100 : 0;
}

static void release_op_may_free_its_object(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_alloc(test, wheel, &freed_by_release_ops);
	unsigned int freed = 0;

	sim->then = cancel_then_look;
	sim->data = &freed;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 1 + SLOW);
	KUNIT_EXPECT_EQ(test, freed, 0);
	sim_pass(wheel, 5 + SLOW);
	KUNIT_EXPECT_EQ(test, freed, 101);
}

/* Stop */

/* Slow ones handed over at once, with some pending */
static void stop_with_a_backlog(struct kunit *test, enum executor_kind kind,
				unsigned int nr, u64 done)
{
	struct hwheel *wheel = executor_wheel(test, kind);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr + 20,
					       &sim_release_ops);
	struct tally tally = { };
	unsigned int i;

	for (i = 0; i < nr + 20; i++) {
		sim[i].then = sleep_10_ticks;
		sim[i].data = &tally;
		arm_edge(test, &sim[i], i < nr ? 2 : FAR);
	}
	sim_pass(wheel, 2);
	KUNIT_EXPECT_LT(test, sim_count_expired(sim, nr), nr);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 20);
	KUNIT_EXPECT_EQ(test, tally.ended, nr);
	KUNIT_EXPECT_EQ(test, tally.running, 0);
	KUNIT_EXPECT_GE(test, test_now(wheel), sim_edge_time(wheel, done));
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	for (i = 0; i < nr + 20; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, i < nr);
		KUNIT_EXPECT_EQ(test, sim[i].handed_back, i >= nr);
	}
	test_sleep(wheel, 2 * FAR * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr + 20), nr);
}

static void stop_runs_what_was_handed_over(struct kunit *test)
{
	stop_with_a_backlog(test, EXECUTOR_UNBOUND, HWHEEL_RUNNERS + 8,
			    2 + 2 * SLOW);
	stop_with_a_backlog(test, EXECUTOR_PER_CPU, HWHEEL_RUNNERS + 8,
			    2 + 2 * SLOW);
	stop_with_a_backlog(test, EXECUTOR_ORDERED, 5, 2 + 5 * SLOW);
}

static void destroy_runs_what_was_handed_over(struct kunit *test)
{
	struct hwheel_params params = {
		.tick_ns = SIM_TICK,
		.executor = executor_queue(test, EXECUTOR_ORDERED),
	};
	struct sim_timeout *sim[3];
	struct tally tally = { };
	struct hwheel *wheel;
	unsigned int i;

	sim_needs_time(test);
	wheel = hwheel_create(&params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	for (i = 0; i < 3; i++) {
		sim[i] = sim_alloc(test, wheel, &sim_ops);
		sim[i]->then = sleep_10_ticks;
		sim[i]->data = &tally;
		arm_edge(test, sim[i], 2);
	}
	sim_pass(wheel, 2);
	hwheel_destroy(wheel);
	KUNIT_EXPECT_EQ(test, tally.ended, 3);
	for (i = 0; i < 3; i++)
		kfree(sim[i]);
}

static void stop_work(struct work_struct *work)
{
	struct canceller *stopper = container_of(work, struct canceller, work);
	struct hwheel *wheel = sim_wheel_of(stopper->sim);

	stopper->result = hwheel_stop(wheel, sim_handback, NULL);
	stopper->returned_ns = test_now(wheel);
}

static void second_stop_waits_for_the_callbacks(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_ORDERED);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	struct canceller stopper[2];
	struct tally tally = { };
	unsigned int i;

	hand_over_behind(test, &sim[0], &sim[1], &tally);
	sim[1].then = sleep_10_ticks;
	sim[1].data = &tally;
	arm_edge(test, &sim[2], FAR);
	for (i = 0; i < 2; i++)
		start_work(&stopper[i], sim, stop_work);
	for (i = 0; i < 2; i++)
		end_canceller(&stopper[i]);
	KUNIT_EXPECT_EQ(test, tally.ended, 2);
	KUNIT_EXPECT_EQ(test, stopper[0].result + stopper[1].result, 1);
	KUNIT_EXPECT_EQ(test, sim[2].handed_back, 1);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_GE(test, stopper[i].returned_ns,
				sim[1].fired_ns + SLOW * SIM_TICK);
}

static void sleep_then_rearm(struct sim_timeout *sim)
{
	test_sleep(sim_wheel_of(sim), SLOW * SIM_TICK);
	*(int *)sim->data = hwheel_arm(&sim->timeout, 0);
}

static void stopping_wheel_refuses_arms_of_callbacks(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	int armed = 1;

	sim->then = sleep_then_rearm;
	sim->data = &armed;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 0);
	KUNIT_EXPECT_EQ(test, armed, -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, sim->handed_back, 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* Armed by its callback, which still runs: it is handed back when that is done. */
static void stop_hands_back_what_a_callback_armed(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_release_ops);
	struct tally tally = { };

	sim->then = rearm_far_then_sleep;
	sim->data = &tally;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 4);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
	KUNIT_EXPECT_EQ(test, tally.ended, 1);
	KUNIT_EXPECT_EQ(test, sim->handed_back, 1);
	KUNIT_EXPECT_EQ(test, sim->released, 0);
}

static void stop_makes_the_release_that_is_owed(struct kunit *test)
{
	struct hwheel *wheel = executor_wheel(test, EXECUTOR_UNBOUND);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_release_ops);
	struct tally tally = { };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sim[i].then = rearm_far_then_sleep;
		sim[i].data = &tally;
		arm_edge(test, &sim[i], 2);
	}
	sim_pass(wheel, 4);
	/* the worker knows of one of them, and not of the other */
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
	sim_settle(wheel);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[1].timeout));
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 0);
	KUNIT_EXPECT_EQ(test, tally.ended, 2);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
		KUNIT_EXPECT_GE(test, sim[i].released_ns,
				sim_edge_time(wheel, 2 + SLOW));
	}
}

static struct kunit_case executor_cases[] = {
	KUNIT_CASE_PARAM(callback_runs_on_the_workqueue, executor_kind_gen_params),
	KUNIT_CASE_PARAM(callbacks_run_on_their_edges, callback_kind_gen_params),
	KUNIT_CASE_PARAM(backlog_at_one_edge_runs_once_each, executor_kind_gen_params),
	KUNIT_CASE_PARAM(slow_callback_delays_no_other, parallel_kind_gen_params),
	KUNIT_CASE_PARAM(so_many_slow_ones_run_at_a_time, parallel_kind_gen_params),
	KUNIT_CASE(ordered_workqueue_runs_one_after_the_other),
	KUNIT_CASE_PARAM(callback_may_arm_again, callback_kind_gen_params),
	KUNIT_CASE_PARAM(callbacks_of_one_timeout_never_overlap, executor_kind_gen_params),
	KUNIT_CASE(handed_over_is_expired_and_not_armable),
	KUNIT_CASE(handed_over_leaves_room_under_the_limit),
	KUNIT_CASE(release_comes_after_the_callback_of_an_earlier_arm),
	KUNIT_CASE(release_comes_after_the_callback_that_cancels),
	KUNIT_CASE(release_does_not_wait_for_other_callbacks),
	KUNIT_CASE_PARAM(callback_may_free_its_object, callback_kind_gen_params),
	KUNIT_CASE(release_op_may_free_its_object),
	KUNIT_CASE(stop_runs_what_was_handed_over),
	KUNIT_CASE(destroy_runs_what_was_handed_over),
	KUNIT_CASE(second_stop_waits_for_the_callbacks),
	KUNIT_CASE(stopping_wheel_refuses_arms_of_callbacks),
	KUNIT_CASE(stop_hands_back_what_a_callback_armed),
	KUNIT_CASE(stop_makes_the_release_that_is_owed),
	{}
};

static struct kunit_suite executor_suite = {
	.name		= "hwheel_executor",
	.test_cases	= executor_cases,
};

kunit_test_suite(executor_suite);
