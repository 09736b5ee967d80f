/* SPDX-License-Identifier: GPL-2.0-only */
/* Clients take timeouts that are due, and wait for some if there are none. */
#ifndef TAKE_H
#define TAKE_H

#include "http/exchange.h"

void take(struct exchange *exchange, const char *queue);

/* Gives what is due to those that wait. */
void take_serve(void);

/* The client has hung up: nobody waits any more. Does nothing if it waits for no timeouts. */
void take_give_up(struct exchange *exchange);

/* Answers with these timeouts, as show_lease() tells of them, and takes them over; NULL: none. */
void take_answer(struct exchange *exchange, struct json_object *timeouts);

/*
 * For what other nodes have: how many timeouts the client that waits longest wants, how long it
 * still waits, and for which lease. Returns false if none waits.
 */
bool take_first(const char *queue, uint64_t *max, uint64_t *wait_ns, uint64_t *lease_ns);

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
bool take_deliver(const char *queue, const struct taking *taking, struct json_object *timeouts);

/* Answers all that wait; for the end. */
void take_end(void);

#endif /* TAKE_H */
