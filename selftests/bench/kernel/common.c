// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shapes of the common server, which has very many timeouts of 30 s that seldom expire:
 *
 *   moves  timeouts are moved to later again and again, each every 5 s
 *   lone   one timeout is armed and expires, beside many that are idle
 *   mod    timeouts are moved by nothing, within a bucket of timer_list's, and out of it
 *   mix    timeouts of 1 s, 30 s, 5 min and 2 h, which their callbacks arm again
 *
 * Of wheels there are the default one, and three with the tick of programs. A
 * worker's instructions are the run time of its thread. The machine's are those for which the CPU
 * was not idle, wake-ups and interrupts included.
 */
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kernel_stat.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/tick.h>

#include "../row.h"
#include "bench.h"

#define MAX_ROWS	100
#define TURN		(10 * NSEC_PER_MSEC)	/* of the caller's loop */

/* Of timeouts, and how often each is moved */
#define DELAY		(30ULL * NSEC_PER_SEC)
#define PERIOD		(5ULL * NSEC_PER_SEC)
#define TURNS		500U
#define SEED		1987

static const struct bench_kind * const kinds[] = {
	&bench_wheel_default, &bench_wheel_512, &bench_wheel_4096, &bench_wheel_2x512,
	&bench_timer_list, &bench_hrtimer,
};

static struct row {
	const char	*name;
	const char	*impl;
	const char	*unit;
	unsigned int	n;
	u64		thousandths;
} rows[MAX_ROWS];

static unsigned int nr_rows;

static void add_row(const char *name, const struct bench_kind *kind, unsigned int n,
		    const char *unit, u64 sum, u64 nr)
{
	if (!WARN_ON(nr_rows == MAX_ROWS))
		rows[nr_rows++] = (struct row){ name, kind->name, unit, n,
						div64_u64(sum * 1000, nr) };
}

/* Instructions since the CPU began to count, without those for which it was idle */
static u64 busy(void)
{
	return ktime_get_ns() - get_cpu_idle_time_us(raw_smp_processor_id(), NULL) * NSEC_PER_USEC;
}

static u64 worker_ran(const struct bench_kind *kind)
{
	return kind->worker ? kind->worker()->se.sum_exec_runtime : 0;
}

static u64 worker_slept(const struct bench_kind *kind)
{
	return kind->worker ? kind->worker()->nvcsw : 0;
}

/* Between the edges of wheels, at least a turn after @ns */
static u64 next_turn(u64 ns)
{
	return div64_u64(ns, TURN) * TURN + TURN * 3 / 2;
}

/* Takes a step with @nr objects from @first on. Deadlines are spread over @spread, @from now on. */
static s64 step(const struct bench_kind *kind, enum bench_step step, unsigned int first,
		unsigned int nr, u64 from, u64 spread)
{
	union bench_object *objects = bench_objects;
	unsigned int n = bench_n;
	s64 took;

	bench_objects = bench_object(first);
	bench_n = nr;
	bench_set_times(kind, true, from, spread);
	took = kind->step[step]();
	bench_objects = objects;
	bench_n = n;
	return took;
}

static void stop_all(const struct bench_kind *kind)
{
	if (kind->stop)
		bench_for_each(kind->stop);
	if (kind->end)
		kind->end();
}

static int start(const struct bench_kind *kind, unsigned int n)
{
	int err;

	bench_objects_layout(kind, n);
	err = kind->begin ? kind->begin(false) : 0;
	if (!err && kind->init)
		bench_for_each(kind->init);
	return err;
}

/*
 * A timeout that is moved every PERIOD has been moved PERIOD / 2 ago on average when its slot
 * comes up. So timeouts that have been moved for a long time are in slots up to DELAY less that.
 */
static void arm_as_if_moved(const struct bench_kind *kind)
{
	step(kind, BENCH_ARM_AT, 0, bench_n, TURN * 200, DELAY - PERIOD / 2);
	msleep(MSEC_PER_SEC / 5);
	step(kind, BENCH_REFRESH_LATER, 0, bench_n, DELAY, 0);
}

