/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A page of the timeouts of all nodes, in the order of their shards: nodes are asked for parts of
 * it, one after the other. Each answers from its own shards only.
 */
#ifndef LISTING_H
#define LISTING_H

#include "http/request.h"

/*
 * The request of a client, which is read. Where a node does not answer, or a shard is nobody's for
 * a moment, the page ends if it has anything, and the next one begins there; an empty page waits
 * for the shard, or is 503.
 */
void listing(struct request *request);

#endif /* LISTING_H */
