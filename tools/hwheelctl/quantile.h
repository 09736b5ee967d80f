/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Quantiles of very many values, in constant memory: each power of two is cut into 64 equal
 * bins, so that what is found is less than 1/64 too much, and never too little.
 */
#ifndef QUANTILE_H
#define QUANTILE_H

#include <linux/types.h>

#define QUANTILE_CUTS	64
#define QUANTILE_BINS	(60 * QUANTILE_CUTS)

struct quantile {
	__u64 bins[QUANTILE_BINS];
	__u64 count;
	__u64 max;		/* exact */
};

void quantile_add(struct quantile *quantile, __u64 value);
void quantile_merge(struct quantile *quantile, const struct quantile *other);

/* A value that the part @share (0 to 1) of all is not above; 0 if there is none */
__u64 quantile_at(const struct quantile *quantile, double share);

#endif /* QUANTILE_H */
