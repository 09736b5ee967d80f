// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that does something wrong, so that one can see whether the kernel notices: not
 * to be loaded where anybody works. The kernel goes on where it is not told to stop.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>

static char *deed = "";
module_param(deed, charp, 0444);
MODULE_PARM_DESC(deed, "What to do wrong");

/* Of the last that it gave out the allocator itself may have stray copies, which hide them. */
#define LEAKS	1000

/* As the compiler must not see what is wrong */
static unsigned int hidden(unsigned int value)
{
	OPTIMIZER_HIDE_VAR(value);
	return value;
}

static void use_after_free(void)
{
	char *memory = kmalloc(64, GFP_KERNEL), *same = memory;

	OPTIMIZER_HIDE_VAR(same);
	kfree(memory);
	if (same)
		READ_ONCE(*same);
}

static void leak(void)
{
	unsigned int i;
	void *memory;

	for (i = 0; i < LEAKS; i++) {
		memory = kzalloc(64, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(memory);
	}
}

static void lock_order(void)
{
	static DEFINE_SPINLOCK(a);
	static DEFINE_SPINLOCK(b);

	spin_lock(&a);
	spin_lock(&b);
	spin_unlock(&b);
	spin_unlock(&a);

	spin_lock(&b);
	spin_lock(&a);
	spin_unlock(&a);
	spin_unlock(&b);
}

static void sleep_atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

static void expire(struct timer_list *timer)
{
}

/* The debug objects disarm it. */
static void init_active(void)
{
	static struct timer_list timer;

	timer_setup(&timer, expire, 0);
	mod_timer(&timer, jiffies + 3600 * HZ);
	timer_setup(&timer, expire, 0);
}

static void add_twice(void)
{
	static LIST_HEAD(list);
	static LIST_HEAD(item);

	list_add(&item, &list);
	list_add(&item, &list);
}

static void shift(void)
{
	hidden(1U << hidden(40));
}

static unsigned int raced;

/* KCSAN looks at one access of thousands. */
static noinline void race(void)
{
	unsigned int i;

	for (i = 0; i < 2000000; i++) {
		raced++;
		barrier();
	}
}

/* No two have a turn at a time. If not @ordered, what one does may yet come after its turn. */
static unsigned int taken;
static bool ordered;

static noinline void take_turns(void)
{
	unsigned int turns, i;

	for (turns = 0; turns < 10000; turns++) {
		while (cmpxchg_acquire(&taken, 0, 1))
			cpu_relax();
		for (i = 0; i < 100; i++) {
			raced++;
			barrier();
		}
		if (ordered)
			smp_store_release(&taken, 0); /* pairs with cmpxchg_acquire() */
		else
			WRITE_ONCE(taken, 0);
	}
}

static void (*racing)(void);

static int race_on(void *unused)
{
	racing();
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

static void race_both(void (*racer)(void))
{
	struct task_struct *other;

	racing = racer;
	other = kthread_run(race_on, NULL, "hwheel_wrong");
	racing();
	if (!IS_ERR(other))
		kthread_stop(other);
}

static void race_freely(void)
{
	race_both(race);
}

static void race_in_turns(void)
{
	race_both(take_turns);
}

/* Not wrong */
static void race_in_order(void)
{
	ordered = true;
	race_both(take_turns);
}

static const struct {
	const char	*name;
	void		(*act)(void);
} deeds[] = {
	{ "use_after_free",	use_after_free },
	{ "leak",		leak },
	{ "lock_order",		lock_order },
	{ "sleep_atomic",	sleep_atomic },
	{ "init_active",	init_active },
	{ "add_twice",		add_twice },
	{ "shift",		shift },
	{ "race",		race_freely },
	{ "no_release",		race_in_turns },
	{ "release",		race_in_order },
};

static int __init wrong_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(deeds); i++) {
		if (strcmp(deeds[i].name, deed) == 0) {
			deeds[i].act();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit wrong_exit(void)
{
}

module_init(wrong_init);
module_exit(wrong_exit);

MODULE_DESCRIPTION("What a kernel with sanitizers must notice");
MODULE_LICENSE("GPL");
