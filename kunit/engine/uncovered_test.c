// SPDX-License-Identifier: GPL-2.0-only
/*
 * What Netty's HashedWheelTimerTest does not cover, and what its users stumbled
 * over, on real wheels in simulated time.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/workqueue.h>

#include "../sim.h"

static void arm_at(struct kunit *test, struct sim_timeout *sim, u64 edge)
{
	u64 deadline = sim_edge_time(sim_wheel_of(sim), edge);

	KUNIT_ASSERT_EQ(test, hwheel_arm_at(&sim->timeout, deadline), 0);
}

/* Delays and deadlines that are over already */

static void uncovered_delay_0_fires_at_the_next_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);

	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), 0);
	sim_pass(wheel, 1);
	sim_expect_fired(test, &sim[0], 1);

	/* again when the wheel was quiet for long, in the middle of a tick */
	test_sleep_until(wheel, sim_edge_time(wheel, 1000) + SIM_TICK / 2);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, 0), 0);
	test_sleep(wheel, SIM_TICK / 4);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 0);
	sim_pass(wheel, 1001);
	sim_expect_fired(test, &sim[1], 1001);
}

static void uncovered_past_deadline_fires_once_by_the_next_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 4, &sim_ops);
	u64 past[4] = { 0, 1, wheel->epoch, sim_edge_time(wheel, 99) };
	unsigned int i;
	u64 armed;

	test_sleep_until(wheel, sim_edge_time(wheel, 100) + SIM_TICK / 2);
	armed = test_now(wheel);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim[i].timeout, past[i]), 0);
	sim_pass(wheel, 101);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, 1);
		KUNIT_EXPECT_GE(test, sim[i].fired_ns, armed);
	}
	test_sleep(wheel, 20 * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 4), 4);
}

/* Turns: where akka #1016 and others were a turn early or late */

static void uncovered_deadline_k_revolutions_away(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 6 * 3, &sim_ops);
	unsigned int k, i;

	sim_pass(wheel, 5);
	for (k = 0; k < 6; k++)
		for (i = 0; i < 3; i++)
			arm_at(test, &sim[k * 3 + i],
			       5 + (k + 1) * SIM_SLOTS + i - 1);
	for (k = 0; k < 6; k++) {
		for (i = 0; i < 3; i++) {
			u64 edge = 5 + (k + 1) * SIM_SLOTS + i - 1;

			sim_pass(wheel, edge - 1);
			KUNIT_EXPECT_EQ(test, sim[k * 3 + i].expired, 0);
			sim_pass(wheel, edge);
			sim_expect_fired(test, &sim[k * 3 + i], edge);
		}
	}
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* Relative to an edge, when the wheel has nothing else to wake up for */
static void uncovered_delay_of_k_revolutions(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 4, &sim_ops);
	unsigned int k;

	for (k = 0; k < 4; k++) {
		u64 delay = (k + 1) * SIM_SLOTS * SIM_TICK;

		sim_settle(wheel);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[k].timeout, delay), 0);
		test_sleep(wheel, delay + SIM_TICK + SIM_SETTLE);
		sim_expect_fired(test, &sim[k],
				 sim_edge_due(wheel, hwheel_deadline(&sim[k].timeout)));
	}
}

/* Cancel against expire */

struct backlog {
	struct sim_timeout	*sim;
	unsigned int		nr;
	unsigned int		cancelled;
};

static void cancel_all_others(struct sim_timeout *sim)
{
	struct backlog *backlog = sim->data;
	unsigned int i;

	for (i = 0; i < backlog->nr; i++)
		backlog->cancelled += hwheel_cancel(&backlog->sim[i].timeout);
}

static void arm_backlog(struct kunit *test, struct backlog *backlog, u64 edge)
{
	unsigned int i;

	for (i = 0; i < backlog->nr; i++) {
		backlog->sim[i].then = cancel_all_others;
		backlog->sim[i].data = backlog;
		arm_at(test, &backlog->sim[i], edge);
	}
}

