// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lists on which a program's threads submit records.
 *
 * A head of HWHEEL_MAP_ASLEEP in place of 0 says that the worker does not look at the list. A
 * pusher finds it in its own exchange, so no flag and no pair of barriers is needed: either
 * the push comes first, and parking finds it, or the pusher finds ASLEEP, and kicks. In the same
 * way a pusher finds HWHEEL_MAP_CLOSED when the file is stopped: a record that was pushed
 * before is seen by the walk of STOP, and no record is pushed after.
 *
 * Models: mapped.pml and shutdown.pml in selftests/models/.
 */
#include <linux/atomic.h>

#include "list.h"

static bool is_empty(u32 head)
{
	return !head || head == HWHEEL_MAP_ASLEEP;
}

/* Takes the next list that has something, of those that this drain has not seen yet. */
bool hwheel_map_lists_take(struct hwheel_mapping *map)
{
	while (map->drain.next_list < map->memory.lists) {
		u32 *head = map->memory.heads[map->drain.next_list++];

		if (is_empty(READ_ONCE(*head)))
			continue;
		/* Fully ordered: acquires the links that were stored before the pushes. */
		map->drain.taken = xchg(head, 0);
		/* All that a thread can have pushed; pairs with hwheel_mapping_grow(). */
		map->drain.known = smp_load_acquire(&map->memory.nr);
		return true;
	}
	return false;
}

/* From now on pushers kick. False if something was pushed before. */
bool hwheel_map_lists_park(struct hwheel_mapping *map)
{
	bool parked = true;
	unsigned int i;

	for (i = 0; i < map->memory.lists; i++)
		parked &= is_empty(cmpxchg(map->memory.heads[i], 0, HWHEEL_MAP_ASLEEP));
	return parked;
}

/* From now on pushers need not kick. */
void hwheel_map_lists_wake(struct hwheel_mapping *map)
{
	unsigned int i;

	for (i = 0; i < map->memory.lists; i++)
		cmpxchg(map->memory.heads[i], HWHEEL_MAP_ASLEEP, 0);
}

/* From now on no record is pushed. Fully ordered: the caller sees the words of those that were. */
void hwheel_map_lists_close(struct hwheel_mapping *map)
{
	unsigned int i;

	for (i = 0; i < map->memory.lists; i++)
		xchg(map->memory.heads[i], HWHEEL_MAP_CLOSED);
}
