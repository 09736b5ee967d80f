/* SPDX-License-Identifier: GPL-2.0-only */
/* What a client wants of a timeout: the JSON of a put, checked. */
#ifndef WISH_H
#define WISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "log/record.h"

struct wish {
	char *key;
	char *payload;
	uint32_t key_length;
	uint32_t queue_length;
	uint32_t payload_length;
	bool absolute;
	uint64_t deadline_ns;		/* as in struct timeout */
	char queue[QUEUE_MAX + 1];
};

/*
 * Each returns NULL, or what is wrong. @status: out: the answer's status then. A wish without a
 * key gets @key.
 */
const char *wish_read(struct wish *wish, struct json_object *object, unsigned int *status);
const char *wish_set_key(struct wish *wish, const char *key, size_t length);

void wish_free(struct wish *wishes, size_t count);

/* Strict JSON, in UTF-8, not deep; NULL if it is something else */
struct json_object *wish_parse_json(const char *text, size_t length);

/* The texts that clients choose */
bool wish_is_key(const char *key, size_t length);
bool wish_is_queue(const char *name, size_t length);

/* Seconds, or a duration with a unit. Returns NULL, or what is wrong. */
const char *wish_read_duration(const char *text, uint64_t *ns);

#endif /* WISH_H */
