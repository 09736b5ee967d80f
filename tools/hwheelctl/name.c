// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
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

int kind_of_name(const char *name)
{
	for (int kind = HWHEEL_KIND_HASHED; kind <= HWHEEL_KIND_SIMPLE; kind++)
		if (!strcmp(name, name_of_kind(kind)))
			return kind;
	return -1;
}

const char *name_of_clock(int clock)
{
	return clock == CLOCK_BOOTTIME ? "boottime" : "monotonic";
}
