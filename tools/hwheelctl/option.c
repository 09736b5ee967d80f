// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "duration.h"
#include "option.h"

__u64 option_number(struct argp_state *state, const char *text)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno)
		argp_error(state, "%s: not a number below 2^64", text);
	return number;
}

__u64 option_number_up_to(struct argp_state *state, const char *text, __u64 max)
{
	__u64 number = option_number(state, text);

	if (number > max)
		argp_error(state, "%s: more than %llu", text, (unsigned long long)max);
	return number;
}

__u64 option_duration(struct argp_state *state, const char *text)
{
	const char *wrong;
	__u64 ns = 0;

	wrong = duration_parse(text, &ns);
	if (wrong)
		argp_error(state, "%s: %s", text, wrong);
	return ns;
}

const char *option_wheel(struct argp_state *state, const char *text)
{
	if (state->arg_num)
		argp_error(state, "%s: one wheel at most", text);
	return text;
}
