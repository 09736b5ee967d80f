// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheel_cancel_sync(): whenever it returns, the object may be freed. So most tests
 * do that, and KASAN watches.
 */
#include <linux/preempt.h>

#include "engine/submit.h"
#include "cancel_sync_sim.h"

#define MANY	50

/* From any thread */

static void queued_one_is_freed_at_once(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_alloc(test, wheel, &sim_ops);
	u64 start = test_now(wheel);

	arm_edge(test, sim, FAR);
	KUNIT_EXPECT_EQ(test, sync_and_free(sim), 1);
	KUNIT_EXPECT_LT(test, test_now(wheel), start + SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	sim_settle(wheel);
}

/* The worker is in its deep sleep. */
static void an_enqueued_one_is_freed_at_once(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_alloc(test, wheel, &sim_ops);
	u64 start;

	arm_edge(test, sim, FAR);
	sim_settle(wheel);
	start = test_now(wheel);
	KUNIT_EXPECT_EQ(test, sync_and_free(sim), 1);
	KUNIT_EXPECT_LT(test, test_now(wheel), start + SIM_SETTLE);
	sim_pass(wheel, FAR);
}

/* The worker sleeps until the next edge, and arms do not wake it. */
static void lingering_worker_is_woken(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_alloc(test, wheel, &sim_ops);
	u64 start;

	arm_edge(test, sim, FAR);
	sim_pass(wheel, 10);
	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->timeout, SIM_TICK), 0);
	test_sleep(wheel, SIM_SETTLE);
	start = test_now(wheel);
	KUNIT_EXPECT_EQ(test, sync_and_free(sim), 1);
	KUNIT_EXPECT_LT(test, test_now(wheel), start + SIM_SETTLE);
	sim_settle(wheel);
}

static void one_that_is_not_pending_is_left_alone(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);

	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[0].timeout), 0);
	KUNIT_EXPECT_EQ(test, hwheel_timeout_state(&sim[0].timeout), HWHEEL_IDLE);

	arm_edge(test, &sim[1], 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[1].timeout), 0);
	KUNIT_EXPECT_TRUE(test, hwheel_is_expired(&sim[1].timeout));

	arm_edge(test, &sim[2], FAR);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[2].timeout));
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[2].timeout), 0);
	KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&sim[2].timeout));
}

static void one_cancelled_before_is_waited_for(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_alloc(test, wheel, &sim_ops);

	arm_edge(test, sim, FAR);
	sim_settle(wheel);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	KUNIT_EXPECT_EQ(test, sync_and_free(sim), 0);
	sim_settle(wheel);
}

static void it_can_be_armed_again(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	arm_edge(test, sim, 3);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
	arm_edge(test, sim, 5);
	sim_pass(wheel, 4);
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	sim_pass(wheel, 5);
	sim_expect_fired(test, sim, 5);
}

static void running_callback_is_waited_for(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_alloc(test, wheel, &sim_release_ops);

	sim->then = sleep_3_ticks;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_NULL(test, sim->data);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 0);
	KUNIT_EXPECT_NOT_NULL(test, sim->data);
	KUNIT_EXPECT_EQ(test, sim->released, 0);
	KUNIT_EXPECT_TRUE(test, hwheel_is_expired(&sim->timeout));
	kfree(sim);
	KUNIT_EXPECT_GE(test, test_now(wheel), sim_edge_time(wheel, 5));
	KUNIT_EXPECT_LT(test, test_now(wheel), sim_edge_time(wheel, 6));
}

/* The callback may set up its timeout anew: it is its callback still. */
static void callback_that_sets_it_up_anew_is_waited_for(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	sim->then = init_then_sleep;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_NULL(test, sim->data);

	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 0);
	KUNIT_EXPECT_PTR_EQ(test, sim->data, (void *)sim);
}

/* What it waits for is that callback, not those that come after. */
static void another_callback_is_not_waited_for(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);

	sim[1].then = sleep_3_ticks;
	arm_edge(test, &sim[0], 2);
	arm_edge(test, &sim[1], 3);
	sim_pass(wheel, 3);
	KUNIT_EXPECT_NULL(test, sim[1].data);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[0].timeout), 0);
	KUNIT_EXPECT_NULL(test, sim[1].data);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[1].timeout), 0);
	KUNIT_EXPECT_NOT_NULL(test, sim[1].data);
}

/* Two at one edge: the first one, and how many have returned */
struct row {
	struct sim_timeout	*first;
	unsigned int		ended;
};

