// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "number.h"

#define MAX_EXPONENT	19	/* 10^19 is below 2^64 */

static const char *const wrong[] = {
	[DECIMAL_NONE] = "not a whole number (write 5000, 100k, 1.5M, 1e6, 0x10)",
	[DECIMAL_TOO_LARGE] = "not a number below 2^64",
	[DECIMAL_NOT_WHOLE] = "not a whole number",
};

static __u64 power_of_10(unsigned int exponent)
{
	__u64 power = 1;

	while (exponent--)
		power *= 10;
	return power;
}

/* Returns the unit that follows the digits, or 0 if there is none of this name. */
static __u64 unit_named(const char *name)
{
	static const char letters[] = "kMGT";
	const char *letter = *name ? strchr(letters, *name) : NULL;
	char *end;
	unsigned long exponent;

	if (!*name)
		return 1;
	if (letter)
		return name[1] ? 0 : power_of_10(3 * (unsigned int)(letter - letters + 1));
	if (tolower(*name) != 'e' || !isdigit((unsigned char)name[1]))
		return 0;
	exponent = strtoul(name + 1, &end, 10);
	return *end || exponent > MAX_EXPONENT ? 0 : power_of_10((unsigned int)exponent);
}

static enum decimal parse_hex(const char *digits, __u64 *number)
{
	unsigned long long value;
	char *end;

	if (!isxdigit((unsigned char)*digits))
		return DECIMAL_NONE;
	errno = 0;
	value = strtoull(digits, &end, 16);
	if (*end)
		return DECIMAL_NONE;
	if (errno)
		return DECIMAL_TOO_LARGE;
	*number = value;
	return DECIMAL_READ;
}

const char *number_parse(const char *text, __u64 *number)
{
	size_t length = decimal_length(text);
	__u64 unit = unit_named(text + length);

	if (!strncmp(text, "0x", 2))
		return wrong[parse_hex(text + 2, number)];
	return wrong[unit ? decimal_parse(text, length, unit, number) : DECIMAL_NONE];
}
