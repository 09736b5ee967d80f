/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hash tables of uthash(3) with keys that clients choose: the hash has a secret seed, so that
 * nobody can choose keys that meet. Memory that cannot be had ends the daemon, which loses
 * nothing: what it had accepted is in the store.
 */
#ifndef HASH_H
#define HASH_H

#include <stdint.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

extern uint64_t hash_seed;

#define HASH_FUNCTION(key, length, hash) \
	((hash) = (unsigned int)XXH3_64bits_withSeed((key), (length), hash_seed))
#define uthash_fatal(message)	abort()

#include <uthash.h>

#endif /* HASH_H */
