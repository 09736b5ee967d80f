/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A change of timeouts, on its way through the store. It makes its timeouts busy, submits a
 * record for each, and has them free again when it is committed or refused. A request that comes
 * upon a busy timeout waits, and is then decided on anew.
 */
#ifndef CHANGE_H
#define CHANGE_H

#include "http/request.h"
#include "queue/timeout.h"
#include "store/store.h"

struct change {
	struct store_request commit;		/* first */
	struct service *service;
	struct request *request;		/* to be answered; NULL: nobody waits */
	struct timeout **timeouts;		/* of each record; NULL: it was removed */
	struct queue **queues;			/* that it comes to, with a place; or NULL */
	struct json_object *json;		/* of a put: has the texts of its records */
	unsigned int status;			/* of the answer, once it is committed */
	struct json_object *answer;		/* its body, or NULL */

	/* It is committed: make it so in memory, and answer. Or NULL. */
	void (*apply)(struct change *change);

	/* It is refused: take back what was done in memory; the answer is given. Or NULL. */
	void (*undo)(struct change *change);
};

/* Before it is submitted, free() ends it. */
struct change *change_new(struct service *service, struct request *request, size_t count);

/* timeouts[] and the records are filled in, but for their time. */
void change_submit(struct change *change);

/* The request waits until the timeout is not busy. */
void change_wait_for(struct timeout *timeout, struct request *request);

/* They are answered that the store is lost. */
void change_fail_waiters(struct timeout *timeout);

#endif /* CHANGE_H */
