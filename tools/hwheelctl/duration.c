// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
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
};

static const char *const not_a_duration = "not a duration (write 250ms, 1.5s, 2m)";
static const char *const no_unit = "a unit is missing: ns, us, ms, s, m or h (250ms, 1.5s, 2m)";
static const char *const too_long = "longer than 584 years";
static const char *const too_fine = "finer than a nanosecond";

static const struct unit *unit_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

/* Reads digits up to the first other character, counted in units of @unit_ns */
static const char *parse_whole(const char **text, __u64 unit_ns, __u64 *ns)
{
	__u64 value = 0;

	for (; **text >= '0' && **text <= '9'; (*text)++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, **text - '0', &value))
			return too_long;
	return __builtin_mul_overflow(value, unit_ns, ns) ? too_long : NULL;
}

/* Reads the digits after the point and adds them to @ns */
static const char *parse_fraction(const char **text, __u64 unit_ns, __u64 *ns)
{
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		__u64 digit = **text - '0';

		if (digit && (!unit_ns || unit_ns % 10))
			return too_fine;
		unit_ns /= 10;
		if (__builtin_add_overflow(*ns, digit * unit_ns, ns))
			return too_long;
	}
	return NULL;
}

const char *duration_parse(const char *text, __u64 *ns)
{
	const char *name = text + strspn(text, "0123456789.");
	const struct unit *unit = unit_named(name);
	const char *wrong;
	__u64 value;

	if (name == text)
		return not_a_duration;
	if (!unit)
		return *name ? not_a_duration : no_unit;
	if (*text == '.' || name[-1] == '.')
		return not_a_duration;
	wrong = parse_whole(&text, unit->ns, &value);
	if (!wrong && *text == '.') {
		text++;
		wrong = parse_fraction(&text, unit->ns, &value);
	}
	if (!wrong && text != name)
		wrong = not_a_duration;
	if (!wrong)
		*ns = value;
	return wrong;
}

char *duration_format(__u64 ns, char text[DURATION_TEXT])
{
	unsigned long long whole, thousandths = 0;
	size_t i = 3;	/* minutes and hours would hide the digits that matter here */
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
