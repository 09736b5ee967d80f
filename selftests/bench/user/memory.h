/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_MEMORY_H
#define _USER_BENCH_MEMORY_H

/* Reports how many bytes of the machine's memory a timeout takes. */
void bench_memory(void);

#endif /* _USER_BENCH_MEMORY_H */
