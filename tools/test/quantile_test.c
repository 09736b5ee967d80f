// SPDX-License-Identifier: GPL-2.0-only
/* The figures that hwheelctl load computes: quantiles, and the bins of its histogram. */
#include <stdlib.h>

#include "hwheelctl/histogram.h"
#include "hwheelctl/quantile.h"
#include "kselftest_harness.h"
#include "libhwheel.h"

#define VALUES	10000
#define TICK	256000	/* ns: a 256th of it is a whole number */

static __u64 values[VALUES];

static int compare(const void *left, const void *right)
{
	const __u64 *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Of all magnitudes, the same each time */
static void fill(struct quantile *quantile)
{
	__u64 x = 88172645463325252ULL;

	*quantile = (struct quantile){ .count = 0 };
	for (size_t i = 0; i < VALUES; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		values[i] = x >> (x & 63);
		quantile_add(quantile, values[i]);
	}
	qsort(values, VALUES, sizeof(values[0]), compare);
}

TEST(quantiles_are_those_of_the_sorted_values)
{
	static struct quantile quantile;

	fill(&quantile);
	EXPECT_EQ(values[VALUES - 1], quantile.max);
	for (int percent = 1; percent <= 100; percent++) {
		__u64 exact = values[VALUES * percent / 100 - 1];
		__u64 found = quantile_at(&quantile, percent / 100.0);

		EXPECT_GE(found, exact);
		EXPECT_LE(found - exact, exact / QUANTILE_CUTS);
	}
}

TEST(merged_ones_are_as_if_from_one)
{
	static struct quantile all, odd, even;

	fill(&all);
	for (size_t i = 0; i < VALUES; i++)
		quantile_add(i % 2 ? &odd : &even, values[i]);
	quantile_merge(&odd, &even);
	EXPECT_EQ(VALUES, odd.count);
	EXPECT_EQ(all.max, odd.max);
	for (int percent = 0; percent <= 100; percent++)
		EXPECT_EQ(quantile_at(&all, percent / 100.0), quantile_at(&odd, percent / 100.0));
}

TEST(few_values)
{
	static struct quantile quantile;

	EXPECT_EQ(0, quantile_at(&quantile, 0.5));
	quantile_add(&quantile, UINT64_MAX);
	EXPECT_EQ(UINT64_MAX, quantile_at(&quantile, 0.5));
	quantile_add(&quantile, 0);
	EXPECT_EQ(0, quantile_at(&quantile, 0.5));
	EXPECT_EQ(UINT64_MAX, quantile_at(&quantile, 0.99));
}

/* [0] is below 1/256 of a tick, [n] below 2^(n - 8), and the last has the rest. */
TEST(bins_are_the_modules)
{
	__u64 limit = TICK / 256;

	EXPECT_EQ(0, histogram_bin(0, TICK));
	for (unsigned int bin = 0; bin < HWHEEL_LATENESS_BINS - 1; bin++) {
		EXPECT_EQ(bin, histogram_bin(limit - 1, TICK));
		EXPECT_EQ(bin + 1, histogram_bin(limit, TICK));
		limit *= 2;
	}
	EXPECT_EQ(HWHEEL_LATENESS_BINS - 1, histogram_bin(UINT64_MAX, TICK));
}

TEST_HARNESS_MAIN
