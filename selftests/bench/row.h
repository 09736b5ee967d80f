/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BENCH_ROW_H
#define _BENCH_ROW_H

#include <linux/math64.h>
#include <linux/seq_file.h>

/* A measurement: a JSON object in a line. The metric is @group and @name; a value in thousandths */
static inline void row_show(struct seq_file *file, const char *group, const char *name,
			    const char *impl, unsigned int n, const char *unit, u64 value)
{
	u32 rest;
	u64 whole = div_u64_rem(value, 1000, &rest);

	seq_printf(file, "{\"metric\": \"%s%s\", \"impl\": \"%s\", \"n\": %u, ", group, name, impl,
		   n);
	seq_printf(file, "\"unit\": \"%s\", \"value\": %llu.%03u}\n", unit, whole, rest);
}

#endif /* _BENCH_ROW_H */
