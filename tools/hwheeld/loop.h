/* SPDX-License-Identifier: GPL-2.0-only */
/* The loop that all but the store's writer runs in. */
#ifndef LOOP_H
#define LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define LOOP_EVENTS	64

/* What is called as a descriptor is ready, or soon; embedded in its owner */
struct loop_source {
	void (*ready)(void *owner);
	void *owner;
	struct loop_source *next;	/* the loop's own, as what follows */
	bool is_soon;
};

struct loop {
	int epoll;
	struct epoll_event events[LOOP_EVENTS];
	int count;			/* of events that were read, and are not handled */
	struct loop_source *soon;
};

/* Returns 0 or a negative errno. */
int loop_begin(struct loop *loop);

/*
 * @events: EPOLLIN, ..., which a source that is there waits for from now on. @ready: NULL: it ends
 * the wait, and that is all. Returns 0 or a negative errno.
 */
int loop_add(struct loop *loop, int fd, uint32_t events, struct loop_source *source,
	     void (*ready)(void *owner), void *owner);

/* Calls ready() before the loop waits again, once. */
void loop_soon(struct loop *loop, struct loop_source *source);

/* Nothing is ready for the source from now on. */
void loop_remove(struct loop *loop, int fd, struct loop_source *source);

/* Waits for sources that are ready, and calls them; no longer than @ms, or -1. */
void loop_wait(struct loop *loop, int ms);

#endif /* LOOP_H */
