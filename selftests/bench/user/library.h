/* SPDX-License-Identifier: GPL-2.0-only */
/* For those who measure more than what calls take; see facility.h. */
#ifndef _USER_BENCH_LIBRARY_H
#define _USER_BENCH_LIBRARY_H

#include "libhwheel.h"

#include "facility.h"

/* A mapped handle, on a wheel of its own with that tick */
void library_open(unsigned int room, __u64 tick_ns);
struct hwheel *library_handle(void);
void library_close(void);

#endif /* _USER_BENCH_LIBRARY_H */
