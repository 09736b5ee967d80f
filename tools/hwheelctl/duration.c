// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "decimal.h"
#include "duration.h"

static const struct unit {
	const char *name;
	__u64 ns;
} units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000 * 1000 },
	{ "s", 1000 * 1000 * 1000 },
	{ "m", 60ULL * 1000 * 1000 * 1000 },
	{ "h", 3600ULL * 1000 * 1000 * 1000 },
	{ "d", 24 * 3600ULL * 1000 * 1000 * 1000 },
};

#define NOT_A_DURATION	"not a duration (write 250ms, 1.5s, 2m, 2d)"

static const struct unit *unit_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

const char *duration_parse(const char *text, __u64 *ns)
{
	static const char *const wrong[] = {
		[DECIMAL_NONE] = NOT_A_DURATION,
		[DECIMAL_TOO_LARGE] = "longer than 584 years",
		[DECIMAL_NOT_WHOLE] = "finer than a nanosecond",
	};
	size_t length = decimal_length(text);
	const struct unit *unit = unit_named(text + length);

	if (length && !text[length])
		return "a unit is missing: ns, us, ms, s, m, h or d (250ms, 1.5s, 2m)";
	return unit ? wrong[decimal_parse(text, length, unit->ns, ns)] : NOT_A_DURATION;
}

char *duration_format(__u64 ns, char text[DURATION_TEXT])
{
	unsigned long long whole, thousandths = 0;
	size_t i = 3;	/* minutes to days would hide the digits that matter here */
	int length;

	while (i && ns < units[i].ns)
		i--;
	whole = ns / units[i].ns;
	if (i)
		thousandths = ns / (units[i].ns / 1000) % 1000;
	length = snprintf(text, DURATION_TEXT, "%llu.%03llu", whole, thousandths);
	while (text[length - 1] == '0')
		length--;
	if (text[length - 1] == '.')
		length--;
	snprintf(text + length, DURATION_TEXT - length, " %s", units[i].name);
	return text;
}
