// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many instructions the operations of hwheel, timer_list and hrtimer take.
 *
 * For a virtual machine whose time stamp counter counts instructions (QEMU with -icount
 * shift=0): anywhere else the results are not what they say. Measures while it is loaded
 * and leaves "bench KIND OPERATION INSTRUCTIONS" lines in its parameter results.
 *
 * An operation is done to N objects in a row. Those who call it are measured with
 * interrupts off; the worker and the interrupts that expire timers can't be, so the least
 * of several rounds counts. What the measuring itself takes is subtracted. Each
 * measurement has a wheel of its own: it is over before that reaches its first edge, so
 * the worker does something only when it is told to, or when the first edge is waited for.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/hwheel.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/sysfs.h>
#include <linux/timer.h>
#include <linux/timex.h>

#define N	10000
#define ROUNDS	5

/* Delays: the first one of many that are spread over a second, in mixed order */
#define FAR	(3 * NSEC_PER_SEC)
#define EARLIER	(2 * NSEC_PER_SEC)
#define LATER	(4 * NSEC_PER_SEC)
#define STEP	(NSEC_PER_SEC / N)
#define MIX	7919	/* prime to N */

/* The delay of all that are to expire at once, before a wheel's second edge */
#define NEAR	(50 * NSEC_PER_MSEC)
#define TICK	(100 * NSEC_PER_MSEC)

/**
 * struct object - what contains a timer
 * @timeout:       one of the kinds, as the measurement at hand wants it
 * @timer:         another
 * @hrtimer:       another
 * @delay_ns:      when it is to be due, from now
 * @at_ns:         the same, absolute
 * @delay_jiffies: the same, for timer_list
 * @at_jiffies:    the same, absolute
 * @fired:         when its callback ran
 */
struct object {
	union {
		struct hwheel_timeout	timeout;
		struct timer_list	timer;
		struct hrtimer		hrtimer;
	};
	u64		delay_ns;
	u64		at_ns;
	unsigned long	delay_jiffies;
	unsigned long	at_jiffies;
	u64		fired;
};

static struct object *objects;
static struct hwheel_timeout spare;
static struct hwheel *wheel;

static void set_times(u64 first, u64 step)
{
	unsigned long now_jiffies = jiffies;
	u64 now_ns = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < N; i++) {
		struct object *object = &objects[i];

		object->delay_ns = first + i * MIX % N * step;
		object->at_ns = now_ns + object->delay_ns;
		object->delay_jiffies = nsecs_to_jiffies(object->delay_ns);
		object->at_jiffies = now_jiffies + object->delay_jiffies;
	}
}

static u64 quiet_begin(void)
{
	preempt_disable();
	local_irq_disable();
	return get_cycles();
}

static u64 quiet_end(u64 start)
{
	u64 end = get_cycles();

	local_irq_enable();
	preempt_enable();
	return end - start;
}

/*
 * Does @operation to each @object and tells how long that took. The compiler must not
 * know what @object is, so that each loop is the same.
 */
#define TIMED(operation)						\
({									\
	struct object *object, *end = objects + N;			\
	u64 start = quiet_begin();					\
									\
	for (object = objects; object != end; object++) {		\
		OPTIMIZER_HIDE_VAR(object);				\
		operation;						\
	}								\
	quiet_end(start);						\
})

/* What measuring takes, and something whose number of instructions is known */
static u64 time_loop(void)
{
	return TIMED(barrier());
}

static u64 time_stamp(void)
{
	return TIMED(object->fired = get_cycles());
}

static u64 time_ten_nops(void)
{
	return TIMED(asm volatile(".rept 10; nop; .endr"));
}

/* Who calls them has to pass the arguments, so that counts, too. */
static u64 time_arm(void)
{
	return TIMED(hwheel_arm(&object->timeout, object->delay_ns));
}

static u64 time_arm_at(void)
{
	return TIMED(hwheel_arm_at(&object->timeout, object->at_ns));
}

static u64 time_refresh(void)
{
	return TIMED(hwheel_refresh(&object->timeout, object->delay_ns));
}

static u64 time_refresh_at(void)
{
	return TIMED(hwheel_refresh_at(&object->timeout, object->at_ns));
}

static u64 time_cancel(void)
{
	return TIMED(hwheel_cancel(&object->timeout));
}

static u64 time_mod_timer(void)
{
	return TIMED(mod_timer(&object->timer, jiffies + object->delay_jiffies));
}

