/* SPDX-License-Identifier: GPL-2.0-only */
/* For those who measure more than what calls take; see facility.h. */
#ifndef _USER_BENCH_HWHEEL_H
#define _USER_BENCH_HWHEEL_H

#include "facility.h"

void hwheel_open_tick(unsigned int room, __u64 tick_ns);
void hwheel_arm(const unsigned int *which, unsigned int nr);
void hwheel_arm_due(const unsigned int *which, unsigned int nr);
void hwheel_cancel(const unsigned int *which, unsigned int nr);
void hwheel_read(const unsigned int *which, unsigned int nr);
void hwheel_close(void);

#endif /* _USER_BENCH_HWHEEL_H */
