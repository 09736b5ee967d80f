/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAP_BUDGET_H
#define _HWHEEL_MAP_BUDGET_H

#include <linux/timekeeping.h>

#include "mapping.h"

bool hwheel_map_budget_begin(struct hwheel_mapping *map);
bool hwheel_map_budget_end(struct hwheel_mapping *map);
u64 hwheel_map_budget_spent(struct hwheel_mapping *map);

static inline void hwheel_map_budget_extend(struct hwheel_mapping *map)
{
	map->may = map->all;
}

static inline bool hwheel_map_budget_is_used(struct hwheel_mapping *map)
{
	return hwheel_map_budget_spent(map) > map->may;
}

#endif /* _HWHEEL_MAP_BUDGET_H */
