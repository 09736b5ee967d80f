// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "duration.h"
#include "option.h"

uint64_t option_number(struct argp_state *state, const char *text)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno)
		argp_error(state, "%s: not a number below 2^64", text);
	return number;
}

uint64_t option_number_up_to(struct argp_state *state, const char *text, uint64_t max)
{
	uint64_t number = option_number(state, text);

	if (number > max)
		argp_error(state, "%s: more than %llu", text, (unsigned long long)max);
	return number;
}

uint64_t option_duration(struct argp_state *state, const char *text)
{
	const char *wrong;
	uint64_t ns = 0;

	wrong = duration_parse(text, &ns);
	if (wrong)
		argp_error(state, "%s: %s", text, wrong);
	return ns;
}
