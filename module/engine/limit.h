/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The limit of a wheel: exactly hwheel_params.max_pending timeouts may be pending.
 *
 * An arm takes a place before it exchanges the word, so that others see no timeout pending that is
 * not counted. It may then lose the exchange to another arm, so its place is in doubt until that
 * is decided. An arm that finds no place free but for those in doubt waits: neither answer would be
 * right. A CPU with a place in doubt has interrupts off, so that it decides after two atomic
 * operations, and no interrupt handler waits for what it has interrupted. As long as CPUs go on
 * taking the last place and giving it back, the wait goes on; that takes two arms of one timeout.
 *
 * @pending of struct hwheel counts places that are taken for good in its lower bits, and those in
 * doubt above. A timeout may end before the arm has taken its place for good, so the lower bits may
 * be -1.
 *
 * Models: limit.pml in selftests/models/, which takes the memory for sequentially consistent, and
 * pending_count.litmus in litmus/ there.
 */
#ifndef _HWHEEL_LIMIT_H
#define _HWHEEL_LIMIT_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/processor.h>

#include "wheel.h"

#define HWHEEL_DOUBT_SHIFT	48
#define HWHEEL_DOUBT		((s64)BIT_ULL(HWHEEL_DOUBT_SHIFT))

static inline s64 hwheel_limit_settled(s64 pending)
{
	return sign_extend64(pending, HWHEEL_DOUBT_SHIFT - 1);
}

/*
 * Takes @n places at once, and counts them as @places. False if there are fewer. Relaxed: an arm
 * takes its place before its release exchange.
 */
static inline bool hwheel_limit_take(struct hwheel *wheel, u64 n, s64 places)
{
	s64 old = atomic64_read(&wheel->pending);

	while (true) {
		s64 settled = hwheel_limit_settled(old);
		u64 free = min_t(u64, wheel->max_pending, HWHEEL_DOUBT / 2) - settled;
		u64 doubt = (old - settled) >> HWHEEL_DOUBT_SHIFT;

		if (n > free)
			return false;
		if (n > free - doubt) {
			cpu_relax();
			old = atomic64_read(&wheel->pending);
		} else if (atomic64_try_cmpxchg_relaxed(&wheel->pending, &old, old + places)) {
			return true;
		}
	}
}

/* With interrupts off until hwheel_limit_decide(). */
static inline bool hwheel_limit_begin(struct hwheel *wheel)
{
	return hwheel_limit_take(wheel, 1, HWHEEL_DOUBT);
}

/* Keeps the place of a timeout that was armed, else gives it back. */
static inline void hwheel_limit_decide(struct hwheel *wheel, bool armed)
{
	/* A thread that finds the place taken finds the timeout armed: pairs with arm_from(). */
	smp_mb__before_atomic();
	atomic64_add(armed - HWHEEL_DOUBT, &wheel->pending);
}

/* For so many that may be pending at some time */
static inline bool hwheel_limit_reserve(struct hwheel *wheel, u64 n)
{
	return !wheel->max_pending || hwheel_limit_take(wheel, n, n);
}

static inline void hwheel_limit_unreserve(struct hwheel *wheel, u64 n)
{
	if (wheel->max_pending)
		atomic64_sub(n, &wheel->pending);
}

/* For a timeout that has ended. The thread that ended it counts how, for all wheels. */
static inline void hwheel_limit_end(struct hwheel *wheel)
{
	hwheel_limit_unreserve(wheel, 1);
}

#endif /* _HWHEEL_LIMIT_H */
