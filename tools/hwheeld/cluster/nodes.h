/* SPDX-License-Identifier: GPL-2.0-only */
/* Which node a request is for: the owner of its shard. */
#ifndef CLUSTER_NODES_H
#define CLUSTER_NODES_H

#include "../nodes.h"

/* @is_sure: does this node have its shards, as it thinks? */
void nodes_begin(bool (*is_sure)(void));
void nodes_end(void);

#endif /* CLUSTER_NODES_H */
