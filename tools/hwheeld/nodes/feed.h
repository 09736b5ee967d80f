/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * While clients wait at this node for timeouts of a queue, one standing long poll at each other
 * node gets what becomes due there.
 */
#ifndef FEED_H
#define FEED_H

#include "service.h"

void feed_begin(struct service *service);
void feed_end(void);

/* A client waits, by take_first(). */
void feed_wait(const char *queue);

/* None does now: soon the other nodes notice. */
void feed_stop(const char *queue);

void feed_members_changed(void);

#endif /* FEED_H */
