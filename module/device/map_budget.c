// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time that the worker has for mapped files: a program's records take the worker's time, and
 * no cgroup pays for it.
 *
 * On the shared wheel the mapped files of a user have a quarter of a tick in each tick, and all
 * mapped files together half a tick. A file whose user has used that up, or that comes when all
 * is used up, waits for the next tick, where the file that has waited longest comes first. On a
 * wheel of its own a file keeps nobody else waiting; its part is bounded so that the worker looks
 * at the clock.
 *
 * The accounts of the shared wheel are its worker's own.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "engine/wheel.h"
#include "file.h"
#include "map_budget.h"
#include "user.h"

/* Parts of a tick */
#define USER_PART	4
#define ALL_PART	2

/* How long a file on a wheel of its own may take before its worker looks at the clock, in ns */
#define OWN_NS		(10 * NSEC_PER_MSEC)

static struct hwheel_user_time all;

static bool is_shared(const struct hwheel_mapping *map)
{
	return hwheel_mapping_wheel(map) == map->file->shared_wheel;
}

/* Returns the rest of an account in the tick that begins at the reached edge. */
static u64 left_of(struct hwheel_user_time *time, const struct hwheel *wheel,
		   unsigned int part)
{
	u64 limit = wheel->tick / part;

	if (time->edge != wheel->reached) {
		time->edge = wheel->reached;
		time->spent = 0;
	}
	return limit - min(limit, time->spent);
}

static u64 time_left(const struct hwheel_mapping *map)
{
	const struct hwheel *wheel = hwheel_mapping_wheel(map);

	if (!is_shared(map))
		return OWN_NS;
	return min(left_of(&map->file->user->mapped, wheel, USER_PART),
		   left_of(&all, wheel, ALL_PART));
}

/*
 * Returns whether there is time for a run, which then ends with hwheel_map_budget_end(). Half of it
 * comes first, and hwheel_map_budget_extend() gives the rest.
 */
bool hwheel_map_budget_begin(struct hwheel_mapping *map)
{
	u64 left = time_left(map);

	map->since = ktime_get_mono_fast_ns();
	map->last = map->since + left;
	map->end = map->since + left / 2;
	return left;
}

void hwheel_map_budget_end(struct hwheel_mapping *map)
{
	u64 spent;

	if (!is_shared(map))
		return;
	spent = ktime_get_mono_fast_ns() - map->since;
	map->file->user->mapped.spent += spent;
	all.spent += spent;
}
