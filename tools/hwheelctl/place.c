// SPDX-License-Identifier: GPL-2.0-only
/* Where a wheel is: in the kernel, or in hwheelctl itself where the module is not for its user. */
#include <stdio.h>

#include "fail.h"
#include "place.h"

bool place_is_local(const struct hwheel_info *info)
{
	return info->features & HWHEEL_FEATURE_LOCAL;
}

void place_say(const struct hwheel *wheel)
{
	struct hwheel_info info;
	struct hwheel *device;
	int error = hwheel_info(wheel, &info);

	if (error || !place_is_local(&info))
		return;
	error = hwheel_open(&device, 0);
	if (error)
		fail_open(error);
	else
		hwheel_close(device);
	fputs("hwheelctl: the wheel is in hwheelctl itself, and not in the kernel\n", stderr);
}
