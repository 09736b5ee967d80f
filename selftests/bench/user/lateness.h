/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_LATENESS_H
#define _USER_BENCH_LATENESS_H

/* Reports how late timeouts are; ends the program if one of hwheel's is early. */
void bench_lateness(void);

/* The same where instructions are counted */
void bench_lateness_counted(void);

#endif /* _USER_BENCH_LATENESS_H */
