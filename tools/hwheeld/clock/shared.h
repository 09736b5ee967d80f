/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ensemble's time, which all nodes share, becomes the service's time: see reckoning.h. A node
 * has a heartbeat each second: it changes /clock/NODE, and then reads /clock, where the correction
 * is.
 */
#ifndef SHARED_H
#define SHARED_H

#include "service.h"

/* Reckons the time, and waits for it. Returns 0 or a negative errno. */
int shared_begin(struct service *service, const char *node);

/* There is a connection, perhaps to a new leader: one heartbeat at once, and then each second. */
void shared_connected(void);

/* When the last heartbeat began that the servers have answered, on CLOCK_BOOTTIME */
uint64_t shared_heard_ns(void);

/* The session has ended. This node may have been paused, and its clock may have stood still. */
void shared_expired(void);

#endif /* SHARED_H */
