// SPDX-License-Identifier: GPL-2.0-only
#include "quantile.h"

#define CUT_BITS	6	/* QUANTILE_CUTS == 1 << CUT_BITS */

/* Values below QUANTILE_CUTS have a bin each; the others, one for their CUT_BITS + 1 high bits */
static unsigned int shift_of(__u64 value)
{
	return value < QUANTILE_CUTS ? 0 : 63 - __builtin_clzll(value) - CUT_BITS;
}

static unsigned int bin_of(__u64 value)
{
	unsigned int shift = shift_of(value);

	return value < QUANTILE_CUTS ? (unsigned int)value :
	       (shift + 1) * QUANTILE_CUTS + (unsigned int)((value >> shift) - QUANTILE_CUTS);
}

/* The largest value of a bin */
static __u64 last_of(unsigned int bin)
{
	unsigned int shift = bin / QUANTILE_CUTS - 1;

	if (bin < QUANTILE_CUTS)
		return bin;
	return ((bin % QUANTILE_CUTS + QUANTILE_CUTS + 1ULL) << shift) - 1;
}

void quantile_add(struct quantile *quantile, __u64 value)
{
	quantile->bins[bin_of(value)]++;
	quantile->count++;
	if (value > quantile->max)
		quantile->max = value;
}

void quantile_merge(struct quantile *quantile, const struct quantile *other)
{
	for (unsigned int i = 0; i < QUANTILE_BINS; i++)
		quantile->bins[i] += other->bins[i];
	quantile->count += other->count;
	if (other->max > quantile->max)
		quantile->max = other->max;
}

__u64 quantile_at(const struct quantile *quantile, double share)
{
	__u64 rank = (__u64)(share * quantile->count + 0.999999);
	__u64 seen = 0, last;

	for (unsigned int i = 0; i < QUANTILE_BINS; i++) {
		seen += quantile->bins[i];
		if (!seen || seen < rank)
			continue;
		last = last_of(i);
		return last < quantile->max ? last : quantile->max;
	}
	return quantile->max;
}
