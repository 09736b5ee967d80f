/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_OPERATIONS_H
#define _USER_BENCH_OPERATIONS_H

/* Reports how many instructions each operation of each facility takes. */
void bench_operations(void);

#endif /* _USER_BENCH_OPERATIONS_H */
