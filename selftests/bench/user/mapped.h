/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_MAPPED_H
#define _USER_BENCH_MAPPED_H

/* What mapped timeouts take hwheel's worker, and the program that submits them. */
void bench_mapped(void);

#endif /* _USER_BENCH_MAPPED_H */
