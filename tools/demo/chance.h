/* SPDX-License-Identifier: GPL-2.0-only */
/* Chance that repeats: the same seed gives the same run (splitmix64). */
#ifndef DEMO_CHANCE_H
#define DEMO_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a number below @below, which must not be 0 */
static inline uint64_t chance(uint64_t *seed, uint64_t below)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (z ^ z >> 31) % below;
}

/* Sets exactly @wanted of @count flags, which are all false, at random */
static inline void chance_pick(uint64_t *seed, bool *flags, unsigned int count,
			       unsigned int wanted)
{
	for (unsigned int i = 0; wanted; i++) {
		flags[i] = chance(seed, count - i) < wanted;
		wanted -= flags[i];
	}
}

#endif /* DEMO_CHANCE_H */
