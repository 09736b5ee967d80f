// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the first CPU has been idle, for programs: the parameter us. /proc/stat has it in
 * hundredths of a second. The CPU is idle, too, while a task waits for io_uring.
 */
#include <linux/kernel_stat.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/tick.h>

static int get_us(char *buffer, const struct kernel_param *param)
{
	return sprintf(buffer, "%llu\n",
		       get_cpu_idle_time_us(0, NULL) + get_cpu_iowait_time_us(0, NULL));
}

static const struct kernel_param_ops us_ops = { .get = get_us };

module_param_cb(us, &us_ops, NULL, 0400);
MODULE_PARM_DESC(us, "microseconds since the machine started, to read");

static int __init idle_init(void)
{
	return 0;
}
module_init(idle_init);

static void __exit idle_exit(void)
{
}
module_exit(idle_exit);

MODULE_DESCRIPTION("How long the first CPU has been idle");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
