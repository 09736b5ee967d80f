// SPDX-License-Identifier: GPL-2.0-only
/*
 * What timeouts take the worker whose memory is in none of its caches: the objects are armed in
 * random order, on another CPU if there is one.
 *
 *   file    the worker drains what was armed
 *   unlink  it drains what was cancelled
 *   expire  it calls empty callbacks
 *
 * A callback holds the worker until all is there for it, so it goes through that without a sleep.
 * A queue has the latest first: what is submitted first is drained last, and marks the end.
 * Measures while it is loaded and leaves the results in debugfs, in hwheel_cold.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/hwheel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include "row.h"

#define WORKER_CPU	0
#define SUBMITTER_CPU	min(1U, num_online_cpus() - 1)

#define SEED		1987

/* Objects are in blocks of so many bytes. */
#define BLOCK	(2U << 20)

/* A prime: in another order neighbours of a slot's chain are not neighbours of a queue. */
#define OTHER_ORDER	7368787

/* Enough for each of a CPU's queues to have one */
#define MARKS		32

#ifdef CONFIG_UML

#include "host_clock.h"

static u64 now(void)
{
	return host_cpu_time();
}

static int stay_here(void *unused)
{
	host_stay_on(raw_smp_processor_id());
	return 0;
}

#else

static u64 now(void)
{
	return ktime_get_ns();
}

static int stay_here(void *unused)
{
	return 0;
}

#endif

static unsigned int n = 1000000;
module_param(n, uint, 0400);
MODULE_PARM_DESC(n, "timeouts (1000000)");

static unsigned int size = 64;
module_param(size, uint, 0400);
MODULE_PARM_DESC(size, "of an object in bytes, of which a timeout is the first part (64)");

static unsigned int offset;
module_param(offset, uint, 0400);
MODULE_PARM_DESC(offset, "of the timeout in its object (0)");

static unsigned int slots = 512;
module_param(slots, uint, 0400);
MODULE_PARM_DESC(slots, "of the wheel (512)");

static unsigned int tick = 1000;
module_param(tick, uint, 0400);
MODULE_PARM_DESC(tick, "of the wheel, in us (1000)");

static unsigned int rounds = 5;
module_param(rounds, uint, 0400);
MODULE_PARM_DESC(rounds, "of which the least counts (5)");

static char *impl = "hwheel";
module_param(impl, charp, 0400);
MODULE_PARM_DESC(impl, "name of what is measured (hwheel)");

enum step { FILE, UNLINK, EXPIRE, STEPS };

static const char * const names[] = { "file", "unlink", "expire" };
static u64 best[STEPS] = { U64_MAX, U64_MAX, U64_MAX };

static struct hwheel *wheel;
static void **blocks;
static u32 *order;
static u64 first_due;

static struct hwheel_timeout holder, marks[MARKS];
static unsigned int left;
static u64 begun, ended;

static DECLARE_COMPLETION(held);
static DECLARE_COMPLETION(submitted);
static DECLARE_COMPLETION(done);

static struct dentry *results;

static struct hwheel_timeout *timeout_of(unsigned int i)
{
	unsigned int per_block = BLOCK / size;

	return blocks[order[i] / per_block] + order[i] % per_block * size + offset;
}

static void hold(struct hwheel_timeout *timeout)
{
	complete(&held);
	wait_for_completion(&submitted);
	begun = now();
}

static void on_last(void)
{
	if (--left)
		return;
	ended = now();
	complete(&done);
}

static void on_timeout(struct hwheel_timeout *timeout)
{
	on_last();
}

static const struct hwheel_timeout_ops holder_ops = { .expire = hold };
static const struct hwheel_timeout_ops mark_ops = { .expire = on_timeout, .release = on_timeout };
static const struct hwheel_timeout_ops timeout_ops = { .expire = on_timeout };

static void submit_marks(void)
{
	unsigned int i;

	left = MARKS;
	for (i = 0; i < MARKS; i++) {
		hwheel_arm_at(&marks[i], U64_MAX);
		hwheel_cancel(&marks[i]);
	}
}

static int arm_all(void *unused)
{
	struct rnd_state random;
	u64 spread = (u64)slots * tick * NSEC_PER_USEC;
	unsigned int i;

	submit_marks();
	first_due = ktime_get_ns() + NSEC_PER_SEC / 4 + (u64)n * 2 * NSEC_PER_USEC;
	prandom_seed_state(&random, SEED);
	for (i = 0; i < n; i++)
		hwheel_arm_at(timeout_of(i), first_due +
			      mul_u64_u32_shr(spread, prandom_u32_state(&random), 32));
	return 0;
}