static void sleep_in_a_row(struct sim_timeout *sim)
{
	struct row *row = sim->data;

	if (!row->first)
		row->first = sim;
	test_sleep(sim_wheel_of(sim), 3 * SIM_TICK);
	row->ended++;
}

/* Nor those that come right after. */
static void waiter_is_woken_before_the_next_callback(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct row row = { };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sim[i].then = sleep_in_a_row;
		sim[i].data = &row;
		arm_edge(test, &sim[i], 2);
	}
	sim_pass(wheel, 2);
	KUNIT_ASSERT_NOT_NULL(test, row.first);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&row.first->timeout), 0);
	KUNIT_EXPECT_EQ(test, row.ended, 1);
	sim_pass(wheel, 8);
	KUNIT_EXPECT_EQ(test, row.ended, 2);
}

/* Two at one edge: the first, which is waited for */
struct batch {
	struct sim_timeout	*first;
	struct canceller	canceller;
};

static void let_a_canceller_in(struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	struct batch *batch = sim->data;

	if (batch->first) {
		test_sleep(wheel, 3 * SIM_TICK);
		return;
	}
	batch->first = sim;
	start_canceller(&batch->canceller, sim);
	test_sleep(wheel, NSEC_PER_USEC);
}

/* The first callback takes less than a jiffy, so that the batch goes on. */
static void waiter_is_woken_within_a_batch(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct batch batch = { };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sim[i].then = let_a_canceller_in;
		sim[i].data = &batch;
		arm_edge(test, &sim[i], 2);
	}
	sim_pass(wheel, 8);
	KUNIT_ASSERT_NOT_NULL(test, batch.first);
	end_canceller(&batch.canceller);
	KUNIT_EXPECT_EQ(test, batch.canceller.result, 0);
	KUNIT_EXPECT_LT(test, batch.canceller.returned_ns, sim_edge_time(wheel, 3));
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 2), 2);
	KUNIT_EXPECT_EQ(test, READ_ONCE(wheel->depth), 0);
}

#define CROWD	8

/* Threads that wait for the drain behind a batch of callbacks, and how often they have slept */
struct crowd {
	struct {
		struct canceller	canceller;
		struct task_struct	*task;
	} threads[CROWD];
	struct sim_timeout	*filed;
	unsigned int		calls;
	unsigned long		slept, slept_last;
};

static void cancel_sync_in_a_crowd(struct work_struct *work)
{
	container_of(work, typeof(((struct crowd *)NULL)->threads[0]), canceller.work)->task =
		current;
	cancel_sync_work(work);
}

static unsigned long sleeps_of(const struct crowd *crowd)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		sum += READ_ONCE(crowd->threads[i].task->nvcsw);
	return sum;
}

static void call_beside_a_crowd(struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	struct crowd *crowd = sim->data;
	unsigned int i;

	for (i = 0; !crowd->calls && i < CROWD; i++)
		start_work(&crowd->threads[i].canceller, &crowd->filed[i], cancel_sync_in_a_crowd);
	do
		test_sleep(wheel, NSEC_PER_USEC);
	while (list_count_nodes(&wheel->waiters.head) < CROWD);
	crowd->slept_last = sleeps_of(crowd);
	if (!crowd->calls++)
		crowd->slept = crowd->slept_last;
}

/* The callbacks of other timeouts wake none of them. */
static void waiters_cost_other_callbacks_nothing(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, CROWD, &sim_ops);
	struct crowd *crowd = kunit_kzalloc(test, sizeof(*crowd), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, crowd);
	crowd->filed = sim_timeouts(test, wheel, CROWD, &sim_ops);
	for (i = 0; i < CROWD; i++) {
		arm_edge(test, &crowd->filed[i], FAR);
		sim[i].then = call_beside_a_crowd;
		sim[i].data = crowd;
		arm_edge(test, &sim[i], 2);
	}
	sim_pass(wheel, 4);
	KUNIT_ASSERT_EQ(test, crowd->calls, CROWD);
	KUNIT_EXPECT_EQ(test, crowd->slept_last, crowd->slept);
	for (i = 0; i < CROWD; i++) {
		end_canceller(&crowd->threads[i].canceller);
		KUNIT_EXPECT_EQ(test, crowd->threads[i].canceller.result, 1);
	}
}

static void rearm_after_sleep(struct sim_timeout *sim)
{
	test_sleep(sim_wheel_of(sim), 3 * SIM_TICK);
	*(int *)sim->data = hwheel_arm(&sim->timeout, SIM_TICK);
}

