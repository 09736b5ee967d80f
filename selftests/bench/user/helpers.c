// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "helpers.h"

void must(bool ok, const char *what)
{
	if (!ok)
		err(1, "%s", what);
}

void *zeros(unsigned long nr, unsigned long size)
{
	void *memory = calloc(nr, size);

	must(memory, "calloc");
	return memory;
}

void *handles(unsigned long nr, unsigned long size)
{
	return memset(zeros(nr, size), 0xff, nr * size);
}

void sleep_ns(__u64 ns)
{
	struct timespec delay = { .tv_sec = ns / SEC, .tv_nsec = ns % SEC };

	must(!nanosleep(&delay, NULL), "nanosleep");
}

/* At once, as the next measurement may take long, or fail. */
void report(const char *metric, const char *impl, unsigned int n, const char *unit,
	    double value)
{
	printf("{\"metric\": \"%s\", \"impl\": \"%s\", \"n\": %u, ", metric, impl, n);
	printf("\"unit\": \"%s\", \"value\": %.3f}\n", unit, value);
	fflush(stdout);
}

static int compare(const void *left, const void *right)
{
	const __u64 *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

__u64 median_of(__u64 *values, unsigned int nr)
{
	qsort(values, nr, sizeof(*values), compare);
	return values[nr / 2];
}
