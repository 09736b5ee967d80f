// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linked with --wrap=hwheel_configure: a wheel for as many timeouts as the variable WHEEL_ROOM
 * says, where it is set.
 */
#include <stdlib.h>

#include "libhwheel.h"

__typeof__(hwheel_configure) __real_hwheel_configure, __wrap_hwheel_configure;

int __wrap_hwheel_configure(struct hwheel *wheel, const struct hwheel_config *config)
{
	const char *room = getenv("WHEEL_ROOM");
	struct hwheel_config other = *config;

	if (room)
		other.max_timeouts = strtoul(room, NULL, 10);
	return __real_hwheel_configure(wheel, &other);
}