/*
 * All are due at one edge, and the first to fire cancels the others, which the
 * worker has taken from their slot by then: one outcome for each.
 */
static void uncovered_cancel_against_expire_at_one_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct backlog backlog = { .nr = 100 };
	unsigned int i;

	backlog.sim = sim_timeouts(test, wheel, 100, &sim_release_ops);
	arm_backlog(test, &backlog, 3);
	sim_pass(wheel, 3);
	KUNIT_EXPECT_EQ(test, sim_count_expired(backlog.sim, 100), 1);
	KUNIT_EXPECT_EQ(test, backlog.cancelled, 99);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);

	test_sleep(wheel, 3 * SIM_SLOTS * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim_count_expired(backlog.sim, 100), 1);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, backlog.sim[i].expired +
				      backlog.sim[i].released, 1);
}

/* Whichever wakes first on the edge, the canceller or the worker */
static void uncovered_cancel_against_expire_from_another_thread(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 201, &sim_ops);
	unsigned int i, cancelled = 0;

	for (i = 0; i < 201; i++) {
		u64 edge = 10 + 2 * i;
		bool prevented;

		arm_at(test, &sim[i], edge);
		/* from 10 us before the edge to 10 us after it */
		test_sleep_until(wheel, sim_edge_time(wheel, edge) - 10000 + 100 * i);
		prevented = hwheel_cancel(&sim[i].timeout);
		cancelled += prevented;
		sim_pass(wheel, edge + 1);
		KUNIT_EXPECT_EQ(test, sim[i].expired + prevented, 1);
	}
	KUNIT_EXPECT_GE(test, cancelled, 100);
	KUNIT_EXPECT_LT(test, cancelled, 201);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static void uncovered_cancel_while_still_queued(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 100, &sim_release_ops);
	unsigned int i;

	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_EQ(test, hwheel_arm(&sim[i].timeout, i * SIM_TICK), 0);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim[i].timeout));
	}
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	test_sleep(wheel, 200 * SIM_TICK);
	for (i = 0; i < 100; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, 0);
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
	}
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 0);
}

/* Stop */

struct stopper {
	struct work_struct	work;
	struct hwheel		*wheel;
	s64			handed_back;
	u64			returned_ns;
};

static void stop_work(struct work_struct *work)
{
	struct stopper *stopper = container_of(work, struct stopper, work);

	stopper->handed_back = hwheel_stop(stopper->wheel, sim_handback, NULL);
	stopper->returned_ns = test_now(stopper->wheel);
}

static void start_stopper(struct stopper *stopper, struct hwheel *wheel)
{
	stopper->wheel = wheel;
	stopper->handed_back = -1;
	INIT_WORK_ONSTACK(&stopper->work, stop_work);
	queue_work(system_unbound_wq, &stopper->work);
}

static void end_stopper(struct stopper *stopper)
{
	flush_work(&stopper->work);
	destroy_work_on_stack(&stopper->work);
}

/* Takes a second for each timeout. */
static void slow_handback(struct hwheel_timeout *timeout, void *data)
{
	msleep(1000);
	sim_handback(timeout, data);
}

static void uncovered_second_stop_waits_and_gets_0(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	struct stopper second;
	u64 first_returned_ns;
	unsigned int i;

	for (i = 0; i < 3; i++)
		arm_at(test, &sim[i], 1000 + i);
	sim_settle(wheel);
	start_stopper(&second, wheel);
	/* the second queues up for the lock while the first hands back */
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, slow_handback, NULL), 3);
	first_returned_ns = test_now(wheel);
	KUNIT_EXPECT_EQ(test, second.handed_back, -1);
	end_stopper(&second);

	KUNIT_EXPECT_EQ(test, second.handed_back, 0);
	KUNIT_EXPECT_GE(test, second.returned_ns, first_returned_ns);
	KUNIT_EXPECT_EQ(test, sim_count_handed_back(sim, 3), 3);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 0);
}

