// SPDX-License-Identifier: GPL-2.0-only
/*
 * What two submitters cost each other.
 *
 * Each arms timeouts of its own, on a CPU of its own, interrupts off. The one wheel that
 * they share does not come to its first edge meanwhile, so that its worker sleeps. What two
 * do counts if it was at the same time.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include "saturation.h"

#define SUBMITTERS	2
#define NR		2000
#define DURATION	(30 * NSEC_PER_SEC)
#define ROUNDS_MAX	100
#define ROUNDS_MIN	10
#define TICK		(100 * NSEC_PER_SEC)

/**
 * struct submitter - one CPU, and what it has done in a round
 * @timeouts: its own
 * @begin:    when it began, in ns
 * @end:      when it had armed all of them
 */
struct submitter {
	struct hwheel_timeout	*timeouts;
	u64			begin;
	u64			end;
};

static struct submitter submitters[SUBMITTERS];
static struct hwheel *wheel;
static struct hwheel_timeout spare;
static atomic_t missing;
static struct samples alone, together;

static void on_timeout(struct hwheel_timeout *timeout)
{
}

static const struct hwheel_timeout_ops timeout_ops = { .expire = on_timeout };

static void submit(void *deadline)
{
	struct submitter *submitter = &submitters[smp_processor_id()];
	unsigned int i;

	atomic_dec(&missing);
	while (atomic_read(&missing))
		cpu_relax();
	submitter->begin = ktime_get_ns();
	for (i = 0; i < NR; i++)
		hwheel_arm_at(&submitter->timeouts[i], *(u64 *)deadline);
	submitter->end = ktime_get_ns();
}

static void submit_on(const struct cpumask *cpus)
{
	u64 deadline = ktime_get_ns() + 2 * TICK;

	atomic_set(&missing, cpumask_weight(cpus));
	on_each_cpu_mask(cpus, submit, &deadline, true);
}

/* Brings the worker to see all of it, after which it sleeps until the next edge. */
static void drain(void)
{
	hwheel_arm(&spare, TICK);
	hwheel_cancel_sync(&spare);
}

static void clean_up(void)
{
	unsigned int cpu, i;

	for (cpu = 0; cpu < SUBMITTERS; cpu++)
		for (i = 0; i < NR; i++)
			hwheel_cancel(&submitters[cpu].timeouts[i]);
	drain();
}

static u64 took(unsigned int cpu)
{
	return submitters[cpu].end - submitters[cpu].begin;
}

static u64 rate(u64 ns)
{
	return div64_u64(NR * NSEC_PER_SEC, ns);
}

static void submit_alone(unsigned int cpu)
{
	submit_on(cpumask_of(cpu));
	samples_add(&alone, rate(took(cpu)));
	clean_up();
}

/* At least nine tenths of the longer one have to be common to both. */
static void submit_together(void)
{
	u64 longer, common;

	submit_on(cpu_online_mask);
	longer = max(took(0), took(1));
	common = min(submitters[0].end, submitters[1].end) -
		 max(submitters[0].begin, submitters[1].begin);
	if ((s64)common > 0 && common * 10 >= longer * 9)
		samples_add(&together, rate(longer));
	clean_up();
}

static int measure(void)
{
	u64 end = ktime_get_ns() + DURATION;
	unsigned int round;

	for (round = 0; ktime_get_ns() < end && together.nr < ROUNDS_MAX; round++) {
		submit_alone(round % SUBMITTERS);
		submit_together();
		cond_resched();
	}
	return together.nr < ROUNDS_MIN ? -ETIME : 0;
}

static void init_timeouts(struct submitter *submitter)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		hwheel_timeout_init(&submitter->timeouts[i], wheel, &timeout_ops);
}

static int measure_wheel(void)
{
	const struct hwheel_params params = { .name = "submitters", .tick_ns = TICK };
	unsigned int cpu;
	int err;

	wheel = hwheel_create(&params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	for (cpu = 0; cpu < SUBMITTERS; cpu++)
		init_timeouts(&submitters[cpu]);
	hwheel_timeout_init(&spare, wheel, &timeout_ops);
	drain();
	err = measure();
	hwheel_destroy(wheel);
	return err;
}

int saturation_submitters(void)
{
	struct hwheel_timeout *timeouts;
	unsigned int cpu;
	int err;

	timeouts = vzalloc(array_size(SUBMITTERS * NR, sizeof(*timeouts)));
	if (!timeouts)
		return -ENOMEM;
	for (cpu = 0; cpu < SUBMITTERS; cpu++)
		submitters[cpu].timeouts = timeouts + cpu * NR;
	err = measure_wheel();
	vfree(timeouts);
	return err;
}

void saturation_submitters_show(struct seq_file *file)
{
	samples_show(file, "submit_alone", NR, &alone);
	samples_show(file, "submit_together", NR, &together);
}
