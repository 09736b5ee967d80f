/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's histogram of lateness, as text of less than 80 columns. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

/* 16 lines for the HWHEEL_LATENESS_BINS bins */
void histogram_print(FILE *stream, const uint64_t *bins);

/* The bin that the module counts a lateness of @late_ns in */
unsigned int histogram_bin(uint64_t late_ns, uint64_t tick_ns);

#endif /* HISTOGRAM_H */
