// SPDX-License-Identifier: GPL-2.0-only
/*
 * delayed_work's operations. Its timer only hands it over to a workqueue: it has expired
 * when the work was done. There is no absolute form, so who knows when subtracts.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>

#include "../compat.h"
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

static s64 expire(void)
{
	return bench_time_expiry(bench_n, bench_first_due, bench_last_due);
}

static int begin(bool limited)
{
	unsigned int i;

	queue = alloc_workqueue("hwheel_bench", WQ_PERCPU, 0);
	if (!queue)
		return -ENOMEM;
	for (i = 0; i < bench_n; i++)
		INIT_DELAYED_WORK(&bench_object(i)->work, on_work);
	return 0;
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < bench_n; i++)
		cancel_delayed_work(&bench_object(i)->work);
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
	.begin		= begin,
	.end		= end,
	.is_pending	= is_pending,
	.step		= {
		[BENCH_ARM]			= arm,
		[BENCH_ARM_AT]			= arm_at,
		[BENCH_REFRESH_LATER]		= refresh_at,
		[BENCH_REFRESH_LATER_IN]	= refresh,
		[BENCH_REFRESH_EARLIER]		= refresh_at,
		[BENCH_CANCEL_QUEUED]		= cancel,
		[BENCH_CANCEL_FILED]		= cancel,
		[BENCH_EXPIRE]			= expire,
	},
};
