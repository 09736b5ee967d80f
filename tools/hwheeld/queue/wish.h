/* SPDX-License-Identifier: GPL-2.0-only */
/* What a client wants of a timeout: the JSON of a put, checked. */
#ifndef WISH_H
#define WISH_H

#include "log/record.h"
#include "service.h"

struct json_object;
struct text_wrong;

struct wish {
	struct record record;		/* of a put; its texts are those in the JSON */

	/* What decides, as it was found; nothing changes it before the commit. */
	struct timeout *timeout;	/* NULL: a new one */
	struct queue *queue;		/* with a place for it; NULL: it stays in its queue */
};

/*
 * Returns NULL, or what is wrong; only then @wrong may change. A wish that has no key gets one of
 * the object.
 */
const char *wish_read(struct wish *wish, const struct service *service,
		      struct json_object *object, struct text_wrong *wrong);

#endif /* WISH_H */
