/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alarms: all that hwheeld waits for is on a wheel of its own, whether a timeout of a client, the
 * end of a lease, of a long poll, or of a slow request. They are mapped timeouts of libhwheel, so
 * to set and to clear one makes no system call. One thread uses them.
 */
#ifndef ALARM_H
#define ALARM_H

#include <stdbool.h>
#include <stdint.h>

struct alarm;

/* Returns 0 or a negative errno, and says on stderr what is wrong. @count: most at a time */
int alarm_open(uint64_t tick_ns, uint64_t count);
void alarm_close(void);

/* The effective tick */
uint64_t alarm_tick_ns(void);

/* Readable when alarm_reap() has some to ring */
int alarm_fd(void);
void alarm_reap(void);

/* Are there some that alarm_fd() does not tell of any more? */
bool alarm_has_ended(void);

/*
 * Sets, or sets anew, the alarm of an owner. @at_ns: service's time. ring() is called with the
 * time at which the alarm was due, and *@alarm is NULL by then. Returns 0 or a negative errno; the
 * alarm is as before then, but not if it was about to ring.
 */
int alarm_set(struct alarm **alarm, uint64_t at_ns, void (*ring)(void *owner, uint64_t at_ns),
	      void *owner);

/* Afterwards it does not ring any more. */
void alarm_clear(struct alarm **alarm);

#endif /* ALARM_H */
