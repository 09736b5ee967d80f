/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BENCH_H
#define _BENCH_H

#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/hwheel.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "clock.h"

/**
 * union bench_object - a timer, of any kind
 *
 * Each has cache lines of its own, as it would in the object that it is for; and no more
 * than its kind needs.
 */
union bench_object {
	struct hwheel_timeout	timeout;
	struct hwheel_work	hwheel_work;	/* begins with its timeout */
	struct timer_list	timer;
	struct hrtimer		hrtimer;
	struct delayed_work	work;
};

/* A step with all objects, one after the other. The worker is hwheel's. */
enum bench_step {
	BENCH_END,
	BENCH_ARM,
	BENCH_ARM_AT,
	BENCH_MOD_JIFFIES,	/* arms */
	BENCH_MOD_AT,		/* arms */
	BENCH_ARM_LIMITED,	/* on a wheel with max_pending */
	BENCH_MOD_LATER,	/* moves */
	BENCH_MOD_JIFFIES_LATER,	/* moves */
	BENCH_REFRESH_LATER,	/* absolute, as are all whose name says nothing else */
	BENCH_REFRESH_LATER_IN,	/* relative */
	BENCH_REFRESH_EARLIER,
	BENCH_REFRESH_EARLIER_QUEUED,
	BENCH_CANCEL_QUEUED,
	BENCH_CANCEL_FILED,
	BENCH_DRAIN,		/* worker: file what was armed */
	BENCH_MOVE,		/* worker: file again what was refreshed to an earlier time */
	BENCH_DROP,		/* worker: what was cancelled while queued */
	BENCH_UNLINK,		/* worker: what was cancelled when filed */
	BENCH_REFILE,		/* worker: look at what was refreshed to a later time */
	BENCH_EXPIRE,		/* worker or interrupts, with an empty callback */
	BENCH_STEPS,
};

/* Returns how long it took, or an error. */
typedef s64 (bench_step_t)(void);

/**
 * struct bench_kind - a kind of timer
 * @name:       of it
 * @in_jiffies: times are jiffies, otherwise ns
 * @size:       of one in bytes
 * @init:       makes an object idle, if @begin does not
 * @init_mix:   optional: makes one whose callback arms it again, see mix in common.c
 * @stop:       ends one, if @end does not
 * @begin:      optional: creates what they share; a wheel with a limit, if asked for one
 * @end:        undoes that
 * @is_pending: to see whether something was done
 * @worker:     its thread, of kinds that have one
 * @step:       does it to all objects; NULL if there is no such thing
 */
struct bench_kind {
	const char	*name;
	bool		in_jiffies;
	size_t		size;
	void		(*init)(union bench_object *object);
	void		(*init_mix)(union bench_object *object);
	void		(*stop)(union bench_object *object);
	int		(*begin)(bool limited);
	void		(*end)(void);
	bool		(*is_pending)(const union bench_object *object);
	struct task_struct *(*worker)(void);
	bench_step_t	*step[BENCH_STEPS];
};

/* The steps of a kind that has no worker */
#define BENCH_PEER_STEPS(arm, arm_at, later_in, later, earlier, cancel)		\
{										\
	[BENCH_ARM]					= arm,			\
	[BENCH_ARM_AT ... BENCH_MOD_AT]			= arm_at,		\
	[BENCH_MOD_LATER ... BENCH_REFRESH_LATER]	= later,		\
	[BENCH_REFRESH_LATER_IN]			= later_in,		\
	[BENCH_REFRESH_EARLIER]				= earlier,		\
	[BENCH_CANCEL_QUEUED ... BENCH_CANCEL_FILED]	= cancel,		\
	[BENCH_EXPIRE]					= bench_expire,		\
}

extern const struct bench_kind bench_hwheel;
extern const struct bench_kind bench_hierarchical;
extern const struct bench_kind bench_hwheel_work;
extern const struct bench_kind bench_timer_list;
extern const struct bench_kind bench_hrtimer;
extern const struct bench_kind bench_delayed_work;

/* hwheel as its users have it: a wheel with its defaults, and others with the tick of programs */
extern const struct bench_kind bench_wheel_default;
extern const struct bench_kind bench_wheel_512;
extern const struct bench_kind bench_wheel_4096;
extern const struct bench_kind bench_wheel_2x512;

