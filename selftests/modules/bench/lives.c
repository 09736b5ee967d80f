// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lives of timers, step by step: what each step takes, and what the whole life does.
 *
 * All objects take a step before any of them takes the next one. Callers' steps are
 * measured with interrupts off; those of the worker and of the interrupts that expire timers
 * can't be. What these take for one object is subtracted: in it are the waking up, the
 * interrupt and the clock reads, which there are once for however many. The least of several
 * rounds counts, as other interrupts add to it.
 *
 * A life in which timers expire is a short one; what else is measured in it counts for the
 * life only.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "bench.h"

/* Deadlines, the first one of many that are spread; a refresh makes all of them later. */
#define FAR		(64 * BENCH_TICK)
#define EARLIER		(32 * BENCH_TICK)
#define LATER_BY	(16 * BENCH_TICK)
#define SPREAD		(256 * BENCH_TICK)

/* Short lives: from when the last one has been armed, however many there are */
#define SOON		(50 * NSEC_PER_MSEC + bench_n * NSEC_PER_USEC)
#define SOON_SPREAD	(2 * NSEC_PER_MSEC)

/* A timer_list that is farther away may be late by this part of its delay. */
#define TIMER_LIST_LATE	8

#define STEPS_MAX	16
#define ROUNDS_OF_ONE	5

/**
 * struct step_info - what is known about a step
 * @name:     in the results
 * @delay:    of the first object, if it gives them times
 * @later:    and how much later they are with each step before it
 * @absolute: which are absolute times then
 * @after:    whether the objects are pending after it
 * @fixed:    there is something in it that does not depend on how many there are
 * @worker:   others than hwheel do without
 */
struct step_info {
	const char	*name;
	u64		delay;
	u64		later;
	bool		absolute;
	bool		after;
	bool		fixed;
	bool		worker;
};

