/* SPDX-License-Identifier: GPL-2.0-only */
/* Which node a request is for: the owner of its shard. */
#ifndef CLUSTER_NODES_H
#define CLUSTER_NODES_H

#include "../nodes.h"

extern const struct nodes_ops cluster_nodes;

#endif /* CLUSTER_NODES_H */