/* Moves each object once, in turns of neighbours, which come in random order. */
static s64 move_all(const struct bench_kind *kind, struct rnd_state *random)
{
	static unsigned int order[TURNS];
	unsigned int i, other, nr = bench_n / TURNS;
	u64 turn = next_turn(ktime_get_ns());
	s64 took = 0;

	for (i = 0; i < TURNS; i++) {
		other = prandom_u32_state(random) % (i + 1);
		order[i] = order[other];
		order[other] = i;
	}
	for (i = 0; i < TURNS; i++, turn += TURN) {
		bench_sleep_until(turn);
		took += step(kind, BENCH_REFRESH_LATER, order[i] * nr, nr, DELAY, 0);
	}
	return took;
}

/* @n objects are moved @rounds, once they have been moved. */
static int moves(const struct bench_kind *kind, unsigned int n, unsigned int rounds)
{
	struct rnd_state random;
	u64 worker, nr = n * rounds;
	s64 took = 0;
	unsigned int i;

	prandom_seed_state(&random, SEED);
	arm_as_if_moved(kind);
	move_all(kind, &random);
	worker = worker_ran(kind);
	while (rounds--)
		took += move_all(kind, &random);
	add_row("move", kind, n, "instructions", took, nr);
	if (kind->worker)
		add_row("move_worker", kind, n, "instructions", worker_ran(kind) - worker, nr);
	for (i = 0; i < n; i++)
		if (!kind->is_pending(bench_object(i)))
			return -EIO;
	return 0;
}

static int moves_of(const struct bench_kind *kind)
{
	static const struct {
		unsigned int	n;
		unsigned int	rounds;
	} runs[] = { { 100000, 4 }, { 1000000, 1 } };
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(runs) && !err; i++) {
		err = start(kind, runs[i].n);
		if (err)
			break;
		err = moves(kind, runs[i].n, runs[i].rounds);
		stop_all(kind);
	}
	return err;
}

#define LONE_TIMES	20
#define LONE_DELAY	(20 * TURN)

static int compare(const void *left, const void *right)
{
	const u64 *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/*
 * Sleeps LONE_TIMES; with @arm, the last object expires in each sleep. Returns the median of the
 * machine's instructions, which leaves out the rare ones of other tasks, or an error.
 */
static s64 pass(const struct bench_kind *kind, bool arm)
{
	u64 turn = next_turn(ktime_get_ns()), did[LONE_TIMES];
	unsigned int i;

	bench_sleep_until(turn);
	for (i = 0; i < LONE_TIMES; i++) {
		did[i] = -busy();
		bench_unfired = 1;
		if (arm)
			step(kind, BENCH_ARM_AT, bench_n - 1, 1, LONE_DELAY, 0);
		turn += 2 * LONE_DELAY;
		bench_sleep_until(turn);
		did[i] += busy();
		if (bench_unfired == arm)
			return -EIO;
	}
	sort(did, LONE_TIMES, sizeof(*did), compare, NULL);
	return did[LONE_TIMES / 2];
}

static int lone(const struct bench_kind *kind, unsigned int idle)
{
	u64 worker, sleeps;
	s64 without, with;

	if (idle)
		step(kind, BENCH_ARM_AT, 0, idle, DELAY, PERIOD);
	msleep(MSEC_PER_SEC);
	without = pass(kind, false);
	worker = worker_ran(kind);
	sleeps = worker_slept(kind);
	with = pass(kind, true);
	if (without < 0 || with < 0)
		return -EIO;
	add_row("lone", kind, idle, "instructions", max_t(s64, with - without, 0), 1);
	if (!kind->worker)
		return 0;
	add_row("lone_worker", kind, idle, "instructions", worker_ran(kind) - worker, LONE_TIMES);
	add_row("lone_wakeups", kind, idle, "times", worker_slept(kind) - sleeps, LONE_TIMES);
	return 0;
}

static int lone_of(const struct bench_kind *kind)
{
	static const unsigned int idle[] = { 0, 100000, 1000000 };
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(idle) && !err; i++) {
		err = start(kind, idle[i] + 1);
		if (err)
			break;
		err = lone(kind, idle[i]);
		stop_all(kind);
	}
	return err;
}

