/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAP_BUDGET_H
#define _HWHEEL_MAP_BUDGET_H

#include <linux/timekeeping.h>

#include "mapping.h"

bool hwheel_map_budget_begin(struct hwheel_mapping *map);
void hwheel_map_budget_end(struct hwheel_mapping *map);

static inline void hwheel_map_budget_extend(struct hwheel_mapping *map)
{
	map->end = map->last;
}

static inline bool hwheel_map_budget_is_used(const struct hwheel_mapping *map)
{
	return ktime_get_mono_fast_ns() > map->end;
}

#endif /* _HWHEEL_MAP_BUDGET_H */