static void stop_from_callback(struct sim_timeout *sim)
{
	*(s64 *)sim->data = hwheel_stop(sim_wheel_of(sim), sim_handback, NULL);
}

static void uncovered_stop_in_a_callback_is_refused(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	s64 result = 0;

	sim[0].then = stop_from_callback;
	sim[0].data = &result;
	arm_at(test, &sim[0], 3);
	arm_at(test, &sim[1], 5);
	sim_pass(wheel, 3);
	KUNIT_EXPECT_EQ(test, result, -EDEADLK);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 1);

	/* nothing changed */
	sim_pass(wheel, 5);
	sim_expect_fired(test, &sim[1], 5);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, SIM_TICK), 0);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
}

static void sleep_3_ticks(struct sim_timeout *sim)
{
	test_sleep(sim_wheel_of(sim), 3 * SIM_TICK);
	sim->data = sim;
}

static void uncovered_stop_waits_for_a_callback(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);

	sim[0].then = sleep_3_ticks;
	arm_at(test, &sim[0], 2);
	arm_at(test, &sim[1], 3);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, sim[0].expired, 1);
	KUNIT_EXPECT_NULL(test, sim[0].data);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
	KUNIT_EXPECT_PTR_EQ(test, sim[0].data, (void *)&sim[0]);
	KUNIT_EXPECT_EQ(test, sim[1].handed_back, 1);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 0);
}

/*
 * A thread that arms all the time, and cancels some of it, while the wheel is
 * stopped.
 */
struct submitter {
	struct work_struct	work;
	struct sim_timeout	*sim;
	unsigned int		nr;
	u64			armed;
	u64			cancelled;
	int			error;
};

/* Some are still queued then, some enqueued, some expired. */
static void submit_one(struct submitter *submitter, unsigned int i)
{
	struct sim_timeout *sim = submitter->sim;
	u64 delay = i % 7 * SIM_TICK;
	int err = hwheel_arm(&sim[i % submitter->nr].timeout, delay);

	if (err && err != -EBUSY)
		submitter->error = err;
	submitter->armed += !err;
	if (i % 3 == 0)
		submitter->cancelled +=
			hwheel_cancel(&sim[i * 5 % submitter->nr].timeout);
}

static void submit_work(struct work_struct *work)
{
	struct submitter *submitter = container_of(work, struct submitter, work);
	unsigned int i;

	for (i = 0; !submitter->error && i < 500000; i++) {
		submit_one(submitter, i);
		if (i % 8 == 0)
			test_sleep(sim_wheel_of(submitter->sim), 7 * NSEC_PER_USEC);
	}
}

static void stop_against_submit(struct kunit *test, u64 run_ns)
{
	struct hwheel *wheel = sim_wheel(test);
	struct submitter submitter = { .nr = 500 };
	u64 expired;
	s64 stopped;

	submitter.sim = sim_timeouts(test, wheel, 500, &sim_ops);
	INIT_WORK_ONSTACK(&submitter.work, submit_work);
	queue_work(system_unbound_wq, &submitter.work);
	test_sleep(wheel, run_ns);
	stopped = hwheel_stop(wheel, sim_handback, NULL);
	flush_work(&submitter.work);
	destroy_work_on_stack(&submitter.work);

	expired = sim_count_expired(submitter.sim, 500);
	KUNIT_EXPECT_EQ(test, submitter.error, -ESHUTDOWN);
	KUNIT_EXPECT_GT(test, stopped, 0);
	KUNIT_EXPECT_EQ(test, sim_count_handed_back(submitter.sim, 500), stopped);
	KUNIT_EXPECT_EQ(test, submitter.armed,
			expired + submitter.cancelled + stopped);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static void uncovered_stop_against_submit_loses_none(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 20; i++)
		stop_against_submit(test, i * SIM_TICK / 3 + 100 * NSEC_PER_USEC);
}

