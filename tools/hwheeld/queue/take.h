/* SPDX-License-Identifier: GPL-2.0-only */
/* Clients take timeouts that are due, and wait for some if there are none. */
#ifndef TAKE_H
#define TAKE_H

#include "http/request.h"

void take(struct request *request);

/* Gives what is due to those that wait. */
void take_serve(struct service *service);

/* Answers with these timeouts, as view_lease() makes them, and takes them over; NULL: none. */
void take_answer(struct request *request, struct json_object *timeouts);

/*
 * For what other nodes have: what the client that waits longest asked for, and how long it still
 * waits. Returns false if none waits.
 */
bool take_first(const struct service *service, const char *queue, struct request_take *take);

/* An answer of another node to a take */
struct taking {
	uint64_t asked_ns;		/* when this node asked, on CLOCK_BOOTTIME */
	uint64_t lease_ns;		/* what the client asked for */
	uint64_t end_ns;		/* of the first lease that ends, in the service's time */
};

/*
 * Answers a client that waits with these timeouts. Returns false if no client may have them: the
 * leases have ended, or would end too early for a client that came while they were on their way.
 */
bool take_deliver(const struct service *service, const char *queue, const struct taking *taking,
		  struct json_object *timeouts);

#endif /* TAKE_H */