static const struct step_info infos[BENCH_STEPS] = {
	[BENCH_ARM] = {
		.name = "arm", .delay = FAR, .after = true,
	},
	[BENCH_ARM_AT] = {
		.name = "arm_at", .delay = FAR, .absolute = true, .after = true,
	},
	[BENCH_ARM_LIMITED] = {
		.name = "arm_limited", .delay = FAR, .after = true,
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

/**
 * struct life - steps in a row
 * @name:  in the results; NULL if it is there for its steps only
 * @brief: timers get deadlines that are waited for
 * @steps: BENCH_END behind the last one
 */
struct life {
	const char	*name;
	bool		brief;
	enum bench_step	steps[STEPS_MAX];
};

static const struct life lives[] = {
	{
		.name = "arm_cancel_queued",
		.steps = { BENCH_ARM, BENCH_CANCEL_QUEUED, BENCH_DROP },
	}, {
		.name = "arm_at_cancel_queued",
		.steps = { BENCH_ARM_AT, BENCH_CANCEL_QUEUED, BENCH_DROP },
	}, {
		.name = "arm_cancel_filed",
		.steps = { BENCH_ARM, BENCH_DRAIN, BENCH_CANCEL_FILED, BENCH_UNLINK },
	}, {
		.name = "arm_at_cancel_filed",
		.steps = { BENCH_ARM_AT, BENCH_DRAIN, BENCH_CANCEL_FILED, BENCH_UNLINK },
	}, {
		.name = "arm_expire", .brief = true,
		.steps = { BENCH_ARM, BENCH_DRAIN, BENCH_EXPIRE },
	}, {
		.name = "arm_at_expire", .brief = true,
		.steps = { BENCH_ARM_AT, BENCH_DRAIN, BENCH_EXPIRE },
	}, {
		.name = "refresh10_cancel",
		.steps = { BENCH_ARM_AT, BENCH_DRAIN,
			   BENCH_REFRESH_LATER, BENCH_REFRESH_LATER, BENCH_REFRESH_LATER,
			   BENCH_REFRESH_LATER, BENCH_REFRESH_LATER, BENCH_REFRESH_LATER,
			   BENCH_REFRESH_LATER, BENCH_REFRESH_LATER, BENCH_REFRESH_LATER,
			   BENCH_REFRESH_LATER, BENCH_CANCEL_FILED, BENCH_UNLINK },
	}, {
		.steps = { BENCH_ARM_AT, BENCH_DRAIN, BENCH_REFRESH_LATER_IN,
			   BENCH_REFRESH_EARLIER, BENCH_MOVE },
	}, {
		.steps = { BENCH_ARM_LIMITED, BENCH_REFRESH_EARLIER_QUEUED },
	}, {
		.brief = true,
		.steps = { BENCH_ARM_AT, BENCH_DRAIN, BENCH_REFILE },
	},
};

static const struct bench_kind * const kinds[] = {
	&bench_hwheel, &bench_timer_list, &bench_hrtimer, &bench_delayed_work,
};

/**
 * struct count - what was measured for a kind of timer
 * @one:  what there is in a step for one object, where that is to be subtracted
 * @step: the least that it takes for all; U64_MAX if it was not measured
 * @life: the same, of whole lives
 */
struct count {
	u64	one[BENCH_STEPS];
	u64	step[BENCH_STEPS];
	u64	life[ARRAY_SIZE(lives)];
};

static struct count counts[ARRAY_SIZE(kinds)];

u64 bench_first_due, bench_last_due;

/* Deadlines that are waited for: the wait must not begin before the last was given. */
static s64 take_brief_step(const struct bench_kind *kind, enum bench_step step)
{
	bool absolute = infos[step].absolute;
	u64 armed, now = ktime_get_ns();
	s64 took;

	bench_set_times(kind, absolute, SOON, SOON_SPREAD);
	armed = ktime_get_ns();
	took = kind->step[step]();
	if (!absolute)
		armed = ktime_get_ns();
	bench_first_due = now + SOON;
	bench_last_due = armed + SOON + SOON_SPREAD;
	if (kind->in_jiffies)
		bench_last_due += SOON / TIMER_LIST_LATE;
	return took;
}

static s64 take_step(const struct bench_kind *kind, const struct life *life, unsigned int i)
{
	const struct step_info *info = &infos[life->steps[i]];
	enum bench_step step = life->steps[i];

	if (info->delay && life->brief)
		return take_brief_step(kind, step);
	if (info->delay)
		bench_set_times(kind, info->absolute, info->delay + i * info->later, SPREAD);
	return kind->step[step]();
}

/* What went wrong would be measured, too. */
static int expect_pending(const struct bench_kind *kind, enum bench_step step)
{
	unsigned int i;

	for (i = 0; i < bench_n; i++) {
		if (kind->is_pending(&bench_objects[i]) == infos[step].after)
			continue;
		pr_err("%s %s: not done to all\n", kind->name, infos[step].name);
		return -EIO;
	}
	return 0;
}

/* For all objects, without what there is once however many there are */
static u64 net(const struct count *count, enum bench_step step, u64 took)
{
	u64 one = count->one[step];

	if (!one)
		return took;
	return div_u64((took - min(took, one)) * bench_n, bench_n - 1);
}

static bool lacks(const struct bench_kind *kind, enum bench_step step)
{
	return step != BENCH_END && !kind->step[step];
}

/* Or for the life only? As when the same is done again. */
static bool counts_alone(const struct life *life, unsigned int i)
{
	const enum bench_step *step = &life->steps[i];

	return life->brief ? step[1] == BENCH_END : !i || step[0] != step[-1];
}

static int live(const struct bench_kind *kind, struct count *count, unsigned int nr)
{
	const struct life *life = &lives[nr];
	const enum bench_step *step = life->steps;
	u64 total = 0;
	unsigned int i;

	for (i = 0; step[i]; i++) {
		s64 took;
		int err;

		if (lacks(kind, step[i]))
			continue;
		took = take_step(kind, life, i);
		if (took < 0)
			pr_err("%s %s: error %lld\n", kind->name, infos[step[i]].name, took);
		err = took < 0 ? took : expect_pending(kind, step[i]);
		if (err)
			return err;
		took = net(count, step[i], took);
		total += took;
		if (counts_alone(life, i))
			count->step[step[i]] = min_t(u64, count->step[step[i]], took);
	}
	count->life[nr] = min(count->life[nr], total);
	cond_resched();
	return 0;
}

/* Only hwheel has a worker. */
static bool can_live(const struct bench_kind *kind, const struct life *life)
{
	const enum bench_step *step;

	for (step = life->steps; *step; step++)
		if (lacks(kind, *step) && !infos[*step].worker)
			return false;
	return true;
}

static int live_all(const struct bench_kind *kind, struct count *count)
{
	unsigned int nr;
	int err;

	for (nr = 0; nr < ARRAY_SIZE(lives); nr++) {
		if (!can_live(kind, &lives[nr]))
			continue;
		err = kind->begin(lives[nr].steps[0] == BENCH_ARM_LIMITED);
		if (err)
			return err;
		err = live(kind, count, nr);
		kind->end();
		if (err)
			return err;
	}
	return 0;
}

static int measure(const struct bench_kind *kind, struct count *count, unsigned int n,
		   unsigned int rounds)
{
	int err = 0;

	memset(count->step, U8_MAX, sizeof(count->step));
	memset(count->life, U8_MAX, sizeof(count->life));
	bench_n = n;
	while (rounds-- && !err)
		err = live_all(kind, count);
	return err;
}

static void keep_one(struct count *count)
{
	unsigned int step;

	for (step = 0; step < BENCH_STEPS; step++)
		if (infos[step].fixed && count->step[step] != U64_MAX)
			count->one[step] = count->step[step];
}

int bench_lives_run(unsigned int n, unsigned int rounds)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(kinds) && !err; i++) {
		err = measure(kinds[i], &counts[i], 1, ROUNDS_OF_ONE);
		keep_one(&counts[i]);
		if (!err)
			err = measure(kinds[i], &counts[i], n, rounds);
	}
	return err;
}

static void show(struct seq_file *file, const char *group, const char *name,
		 const char *kind, u64 took)
{
	u64 tenths = div_u64(took * 10 + bench_n / 2, bench_n);
	u32 tenth;

	if (took == U64_MAX)
		return;
	tenths = div_u64_rem(tenths, 10, &tenth);
	seq_printf(file, "bench %s.%s %s %u instructions %llu.%u\n", group, name, kind, bench_n,
		   tenths, tenth);
}

/* "bench METRIC IMPL N UNIT VALUE", one per line */
void bench_lives_show(struct seq_file *file)
{
	unsigned int kind, i;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		for (i = BENCH_END + 1; i < BENCH_STEPS; i++)
			show(file, "op", infos[i].name, kinds[kind]->name, counts[kind].step[i]);
		for (i = 0; i < ARRAY_SIZE(lives); i++)
			if (lives[i].name)
				show(file, "life", lives[i].name, kinds[kind]->name,
				     counts[kind].life[i]);
	}
}
