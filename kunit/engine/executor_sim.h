/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wheels whose callbacks run on a workqueue, and callbacks that are slow.
 */
#ifndef _HWHEEL_KUNIT_EXECUTOR_SIM_H
#define _HWHEEL_KUNIT_EXECUTOR_SIM_H

#include <linux/minmax.h>
#include <linux/workqueue.h>

#include "../sim.h"
#include "cancel_sync_sim.h"

enum executor_kind {
	EXECUTOR_NONE,		/* on the worker */
	EXECUTOR_UNBOUND,
	EXECUTOR_PER_CPU,
	EXECUTOR_ORDERED,
	EXECUTOR_BH,
};

static inline void executor_kind_describe(const enum executor_kind *kind, char *desc)
{
	static const char *const names[] = { "worker", "unbound", "per CPU", "ordered", "BH" };

	strscpy(desc, names[*kind], KUNIT_PARAM_DESC_SIZE);
}

/* Of a case that takes the kind as its parameter */
static inline enum executor_kind kind_of(const struct kunit *test)
{
	return *(const enum executor_kind *)test->param_value;
}

static inline int executor_queue_init(struct kunit_resource *res, void *kind)
{
	switch (*(enum executor_kind *)kind) {
	case EXECUTOR_NONE:
		break;
	case EXECUTOR_UNBOUND:
		res->data = alloc_workqueue("hwheel_unbound", WQ_UNBOUND, 0);
		break;
	case EXECUTOR_PER_CPU:
		res->data = alloc_workqueue("hwheel_per_cpu", 0, 0);
		break;
	case EXECUTOR_ORDERED:
		res->data = alloc_ordered_workqueue("hwheel_ordered", 0);
		break;
	case EXECUTOR_BH:
#ifdef HAVE_WQ_BH
		res->data = alloc_workqueue("hwheel_bh", WQ_BH, 0);
#endif
		break;
	}
	return res->data ? 0 : -ENOMEM;
}

static inline void executor_queue_free(struct kunit_resource *res)
{
	destroy_workqueue(res->data);
}

/* To be made before the wheels that use it: it is destroyed after them. */
static inline struct workqueue_struct *
executor_queue(struct kunit *test, enum executor_kind kind)
{
	struct workqueue_struct *queue;

	queue = kunit_alloc_resource(test, executor_queue_init,
				     executor_queue_free, GFP_KERNEL, &kind);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	return queue;
}

static inline struct hwheel *executor_wheel(struct kunit *test,
					    enum executor_kind kind)
{
	return sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS,
		.executor = kind == EXECUTOR_NONE ? NULL : executor_queue(test, kind),
	});
}

/**
 * struct tally - of callbacks
 * @running: under way now
 * @most:    the most of them at a time
 * @ended:   of those that began
 */
struct tally {
	unsigned int	running;
	unsigned int	most;
	unsigned int	ended;
};

#define SLOW	10

/* A slow callback, with a tally */
static inline void sleep_10_ticks(struct sim_timeout *sim)
{
	struct tally *tally = sim->data;

	tally->most = max(tally->most, ++tally->running);
	test_sleep(sim_wheel_of(sim), SLOW * SIM_TICK);
	tally->running--;
	tally->ended++;
}

/* A slow one, and then one that has to wait for it on an ordered workqueue */
static inline void hand_over_behind(struct kunit *test,
				    struct sim_timeout *slow,
				    struct sim_timeout *sim,
				    struct tally *tally)
{
	struct hwheel *wheel = sim_wheel_of(slow);
	u64 edge = sim_edge_due(wheel, test_now(wheel)) + 1;

	slow->then = sleep_10_ticks;
	slow->data = tally;
	arm_edge(test, slow, edge);
	sim_pass(wheel, edge);
	arm_edge(test, sim, edge + 1);
	sim_pass(wheel, edge + 1);
	KUNIT_ASSERT_EQ(test, tally->running, 1);
	KUNIT_ASSERT_EQ(test, sim->expired, 0);
	KUNIT_ASSERT_TRUE(test, hwheel_is_expired(&sim->timeout));
}

#endif /* _HWHEEL_KUNIT_EXECUTOR_SIM_H */
