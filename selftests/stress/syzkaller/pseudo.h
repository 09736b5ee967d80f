/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * syzkaller's executor runs this for a call of syz_hwheel_time(). A program needs it because its
 * numbers were chosen before it runs, and none of them tells when that is.
 */

#include <time.h>

/*
 * Returns the machine's time in @delay ns, as a deadline (@shift 0) or as a word (1) with @state;
 * the module rounds deadlines to 8 ns.
 */
static long syz_hwheel_time(long delay, long shift, long state)
{
	struct timespec now;
	long deadline;

	clock_gettime(CLOCK_MONOTONIC, &now);
	deadline = (now.tv_sec * 1000000000L + now.tv_nsec + delay) & -8L;
	return deadline << shift | state;
}
