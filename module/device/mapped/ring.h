/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring of records that have ended. An entry is put at a place that is the worker's own count,
 * masked, whatever the program writes; a record that ended once is in it once.
 *
 * Models: mapped.pml and reap.pml in selftests/models/.
 */
#ifndef _HWHEEL_MAPPED_RING_H
#define _HWHEEL_MAPPED_RING_H

#include "mapping.h"
#include "word.h"

static __always_inline void hwheel_map_ring_put(struct hwheel_mapping *map, u32 entry)
{
	u32 i = map->put++ & map->memory.ring_mask;
	u32 *page = map->memory.ring[i / (PAGE_SIZE / sizeof(u32))];

	WRITE_ONCE(page[i % (PAGE_SIZE / sizeof(u32))], entry);
}

/* Returns how many entries are new to readers. */
static inline u64 hwheel_map_ring_publish(struct hwheel_mapping *map)
{
	u64 n = map->put - map->published.tail;

	if (n) {
		/* A reader that acquires the tail sees the entries and their records. */
		hwheel_map_word_store(&map->memory.header->tail, map->put);
		hwheel_map_word_store(&map->published.tail, map->put);
	}
	return n;
}

#endif /* _HWHEEL_MAPPED_RING_H */
