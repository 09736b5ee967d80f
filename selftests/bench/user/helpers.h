/* SPDX-License-Identifier: GPL-2.0-only */
/* What all measurements share. */
#ifndef _USER_BENCH_HELPERS_H
#define _USER_BENCH_HELPERS_H

#include <stdbool.h>
#include <time.h>
#include <linux/types.h>

#define MSEC	1000000ULL
#define SEC	(1000 * MSEC)

/* Ends the program if what can't fail here did, with errno. */
void must(bool ok, const char *what);

/* As many zeros as @nr of @size bytes have, or the end of the program */
void *zeros(unsigned long nr, unsigned long size);

/*
 * For what the program names its timeouts by. The memory is there at once, so that what
 * comes later is not taken for a part of what they need.
 */
void *handles(unsigned long nr, unsigned long size);

void sleep_ns(__u64 ns);

/* Prints a measurement: a JSON object in a line. */
void report(const char *metric, const char *impl, unsigned int n, const char *unit,
	    double value);

/* Sorts them. */
__u64 median_of(__u64 *values, unsigned int nr);

/* The clock that all facilities use here */
static inline __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SEC + now.tv_nsec;
}

#endif /* _USER_BENCH_HELPERS_H */
