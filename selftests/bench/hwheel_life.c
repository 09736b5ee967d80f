// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many timeouts that all live until they expire, on a wheel named "life".
 *
 * While it is loaded, hwheel's debugfs has how many are still pending, and the scheduler the time
 * that the thread hwheel/life took. The delays are spread evenly, at random but the same on each
 * load. The callback does nothing.
 */
#include <linux/err.h>
#include <linux/hwheel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#define SEED		1987
#define RESCHED_EVERY	1024

static unsigned int slots;
module_param(slots, uint, 0400);
MODULE_PARM_DESC(slots, "of each level (the wheel's default)");

static unsigned int levels;
module_param(levels, uint, 0400);
MODULE_PARM_DESC(levels, "of the wheel (1)");

static bool simple;
module_param(simple, bool, 0400);
MODULE_PARM_DESC(simple, "a wheel that refuses delays beyond its turn (no)");

static unsigned int nr = 1000;
module_param(nr, uint, 0400);
MODULE_PARM_DESC(nr, "timeouts to arm (1000)");

static unsigned int spread = 1;
module_param(spread, uint, 0400);
MODULE_PARM_DESC(spread, "the longest delay, in s (1)");

static struct hwheel *wheel;
static struct hwheel_timeout *timeouts;

static void on_timeout(struct hwheel_timeout *timeout)
{
}

static const struct hwheel_timeout_ops timeout_ops = { .expire = on_timeout };

static int arm_all(void)
{
	struct rnd_state random;
	unsigned int i;
	int err = 0;

	prandom_seed_state(&random, SEED);
	for (i = 0; i < nr && !err; i++) {
		hwheel_timeout_init(&timeouts[i], wheel, &timeout_ops);
		err = hwheel_arm(&timeouts[i],
				 mul_u64_u32_shr((u64)spread * NSEC_PER_SEC,
						 prandom_u32_state(&random), 32));
		if (i % RESCHED_EVERY == RESCHED_EVERY - 1)
			cond_resched();
	}
	return err;
}

static void life_exit(void)
{
	hwheel_destroy(wheel);
	vfree(timeouts);
}
module_exit(life_exit);

static int __init life_init(void)
{
	const struct hwheel_params params = {
		.name = "life", .tick_ns = 10 * NSEC_PER_MSEC, .slots = slots, .levels = levels,
		.flags = simple ? HWHEEL_SIMPLE : 0,
	};
	int err;

	timeouts = vzalloc(array_size(nr, sizeof(*timeouts)));
	if (!timeouts)
		return -ENOMEM;
	wheel = hwheel_create(&params);
	if (IS_ERR(wheel)) {
		vfree(timeouts);
		return PTR_ERR(wheel);
	}
	err = arm_all();
	if (err)
		life_exit();
	return err;
}
module_init(life_init);

MODULE_DESCRIPTION("Timeouts that live until they expire, to see what that costs");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