/* Those who are handed back one after the other cancel their neighbours. */
static void cancelling_handback(struct hwheel_timeout *timeout, void *data)
{
	struct backlog *backlog = data;
	unsigned int i = sim_of(timeout) - backlog->sim;

	sim_handback(timeout, NULL);
	backlog->cancelled += hwheel_cancel(&backlog->sim[(i + 1) % backlog->nr].timeout);
	backlog->cancelled += hwheel_cancel(timeout);
}

static void uncovered_stop_against_cancel_has_one_outcome(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct backlog backlog = { .nr = 100 };
	unsigned int i;
	s64 stopped;

	backlog.sim = sim_timeouts(test, wheel, 100, &sim_release_ops);
	for (i = 0; i < 100; i++)
		arm_at(test, &backlog.sim[i], 100 + i / 4);
	sim_settle(wheel);
	stopped = hwheel_stop(wheel, cancelling_handback, &backlog);
	KUNIT_EXPECT_GT(test, backlog.cancelled, 0);
	KUNIT_EXPECT_EQ(test, stopped + backlog.cancelled, 100);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, backlog.sim[i].handed_back +
				      backlog.sim[i].released, 1);
}

static void uncovered_stop_before_any_arm(struct kunit *test)
{
	struct hwheel *asleep = sim_wheel(test);
	struct hwheel *never_ran;

	sim_settle(asleep);
	KUNIT_EXPECT_EQ(test, hwheel_stop(asleep, sim_handback, NULL), 0);
	never_ran = sim_wheel(test);
	KUNIT_EXPECT_EQ(test, hwheel_stop(never_ran, sim_handback, NULL), 0);
}

/* The worker had no chance to run before the stop. */
static void uncovered_stop_right_after_arm(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 10, &sim_ops);
	unsigned int i;

	for (i = 0; i < 10; i++)
		arm_at(test, &sim[i], i);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 10);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].handed_back, 1);
		KUNIT_EXPECT_EQ(test, sim[i].expired, 0);
	}
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* Load */

/* Several times what the worker drains or expires in one pass */
static void uncovered_250000_submissions_in_one_tick(struct kunit *test)
{
	const unsigned int nr = 250000;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);
	unsigned int i;

	for (i = 0; i < nr; i++)
		arm_at(test, &sim[i], 1 + i % 2);
	KUNIT_EXPECT_LT(test, test_now(wheel), sim_edge_time(wheel, 1));
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), nr);
	test_sleep(wheel, SIM_TICK / 2);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), 0);
	sim_pass(wheel, 1);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), nr / 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, nr), nr);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	for (i = 0; i < nr; i++)
		if (sim[i].expired != 1 || sim[i].edge != 1 + i % 2)
			break;
	KUNIT_EXPECT_EQ(test, i, nr);
}

/* Stopped between two passes of a drain, with the rest of a list in hand */
static void uncovered_stop_in_the_middle_of_250000(struct kunit *test)
{
	const unsigned int nr = 250000;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_release_ops);
	unsigned int i, wrong = 0;

	sim_settle(wheel);
	for (i = 0; i < nr; i++)
		arm_at(test, &sim[i], 100 + i % 9);
	for (i = 0; i < nr; i += 10)
		KUNIT_ASSERT_TRUE(test, hwheel_cancel(&sim[i].timeout));
	/* the worker gives way to us after the pass in which this is over */
	sched_set_fifo_low(current);
	test_sleep(wheel, 300);
	KUNIT_EXPECT_NOT_NULL(test, wheel->taken);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), nr / 10 * 9);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	for (i = 0; i < nr; i++)
		wrong += sim[i].released != !(i % 10) ||
			 sim[i].handed_back != !!(i % 10);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* Those that are due in the time that a callback sleeps, and after it */
