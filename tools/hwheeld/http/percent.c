// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>

#include "http/percent.h"
#include "number.h"

static int hex(char digit)
{
	if (!isxdigit((unsigned char)digit))
		return -1;
	return isdigit((unsigned char)digit) ? digit - '0' : (digit | 0x20) - 'a' + 10;
}

/* The next character, or -1; *@text goes on behind it. */
static int decode(const char **text)
{
	int high, low;

	if (**text != '%')
		return (unsigned char)*(*text)++;
	high = hex((*text)[1]);
	low = high < 0 ? -1 : hex((*text)[2]);
	if (low < 0)
		return -1;
	*text += 3;
	return high << 4 | low;
}

bool percent_decode(const char *text, char *to, size_t room, size_t *length)
{
	size_t i = 0;
	int byte;

	for (; *text; i++) {
		byte = decode(&text);
		if (byte < 0 || i == room)
			return false;
		to[i] = (char)byte;
	}
	to[i] = 0;
	*length = i;
	return true;
}

bool percent_number(const char *text, uint64_t most, uint64_t *number)
{
	return number_parse(text, 10, number) && *number && *number <= most;
}
