/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheel's clock as a program sees it. */
#ifndef DEMO_CLOCK_H
#define DEMO_CLOCK_H

#include <stdint.h>
#include <time.h>

#define MSEC	1000000ULL		/* in ns */
#define SEC	1000000000ULL

static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SEC + now.tv_nsec;
}

#endif /* DEMO_CLOCK_H */