static void callback_that_arms_again_is_refused(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	int armed = 1;

	sim->then = rearm_after_sleep;
	sim->data = &armed;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 0);
	KUNIT_EXPECT_EQ(test, armed, -EBUSY);
	KUNIT_EXPECT_FALSE(test, hwheel_is_pending(&sim->timeout));
	sim_pass(wheel, 20);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
}

static void rearm_then_sleep(struct sim_timeout *sim)
{
	*(int *)sim->data = hwheel_arm(&sim->timeout, SIM_TICK);
	test_sleep(sim_wheel_of(sim), 3 * SIM_TICK);
}

static void one_armed_by_its_callback_is_cancelled(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	int armed = 1;

	sim->then = rearm_then_sleep;
	sim->data = &armed;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
	KUNIT_EXPECT_EQ(test, armed, 0);
	KUNIT_EXPECT_GE(test, test_now(wheel), sim_edge_time(wheel, 5));
	sim_pass(wheel, 20);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
}

static void two_threads_prevent_it_once(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct canceller one, two;

	arm_edge(test, sim, FAR);
	sim_settle(wheel);
	start_canceller(&one, sim);
	start_canceller(&two, sim);
	end_canceller(&one);
	end_canceller(&two);
	KUNIT_EXPECT_EQ(test, one.result + two.result, 1);
	arm_edge(test, sim, FAR);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
}

static void cancel_and_arm_work(struct work_struct *work)
{
	struct canceller *canceller =
		container_of(work, struct canceller, work);
	struct sim_timeout *sim = canceller->sim;

	hwheel_cancel_sync(&sim->timeout);
	canceller->result = hwheel_arm(&sim->timeout, SIM_TICK);
}

/* The first of them to be through can't arm it while the other still looks at it. */
static void two_threads_keep_it_closed(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct canceller one, two;

	sim->then = sleep_3_ticks;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	start_work(&one, sim, cancel_and_arm_work);
	start_work(&two, sim, cancel_and_arm_work);
	end_canceller(&one);
	end_canceller(&two);
	KUNIT_EXPECT_EQ(test, one.result + two.result, -EBUSY);
}

/* Neighbours in memory, which have closers of their own */
static void two_threads_keep_each_closed(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, MANY, &sim_ops);
	struct canceller *canceller;
	unsigned int i;

	canceller = kunit_kcalloc(test, 2 * MANY, sizeof(*canceller), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, canceller);
	for (i = 0; i < MANY; i++) {
		sim[i].then = sleep_3_ticks;
		arm_edge(test, &sim[i], i ? FAR : 2);
	}
	sim_pass(wheel, 2);
	for (i = 0; i < 2 * MANY; i++)
		start_work(&canceller[i], &sim[i % MANY], cancel_and_arm_work);
	for (i = 0; i < 2 * MANY; i++)
		end_canceller(&canceller[i]);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, canceller[i].result + canceller[MANY + i].result,
				-EBUSY);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&wheel->closers));
}

/* Without an expire op there is nothing to arm it for, whatever is done to it. */
static void one_without_an_expire_op_is_refused(struct kunit *test)
{
	static const struct hwheel_timeout_ops no_ops;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	test_complaint_begin();
	hwheel_timeout_init(&sim->timeout, wheel, &no_ops);
	test_complaint_end();
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, SIM_TICK), -EINVAL);
	KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim->timeout));
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 0);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, 0), -EINVAL);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_timeout_state(&sim->timeout), HWHEEL_IDLE);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* Release */

static void slow_release(struct hwheel_timeout *timeout)
{
	test_sleep(hwheel_of(timeout), 3 * SIM_TICK);
	sim_release(timeout);
}

static const struct hwheel_timeout_ops slow_release_ops = {
	.expire = sim_expire,
	.release = slow_release,
};

/* The next drain comes upon a timeout that is waited for, then upon slow ones. */
struct drained {
	struct canceller	canceller;
	struct sim_timeout	*awaited, *slow;
};

static void cancel_slow_and_awaited(struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);
	struct drained *drained = sim->data;
	unsigned int i;

	for (i = 0; i < MANY; i++)
		hwheel_cancel(&drained->slow[i].timeout);
	start_canceller(&drained->canceller, drained->awaited);
	do
		test_sleep(wheel, NSEC_PER_USEC);
	while (list_empty(&wheel->waiters.head));
}

