// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hash.h"

static uint64_t hash_seed;

int hash_begin(void)
{
	return getrandom(&hash_seed, sizeof(hash_seed), 0) == sizeof(hash_seed) ? 0 : -EIO;
}

unsigned int hash_of(const void *key, size_t length)
{
	return (unsigned int)XXH64(key, length, hash_seed);
}
