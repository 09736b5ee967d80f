// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hash.h"
#include "log/record.h"

static uint64_t hash_seed;

int hash_begin(void)
{
	return getrandom(&hash_seed, sizeof(hash_seed), 0) == sizeof(hash_seed) ? 0 : -EIO;
}

unsigned int hash_of(const void *text, size_t length)
{
	return (unsigned int)XXH64(text, length, hash_seed);
}

unsigned int hash_shard(const char *text, size_t length, unsigned int shards)
{
	return (unsigned int)(XXH64(text, length, 0) % shards);
}

struct key hash_key(const char *text, size_t length, unsigned int shards)
{
	return (struct key) {
		.text = text, .length = (uint32_t)length, .hash = hash_of(text, length),
		.shard = shards ? hash_shard(text, length, shards) : 0,
	};
}
