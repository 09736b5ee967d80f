// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "histogram.h"
#include "libhwheel.h"

#define WIDTH		44	/* of the longest bar */
#define WHOLE_TICK	8	/* the bin below which one tick is: 2^(8 - WHOLE_TICK) */
#define LAST		(HWHEEL_LATENESS_BINS - 1)

static void bin_name(unsigned int bin, char name[16])
{
	if (bin < WHOLE_TICK)
		snprintf(name, 16, "< 1/%u", 1U << (WHOLE_TICK - bin));
	else if (bin < LAST)
		snprintf(name, 16, "< %u", 1U << (bin - WHOLE_TICK));
	else
		snprintf(name, 16, ">= %u", 1U << (LAST - 1 - WHOLE_TICK));
}

/* What there is has a bar, however short. */
static int bar_length(__u64 count, __u64 largest)
{
	int length = largest ? (int)((double)count / largest * WIDTH + 0.5) : 0;

	return count && !length ? 1 : length;
}

void histogram_print(FILE *stream, const __u64 *bins)
{
	static const char bar[] = "############################################";
	__u64 largest = 0, total = 0;
	char name[16];

	for (unsigned int i = 0; i <= LAST; i++) {
		largest = bins[i] > largest ? bins[i] : largest;
		total += bins[i];
	}
	for (unsigned int i = 0; i <= LAST; i++) {
		bin_name(i, name);
		fprintf(stream, "%9s |%-*.*s %10llu %5.1f %%\n", name, WIDTH,
			bar_length(bins[i], largest), bar, bins[i],
			total ? 100.0 * bins[i] / total : 0);
	}
}

unsigned int histogram_bin(__u64 late_ns, __u64 tick_ns)
{
	double limit = (double)tick_ns / (1 << WHOLE_TICK);
	unsigned int bin = 0;

	while (bin < LAST && late_ns >= limit) {
		limit *= 2;
		bin++;
	}
	return bin;
}
