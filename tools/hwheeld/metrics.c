// SPDX-License-Identifier: GPL-2.0-only
#include "metrics.h"

void metrics_add(struct metrics_histogram *histogram, uint64_t ns)
{
	unsigned int bin = 0;

	while (bin < METRICS_BINS - 1 && ns >= METRICS_FIRST_NS << bin)
		bin++;
	histogram->bins[bin]++;
	histogram->sum_ns += ns;
	if (ns > histogram->max_ns)
		histogram->max_ns = ns;
}
