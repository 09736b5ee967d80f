/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>

#include "libhwheel.h"

bool place_is_local(const struct hwheel_info *info);

/* Says on stderr if the wheel of a handle is in hwheelctl itself, and why that is so. */
void place_say(const struct hwheel *wheel);

#endif /* PLACE_H */
