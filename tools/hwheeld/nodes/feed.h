/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * While clients wait at this node for timeouts of a queue, one standing long poll at each other
 * node gets what becomes due there.
 */
#ifndef FEED_H
#define FEED_H

#include "queue/queue.h"

void feed_end(void);

/* A client waits, by take_first(). */
void feed_wait(const struct queue *queue);

/* None does now: soon the other nodes notice. */
void feed_stop(const struct queue *queue);

void feed_members_changed(void);

#endif /* FEED_H */
