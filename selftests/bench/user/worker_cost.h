/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_WORKER_COST_H
#define _USER_BENCH_WORKER_COST_H

/* Reports what timeouts take hwheel's worker, with @n pending besides. */
void worker_cost_measure(unsigned int n);

#endif /* _USER_BENCH_WORKER_COST_H */