/* Objects, and a time for each of them */

extern unsigned int bench_n;
extern size_t bench_stride;
extern union bench_object *bench_objects;
extern u64 *bench_times;

int bench_objects_alloc(unsigned int n);
void bench_objects_layout(const struct bench_kind *kind, unsigned int n);
void bench_objects_free(void);
void bench_set_times(const struct bench_kind *kind, bool absolute, u64 first, u64 spread);

static inline union bench_object *bench_object(unsigned int i)
{
	return (void *)bench_objects + i * bench_stride;
}

static __always_inline void bench_for_each(void (*act)(union bench_object *object))
{
	unsigned int i;

	for (i = 0; i < bench_n; i++)
		act(bench_object(i));
}

static inline u64 bench_quiet_begin(void)
{
	preempt_disable();
	local_irq_disable();
	return bench_clock();
}

static inline u64 bench_quiet_end(u64 start)
{
	u64 end = bench_clock();

	local_irq_enable();
	preempt_enable();
	return end - start;
}

/*
 * Does @operation to each @object with its @time, interrupts being off, and tells how
 * long that took: what the loop takes is included, as every caller has something of the
 * kind. The compiler must not know what @object is, so that each loop is the same.
 */
#define BENCH_TIMED(operation)						\
({									\
	union bench_object *object = bench_objects;			\
	const u64 *time = bench_times, *end = time + bench_n;		\
	const size_t stride = bench_stride;				\
	u64 start = bench_quiet_begin();				\
									\
	for (; time != end; time++, object = (void *)object + stride) {	\
		OPTIMIZER_HIDE_VAR(object);				\
		operation;						\
	}								\
	(s64)bench_quiet_end(start);					\
})

/* Expiry */

extern unsigned int bench_unfired;

void bench_last_fired(void);
s64 bench_time_expiry(unsigned int nr, u64 first, u64 last);
s64 bench_expire(void);

extern u64 bench_first_due, bench_last_due;

/* All that a callback does. They come one at a time, there being one CPU. */
static __always_inline void bench_fired(void)
{
	if (!--bench_unfired)
		bench_last_fired();
}

void bench_sleep_until(u64 ns);

/* Callbacks that arm their object again, with one of the delays, in ns or jiffies */

#define BENCH_MIX	4

extern u64 bench_mix_delays[BENCH_MIX];
extern u64 bench_mix_expired;

/* Two neighbours, as an object has one or two cache lines, have the same delay. */
static __always_inline u64 bench_mix_delay(const void *object)
{
	return bench_mix_delays[(unsigned long)object / SMP_CACHE_BYTES / 2 % BENCH_MIX];
}

/* Steps and lives */

#define BENCH_LIVES	12
#define BENCH_STEPS_MAX	16

/**
 * struct bench_step_info - what is known about a step
 * @name:     in the results
 * @delay:    of the first object, in ticks, if it gives them times
 * @later:    and how many ticks later they are with each step before it
 * @absolute: which are absolute times then
 * @after:    whether the objects are pending after it
 * @fixed:    there is something in it that does not depend on how many there are
 * @worker:   others than hwheel do without
 */
struct bench_step_info {
	const char	*name;
	u64		delay;
	u64		later;
	bool		absolute;
	bool		after;
	bool		fixed;
	bool		worker;
};

/**
 * struct bench_life - steps in a row
 * @name:  in the results; NULL if it is there for its steps only
 * @brief: timers get deadlines that are waited for
 * @steps: BENCH_END behind the last one
 */
struct bench_life {
	const char	*name;
	bool		brief;
	enum bench_step	steps[BENCH_STEPS_MAX];
};

extern const struct bench_step_info bench_steps[BENCH_STEPS];
extern const struct bench_life bench_lives[BENCH_LIVES];

s64 bench_take_step(const struct bench_kind *kind, enum bench_step step, unsigned int before,
		    bool soon);

/* Results */

struct seq_file;

int bench_count(unsigned int n, unsigned int rounds);
void bench_show(struct seq_file *file);

int bench_common(const char *shape, unsigned int n);
void bench_show_common(struct seq_file *file);

int bench_lateness(unsigned int n);
void bench_show_lateness(struct seq_file *file);

#endif /* _BENCH_H */
