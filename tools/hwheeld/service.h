/* SPDX-License-Identifier: GPL-2.0-only */
/* What a daemon has: the loop's thread passes it on, and nobody else touches it. */
#ifndef SERVICE_H
#define SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop.h"
#include "metrics.h"
#include "settings.h"

struct service {
	struct settings settings;
	struct metrics metrics;
	struct loop loop;
	struct store *store;
	const struct nodes_ops *nodes;	/* NULL: this machine has all timeouts */
	unsigned int shards;		/* of the cluster */
	bool is_stopping;		/* no request begins, and no poll waits */
	size_t changes;			/* on their way through the store */
	unsigned char random[256];	/* for tokens of leases, which nobody can guess */
	size_t random_left;		/* bytes of it */

	/* All timeouts, see queue/timeout.h */
	struct timeout *timeouts;	/* by key */
	struct lease *leases;		/* by token */
	struct walk *walks;
	size_t timeouts_bytes;
	size_t timeouts_room;		/* bytes of the log that they need until they have ended */

	/* See queue/queue.h */
	struct queue *queues;		/* by name */
	struct queue *ready;		/* the first one to be served */

	/* See log/log.h */
	struct log *logs;		/* of each shard; one if there are none */
	size_t pending;			/* bytes of changes on their way through the store */
	struct request *waiters;	/* until something is cleaned, see queue/room.h */
	size_t wanted;			/* bytes that the largest of them needs */

	/* See http/listener.c and http/auth.h */
	struct listener *listeners;
	bool got_further;		/* in the last run, than to look at held requests */
	struct certificate *certificate;	/* with its key; NULL: no TLS */
	char *client_token;		/* NULL: no client has one */
	char *node_token;

	/* See http/client.h */
	struct client *clients;
	struct account *accounts;
	size_t clients_count;
	size_t strangers;		/* clients that have not shown that they are permitted */
	size_t refused;			/* clients beyond a limit */
	size_t admitted[2];		/* on the Unix socket, by TCP */
	gid_t group;			/* whose members may use the socket, or -1 */

	/* See http/request.h */
	size_t requests;		/* of clients, under way */
	size_t bodies;			/* bytes of their bodies */
	size_t held;			/* requests */
	bool was_resumed;		/* there is an answer to send */
};

#endif /* SERVICE_H */
