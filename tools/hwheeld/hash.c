// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
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

/* Nodes that draw the same number are told apart by their names. */
size_t hash_owner(unsigned int shard, const char *const *nodes, size_t count)
{
	XXH64_hash_t most = 0;
	size_t owner = 0;

	for (size_t i = 0; i < count; i++) {
		XXH64_hash_t drawn = XXH64(nodes[i], strlen(nodes[i]), shard + 1);

		if (i && (drawn < most ||
			  (drawn == most && strcmp(nodes[i], nodes[owner]) < 0)))
			continue;
		most = drawn;
		owner = i;
	}
	return owner;
}

struct key hash_key(const char *text, size_t length, unsigned int shards)
{
	return (struct key) {
		.text = text, .length = (uint32_t)length, .hash = hash_of(text, length),
		.shard = shards ? hash_shard(text, length, shards) : 0,
	};
}
