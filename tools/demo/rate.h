/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many refreshes a second there are, by hwheel_refresh_at() and by timerfd_settime(). Both
 * get absolute deadlines: an event loop reads the clock once for all that it refreshes, and in an
 * emulated machine, which has no cheap clock, reading it would be most of what is measured.
 */
#ifndef DEMO_RATE_H
#define DEMO_RATE_H

struct record;

void rate_measure(struct record *record);

#endif /* DEMO_RATE_H */
