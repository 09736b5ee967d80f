/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many refreshes a second there are, by hwheel_refresh() and by
 * timerfd_settime(): the same work, as often, one after the other.
 */
#ifndef DEMO_RATE_H
#define DEMO_RATE_H

struct record;

void rate_measure(struct record *record);

#endif /* DEMO_RATE_H */
