/* SPDX-License-Identifier: GPL-2.0-only */
/* What another node has for a take: how it is asked, what it answers, and what goes back to it. */
#ifndef TAKINGS_H
#define TAKINGS_H

#include "nodes/peer.h"

struct json_object;

#define TAKINGS_PATH	256

/* The path of a take, with its parameters */
void takings_path(char path[TAKINGS_PATH], const char *queue, uint64_t max, uint64_t wait_ns,
		  uint64_t lease_ns);

/*
 * The timeouts of the answer, for the caller to put, or NULL if there are none. The call's answer
 * is gone then. Fills in when the first of the leases ends, in the service's time.
 */
struct json_object *takings_read(struct peer_call *call, uint64_t *end_ns);

/* No client gets them: gives the leases back, and puts the timeouts. */
void takings_return(const char *address, struct json_object *timeouts);

#endif /* TAKINGS_H */
