// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rates that were measured again and again: the highest one is that which nothing else on the
 * machine has lowered.
 */
#include <linux/cpumask.h>
#include <linux/sort.h>

#include "../row.h"
#include "saturation.h"

void samples_add(struct samples *samples, u64 value)
{
	if (!samples_full(samples))
		samples->value[samples->nr++] = value;
}

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The highest and the median */
void samples_show(struct seq_file *file, const char *name, unsigned int n,
		  struct samples *samples)
{
	const char *group = num_online_cpus() > 1 ? "saturation." : "one_cpu.";
	u64 *value = samples->value;
	unsigned int nr = samples->nr;

	if (!nr)
		return;
	sort(value, nr, sizeof(*value), compare, NULL);
	row_show(file, group, name, "most", n, "1/s", value[nr - 1] * 1000);
	row_show(file, group, name, "median", n, "1/s", value[nr / 2] * 1000);
}
