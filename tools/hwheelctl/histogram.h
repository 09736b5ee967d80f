/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's histogram of lateness, as text of less than 80 columns. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <linux/types.h>
#include <stdio.h>

/* 16 lines for the HWHEEL_LATENESS_BINS bins */
void histogram_print(FILE *stream, const __u64 *bins);

/* The bin that the module counts a lateness of @late_ns in */
unsigned int histogram_bin(__u64 late_ns, __u64 tick_ns);

#endif /* HISTOGRAM_H */
