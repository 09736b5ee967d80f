// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long it takes until the last of all objects has expired, when all are due.
 *
 * Interrupts stay off until the last one is due, so that what expires them begins at once
 * and does not stop before it is through.
 */
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/processor.h>
#include <linux/sched.h>

#include "bench.h"

/* When to turn interrupts off: timers that count jiffies may be due one or two earlier. */
#define BEFORE	(3 * (u64)TICK_NSEC)
#define TIMEOUT	(60 * HZ)

unsigned int bench_unfired;

static u64 fired_at;
static DECLARE_COMPLETION(all_fired);

void bench_last_fired(void)
{
	fired_at = bench_clock();
	complete(&all_fired);
}

void bench_sleep_until(u64 ns)
{
	ktime_t until = ns;

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout_range(&until, 0, HRTIMER_MODE_ABS);
}

/* What bench_fired() takes for so many, which is of the measuring */
static s64 fired_takes(unsigned int nr)
{
	s64 both;

	bench_unfired = 0;
	both = BENCH_TIMED({ barrier(); bench_fired(); });
	return div_s64((both - BENCH_TIMED(barrier())) * nr, bench_n);
}

/*
 * Waits for @nr callbacks, to which the time of the first, or an earlier one, is @first, and
 * at @last all of them are due.
 */
s64 bench_time_expiry(unsigned int nr, u64 first, u64 last)
{
	s64 measuring = fired_takes(nr);
	bool late;
	u64 start;

	bench_unfired = nr;
	reinit_completion(&all_fired);
	bench_sleep_until(first - BEFORE);

	bench_quiet_begin();
	late = ktime_get_ns() >= first || bench_unfired != nr;
	while (ktime_get_ns() < last)
		cpu_relax();
	start = bench_clock();
	bench_quiet_end(start);

	if (!wait_for_completion_timeout(&all_fired, TIMEOUT))
		return -ETIMEDOUT;
	return late ? -ETIME : fired_at - start - measuring;
}

/* All objects expire, at the times that they were given. */
s64 bench_expire(void)
{
	return bench_time_expiry(bench_n, bench_first_due, bench_last_due);
}
