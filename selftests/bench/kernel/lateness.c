// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worst lateness of timeouts on hierarchical wheels, and the worker's instructions for each.
 *
 * Deadlines are spread at random over SPAN ticks. The first one is so far ahead that all
 * timeouts are filed before it, more than a turn of the lowest level away. In a first run the
 * callback compares the clock with the deadline. A second run has a callback that does next to
 * nothing, and counts the worker's instructions: the run time of its thread.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "../row.h"
#include "bench.h"

/* In ticks */
#define LEAD	600
#define SPAN	1400

/**
 * struct load - timeouts on a wheel
 * @name:  of the wheel
 * @n:     timeouts
 * @wheel: tick, levels and slots
 * @worst: ns from a deadline to its callback
 * @late:  timeouts more than 2 ticks late
 * @ran:   instructions of the worker
 */
struct load {
	const char		*name;
	unsigned int		n;
	struct hwheel_params	wheel;
	u64			worst;
	unsigned int		late;
	u64			ran;
};

static struct load loads[] = {
	{ "1ms_2x512", 1000000, { .tick_ns = NSEC_PER_MSEC, .levels = 2, .slots = 512 } },
	{ "1ms_3x512", 1000000, { .tick_ns = NSEC_PER_MSEC, .levels = 3, .slots = 512 } },
	{ "1ms_2x512", 200000, { .tick_ns = NSEC_PER_MSEC, .levels = 2, .slots = 512 } },
	{ "1ms_4x64", 200000, { .tick_ns = NSEC_PER_MSEC, .levels = 4, .slots = 64 } },
	{ "10ms_2x512", 1000000, { .tick_ns = 10 * NSEC_PER_MSEC, .levels = 2, .slots = 512 } },
	{ "200us_2x512", 20000, { .tick_ns = 200 * NSEC_PER_USEC, .levels = 2, .slots = 512 } },
};

static struct load *load;
static struct task_struct *worker;

/* An early callback counts as very late. */
static void note_lateness(struct hwheel_timeout *timeout)
{
	unsigned long i = ((void *)timeout - (void *)bench_objects) / bench_stride;
	u64 late = ktime_get_ns() - bench_times[i];

	load->worst = max(load->worst, late);
	load->late += late > 2 * load->wheel.tick_ns;
}

static void note_worker(struct hwheel_timeout *timeout)
{
	worker = current;
}

static int expire_all(void (*callback)(struct hwheel_timeout *timeout))
{
	const struct hwheel_timeout_ops ops = { .expire = callback };
	u64 tick = load->wheel.tick_ns;
	struct hwheel_stats stats;
	struct hwheel *wheel;
	unsigned int i;

	wheel = hwheel_create(&load->wheel);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	bench_objects_layout(&bench_hwheel, load->n);
	bench_set_times(&bench_hwheel, true, LEAD * tick, SPAN * tick);
	for (i = 0; i < load->n; i++) {
		hwheel_timeout_init(&bench_object(i)->timeout, wheel, &ops);
		hwheel_arm_at(&bench_object(i)->timeout, bench_times[i]);
	}
	do {
		msleep(100);
		hwheel_get_stats(wheel, &stats);
	} while (stats.pending);
	if (worker)
		load->ran = worker->se.sum_exec_runtime;
	worker = NULL;
	hwheel_destroy(wheel);
	return stats.expired == load->n ? 0 : -EIO;
}

int bench_lateness(unsigned int n)
{
	int err = n < loads[0].n ? -EINVAL : 0;

	for (load = loads; load < loads + ARRAY_SIZE(loads) && !err; load++)
		err = expire_all(note_lateness) ?: expire_all(note_worker);
	return err;
}

static void show(struct seq_file *file, const char *what, const char *unit, u64 thousandths)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_%s", load->name, what);
	row_show(file, "hierarchical.", name, "hwheel", load->n, unit, thousandths);
}

void bench_show_lateness(struct seq_file *file)
{
	for (load = loads; load < loads + ARRAY_SIZE(loads); load++) {
		show(file, "worst", "ticks", div64_u64(load->worst * 1000, load->wheel.tick_ns));
		show(file, "late", "count", load->late * 1000ULL);
		show(file, "worker", "instructions", div_u64(load->ran * 1000, load->n));
	}
}
