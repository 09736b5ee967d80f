// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>
#include <microhttpd.h>

#include "clock/now.h"
#include "hash.h"
#include "queue/wish.h"
#include "text.h"

/* The wall clock's nanoseconds have to fit. */
#define WISH_LAST_SECOND	9000000000.0

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

	if (!isfinite(seconds) || seconds < 0 || seconds > WISH_LAST_SECOND)
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

/* In a form 0 stands for any digit, and all else for itself. */
static bool wish_has_form(const char *text, const char *form)
{
	for (; *form; text++, form++)
		if (*form == '0' ? *text < '0' || *text > '9' : *text != *form)
			return false;
	return true;
}

/* A fraction is cut after nanoseconds, and rounded up. Returns what follows. */
static const char *wish_read_fraction(const char *text, uint64_t *ns)
{
	uint64_t unit = NS_PER_S / 10;

	*ns = 0;
	if (!wish_has_form(text, ".0"))
		return text;
	for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
		*ns += unit ? unit * (uint64_t)(*text - '0') : 0;
	if (!unit)
		++*ns;
	return text;
}

/* Returns what follows, or NULL if there is no zone. */
static const char *wish_read_zone(const char *text, long *seconds)
{
	unsigned int hours, minutes;
	char sign;

	*seconds = 0;
	if (*text == 'Z' || *text == 'z')
		return text + 1;
	if (!wish_has_form(text, "+00:00") && !wish_has_form(text, "-00:00"))
		return NULL;
	if (sscanf(text, "%c%2u:%2u", &sign, &hours, &minutes) != 3 || hours > 23 || minutes > 59)
		return NULL;
	*seconds = (sign == '+' ? 60 : -60) * (long)(hours * 60 + minutes);
	return text + strlen("+00:00");
}

/*
 * RFC 3339, such as 2026-11-24T18:30:00Z or 2026-11-24T18:30:00.5+01:00, but not the 31st of
 * February, which timegm() takes for the 3rd of March
 */
static bool wish_read_date(const char *text, uint64_t *ns)
{
	struct tm date = { 0 }, day;
	const char *end = NULL;
	uint64_t fraction;
	time_t time;
	long zone;

	if (wish_has_form(text, "0000-00-00T00:00:00"))
		end = strptime(text, "%Y-%m-%dT%H:%M:%S", &date);
	if (!end)
		return false;
	day = (struct tm) {
		.tm_year = date.tm_year, .tm_mon = date.tm_mon, .tm_mday = date.tm_mday,
	};
	timegm(&day);
	if (day.tm_mon != date.tm_mon || day.tm_mday != date.tm_mday)
		return false;
	end = wish_read_zone(wish_read_fraction(end, &fraction), &zone);
	if (!end || *end)
		return false;
	time = timegm(&date) - zone;
	if (time < 0 || (double)time > WISH_LAST_SECOND)
		return false;
	*ns = (uint64_t)time * NS_PER_S + fraction;
	return true;
}

static const char *wish_read_deadline(struct record *record, const struct settings *settings,
				      struct json_object *value)
{
	const char *wrong = NULL, *text = wish_text(value);
	uint64_t at, now = now_ns();

	if (wish_is_number(value))
		wrong = wish_read_seconds(value, &record->deadline_ns);
	else if (!text || !wish_read_date(text, &record->deadline_ns))
		wrong = "deadline: seconds since 1970, or a date as in RFC 3339, are expected";
	record->absolute = true;
	at = now_from_wall(record->deadline_ns);
	if (!wrong && at > now && at - now > settings->delay)
		wrong = "deadline: farther away than this server allows";
	return wrong;
}

static const char *wish_read_member(struct record *record, const struct service *service,
				    const char *name, struct json_object *value,
				    unsigned int *status)
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
			*status = MHD_HTTP_CONTENT_TOO_LARGE;
		return !is_text ? "payload: a text is expected" :
		       length > service->settings.payload ?
		       "payload: larger than this server allows" : NULL;
	}
	if (strcmp(name, "key") || !is_text)
		return "an unknown member: delay or deadline, queue and payload are expected";
	if (!text_is_key(text, length))
		return "key: 1 to 256 bytes of UTF-8 without control characters are expected";
	if (record->key.text)
		return "key: the path has it";
	record->key = hash_key(text, length, service->shards);
	return NULL;
}

const char *wish_read(struct wish *wish, const struct service *service,
		      struct json_object *object, unsigned int *status)
{
	const char *wrong;

	*status = MHD_HTTP_BAD_REQUEST;
	if (!json_object_is_type(object, json_type_object))
		return "a JSON object is expected";
	if (json_object_object_get_ex(object, "delay", NULL) ==
	    json_object_object_get_ex(object, "deadline", NULL))
		return "either delay or deadline is expected";
	wish->record.type = RECORD_PUT;
	wish->record.queue = "default";
	wish->record.queue_length = strlen("default");
	json_object_object_foreach(object, name, value) {
		wrong = wish_read_member(&wish->record, service, name, value, status);
		if (wrong)
			return wrong;
	}
	return NULL;
}
