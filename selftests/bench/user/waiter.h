/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_WAITER_H
#define _USER_BENCH_WAITER_H

#include "facility.h"

/**
 * struct expiry - a timeout that expired
 * @number: which one
 * @fired:  when, on the clock of the facility that keeps them; 0 if it does not tell
 * @seen:   when the program knew
 */
struct expiry {
	unsigned int	number;
	__u64		fired;
	__u64		seen;
};

/**
 * struct waiter - something that keeps timeouts, for a program that waits for them
 * @name: in the results
 * @open: makes room for @n; @tick_ns is for those who have ticks
 * @arm:  makes @n pending, with these deadlines
 * @wait: waits for some, and returns how many, up to BATCH
 * @close: ends all
 */
struct waiter {
	const char	*name;
	void		(*open)(unsigned int n, __u64 tick_ns);
	void		(*arm)(const __u64 *deadlines, unsigned int n);
	unsigned int	(*wait)(struct expiry *expiries);
	void		(*close)(void);
};

extern const struct waiter hwheel_waiter, library_waiter, timerfd_waiter, heap_waiter;

#endif /* _USER_BENCH_WAITER_H */
