/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers of a thread's own: xorshift64*. The same seed gives the same ones
 * everywhere.
 */
#ifndef _HWHEEL_FUZZER_RANDOM_H
#define _HWHEEL_FUZZER_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#endif

struct random {
	__u64	state;
};

static inline __u64 random_next(struct random *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1dULL;
}

/* 0 to @n - 1; the low bits are the worse ones. */
static inline __u64 random_below(struct random *r, __u64 n)
{
	return (random_next(r) >> 16) % n;
}

static inline bool random_chance(struct random *r, unsigned int n)
{
	return !random_below(r, n);
}

static inline void *random_pointer(struct random *r)
{
	return (void *)(uintptr_t)random_next(r);
}

/* Threads with seeds next to each other have nothing in common after a few numbers. */
static inline void random_seed(struct random *r, __u64 seed)
{
	int i;

	r->state = (seed + 1) * 0x9e3779b97f4a7c15ULL ?: 1;
	for (i = 0; i < 8; i++)
		random_next(r);
}

#endif /* _HWHEEL_FUZZER_RANDOM_H */
