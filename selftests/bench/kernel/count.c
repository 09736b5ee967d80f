// SPDX-License-Identifier: GPL-2.0-only
/*
 * What steps and whole lives take: so many instructions, or ns.
 *
 * All objects take a step before any of them takes the next one. Callers' steps are
 * measured with interrupts off; those of the worker and of the interrupts that expire timers
 * can't be. What these take for one object is subtracted: in it are the waking up, the
 * interrupt and the clock reads, which there are once for however many. The least of several
 * rounds counts, as other interrupts add to it.
 *
 * Arms that a step waits for count for the life only, not as a step.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../row.h"
#include "bench.h"

static const struct bench_kind * const kinds[] = {
	&bench_hwheel, &bench_timer_list, &bench_hrtimer, &bench_delayed_work,
	&bench_hwheel_work, &bench_hierarchical,
};

/* The last one takes as long as hwheel, and is not shown in ns. */
#define NR_KINDS	(ARRAY_SIZE(kinds) - IS_ENABLED(CONFIG_UML))

/**
 * struct count - what was measured for a kind of timer
 * @one:  what there is in a step for one object, where that is to be subtracted
 * @step: the least that it takes for all; U64_MAX if it was not measured
 * @life: the least that whole lives take
 */
struct count {
	u64	one[BENCH_STEPS];
	u64	step[BENCH_STEPS];
	u64	life[BENCH_LIVES];
};

static struct count counts[ARRAY_SIZE(kinds)];

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
static bool counts_alone(const struct bench_life *life, unsigned int i)
{
	const enum bench_step *step = &life->steps[i];

	return life->brief ? step[1] == BENCH_END : !i || step[0] != step[-1];
}

static int live(const struct bench_kind *kind, struct count *count, unsigned int nr)
{
	const struct bench_life *life = &bench_lives[nr];
	const enum bench_step *step = life->steps;
	u64 total = 0;
	unsigned int i;

	for (i = 0; step[i]; i++) {
		s64 took;

		if (lacks(kind, step[i]))
			continue;
		took = bench_take_step(kind, step[i], i, life->brief);
		if (took < 0)
			return took;
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
static bool can_live(const struct bench_kind *kind, const struct bench_life *life)
{
	const enum bench_step *step;

	for (step = life->steps; *step; step++)
		if (lacks(kind, *step) && !bench_steps[*step].worker)
			return false;
	return true;
}

static int begin(const struct bench_kind *kind, bool limited)
{
	int err = kind->begin ? kind->begin(limited) : 0;

	if (!err && kind->init)
		bench_for_each(kind->init);
	return err;
}

static void end(const struct bench_kind *kind)
{
	if (kind->stop)
		bench_for_each(kind->stop);
	if (kind->end)
		kind->end();
}

static int live_all(const struct bench_kind *kind, struct count *count)
{
	unsigned int nr;
	int err;

	for (nr = 0; nr < BENCH_LIVES; nr++) {
		if (!can_live(kind, &bench_lives[nr]))
			continue;
		err = begin(kind, bench_lives[nr].steps[0] == BENCH_ARM_LIMITED);
		if (err)
			return err;
		err = live(kind, count, nr);
		end(kind);
		if (err && !(BENCH_MAY_BE_LATE && bench_lives[nr].brief))
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
	bench_objects_layout(kind, n);
	while (rounds-- && !err)
		err = live_all(kind, count);
	return err;
}

static void keep_one(struct count *count)
{
	unsigned int step;

	for (step = 0; step < BENCH_STEPS; step++)
		if (bench_steps[step].fixed && count->step[step] != U64_MAX)
			count->one[step] = count->step[step];
}

int bench_count(unsigned int n, unsigned int rounds)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < NR_KINDS && !err; i++) {
		err = measure(kinds[i], &counts[i], 1, BENCH_ROUNDS_OF_ONE);
		keep_one(&counts[i]);
		if (!err)
			err = measure(kinds[i], &counts[i], n, rounds);
	}
	return err;
}

static void show(struct seq_file *file, const char *group, const char *name,
		 const struct bench_kind *kind, u64 took)
{
	if (took != U64_MAX)
		row_show(file, group, name, kind->name, bench_n, BENCH_UNIT,
			 div_u64(took * 1000, bench_n));
}

/* If much was subtracted from it, what is left is too little to be told from that. */
static bool is_doubtful(const struct count *count, enum bench_step step)
{
	return count->step[step] < count->one[step] * 4;
}

static bool is_life_doubtful(const struct count *count, const struct bench_life *life)
{
	const enum bench_step *step;

	for (step = life->steps; *step; step++)
		if (is_doubtful(count, *step))
			return true;
	return false;
}

static void show_kind(struct seq_file *file, const struct bench_kind *kind,
		      const struct count *count)
{
	unsigned int i;

	for (i = BENCH_END + 1; i < BENCH_STEPS; i++)
		if (!is_doubtful(count, i))
			show(file, BENCH_OPERATION, bench_steps[i].name, kind, count->step[i]);
	for (i = 0; i < BENCH_LIVES; i++)
		if (bench_lives[i].name && !is_life_doubtful(count, &bench_lives[i]))
			show(file, BENCH_LIFE, bench_lives[i].name, kind,
			     count->life[i]);
}

void bench_show(struct seq_file *file)
{
	unsigned int i;

	for (i = 0; i < NR_KINDS; i++) {
		show_kind(file, kinds[i], &counts[i]);
		if (!IS_ENABLED(CONFIG_UML))
			row_show(file, "memory.", "in_kernel", kinds[i]->name, 1, "bytes",
				 kinds[i]->size * 1000);
	}
}