static void release_op_of_another_is_not_waited_for(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct drained drained = {
		.awaited = &sim[1], .slow = sim_timeouts(test, wheel, MANY, &slow_release_ops),
	};
	unsigned int i, nr = 0;

	sim[0].then = cancel_slow_and_awaited;
	sim[0].data = &drained;
	arm_edge(test, &sim[0], 4);
	arm_edge(test, drained.awaited, FAR);
	for (i = 0; i < MANY; i++)
		if (sim_share_list(&drained.slow[i], drained.awaited)) {
			arm_edge(test, &drained.slow[i], FAR);
			nr++;
		}
	KUNIT_ASSERT_GT(test, nr, 0);
	sim_pass(wheel, 12 + 3 * nr);
	end_canceller(&drained.canceller);
	KUNIT_EXPECT_EQ(test, drained.canceller.result, 1);
	KUNIT_EXPECT_LT(test, drained.canceller.returned_ns, sim_edge_time(wheel, 5));
	for (i = 0; i < MANY; i++)
		if (drained.slow[i].released)
			KUNIT_EXPECT_GE(test, drained.slow[i].released_ns, sim_edge_time(wheel, 6));
}

static void release_is_waited_for(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &slow_release_ops);

	arm_edge(test, &sim[0], FAR);
	arm_edge(test, &sim[1], FAR);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[0].timeout), 1);
	KUNIT_EXPECT_EQ(test, sim[0].released, 1);

	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[1].timeout));
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[1].timeout), 0);
	KUNIT_EXPECT_EQ(test, sim[1].released, 1);
}

/* From callbacks */

static void own_callback_is_refused(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct order order = { .other = sim };

	sim->then = cancel_other;
	sim->data = &order;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, order.result, -EDEADLK);
	sim_expect_fired(test, sim, 2);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, SIM_TICK), 0);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
}

/* Whichever call of this kernel was the first; the log may have lost what is old. */
static void own_callback_is_named_once(struct kunit *test)
{
	static const char text[] = "cancel_sync in the timeout's own callback: sim_expire";
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);
	struct order order[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		order[i] = (struct order) { .other = &sim[i] };
		sim[i].then = cancel_other;
		sim[i].data = &order[i];
		arm_edge(test, &sim[i], 2 + i);
	}
	sim_pass(wheel, 5);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, order[i].result, -EDEADLK);
	KUNIT_EXPECT_EQ(test, test_count_logged(text), 1);
}

static void expect_freed_by_callback(struct kunit *test, struct hwheel *wheel,
				     struct sim_timeout *other,
				     void (*prepare)(struct sim_timeout *other),
				     int result)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct order order = { .other = other, .result = -1, .free = true };
	u64 edge = sim_edge_due(wheel, test_now(wheel)) + 2;

	sim->then = cancel_other;
	sim->data = &order;
	arm_edge(test, sim, edge);
	sim_pass(wheel, edge - 1);
	if (prepare)
		prepare(other);
	/* the callback may wait for a slow release */
	sim_pass(wheel, edge + 10);
	KUNIT_EXPECT_EQ(test, order.result, result);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static void callback_frees_an_enqueued_one(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_ops);

	arm_edge(test, other, FAR);
	expect_freed_by_callback(test, wheel, other, NULL, 1);
}

static void cancel_it(struct sim_timeout *sim)
{
	hwheel_cancel(&sim->timeout);
}

static void callback_frees_a_cancelled_one(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_ops);

	arm_edge(test, other, FAR);
	expect_freed_by_callback(test, wheel, other, cancel_it, 0);
}

static void callback_frees_one_with_a_release(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *other = sim_alloc(test, wheel, &slow_release_ops);

	arm_edge(test, other, FAR);
	expect_freed_by_callback(test, wheel, other, NULL, 1);
}

static void callback_frees_one_that_it_armed(struct kunit *test)
{
	expect_freed_by_arming_callback(test, sim_wheel(test), &sim_ops);
}

static void arm_and_cancel_both(struct sim_timeout *sim)
{
	struct order *order = sim->data;

	hwheel_arm(&sim->timeout, SIM_TICK);
	hwheel_cancel(&sim->timeout);
	arm_and_cancel_other(sim);
	order->result = sim->released;
}

/* The drain in the callback finds its timeout cancelled. */
static void release_waits_for_the_callback(struct kunit *test)
{
	u64 limit;

	for (limit = 0; limit <= 2; limit += 2) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .max_pending = limit,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 2,
						       &sim_release_ops);
		struct order order = { .other = &sim[1], .result = -1 };

		sim->then = arm_and_cancel_both;
		sim->data = &order;
		arm_edge(test, sim, 2);
		sim_pass(wheel, 3);
		KUNIT_EXPECT_EQ(test, order.result, 0);
		KUNIT_EXPECT_EQ(test, sim[0].released, 1);
		KUNIT_EXPECT_EQ(test, sim[1].released, 1);
	}
}

