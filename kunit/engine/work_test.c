// SPDX-License-Identifier: GPL-2.0-only
/*
 * struct hwheel_work: when and where its function runs, and who may take it back. Many objects are
 * freed as soon as they may be, and KASAN watches.
 *
 * A plug is an item on an ordered workqueue that keeps those behind it waiting.
 */
#include <linux/completion.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "cancel_sync_sim.h"

struct sim_work {
	struct hwheel_work	work;
	unsigned int		runs;
	unsigned int		released;
	u64			ran_ns;
	u64			edge;
	void			(*then)(struct sim_work *sim);
	void			*data;
};

static void sim_run(struct work_struct *item)
{
	struct sim_work *sim = container_of(to_hwheel_work(item), struct sim_work, work);

	sim->runs++;
	sim->ran_ns = test_now(hwheel_of(&sim->work.timeout));
	if (sim->then)
		sim->then(sim);
}

static void sim_work_release(struct hwheel_work *work)
{
	container_of(work, struct sim_work, work)->released++;
}

enum queue_kind { UNBOUND, PER_CPU, ORDERED, BH };

static const enum queue_kind kinds[] = {
	UNBOUND, PER_CPU, ORDERED,
#ifdef HAVE_WQ_BH
	BH,
#endif
};

static void kind_describe(const enum queue_kind *kind, char *desc)
{
	static const char *const names[] = { "unbound", "per CPU", "ordered", "BH" };

	strscpy(desc, names[*kind], KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, kinds, kind_describe);

static int queue_init(struct kunit_resource *res, void *kind)
{
	switch (*(enum queue_kind *)kind) {
	case UNBOUND:
		res->data = alloc_workqueue("hwheel_unbound", WQ_UNBOUND, 0);
		break;
	case PER_CPU:
		res->data = alloc_workqueue("hwheel_per_cpu", 0, 0);
		break;
	case ORDERED:
		res->data = alloc_ordered_workqueue("hwheel_ordered", 0);
		break;
	case BH:
#ifdef HAVE_WQ_BH
		res->data = alloc_workqueue("hwheel_bh", WQ_BH, 0);
#endif
		break;
	}
	return res->data ? 0 : -ENOMEM;
}

static void queue_free(struct kunit_resource *res)
{
	destroy_workqueue(res->data);
}

/* Destroyed after the wheels that are made later */
static struct workqueue_struct *make_queue(struct kunit *test, enum queue_kind kind)
{
	struct workqueue_struct *queue;

	sim_needs_time(test);
	queue = kunit_alloc_resource(test, queue_init, queue_free, GFP_KERNEL, &kind);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	return queue;
}

/* In two places, as lockdep has a class for each, and softirqs need one of their own. */
static void init_work(struct sim_work *sim, struct hwheel *wheel,
		      struct workqueue_struct *queue, bool in_softirq)
{
	if (in_softirq)
		hwheel_work_init(&sim->work, wheel, queue, sim_run, sim_work_release);
	else
		hwheel_work_init(&sim->work, wheel, queue, sim_run, sim_work_release);
}

static bool is_softirq(const struct kunit *test)
{
	return test->param_value && *(const enum queue_kind *)test->param_value == BH;
}

static struct sim_work *make_works(struct kunit *test, struct hwheel *wheel,
				   struct workqueue_struct *queue, unsigned int nr)
{
	struct sim_work *sim = kunit_kcalloc(test, nr, sizeof(*sim), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, sim);
	for (i = 0; i < nr; i++)
		init_work(&sim[i], wheel, queue, is_softirq(test));
	return sim;
}

/* One that the test frees */
static struct sim_work *alloc_work(struct kunit *test, struct hwheel *wheel,
				   struct workqueue_struct *queue)
{
	struct sim_work *sim = kzalloc(sizeof(*sim), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sim);
	init_work(sim, wheel, queue, is_softirq(test));
	return sim;
}

/**
 * struct plug - keeps the items behind it on an ordered workqueue waiting
 * @work:  the item
 * @pull:  completed to let them go
 */
struct plug {
	struct work_struct	work;
	struct completion	pull;
};

static void plug_run(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct plug, work)->pull);
}

