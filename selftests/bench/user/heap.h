/* SPDX-License-Identifier: GPL-2.0-only */
/* For those who measure more than what calls take; see facility.h. */
#ifndef _USER_BENCH_HEAP_H
#define _USER_BENCH_HEAP_H

#include "facility.h"

void heap_open(unsigned int room);
void heap_push(unsigned int number, __u64 deadline);
void heap_delete(unsigned int number);
bool heap_pop(__u64 now, unsigned int *number);
void heap_set_timer(void);
int heap_fd(void);
void heap_close(void);

#endif /* _USER_BENCH_HEAP_H */
