/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of hwheel_cancel_sync(): objects to be freed, threads and callbacks that
 * cancel.
 */
#ifndef _HWHEEL_KUNIT_CANCEL_SYNC_SIM_H
#define _HWHEEL_KUNIT_CANCEL_SYNC_SIM_H

#include <linux/workqueue.h>

#include "../sim.h"

#define FAR	1000

/* One that the test frees by itself */
static inline struct sim_timeout *
sim_alloc(struct kunit *test, struct hwheel *wheel,
	  const struct hwheel_timeout_ops *ops)
{
	struct sim_timeout *sim = kzalloc(sizeof(*sim), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sim);
	hwheel_timeout_init(&sim->timeout, wheel, ops);
	return sim;
}

static inline int sync_and_free(struct sim_timeout *sim)
{
	int ret = hwheel_cancel_sync(&sim->timeout);

	kfree(sim);
	return ret;
}

/* A thread that cancels */

struct canceller {
	struct work_struct	work;
	struct sim_timeout	*sim;
	int			result;
	u64			returned_ns;
};

static inline void cancel_sync_work(struct work_struct *work)
{
	struct canceller *canceller =
		container_of(work, struct canceller, work);

	canceller->result = hwheel_cancel_sync(&canceller->sim->timeout);
	canceller->returned_ns = test_now(sim_wheel_of(canceller->sim));
}

static inline void start_work(struct canceller *canceller,
			      struct sim_timeout *sim, work_func_t work)
{
	canceller->sim = sim;
	canceller->result = -1;
	INIT_WORK_ONSTACK(&canceller->work, work);
	queue_work(system_unbound_wq, &canceller->work);
}

static inline void start_canceller(struct canceller *canceller,
				   struct sim_timeout *sim)
{
	start_work(canceller, sim, cancel_sync_work);
}

static inline void end_canceller(struct canceller *canceller)
{
	flush_work(&canceller->work);
	destroy_work_on_stack(&canceller->work);
}

/* What a callback is told to do */

struct order {
	struct sim_timeout	*other;
	int			result;
	bool			free;
};

static inline void cancel_other(struct sim_timeout *sim)
{
	struct order *order = sim->data;

	order->result = hwheel_cancel_sync(&order->other->timeout);
	if (order->free)
		kfree(order->other);
}

static inline void arm_and_cancel_other(struct sim_timeout *sim)
{
	struct order *order = sim->data;

	hwheel_arm(&order->other->timeout, SIM_TICK);
	cancel_other(sim);
}

/* A callback arms a timeout, cancels it while it is queued, and frees it. */
static inline void expect_freed_by_arming_callback(struct kunit *test, struct hwheel *wheel,
						   const struct hwheel_timeout_ops *ops)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	struct order order = {
		.other = sim_alloc(test, wheel, ops), .free = true,
	};

	sim->then = arm_and_cancel_other;
	sim->data = &order;
	arm_edge(test, sim, 2);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, order.result, 1);
	sim_settle(wheel);
}

/* As if it was freed, and another one allocated, which is where it was. */
static inline void init_then_sleep(struct sim_timeout *sim)
{
	hwheel_timeout_init(&sim->timeout, sim_wheel_of(sim), sim->timeout.ops);
	sleep_3_ticks(sim);
}

#endif /* _HWHEEL_KUNIT_CANCEL_SYNC_SIM_H */
