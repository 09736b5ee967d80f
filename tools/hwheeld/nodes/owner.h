/* SPDX-License-Identifier: GPL-2.0-only */
/* Which node a request is for: the owner of its shard. */
#ifndef OWNER_H
#define OWNER_H

#include "nodes/nodes.h"

/* @is_sure: does this node have its shards, as it thinks? */
void nodes_begin(bool (*is_sure)(void));
void nodes_end(void);

#endif /* OWNER_H */
