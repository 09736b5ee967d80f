// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/timekeeping.h>

#include "bandwidth.h"
#include "trace.h"

/* The burst is whole, also in a machine that has just started. */
void hwheel_bandwidth_init(struct hwheel_bandwidth *bandwidth, unsigned int percent)
{
	*bandwidth = (struct hwheel_bandwidth) {
		.percent = percent, .paid = ATOMIC64_INIT(S64_MIN / 2),
	};
}

/* The time in which they may take so much */
static u64 time_of(const struct hwheel_bandwidth *bandwidth, u64 cpu_ns)
{
	return div_u64(cpu_ns * 100, bandwidth->percent);
}

/**
 * hwheel_bandwidth_take - pay for what was used, and take a place for what comes
 * @bandwidth: of all its workers
 * @now:       CLOCK_MONOTONIC, in ns
 * @used:      CPU time in ns that this worker took since it was here the last time
 * @place:     this worker's place, in time that it is to pay with: the old one is given back, and
 *             the new one is as long as @used; none if that is too little to look at
 *
 * The order of several workers here is that of their exchanges, and nothing else depends on it: so
 * they are relaxed.
 *
 * Context: any. Return: when the place begins; perhaps before @now.
 */
u64 hwheel_bandwidth_take(struct hwheel_bandwidth *bandwidth, u64 now, u64 used, u64 *place)
{
	u64 cost = time_of(bandwidth, used), next = used < HWHEEL_PAY_NS ? 0 : cost;
	s64 full = now - time_of(bandwidth, HWHEEL_BURST_NS), begin;
	s64 paid = atomic64_read(&bandwidth->paid);

	do
		begin = max(paid, full) + (s64)(cost - *place);
	while (!atomic64_try_cmpxchg_relaxed(&bandwidth->paid, &paid, begin + next));
	*place = next;
	return begin;
}

/* In how many ns the burst is whole again, if nothing more is used */
u64 hwheel_bandwidth_whole_in(const struct hwheel_bandwidth *bandwidth, u64 now)
{
	s64 whole = atomic64_read(&bandwidth->paid) + time_of(bandwidth, HWHEEL_BURST_NS);

	return max_t(s64, whole - (s64)now, 0);
}

/* From its next pass on the worker of @wheel is one of these. Before the first arm, by its owner */
void hwheel_bandwidth_join(struct hwheel *wheel, struct hwheel_bandwidth *bandwidth)
{
	/* Pairs with the acquire in hwheel_bandwidth_pay(). */
	smp_store_release(&wheel->bandwidth, bandwidth);
}

/* By the owner: the worker takes no place, as it goes to sleep or has ended. */
void hwheel_bandwidth_give_back(struct hwheel *wheel)
{
	struct hwheel_bandwidth *bandwidth = wheel->bandwidth;
	u64 ran = hwheel_worker_ran(wheel), now = ktime_get_ns();

	if (!bandwidth)
		return;
	hwheel_bandwidth_take(bandwidth, now, ran - wheel->ran, &wheel->place);
	hwheel_bandwidth_take(bandwidth, now, 0, &wheel->place);
	wheel->ran = ran;
}

/* Whoever waits for the worker may wake it before its time. */
void hwheel_bandwidth_settle(struct hwheel *wheel, struct hwheel_bandwidth *bandwidth)
{
	u64 ran = hwheel_worker_ran(wheel), since = ktime_get_ns(), now = since;
	u64 begin = hwheel_bandwidth_take(bandwidth, now, ran - wheel->ran, &wheel->place);
	ktime_t until = begin;

	wheel->ran = ran;
	if ((s64)(begin - now) <= 0)
		return;
	while ((s64)(begin - now) > 0 && !kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!kthread_should_stop())
			schedule_hrtimeout_range(&until, 0, HRTIMER_MODE_ABS);
		__set_current_state(TASK_RUNNING);
		now = ktime_get_ns();
	}
	atomic64_inc(&bandwidth->throttled);
	atomic64_add(now - since, &bandwidth->throttled_ns);
	trace_worker_throttled(wheel, now - since);
}
