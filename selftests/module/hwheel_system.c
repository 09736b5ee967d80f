// SPDX-License-Identifier: GPL-2.0-only
/* A module with a timeout on the system wheel, which it cancels when it goes. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hwheel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

static unsigned int delay_ms = 3000;
module_param(delay_ms, uint, 0444);
MODULE_PARM_DESC(delay_ms, "When the timeout expires (default 3000)");

static struct hwheel_timeout timeout;

static void expire(struct hwheel_timeout *timeout)
{
	pr_info("fired\n");
}

static const struct hwheel_timeout_ops ops = { .expire = expire };

static int __init system_init(void)
{
	hwheel_timeout_init(&timeout, hwheel_system(), &ops);
	return hwheel_arm(&timeout, delay_ms * (u64)NSEC_PER_MSEC);
}
module_init(system_init);

static void __exit system_exit(void)
{
	hwheel_cancel_sync(&timeout);
}
module_exit(system_exit);

MODULE_DESCRIPTION("A timeout on the system wheel");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
