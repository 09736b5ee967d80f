// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock/now.h"
#include "date.h"
#include "hwheelctl/array.h"

/* A fraction is cut after nanoseconds, and rounded up. Returns what follows. */
static const char *date_read_fraction(const char *text, uint64_t *ns)
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
static bool date_read_zone(const char *text, long *seconds)
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
static void date_choose_century(struct tm *date)
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
static const char *date_read_form(const char *text, const char *form, time_t *seconds)
{
	struct tm date = { 0 };
	const char *end = strptime(text, form, &date);
	bool is_leap = date.tm_sec == 60;
	char back[64];

	if (!end || date.tm_sec > 60)
		return NULL;
	if (strstr(form, "%y"))
		date_choose_century(&date);
	date.tm_sec -= is_leap;
	*seconds = timegm(&date) + is_leap;
	date.tm_sec += is_leap;
	if (strftime(back, sizeof(back), form, &date) != (size_t)(end - text) ||
	    memcmp(text, back, (size_t)(end - text)))
		return NULL;
	return end;
}

/* The three forms of HTTP: of RFC 1123, of RFC 850, and of asctime() */
static bool date_read_http(const char *text, time_t *seconds)
{
	static const char *const forms[] = {
		"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y",
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *end = date_read_form(text, forms[i], seconds);

		if (end)
			return !*end;
	}
	return false;
}

bool date_read(const char *text, uint64_t *wall_ns)
{
	uint64_t fraction = 0;
	const char *end;
	time_t seconds;
	char copy[64];
	long zone = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	if (!date_read_http(copy, &seconds)) {
		copy[strcspn(copy, "t")] = copy[strcspn(copy, "t")] ? 'T' : 0;
		end = date_read_form(copy, "%Y-%m-%dT%H:%M:%S", &seconds);
		if (!end || !date_read_zone(date_read_fraction(end, &fraction), &zone))
			return false;
	}
	seconds -= zone;
	*wall_ns = (uint64_t)seconds * NS_PER_S + fraction;
	return strlen(text) < sizeof(copy) && seconds >= 0 && (double)seconds <= DATE_LAST;
}
