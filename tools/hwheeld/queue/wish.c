// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <microhttpd.h>

#include "clock/now.h"
#include "hwheelctl/duration.h"
#include "memory.h"
#include "queue/wish.h"
#include "settings.h"

#define DEPTH	8

/* The wall clock's nanoseconds have to fit. */
#define LAST_SECOND	9000000000.0

struct json_object *wish_parse_json(const char *text, size_t length)
{
	struct json_tokener *tokener = memory_need(json_tokener_new_ex(DEPTH));
	struct json_object *object;
	enum json_tokener_error error;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, text ?: "", (int)length + 1);
	error = json_tokener_get_error(tokener);
	if (error != json_tokener_success || json_tokener_get_parse_end(tokener) < length) {
		json_object_put(object);
		object = NULL;
	}
	json_tokener_free(tokener);
	return object;
}

/* The length of the character at @text, or 0 if that is not UTF-8; overlong forms are not. */
static size_t character(const unsigned char *text, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = *text < 0x80 ? 1 : *text < 0xc0 ? 0 : *text < 0xe0 ? 2 :
			*text < 0xf0 ? 3 : *text < 0xf8 ? 4 : 0;
	uint32_t code = length < 2 ? *text : *text & (0x7fU >> length);

	if (!length || length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return code < 0x20 || code == 0x7f ? 0 : length;
}

bool wish_is_key(const char *key, size_t length)
{
	size_t at = 0, step;

	if (!length || length > KEY_MAX)
		return false;
	for (; at < length; at += step) {
		step = character((const unsigned char *)key + at, length - at);
		if (!step)
			return false;
	}
	return true;
}

bool wish_is_queue(const char *name, size_t length)
{
	size_t i = 0;

	while (i < length && name[i] > 0 && (isalnum(name[i]) || strchr("._-", name[i])))
		i++;
	return length && length <= QUEUE_MAX && i == length;
}

const char *wish_read_duration(const char *text, uint64_t *ns)
{
	char buffer[64];
	const char *wrong;
	__u64 value = 0;

	if (strlen(text) > sizeof(buffer) - 2)
		return "a duration is expected";
	snprintf(buffer, sizeof(buffer), "%s%s", text,
		 *text && !text[strspn(text, "0123456789.")] ? "s" : "");
	wrong = duration_parse(buffer, &value);
	*ns = value;
	return wrong;
}

static const char *read_seconds(struct json_object *value, uint64_t *ns)
{
	double seconds = json_object_get_double(value);

	if (!isfinite(seconds) || seconds < 0 || seconds > LAST_SECOND)
		return "seconds are out of range";
	*ns = (uint64_t)ceil(seconds * 1e9);
	return NULL;
}

static bool is_number(struct json_object *value)
{
	return json_object_is_type(value, json_type_int) ||
	       json_object_is_type(value, json_type_double);
}

static bool is_text(struct json_object *value)
{
	return json_object_is_type(value, json_type_string);
}

/* A text without zeros, which C would not see */
static bool is_plain_text(struct json_object *value)
{
	return is_text(value) && strlen(json_object_get_string(value)) ==
				 (size_t)json_object_get_string_len(value);
}

static const char *read_delay(struct wish *wish, struct json_object *value)
{
	const char *wrong;
	uint64_t ns = 0;

	if (is_number(value))
		wrong = read_seconds(value, &ns);
	else if (is_plain_text(value))
		wrong = wish_read_duration(json_object_get_string(value), &ns);
	else
		wrong = "delay: seconds, or a text such as \"30m\", are expected";
	if (!wrong && ns > settings.delay)
		wrong = "delay: longer than this server allows";
	wish->absolute = false;
	wish->deadline_ns = now_after(ns);
	return wrong;
}

/* In a form 0 stands for any digit, and all else for itself. */
static bool has_form(const char *text, const char *form)
{
	for (; *form; text++, form++)
		if (*form == '0' ? *text < '0' || *text > '9' : *text != *form)
			return false;
	return true;
}

/* A fraction is cut after nanoseconds, and rounded up. */
static const char *read_fraction(const char *text, uint64_t *ns)
{
	uint64_t unit = NS_PER_S / 10;

	*ns = 0;
	if (!has_form(text, ".0"))
		return text;
	for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
		*ns += unit ? unit * (uint64_t)(*text - '0') : 0;
	if (!unit)
		++*ns;
	return text;
}

static const char *read_zone(const char *text, long *seconds)
{
	unsigned int hours, minutes;
	char sign;

	*seconds = 0;
	if (*text == 'Z' || *text == 'z')
		return text + 1;
	if (!has_form(text, "+00:00") && !has_form(text, "-00:00"))
		return NULL;
	if (sscanf(text, "%c%2u:%2u", &sign, &hours, &minutes) != 3 || hours > 23 || minutes > 59)
		return NULL;
	*seconds = (sign == '+' ? 60 : -60) * (long)(hours * 60 + minutes);
	return text + strlen("+00:00");
}

/* Not the 31st of February, which timegm() takes for the 3rd of March */
static bool is_there(const struct tm *date)
{
	struct tm day = {
		.tm_year = date->tm_year, .tm_mon = date->tm_mon, .tm_mday = date->tm_mday,
	};

	timegm(&day);
	return day.tm_mon == date->tm_mon && day.tm_mday == date->tm_mday;
}

/* RFC 3339, such as 2026-11-24T18:30:00Z or 2026-11-24T18:30:00.5+01:00 */
static bool read_date(const char *text, uint64_t *ns)
{
	struct tm date = { 0 };
	const char *end = NULL;
	uint64_t fraction;
	time_t time;
	long zone;

	if (has_form(text, "0000-00-00T00:00:00"))
		end = strptime(text, "%Y-%m-%dT%H:%M:%S", &date);
	if (!end || !is_there(&date))
		return false;
	end = read_zone(read_fraction(end, &fraction), &zone);
	if (!end || *end)
		return false;
	time = timegm(&date) - zone;
	if (time < 0 || (double)time > LAST_SECOND)
		return false;
	*ns = (uint64_t)time * NS_PER_S + fraction;
	return true;
}

static const char *read_deadline(struct wish *wish, struct json_object *value)
{
	const char *wrong = NULL;
	uint64_t at, now = now_ns();

	if (is_number(value))
		wrong = read_seconds(value, &wish->deadline_ns);
	else if (!is_plain_text(value) ||
		 !read_date(json_object_get_string(value), &wish->deadline_ns))
		wrong = "deadline: seconds since 1970, or a date as in RFC 3339, are expected";
	wish->absolute = true;
	at = now_from_wall(wish->deadline_ns);
	if (!wrong && at > now && at - now > settings.delay)
		wrong = "deadline: farther away than this server allows";
	return wrong;
}

static const char *read_queue(struct wish *wish, struct json_object *value)
{
	if (!is_plain_text(value) ||
	    !wish_is_queue(json_object_get_string(value),
			   (size_t)json_object_get_string_len(value)))
		return "queue: 1 to 64 letters, digits, dots, dashes or underscores are expected";
	wish->queue_length = (uint32_t)json_object_get_string_len(value);
	memcpy(wish->queue, json_object_get_string(value), wish->queue_length + 1);
	return NULL;
}

static const char *read_payload(struct wish *wish, struct json_object *value, unsigned int *status)
{
	if (!is_text(value))
		return "payload: a text is expected";
	wish->payload_length = (uint32_t)json_object_get_string_len(value);
	if (wish->payload_length > settings.payload) {
		*status = MHD_HTTP_CONTENT_TOO_LARGE;
		return "payload: larger than this server allows";
	}
	free(wish->payload);
	wish->payload = memory_copy(json_object_get_string(value), wish->payload_length);
	return NULL;
}

const char *wish_set_key(struct wish *wish, const char *key, size_t length)
{
	if (!wish_is_key(key, length))
		return "key: 1 to 256 bytes of UTF-8 without control characters are expected";
	if (wish->key)
		return "key: the path has it";
	wish->key = memory_copy(key, length);
	wish->key_length = (uint32_t)length;
	return NULL;
}

static const char *read_member(struct wish *wish, const char *name, struct json_object *value,
			       unsigned int *status)
{
	if (!strcmp(name, "delay"))
		return read_delay(wish, value);
	if (!strcmp(name, "deadline"))
		return read_deadline(wish, value);
	if (!strcmp(name, "queue"))
		return read_queue(wish, value);
	if (!strcmp(name, "payload"))
		return read_payload(wish, value, status);
	if (!strcmp(name, "key") && is_text(value))
		return wish_set_key(wish, json_object_get_string(value),
				    (size_t)json_object_get_string_len(value));
	return "an unknown member: delay or deadline, queue and payload are expected";
}

const char *wish_read(struct wish *wish, struct json_object *object, unsigned int *status)
{
	bool delay, deadline;
	const char *wrong;

	*status = MHD_HTTP_BAD_REQUEST;
	if (!json_object_is_type(object, json_type_object))
		return "a JSON object is expected";
	delay = json_object_object_get_ex(object, "delay", NULL);
	deadline = json_object_object_get_ex(object, "deadline", NULL);
	if (delay == deadline)
		return "either delay or deadline is expected";
	wish->queue_length = (uint32_t)sprintf(wish->queue, "default");
	json_object_object_foreach(object, name, value) {
		wrong = read_member(wish, name, value, status);
		if (wrong)
			return wrong;
	}
	return NULL;
}

void wish_free(struct wish *wishes, size_t count)
{
	for (size_t i = 0; wishes && i < count; i++) {
		free(wishes[i].key);
		free(wishes[i].payload);
	}
	free(wishes);
}