static u64 time_mod_timer_at(void)
{
	return TIMED(mod_timer(&object->timer, object->at_jiffies));
}

static u64 time_timer_delete(void)
{
	return TIMED(timer_delete(&object->timer));
}

static u64 time_hrtimer_start(void)
{
	return TIMED(hrtimer_start(&object->hrtimer, object->delay_ns, HRTIMER_MODE_REL));
}

static u64 time_hrtimer_start_at(void)
{
	return TIMED(hrtimer_start(&object->hrtimer, object->at_ns, HRTIMER_MODE_ABS));
}

static u64 time_hrtimer_cancel(void)
{
	return TIMED(hrtimer_try_to_cancel(&object->hrtimer));
}

/* How long it took from the first callback to the last, as if there were one more */
static u64 time_expiry(void)
{
	u64 first = U64_MAX, last = 0;
	unsigned int i;

	msleep(2 * TICK / NSEC_PER_MSEC);
	for (i = 0; i < N; i++) {
		if (!objects[i].fired)
			continue;
		first = min(first, objects[i].fired);
		last = max(last, objects[i].fired);
	}
	return div_u64((last - first) * N, N - 1);
}

static void all_due_at_once(void)
{
	unsigned int i;

	for (i = 0; i < N; i++)
		objects[i].fired = 0;
	set_times(NEAR, 0);
}

/* hwheel */

static void on_timeout(struct hwheel_timeout *timeout)
{
	container_of(timeout, struct object, timeout)->fired = get_cycles();
}

static const struct hwheel_timeout_ops timeout_ops = { .expire = on_timeout };

/*
 * Has the worker act on all that is queued, and returns how long that took. The worker
 * then lingers until the next edge, so that nobody has to wake it.
 */
static u64 time_drain(void)
{
	u64 start = get_cycles();

	hwheel_arm(&spare, FAR);
	hwheel_cancel_sync(&spare);
	return get_cycles() - start;
}

