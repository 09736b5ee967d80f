/* SPDX-License-Identifier: GPL-2.0-only */
/* What another node has for a take: how it is asked, what it answers, and what goes back to it. */
#ifndef TAKINGS_H
#define TAKINGS_H

#include "http/request.h"

/*
 * A take that does not wait asks the other nodes one after the other, until one has something. It
 * begins with another node each time, so that none is forgotten.
 */
bool takings_sweep(struct request *request, bool is_due_here);

/*
 * The timeouts of an answer, for the caller to put, or NULL if there are none; puts the answer.
 * Fills in when the first of the leases ends, in the service's time.
 */
struct json_object *takings_read(unsigned int status, struct json_object *answer,
				 uint64_t *end_ns);

/* No client gets them: gives the leases back, and puts the timeouts. */
void takings_return(struct service *service, struct json_object *timeouts);

#endif /* TAKINGS_H */
