/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The service's time: nanoseconds that go on across restarts and reboots, and never go back. It is
 * CLOCK_BOOTTIME plus an offset. After a reboot it goes on from the last time that was stored, by
 * as much as the wall clock has gone on since; a wall clock that went back adds nothing. Delays
 * and leases end at a point of this time, so steps of the wall clock do not move them. Each step
 * is stored, so that after a reboot it does not count as time that went by.
 */
#ifndef NOW_H
#define NOW_H

#include <stdint.h>
#include <time.h>

#include "store.h"

#define NS_PER_S	1000000000ULL
#define NS_PER_MS	1000000ULL

/* Goes on from @stored, and makes it what to store now. Returns 0 or a negative errno. */
int now_begin(struct store_time *stored);

/* The same with the clocks given, for tests. Returns the offset. */
int64_t now_offset(const struct store_time *stored, const char *boot_id, uint64_t boot_ns,
		   uint64_t wall_ns);

/* Reads a clock of the machine. */
uint64_t now_clock_ns(clockid_t clock);

/* Reads the name of this boot into @boot_id, as in struct store_time. 0 or a negative errno. */
int now_read_boot_id(char *boot_id);

uint64_t now_ns(void);
uint64_t now_wall_ns(void);

/*
 * By how much the service's time, as another machine has it, may be ahead. A delay ends so much
 * later: then it is not short on any machine.
 */
uint64_t now_bound_ns(void);

/* The service's time on CLOCK_BOOTTIME; 0 for what was before this boot */
uint64_t now_on_boottime(uint64_t service_ns);
uint64_t now_from_boottime(uint64_t boot_ns);

/* When, on the service's time, will it be so late on the wall clock, as that stands now? */
uint64_t now_from_wall(uint64_t wall_ns);
uint64_t now_on_wall(uint64_t service_ns);

/* What to store now */
void now_mark(struct store_time *time);

#endif /* NOW_H */
