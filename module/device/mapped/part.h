/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a pass that one mapping may take, in which no other mapping of the wheel is run: then
 * the worker looks at the clock and at the wheel, and goes on in another pass.
 *
 * Half of it is for draining, so that a flood of submissions keeps no timeout waiting that was
 * filed before. A step comes before each look at the clock: so each run gets on, also where other
 * threads take all of the part.
 */
#ifndef _HWHEEL_MAPPED_PART_H
#define _HWHEEL_MAPPED_PART_H

#include <linux/minmax.h>
#include <linux/timekeeping.h>

#include "engine/wheel.h"
#include "mapping.h"

/* The longest part, in ns */
#define HWHEEL_MAP_PART_NS	(10 * NSEC_PER_MSEC)

static inline void hwheel_map_part_begin(struct hwheel_mapping *map)
{
	u64 ns = min_t(u64, HWHEEL_MAP_PART_NS, hwheel_mapping_wheel(map)->tick);

	map->part.end = ktime_get_mono_fast_ns() + ns;
	map->part.until = map->part.end - ns / 2;
}

/* The rest of it is for what follows. */
static inline void hwheel_map_part_extend(struct hwheel_mapping *map)
{
	map->part.until = map->part.end;
}

/* As long from now on as the worker may take to move the wheel's own timeouts down */
static inline void hwheel_map_part_limit(struct hwheel_mapping *map)
{
	map->part.until = min(map->part.end, ktime_get_mono_fast_ns() +
					     hwheel_mapping_wheel(map)->move_ns);
}

static inline bool hwheel_map_part_is_used(const struct hwheel_mapping *map)
{
	return ktime_get_mono_fast_ns() > map->part.until;
}

#endif /* _HWHEEL_MAPPED_PART_H */
