// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "strict_json.h"
#include "utf8.h"

#define STRICT_DEPTH	8

/* More members than any object has that is read here */
#define STRICT_MEMBERS	16

struct json_object *strict_json(const char *text, size_t length)
{
	struct json_tokener *tokener = json_tokener_new_ex(STRICT_DEPTH);
	struct json_object *object;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, text ?: "", (int)length + 1);
	if (json_tokener_get_error(tokener) != json_tokener_success ||
	    json_tokener_get_parse_end(tokener) < length) {
		json_object_put(object);
		object = NULL;
	}
	json_tokener_free(tokener);
	return object;
}

/* Four hexadecimal digits, which json-c has seen */
static unsigned int strict_unit(const char *digits)
{
	char text[] = { digits[0], digits[1], digits[2], digits[3], '\0' };

	return (unsigned int)strtoul(text, NULL, 16);
}

/*
 * From behind the first quote; returns the last one, or NULL if there is a lone surrogate, another
 * character that is none, which json-c takes, or a control character.
 */
static const char *strict_end_of_string(const char *text, bool *has_escape)
{
	for (*has_escape = false; *text != '"'; text++) {
		unsigned int unit;

		if ((unsigned char)*text < ' ')
			return NULL;
		if ((unsigned char)*text >= 0x80) {
			size_t length = utf8_character((const unsigned char *)text,
						       strnlen(text, 4));

			if (!length)
				return NULL;
			text += length - 1;
		}
		if (*text != '\\')
			continue;
		*has_escape = true;
		if (*++text != 'u')
			continue;
		unit = strict_unit(text + 1);
		text += 4;
		if (unit < 0xd800 || unit > 0xdfff)
			continue;
		if (unit > 0xdbff || text[1] != '\\' || text[2] != 'u' ||
		    (strict_unit(text + 3) & 0xfc00) != 0xdc00)
			return NULL;
		text += 6;
	}
	return text;
}

/*
 * json-c takes texts in single quotes, keeps the last one of two members, ends a name at a zero,
 * and replaces lone surrogates. Names are compared as they are written: one with an escape is none
 * that a request has.
 */
const char *strict_json_mistake(const char *text, const char **wrong, size_t *length)
{
	struct {
		const char *names[STRICT_MEMBERS];
		size_t lengths[STRICT_MEMBERS], count;
	} objects[STRICT_DEPTH + 1], *object = objects;
	bool has_escape;

	for (; *text; text++) {
		const char *name = text + 1;

		if (*text == '\'')
			return "this is not JSON";
		if (*text == '{')
			(++object)->count = 0;
		else if (*text == '}')
			object--;
		if (*text != '"')
			continue;
		text = strict_end_of_string(name, &has_escape);
		if (!text)
			return "this is not JSON: a surrogate, no UTF-8, or a control character";
		if (text[1 + strspn(text + 1, " \t\r\n")] != ':')
			continue;
		*wrong = name;
		*length = (size_t)(text - name);
		if (has_escape || object->count == STRICT_MEMBERS)
			return "an unknown member";
		for (size_t i = 0; i < object->count; i++)
			if (object->lengths[i] == *length &&
			    !memcmp(object->names[i], name, *length))
				return "the member is there twice";
		object->names[object->count] = name;
		object->lengths[object->count++] = *length;
	}
	*wrong = NULL;
	return NULL;
}