static void plug(struct plug *plug, struct workqueue_struct *queue)
{
	INIT_WORK_ONSTACK(&plug->work, plug_run);
	init_completion(&plug->pull);
	queue_work(queue, &plug->work);
}

static void unplug(struct plug *plug, struct workqueue_struct *queue)
{
	complete(&plug->pull);
	flush_workqueue(queue);
	destroy_work_on_stack(&plug->work);
}

/* It expires, and its function waits behind the plug. */
static void hand_over(struct kunit *test, struct sim_work *sim)
{
	struct hwheel *wheel = hwheel_of(&sim->work.timeout);
	unsigned int runs = sim->runs;

	KUNIT_ASSERT_EQ(test, hwheel_work_arm(&sim->work, 0), 0);
	sim_settle(wheel);
	KUNIT_ASSERT_EQ(test, sim->runs, runs);
	KUNIT_ASSERT_TRUE(test, hwheel_is_expired(&sim->work.timeout));
	KUNIT_EXPECT_TRUE(test, work_pending(&sim->work.work));
}

static void expect_ran(struct kunit *test, const struct sim_work *sim, u64 edge)
{
	u64 time = sim_edge_time(hwheel_of(&sim->work.timeout), edge);

	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_GE(test, sim->ran_ns, time);
	KUNIT_EXPECT_LT(test, sim->ran_ns, time + SIM_SETTLE);
}

/* When, and where */

static void look_where(struct sim_work *sim)
{
	*(bool *)sim->data = in_serving_softirq() || current_work() == &sim->work.work;
}

static void runs_at_its_edge(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, *(enum queue_kind *)test->param_value);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 200);
	unsigned int i;
	bool ok = false;

	sim[0].then = look_where;
	sim[0].data = &ok;
	for (i = 0; i < 200; i++) {
		u64 delay = i * 777777ULL, now = test_now(wheel);

		KUNIT_ASSERT_EQ(test, hwheel_work_arm(&sim[i].work, delay), 0);
		KUNIT_EXPECT_GE(test, hwheel_deadline(&sim[i].work.timeout), now + delay);
		sim[i].edge = sim_edge_due(wheel, hwheel_deadline(&sim[i].work.timeout));
		test_sleep(wheel, 3333333);
	}
	test_sleep(wheel, 200 * 777777ULL + 2 * SIM_TICK);
	flush_workqueue(queue);
	KUNIT_EXPECT_TRUE(test, ok);
	for (i = 0; i < 200; i++)
		expect_ran(test, &sim[i], sim[i].edge);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

/* More than the worker expires in one pass */
static void backlog_runs_once_each(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, UNBOUND);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = vzalloc(12345 * sizeof(*sim));
	unsigned int i, runs = 0;

	KUNIT_ASSERT_NOT_NULL(test, sim);
	for (i = 0; i < 12345; i++) {
		hwheel_work_init(&sim[i].work, wheel, queue, sim_run, NULL);
		KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim[i].work, 2 * SIM_TICK), 0);
	}
	sim_pass(wheel, 100);
	flush_workqueue(queue);
	for (i = 0; i < 12345; i++)
		runs += sim[i].runs == 1;
	KUNIT_EXPECT_EQ(test, runs, 12345);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).expired, 12345);
	vfree(sim);
}

static void sleep_5_ticks(struct sim_work *sim)
{
	test_sleep(hwheel_of(&sim->work.timeout), 5 * SIM_TICK);
	sim->data = sim;
}

