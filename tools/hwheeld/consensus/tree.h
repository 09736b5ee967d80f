/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tree of a cluster in ZooKeeper, which its first node creates:
 *
 *	/CLUSTER		the format and the number of shards
 *	/CLUSTER/clock		the correction of the leader's clock, and its epoch
 *	/CLUSTER/clock/NODE	what a node changes to learn the time, see clock.h
 *	/CLUSTER/members/NODE	each node that lives, ephemeral
 *	/CLUSTER/shards/NNNNN	see shard.h
 */
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "say.h"

/* Room for any path; a cluster's name has 64 letters at most, and a node's as many. */
#define TREE_PATH	160
#define TREE_NAME	64

/* May this be a name of a cluster or a node? */
bool tree_is_name(const char *name);

/* Creates what is not there, and waits for it. Returns the number of shards, or 0. */
unsigned int tree_open(const char *cluster, unsigned int shards);

/* The whole path of what is below the cluster's own node */
void tree_path(char path[TREE_PATH], const char *format, ...) ATTRIBUTE(format(printf, 2, 3));

/* The path of a shard's znode, or of one below it */
void tree_shard_path(unsigned int shard, const char *below, char path[TREE_PATH]);
void tree_log_path(unsigned int shard, uint64_t number, char path[TREE_PATH]);

/* What a path that is whole has below the cluster's own node */
const char *tree_below(const char *path);

#endif /* TREE_H */
