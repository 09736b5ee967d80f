/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rendezvous hashing: each node draws a number for each shard, and the largest one wins. When a
 * node comes or goes, no shard moves between two other nodes. All machines draw the same numbers.
 */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <stddef.h>

/* Which of the nodes @shard belongs to; their order does not matter. @count is 1 at least. */
size_t rendezvous_owner(unsigned int shard, const char *const *nodes, size_t count);

#endif /* RENDEZVOUS_H */
