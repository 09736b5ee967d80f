// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <json-c/json.h>
#include <microhttpd.h>

#include "clock/now.h"
#include "hash.h"
#include "queue/wish.h"
#include "text.h"

static bool wish_is_number(struct json_object *value)
{
	return json_object_is_type(value, json_type_int) ||
	       json_object_is_type(value, json_type_double);
}

/* A text without zeros, which C would not see; or NULL */
static const char *wish_text(struct json_object *value)
{
	const char *text = json_object_is_type(value, json_type_string) ?
			   json_object_get_string(value) : NULL;

	return text && strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

static const char *wish_read_seconds(struct json_object *value, uint64_t *ns)
{
	double seconds = json_object_get_double(value);

	if (!isfinite(seconds) || seconds < 0 || seconds > TEXT_DATE_LAST)
		return "seconds are out of range";
	*ns = (uint64_t)ceil(seconds * 1e9);
	return NULL;
}

static const char *wish_read_delay(struct record *record, const struct settings *settings,
				   struct json_object *value)
{
	const char *wrong, *text = wish_text(value);
	uint64_t ns = 0;

	if (wish_is_number(value))
		wrong = wish_read_seconds(value, &ns);
	else
		wrong = text ? text_duration(text, &ns) :
			"delay: seconds, or a text such as \"30m\", are expected";
	if (!wrong && ns > settings->delay)
		wrong = "delay: longer than this server allows";
	record->absolute = false;
	record->deadline_ns = now_after(ns);
	return wrong;
}

static const char *wish_read_deadline(struct record *record, const struct settings *settings,
				      struct json_object *value)
{
	const char *wrong = NULL, *text = wish_text(value);
	uint64_t at, now = now_ns();

	if (wish_is_number(value))
		wrong = wish_read_seconds(value, &record->deadline_ns);
	else if (!text || !text_date(text, &record->deadline_ns))
		wrong = "deadline: seconds since 1970, or a date of RFC 3339 or HTTP, are expected";
	record->absolute = true;
	at = now_from_wall(record->deadline_ns);
	if (!wrong && at > now && at - now > settings->delay)
		wrong = "deadline: farther away than this server allows";
	return wrong;
}

static const char *wish_read_member(struct record *record, const struct service *service,
				    const char *name, struct json_object *value,
				    struct text_wrong *wrong)
{
	bool is_text = json_object_is_type(value, json_type_string);
	const char *text = is_text ? json_object_get_string(value) : NULL;
	uint32_t length = is_text ? (uint32_t)json_object_get_string_len(value) : 0;

	if (!strcmp(name, "delay"))
		return wish_read_delay(record, &service->settings, value);
	if (!strcmp(name, "deadline"))
		return wish_read_deadline(record, &service->settings, value);
	if (!strcmp(name, "queue")) {
		record->queue = text;
		record->queue_length = length;
		return is_text && text_is_queue(text, length) ? NULL :
		       "queue: 1 to 64 letters, digits, dots, dashes or underscores are expected";
	}
	if (!strcmp(name, "payload")) {
		record->payload = text;
		record->payload_length = length;
		if (length > service->settings.payload)
			wrong->status = MHD_HTTP_CONTENT_TOO_LARGE;
		return !is_text ? "payload: a text is expected" :
		       length > service->settings.payload ?
		       "payload: larger than this server allows" : NULL;
	}
	if (strcmp(name, "key") || record->key.text) {
		wrong->name = name;
		wrong->length = strlen(name);
		return "an unknown member: delay or deadline, queue and payload are expected";
	}
	if (!is_text || !text_is_key(text, length))
		return "key: 1 to 256 bytes of UTF-8 without control characters are expected";
	record->key = hash_key(text, length, service->shards);
	return NULL;
}

const char *wish_read(struct record *record, const struct service *service,
		      struct json_object *object, struct text_wrong *wrong)
{
	const char *what;

	if (!json_object_is_type(object, json_type_object))
		return "a JSON object is expected";
	record->type = RECORD_PUT;
	record->queue = "default";
	record->queue_length = strlen("default");
	json_object_object_foreach(object, name, value) {
		what = wish_read_member(record, service, name, value, wrong);
		if (what)
			return what;
	}
	return json_object_object_get_ex(object, "delay", NULL) ==
	       json_object_object_get_ex(object, "deadline", NULL) ?
	       "either delay or deadline is expected" : NULL;
}