/* Nor is it called overlong. */
static void slow_function_delays_no_timeout(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, UNBOUND);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *timeouts = sim_timeouts(test, wheel, 10, &sim_ops);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	u64 start = sim_edge_due(wheel, test_now(wheel)) + 2;
	unsigned int i;

	sim->then = sleep_5_ticks;
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, SIM_TICK), 0);
	for (i = 0; i < 10; i++)
		arm_edge(test, &timeouts[i], start + i / 2);
	sim_pass(wheel, start + 6);
	for (i = 0; i < 10; i++)
		sim_expect_fired(test, &timeouts[i], start + i / 2);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_NOT_NULL(test, sim->data);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).overlong, 0);
	flush_workqueue(queue);
}

/* @data: how often more */
static void arm_again(struct sim_work *sim)
{
	unsigned long left = (unsigned long)sim->data;

	if (!left)
		return;
	sim->data = (void *)(left - 1);
	WARN_ON(hwheel_work_arm(&sim->work, 0));
}

static void function_arms_again(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, *(enum queue_kind *)test->param_value);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);

	sim->then = arm_again;
	sim->data = (void *)4UL;
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), 0);
	test_sleep(wheel, 3 * SIM_TICK);
	flush_workqueue(queue);
	KUNIT_EXPECT_LE(test, sim->runs, 4);
	test_sleep(wheel, 7 * SIM_TICK);
	flush_workqueue(queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 5);
}

struct overlap {
	unsigned int running;
	unsigned int most;
};

static void arm_and_sleep(struct sim_work *sim)
{
	struct overlap *overlap = sim->data;

	overlap->most = max(overlap->most, ++overlap->running);
	if (sim->runs < 3)
		WARN_ON(hwheel_work_arm(&sim->work, 0));
	test_sleep(hwheel_of(&sim->work.timeout), 4 * SIM_TICK);
	overlap->running--;
}

static void runs_do_not_overlap(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, UNBOUND);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct overlap overlap = { };

	sim->then = arm_and_sleep;
	sim->data = &overlap;
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), 0);
	test_sleep(wheel, 30 * SIM_TICK);
	flush_workqueue(queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 3);
	KUNIT_EXPECT_EQ(test, overlap.most, 1);
}

/* Handed over */

static void handed_over_is_not_pending(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = 1,
	});
	struct sim_work *sim = make_works(test, wheel, queue, 2);
	struct plug stuck;

	plug(&stuck, queue);
	hand_over(test, sim);
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->work.timeout, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_refresh(&sim->work.timeout, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_TRUE(test, hwheel_is_expired(&sim->work.timeout));

	/* Another takes the only place, so this one cannot be pending again. */
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim[1].work, SIM_DAY), 0);
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim->work, SIM_DAY), -EDQUOT);
	KUNIT_EXPECT_TRUE(test, hwheel_work_cancel(&sim[1].work));
	unplug(&stuck, queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), 0);
	sim_settle(wheel);
	flush_workqueue(queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
}

static void cancel_takes_it_back(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct plug stuck;

	plug(&stuck, queue);
	hand_over(test, sim);
	KUNIT_EXPECT_TRUE(test, hwheel_work_cancel(&sim->work));
	KUNIT_EXPECT_FALSE(test, hwheel_work_cancel(&sim->work));
	KUNIT_EXPECT_TRUE(test, hwheel_is_cancelled(&sim->work.timeout));
	KUNIT_EXPECT_FALSE(test, work_pending(&sim->work.work));
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), -EBUSY);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	hand_over(test, sim);
	unplug(&stuck, queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_FALSE(test, hwheel_work_cancel(&sim->work));
}