/* Jiffies of a bucket of timer_list's that is DELAY away, with 250 in a second */
#define BUCKET	512UL

/* Moves all by so many jiffies. */
static s64 move_by(const struct bench_kind *kind, unsigned long by)
{
	unsigned int i;

	for (i = 0; i < bench_n; i++)
		bench_times[i] += kind->in_jiffies ? by : by * TICK_NSEC;
	return kind->step[BENCH_MOD_LATER]();
}

static int mod_of(const struct bench_kind *kind)
{
	static const struct {
		const char	*name;
		unsigned long	by;
	} cases[] = {
		{ "mod_same_jiffy", 0 },
		{ "mod_same_bucket", BUCKET / 4 },
		{ "mod_other_bucket", 2 * BUCKET },
	};
	unsigned int i, n = 100000;
	u64 from;
	int err = start(kind, n);

	if (err)
		return err;
	from = round_up(jiffies + nsecs_to_jiffies(DELAY), BUCKET) + 1 - jiffies;
	step(kind, BENCH_ARM_AT, 0, n, from * TICK_NSEC, 0);
	msleep(MSEC_PER_SEC / 5);
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		add_row(cases[i].name, kind, n, "instructions", move_by(kind, cases[i].by), n);
	stop_all(kind);
	return 0;
}

u64 bench_mix_delays[BENCH_MIX];
u64 bench_mix_expired;

#define MIX_SECONDS	10

static int mix_of(const struct bench_kind *kind)
{
	static const unsigned int seconds[BENCH_MIX] = { 1, 30, 5 * 60, 2 * 60 * 60 };
	unsigned int i, n = 100000;
	u64 before, worker;
	int err = start(kind, n);

	if (err)
		return err;
	bench_for_each(kind->init_mix);
	for (i = 0; i < BENCH_MIX; i++)
		bench_mix_delays[i] = (u64)seconds[i] * (kind->in_jiffies ? HZ : NSEC_PER_SEC);
	for (i = 0; i < n; i++) {
		u64 delay = bench_mix_delay(bench_object(i));

		step(kind, BENCH_ARM_AT, i, 1,
		     div_u64(i * (kind->in_jiffies ? jiffies_to_nsecs(delay) : delay), n), 0);
	}
	msleep(MSEC_PER_SEC);
	bench_mix_expired = 0;
	worker = worker_ran(kind);
	before = busy();
	msleep(MIX_SECONDS * MSEC_PER_SEC);
	before = busy() - before;
	add_row("mix", kind, n, "instructions", before, bench_mix_expired);
	if (kind->worker)
		add_row("mix_worker", kind, n, "instructions", worker_ran(kind) - worker,
			bench_mix_expired);
	stop_all(kind);
	return 0;
}

static const struct shape {
	const char	*name;
	int		(*run)(const struct bench_kind *kind);
} shapes[] = {
	{ "moves", moves_of },
	{ "lone", lone_of },
	{ "mod", mod_of },
	{ "mix", mix_of },
};

/* With room for a million objects and one */
int bench_common(const char *name, unsigned int n)
{
	const struct shape *shape = shapes;
	unsigned int i;
	int err = 0;

	while (strcmp(shape->name, name))
		if (++shape == shapes + ARRAY_SIZE(shapes))
			return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(kinds) && !err; i++)
		err = shape->run(kinds[i]);
	return err;
}

void bench_show_common(struct seq_file *file)
{
	const struct row *row;

	for (row = rows; row < rows + nr_rows; row++)
		row_show(file, "common_kernel.", row->name, row->impl, row->n, row->unit,
			 row->thousandths);
}
