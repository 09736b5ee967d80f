// SPDX-License-Identifier: GPL-2.0-only
/*
 * hrtimer's operations.
 */
#include "../compat.h"
#include "bench.h"

static enum hrtimer_restart on_hrtimer(struct hrtimer *hrtimer)
{
	bench_fired();
	return HRTIMER_NORESTART;
}

static s64 arm(void)
{
	return BENCH_TIMED(hrtimer_start(&object->hrtimer, *time, HRTIMER_MODE_REL));
}

static s64 arm_at(void)
{
	return BENCH_TIMED(hrtimer_start(&object->hrtimer, *time, HRTIMER_MODE_ABS));
}

static s64 cancel(void)
{
	return BENCH_TIMED(hrtimer_try_to_cancel(&object->hrtimer));
}

static s64 expire(void)
{
	return bench_time_expiry(bench_n, bench_first_due, bench_last_due);
}

static void prepare(struct hrtimer *hrtimer)
{
	hrtimer_setup(hrtimer, on_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}

static int begin(bool limited)
{
	unsigned int i;

	for (i = 0; i < bench_n; i++)
		prepare(&bench_object(i)->hrtimer);
	return 0;
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < bench_n; i++)
		hrtimer_cancel(&bench_object(i)->hrtimer);
}

static bool is_pending(const union bench_object *object)
{
	return hrtimer_active(&object->hrtimer);
}

const struct bench_kind bench_hrtimer = {
	.name		= "hrtimer",
	.size		= sizeof(struct hrtimer),
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
