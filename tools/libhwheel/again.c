// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* Periodic timeouts. */
#include "wheel.h"

/*
 * The first deadline after now that is a whole number of intervals later; *@intervals is how many.
 * A time beyond the clock's range means never.
 */
static uint64_t next_of(uint64_t deadline_ns, uint64_t now, uint64_t interval_ns,
			uint64_t *intervals)
{
	uint64_t ahead, next;

	*intervals = 0;
	if (deadline_ns > now)
		return deadline_ns;
	*intervals = (now - deadline_ns) / interval_ns + 1;
	if (__builtin_mul_overflow(*intervals, interval_ns, &ahead) ||
	    __builtin_add_overflow(deadline_ns, ahead, &next))
		return UINT64_MAX;
	return next;
}

int hwheel_again(struct hwheel *wheel, uint64_t *id, uint64_t *deadline_ns, uint64_t interval_ns,
		 uint64_t cookie, uint64_t *missed)
{
	uint64_t last = *deadline_ns, intervals;
	int error;

	if (!interval_ns)
		return -EINVAL;
	/* Before the timeout can fire, for a thread that takes its event. */
	*deadline_ns = next_of(last, hwheel_now(wheel), interval_ns, &intervals);
	error = hwheel_set_at(wheel, id, *deadline_ns, cookie);
	if (error)
		*deadline_ns = last;
	else if (missed)
		*missed = intervals ? intervals - 1 : 0;
	return error;
}