static void mod_takes_it_back(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct plug stuck;

	plug(&stuck, queue);
	hand_over(test, sim);
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim->work, 20 * SIM_TICK), HWHEEL_WAS_PENDING);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 1);
	unplug(&stuck, queue);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->runs, 0);
	KUNIT_EXPECT_EQ(test, hwheel_work_mod_jiffies(&sim->work, jiffies + HZ),
			HWHEEL_WAS_PENDING);
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim->work, 10 * SIM_TICK), HWHEEL_WAS_PENDING);
	test_sleep(wheel, 9 * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim->runs, 0);
	test_sleep(wheel, 3 * SIM_TICK);
	flush_workqueue(queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_EQ(test, sim->released, 0);
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim->work, 0), HWHEEL_NOT_HELD);
	KUNIT_EXPECT_TRUE(test, hwheel_work_cancel(&sim->work));
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim->work, 0), HWHEEL_WAS_CANCELLED);
	sim_settle(wheel);
	flush_workqueue(queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	KUNIT_EXPECT_EQ(test, sim->released, 0);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).armed, 4);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).expired, 3);
}

/* The run that has begun goes on; the mod arms another. */
static void mod_beside_the_function_arms(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, UNBOUND);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);

	sim->then = sleep_5_ticks;
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), 0);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_FALSE(test, hwheel_work_cancel(&sim->work));
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim->work, 0), HWHEEL_NOT_HELD);
	test_sleep(wheel, 15 * SIM_TICK);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	flush_workqueue(queue);
}

/* The release op does not wait for the function, which has armed the work again. */
static void release_comes_beside_the_function(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, UNBOUND);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);

	sim->then = sleep_5_ticks;
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), 0);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, SIM_DAY), 0);
	KUNIT_EXPECT_TRUE(test, hwheel_work_cancel(&sim->work));
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_NULL(test, sim->data);
	flush_workqueue(queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
}

/* Freed */

static void free_it(struct sim_work *sim)
{
	kfree(sim);
}

static void function_may_free_its_work(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, *(enum queue_kind *)test->param_value);
	struct hwheel *wheel = sim_wheel(test);
	unsigned int i;

	for (i = 0; i < 50; i++) {
		struct sim_work *sim = alloc_work(test, wheel, queue);

		sim->then = free_it;
		KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, i * SIM_TICK / 8), 0);
	}
	test_sleep(wheel, 10 * SIM_TICK);
	flush_workqueue(queue);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).expired, 50);
}

static void free_released(struct hwheel_work *work)
{
	kfree(container_of(work, struct sim_work, work));
}

static void release_op_may_free_its_work(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim[2];
	struct plug stuck;
	unsigned int i;

	plug(&stuck, queue);
	for (i = 0; i < 2; i++) {
		sim[i] = alloc_work(test, wheel, queue);
		sim[i]->work.release = free_released;
	}
	hand_over(test, sim[0]);
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim[1]->work, SIM_DAY), 0);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_TRUE(test, hwheel_work_cancel(&sim[i]->work));
	sim_settle(wheel);
	unplug(&stuck, queue);
}

static void cancel_sync_frees_it(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *handed = alloc_work(test, wheel, queue);
	struct sim_work *pending = alloc_work(test, wheel, queue);
	struct sim_work *running = alloc_work(test, wheel, queue);
	struct plug stuck;

	running->then = sleep_5_ticks;
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&running->work, 0), 0);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, running->runs, 1);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&running->work), 0);
	KUNIT_EXPECT_NOT_NULL(test, running->data);
	kfree(running);

	plug(&stuck, queue);
	hand_over(test, handed);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&handed->work), 1);
	kfree(handed);
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&pending->work, SIM_DAY), 0);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&pending->work), 1);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&pending->work), 0);
	hand_over(test, pending);
	unplug(&stuck, queue);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&pending->work), 0);
	KUNIT_EXPECT_EQ(test, pending->runs, 1);
	kfree(pending);
	sim_settle(wheel);
}

struct results {
	int arm;
	int mod;
	int sync;
};

/* While another thread waits for it */
static void try_all(struct sim_work *sim)
{
	struct results *results = sim->data;

	results->sync = hwheel_work_cancel_sync(&sim->work);
	test_sleep(hwheel_of(&sim->work.timeout), 5 * SIM_TICK);
	results->arm = hwheel_work_arm(&sim->work, 0);
	results->mod = hwheel_work_mod(&sim->work, 0);
}

