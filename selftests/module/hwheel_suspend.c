// SPDX-License-Identifier: GPL-2.0-only
/*
 * A timeout on a wheel that counts the time in suspend. When it expires it tells by how
 * much either clock went on since it was armed; the monotonic one stands still in suspend.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/hwheel.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

static unsigned int delay_ms = 1000;
module_param(delay_ms, uint, 0444);
MODULE_PARM_DESC(delay_ms, "When the timeout is due, in ms of CLOCK_BOOTTIME");

static struct hwheel *wheel;
static struct hwheel_timeout timeout;
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
	if (err)
		hwheel_destroy(wheel);
	return err;
}
module_init(suspend_init);

static void __exit suspend_exit(void)
{
	hwheel_destroy(wheel);
}
module_exit(suspend_exit);

MODULE_DESCRIPTION("A timeout that is due in suspend");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
