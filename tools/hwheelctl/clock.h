/* SPDX-License-Identifier: GPL-2.0-only */
/* How time passes for hwheelctl itself, be wheels on another clock. */
#ifndef CLOCK_H
#define CLOCK_H

#include <linux/types.h>
#include <time.h>

#define SEC	1000000000ULL	/* in ns */

static inline __u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SEC + now.tv_nsec;
}

#endif /* CLOCK_H */
