/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_IDLE_H
#define _USER_BENCH_IDLE_H

/* Reports how often threads wake up for timeouts when there is nothing to do. */
void bench_idle(void);

#endif /* _USER_BENCH_IDLE_H */
