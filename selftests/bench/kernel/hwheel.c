// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheel's operations, and its worker's.
 *
 * Each life has a wheel of its own, made just after an edge: it is over before that reaches the
 * next one, so the worker does something only when it is told to, or when that edge is waited for.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "../../module/compat.h"
#include "bench.h"

/* The edge may be this much later, as epoch and tick are rounded. */
#define SLACK	(10 * NSEC_PER_USEC)

static struct hwheel *wheel;
static struct hwheel_timeout spare;
static u64 edge;
static struct hwheel_stats at_end;

static void on_timeout(struct hwheel_timeout *timeout)
{
	bench_fired();
}

/* Of those that tell when all others have been looked at */
static void on_mark(struct hwheel_timeout *timeout)
{
	if (bench_unfired == 1)
		hwheel_get_stats(wheel, &at_end);
	bench_fired();
}

static const struct hwheel_timeout_ops timeout_ops = { .expire = on_timeout };
static const struct hwheel_timeout_ops mark_ops = { .expire = on_mark };

static s64 arm(void)
{
	return BENCH_TIMED(hwheel_arm(&object->timeout, *time));
}

static s64 arm_at(void)
{
	return BENCH_TIMED(hwheel_arm_at(&object->timeout, *time));
}

static s64 mod_at(void)
{
	return BENCH_TIMED(hwheel_mod_at(&object->timeout, *time));
}

/* The worker then lingers until the next edge, so that nobody has to wake it. */
static void have_drained(void)
{
	hwheel_arm(&spare, BENCH_TICK);
	hwheel_cancel_sync(&spare);
}

/* The worker is awake then: no caller has to read the clock, or to wake it. */
static s64 mod_jiffies(void)
{
	u64 now = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < bench_n; i++)
		bench_times[i] = jiffies + nsecs_to_jiffies(bench_times[i] - now);
	have_drained();
	return BENCH_TIMED(hwheel_mod_jiffies(&object->timeout, *time));
}

static s64 refresh(void)
{
	return BENCH_TIMED(hwheel_refresh(&object->timeout, *time));
}

static s64 refresh_at(void)
{
	return BENCH_TIMED(hwheel_refresh_at(&object->timeout, *time));
}

static s64 cancel(void)
{
	return BENCH_TIMED(hwheel_cancel(&object->timeout));
}

static u64 drained(void)
{
	struct hwheel_stats stats;

	hwheel_get_stats(wheel, &stats);
	return stats.drained;
}

/* Has the worker act on all objects, which are queued; and on the spare one each time. */
static s64 drain(void)
{
	u64 before = drained(), spares = 0, start = bench_clock();

	do {
		have_drained();
		spares++;
	} while (drained() < before + bench_n + spares);
	return ktime_get_ns() < edge ? bench_clock() - start : -ETIME;
}

static s64 expire(void)
{
	return bench_time_expiry(bench_n, edge, edge + SLACK);
}

/* Enough for each chain of a slot to begin and to end with one */
#define MARKS	16

static bool is_mark(unsigned int i)
{
	return i < MARKS || bench_n - i <= MARKS;
}

/*
 * The worker finds those that were refreshed where they had been filed. A slot's chains begin and
 * end with those that were armed first and last, in whichever order: they expire.
 */
static s64 refile(void)
{
	unsigned int marks = 0, i;
	s64 took;

	for (i = 0; i < bench_n; i++) {
		if (is_mark(i))
			marks++;
		else
			hwheel_refresh(&bench_object(i)->timeout, 2 * BENCH_TICK);
	}
	took = bench_time_expiry(marks, edge, edge + SLACK);
	if (took >= 0 && at_end.moved != bench_n - marks)
		return -EIO;
	for (i = 0; i < bench_n; i++)
		if (is_mark(i))
			hwheel_arm(&bench_object(i)->timeout, BENCH_TICK);
	return took;
}

