// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "decimal.h"

size_t decimal_length(const char *text)
{
	return strspn(text, "0123456789.");
}

/* Reads digits up to the first other character, counted in units of @unit */
static enum decimal parse_whole(const char **text, const char *end, __u64 unit, __u64 *sum)
{
	__u64 value = 0;

	for (; *text < end && **text != '.'; (*text)++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, **text - '0', &value))
			return DECIMAL_TOO_LARGE;
	return __builtin_mul_overflow(value, unit, sum) ? DECIMAL_TOO_LARGE : DECIMAL_READ;
}

/* Reads the digits after the point and adds them to @sum */
static enum decimal parse_fraction(const char *text, const char *end, __u64 unit, __u64 *sum)
{
	for (; text < end; text++) {
		__u64 digit = *text - '0';

		if (*text == '.')
			return DECIMAL_NONE;
		if (digit && (!unit || unit % 10))
			return DECIMAL_NOT_WHOLE;
		unit /= 10;
		if (__builtin_add_overflow(*sum, digit * unit, sum))
			return DECIMAL_TOO_LARGE;
	}
	return DECIMAL_READ;
}

enum decimal decimal_parse(const char *text, size_t length, __u64 unit, __u64 *value)
{
	const char *end = text + length;
	enum decimal result;
	__u64 sum = 0;

	if (!length || *text == '.' || end[-1] == '.')
		return DECIMAL_NONE;
	result = parse_whole(&text, end, unit, &sum);
	if (result == DECIMAL_READ && text < end)
		result = parse_fraction(text + 1, end, unit, &sum);
	if (result == DECIMAL_READ)
		*value = sum;
	return result;
}
