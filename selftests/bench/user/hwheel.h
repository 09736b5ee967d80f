/* SPDX-License-Identifier: GPL-2.0-only */
/* For those who measure more than what calls take; see facility.h. */
#ifndef _USER_BENCH_HWHEEL_H
#define _USER_BENCH_HWHEEL_H

#include "facility.h"

/* On a wheel of its own with that tick */
void hwheel_open_tick(unsigned int room, __u64 tick_ns);
int hwheel_fd(void);

/* The deadlines of all that there is room for */
void hwheel_map(void);
void hwheel_unmap(void);

void hwheel_arm(const unsigned int *which, unsigned int nr);
void hwheel_arm_due(const unsigned int *which, unsigned int nr);
void hwheel_cancel(const unsigned int *which, unsigned int nr);
void hwheel_read(const unsigned int *which, unsigned int nr);
void hwheel_close(void);

#endif /* _USER_BENCH_HWHEEL_H */
