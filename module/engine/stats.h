/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_STATS_H
#define _HWHEEL_STATS_H

#include <linux/bitops.h>
#include <linux/hwheel.h>
#include <linux/math64.h>

#include <asm/local.h>

#include "fraction.h"

/*
 * What the owner of the slots counts, see struct hwheel_stats.
 *
 * local_t as there is one writer at a time, and anyone may read. The histogram of lateness
 * has a bin for each logarithm that there can be.
 */
struct hwheel_counts {
	local_t	lateness[64];
	local_t	handed_back;
	local_t	passes;
	local_t	visited;
	local_t	moved;
	local_t	wakeups;
	local_t	drained;
	local_t	drained_max;
	local_t	lag;
	local_t	lag_max;
};

static inline void hwheel_count_max(local_t *max, unsigned long n)
{
	if (n > local_read(max))
		local_set(max, n);
}

/*
 * Lateness is computed from state words as they are, twice the deadline and some flags,
 * and so comes out doubled and up to 8 ns too long. This many of its units are half of
 * the finest bin, as a fraction of 2^64, because dividing is dear; rounded up, so that a
 * whole tick is one.
 */
static inline u64 hwheel_lateness_scale(u64 tick)
{
	return hwheel_fraction(2 * HWHEEL_LATENESS_FINEST, tick) + 1;
}

static inline void hwheel_count_lateness(struct hwheel_counts *counts,
					 u64 late, u64 scale)
{
	u64 fractions = mul_u64_u64_shr(late, scale, 64) | 1;

	/* As ilog2(), which has a look for zero again */
	if (BITS_PER_LONG == 64)
		local_inc(&counts->lateness[__fls(fractions)]);
	else
		local_inc(&counts->lateness[fls64(fractions) - 1]);
}

#endif /* _HWHEEL_STATS_H */