static unsigned int other(unsigned int i)
{
	u32 rest;

	div_u64_rem((u64)i * OTHER_ORDER, n, &rest);
	return rest;
}

static int cancel_all(void *unused)
{
	unsigned int i;

	submit_marks();
	for (i = 0; i < n; i++)
		hwheel_cancel(timeout_of(other(i)));
	return 0;
}

/* All are due. */
static int wait_all(void *unused)
{
	left = n;
	while (ktime_get_ns() < first_due + (u64)(slots + 2) * tick * NSEC_PER_USEC)
		msleep(20);
	return 0;
}

/* Has the worker do at once what @submit leaves to it. */
static u64 take(int (*submit)(void *unused))
{
	hwheel_arm_at(&holder, 0);
	wait_for_completion(&held);
	smp_call_on_cpu(SUBMITTER_CPU, submit, NULL, false);
	complete(&submitted);
	wait_for_completion(&done);
	return ended - begun;
}

static void measure_step(enum step step, int (*submit)(void *unused))
{
	best[step] = min(best[step], take(submit));
}

static void measure(void)
{
	measure_step(FILE, arm_all);
	measure_step(UNLINK, cancel_all);
	take(arm_all);
	measure_step(EXPIRE, wait_all);
}

static void shuffle(void)
{
	struct rnd_state random;
	unsigned int i, j;

	prandom_seed_state(&random, SEED);
	for (i = 0; i < n; i++) {
		j = mul_u64_u32_shr(i + 1, prandom_u32_state(&random), 32);
		order[i] = order[j];
		order[j] = i;
	}
}

static int measure_all(void)
{
	const struct hwheel_params params = {
		.name = "cold", .tick_ns = tick * NSEC_PER_USEC, .slots = slots,
		.cpus = cpumask_of(WORKER_CPU),
	};
	unsigned int i;

	/* Caches of different CPUs */
	for_each_online_cpu(i)
		smp_call_on_cpu(i, stay_here, NULL, false);
	wheel = hwheel_create(&params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	hwheel_timeout_init(&holder, wheel, &holder_ops);
	for (i = 0; i < MARKS; i++)
		hwheel_timeout_init(&marks[i], wheel, &mark_ops);
	for (i = 0; i < n; i++)
		hwheel_timeout_init(timeout_of(i), wheel, &timeout_ops);
	for (i = 0; i < rounds; i++)
		measure();
	hwheel_destroy(wheel);
	return 0;
}

static unsigned int nr_blocks(void)
{
	return DIV_ROUND_UP(n, BLOCK / size);
}

/* As a slab has them: pages of the kernel's own mapping */
static int alloc_blocks(void)
{
	unsigned int i;

	blocks = vzalloc(array_size(nr_blocks(), sizeof(*blocks)));
	if (!blocks)
		return -ENOMEM;
	for (i = 0; i < nr_blocks(); i++) {
		blocks[i] = alloc_pages_exact(BLOCK, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
		if (!blocks[i])
			return -ENOMEM;
	}
	return 0;
}

static void free_blocks(void)
{
	unsigned int i;

	for (i = 0; blocks && i < nr_blocks() && blocks[i]; i++)
		free_pages_exact(blocks[i], BLOCK);
	vfree(blocks);
}

static int results_show(struct seq_file *file, void *unused)
{
	const char *group = num_online_cpus() > 1 ? "cold.other_cpu_" : "cold.";
	unsigned int i;
	char name[32];

	for (i = 0; i < STEPS; i++) {
		snprintf(name, sizeof(name), "%s_%u", names[i], size);
		row_show(file, group, name, impl, n, "ns", div_u64(best[i] * 1000, n));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static int __init cold_init(void)
{
	int err = -ENOMEM;

	if (!n || size < offset + sizeof(struct hwheel_timeout) || size % 8 || offset % 8)
		return -EINVAL;
	order = vzalloc(array_size(n, sizeof(*order)));
	if (order && !alloc_blocks()) {
		shuffle();
		err = measure_all();
	}
	free_blocks();
	vfree(order);
	if (!err)
		results = debugfs_create_file("hwheel_cold", 0400, NULL, NULL, &results_fops);
	return err;
}
module_init(cold_init);

static void __exit cold_exit(void)
{
	debugfs_remove(results);
}
module_exit(cold_exit);

MODULE_DESCRIPTION("What timeouts in cold memory take");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
