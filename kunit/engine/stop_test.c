// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping a wheel: each timeout that is pending is handed back once, whatever else goes on.
 */
#include <linux/delay.h>
#include <linux/workqueue.h>

#include "cancel_sync_sim.h"

/* Queued, enqueued, refreshed, in later turns, in slots used and emptied before */
static void arm_all_sorts(struct kunit *test, struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	unsigned int i;

	for (i = 0; i < 100; i++)
		arm_edge(test, &sim[i], i < 50 ? 2 + i % 3 : 20 + i);
	sim_pass(wheel, 10);
	for (i = 50; i < 60; i++) {
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
		refresh_edge(test, &sim[i + 10], 1000);
		refresh_edge(test, &sim[i + 20], 19);
	}
	sim_pass(wheel, 14);
	for (i = 0; i < 50; i++)
		arm_edge(test, &sim[i], 30 + 7 * i);
	for (i = 0; i < 5; i++) {
		refresh_edge(test, &sim[i], 25);
		refresh_edge(test, &sim[i + 5], 3000);
		refresh_edge(test, &sim[95 + i], 21);
	}
}

static void stop_hands_back_each_pending_once(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 100, &sim_release_ops);
	unsigned int i;

	arm_all_sorts(test, sim);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 90);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 90);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	for (i = 0; i < 100; i++) {
		bool cancelled = i >= 50 && i < 60;

		KUNIT_EXPECT_EQ(test, sim[i].handed_back, !cancelled);
		KUNIT_EXPECT_EQ(test, sim[i].released, cancelled);
		KUNIT_EXPECT_EQ(test, sim[i].expired, i < 50);
		KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&sim[i].timeout));
	}
}

/* How many are still pending while a wheel is stopped, if all is right */
struct rest {
	u64		nr;
	unsigned int	wrong;
};

static void count_the_rest(struct hwheel_timeout *timeout, void *data)
{
	struct rest *rest = data;

	rest->wrong += hwheel_pending(hwheel_of(timeout)) != --rest->nr;
	sim_handback(timeout, NULL);
}

/* The worker had no chance to run before the stop, and some are due. */
static void stop_counts_down(struct kunit *test)
{
	u64 limit;

	for (limit = 0; limit <= 10; limit += 10) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .max_pending = limit,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 10, &sim_ops);
		struct rest rest = { .nr = 10 };
		unsigned int i;

		for (i = 0; i < 10; i++)
			arm_edge(test, &sim[i], i);
		KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, count_the_rest, &rest), 10);
		KUNIT_EXPECT_EQ(test, rest.nr, 0);
		KUNIT_EXPECT_EQ(test, rest.wrong, 0);
		KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
		KUNIT_EXPECT_EQ(test, atomic64_read(&wheel->pending), 0);
		for (i = 0; i < 10; i++) {
			KUNIT_EXPECT_EQ(test, sim[i].handed_back, 1);
			KUNIT_EXPECT_EQ(test, sim[i].expired, 0);
		}
	}
}

/* An owner that keeps the wheel to ask for its statistics keeps no slots. */
static void stop_frees_the_slots(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test), *asleep = sim_wheel(test);

	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 0);
	KUNIT_EXPECT_NULL(test, wheel->slots.slot);
	KUNIT_EXPECT_NULL(test, wheel->slots.first[0]);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	sim_settle(asleep);
	KUNIT_EXPECT_EQ(test, hwheel_stop(asleep, sim_handback, NULL), 0);
}

static void stop_without_handback_releases_each_pending_once(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 100, &sim_release_ops);
	struct sim_timeout *plain = sim_timeouts(test, wheel, 1, &sim_ops);
	unsigned int i;

	arm_edge(test, plain, 5000);
	arm_all_sorts(test, sim);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 91);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&plain->timeout));
	KUNIT_EXPECT_EQ(test, plain->released, 0);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 0);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
}

static void count_handback(struct hwheel_timeout *timeout, void *data)
{
	++*(unsigned int *)data;
	sim_handback(timeout, data);
}

/* Timeouts cancelled right before the stop, and not seen by the worker yet */
static void stop_releases_what_was_cancelled_before(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 30, &sim_release_ops);
	unsigned int calls = 0, i;

	for (i = 0; i < 20; i++)
		arm_edge(test, &sim[i], 100 + i);
	sim_settle(wheel);
	for (i = 20; i < 30; i++)
		arm_edge(test, &sim[i], 100 + i);
	for (i = 10; i < 25; i++)
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, count_handback, &calls), 15);
	KUNIT_EXPECT_EQ(test, calls, 15);
	for (i = 0; i < 30; i++) {
		bool cancelled = i >= 10 && i < 25;

		KUNIT_EXPECT_EQ(test, sim[i].released, cancelled);
		KUNIT_EXPECT_EQ(test, sim[i].handed_back, !cancelled);
	}
}

static void expect_stopped(struct kunit *test, struct sim_timeout *sim)
{
	enum hwheel_state state = hwheel_timeout_state(&sim->timeout);

	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->timeout, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim->timeout, 0), -ENOENT);
	KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim->timeout));
	KUNIT_EXPECT_EQ(test, hwheel_timeout_state(&sim->timeout), state);
}

