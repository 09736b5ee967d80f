/* SPDX-License-Identifier: GPL-2.0-only */
/* The loop that all but the store's writer runs in. */
#ifndef LOOP_H
#define LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Something with a descriptor, or to be called soon; embedded at the beginning of its owner */
struct loop_source {
	void (*ready)(struct loop_source *source);
	struct loop_source *next;	/* the loop's own */
	bool is_soon;
};

/* Returns 0 or a negative errno. */
int loop_begin(void);

/* @events: EPOLLIN, ... Returns 0 or a negative errno. */
int loop_add(int fd, uint32_t events, struct loop_source *source);

/* The source waits for other events. Returns 0 or a negative errno. */
int loop_change(int fd, uint32_t events, struct loop_source *source);

/* The loop calls ready() before it waits again, once. */
void loop_soon(struct loop_source *source);

/* Nothing is ready for the source any more. */
void loop_remove(int fd, struct loop_source *source);

/* Waits for sources that are ready, and calls them; no longer than @ms, or -1. */
void loop_wait(int ms);

#endif /* LOOP_H */