static void arm_for_the_past_and_cancel_other(struct sim_timeout *sim)
{
	hwheel_arm_at(&sim->timeout, 0);
	arm_and_cancel_other(sim);
}

/* The drain in the callback finds it armed while the edges since are caught up. */
static void catching_up_runs_it_once(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct order order = { .other = &sim[1] };

	sim->then = arm_for_the_past_and_cancel_other;
	sim->data = &order;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 1);
	sim_stall(100 * SIM_TICK);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	sim_pass(wheel, sim->edge + 105);
	KUNIT_EXPECT_GT(test, sim->expired, 1);
	KUNIT_EXPECT_LT(test, sim->expired, 10);
	sim->then = NULL;
}

/* Both are due: whichever comes first frees the other, in the middle of the list. */
static void callback_frees_one_due_at_the_same_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct order order[2] = {};
	struct sim_timeout *sim[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		sim[i] = sim_alloc(test, wheel, &sim_ops);
	for (i = 0; i < 2; i++) {
		order[i].other = sim[!i];
		order[i].free = true;
		sim[i]->then = cancel_other;
		sim[i]->data = &order[i];
		arm_edge(test, sim[i], 5);
	}
	sim_pass(wheel, 5);
	KUNIT_EXPECT_EQ(test, order[0].result + order[1].result, 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	kfree(order[0].result ? sim[0] : sim[1]);
}

/* Release ops that cancel the next of a chain */

static void release_and_cancel_next(struct hwheel_timeout *timeout)
{
	struct sim_timeout *sim = sim_of(timeout);

	sim_release(timeout);
	if (sim->data)
		cancel_other(sim);
}

static const struct hwheel_timeout_ops chain_ops = {
	.expire = sim_expire,
	.release = release_and_cancel_next,
};

static void chain_up(struct kunit *test, struct sim_timeout *sim,
		     struct order *order, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		arm_edge(test, &sim[i], FAR);
		if (i + 1 == nr)
			break;
		order[i] = (struct order) { .other = &sim[i + 1], .result = -1 };
		sim[i].data = &order[i];
	}
	sim_settle(sim_wheel_of(sim));
}

static void release_may_cancel_others(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 4, &chain_ops);
	struct order order[4];
	unsigned int i;

	chain_up(test, sim, order, 4);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, order[i].result, 1);
}

/* The first and the last of a batch drain the rest of it, whichever comes first. */
static void release_may_drain_the_rest_of_its_batch(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 6, &chain_ops);
	struct order order[] = {
		{ .other = &sim[4], .result = -1 }, { .other = &sim[5], .result = -1 },
	};
	unsigned int i;

	for (i = 0; i < 6; i++)
		arm_edge(test, &sim[i], FAR);
	sim_settle(wheel);
	sim[0].data = &order[0];
	sim[3].data = &order[1];
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim[i].timeout));
	sim_settle(wheel);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, order[i].result, 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* A CPU's lists are taken together: one that a release op waits for is on any of them. */
static void release_may_drain_the_rest_of_all_lists(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, MANY, &chain_ops);
	struct order order[MANY / 10];
	unsigned int i, lists = 0;

	for (i = 0; i < MANY; i++) {
		arm_edge(test, &sim[i], FAR);
		lists |= 1U << hwheel_submit_queue_of(&sim[i].timeout.queue);
	}
	KUNIT_EXPECT_EQ(test, lists, (1U << HWHEEL_LISTS) - 1);
	sim_settle(wheel);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		order[i] = (struct order) { .other = &sim[i * 10 + 5], .result = -1 };
		sim[i * 10].data = &order[i];
	}
	preempt_disable();
	for (i = 0; i < MANY; i++)
		hwheel_cancel(&sim[i].timeout);
	preempt_enable();
	sim_settle(wheel);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, sim[i].released, 1);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		KUNIT_EXPECT_EQ(test, order[i].result, 0);
	KUNIT_EXPECT_EQ(test, wheel->lists, 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* Its drain comes before anything expires, with a pass that is to reach the next edge. */
static void expect_in_time(struct kunit *test, bool cancelled_first)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &chain_ops);
	struct order order = { .other = &sim[1], .result = -1 };
	u64 edge;

	sim->data = &order;
	arm_edge(test, &sim[0], FAR);
	arm_edge(test, &sim[1], FAR);
	/* Now it lingers. */
	test_sleep(wheel, SIM_SETTLE);
	edge = sim_edge_due(wheel, test_now(wheel));
	preempt_disable();
	if (cancelled_first)
		hwheel_cancel(&sim[0].timeout);
	hwheel_arm_at(&sim[2].timeout, sim_edge_time(wheel, edge));
	if (!cancelled_first)
		hwheel_cancel(&sim[0].timeout);
	preempt_enable();
	sim_pass(wheel, edge);
	KUNIT_EXPECT_EQ(test, order.result, 1);
	sim_expect_fired(test, &sim[2], edge);
}

