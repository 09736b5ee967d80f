/* SPDX-License-Identifier: GPL-2.0-only */
/* Timeouts and leases, as clients and other nodes get them. */
#ifndef VIEW_H
#define VIEW_H

#include "queue/timeout.h"

struct json_object;

/* Its name; "": nobody sees the timeout yet */
const char *view_state(const struct timeout *timeout);
bool view_is_state(const char *text);

/* Bytes that its object needs, and the JSON of it, at most; those of the payload beside it */
#define VIEW_BYTES	4096
#define VIEW_PAYLOAD(length)	(16 * (size_t)(length))

struct json_object *view_timeout(const struct timeout *timeout, bool payload);

/* A timeout with its lease, for a client or for another node */
struct json_object *view_lease(const struct timeout *timeout, bool for_node);

/*
 * Makes what a node got with a lease what a client gets. Returns when the lease ends, in the
 * service's time; 0: the node did not say.
 */
uint64_t view_pass_lease(struct json_object *object);

void view_seconds(struct json_object *object, const char *name, uint64_t ns);

#endif /* VIEW_H */
