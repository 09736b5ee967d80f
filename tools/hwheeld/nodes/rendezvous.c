// SPDX-License-Identifier: GPL-2.0-only
#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

#include "nodes/rendezvous.h"

/* Nodes that draw the same number are told apart by their names. */
size_t rendezvous_owner(unsigned int shard, const char *const *nodes, size_t count)
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
