// SPDX-License-Identifier: GPL-2.0-only
/*
 * delayed_work's operations. Its timer only hands it over to a workqueue: it has expired
 * when the work was done. There is no absolute form, so who knows when subtracts.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>

#include "../../module/compat.h"
#include "bench.h"

static struct workqueue_struct *queue;

static void on_work(struct work_struct *work)
{
	bench_fired();
}

static s64 arm(void)
{
	return BENCH_TIMED(queue_delayed_work(queue, &object->work, *time));
}

static s64 arm_at(void)
{
	return BENCH_TIMED(queue_delayed_work(queue, &object->work, *time - jiffies));
}

static s64 refresh(void)
{
	return BENCH_TIMED(mod_delayed_work(queue, &object->work, *time));
}

static s64 refresh_at(void)
{
	return BENCH_TIMED(mod_delayed_work(queue, &object->work, *time - jiffies));
}

static s64 cancel(void)
{
	return BENCH_TIMED(cancel_delayed_work(&object->work));
}

static void init(union bench_object *object)
{
	INIT_DELAYED_WORK(&object->work, on_work);
}

static int begin(bool limited)
{
	queue = alloc_workqueue("hwheel_bench", WQ_PERCPU, 0);
	return queue ? 0 : -ENOMEM;
}

static void stop(union bench_object *object)
{
	cancel_delayed_work(&object->work);
}

static void end(void)
{
	destroy_workqueue(queue);
}

static bool is_pending(const union bench_object *object)
{
	return delayed_work_pending(&object->work);
}

const struct bench_kind bench_delayed_work = {
	.name		= "delayed_work",
	.in_jiffies	= true,
	.size		= sizeof(struct delayed_work),
	.init		= init,
	.stop		= stop,
	.begin		= begin,
	.end		= end,
	.is_pending	= is_pending,
	.step		= BENCH_PEER_STEPS(arm, arm_at, refresh, refresh_at, refresh_at, cancel),
};
