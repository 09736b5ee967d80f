// SPDX-License-Identifier: GPL-2.0-only
/*
 * hrtimer's operations.
 */
#include "../../module/compat.h"
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

static void init(union bench_object *object)
{
	hrtimer_setup(&object->hrtimer, on_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}

static enum hrtimer_restart expire_and_rearm(struct hrtimer *hrtimer)
{
	bench_mix_expired++;
	hrtimer_forward_now(hrtimer, bench_mix_delay(hrtimer));
	return HRTIMER_RESTART;
}

static void init_mix(union bench_object *object)
{
	hrtimer_setup(&object->hrtimer, expire_and_rearm, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}

static void stop(union bench_object *object)
{
	hrtimer_cancel(&object->hrtimer);
}

static bool is_pending(const union bench_object *object)
{
	return hrtimer_active(&object->hrtimer);
}

const struct bench_kind bench_hrtimer = {
	.name		= "hrtimer",
	.size		= sizeof(struct hrtimer),
	.init		= init,
	.init_mix	= init_mix,
	.stop		= stop,
	.is_pending	= is_pending,
	.step		= BENCH_PEER_STEPS(arm, arm_at, arm, arm_at, arm_at, cancel),
};
