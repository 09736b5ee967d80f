// SPDX-License-Identifier: GPL-2.0-only
/*
 * A wheel with very many timeouts pending, in all of its slots and beyond: some were
 * refreshed, some are still on their way to the worker. Stopping it hands back each of them
 * exactly once; destroying it ends each of them, or releases it, which it does once, too.
 * Inserting the module does all of that, and fails if anything is not so.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/hwheel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#define HOUR_NS		(3600 * (u64)NSEC_PER_SEC)
#define SPREAD_NS	1000003ULL
#define RESCHED_EVERY	1024

static unsigned int nr = 1000000;
module_param(nr, uint, 0444);
MODULE_PARM_DESC(nr, "Timeouts pending at a time (default 1000000)");

static unsigned int levels = 1;
module_param(levels, uint, 0444);
MODULE_PARM_DESC(levels, "Levels of the wheel (default 1)");

/**
 * struct subject - a timeout, and how often what became of it
 * @timeout:  the timeout
 * @handed:   calls of the handback callback
 * @released: calls of the release op
 */
struct subject {
	struct hwheel_timeout	timeout;
	u8			handed;
	u8			released;
};

static struct subject *subjects;

static struct subject *subject_of(struct hwheel_timeout *timeout)
{
	return container_of(timeout, struct subject, timeout);
}

static void expire(struct hwheel_timeout *timeout)
{
	pr_err("a timeout expired that was for much later\n");
}

static void release(struct hwheel_timeout *timeout)
{
	subject_of(timeout)->released++;
}

static void hand_back(struct hwheel_timeout *timeout, void *data)
{
	subject_of(timeout)->handed++;
}

static const struct hwheel_timeout_ops ops = { .expire = expire, .release = release };

static struct hwheel *create(void)
{
	const struct hwheel_params params = {
		.name = "populate", .tick_ns = 10 * NSEC_PER_MSEC, .levels = levels,
	};

	return hwheel_create(&params);
}

/* The worker takes what it gets meanwhile. */
static int arm_all(struct hwheel *wheel)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		subjects[i].handed = 0;
		subjects[i].released = 0;
		hwheel_timeout_init(&subjects[i].timeout, wheel, &ops);
		err = hwheel_arm(&subjects[i].timeout, HOUR_NS + i * SPREAD_NS);
		if (i % RESCHED_EVERY == 0)
			cond_resched();
	}
	return err;
}

/* To earlier, every third of them, so that they are queued again */
static int refresh_some(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i += 3) {
		err = hwheel_refresh(&subjects[i].timeout, HOUR_NS / 2);
		if (i % RESCHED_EVERY == 0)
			cond_resched();
	}
	return err;
}

/* How many did not end just like this */
static unsigned int count_others(u8 handed, u8 released)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++) {
		const struct subject *s = &subjects[i];

		n += s->handed != handed || s->released != released ||
		     !hwheel_is_cancelled(&s->timeout);
		if (i % RESCHED_EVERY == 0)
			cond_resched();
	}
	return n;
}

static int fill(struct hwheel *wheel)
{
	int err = arm_all(wheel) ?: refresh_some();

	if (!err && hwheel_pending(wheel) != nr)
		err = -EPROTO;
	return err;
}

static int stop_hands_back(struct hwheel *wheel)
{
	ktime_t start = ktime_get();
	s64 handed = hwheel_stop(wheel, hand_back, NULL);
	unsigned int others = count_others(1, 0);

	pr_info("stop: handed_back=%lld otherwise=%u pending=%llu milliseconds=%lld\n",
		handed, others, hwheel_pending(wheel),
		ktime_ms_delta(ktime_get(), start));
	return handed != nr || others || hwheel_pending(wheel) ? -EPROTO : 0;
}

static int destroy_releases(struct hwheel *wheel)
{
	ktime_t start = ktime_get();
	unsigned int others;

	hwheel_destroy(wheel);
	others = count_others(0, 1);
	pr_info("destroy: released=%u otherwise=%u milliseconds=%lld\n", nr - others,
		others, ktime_ms_delta(ktime_get(), start));
	return others ? -EPROTO : 0;
}

static int try_stop(void)
{
	struct hwheel *wheel = create();
	int err;

	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	err = fill(wheel) ?: stop_hands_back(wheel);
	hwheel_destroy(wheel);
	return err;
}

static int try_destroy(void)
{
	struct hwheel *wheel = create();
	int err;

	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	err = fill(wheel);
	if (!err)
		return destroy_releases(wheel);
	hwheel_destroy(wheel);
	return err;
}

static int __init populate_init(void)
{
	int err;

	subjects = vmalloc(array_size(nr, sizeof(*subjects)));
	if (!subjects)
		return -ENOMEM;
	err = try_stop() ?: try_destroy();
	vfree(subjects);
	return err;
}
module_init(populate_init);

/* Nothing of it stays, but others look at what it said. */
static void __exit populate_exit(void)
{
}
module_exit(populate_exit);

MODULE_DESCRIPTION("Very many timeouts on one wheel");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
