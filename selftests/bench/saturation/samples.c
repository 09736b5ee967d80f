// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rates that were measured again and again: the highest one is that which nothing else on the
 * machine has lowered.
 */
#include <linux/cpumask.h>
#include <linux/seq_file.h>
#include <linux/sort.h>

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

/* "bench METRIC IMPL N UNIT VALUE", and "METRIC ..." with how far it spreads */
void samples_show(struct seq_file *file, const char *name, unsigned int n,
		  struct samples *samples)
{
	const char *suffix = num_online_cpus() > 1 ? "" : "_one_cpu";
	u64 *value = samples->value;
	unsigned int nr = samples->nr;

	if (!nr)
		return;
	sort(value, nr, sizeof(*value), compare, NULL);
	seq_printf(file, "bench saturation.%s%s hwheel %u 1/s %llu\n", name, suffix, n,
		   value[nr - 1]);
	seq_printf(file, "saturation.%s%s %u times: %llu at least, median %llu, most %llu\n",
		   name, suffix, nr, value[0], value[nr / 2], value[nr - 1]);
}