static void closed_work_cannot_be_armed(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, UNBOUND);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct results results = { };

	sim->then = try_all;
	sim->data = &results;
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), 0);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_EQ(test, results.sync, -EDEADLK);
	KUNIT_EXPECT_EQ(test, test_count_logged("own callback: work_expire"), 0);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&sim->work), 0);
	KUNIT_EXPECT_EQ(test, results.arm, -EBUSY);
	KUNIT_EXPECT_EQ(test, results.mod, -EBUSY);
	sim->then = NULL;
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim->work, 0), HWHEEL_NOT_HELD);
	sim_settle(wheel);
	flush_workqueue(queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);

	KUNIT_EXPECT_EQ(test, hwheel_work_shutdown_sync(&sim->work), 0);
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim->work, 0), -ESHUTDOWN);
	KUNIT_EXPECT_FALSE(test, hwheel_work_flush(&sim->work));
}

static void two_threads_take_it_back_once(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct canceller cancellers[2];
	struct plug stuck;
	unsigned int i;

	plug(&stuck, queue);
	hand_over(test, sim);
	for (i = 0; i < 2; i++)
		start_canceller(&cancellers[i], sim_of(&sim->work.timeout));
	for (i = 0; i < 2; i++)
		end_canceller(&cancellers[i]);
	KUNIT_EXPECT_EQ(test, cancellers[0].result + cancellers[1].result, 1);
	unplug(&stuck, queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 0);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
}

/* As with cancel_work_sync(), lockdep and the workqueue accept an item that may not flush. */
static void item_of_any_queue_waits(struct kunit *test)
{
	struct workqueue_struct *reclaim = alloc_workqueue("hwheel_reclaim",
							   WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	struct workqueue_struct *queues[] = { make_queue(test, UNBOUND), reclaim };
	struct hwheel *wheel = sim_wheel(test);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, reclaim);
	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		struct sim_work *sim = make_works(test, wheel, queues[i], 1);
		struct canceller canceller = { .sim = sim_of(&sim->work.timeout), .result = -1 };

		sim->then = sleep_5_ticks;
		KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), 0);
		sim_settle(wheel);
		INIT_WORK_ONSTACK(&canceller.work, cancel_sync_work);
		queue_work(reclaim, &canceller.work);
		flush_work(&canceller.work);
		destroy_work_on_stack(&canceller.work);
		KUNIT_EXPECT_EQ(test, canceller.result, 0);
		KUNIT_EXPECT_NOT_NULL(test, sim->data);
	}
	destroy_workqueue(reclaim);
}

/* In callbacks */

static void cancel_timeout(struct sim_work *sim)
{
	struct order *order = sim->data;

	test_sleep(hwheel_of(&sim->work.timeout), 3 * SIM_TICK);
	order->result = hwheel_cancel_sync(&order->other->timeout);
}

static void cancel_the_work(struct sim_timeout *sim)
{
	struct sim_work *work = sim->data;

	sim->data = ERR_PTR(hwheel_work_cancel_sync(&work->work));
}

static void callback_takes_one_back(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *timeout = sim_timeouts(test, wheel, 1, &sim_ops);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct plug stuck;

	plug(&stuck, queue);
	hand_over(test, sim);
	timeout->then = cancel_the_work;
	timeout->data = sim;
	KUNIT_EXPECT_EQ(test, hwheel_arm(&timeout->timeout, 0), 0);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, PTR_ERR(timeout->data), 1);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	unplug(&stuck, queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 0);
}