static void uncovered_catch_up_after_a_long_callback(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 8, &sim_ops);
	unsigned int i;

	sim[0].then = sleep_3_ticks;
	for (i = 0; i < 8; i++)
		arm_at(test, &sim[i], 4 + i);
	test_sleep_until(wheel, sim_edge_time(wheel, 7) - SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 8), 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 7);

	/* 5 and 6 were missed, in one pass, in order; no drift after it */
	sim_pass(wheel, 7);
	sim_expect_fired(test, &sim[0], 4);
	for (i = 1; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, 1);
		KUNIT_EXPECT_EQ(test, sim[i].edge, 4 + i);
		KUNIT_EXPECT_GE(test, sim[i].fired_ns, sim_edge_time(wheel, 7));
		KUNIT_EXPECT_LT(test, sim[i].fired_ns,
				sim_edge_time(wheel, 7) + SIM_SETTLE);
	}
	sim_pass(wheel, 20);
	for (i = 4; i < 8; i++)
		sim_expect_fired(test, &sim[i], 4 + i);
}

static void note_order(struct sim_timeout *sim)
{
	u64 *last = sim->data;

	if (*last > sim->edge)
		*last = U64_MAX;
	else
		*last = sim->edge;
}

/* More than a turn is missed, so slots come up that hold several of its edges. */
static void uncovered_catch_up_of_several_revolutions_is_in_order(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 101, &sim_ops);
	unsigned int i;
	u64 last = 0;

	sim[0].then = sleep_3_ticks;
	for (i = 0; i < 101; i++) {
		sim[i].data = &last;
		if (i)
			sim[i].then = note_order;
		arm_at(test, &sim[i], i ? 4 + i : 3);
	}
	/* hold the worker for longer than the callback alone would */
	for (i = 1; i < 101; i++)
		if (i % 10 == 0)
			sim[i].then = sleep_3_ticks;
	sim_pass(wheel, 110);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 101), 101);
	for (i = 1; i < 101; i++) {
		KUNIT_EXPECT_EQ(test, sim[i].expired, 1);
		KUNIT_EXPECT_EQ(test, sim[i].edge, 4 + i);
		KUNIT_EXPECT_GE(test, sim[i].fired_ns, sim_edge_time(wheel, 4 + i));
	}
}

/* The pending count */

static void pending_after_stop(struct kunit *test, u64 max_pending)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = max_pending,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 20, &sim_ops);
	unsigned int i;

	for (i = 0; i < 20; i++)
		arm_at(test, &sim[i], 1 + i);
	sim_pass(wheel, 5);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[7].timeout));
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 15);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 15);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static void uncovered_pending_is_0_after_stop(struct kunit *test)
{
	pending_after_stop(test, 0);
	pending_after_stop(test, 20);
}

static void failed_arms(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2,
					       &sim_release_ops);

	arm_at(test, &sim[0], 3);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 1);
	if (wheel->max_pending)
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 1);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	hwheel_stop(wheel, NULL, NULL);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static void uncovered_pending_after_a_failed_arm(struct kunit *test)
{
	failed_arms(test, sim_wheel(test));
	failed_arms(test, sim_create(test, (struct hwheel_params) {
		.max_pending = 1,
	}));
}

static void uncovered_max_pending_is_exact(struct kunit *test)
{
	static const u64 limits[] = { 1, 2, 3, 1000 };
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .max_pending = limits[i],
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel,
						       limits[i] + 1, &sim_ops);

		for (n = 0; n < limits[i]; n++)
			arm_at(test, &sim[n], 2);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[n].timeout, 0), -EDQUOT);
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), limits[i]);

		/* full again after a cancel, and after all expired */
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[0].timeout));
		KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim[0].timeout));
		arm_at(test, &sim[n], 2);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, 0), -EDQUOT);
		sim_pass(wheel, 2);
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
		for (n = 0; n < limits[i]; n++)
			arm_at(test, &sim[n], 4);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[n].timeout, 0), -EDQUOT);
	}
}