static void release_that_drains_puts_nothing_off(struct kunit *test)
{
	expect_in_time(test, true);
	expect_in_time(test, false);
}

/* As many as the worker acts on in one go */
#define DRAIN_MAX	100000

/* The next one is cancelled and waited for first, as who stops a file does. */
static void kick_and_drain(struct hwheel_timeout *timeout)
{
	struct sim_timeout *sim = sim_of(timeout);

	sim_release(timeout);
	hwheel_cancel(&sim[1].timeout);
	hwheel_submit_kick(hwheel_of(timeout));
	cancel_other(sim);
}

static const struct hwheel_timeout_ops kick_ops = {
	.expire = sim_expire,
	.release = kick_and_drain,
};

/*
 * A callback's drain takes the news that somebody kicks, and ends, for the time being,
 * with the batch: the list after that is not left for the next edge.
 */
static void a_kick_outlasts_a_drain_in_a_callback(struct kunit *test)
{
	const unsigned int nr = DRAIN_MAX + HWHEEL_LISTS;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *batch = sim_timeouts(test, wheel, nr, &sim_ops);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_release_ops);
	struct order order = { .other = &batch[nr / 2], .result = -1 };
	unsigned int i;

	hwheel_timeout_init(&sim[0].timeout, wheel, &kick_ops);
	sim[0].data = &order;
	arm_edge(test, &sim[0], FAR);
	arm_edge(test, &sim[1], FAR);
	sim_settle(wheel);

	/* The worker takes the last addition in the first round. */
	preempt_disable();
	for (i = 0; i < nr; i++)
		hwheel_arm_at(&batch[i].timeout, sim_edge_time(wheel, FAR));
	hwheel_cancel(&sim[0].timeout);
	preempt_enable();
	sim_settle(wheel);

	KUNIT_EXPECT_EQ(test, order.result, 1);
	KUNIT_EXPECT_EQ(test, local_read(&wheel->counts.drained_max), DRAIN_MAX);
	KUNIT_EXPECT_EQ(test, sim[1].released, 1);
	KUNIT_EXPECT_LT(test, sim[1].released_ns, sim[0].released_ns + SIM_SETTLE);
}

static void nesting_has_an_end(struct kunit *test)
{
	const unsigned int nr = HWHEEL_MAX_DEPTH + 2;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &chain_ops);
	struct order order[HWHEEL_MAX_DEPTH + 2];
	unsigned int i;

	chain_up(test, sim, order, nr);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 1);
	for (i = 0; i < HWHEEL_MAX_DEPTH - 1; i++)
		KUNIT_EXPECT_EQ(test, order[i].result, 1);
	KUNIT_EXPECT_EQ(test, order[i].result, -EDEADLK);
	KUNIT_EXPECT_TRUE(test, hwheel_is_pending(&sim[i + 1].timeout));
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), nr - i - 1);

	/* the rest of the chain falls, too, while its orders are there */
	KUNIT_EXPECT_GT(test, hwheel_stop(wheel, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* While the wheel is stopped, and after that */

static void stopped_wheel_has_nothing_to_wait_for(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 3, &sim_ops);

	arm_edge(test, &sim[0], FAR);
	arm_edge(test, &sim[1], 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 1);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[0].timeout), 0);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[1].timeout), 0);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim[2].timeout), 0);
}

static void handback_and_cancel_next(struct hwheel_timeout *timeout, void *data)
{
	struct sim_timeout *sim = sim_of(timeout);

	sim_handback(timeout, data);
	if (sim->data)
		cancel_other(sim);
}

