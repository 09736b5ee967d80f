// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that forgets its wheels, if it is told so, and timeouts on the system wheel.
 *
 * It creates wheels with timeouts pending, leak0 and so on. The release op frees each timeout that
 * has one, and logs it. The last timeout of each wheel has none and lies in this module: nothing
 * may touch it after unloading.
 *
 * Of each four timeouts on the system wheel the second and its ops are in pages that nobody frees,
 * so that only its callback lies in this module, the third is a work's, and the fourth one's
 * callback arms it again and again.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/hwheel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#define MAX_WHEELS	128
#define MAX_ON_SYSTEM	16

static unsigned int wheels = 2;
module_param(wheels, uint, 0444);
MODULE_PARM_DESC(wheels, "Wheels to create, up to 128 (default 2)");

static unsigned int released = 2;
module_param(released, uint, 0444);
MODULE_PARM_DESC(released, "Timeouts with a release op on the first wheel, twice that on the second and so on (default 2)");

static unsigned int delay_ms = 3000;
module_param(delay_ms, uint, 0444);
MODULE_PARM_DESC(delay_ms, "When all of them expire (default 3000)");

static unsigned int on_system;
module_param(on_system, uint, 0444);
MODULE_PARM_DESC(on_system, "Timeouts to leave on the system wheel, up to 16 (default 0)");

static bool forget;
module_param(forget, bool, 0444);
MODULE_PARM_DESC(forget, "Leave the wheels behind");

static bool fail;
module_param(fail, bool, 0444);
MODULE_PARM_DESC(fail, "Fail to load after the wheels were created");

struct item {
	struct hwheel_timeout	timeout;
	unsigned int		wheel;
};

static struct hwheel *made[MAX_WHEELS];
static struct hwheel_timeout last[MAX_WHEELS];

static void item_expire(struct hwheel_timeout *timeout)
{
	struct item *item = container_of(timeout, struct item, timeout);

	pr_info("fired on leak%u\n", item->wheel);
	kfree(item);
}

static void item_release(struct hwheel_timeout *timeout)
{
	struct item *item = container_of(timeout, struct item, timeout);

	pr_info("released from leak%u\n", item->wheel);
	kfree(item);
}

static const struct hwheel_timeout_ops item_ops = {
	.expire = item_expire, .release = item_release,
};

static void last_expire(struct hwheel_timeout *timeout)
{
	pr_info("fired on leak%td\n", timeout - last);
}

static const struct hwheel_timeout_ops last_ops = { .expire = last_expire };

static int arm_item(unsigned int i)
{
	struct item *item = kzalloc(sizeof(*item), GFP_KERNEL);
	int err;

	if (!item)
		return -ENOMEM;
	item->wheel = i;
	hwheel_timeout_init(&item->timeout, made[i], &item_ops);
	err = hwheel_arm(&item->timeout, delay_ms * (u64)NSEC_PER_MSEC);
	if (err)
		kfree(item);
	return err;
}

static int arm_all(unsigned int i)
{
	unsigned int n;
	int err = 0;

	for (n = 0; n < released * (i + 1) && !err; n++)
		err = arm_item(i);
	if (err)
		return err;
	hwheel_timeout_init(&last[i], made[i], &last_ops);
	return hwheel_arm(&last[i], delay_ms * (u64)NSEC_PER_MSEC);
}

/* A function of its own, as its name is to be found in the log. */
static noinline int make_wheel(unsigned int i)
{
	char name[HWHEEL_NAME_MAX];
	const struct hwheel_params params = {
		.name = name, .tick_ns = NSEC_PER_MSEC, .slots = 64,
	};
	struct hwheel *wheel;

	snprintf(name, sizeof(name), "leak%u", i);
	wheel = hwheel_create(&params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	made[i] = wheel;
	return arm_all(i);
}

static void system_expire(struct hwheel_timeout *timeout)
{
	pr_info("fired on the system wheel\n");
}

static const struct hwheel_timeout_ops system_ops = { .expire = system_expire };

static void system_again(struct hwheel_timeout *timeout)
{
	hwheel_arm(timeout, 0);
}

static const struct hwheel_timeout_ops again_ops = { .expire = system_again };

static void system_run(struct work_struct *item)
{
	pr_info("fired on the system wheel\n");
}

static int arm_work_on_system(unsigned int i)
{
	static struct hwheel_work works[MAX_ON_SYSTEM];

	hwheel_work_init(&works[i], hwheel_system(), system_unbound_wq, system_run, NULL);
	return hwheel_work_arm(&works[i], delay_ms * (u64)NSEC_PER_MSEC);
}

struct far_timeout {
	struct hwheel_timeout		timeout;
	struct hwheel_timeout_ops	ops;
};

static int arm_on_system(unsigned int i)
{
	static struct hwheel_timeout near[MAX_ON_SYSTEM];
	struct hwheel_timeout *timeout = &near[i];
	const struct hwheel_timeout_ops *ops = &system_ops;

	if (i % 4 == 2)
		return arm_work_on_system(i);
	if (i % 4 == 3) {
		hwheel_timeout_init(timeout, hwheel_system(), &again_ops);
		return hwheel_arm(timeout, 0);
	}
	if (i % 4 == 1) {
		struct far_timeout *far = (void *)get_zeroed_page(GFP_KERNEL);

		if (!far)
			return -ENOMEM;
		far->ops = system_ops;
		timeout = &far->timeout;
		ops = &far->ops;
	}
	hwheel_timeout_init(timeout, hwheel_system(), ops);
	return hwheel_arm(timeout, delay_ms * (u64)NSEC_PER_MSEC);
}

static void destroy_wheels(void)
{
	unsigned int i;

	for (i = 0; i < wheels; i++)
		if (made[i])
			hwheel_destroy(made[i]);
}

static int __init leak_init(void)
{
	unsigned int i;
	int err = 0;

	if (wheels > MAX_WHEELS || on_system > MAX_ON_SYSTEM)
		return -EDOM;
	for (i = 0; i < wheels && !err; i++)
		err = make_wheel(i);
	for (i = 0; i < on_system && !err; i++)
		err = arm_on_system(i);
	if (!err && fail) {
		pr_info("fails\n");
		err = -ENODEV;
	}
	if (err && !forget)
		destroy_wheels();
	return err;
}
module_init(leak_init);

static void __exit leak_exit(void)
{
	if (!forget)
		destroy_wheels();
}
module_exit(leak_exit);

MODULE_DESCRIPTION("Wheels that are left behind");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