/* The function that it waits for waits for a drain, which only the worker can make. */
static void callback_waits_for_a_function_that_waits(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, UNBOUND);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *timeouts = sim_timeouts(test, wheel, 2, &sim_ops);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct order order = { .other = &timeouts[1], .result = -1 };

	arm_edge(test, &timeouts[1], FAR);
	sim->then = cancel_timeout;
	sim->data = &order;
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, 0), 0);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	timeouts[0].then = cancel_the_work;
	timeouts[0].data = sim;
	KUNIT_EXPECT_EQ(test, hwheel_arm(&timeouts[0].timeout, 0), 0);
	test_sleep(wheel, 10 * SIM_TICK);
	KUNIT_EXPECT_EQ(test, PTR_ERR(timeouts[0].data), 0);
	KUNIT_EXPECT_EQ(test, order.result, 1);
	flush_workqueue(queue);
}

/* Stopped */

static void stop_does_not_wait_for_functions(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 3);
	struct plug stuck;

	plug(&stuck, queue);
	hand_over(test, &sim[0]);
	hand_over(test, &sim[1]);
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim[2].work, SIM_DAY), 0);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 1);
	KUNIT_EXPECT_EQ(test, sim[2].released, 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);

	KUNIT_EXPECT_FALSE(test, hwheel_work_cancel(&sim[0].work));
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim[0].work, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim[0].work, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&sim[0].work), 1);
	KUNIT_EXPECT_EQ(test, sim[0].released, 1);
	unplug(&stuck, queue);
	KUNIT_EXPECT_EQ(test, sim[0].runs, 0);
	KUNIT_EXPECT_EQ(test, sim[1].runs, 1);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&sim[1].work), 0);
	KUNIT_EXPECT_EQ(test, sim[1].released, 0);
}

static void cancel_itself(struct hwheel_work *work)
{
	struct sim_work *sim = container_of(work, struct sim_work, work);

	sim->released++;
	sim->data = ERR_PTR(hwheel_work_cancel_sync(work));
}

/* The thread that waits for it calls its release op, which must not wait for that thread. */
static void release_op_of_a_stopped_wheel_is_refused(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct plug stuck;

	sim->work.release = cancel_itself;
	plug(&stuck, queue);
	hand_over(test, sim);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&sim->work), 1);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR(sim->data), -EDEADLK);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&sim->work), 0);
	unplug(&stuck, queue);
	KUNIT_EXPECT_EQ(test, sim->runs, 0);
}

static void stop_the_wheel(struct sim_work *sim)
{
	s64 stopped = hwheel_stop(hwheel_of(&sim->work.timeout), NULL, NULL);

	*(s64 *)sim->data = stopped;
}

static void function_may_stop_the_wheel(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, UNBOUND);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 2);
	s64 stopped = 0;

	sim->then = stop_the_wheel;
	sim->data = &stopped;
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim[0].work, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim[1].work, SIM_DAY), 0);
	sim_settle(wheel);
	flush_workqueue(queue);
	KUNIT_EXPECT_EQ(test, stopped, 1);
}

/* Flushed */

static void flush_has_it_run_at_the_next_edge(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct plug stuck;
	u64 start;

	KUNIT_EXPECT_FALSE(test, hwheel_work_flush(&sim->work));
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, SIM_DAY), 0);
	sim_settle(wheel);
	start = test_now(wheel);
	sim->then = sleep_5_ticks;
	KUNIT_EXPECT_TRUE(test, hwheel_work_flush(&sim->work));
	KUNIT_EXPECT_NOT_NULL(test, sim->data);
	KUNIT_EXPECT_LT(test, test_now(wheel), start + 6 * SIM_TICK + SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_FALSE(test, hwheel_work_flush(&sim->work));

	plug(&stuck, queue);
	hand_over(test, sim);
	complete(&stuck.pull);
	KUNIT_EXPECT_TRUE(test, hwheel_work_flush(&sim->work));
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	flush_workqueue(queue);
	destroy_work_on_stack(&stuck.work);
}

/* Bad input */

static void work_without_a_function_is_refused(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, UNBOUND);
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_work work;

	test_complaint_begin();
	hwheel_work_init(&work, wheel, queue, NULL, NULL);
	test_complaint_end();
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&work, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&work, 0), -EINVAL);
	test_complaint_begin();
	hwheel_work_init(&work, wheel, NULL, sim_run, NULL);
	test_complaint_end();
	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&work, 0), -EINVAL);
}

