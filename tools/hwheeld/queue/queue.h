/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue has the timeouts that are due and not leased, in the order in which they became due, and
 * the long polls that wait for some. It exists while there are timeouts or polls in it.
 */
#ifndef QUEUE_H
#define QUEUE_H

#include "hash.h"
#include "log/record.h"
#include "service.h"

struct queue {
	UT_hash_handle by_name;
	struct service *service;
	struct timeout *due;		/* linked by prev_due, next_due */
	struct request *polls;		/* that wait; the longest waiting first */
	struct queue *prev_ready, *next_ready;	/* to be served; or prev is NULL */
	size_t due_count;
	size_t timeouts;		/* in any state, and places for those that come */
	size_t polls_count;
	size_t clients;			/* polls that are not other nodes' */
	char name[QUEUE_MAX + 1];
};

/* Returns the queue, or NULL if there is none. queue_get() makes one, within the limit. */
struct queue *queue_find(const struct service *service, const char *name, size_t length);
struct queue *queue_get(struct service *service, const char *name, size_t length, size_t limit);

/* The caller has taken something out of it: an empty one is freed. */
void queue_put(struct queue *queue);

/* Ends the place of one timeout. */
void queue_leave(struct queue *queue);

/* Serves it before the loop sleeps again, once for all that became due meanwhile. */
void queue_make_ready(struct queue *queue);

size_t queue_count(const struct service *service);

#endif /* QUEUE_H */
