// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "date.h"

#define NS_PER_S	1000000000ULL
#define NS_PER_MS	1000000ULL

/* The first second whose nanoseconds do not fit, rounded down: in the year 2554 */
#define LAST_S		18446744072LL

#define FORM		"%Y-%m-%dT%H:%M:%S"

char *date_format(__u64 wall_ns, char text[DATE_TEXT])
{
	__u64 ms = wall_ns / NS_PER_MS + !!(wall_ns % NS_PER_MS);
	time_t seconds = (time_t)(ms / 1000);
	struct tm parts;
	size_t end;

	gmtime_r(&seconds, &parts);
	end = strftime(text, DATE_TEXT, FORM, &parts);
	snprintf(text + end, DATE_TEXT - end, ".%03uZ", (unsigned int)(ms % 1000));
	return text;
}

/* strptime() takes spaces, and days that there are not: the date has to come back as it was. */
bool date_parse(const char *text, __u64 *wall_ns)
{
	struct tm parts = { 0 };
	const char *end = strptime(text, FORM, &parts);
	unsigned int ms;
	time_t seconds;
	char back[DATE_TEXT];

	if (!end || sscanf(end, ".%3uZ", &ms) != 1)
		return false;
	seconds = timegm(&parts);
	if (seconds < 0 || seconds >= LAST_S)
		return false;
	*wall_ns = (__u64)seconds * NS_PER_S + ms * NS_PER_MS;
	return !strcmp(date_format(*wall_ns, back), text);
}

__u64 date_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (__u64)now.tv_sec * NS_PER_S + (__u64)now.tv_nsec;
}
