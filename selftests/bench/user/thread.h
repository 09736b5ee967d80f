/* SPDX-License-Identifier: GPL-2.0-only */
/* What the scheduler knows of a thread. */
#ifndef _USER_BENCH_THREAD_H
#define _USER_BENCH_THREAD_H

#include <linux/types.h>

/* The kernel thread with that name; there must be one. */
int thread_of(const char *name);

/* The worker of the wheel that this process has; there must be one. */
int thread_of_worker(void);

/* The worker of this user's default wheel, which stays from then on */
int thread_of_default(void);

/* How long it has run, in ns */
__u64 thread_run_time(int pid);

/* How long this one has run, in ns */
__u64 own_run_time(void);

/* How often it went to sleep */
__u64 thread_sleeps(int pid);

#endif /* _USER_BENCH_THREAD_H */