static int begin(unsigned int levels, bool limited)
{
	const struct hwheel_params params = {
		.name = "bench", .tick_ns = BENCH_TICK, .levels = levels,
		.max_pending = limited ? 2 * bench_n : 0,
	};
	u64 now = div64_u64(ktime_get_ns(), BENCH_TICK) * BENCH_TICK;
	unsigned int i;

	bench_sleep_until(now + BENCH_TICK);
	wheel = hwheel_create(&params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	edge = now + 2 * BENCH_TICK;
	hwheel_timeout_init(&spare, wheel, &timeout_ops);
	for (i = 0; i < bench_n; i++)
		hwheel_timeout_init(&bench_object(i)->timeout, wheel,
				    is_mark(i) ? &mark_ops : &timeout_ops);
	have_drained();
	return 0;
}

static void end(void)
{
	hwheel_destroy(wheel);
}

static bool is_pending(const union bench_object *object)
{
	return hwheel_is_pending(&object->timeout);
}

static int begin_hashed(bool limited)
{
	return begin(1, limited);
}

static int begin_hierarchical(bool limited)
{
	return begin(2, limited);
}

#define STEPS						\
{							\
	[BENCH_ARM]			= arm,		\
	[BENCH_ARM_AT]			= arm_at,	\
	[BENCH_ARM_LIMITED]		= arm,		\
	[BENCH_MOD_AT]			= mod_at,	\
	[BENCH_MOD_JIFFIES]		= mod_jiffies,	\
	[BENCH_MOD_LATER]		= mod_at,	\
	[BENCH_MOD_JIFFIES_LATER]	= mod_jiffies,	\
	[BENCH_REFRESH_LATER]		= refresh_at,	\
	[BENCH_REFRESH_LATER_IN]	= refresh,	\
	[BENCH_REFRESH_EARLIER]		= refresh_at,	\
	[BENCH_REFRESH_EARLIER_QUEUED]	= refresh_at,	\
	[BENCH_CANCEL_QUEUED]		= cancel,	\
	[BENCH_CANCEL_FILED]		= cancel,	\
	[BENCH_DRAIN]			= drain,	\
	[BENCH_MOVE]			= drain,	\
	[BENCH_DROP]			= drain,	\
	[BENCH_UNLINK]			= drain,	\
	[BENCH_REFILE]			= refile,	\
	[BENCH_EXPIRE]			= expire,	\
}

/* Works */

static struct workqueue_struct *queue;

static void on_work(struct work_struct *work)
{
	bench_fired();
}

static s64 work_arm(void)
{
	return BENCH_TIMED(hwheel_work_arm(&object->hwheel_work, *time));
}

static s64 work_mod(void)
{
	return BENCH_TIMED(hwheel_work_mod(&object->hwheel_work, *time));
}

static s64 work_cancel(void)
{
	return BENCH_TIMED(hwheel_work_cancel(&object->hwheel_work));
}

static void init_work(union bench_object *object)
{
	hwheel_work_init(&object->hwheel_work, wheel, queue, on_work, NULL);
}

static int begin_works(bool limited)
{
	int err = begin(1, limited);

	if (err)
		return err;
	queue = alloc_workqueue("hwheel_bench", WQ_PERCPU, 0);
	if (queue)
		return 0;
	hwheel_destroy(wheel);
	return -ENOMEM;
}

static void end_works(void)
{
	hwheel_destroy(wheel);
	destroy_workqueue(queue);
}

#define WORK_STEPS					\
{							\
	[BENCH_ARM]			= work_arm,	\
	[BENCH_REFRESH_LATER]		= refresh_at,	\
	[BENCH_REFRESH_LATER_IN]	= work_mod,	\
	[BENCH_CANCEL_QUEUED]		= work_cancel,	\
	[BENCH_CANCEL_FILED]		= work_cancel,	\
	[BENCH_DRAIN]			= drain,	\
	[BENCH_DROP]			= drain,	\
	[BENCH_UNLINK]			= drain,	\
	[BENCH_EXPIRE]			= expire,	\
}

/* Wheels as users have them, for common.c */

static struct task_struct *worker;

static void note_worker(struct hwheel_timeout *timeout)
{
	WRITE_ONCE(worker, current);
}

static const struct hwheel_timeout_ops worker_ops = { .expire = note_worker };

static void init_shared(union bench_object *object)
{
	hwheel_timeout_init(&object->timeout, wheel, &timeout_ops);
}

static void expire_and_rearm(struct hwheel_timeout *timeout)
{
	bench_mix_expired++;
	hwheel_arm(timeout, bench_mix_delay(timeout));
}

static const struct hwheel_timeout_ops mix_ops = { .expire = expire_and_rearm };

static void init_mix(union bench_object *object)
{
	hwheel_timeout_init(&object->timeout, wheel, &mix_ops);
}

static int begin_wheel(const struct hwheel_params *params)
{
	wheel = hwheel_create(params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	bench_for_each(init_shared);
	worker = NULL;
	hwheel_timeout_init(&spare, wheel, &worker_ops);
	hwheel_arm(&spare, 0);
	while (!READ_ONCE(worker))
		msleep(20);
	return 0;
}

static struct task_struct *worker_of_wheel(void)
{
	return worker;
}

#define WHEEL_STEPS					\
{							\
	[BENCH_ARM_AT]			= arm_at,	\
	[BENCH_MOD_LATER]		= mod_at,	\
	[BENCH_REFRESH_LATER]		= refresh_at,	\
}

#define WHEEL(id, label, ...)								\
static int begin_##id(bool limited)							\
{											\
	return begin_wheel(&(const struct hwheel_params){ .name = "bench", __VA_ARGS__ });	\
}											\
											\
const struct bench_kind bench_##id = {							\
	.name		= label,							\
	.size		= sizeof(struct hwheel_timeout),				\
	.init_mix	= init_mix,							\
	.begin		= begin_##id,							\
	.end		= end,								\
	.is_pending	= is_pending,							\
	.worker		= worker_of_wheel,						\
	.step		= WHEEL_STEPS,							\
}

WHEEL(wheel_default, "hwheel");
WHEEL(wheel_512, "10ms_512", .tick_ns = 10 * NSEC_PER_MSEC, .slots = 512);
WHEEL(wheel_4096, "10ms_4096", .tick_ns = 10 * NSEC_PER_MSEC, .slots = 4096);
WHEEL(wheel_2x512, "10ms_2x512", .tick_ns = 10 * NSEC_PER_MSEC, .slots = 512, .levels = 2);

const struct bench_kind bench_hwheel = {
	.name		= "hwheel",
	.size		= sizeof(struct hwheel_timeout),
	.begin		= begin_hashed,
	.end		= end,
	.is_pending	= is_pending,
	.step		= STEPS,
};

const struct bench_kind bench_hwheel_work = {
	.name		= "hwheel_work",
	.size		= sizeof(struct hwheel_work),
	.init		= init_work,
	.begin		= begin_works,
	.end		= end_works,
	.is_pending	= is_pending,
	.step		= WORK_STEPS,
};

const struct bench_kind bench_hierarchical = {
	.name		= "hierarchical",
	.size		= sizeof(struct hwheel_timeout),
	.begin		= begin_hierarchical,
	.end		= end,
	.is_pending	= is_pending,
	.step		= STEPS,
};
