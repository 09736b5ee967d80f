/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_LIVES_H
#define _USER_BENCH_LIVES_H

/* In instructions, in a VM that counts them; and in ns */
void bench_lives(void);
void bench_lives_timed(void);

#endif /* _USER_BENCH_LIVES_H */
