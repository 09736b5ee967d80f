// SPDX-License-Identifier: GPL-2.0-only
#include "duration.h"
#include "number.h"
#include "option.h"

/* Returns the long name of an option, or NULL for an argument. argp wraps a command's own table. */
static const char *name_of(const struct argp *argp, int key)
{
	const struct argp_option *option = argp->options;
	const struct argp_child *child = argp->children;
	const char *name = NULL;

	for (; option && (option->name || option->doc); option++)
		if (option->key == key && option->name)
			return option->name;
	for (; child && child->argp && !name; child++)
		name = name_of(child->argp, key);
	return name;
}

static void refuse(struct argp_state *state, int key, const char *text, const char *why)
{
	const char *name = name_of(state->root_argp, key);

	if (name)
		argp_error(state, "--%s %s: %s", name, text, why);
	else
		argp_error(state, "%s: %s", text, why);
}

__u64 option_number(struct argp_state *state, int key, const char *text)
{
	__u64 number = 0;
	const char *wrong = number_parse(text, &number);

	if (wrong)
		refuse(state, key, text, wrong);
	return number;
}

__u64 option_number_up_to(struct argp_state *state, int key, const char *text, __u64 max)
{
	__u64 number = option_number(state, key, text);
	char why[48];

	snprintf(why, sizeof(why), "more than %llu", (unsigned long long)max);
	if (number > max)
		refuse(state, key, text, why);
	return number;
}

__u64 option_duration(struct argp_state *state, int key, const char *text)
{
	__u64 ns = 0;
	const char *wrong = duration_parse(text, &ns);

	if (wrong)
		refuse(state, key, text, wrong);
	return ns;
}

__u64 option_interval(struct argp_state *state, int key, const char *text)
{
	__u64 ns = option_duration(state, key, text);

	if (!ns)
		refuse(state, key, text, "an interval must be longer than 0");
	return ns;
}

const char *option_wheel(struct argp_state *state, const char *text)
{
	if (state->arg_num)
		argp_error(state, "%s: one wheel at most", text);
	return text;
}