/* Parameters */

static void expect_refused(struct kunit *test, struct hwheel_params params)
{
	struct hwheel *wheel = hwheel_create(&params);

	KUNIT_EXPECT_TRUE(test, IS_ERR(wheel));
	if (IS_ERR(wheel))
		KUNIT_EXPECT_EQ(test, PTR_ERR(wheel), -EINVAL);
	else
		hwheel_destroy(wheel);
}

static void uncovered_tick_bounds(struct kunit *test)
{
	static const struct { u64 asked, effective; } ticks[] = {
		{ 0, 100000000 },
		{ 1, 50000 },
		{ 49999, 50000 },
		{ 50000, 50000 },
		{ 50001, 50008 },
		{ 1000000007, 1000000008 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = ticks[i].asked,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

		KUNIT_EXPECT_EQ(test, wheel->tick, ticks[i].effective);
		KUNIT_EXPECT_EQ(test, wheel->epoch % 8, 0);
		arm_at(test, sim, 7);
		sim_pass(wheel, 6);
		KUNIT_EXPECT_EQ(test, sim->expired, 0);
		sim_pass(wheel, 7);
		sim_expect_fired(test, sim, 7);
	}
}

/* The wheel is named in the log, once for each that is too short. */
static void uncovered_short_tick_warns(struct kunit *test)
{
	static const struct { u64 asked; unsigned int warnings; } ticks[] = {
		{ 0, 0 }, { 1, 1 }, { 49999, 2 }, { 50000, 2 },
	};
	static const char text[] = "wheel too-short: tick of ";
	unsigned int i, before = test_count_logged(text);

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		sim_create(test, (struct hwheel_params) {
			.name = "too-short", .tick_ns = ticks[i].asked,
		});
		KUNIT_EXPECT_EQ(test, test_count_logged(text) - before, ticks[i].warnings);
	}
}

static void uncovered_tick_times_slots_bounds(struct kunit *test)
{
	static const unsigned int slots[] = { 1, 4, 512, HWHEEL_MAX_SLOTS };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		u64 most = round_down((u64)S64_MAX / slots[i], 8);

		expect_refused(test, (struct hwheel_params) {
			.tick_ns = most + 1, .slots = slots[i],
		});
		sim_create(test, (struct hwheel_params) {
			.tick_ns = most, .slots = slots[i],
		});
	}
	expect_refused(test, (struct hwheel_params) {
		.tick_ns = U64_MAX, .slots = 1,
	});
	expect_refused(test, (struct hwheel_params) {
		.tick_ns = U64_MAX, .slots = HWHEEL_MAX_SLOTS,
	});
	expect_refused(test, (struct hwheel_params) { .tick_ns = S64_MAX });
}

/* A wheel with the longest tick is good for a first edge in 292 years. */
static void uncovered_longest_tick_does_not_fire(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = round_down(S64_MAX, 8), .slots = 1,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);

	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[0].timeout, SIM_TICK), 0);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[2].timeout, U64_MAX), 0);
	sim_stall(500ULL * NSEC_PER_SEC);
	test_sleep(wheel, 3600ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 3), 0);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 3);
	test_took_long(test);
}

static void uncovered_slots_bounds(struct kunit *test)
{
	static const struct { unsigned int asked, effective; } slots[] = {
		{ 0, 512 }, { 1, 1 }, { 2, 2 }, { 3, 4 }, { 4, 4 }, { 5, 8 },
		{ 513, 1024 }, { HWHEEL_MAX_SLOTS - 1, HWHEEL_MAX_SLOTS },
		{ HWHEEL_MAX_SLOTS, HWHEEL_MAX_SLOTS },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .slots = slots[i].asked,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

		KUNIT_EXPECT_EQ(test, wheel->slots.mask + 1, slots[i].effective);
		arm_at(test, sim, 9);
		sim_pass(wheel, 9);
		sim_expect_fired(test, sim, 9);
	}
	expect_refused(test, (struct hwheel_params) {
		.slots = HWHEEL_MAX_SLOTS + 1,
	});
	expect_refused(test, (struct hwheel_params) { .slots = UINT_MAX });
}

