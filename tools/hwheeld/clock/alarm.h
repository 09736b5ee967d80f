/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alarms: all that hwheeld waits for is on a wheel of its own, whether a timeout of a client, the
 * end of a lease, of a long poll, or of a slow request. They are mapped timeouts of libhwheel, so
 * to set and to clear one makes no system call. One thread uses them.
 */
#ifndef ALARM_H
#define ALARM_H

#include <stddef.h>
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

/*
 * How long the loop may wait, beside alarm_fd(), until it calls alarm_reap(): -1: for ever. 0:
 * alarms have ended that alarm_fd() does not tell.
 */
int alarm_wait_ms(void);

/* How many found no room on the wheel. They ring in time; there should be no new ones. */
size_t alarm_beside(void);

/*
 * Sets, or sets anew, the alarm of an owner. @at_ns: service's time. ring() is called with the
 * time at which the alarm was due, and *@alarm is NULL by then.
 */
void alarm_set(struct alarm **alarm, uint64_t at_ns, void (*ring)(void *owner, uint64_t at_ns),
	       void *owner);

/* Afterwards it does not ring any more. */
void alarm_clear(struct alarm **alarm);

#endif /* ALARM_H */
