/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON from others, which is taken as it is or not at all. */
#ifndef STRICT_JSON_H
#define STRICT_JSON_H

#include <stddef.h>

struct json_object;

/* Strict JSON, in UTF-8, not deep; NULL if it is something else. The caller puts it. */
struct json_object *strict_json(const char *text, size_t length);

/*
 * Returns NULL, or what is wrong with a text that strict_json() takes: members that are there
 * twice, surrogates that are alone. The member's name is @wrong, of @length bytes, or NULL.
 */
const char *strict_json_mistake(const char *text, const char **wrong, size_t *length);

#endif /* STRICT_JSON_H */
