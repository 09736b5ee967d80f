// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "number.h"

/* strtoull() takes spaces and signs, too. */
bool number_parse(const char *text, int base, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, base);
	return isdigit((unsigned char)*text) && !*end && !errno;
}
