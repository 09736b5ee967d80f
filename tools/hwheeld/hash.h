/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hash tables of uthash(3) with keys that clients choose: the hash has a secret seed, so that
 * nobody can choose keys that meet. Memory that cannot be had ends the daemon, which loses
 * nothing: what it had accepted is in the store.
 */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>
#include <stdlib.h>

#include "memory.h"

struct key;

/* Chooses the seed. Returns 0 or a negative errno. */
int hash_begin(void);
unsigned int hash_of(const void *text, size_t length);

/* Which of @shards a key belongs to, on each machine alike */
unsigned int hash_shard(const char *text, size_t length, unsigned int shards);

/*
 * Which of the nodes @shard belongs to; their order does not matter. @count is 1 at least. By
 * rendezvous hashing each node draws a number for each shard, and the largest one wins: when a node
 * comes or goes, no shard moves between two other nodes.
 */
size_t hash_owner(unsigned int shard, const char *const *nodes, size_t count);

/* A key with its hashes. @text is the caller's. @shards: of the cluster; 0: there is none */
struct key hash_key(const char *text, size_t length, unsigned int shards);

#define HASH_FUNCTION(key, length, hash) ((hash) = hash_of((key), (length)))
#define uthash_fatal(message)	((void)(message), memory_end())

#include <uthash.h>

#endif /* HASH_H */
