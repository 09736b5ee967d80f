// SPDX-License-Identifier: GPL-2.0-only
/* A wheel with a place for its worker, which is there for others to look at. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/hwheel.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/workqueue.h>

static int nice;
module_param(nice, int, 0444);
MODULE_PARM_DESC(nice, "Niceness of the worker (default 0)");

static int rt_priority;
module_param(rt_priority, int, 0444);
MODULE_PARM_DESC(rt_priority, "Its priority under SCHED_FIFO; 0: none (default 0)");

static char *cpus;
module_param(cpus, charp, 0444);
MODULE_PARM_DESC(cpus, "CPUs where it may run, such as 0-1,3 (default: any)");

static struct hwheel *wheel;
static struct cpumask wanted, given;
static DECLARE_COMPLETION(ran);
static DECLARE_COMPLETION(held);
static DECLARE_COMPLETION(go);

static void expire(struct hwheel_timeout *timeout)
{
	if (cpus && !cpumask_test_cpu(raw_smp_processor_id(), &wanted))
		pr_err("runs where it must not\n");
	complete(&ran);
}

static const struct hwheel_timeout_ops ops = { .expire = expire };

/* That the worker works there: it fires one. */
static int use_wheel(u64 delay_ns)
{
	static struct hwheel_timeout timeout;
	int err;

	hwheel_timeout_init(&timeout, wheel, &ops);
	err = hwheel_arm(&timeout, delay_ns);
	if (!err && !wait_for_completion_timeout(&ran, 30 * HZ))
		err = -ETIMEDOUT;
	return err;
}

/* One writer at a time, as for any parameter */
static int set_fire(const char *value, const struct kernel_param *kp)
{
	unsigned int ms;
	int err = kstrtouint(value, 0, &ms);

	if (!wheel)
		return -EINVAL;
	return err ?: use_wheel(ms * (u64)NSEC_PER_MSEC);
}

static const struct kernel_param_ops fire_ops = { .set = set_fire };
module_param_cb(fire, &fire_ops, NULL, 0200);
MODULE_PARM_DESC(fire, "Write to it: fires one after so many ms, and waits for that");

/* Keeps the worker until it is told to go on. */
static void hold(struct hwheel_timeout *timeout)
{
	complete(&held);
	wait_for_completion(&go);
}

static const struct hwheel_timeout_ops hold_ops = { .expire = hold };

static long arm_stranded(void *timeout)
{
	hwheel_timeout_init(timeout, wheel, &ops);
	return hwheel_arm(timeout, 0);
}

static int set_strand(const char *value, const struct kernel_param *kp)
{
	static struct hwheel_timeout holder, stranded;
	unsigned int cpu;
	int err = kstrtouint(value, 0, &cpu);

	if (err || !wheel || cpu >= nr_cpu_ids || !cpu_online(cpu))
		return err ?: -EINVAL;
	hwheel_timeout_init(&holder, wheel, &hold_ops);
	err = hwheel_arm(&holder, 0);
	if (err)
		return err;
	wait_for_completion(&held);
	return work_on_cpu(cpu, arm_stranded, &stranded);
}

static const struct kernel_param_ops strand_ops = { .set = set_strand };
module_param_cb(strand, &strand_ops, NULL, 0200);
MODULE_PARM_DESC(strand, "Write a CPU to it, once: it arms one while the worker is in a callback");

static int set_found(const char *value, const struct kernel_param *kp)
{
	complete_all(&go);
	return wait_for_completion_timeout(&ran, 30 * HZ) ? 0 : -ETIMEDOUT;
}

static const struct kernel_param_ops found_ops = { .set = set_found };
module_param_cb(found, &found_ops, NULL, 0200);
MODULE_PARM_DESC(found, "Write to it: lets the worker go on, and waits for that one");

/* A text that is no list of CPUs is another error than those of hwheel_create(). */
static int __init place_init(void)
{
	const struct hwheel_params params = {
		.name = "place", .tick_ns = NSEC_PER_MSEC,
		.nice = nice, .rt_priority = rt_priority, .cpus = cpus ? &given : NULL,
	};
	int err;

	if (cpus && cpulist_parse(cpus, &wanted))
		return -EDOM;
	cpumask_copy(&given, &wanted);
	wheel = hwheel_create(&params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	/* The wheel has its own copy. */
	cpumask_clear(&given);
	err = use_wheel(0);
	if (err)
		hwheel_destroy(wheel);
	return err;
}
module_init(place_init);

static void __exit place_exit(void)
{
	complete_all(&go);
	hwheel_destroy(wheel);
}
module_exit(place_exit);

MODULE_DESCRIPTION("A wheel with a place for its worker");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