/* Filed ones and queued ones: each is ended by one of the two. */
static void handback_may_cancel_others(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 6, &sim_ops);
	struct order order[6] = {};
	unsigned int i, ended = 0;

	for (i = 0; i < 6; i++) {
		order[i].other = &sim[(i + 1) % 6];
		sim[i].data = &order[i];
		arm_edge(test, &sim[i], FAR + i);
		if (i == 2)
			sim_settle(wheel);
	}
	ended = hwheel_stop(wheel, handback_and_cancel_next, NULL);
	KUNIT_EXPECT_EQ(test, sim_count_handed_back(sim, 6), ended);
	for (i = 0; i < 6; i++)
		ended += order[i].result == 1;
	KUNIT_EXPECT_EQ(test, ended, 6);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* With a neighbour in its slot, which is handed back after it is gone */
static void handback_frees_an_enqueued_one(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct sim_timeout *other = sim_alloc(test, wheel, &sim_ops);
	struct order order = { .other = other, .result = -1, .free = true };

	sim[0].data = &order;
	arm_edge(test, &sim[0], 20 * SIM_SLOTS);
	arm_edge(test, other, 20 * SIM_SLOTS + 1);
	arm_edge(test, &sim[1], 21 * SIM_SLOTS + 1);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, handback_and_cancel_next, NULL), 2);
	KUNIT_EXPECT_EQ(test, order.result, 1);
	KUNIT_EXPECT_EQ(test, sim_count_handed_back(sim, 2), 2);
}

static void handback_under_way(struct hwheel_timeout *timeout, void *data)
{
	start_canceller(data, sim_of(timeout));
	test_sleep(hwheel_of(timeout), 3 * SIM_TICK);
	sim_handback(timeout, data);
	sim_of(timeout)->fired_ns = test_now(hwheel_of(timeout));
}

static void handback_is_waited_for(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct canceller canceller;

	arm_edge(test, sim, FAR);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, handback_under_way, &canceller), 1);
	end_canceller(&canceller);
	KUNIT_EXPECT_EQ(test, canceller.result, 0);
	KUNIT_EXPECT_GE(test, canceller.returned_ns, sim->fired_ns);
}

/* It begins while the stop waits for a callback, and ends it first or not. */
static void stop_under_way_ends_it_once(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_ops);
	struct canceller canceller;
	s64 handed_back;

	sim[0].then = sleep_3_ticks;
	arm_edge(test, &sim[0], 2);
	arm_edge(test, &sim[1], FAR);
	sim_pass(wheel, 2);
	start_canceller(&canceller, &sim[1]);
	handed_back = hwheel_stop(wheel, sim_handback, NULL);
	end_canceller(&canceller);
	KUNIT_EXPECT_EQ(test, handed_back + canceller.result, 1);
	KUNIT_EXPECT_EQ(test, sim[1].expired, 0);
	KUNIT_EXPECT_GE(test, canceller.returned_ns, sim_edge_time(wheel, 5));
}

static void destroy_waits_for_a_callback(struct kunit *test)
{
	struct hwheel *wheel = hwheel_create(&(struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS,
	});
	struct sim_timeout *sim;

	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	sim = sim_alloc(test, wheel, &sim_ops);
	sim->then = sleep_3_ticks;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_NULL(test, sim->data);
	hwheel_destroy(wheel);
	KUNIT_EXPECT_PTR_EQ(test, sim->data, (void *)sim);
	kfree(sim);
}

static void destroy_other_wheel(struct hwheel **other)
{
	if (*other)
		hwheel_destroy(*other);
	*other = NULL;
}

static void handback_and_destroy(struct hwheel_timeout *timeout, void *data)
{
	destroy_other_wheel(data);
}

static void release_and_destroy(struct hwheel_timeout *timeout)
{
	destroy_other_wheel(sim_of(timeout)->data);
}

static const struct hwheel_timeout_ops destroy_ops = {
	.expire = sim_expire,
	.release = release_and_destroy,
};

/* One that has something to hand back, too */
static struct hwheel *other_wheel(struct kunit *test, struct sim_timeout *sim)
{
	struct hwheel_params params = { .tick_ns = SIM_TICK };
	struct hwheel *wheel = hwheel_create(&params);

	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	hwheel_timeout_init(&sim->timeout, wheel, &sim_release_ops);
	arm_edge(test, sim, FAR);
	return wheel;
}

