/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAPPED_BUDGET_H
#define _HWHEEL_MAPPED_BUDGET_H

#include <linux/timekeeping.h>

#include "engine/wheel.h"
#include "mapping.h"

bool hwheel_map_budget_begin(struct hwheel_mapping *map);
bool hwheel_map_budget_end(struct hwheel_mapping *map);
u64 hwheel_map_budget_spent(struct hwheel_mapping *map);

static inline void hwheel_map_budget_extend(struct hwheel_mapping *map)
{
	map->budget.may = map->budget.all;
}

/* As long a part from now on as the worker may take to move the wheel's own timeouts down */
static inline void hwheel_map_budget_limit(struct hwheel_mapping *map)
{
	map->budget.may = min(map->budget.all, hwheel_map_budget_spent(map) +
					hwheel_mapping_wheel(map)->move_ns);
}

static inline bool hwheel_map_budget_is_used(struct hwheel_mapping *map)
{
	return hwheel_map_budget_spent(map) > map->budget.may;
}

#endif /* _HWHEEL_MAPPED_BUDGET_H */
