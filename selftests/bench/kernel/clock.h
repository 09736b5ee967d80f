/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BENCH_CLOCK_H
#define _BENCH_CLOCK_H

#include <linux/time.h>
#include <linux/timex.h>
#include <linux/types.h>

/*
 * The clock that measures, its unit, and the prefix of its metrics' names.
 *
 * BENCH_TICK is that of the wheels that are measured: longer than what is measured within
 * the first one takes, with a million objects, too. BENCH_SOON is the time until those are
 * due that are waited for: none before the last one has been armed. BENCH_ROUNDS_OF_ONE is
 * how often what there is in a step for one object is measured.
 */
#ifdef CONFIG_UML

#include "../host_clock.h"

#define BENCH_UNIT		"ns"
#define BENCH_OPERATION		"ns."
#define BENCH_LIFE		"ns.life_"
#define BENCH_TICK		(NSEC_PER_SEC / 4 + 8ULL * bench_n * NSEC_PER_USEC)
#define BENCH_SOON		(50 * NSEC_PER_MSEC + 4ULL * bench_n * NSEC_PER_USEC)

#define BENCH_ROUNDS_OF_ONE	10

/* The host may keep us from being in time. */
#define BENCH_MAY_BE_LATE	true

/* CPU time, as others share the host: so caches count, and waiting for the host does not. */
static inline u64 bench_clock(void)
{
	return host_cpu_time();
}

#else

#define BENCH_UNIT		"instructions"
#define BENCH_OPERATION		"op."
#define BENCH_LIFE		"life."
#define BENCH_TICK		(4ULL * NSEC_PER_SEC)
#define BENCH_SOON		(50 * NSEC_PER_MSEC + (u64)bench_n * NSEC_PER_USEC)
#define BENCH_ROUNDS_OF_ONE	5
#define BENCH_MAY_BE_LATE	false

/* Counts instructions, if the virtual machine does as it is told. */
static inline u64 bench_clock(void)
{
	return get_cycles();
}

#endif

#endif /* _BENCH_CLOCK_H */