/* Idle, expired, cancelled, handed back */
static void stopped_wheel_refuses_all(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 4, &sim_ops);
	unsigned int i;

	arm_edge(test, &sim[1], 2);
	arm_edge(test, &sim[2], 100);
	arm_edge(test, &sim[3], 100);
	sim_pass(wheel, 3);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[2].timeout));
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
	for (i = 0; i < 4; i++)
		expect_stopped(test, &sim[i]);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_EQ(test, sim_count_handed_back(sim, 4), 1);
	test_sleep(wheel, 200 * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 4), 1);
}

/* One that ended may move on to another wheel. */
static void handed_back_timeout_may_go_to_another_wheel(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test), *other = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	arm_edge(test, sim, 100);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
	hwheel_timeout_init(&sim->timeout, other, &sim_ops);
	arm_edge(test, sim, 3);
	sim_pass(other, 3);
	sim_expect_fired(test, sim, 3);
}

/* Beside other calls */

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

static void second_stop_waits_and_gets_0(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	struct stopper second;
	u64 first_returned_ns;
	unsigned int i;

	for (i = 0; i < 3; i++)
		arm_edge(test, &sim[i], 1000 + i);
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

static void stop_in_a_callback_is_refused(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	s64 result = 0;

	sim[0].then = stop_from_callback;
	sim[0].data = &result;
	arm_edge(test, &sim[0], 3);
	arm_edge(test, &sim[1], 5);
	sim_pass(wheel, 3);
	KUNIT_EXPECT_EQ(test, result, -EDEADLK);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 1);

	/* nothing changed */
	sim_pass(wheel, 5);
	sim_expect_fired(test, &sim[1], 5);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[1].timeout, SIM_TICK), 0);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
}

static void stop_waits_for_a_callback(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);

	sim[0].then = sleep_3_ticks;
	arm_edge(test, &sim[0], 2);
	arm_edge(test, &sim[1], 3);
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

static void stop_against_submit_loses_none(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 20; i++)
		stop_against_submit(test, i * SIM_TICK / 3 + 100 * NSEC_PER_USEC);
}

struct backlog {
	struct sim_timeout	*sim;
	unsigned int		nr;
	unsigned int		cancelled;
};

/* Each timeout that is handed back cancels its neighbours. */
static void cancelling_handback(struct hwheel_timeout *timeout, void *data)
{
	struct backlog *backlog = data;
	unsigned int i = sim_of(timeout) - backlog->sim;

	sim_handback(timeout, NULL);
	backlog->cancelled += hwheel_cancel(&backlog->sim[(i + 1) % backlog->nr].timeout);
	backlog->cancelled += hwheel_cancel(timeout);
}

static void stop_against_cancel_has_one_outcome(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct backlog backlog = { .nr = 100 };
	unsigned int i;
	s64 stopped;

	backlog.sim = sim_timeouts(test, wheel, 100, &sim_release_ops);
	for (i = 0; i < 100; i++)
		arm_edge(test, &backlog.sim[i], 100 + i / 4);
	sim_settle(wheel);
	stopped = hwheel_stop(wheel, cancelling_handback, &backlog);
	KUNIT_EXPECT_GT(test, backlog.cancelled, 0);
	KUNIT_EXPECT_EQ(test, stopped + backlog.cancelled, 100);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, backlog.sim[i].handed_back +
				      backlog.sim[i].released, 1);
}

/* Stopped between two passes of a drain, with the rest of a list in hand */
static void stop_in_the_middle_of_250000(struct kunit *test)
{
	const unsigned int nr = 250000;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_release_ops);
	unsigned int i, wrong = 0;

	sim_settle(wheel);
	for (i = 0; i < nr; i++)
		arm_edge(test, &sim[i], 100 + i % 9);
	for (i = 0; i < nr; i += 10)
		KUNIT_ASSERT_TRUE(test, hwheel_cancel(&sim[i].timeout));
	/* the worker gives way to us after the pass in which this is over */
	sched_set_fifo_low(current);
	test_sleep(wheel, 300);
	KUNIT_EXPECT_NE(test, wheel->lists, 0);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), nr / 10 * 9);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	for (i = 0; i < nr; i++)
		wrong += sim[i].released != !(i % 10) ||
			 sim[i].handed_back != !!(i % 10);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static struct kunit_case stop_cases[] = {
	KUNIT_CASE(stop_hands_back_each_pending_once),
	KUNIT_CASE(stop_counts_down),
	KUNIT_CASE(stop_frees_the_slots),
	KUNIT_CASE(stop_without_handback_releases_each_pending_once),
	KUNIT_CASE(stop_releases_what_was_cancelled_before),
	KUNIT_CASE(stopped_wheel_refuses_all),
	KUNIT_CASE(handed_back_timeout_may_go_to_another_wheel),
	KUNIT_CASE(second_stop_waits_and_gets_0),
	KUNIT_CASE(stop_in_a_callback_is_refused),
	KUNIT_CASE(stop_waits_for_a_callback),
	KUNIT_CASE(stop_against_submit_loses_none),
	KUNIT_CASE(stop_against_cancel_has_one_outcome),
	KUNIT_CASE(stop_in_the_middle_of_250000),
	{}
};

static struct kunit_suite stop_suite = {
	.name = "hwheel_stop",
	.test_cases = stop_cases,
};

kunit_test_suite(stop_suite);
