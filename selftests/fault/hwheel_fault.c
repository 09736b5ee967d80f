// SPDX-License-Identifier: GPL-2.0-only
/*
 * A wheel's whole life in one system call, so that a test can have any of its
 * allocations fail: a write to the parameter life creates a wheel, uses it and
 * destroys it, and returns the error.
 */
#include <linux/err.h>
#include <linux/hwheel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/string.h>

static void expire(struct hwheel_timeout *timeout)
{
}

static const struct hwheel_timeout_ops ops = { .expire = expire };

static int use(struct hwheel *wheel)
{
	struct hwheel_timeout timeout;
	int err;

	hwheel_timeout_init(&timeout, wheel, &ops);
	err = hwheel_arm(&timeout, NSEC_PER_SEC * 3600ULL);
	if (!err && hwheel_cancel_sync(&timeout) != 1)
		err = -EPROTO;
	return err;
}

static int live(const struct hwheel_params *params)
{
	struct hwheel *wheel = hwheel_create(params);
	int err;

	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	err = use(wheel);
	hwheel_destroy(wheel);
	return err;
}

/**
 * struct hog - memory of each CPU that is in the way
 * @self: all of it
 * @link: in the list of all
 */
struct hog {
	struct hog __percpu	*self;
	struct list_head	link;
};

#define LARGEST	32768
#define LEAST	64

/* Takes what there is for CPUs, as far as that goes without asking for more. */
static void hog(struct list_head *hogs)
{
	struct hog __percpu *self;
	size_t size;

	for (size = LARGEST; size >= LEAST; size /= 2) {
		while ((self = __alloc_percpu_gfp(size, LEAST, GFP_NOWAIT | __GFP_NOWARN))) {
			struct hog *hog = per_cpu_ptr(self, 0);

			hog->self = self;
			list_add(&hog->link, hogs);
		}
	}
}

static void unhog(struct list_head *hogs)
{
	struct hog *hog, *next;

	list_for_each_entry_safe(hog, next, hogs, link)
		free_percpu(hog->self);
}

/* The memory for CPUs comes from a reserve: only when that is used up can it fail. */
static int live_without_reserve(const struct hwheel_params *params)
{
	LIST_HEAD(hogs);
	int err;

	hog(&hogs);
	err = live(params);
	unhog(&hogs);
	return err;
}

static int set_life(const char *kind, const struct kernel_param *kp)
{
	struct hwheel_params params = { .name = "fault", .tick_ns = NSEC_PER_MSEC };

	if (sysfs_streq(kind, "plain"))
		return live(&params);
	if (sysfs_streq(kind, "percpu"))
		return live_without_reserve(&params);
	if (sysfs_streq(kind, "levels"))
		params.levels = 3;
	else if (sysfs_streq(kind, "large"))
		params.slots = 1 << 20;
	else
		return -EINVAL;
	return live(&params);
}

static const struct kernel_param_ops life_ops = { .set = set_life };

module_param_cb(life, &life_ops, NULL, 0200);
MODULE_PARM_DESC(life, "Write plain, levels, large or percpu, and a wheel lives and dies");

MODULE_DESCRIPTION("A wheel's whole life in one system call");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
