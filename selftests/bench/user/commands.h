/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands of user_bench, and the files that they are in. */
#ifndef _USER_BENCH_COMMANDS_H
#define _USER_BENCH_COMMANDS_H

void bench_accounts(void);		/* accounts.c */
void bench_check(void);			/* measure.c */
void bench_common_lone(void);
void bench_common_moves(void);		/* common.c */
void bench_idle(void);
void bench_lateness(void);
void bench_lateness_counted(void);	/* lateness.c */
void bench_lives(void);
void bench_lives_timed(void);		/* lives.c */
void bench_mapped(void);
void bench_memory(void);
void bench_operations(void);
void bench_server(void);
void bench_server_user(void);		/* server.c */
void bench_threads(void);

/* For operations, with @n pending */
void worker_cost_measure(unsigned int n);

#endif /* _USER_BENCH_COMMANDS_H */
