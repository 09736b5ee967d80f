// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock/now.h"
#include "hwheelctl/array.h"
#include "hwheelctl/duration.h"
#include "hwheelctl/utf8.h"
#include "memory.h"
#include "text.h"

#define TEXT_PRINTABLE	64

static const char text_digits[] = "0123456789abcdef";

/* strtoull() takes spaces and signs, too. */
bool text_number(const char *text, int base, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, base);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

bool text_count(const char *text, uint64_t most, uint64_t *number)
{
	return text_number(text, 10, number) && *number && *number <= most;
}

const char *text_duration(const char *text, uint64_t *ns)
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

/* A fraction is cut after nanoseconds, and rounded up. Returns what follows. */
static const char *text_date_fraction(const char *text, uint64_t *ns)
{
	uint64_t unit = NS_PER_S / 10;
	bool is_cut = false;

	*ns = 0;
	if (*text != '.' || !isdigit((unsigned char)text[1]))
		return text;
	for (text++; isdigit((unsigned char)*text); text++, unit /= 10) {
		*ns += unit * (uint64_t)(*text - '0');
		is_cut |= !unit && *text != '0';
	}
	*ns += is_cut;
	return text;
}

/* Nothing may follow the zone. */
static bool text_date_zone(const char *text, long *seconds)
{
	unsigned int hours, minutes;
	char back[8];

	*seconds = 0;
	if (!strcmp(text, "Z") || !strcmp(text, "z"))
		return true;
	if (strlen(text) != strlen("+00:00") || !strchr("+-", *text) ||
	    sscanf(text + 1, "%2u:%2u", &hours, &minutes) != 2 || hours > 23 || minutes > 59)
		return false;
	*seconds = (*text == '+' ? 60 : -60) * (long)(hours * 60 + minutes);
	snprintf(back, sizeof(back), "%02u:%02u", hours, minutes);
	return !strcmp(text + 1, back);
}

/* RFC 9110: a year of two digits is the last one of these that is not 50 years ahead. */
static void text_date_century(struct tm *date)
{
	time_t now = (time_t)(now_on_wall(now_ns()) / NS_PER_S);
	struct tm last, copy;

	gmtime_r(&now, &last);
	last.tm_year += 50;
	date->tm_year = last.tm_year - (last.tm_year - date->tm_year) % 100;
	copy = *date;
	if (timegm(&copy) > timegm(&last))
		date->tm_year -= 100;
}

/*
 * strptime() takes spaces, missing zeros, the 31st of February and any day of the week: what it
 * has read has to come back as it was. Returns what follows, or NULL.
 */
static const char *text_date_form(const char *text, const char *form, time_t *seconds)
{
	struct tm date = { 0 };
	const char *end = strptime(text, form, &date);
	bool is_leap = date.tm_sec == 60;
	char back[64];

	if (!end || date.tm_sec > 60)
		return NULL;
	if (strstr(form, "%y"))
		text_date_century(&date);
	date.tm_sec -= is_leap;
	*seconds = timegm(&date) + is_leap;
	date.tm_sec += is_leap;
	if (strftime(back, sizeof(back), form, &date) != (size_t)(end - text) ||
	    memcmp(text, back, (size_t)(end - text)))
		return NULL;
	return end;
}

/* The three forms of HTTP: of RFC 1123, of RFC 850, and of asctime() */
static bool text_date_http(const char *text, time_t *seconds)
{
	static const char *const forms[] = {
		"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y",
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *end = text_date_form(text, forms[i], seconds);

		if (end)
			return !*end;
	}
	return false;
}

bool text_date(const char *text, uint64_t *wall_ns)
{
	uint64_t fraction = 0;
	const char *end;
	time_t seconds;
	char copy[64];
	long zone = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	if (!text_date_http(copy, &seconds)) {
		copy[strcspn(copy, "t")] = copy[strcspn(copy, "t")] ? 'T' : 0;
		end = text_date_form(copy, "%Y-%m-%dT%H:%M:%S", &seconds);
		if (!end || !text_date_zone(text_date_fraction(end, &fraction), &zone))
			return false;
	}
	seconds -= zone;
	*wall_ns = (uint64_t)seconds * NS_PER_S + fraction;
	return strlen(text) < sizeof(copy) && seconds >= 0 && (double)seconds <= TEXT_DATE_LAST;
}

size_t text_printable(const char *text, size_t length)
{
	size_t at = 0, step;

	for (; at < length; at += step) {
		step = utf8_character((const unsigned char *)text + at, length - at);
		if (!step || at + step > TEXT_PRINTABLE)
			break;
	}
	return at;
}

bool text_is_key(const char *key, size_t length)
{
	size_t at = 0, step = length && length <= KEY_MAX;

	for (; step && at < length; at += step)
		step = utf8_character((const unsigned char *)key + at, length - at);
	return step;
}

bool text_is_queue(const char *name, size_t length)
{
	size_t i = 0;

	while (i < length && name[i] > 0 && (isalnum(name[i]) || strchr("._-", name[i])))
		i++;
	return length && length <= QUEUE_MAX && i == length;
}

static int text_digit(char digit)
{
	const char *at = digit ? strchr(text_digits, tolower(digit)) : NULL;

	return at ? (int)(at - text_digits) : -1;
}

/* Two hexadecimal digits, or -1 */
static int text_byte(const char *text)
{
	int high = text_digit(text[0]), low = high < 0 ? -1 : text_digit(text[1]);

	return low < 0 ? -1 : high << 4 | low;
}

bool text_decode(const char *text, char *to, size_t room, size_t *length)
{
	for (*length = 0; *text; ++*length) {
		int byte = *text == '%' ? text_byte(text + 1) : (unsigned char)*text;

		if (byte < 0 || *length == room)
			return false;
		text += *text == '%' ? 3 : 1;
		to[*length] = (char)byte;
	}
	to[*length] = 0;
	return true;
}

void text_token(const unsigned char token[TOKEN_SIZE], char text[TEXT_TOKEN])
{
	for (size_t i = 0; i < TOKEN_SIZE; i++) {
		text[2 * i] = text_digits[token[i] >> 4];
		text[2 * i + 1] = text_digits[token[i] & 15];
	}
	text[TEXT_TOKEN - 1] = 0;
}

bool text_read_token(const char *text, unsigned char token[TOKEN_SIZE])
{
	if (strlen(text) != TEXT_TOKEN - 1 || strspn(text, text_digits) != TEXT_TOKEN - 1)
		return false;
	for (size_t i = 0; i < TOKEN_SIZE; i++)
		token[i] = (unsigned char)text_byte(text + 2 * i);
	return true;
}

/* An object of json-c has a table of 16 members, an array 32 places. */
size_t text_json_bytes(const char *text, size_t length)
{
	size_t bytes = 4 * length;

	for (size_t i = 0; i < length; i++)
		bytes += text[i] == '{' ? 2048 : text[i] == '[' ? 512 : text[i] == ',' ? 128 : 0;
	return bytes;
}
