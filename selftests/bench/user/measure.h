/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_MEASURE_H
#define _USER_BENCH_MEASURE_H

#include "facility.h"

/* Opens @facility for @n timeouts, which are numbered from 0, and BATCH more. */
void measure_open(const struct facility *facility, unsigned int n);

/* Arms them. */
void measure_fill(const struct facility *facility, unsigned int n);

/* Runs @steps with @n pending timeouts and reports what they took. */
void measure(const struct facility *facility, const struct step *steps, unsigned int n);

/* Reports what a batch took, for each of its timeouts. */
void report_each(const char *metric, const char *impl, unsigned int n, __u64 instructions);

/* The timeouts that @which are, with @n pending */
const unsigned int *measure_which(enum which which, unsigned int n);

#endif /* _USER_BENCH_MEASURE_H */
