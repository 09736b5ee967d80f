/* SPDX-License-Identifier: GPL-2.0-only */
/* What a client wants of a timeout: the JSON of a put, checked. */
#ifndef WISH_H
#define WISH_H

#include "log/record.h"
#include "service.h"

struct json_object;
struct text_wrong;

/*
 * Fills in a put's record; its texts are those in the JSON. Returns NULL, or what is wrong; only
 * then @wrong may change. A record that has no key gets one of the object.
 */
const char *wish_read(struct record *record, const struct service *service,
		      struct json_object *object, struct text_wrong *wrong);

#endif /* WISH_H */