static void check_destroy_within_stop(struct kunit *test,
				      void (*handback)(struct hwheel_timeout *timeout,
						       void *data))
{
	struct hwheel *wheel = sim_wheel(test), *other;
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &destroy_ops);
	struct sim_timeout pending = { };

	other = other_wheel(test, &pending);
	sim->data = &other;
	arm_edge(test, sim, FAR);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, handback, &other), 1);
	KUNIT_EXPECT_NULL(test, other);
	KUNIT_EXPECT_EQ(test, pending.released, 1);
	test_expect_lockdep(test);
}

/* Stops nest, each in a callback of another wheel, as waits for callbacks do. */
static void stop_may_destroy_another_wheel(struct kunit *test)
{
	check_destroy_within_stop(test, handback_and_destroy);
	check_destroy_within_stop(test, NULL);
}

/* Callers that wait while they hold a lock that callbacks take */

static void look_for_lockdep(struct sim_timeout *sim)
{
	bool *known = sim->data;

#ifdef CONFIG_LOCKDEP
	*known = lock_is_held(&sim_wheel_of(sim)->callbacks);
#else
	*known = true;
#endif
}

/* Called in a row, or one by one for the sake of the limit */
static void lockdep_knows_of_callbacks(struct kunit *test)
{
	u64 limit;

	for (limit = 0; limit <= 1; limit++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .max_pending = limit,
		});
		struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
		bool known = false;

		sim->then = look_for_lockdep;
		sim->data = &known;
		arm_edge(test, sim, 2);
		sim_pass(wheel, 2);
		KUNIT_EXPECT_TRUE(test, known);
	}
}

static struct kunit_case sync_cases[] = {
	KUNIT_CASE(queued_one_is_freed_at_once),
	KUNIT_CASE(an_enqueued_one_is_freed_at_once),
	KUNIT_CASE(lingering_worker_is_woken),
	KUNIT_CASE(one_that_is_not_pending_is_left_alone),
	KUNIT_CASE(one_cancelled_before_is_waited_for),
	KUNIT_CASE(it_can_be_armed_again),
	KUNIT_CASE(running_callback_is_waited_for),
	KUNIT_CASE(callback_that_sets_it_up_anew_is_waited_for),
	KUNIT_CASE(another_callback_is_not_waited_for),
	KUNIT_CASE(waiter_is_woken_before_the_next_callback),
	KUNIT_CASE(waiter_is_woken_within_a_batch),
	KUNIT_CASE(waiters_cost_other_callbacks_nothing),
	KUNIT_CASE(release_op_of_another_is_not_waited_for),
	KUNIT_CASE(callback_that_arms_again_is_refused),
	KUNIT_CASE(one_armed_by_its_callback_is_cancelled),
	KUNIT_CASE(two_threads_prevent_it_once),
	KUNIT_CASE(two_threads_keep_it_closed),
	KUNIT_CASE(two_threads_keep_each_closed),
	KUNIT_CASE(one_without_an_expire_op_is_refused),
	KUNIT_CASE(release_is_waited_for),
	KUNIT_CASE(own_callback_is_refused),
	KUNIT_CASE(own_callback_is_named_once),
	KUNIT_CASE(callback_frees_an_enqueued_one),
	KUNIT_CASE(callback_frees_a_cancelled_one),
	KUNIT_CASE(callback_frees_one_with_a_release),
	KUNIT_CASE(callback_frees_one_that_it_armed),
	KUNIT_CASE(release_waits_for_the_callback),
	KUNIT_CASE(catching_up_runs_it_once),
	KUNIT_CASE(callback_frees_one_due_at_the_same_edge),
	KUNIT_CASE(release_may_cancel_others),
	KUNIT_CASE(release_may_drain_the_rest_of_its_batch),
	KUNIT_CASE(release_may_drain_the_rest_of_all_lists),
	KUNIT_CASE(release_that_drains_puts_nothing_off),
	KUNIT_CASE(a_kick_outlasts_a_drain_in_a_callback),
	KUNIT_CASE(nesting_has_an_end),
	KUNIT_CASE(stopped_wheel_has_nothing_to_wait_for),
	KUNIT_CASE(handback_may_cancel_others),
	KUNIT_CASE(handback_frees_an_enqueued_one),
	KUNIT_CASE(handback_is_waited_for),
	KUNIT_CASE(stop_under_way_ends_it_once),
	KUNIT_CASE(destroy_waits_for_a_callback),
	KUNIT_CASE(stop_may_destroy_another_wheel),
	KUNIT_CASE(lockdep_knows_of_callbacks),
	{}
};

static struct kunit_suite sync_suite = {
	.name		= "hwheel_cancel_sync",
	.test_cases	= sync_cases,
};

kunit_test_suite(sync_suite);
