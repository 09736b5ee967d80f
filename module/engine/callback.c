// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callbacks that misbehave: named in the log once per wheel, counted always.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/ratelimit.h>

#include "callback.h"
#include "wheel.h"

/*
 * A lock that was not given back would have every later callback, and the worker itself, run with
 * preemption off, and blame whoever sleeps first. As call_timer_fn() does, this puts the count
 * right.
 */
void hwheel_callback_contain(struct hwheel *wheel, hwheel_callback_t *callback)
{
	int count = preempt_count();

	preempt_count_set(0);
	local_irq_enable();
	if (atomic_long_inc_return(&wheel->contained) == 1)
		pr_warn_ratelimited("wheel %s: %ps returned with preempt count %#x\n",
				    wheel->name, callback, count);
}

/*
 * The clock was last read up to a jiffy before the callback began. A callback that others
 * were called in is timed as a whole. If the scheduler preempted the worker meanwhile, nobody is
 * to blame. Those of the device are hwheel's own: nobody who reads the log could do anything about
 * them.
 */
void hwheel_callback_took(struct hwheel *wheel, hwheel_callback_t *callback)
{
	unsigned long preempted = wheel->preempted;
	u64 since = wheel->now, took;

	if (wheel->depth > 1)
		return;
	hwheel_clock_read(wheel);
	took = wheel->now - since;
	if (took <= wheel->tick + TICK_NSEC || wheel->preempted != preempted || wheel->own)
		return;
	if (atomic_long_inc_return(&wheel->overlong) == 1)
		pr_warn_ratelimited("wheel %s: %ps held the worker for %llu us, longer than a tick\n",
				    wheel->name, callback,
				    div_u64(took, NSEC_PER_USEC));
}
