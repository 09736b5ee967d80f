/* SPDX-License-Identifier: GPL-2.0-only */
/* What a client wants of a timeout: the JSON of a put, checked. Texts are those in the JSON. */
#ifndef WISH_H
#define WISH_H

#include "settings.h"

struct json_object;

struct wish {
	const char *key;
	const char *payload;
	const char *queue_name;
	uint32_t key_length;
	uint32_t payload_length;
	uint32_t queue_length;
	unsigned int hash;		/* of the key */
	bool absolute;
	uint64_t deadline_ns;		/* as in struct timeout */

	/* What decides, as it was found; nothing changes it before the commit. */
	struct timeout *timeout;	/* NULL: a new one */
	struct queue *queue;		/* with a place for it; NULL: it stays in its queue */
};

/*
 * Returns NULL, or what is wrong. @status: out: the answer's status then. A wish that has no key
 * gets one of the object.
 */
const char *wish_read(struct wish *wish, const struct settings *settings,
		      struct json_object *object, unsigned int *status);

#endif /* WISH_H */
