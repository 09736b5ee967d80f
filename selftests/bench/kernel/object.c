// SPDX-License-Identifier: GPL-2.0-only
/*
 * The objects, and the times that they are given.
 *
 * Each object has a place of its own, at random, in the span of time over which they are
 * spread; it keeps that through all steps. So the order in which they are due is
 * another one than that in which they are armed, and a later span makes each of them later.
 */
#include <linux/align.h>
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>

#include "bench.h"

#define SEED	1987

/* How many of the objects are in use, how far apart, and all of them */
unsigned int bench_n;
size_t bench_stride;
union bench_object *bench_objects;
u64 *bench_times;

/* Of the span, in 1/2^32 */
static u32 *places;

static size_t stride_of(size_t size)
{
	return ALIGN(size, SMP_CACHE_BYTES);
}

int bench_objects_alloc(unsigned int n)
{
	struct rnd_state random;
	unsigned int i;

	bench_objects = vzalloc(array_size(n, stride_of(sizeof(*bench_objects))));
	bench_times = vzalloc(array_size(n, sizeof(*bench_times)));
	places = vzalloc(array_size(n, sizeof(*places)));
	if (!bench_objects || !bench_times || !places) {
		bench_objects_free();
		return -ENOMEM;
	}
	prandom_seed_state(&random, SEED);
	for (i = 0; i < n; i++)
		places[i] = prandom_u32_state(&random);
	return 0;
}

/* Has so many objects of a kind in use. */
void bench_objects_layout(const struct bench_kind *kind, unsigned int n)
{
	bench_n = n;
	bench_stride = stride_of(kind->size);
}

void bench_objects_free(void)
{
	vfree(places);
	vfree(bench_times);
	vfree(bench_objects);
}

/* From @first on, spread over @spread, both in ns; from now, or as absolute times. */
void bench_set_times(const struct bench_kind *kind, bool absolute, u64 first, u64 spread)
{
	u64 now = ktime_get_ns();
	unsigned int i;

	if (kind->in_jiffies) {
		first = nsecs_to_jiffies(first);
		spread = nsecs_to_jiffies(spread);
		now = jiffies;
	}
	if (absolute)
		first += now;
	for (i = 0; i < bench_n; i++)
		bench_times[i] = first + mul_u64_u32_shr(spread, places[i], 32);
}
