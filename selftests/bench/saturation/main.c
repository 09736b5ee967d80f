// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much one wheel can take: what keeps its worker busy, and whether those who submit
 * hinder each other.
 *
 * For a user-mode kernel, each of whose CPUs is a thread of the host's. With one, only what
 * the worker can take is measured, and it shares that CPU with those who submit. Measures
 * while it is loaded and leaves the results in debugfs, in hwheel_saturation.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "saturation.h"

static unsigned int n = 100000;
module_param(n, uint, 0400);
MODULE_PARM_DESC(n, "timeouts that the worker is kept busy with, at least 1000 (100000)");

static struct dentry *results;

static int results_show(struct seq_file *file, void *unused)
{
	saturation_worker_show(file, n);
	if (num_online_cpus() > 1)
		saturation_submitters_show(file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static int __init saturation_init(void)
{
	int err;

	if (n < 1000)
		return -EINVAL;
	err = saturation_worker(n);
	if (!err && num_online_cpus() > 1)
		err = saturation_submitters();
	if (!err)
		results = debugfs_create_file("hwheel_saturation", 0400, NULL, NULL,
					      &results_fops);
	return err;
}
module_init(saturation_init);

static void __exit saturation_exit(void)
{
	debugfs_remove(results);
}
module_exit(saturation_exit);

MODULE_DESCRIPTION("How many timeouts one wheel can take");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
