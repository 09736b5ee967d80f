/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Edges and deadlines. Four places keep a timeout from being early: state.h rounds a deadline up to
 * what a state word can store; hwheel_edge_due() picks the first edge that is not before it;
 * hwheel_edge_reached() the last edge that is not after the clock; is_due() in worker.c, and
 * map_look_at() for mapped timeouts, compare the word with that edge's time.
 */
#ifndef _HWHEEL_EDGE_H
#define _HWHEEL_EDGE_H

#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/timekeeping.h>

#include "fraction.h"
#include "state.h"
#include "wheel.h"

static inline u64 hwheel_now(const struct hwheel *wheel)
{
	if (unlikely(wheel->clock == CLOCK_BOOTTIME))
		return ktime_get_boottime_ns();
	return ktime_get_ns();
}

static inline u64 hwheel_deadline_from(u64 now, u64 delay_ns)
{
	u64 deadline;

	return check_add_overflow(now, delay_ns, &deadline) ? U64_MAX : deadline;
}

/* A time this far from now */
static inline u64 hwheel_deadline_in(const struct hwheel *wheel, u64 delay_ns)
{
	return hwheel_deadline_from(hwheel_now(wheel), delay_ns);
}

/*
 * Dividing by the tick is slow, so this multiplies by its inverse. All numbers here are in units
 * of deadlines: less than 2^61 of them from @edge_zero, ticks of less than 2^l. The inverse is less
 * than 1 too much, as a fraction of 2^(63 + l), so the product is less than 2^61 x 2^l: not
 * enough to reach the next whole number. This is the division by invariant integers of
 * T. Granlund and P. L. Montgomery, 1994.
 */
static inline void hwheel_edge_init(struct hwheel *wheel, u64 epoch, u64 tick)
{
	u64 units = tick / HWHEEL_DEADLINE_UNIT;
	unsigned int bits = fls64(units - 1);

	wheel->epoch = epoch;
	wheel->tick = tick;
	wheel->edge_zero = epoch / HWHEEL_DEADLINE_UNIT - (units - 1);
	wheel->edge_inverse = hwheel_fraction(BIT_ULL(bits), units) + 1;
	wheel->edge_shift = bits - 1;
}

/* The last edge that is not after a time, which is not before the epoch */
static inline u64 hwheel_edge_reached(const struct hwheel *wheel, u64 ns)
{
	return div64_u64(ns - wheel->epoch, wheel->tick);
}

/* The first edge that is not before a deadline, as it is stored */
static inline u64 hwheel_edge_due(const struct hwheel *wheel, u64 deadline)
{
	s64 since = deadline / HWHEEL_DEADLINE_UNIT - wheel->edge_zero;

	if (unlikely(since < 0))
		return 0;
	return mul_u64_u64_shr(since, wheel->edge_inverse, 64) >>
	       wheel->edge_shift;
}

/*
 * The time of an edge, at most KTIME_MAX. The edge of HWHEEL_NEVER may lie beyond it, and
 * HWHEEL_NO_EDGE has a time that 64 bits do not hold.
 */
static inline u64 hwheel_edge_time(const struct hwheel *wheel, u64 edge)
{
	u64 time;

	if (check_mul_overflow(edge, wheel->tick, &time) ||
	    check_add_overflow(time, wheel->epoch, &time))
		return KTIME_MAX;
	return min_t(u64, time, KTIME_MAX);
}

/*
 * Jiffies and CLOCK_MONOTONIC. Jiffies reach a value at an offset + the value x TICK_NSEC, as long
 * as they lose no tick. Jiffies are read before the clock, so an offset is never too small, and up
 * to a jiffy too large. All are computed in 64 bits, modulo 2^64. The jiffies of a 32-bit machine
 * wrap every few weeks; jiffies_64 do not.
 */

/* In an offset that others see: it is not up to date, as the worker sleeps deeply. */
#define HWHEEL_OFFSET_OLD	BIT_ULL(63)

/* This jiffy, which is half of their range away at most, in 64 bits */
static inline u64 hwheel_jiffies_64(unsigned long jiffy)
{
	u64 now = get_jiffies_64();

	return now + (long)(jiffy - (unsigned long)now);
}

static inline u64 hwheel_jiffies_offset(u64 ns, unsigned long jiffy)
{
	return ns - hwheel_jiffies_64(jiffy) * TICK_NSEC;
}

/*
 * An offset is only raised: the same jiffy must not give an earlier deadline the next time, with
 * which a move would go through the queue. One that is a jiffy too large or more has the lag of
 * jiffies that were late, as in a virtual machine that stood still, and have caught up since. All
 * timeouts would be late by that lag for good, so it is lowered.
 */
static inline u64 hwheel_offset_raise(u64 offset, u64 fresh)
{
	return offset - fresh < TICK_NSEC ? offset : fresh;
}

/* By the clock as the owner has last read it. Stores only what has changed: callers read it. */
static inline void hwheel_offset_measure(struct hwheel *wheel)
{
	if (unlikely(wheel->clock != CLOCK_MONOTONIC))
		return;
	wheel->offset = hwheel_offset_raise(wheel->offset,
					    hwheel_jiffies_offset(wheel->now, wheel->jiffies));
	if ((u64)atomic64_read(&wheel->jiffies_offset) != wheel->offset)
		atomic64_set(&wheel->jiffies_offset, wheel->offset);
}

static inline void hwheel_offset_hide(struct hwheel *wheel)
{
	atomic64_set(&wheel->jiffies_offset, wheel->offset ^ HWHEEL_OFFSET_OLD);
}

#endif /* _HWHEEL_EDGE_H */
