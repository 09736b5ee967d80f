/* SPDX-License-Identifier: GPL-2.0-only */
/* For those who measure more than what calls take; see facility.h. */
#ifndef _USER_BENCH_HWHEEL_H
#define _USER_BENCH_HWHEEL_H

#include "facility.h"

/* On a wheel of its own with that tick */
void device_open_tick(unsigned int room, __u64 tick_ns);
int device_fd(void);

void device_arm(const unsigned int *which, unsigned int nr);
void device_arm_due(const unsigned int *which, unsigned int nr);
void device_cancel(const unsigned int *which, unsigned int nr);
void device_read(const unsigned int *which, unsigned int nr);
void device_close(void);

#endif /* _USER_BENCH_HWHEEL_H */
