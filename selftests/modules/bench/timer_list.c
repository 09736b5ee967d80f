// SPDX-License-Identifier: GPL-2.0-only
/*
 * timer_list's operations.
 */
#include <linux/jiffies.h>

#include "bench.h"

static void on_timer(struct timer_list *timer)
{
	bench_fired();
}

static s64 arm(void)
{
	return BENCH_TIMED(mod_timer(&object->timer, jiffies + *time));
}

static s64 arm_at(void)
{
	return BENCH_TIMED(mod_timer(&object->timer, *time));
}

static s64 cancel(void)
{
	return BENCH_TIMED(timer_delete(&object->timer));
}

static s64 expire(void)
{
	return bench_time_expiry(bench_n, bench_first_due, bench_last_due);
}

static int begin(bool limited)
{
	unsigned int i;

	for (i = 0; i < bench_n; i++)
		timer_setup(&bench_object(i)->timer, on_timer, 0);
	return 0;
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < bench_n; i++)
		timer_delete_sync(&bench_object(i)->timer);
}

static bool is_pending(const union bench_object *object)
{
	return timer_pending(&object->timer);
}

const struct bench_kind bench_timer_list = {
	.name		= "timer_list",
	.in_jiffies	= true,
	.size		= sizeof(struct timer_list),
	.begin		= begin,
	.end		= end,
	.is_pending	= is_pending,
	.step		= {
		[BENCH_ARM]			= arm,
		[BENCH_ARM_AT]			= arm_at,
		[BENCH_REFRESH_LATER]		= arm_at,
		[BENCH_REFRESH_LATER_IN]	= arm,
		[BENCH_REFRESH_EARLIER]		= arm_at,
		[BENCH_CANCEL_QUEUED]		= cancel,
		[BENCH_CANCEL_FILED]		= cancel,
		[BENCH_EXPIRE]			= expire,
	},
};
