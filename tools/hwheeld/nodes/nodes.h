/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other nodes of a cluster, as requests see them: those that have what a request is about. A
 * request that comes from a node is not passed on again.
 */
#ifndef NODES_H
#define NODES_H

#include <utlist.h>

#include "http/request.h"

struct queue;

/* A pass returns false if the request is for this node; else it is answered, now or later. */
struct nodes_ops {
	/*
	 * By the key that the request is about, if any. Answers 503 if this node cannot know
	 * whether it still has its timeouts.
	 */
	bool (*pass)(struct request *request);
	bool (*pass_lease)(struct request *request, const unsigned char token[TOKEN_SIZE]);

	/* By the keys of a put of many timeouts */
	bool (*pass_batch)(struct request *request);

	/* By the place at which a list begins. A part of one is about this node alone. */
	bool (*pass_list)(struct request *request);

	/* Are the timeouts of the shard here? */
	bool (*serves)(unsigned int shard);

	/*
	 * Takes what is due on any other node. If nothing is, the request is marked so, and decided
	 * on again. If something is due here, it is the others' turn now and then only.
	 */
	bool (*sweep)(struct request *request, bool is_due_here);

	/* Other nodes complete what this one has of the cluster. The object is taken over. */
	bool (*survey)(struct request *request, struct json_object *object);

	/* A long poll waits for the queue: from other nodes, too. See take_deliver(). */
	void (*wait)(const struct queue *queue);

	/* None does now. */
	void (*stop_waiting)(const struct queue *queue);

	/* An operator accepts what is missing in a shard: on the node that should have it. */
	void (*accept)(struct request *request, unsigned int shard);

	/* Answers another node: with the time, for the tails of its shards, for its clients. */
	void (*answer_node)(struct request *request);

	/* Makes the token of a lease show which node has the timeout. */
	void (*mark)(unsigned char token[TOKEN_SIZE], unsigned int shard);
};

/* The owners of shards have what requests are about: see owner.c */
extern const struct nodes_ops owner_ops;

/* Decides on a request about timeouts, now or again, on the node that has its key. */
static inline void nodes_decide(struct request *request)
{
	const struct nodes_ops *nodes = request->service->nodes;

	if (!nodes || !nodes->pass(request))
		request->decide(request);
}

/* The same for all of a list, which is the caller's: what they waited for has ended. */
static inline void nodes_decide_all(struct request *waiters)
{
	struct request *request, *next;

	DL_FOREACH_SAFE(waiters, request, next) {
		DL_DELETE(waiters, request);
		request->give_up = NULL;
		nodes_decide(request);
	}
}

#endif /* NODES_H */
