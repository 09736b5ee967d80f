/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SATURATION_H
#define _SATURATION_H

#include <linux/kernel.h>
#include <linux/hwheel.h>
#include <linux/types.h>

struct seq_file;

/* Results */

/**
 * struct samples - what was seen again and again
 * @nr:    how many there are
 * @value: each of them
 */
struct samples {
	unsigned int	nr;
	u64		value[1000];
};

static inline bool samples_full(const struct samples *samples)
{
	return samples->nr == ARRAY_SIZE(samples->value);
}

void samples_add(struct samples *samples, u64 value);
void samples_show(struct seq_file *file, const char *name, unsigned int n,
		  struct samples *samples);

/* Measurements */

int saturation_worker(unsigned int n);
void saturation_worker_show(struct seq_file *file, unsigned int n);

int saturation_submitters(void);
void saturation_submitters_show(struct seq_file *file);

#endif /* _SATURATION_H */
