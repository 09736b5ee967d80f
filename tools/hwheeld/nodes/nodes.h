/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other nodes of a cluster, as requests see them: those that have what a request is about. A
 * request that comes from a node is not passed on again.
 */
#ifndef NODES_H
#define NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/exchange.h"
#include "log/record.h"

/* Each returns false if the request is for this node; else it is answered, now or later. */
struct nodes_ops {
	/* Answers 503 if this node cannot know whether it still has its timeouts. */
	bool (*refuse)(struct exchange *exchange);

	bool (*pass_timeout)(struct exchange *exchange, const char *key, size_t length);
	bool (*pass_lease)(struct exchange *exchange, const unsigned char token[TOKEN_SIZE]);

	/* The array's members are sound. */
	bool (*pass_batch)(struct exchange *exchange, struct json_object *timeouts);

	/*
	 * Takes what is due on any other node. If nothing is, the exchange is marked so, and routed
	 * again.
	 */
	bool (*sweep)(struct exchange *exchange, const char *queue, uint64_t max,
		      uint64_t lease_ns);

	/* Other nodes complete what this one tells of the cluster. The object is taken over. */
	bool (*survey)(struct exchange *exchange, struct json_object *object);

	/* Should a take that finds something here look at other nodes first, for once? */
	bool (*is_their_turn)(const struct exchange *exchange);

	/* A long poll waits for the queue: from other nodes, too. See take_deliver(). */
	void (*wait)(const char *queue);

	/* None does any more. */
	void (*stop_waiting)(const char *queue);

	/* Makes the token of a lease tell which node has the timeout. */
	void (*mark)(unsigned char token[TOKEN_SIZE], const char *key, size_t length);
};

/* NULL: this machine has all timeouts. */
extern const struct nodes_ops *nodes;

#endif /* NODES_H */
