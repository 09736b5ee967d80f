/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The service's time: nanoseconds that go on across restarts and reboots, and never go back. It is
 * CLOCK_BOOTTIME plus an offset. After a reboot it goes on from the last time that was stored, by
 * as much as the wall clock has gone on since; a wall clock that went back adds nothing. Delays
 * and leases end at a point of this time, so steps of the wall clock do not move them. Each step
 * is stored, so that after a reboot it does not count as time that went by.
 *
 * The nodes of a cluster share one time, which each of them knows up to a bound. The offset follows
 * it. That time is the time of day as well: the wall clocks of the nodes mean nothing then.
 */
#ifndef NOW_H
#define NOW_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "store/store.h"

#define NS_PER_S	1000000000ULL
#define NS_PER_MS	1000000ULL

/*
 * Goes on from @stored, unless the time is shared, and makes it what to store now. Returns 0 or a
 * negative errno.
 */
int now_begin(struct store_time *stored);

/* The same with the clocks given, for tests. Returns the offset. */
int64_t now_offset(const struct store_time *stored, const char *boot_id, uint64_t boot_ns,
		   uint64_t wall_ns);

/* Reads a clock of the machine. */
uint64_t now_clock_ns(clockid_t clock);

uint64_t now_ns(void);
uint64_t now_wall_ns(void);

/* By how much two clocks may differ that were equal so long ago: 500 ppm */
#define NOW_DRIFT_NS(age)	((age) / 2000)

/*
 * The shared time is CLOCK_BOOTTIME plus @offset_ns, give or take @bound_ns, as of @boot_ns on that
 * clock. The service's time goes on from where it is: it waits if it was ahead.
 */
void now_follow(int64_t offset_ns, uint64_t bound_ns, uint64_t boot_ns);

/* Is it a time that several machines share? */
bool now_is_shared(void);

/* Did it move ahead, or become more exact, so that alarms that are set come too late? */
bool now_has_jumped(void);

/* The shared time, less the wall clock, in seconds */
double now_offset_of_wall(void);

/* By how much it may be wrong */
uint64_t now_bound_ns(void);

/* The service's time at which a delay that begins now is over. No machine comes to it too early. */
uint64_t now_after(uint64_t delay_ns);

/* Is it so late, whichever machine is asked? */
bool now_has_come(uint64_t service_ns);

/*
 * When to set an alarm for it. One that waits for long is set before that, and again after it rang,
 * as the shared time may run faster than this machine's.
 */
uint64_t now_alarm_ns(uint64_t service_ns);

/* The service's time on CLOCK_BOOTTIME; 0 for what was before this boot */
uint64_t now_on_boottime(uint64_t service_ns);
uint64_t now_from_boottime(uint64_t boot_ns);

/* When, on the service's time, will it be so late on the wall clock, as that stands now? */
uint64_t now_from_wall(uint64_t wall_ns);
uint64_t now_on_wall(uint64_t service_ns);

/* What to store now */
void now_mark(struct store_time *time);

#endif /* NOW_H */
