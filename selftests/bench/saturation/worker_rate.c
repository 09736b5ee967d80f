// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many timeouts a second keep one worker busy all the time.
 *
 * A callback holds the worker until enough has been submitted, on another CPU if there is
 * one, in whose cache the timeouts then are. All that is due, so the worker goes through
 * it without a sleep, which is checked. The time that its CPU has run meanwhile is the cost.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include "../host_clock.h"
#include "saturation.h"

#define WORKER_CPU	0
#define SUBMITTER_CPU	min(1U, num_online_cpus() - 1)

#define ROUNDS		100
#define TICK_MS		10

/* How far away a deadline is that is not reached */
#define FAR		(3600 * NSEC_PER_SEC)

static struct hwheel *wheel;
static struct hwheel_timeout *timeouts;
static unsigned int nr_timeouts;
static u64 far;

/* Begins what is measured; how many timeouts have yet to expire until it ends */
static struct hwheel_timeout holder;
static unsigned int left;

/* Queues are taken newest first: what was submitted first is drained last. */
static struct hwheel_timeout oldest;

static DECLARE_COMPLETION(held);
static DECLARE_COMPLETION(submitted);
static DECLARE_COMPLETION(done);

/**
 * struct point - the worker's doings up to then
 * @cpu_time: how long its CPU had run, in ns
 * @stats:    the wheel's
 */
struct point {
	u64			cpu_time;
	struct hwheel_stats	stats;
};

static struct point begin, end;

static void hold(struct hwheel_timeout *timeout)
{
	complete(&held);
	wait_for_completion(&submitted);
	hwheel_get_stats(wheel, &begin.stats);
	begin.cpu_time = host_cpu_time();
}

static void on_timeout(struct hwheel_timeout *timeout)
{
	if (--left)
		return;
	end.cpu_time = host_cpu_time();
	hwheel_get_stats(wheel, &end.stats);
	complete(&done);
}

static const struct hwheel_timeout_ops holder_ops = { .expire = hold };
static const struct hwheel_timeout_ops timeout_ops = { .expire = on_timeout };

/* The loads: one life of each timeout */

static int submit_expiring(void *unused)
{
	unsigned int i;

	left = nr_timeouts + 1;
	hwheel_arm_at(&oldest, 0);
	for (i = 0; i < nr_timeouts; i++)
		hwheel_arm_at(&timeouts[i], 0);
	return nr_timeouts;
}

static void begin_cancelling(void)
{
	left = 1;
	hwheel_arm_at(&oldest, 0);
}

/* Of one half the lives are to be ended. */
static int submit_half(void *unused)
{
	unsigned int half = nr_timeouts / 2, i;

	begin_cancelling();
	for (i = 0; i < half; i++)
		hwheel_arm_at(&timeouts[i], far);
	return half;
}

/* They end, and those of the other half begin. */
static int submit_cancelling(void *unused)
{
	unsigned int half = nr_timeouts / 2, i;

	begin_cancelling();
	for (i = 0; i < 2 * half; i++)
		if (!hwheel_cancel(&timeouts[i]))
			hwheel_arm_at(&timeouts[i], far);
	return half;
}

/**
 * struct load - what the worker is kept busy with
 * @name:   in the results
 * @begin:  as @submit, for the first round, which does not count
 * @submit: submits so many lives as it returns
 * @drains: how often each is taken from a queue
 * @rate:   lives per second of the worker's time
 */
struct load {
	const char	*name;
	int		(*begin)(void *unused);
	int		(*submit)(void *unused);
	unsigned int	drains;
	struct samples	rate;
};

static struct load loads[] = {
	{
		.name = "arm_at_expire", .drains = 1,
		.begin = submit_expiring, .submit = submit_expiring,
	}, {
		.name = "arm_at_cancel_filed", .drains = 2,
		.begin = submit_half, .submit = submit_cancelling,
	},
};

/* An edge passes while the worker is held, so what is past when it is armed is due. */
static int run_round(int (*submit)(void *unused))
{
	int lives;

	hwheel_arm_at(&holder, 0);
	wait_for_completion(&held);
	lives = smp_call_on_cpu(SUBMITTER_CPU, submit, NULL, false);
	msleep(2 * TICK_MS);
	complete(&submitted);
	wait_for_completion(&done);
	return lives;
}

/*
 * Whether all was done, and without a sleep: it may do the last in another pass, before the
 * next edge. After the pass in which it was held the worker sleeps until an edge that is
 * past, and so not at all.
 */
static bool is_sound(const struct load *load, unsigned int lives)
{
	return end.stats.wakeups <= begin.stats.wakeups + 1 &&
	       end.stats.drained - begin.stats.drained == lives * load->drains + 1 &&
	       !end.stats.cancelled_queued;
}

static int measure(struct load *load)
{
	unsigned int round;
	int lives;

	run_round(load->begin);
	for (round = 0; round < ROUNDS; round++) {
		lives = run_round(load->submit);
		if (lives < 0)
			return lives;
		if (is_sound(load, lives))
			samples_add(&load->rate, div64_u64(lives * NSEC_PER_SEC,
							   end.cpu_time - begin.cpu_time));
	}
	return load->rate.nr < ROUNDS / 4 ? -EIO : 0;
}

static int measure_wheel(struct load *load)
{
	const struct hwheel_params params = {
		.name = "saturation", .tick_ns = TICK_MS * NSEC_PER_MSEC,
		.cpus = cpumask_of(WORKER_CPU),
	};
	unsigned int i;
	int err;

	wheel = hwheel_create(&params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	hwheel_timeout_init(&holder, wheel, &holder_ops);
	hwheel_timeout_init(&oldest, wheel, &timeout_ops);
	far = ktime_get_ns() + FAR;
	for (i = 0; i < nr_timeouts; i++)
		hwheel_timeout_init(&timeouts[i], wheel, &timeout_ops);
	err = measure(load);
	hwheel_destroy(wheel);
	return err;
}

int saturation_worker(unsigned int n)
{
	struct load *load;
	int err = 0;

	nr_timeouts = n;
	timeouts = vzalloc(array_size(n, sizeof(*timeouts)));
	if (!timeouts)
		return -ENOMEM;
	for (load = loads; load < loads + ARRAY_SIZE(loads) && !err; load++)
		err = measure_wheel(load);
	vfree(timeouts);
	return err;
}

void saturation_worker_show(struct seq_file *file, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(loads); i++)
		samples_show(file, loads[i].name, n, &loads[i].rate);
}
