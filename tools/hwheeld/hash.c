// SPDX-License-Identifier: GPL-2.0-only
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hash.h"

uint64_t hash_seed;

unsigned int hash_of(const void *key, size_t length)
{
	return (unsigned int)XXH64(key, length, hash_seed);
}
