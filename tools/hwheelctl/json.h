/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON for scripts: json-c, in short. */
#ifndef JSON_H
#define JSON_H

#include <linux/types.h>
#include <stdio.h>

#include <json-c/json.h>

static inline void json_add_number(struct json_object *object, const char *name, __u64 value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

static inline void json_add_text(struct json_object *object, const char *name, const char *text)
{
	json_object_object_add(object, name, json_object_new_string(text));
}

static inline void json_add_bytes(struct json_object *object, const char *name, const char *text,
				  size_t length)
{
	json_object_object_add(object, name, json_object_new_string_len(text, (int)length));
}

/* The same member as @from has, which keeps its own */
static inline void json_add_member_of(struct json_object *object, const char *name,
				      struct json_object *from)
{
	json_object_object_add(object, name, json_object_get(json_object_object_get(from, name)));
}

/* The text of a member that is one; the object keeps it. */
static inline const char *json_text_of(struct json_object *object, const char *name)
{
	return json_object_get_string(json_object_object_get(object, name));
}

static inline void json_add_numbers(struct json_object *object, const char *name,
				    const __u64 *values, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, json_object_new_uint64(values[i]));
	json_object_object_add(object, name, array);
}

/* Prints it in one line, so that a reader can take line by line, and frees it. */
static inline void json_print(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(object);
}

#endif /* JSON_H */
