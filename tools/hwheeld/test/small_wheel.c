// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linked with --wrap: a wheel for as many timeouts as the variable WHEEL_ROOM says, if it is set.
 */
#include <stdlib.h>

#include "libhwheel.h"

__typeof__(hwheel_configure) __real_hwheel_configure, __wrap_hwheel_configure;
__typeof__(hwheel_map) __real_hwheel_map, __wrap_hwheel_map;

static unsigned long small_room(unsigned long otherwise)
{
	const char *room = getenv("WHEEL_ROOM");

	return room ? strtoul(room, NULL, 10) : otherwise;
}

int __wrap_hwheel_configure(struct hwheel *wheel, const struct hwheel_config *config)
{
	struct hwheel_config other = *config;

	other.max_timeouts = small_room(config->max_timeouts);
	return __real_hwheel_configure(wheel, &other);
}

int __wrap_hwheel_map(struct hwheel *wheel, size_t count)
{
	unsigned long room = small_room(count);

	return __real_hwheel_map(wheel, count < room ? count : room);
}
