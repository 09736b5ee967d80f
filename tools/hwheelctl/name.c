// SPDX-License-Identifier: GPL-2.0-only
#include <time.h>

#include <linux/hwheel.h>

#include "name.h"

const char *name_of_kind(unsigned int kind)
{
	switch (kind) {
	case HWHEEL_KIND_SIMPLE:
		return "simple";
	case HWHEEL_KIND_HASHED:
		return "hashed";
	case HWHEEL_KIND_HIERARCHICAL:
		return "hierarchical";
	default:
		return "unknown to this hwheelctl";
	}
}

const char *name_of_clock(unsigned int clock)
{
	return clock == CLOCK_BOOTTIME ? "boottime" : "monotonic";
}