static void uncovered_clocks(struct kunit *test)
{
	static const struct {
		unsigned int	flags;
		clockid_t	clock;
	} clocks[] = {
		{ 0, CLOCK_MONOTONIC },
		{ HWHEEL_BOOTTIME, CLOCK_BOOTTIME },
		{ HWHEEL_BOOTTIME | HWHEEL_SIMPLE, CLOCK_BOOTTIME },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .flags = clocks[i].flags,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

		KUNIT_EXPECT_EQ(test, wheel->clock, clocks[i].clock);
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, SIM_TICK), 0);
		sim_pass(wheel, 2);
		sim_expect_fired(test, sim, 2);
	}
}

static void uncovered_name_bounds(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);

	KUNIT_EXPECT_STREQ(test, wheel->worker->comm, "hwheel/wheel");
	wheel = sim_create(test, (struct hwheel_params) { .name = "rpc" });
	KUNIT_EXPECT_STREQ(test, wheel->worker->comm, "hwheel/rpc");
	wheel = sim_create(test, (struct hwheel_params) {
		.name = "a-name-longer-than-a-task-can-have",
	});
	KUNIT_EXPECT_EQ(test, strncmp(wheel->worker->comm, "hwheel/a-na", 11), 0);
}

static struct kunit_case uncovered_cases[] = {
	KUNIT_CASE(uncovered_delay_0_fires_at_the_next_edge),
	KUNIT_CASE(uncovered_past_deadline_fires_once_by_the_next_edge),
	KUNIT_CASE(uncovered_deadline_k_revolutions_away),
	KUNIT_CASE(uncovered_delay_of_k_revolutions),
	KUNIT_CASE(uncovered_cancel_against_expire_at_one_edge),
	KUNIT_CASE(uncovered_cancel_against_expire_from_another_thread),
	KUNIT_CASE(uncovered_cancel_while_still_queued),
	KUNIT_CASE(uncovered_second_stop_waits_and_gets_0),
	KUNIT_CASE(uncovered_stop_in_a_callback_is_refused),
	KUNIT_CASE(uncovered_stop_waits_for_a_callback),
	KUNIT_CASE(uncovered_stop_against_submit_loses_none),
	KUNIT_CASE(uncovered_stop_against_cancel_has_one_outcome),
	KUNIT_CASE(uncovered_stop_before_any_arm),
	KUNIT_CASE(uncovered_stop_right_after_arm),
	KUNIT_CASE(uncovered_250000_submissions_in_one_tick),
	KUNIT_CASE(uncovered_stop_in_the_middle_of_250000),
	KUNIT_CASE(uncovered_catch_up_after_a_long_callback),
	KUNIT_CASE(uncovered_catch_up_of_several_revolutions_is_in_order),
	KUNIT_CASE(uncovered_pending_is_0_after_stop),
	KUNIT_CASE(uncovered_pending_after_a_failed_arm),
	KUNIT_CASE(uncovered_max_pending_is_exact),
	KUNIT_CASE(uncovered_tick_bounds),
	KUNIT_CASE(uncovered_short_tick_warns),
	KUNIT_CASE(uncovered_tick_times_slots_bounds),
	KUNIT_CASE(uncovered_longest_tick_does_not_fire),
	KUNIT_CASE(uncovered_slots_bounds),
	KUNIT_CASE(uncovered_clocks),
	KUNIT_CASE(uncovered_name_bounds),
	{}
};

static struct kunit_suite uncovered_suite = {
	.name = "hwheel_uncovered",
	.test_cases = uncovered_cases,
};

kunit_test_suite(uncovered_suite);