#ifdef CONFIG_DEBUG_OBJECTS_FREE
static unsigned int found_if_freed(struct sim_work *sim)
{
	unsigned int before = atomic_read(&hwheel_debug_found), found;

	test_complaint_begin();
	debug_check_no_obj_freed(&sim->work.timeout, sizeof(sim->work.timeout));
	test_complaint_end();
	found = atomic_read(&hwheel_debug_found) - before;
	if (found)
		hwheel_debug_reference(&sim->work.timeout);
	return found;
}

/* While it is handed over the workqueue holds it, which has debug objects of its own. */
static void pending_work_is_named_if_freed(struct kunit *test)
{
	struct workqueue_struct *queue = make_queue(test, ORDERED);
	struct hwheel *wheel = sim_wheel(test);
	struct sim_work *sim = make_works(test, wheel, queue, 1);
	struct plug stuck;

	KUNIT_EXPECT_EQ(test, hwheel_work_arm(&sim->work, SIM_DAY), 0);
	KUNIT_EXPECT_EQ(test, found_if_freed(sim), 1);
	KUNIT_EXPECT_TRUE(test, hwheel_work_cancel(&sim->work));
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, found_if_freed(sim), 0);
	plug(&stuck, queue);
	hand_over(test, sim);
	KUNIT_EXPECT_EQ(test, found_if_freed(sim), 0);
	KUNIT_EXPECT_EQ(test, hwheel_work_mod(&sim->work, SIM_DAY), HWHEEL_WAS_PENDING);
	KUNIT_EXPECT_EQ(test, found_if_freed(sim), 1);
	KUNIT_EXPECT_EQ(test, hwheel_work_cancel_sync(&sim->work), 1);
	KUNIT_EXPECT_EQ(test, found_if_freed(sim), 0);
	unplug(&stuck, queue);
}
#endif

static struct kunit_case work_cases[] = {
	KUNIT_CASE_PARAM(runs_at_its_edge, kind_gen_params),
	KUNIT_CASE(backlog_runs_once_each),
	KUNIT_CASE(slow_function_delays_no_timeout),
	KUNIT_CASE_PARAM(function_arms_again, kind_gen_params),
	KUNIT_CASE(runs_do_not_overlap),
	KUNIT_CASE(handed_over_is_not_pending),
	KUNIT_CASE(cancel_takes_it_back),
	KUNIT_CASE(mod_takes_it_back),
	KUNIT_CASE(mod_beside_the_function_arms),
	KUNIT_CASE(release_comes_beside_the_function),
	KUNIT_CASE_PARAM(function_may_free_its_work, kind_gen_params),
	KUNIT_CASE(release_op_may_free_its_work),
	KUNIT_CASE(cancel_sync_frees_it),
	KUNIT_CASE(closed_work_cannot_be_armed),
	KUNIT_CASE(two_threads_take_it_back_once),
	KUNIT_CASE(item_of_any_queue_waits),
	KUNIT_CASE(callback_takes_one_back),
	KUNIT_CASE(callback_waits_for_a_function_that_waits),
	KUNIT_CASE(stop_does_not_wait_for_functions),
	KUNIT_CASE(release_op_of_a_stopped_wheel_is_refused),
	KUNIT_CASE(function_may_stop_the_wheel),
	KUNIT_CASE(flush_has_it_run_at_the_next_edge),
	KUNIT_CASE(work_without_a_function_is_refused),
#ifdef CONFIG_DEBUG_OBJECTS_FREE
	KUNIT_CASE(pending_work_is_named_if_freed),
#endif
	{}
};

static struct kunit_suite work_suite = {
	.name = "hwheel_work",
	.test_cases = work_cases,
};

kunit_test_suite(work_suite);
