/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_THREADS_H
#define _USER_BENCH_THREADS_H

/* In ns, in a virtual machine with several CPUs */
void bench_threads(void);

#endif /* _USER_BENCH_THREADS_H */
