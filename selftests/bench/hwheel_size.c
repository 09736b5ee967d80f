// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much memory each timeout takes in the kernel: the size of what users embed in
 * something of theirs, as there is nothing else. Leaves "bench METRIC IMPL N UNIT VALUE"
 * lines in its parameter results.
 */
#include <linux/hrtimer.h>
#include <linux/hwheel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sysfs.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

static const struct {
	const char	*name;
	size_t		size;
} sizes[] = {
	{ "hwheel",	  sizeof(struct hwheel_timeout) },
	{ "timer_list",	  sizeof(struct timer_list) },
	{ "hrtimer",	  sizeof(struct hrtimer) },
	{ "delayed_work", sizeof(struct delayed_work) },
};

static int results_get(char *buffer, const struct kernel_param *param)
{
	int length = 0, i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		length += sysfs_emit_at(buffer, length, "bench memory.in_kernel %s 1 bytes %zu\n",
					sizes[i].name, sizes[i].size);
	return length;
}

static const struct kernel_param_ops results_ops = { .get = results_get };
module_param_cb(results, &results_ops, NULL, 0400);
MODULE_PARM_DESC(results, "bench memory.in_kernel IMPL 1 bytes SIZE, one per line");

/* There is nothing to do. */
static int __init size_init(void)
{
	return 0;
}
module_init(size_init);

static void __exit size_exit(void)
{
}
module_exit(size_exit);

MODULE_DESCRIPTION("How much memory timeouts take in the kernel");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
