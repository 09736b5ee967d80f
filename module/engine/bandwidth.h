/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU time of workers that have a bound in common.
 *
 * The workers together may take a share of one CPU over time, and a burst beyond it. Before a pass
 * a worker takes a place in their common time, as long as what its last passes took, and sleeps
 * until that comes. It then runs without looking again, and gives back what it did not use. Places
 * follow each other: workers that are held back run one after the other. If all waited for the same
 * moment, they would run at once then, and strangers would wait for them.
 *
 * This is the generic cell rate algorithm of ATM networks (ITU-T I.371, virtual scheduling).
 */
#ifndef _HWHEEL_BANDWIDTH_H
#define _HWHEEL_BANDWIDTH_H

#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "wheel.h"

/* The CPU time that is free, once it was not used for long enough */
#define HWHEEL_BURST_NS		(100 * NSEC_PER_MSEC)

/* A worker that has taken less since it paid the last time does not look. */
#define HWHEEL_PAY_NS		NSEC_PER_MSEC

/**
 * struct hwheel_bandwidth - CPU time that workers take together
 * @percent:      of one CPU, over time; constant
 * @paid:         CLOCK_MONOTONIC, in ns, up to which they have paid for what they took and for
 *                their places
 * @throttled:    how often one of them has waited
 * @throttled_ns: for how long they have waited, each by itself
 */
struct hwheel_bandwidth {
	unsigned int	percent;
	atomic64_t	paid;
	atomic64_t	throttled;
	atomic64_t	throttled_ns;
};

void hwheel_bandwidth_init(struct hwheel_bandwidth *bandwidth, unsigned int percent);
u64 hwheel_bandwidth_take(struct hwheel_bandwidth *bandwidth, u64 now, u64 used, u64 *place);
u64 hwheel_bandwidth_whole_in(const struct hwheel_bandwidth *bandwidth, u64 now);
void hwheel_bandwidth_join(struct hwheel *wheel, struct hwheel_bandwidth *bandwidth);
void hwheel_bandwidth_settle(struct hwheel *wheel, struct hwheel_bandwidth *bandwidth);
void hwheel_bandwidth_give_back(struct hwheel *wheel);

/*
 * The running sum of the worker's CPU time, as the scheduler's last tick or switch left it. Other
 * CPUs may add to it meanwhile, and 32-bit machines read it in two halves.
 */
static inline u64 hwheel_worker_ran(const struct hwheel *wheel)
{
	const u64 *sum = &wheel->worker->se.sum_exec_runtime;
	u64 ran;

	do
		ran = READ_ONCE(*sum);
	while (!IS_ENABLED(CONFIG_64BIT) && ran != READ_ONCE(*sum));
	return ran;
}

/* On the worker, which holds nothing: returns when its next part may run, or it is to stop. */
static inline void hwheel_bandwidth_pay(struct hwheel *wheel)
{
	/* Pairs with the release in hwheel_bandwidth_join(). */
	struct hwheel_bandwidth *bandwidth = smp_load_acquire(&wheel->bandwidth);

	if (bandwidth &&
	    (wheel->place || hwheel_worker_ran(wheel) - wheel->ran >= HWHEEL_PAY_NS))
		hwheel_bandwidth_settle(wheel, bandwidth);
}

#endif /* _HWHEEL_BANDWIDTH_H */