static int wheel_prepare(u64 max_pending)
{
	const struct hwheel_params params = {
		.name = "bench", .tick_ns = TICK, .max_pending = max_pending,
	};
	unsigned int i;

	wheel = hwheel_create(&params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	hwheel_timeout_init(&spare, wheel, &timeout_ops);
	for (i = 0; i < N; i++)
		hwheel_timeout_init(&objects[i].timeout, wheel, &timeout_ops);
	time_drain();
	return 0;
}

static int wheel_idle(void)
{
	return wheel_prepare(0);
}

static int wheel_limited(void)
{
	return wheel_prepare(2 * N);
}

static int wheel_queued(void)
{
	int err = wheel_idle();

	if (!err)
		time_arm();
	return err;
}

static int wheel_queued_cancelled(void)
{
	int err = wheel_queued();

	if (!err)
		time_cancel();
	return err;
}

static int wheel_filed(void)
{
	int err = wheel_queued();

	if (!err)
		time_drain();
	return err;
}

static int wheel_filed_cancelled(void)
{
	int err = wheel_filed();

	if (!err)
		time_cancel();
	return err;
}

static u64 time_expire(void)
{
	all_due_at_once();
	time_arm_at();
	time_drain();
	return time_expiry();
}

/*
 * The worker finds those that were refreshed where they had been filed. A slot's list
 * begins and ends with what was armed first and last: they expire, and tell the time.
 */
static u64 time_refile(void)
{
	unsigned int i;
	u64 ticks;

	all_due_at_once();
	time_arm_at();
	time_drain();
	for (i = 1; i < N - 1; i++)
		hwheel_refresh(&objects[i].timeout, FAR);
	ticks = time_expiry();
	time_cancel();
	return ticks;
}

static bool wheel_is_pending(const struct object *object)
{
	return hwheel_is_pending(&object->timeout);
}

static void wheel_finish(void)
{
	hwheel_destroy(wheel);
}

/* timer_list */

static void on_timer(struct timer_list *timer)
{
	container_of(timer, struct object, timer)->fired = get_cycles();
}

static int timers_idle(void)
{
	unsigned int i;

	for (i = 0; i < N; i++)
		timer_setup(&objects[i].timer, on_timer, 0);
	return 0;
}

static int timers_added(void)
{
	timers_idle();
	time_mod_timer();
	return 0;
}

static u64 time_timer_expire(void)
{
	all_due_at_once();
	time_mod_timer_at();
	return time_expiry();
}

static bool timer_is_pending(const struct object *object)
{
	return timer_pending(&object->timer);
}

static void timers_finish(void)
{
	unsigned int i;

	for (i = 0; i < N; i++)
		timer_delete_sync(&objects[i].timer);
}

/* hrtimer */

static enum hrtimer_restart on_hrtimer(struct hrtimer *hrtimer)
{
	container_of(hrtimer, struct object, hrtimer)->fired = get_cycles();
	return HRTIMER_NORESTART;
}

static void hrtimer_prepare(struct hrtimer *hrtimer)
{
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(hrtimer, on_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	hrtimer->function = on_hrtimer;
#endif
}

static int hrtimers_idle(void)
{
	unsigned int i;

	for (i = 0; i < N; i++)
		hrtimer_prepare(&objects[i].hrtimer);
	return 0;
}

static int hrtimers_started(void)
{
	hrtimers_idle();
	time_hrtimer_start();
	return 0;
}

static u64 time_hrtimer_expire(void)
{
	all_due_at_once();
	time_hrtimer_start_at();
	return time_expiry();
}

static bool hrtimer_is_pending(const struct object *object)
{
	return hrtimer_active(&object->hrtimer);
}

static void hrtimers_finish(void)
{
	unsigned int i;

	for (i = 0; i < N; i++)
		hrtimer_cancel(&objects[i].hrtimer);
}

/* The measurements */

/**
 * struct kind - what measurements have in common
 * @name:       of whose operations they are
 * @is_pending: to see whether the operation was done
 * @finish:     undoes what they prepared
 */
struct kind {
	const char	*name;
	bool		(*is_pending)(const struct object *object);
	void		(*finish)(void);
};

static bool is_nothing_pending(const struct object *object)
{
	return false;
}

static int nothing(void)
{
	return 0;
}

static void nothing_finish(void)
{
}

static const struct kind check = { "check", is_nothing_pending, nothing_finish };
static const struct kind hwheel = { "hwheel", wheel_is_pending, wheel_finish };
static const struct kind timer = { "timer_list", timer_is_pending, timers_finish };
static const struct kind hrtimer = { "hrtimer", hrtimer_is_pending, hrtimers_finish };

/**
 * struct measurement - what is measured, and the result
 * @kind:      of which kind
 * @operation: name
 * @prepare:   brings the objects into the state before, with delays from FAR on
 * @delay:     or from here on for the operation itself
 * @time:      does the operation to all of them, and returns how long that took
 * @pending:   whether the objects are pending after it
 * @less:      what to subtract
 * @least:     of all rounds
 * @net:       for all objects, without what measuring took
 */
struct measurement {
	const struct kind		*kind;
	const char			*operation;
	int				(*prepare)(void);
	u64				delay;
	u64				(*time)(void);
	bool				pending;
	const struct measurement	*less;
	u64				least;
	u64				net;
};

/* What is subtracted from others comes before them. */
enum { LOOP, STAMP, DRAIN };

static struct measurement all[] = {
	[LOOP]	= { &check, "loop", nothing, FAR, time_loop, false },
	[STAMP]	= { &check, "stamp", nothing, FAR, time_stamp, false, &all[LOOP] },
	[DRAIN]	= { &hwheel, "drain_nothing", wheel_idle, FAR, time_drain, false },

	{ &check, "ten_nops", nothing, FAR, time_ten_nops, false, &all[LOOP] },

	{ &hwheel, "arm", wheel_idle, FAR, time_arm, true, &all[LOOP] },
	{ &hwheel, "arm_at", wheel_idle, FAR, time_arm_at, true, &all[LOOP] },
	{ &hwheel, "arm_limited", wheel_limited, FAR, time_arm, true, &all[LOOP] },
	{ &hwheel, "later", wheel_filed, LATER, time_refresh, true, &all[LOOP] },
	{ &hwheel, "later_at", wheel_filed, LATER, time_refresh_at, true, &all[LOOP] },
	{ &hwheel, "earlier_at", wheel_filed, EARLIER, time_refresh_at, true, &all[LOOP] },
	{ &hwheel, "earlier_at_queued", wheel_queued, EARLIER, time_refresh_at, true, &all[LOOP] },
	{ &hwheel, "cancel", wheel_filed, FAR, time_cancel, false, &all[LOOP] },
	{ &hwheel, "cancel_queued", wheel_queued, FAR, time_cancel, false, &all[LOOP] },
	{ &hwheel, "file", wheel_queued, FAR, time_drain, true, &all[DRAIN] },
	{ &hwheel, "unlink", wheel_filed_cancelled, FAR, time_drain, false, &all[DRAIN] },
	{ &hwheel, "drop", wheel_queued_cancelled, FAR, time_drain, false, &all[DRAIN] },
	{ &hwheel, "refile", wheel_idle, FAR, time_refile, false },
	{ &hwheel, "expire", wheel_idle, FAR, time_expire, false, &all[STAMP] },

	{ &timer, "arm", timers_idle, FAR, time_mod_timer, true, &all[LOOP] },
	{ &timer, "arm_at", timers_idle, FAR, time_mod_timer_at, true, &all[LOOP] },
	{ &timer, "later", timers_added, LATER, time_mod_timer, true, &all[LOOP] },
	{ &timer, "later_at", timers_added, LATER, time_mod_timer_at, true, &all[LOOP] },
	{ &timer, "earlier_at", timers_added, EARLIER, time_mod_timer_at, true, &all[LOOP] },
	{ &timer, "cancel", timers_added, FAR, time_timer_delete, false, &all[LOOP] },
	{ &timer, "expire", timers_idle, FAR, time_timer_expire, false, &all[STAMP] },

	{ &hrtimer, "arm", hrtimers_idle, FAR, time_hrtimer_start, true, &all[LOOP] },
	{ &hrtimer, "arm_at", hrtimers_idle, FAR, time_hrtimer_start_at, true, &all[LOOP] },
	{ &hrtimer, "later", hrtimers_started, LATER, time_hrtimer_start, true, &all[LOOP] },
	{ &hrtimer, "later_at", hrtimers_started, LATER, time_hrtimer_start_at, true, &all[LOOP] },
	{ &hrtimer, "earlier_at", hrtimers_started, EARLIER, time_hrtimer_start_at, true,
	  &all[LOOP] },
	{ &hrtimer, "cancel", hrtimers_started, FAR, time_hrtimer_cancel, false, &all[LOOP] },
	{ &hrtimer, "expire", hrtimers_idle, FAR, time_hrtimer_expire, false, &all[STAMP] },
};

/* What went wrong would be measured, too. */
static int expect_pending(const struct measurement *m)
{
	unsigned int i;

	for (i = 0; i < N; i++) {
		if (m->kind->is_pending(&objects[i]) == m->pending)
			continue;
		pr_err("%s %s: not done to all\n", m->kind->name, m->operation);
		return -EIO;
	}
	return 0;
}

static int measure(struct measurement *m)
{
	int err;

	set_times(FAR, STEP);
	err = m->prepare();
	if (err)
		return err;
	set_times(m->delay, STEP);
	m->least = min(m->least, m->time());
	err = expect_pending(m);
	m->kind->finish();
	return err;
}

static int measure_all(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		err = measure(&all[i]);
		if (err)
			return err;
	}
	return 0;
}

static void subtract(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		all[i].net = all[i].least - (all[i].less ? all[i].less->net : 0);
}

static int results_get(char *buffer, const struct kernel_param *param)
{
	unsigned int i;
	int length = 0;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		u64 tenths = div_u64(all[i].net * 10 + N / 2, N);
		u32 tenth;

		tenths = div_u64_rem(tenths, 10, &tenth);
		length += sysfs_emit_at(buffer, length, "bench %s %s %llu.%u\n",
					all[i].kind->name, all[i].operation, tenths, tenth);
	}
	return length;
}

static const struct kernel_param_ops results_ops = { .get = results_get };
module_param_cb(results, &results_ops, NULL, 0400);
MODULE_PARM_DESC(results, "bench KIND OPERATION INSTRUCTIONS, one operation per line");

static int __init bench_init(void)
{
	unsigned int i;
	int err = 0;

	objects = kvcalloc(N, sizeof(*objects), GFP_KERNEL);
	if (!objects)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(all); i++)
		all[i].least = U64_MAX;
	for (i = 0; i < ROUNDS && !err; i++)
		err = measure_all();
	subtract();
	kvfree(objects);
	return err;
}
module_init(bench_init);

/* Nothing is left of the measurements; but without this it could not be unloaded. */
static void __exit bench_exit(void)
{
}
module_exit(bench_exit);

MODULE_DESCRIPTION("How many instructions hwheel's operations take");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
