// SPDX-License-Identifier: GPL-2.0-only
/*
 * A step: something that is done to all objects, with times that suit it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/printk.h>

#include "bench.h"

/* Deadlines, in ticks, the first one of many that are spread; a refresh makes all later. */
#define FAR		64
#define EARLIER		32
#define LATER_BY	16
#define SPREAD		256

#define SOON_SPREAD	(2 * NSEC_PER_MSEC)

/* A timer_list that is farther away may be late by this part of its delay. */
#define TIMER_LIST_LATE	8

const struct bench_step_info bench_steps[BENCH_STEPS] = {
	[BENCH_ARM] = {
		.name = "arm", .delay = FAR, .after = true,
	},
	[BENCH_ARM_AT] = {
		.name = "arm_at", .delay = FAR, .absolute = true, .after = true,
	},
	[BENCH_ARM_LIMITED] = {
		.name = "arm_limited", .delay = FAR, .after = true,
	},
	[BENCH_MOD_AT] = {
		.name = "mod_at", .delay = FAR, .absolute = true, .after = true,
	},
	[BENCH_MOD_JIFFIES] = {
		.name = "mod_jiffies", .delay = FAR, .absolute = true, .after = true,
	},
	[BENCH_MOD_JIFFIES_LATER] = {
		.name = "mod_jiffies_later", .delay = FAR, .later = LATER_BY, .absolute = true,
		.after = true,
	},
	[BENCH_MOD_LATER] = {
		.name = "mod_later", .delay = FAR, .later = LATER_BY, .absolute = true,
		.after = true,
	},
	[BENCH_REFRESH_LATER] = {
		.name = "refresh_later", .delay = FAR, .later = LATER_BY, .absolute = true,
		.after = true,
	},
	[BENCH_REFRESH_LATER_IN] = {
		.name = "refresh_later_relative", .delay = FAR, .later = LATER_BY, .after = true,
	},
	[BENCH_REFRESH_EARLIER] = {
		.name = "refresh_earlier", .delay = EARLIER, .absolute = true, .after = true,
	},
	[BENCH_REFRESH_EARLIER_QUEUED] = {
		.name = "refresh_earlier_queued", .delay = EARLIER, .absolute = true,
		.after = true,
	},
	[BENCH_CANCEL_QUEUED] = { .name = "cancel_queued" },
	[BENCH_CANCEL_FILED] = { .name = "cancel_filed" },
	[BENCH_DRAIN] = { .name = "drain", .after = true, .fixed = true, .worker = true },
	[BENCH_MOVE] = { .name = "move", .after = true, .fixed = true, .worker = true },
	[BENCH_DROP] = { .name = "drop", .fixed = true, .worker = true },
	[BENCH_UNLINK] = { .name = "unlink", .fixed = true, .worker = true },
	[BENCH_REFILE] = { .name = "refile", .after = true, .fixed = true },
	[BENCH_EXPIRE] = { .name = "expire", .fixed = true },
};

/* When those that were armed to be waited for are due, at the earliest and at the latest */
u64 bench_first_due, bench_last_due;

static s64 arm_soon(const struct bench_kind *kind, enum bench_step step)
{
	bool absolute = bench_steps[step].absolute;
	u64 armed, now = ktime_get_ns();
	s64 took;

	bench_set_times(kind, absolute, BENCH_SOON, SOON_SPREAD);
	armed = ktime_get_ns();
	took = kind->step[step]();
	if (!absolute)
		armed = ktime_get_ns();
	bench_first_due = now + BENCH_SOON;
	bench_last_due = armed + BENCH_SOON + SOON_SPREAD;
	if (kind->in_jiffies)
		bench_last_due += BENCH_SOON / TIMER_LIST_LATE;
	return took;
}

static s64 take(const struct bench_kind *kind, enum bench_step step, unsigned int before,
		bool soon)
{
	const struct bench_step_info *info = &bench_steps[step];

	if (info->delay && soon)
		return arm_soon(kind, step);
	if (info->delay)
		bench_set_times(kind, info->absolute,
				(info->delay + before * info->later) * BENCH_TICK,
				SPREAD * BENCH_TICK);
	return kind->step[step]();
}

/* A step that went wrong would be measured, too. */
static int expect_pending(const struct bench_kind *kind, bool pending)
{
	unsigned int i;

	for (i = 0; i < bench_n; i++)
		if (kind->is_pending(bench_object(i)) != pending)
			return -EIO;
	return 0;
}

/*
 * Has a kind of timer take a step, with so many steps before it; or, if it arms, with
 * deadlines that are waited for. Returns how long that took, or an error.
 */
s64 bench_take_step(const struct bench_kind *kind, enum bench_step step, unsigned int before,
		    bool soon)
{
	s64 took = take(kind, step, before, soon);

	if (took >= 0)
		took = expect_pending(kind, bench_steps[step].after) ?: took;
	if (took < 0)
		pr_err("%s %s: error %lld\n", kind->name, bench_steps[step].name, took);
	return took;
}
