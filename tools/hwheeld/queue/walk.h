/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A walk goes through all timeouts, log by log and in the order of each log. Between two steps
 * timeouts may come and go: one that gets a new record comes again, and none is passed over.
 */
#ifndef WALK_H
#define WALK_H

#include "queue/timeout.h"

struct walk {
	struct walk *prev, *next;	/* others */
	unsigned int shard;
	struct timeout *last;		/* where it is; NULL: before the oldest one of the shard */
};

/* Begins before the oldest timeout of the shard. walk_end() has to follow. */
void walk_begin(struct service *service, struct walk *walk, unsigned int shard);
void walk_end(struct service *service, struct walk *walk);

/* Returns the next one, or NULL at the end. */
struct timeout *walk_step(const struct service *service, struct walk *walk);

/* The timeout leaves its place in the log: walks that are there step back. */
void walk_leave(struct timeout *timeout);

#endif /* WALK_H */
