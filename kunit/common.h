/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time, as tests in a user-mode kernel with time travel have it: it stands still
 * while anybody runs, and jumps to the next timer when all sleep.
 */
#ifndef _HWHEEL_KUNIT_COMMON_H
#define _HWHEEL_KUNIT_COMMON_H

#include <kunit/test.h>
#include <linux/debug_locks.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kmsg_dump.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "engine/edge.h"
#include "engine/wheel.h"

/*
 * A look at the clock takes 256 ns of simulated time, unless interrupts are off.
 * For the same reason tests that need to know exactly when they armed a timeout
 * do so with interrupts off.
 */
static inline u64 test_now(const struct hwheel *wheel)
{
	unsigned long flags;
	u64 now;

	local_irq_save(flags);
	now = hwheel_now(wheel);
	local_irq_restore(flags);
	return now;
}

/*
 * The longest time that a kernel can sleep or stall in one go. A user-mode kernel of 32 bits
 * computes both in an unsigned long, and adds one to how long it sleeps: itimer_next_event()
 * makes 0 of 2^32 - 1 ns, which the most distant timers have, and the clock creeps.
 */
#define TEST_SPAN_NS	(BITS_PER_LONG == 64 ? S64_MAX : 4LL * NSEC_PER_SEC)

/* Until then the wheel's worker runs whenever it has to. */
static inline void test_sleep_until(const struct hwheel *wheel, u64 ns)
{
	u64 now;

	while ((now = test_now(wheel)) < ns) {
		ktime_t until = ns_to_ktime(min(ns, now + TEST_SPAN_NS));

		set_current_state(TASK_IDLE);
		schedule_hrtimeout_range_clock(&until, 0, HRTIMER_MODE_ABS,
					       wheel->clock);
	}
}

static inline void test_sleep(const struct hwheel *wheel, u64 ns)
{
	test_sleep_until(wheel, test_now(wheel) + ns);
}

/*
 * For suite_init: tests may start so early that timers still wait for the kernel's
 * next tick, not having been switched to the resolution of the clock.
 */
static inline int test_wait_for_timers(struct kunit_suite *suite)
{
	while (hrtimer_resolution > 1)
		msleep(20);
	return 0;
}

/*
 * KUnit gives a case five minutes by the clock. One whose simulated time is longer
 * goes on all the same, and takes that verdict back as the last thing it does.
 */
static inline void test_took_long(struct kunit *test)
{
	if (test->try_catch.try_result == -ETIMEDOUT)
		test->try_catch.try_result = 0;
}

/* A complaint of the kernel between these two lines of its log is one that a test asks for. */

static inline void test_complaint_begin(void)
{
	pr_info("hwheel: a complaint is asked for\n");
}

static inline void test_complaint_end(void)
{
	pr_info("hwheel: the complaint was asked for\n");
}

/* How many lines of the kernel's log have a text */
static inline unsigned int test_count_logged(const char *text)
{
	struct kmsg_dump_iter iter;
	unsigned int n = 0;
	char line[256];
	size_t len;

	kmsg_dump_rewind(&iter);
	while (kmsg_dump_get_line(&iter, false, line, sizeof(line) - 1, &len)) {
		line[len] = '\0';
		n += !!strstr(line, text);
	}
	return n;
}

/* lockdep looks at nothing more once it has complained, rightly or not. */
static inline void test_expect_lockdep(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		KUNIT_EXPECT_NE(test, debug_locks, 0);
}

#endif /* _HWHEEL_KUNIT_COMMON_H */
