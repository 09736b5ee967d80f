// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the operations of hwheel, timer_list, hrtimer and delayed_work take, and whole lives
 * of timers: instructions, or ns; or the worst lateness on hierarchical wheels; or what the
 * common server's shapes take.
 *
 * For a virtual machine whose time stamp counter counts instructions (QEMU with -icount
 * shift=0), or for a user-mode kernel; with one CPU. Anywhere else the results are not what
 * they say. Measures while it is loaded and leaves the results in debugfs, in hwheel_bench.
 */
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/seq_file.h>

#include "bench.h"

static unsigned int n = 10000;
module_param(n, uint, 0400);
MODULE_PARM_DESC(n, "objects, at least 2 (10000)");

static unsigned int rounds = 5;
module_param(rounds, uint, 0400);
MODULE_PARM_DESC(rounds, "of which the least counts, at least 1 (5)");

static bool lateness;
module_param(lateness, bool, 0400);
MODULE_PARM_DESC(lateness, "measure lateness, with a million objects, and no operations (no)");

static char *common = "";
module_param(common, charp, 0400);
MODULE_PARM_DESC(common, "one of the common server's shapes instead: moves, lone, mod or mix (none)");

static struct dentry *results;

static int results_show(struct seq_file *file, void *unused)
{
	if (*common)
		bench_show_common(file);
	else if (lateness)
		bench_show_lateness(file);
	else
		bench_show(file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static int __init bench_init(void)
{
	int err;

	if (n < 2 || !rounds)
		return -EINVAL;
	err = bench_objects_alloc(n);
	if (err)
		return err;
	if (*common)
		err = bench_common(common, n);
	else
		err = lateness ? bench_lateness(n) : bench_count(n, rounds);
	bench_objects_free();
	if (!err)
		results = debugfs_create_file("hwheel_bench", 0400, NULL, NULL, &results_fops);
	return err;
}
module_init(bench_init);

static void __exit bench_exit(void)
{
	debugfs_remove(results);
}
module_exit(bench_exit);

MODULE_DESCRIPTION("What hwheel's operations take");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
