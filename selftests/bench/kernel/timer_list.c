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

static void init(union bench_object *object)
{
	timer_setup(&object->timer, on_timer, 0);
}

static void expire_and_rearm(struct timer_list *timer)
{
	bench_mix_expired++;
	mod_timer(timer, jiffies + bench_mix_delay(timer));
}

static void init_mix(union bench_object *object)
{
	timer_setup(&object->timer, expire_and_rearm, 0);
}

static void stop(union bench_object *object)
{
	timer_delete_sync(&object->timer);
}

static bool is_pending(const union bench_object *object)
{
	return timer_pending(&object->timer);
}

const struct bench_kind bench_timer_list = {
	.name		= "timer_list",
	.in_jiffies	= true,
	.size		= sizeof(struct timer_list),
	.init		= init,
	.init_mix	= init_mix,
	.stop		= stop,
	.is_pending	= is_pending,
	.step		= BENCH_PEER_STEPS(arm, arm_at, arm, arm_at, arm_at, cancel),
};
