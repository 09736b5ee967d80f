/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values of options and arguments. A wrong value ends the program: argp says what is wrong and
 * where help is, and exits with MISUSED.
 */
#ifndef OPTION_H
#define OPTION_H

#include <argp.h>
#include <linux/types.h>

/* Keys of options that have no letter, or the same one in several commands */
enum {
	OPTION_JSON = 'J',
	OPTION_TICK = 0x100,
	OPTION_SLOTS,
	OPTION_LEVELS,
	OPTION_KIND,
	OPTION_ONCE,
	OPTION_SEED,
	OPTION_CALLS,
};

__u64 option_number(struct argp_state *state, const char *text);
__u64 option_number_up_to(struct argp_state *state, const char *text, __u64 max);
__u64 option_duration(struct argp_state *state, const char *text);

/* The argument WHEEL, which may be there once */
const char *option_wheel(struct argp_state *state, const char *text);

#endif /* OPTION_H */
