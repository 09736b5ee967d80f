/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shards of the cluster, as this node has them: by tenures, and for what asks other nodes. The
 * timeouts of a shard that is lost are forgotten as soon as no change of them is on its way; the
 * shard is taken anew only then.
 */
#ifndef SHARDS_H
#define SHARDS_H

#include "consensus/tenure.h"

/* @forget: the shard was lost. @events: without lost(), which is shards.c's own */
void shards_begin(struct consensus *store, unsigned int count, const struct tenure_events *events,
		  void (*forget)(unsigned int shard));

/* The store is closed. What is on its way ends. */
void shards_end(void);

struct consensus *shards_store(void);
struct tenures *shards_tenures(void);

/* Is the session surely there, so that no other node has the shards of this one? */
bool shards_are_sure(void);

/* Are the shard's timeouts here, and may they change? */
bool shards_serve(unsigned int shard);

void shards_want(unsigned int shard, bool is_wanted);

/* A change of the shard's timeouts begins, or ends. */
void shards_hold(unsigned int shard);
void shards_release(unsigned int shard);

#endif /* SHARDS_H */
