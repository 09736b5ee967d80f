// SPDX-License-Identifier: GPL-2.0-only
/*
 * A timeout on a wheel that counts the time in suspend: its callback logs by how much either clock
 * went on since it was armed; the monotonic one stands still in suspend. And one that is armed in
 * jiffies, on a wheel that does not count it: its callback logs how late it is by the monotonic
 * clock, as jiffies may lose ticks meanwhile. A part of the first jiffy had passed, which it adds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/hwheel.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

static unsigned int delay_ms = 1000;
module_param(delay_ms, uint, 0444);
MODULE_PARM_DESC(delay_ms, "When the timeout is due, in ms of CLOCK_BOOTTIME");

static unsigned int awake_ms = 3000;
module_param(awake_ms, uint, 0444);
MODULE_PARM_DESC(awake_ms, "When the one in jiffies is due, in ms that the machine is awake");

static struct hwheel *wheel, *jiffies_wheel;
static struct hwheel_timeout timeout, jiffies_timeout;
static u64 armed_boottime, armed_monotonic;

static void expire(struct hwheel_timeout *expired)
{
	u64 boottime = ktime_get_boottime_ns() - armed_boottime;
	u64 monotonic = ktime_get_ns() - armed_monotonic;

	pr_info("boottime_ms=%llu monotonic_ms=%llu\n",
		div_u64(boottime, NSEC_PER_MSEC),
		div_u64(monotonic, NSEC_PER_MSEC));
}

static const struct hwheel_timeout_ops ops = { .expire = expire };

static void expire_in_jiffies(struct hwheel_timeout *expired)
{
	s64 late = ktime_get_ns() - armed_monotonic - awake_ms * (u64)NSEC_PER_MSEC;

	pr_info("late_ms=%lld\n", div_s64(late + TICK_NSEC, NSEC_PER_MSEC));
}

static const struct hwheel_timeout_ops jiffies_ops = { .expire = expire_in_jiffies };

static int arm_in_jiffies(void)
{
	const struct hwheel_params params = {
		.name = "jiffies", .tick_ns = 10 * NSEC_PER_MSEC,
	};
	int err;

	jiffies_wheel = hwheel_create(&params);
	if (IS_ERR(jiffies_wheel))
		return PTR_ERR(jiffies_wheel);
	hwheel_timeout_init(&jiffies_timeout, jiffies_wheel, &jiffies_ops);
	err = hwheel_mod_jiffies(&jiffies_timeout, jiffies + msecs_to_jiffies(awake_ms));
	if (err)
		hwheel_destroy(jiffies_wheel);
	return err;
}

static int __init suspend_init(void)
{
	const struct hwheel_params params = {
		.name = "suspend", .tick_ns = 10 * NSEC_PER_MSEC,
		.flags = HWHEEL_BOOTTIME,
	};
	int err;

	wheel = hwheel_create(&params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	hwheel_timeout_init(&timeout, wheel, &ops);
	armed_monotonic = ktime_get_ns();
	armed_boottime = ktime_get_boottime_ns();
	err = hwheel_arm_at(&timeout,
			    armed_boottime + delay_ms * (u64)NSEC_PER_MSEC);
	err = err ?: arm_in_jiffies();
	if (err)
		hwheel_destroy(wheel);
	return err;
}
module_init(suspend_init);

static void __exit suspend_exit(void)
{
	hwheel_destroy(jiffies_wheel);
	hwheel_destroy(wheel);
}
module_exit(suspend_exit);

MODULE_DESCRIPTION("A timeout that is due in suspend");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
