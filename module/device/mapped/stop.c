// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping mapped timeouts: the worker walks all records, and makes an event of each that is
 * pending, whether it was drained or not. Then the mapping leaves the wheel.
 *
 * The worker closes the lists first. A thread that arms a record pushes it, or looks at the head of
 * its list if the record is QUEUED. So the worker sees the word, or the thread finds the list
 * closed, and the word decides which of them ends the timeout.
 *
 * Models: shutdown.pml and close.pml in selftests/models/.
 */
#include <linux/bitops.h>
#include <linux/sched.h>

#include "device/file_trace.h"
#include "engine/callback.h"
#include "engine/state.h"
#include "engine/wheel.h"
#include "list.h"
#include "part.h"
#include "ring.h"
#include "stop.h"
#include "word.h"

/* The caller stops the file, and kicks the worker, which then begins with the walk. */
void hwheel_map_stop_begin(struct hwheel_mapping *map)
{
	WRITE_ONCE(map->memory.header->stopped, 1);
	/* Pairs with map_run(). */
	smp_store_release(&map->stopping, true);
}

/*
 * The one bit makes EXPIRED of PENDING, whatever deadline a thread gives the timeout meanwhile. It
 * makes IDLE of a timeout that was cancelled meanwhile, which is all the same to the program.
 */
#define EXPIRED_BIT	0
static_assert(!HWHEEL_PENDING && BIT(EXPIRED_BIT) == HWHEEL_EXPIRED);
static_assert((HWHEEL_CANCELLED | HWHEEL_EXPIRED) == HWHEEL_IDLE);

static bool end_record(struct hwheel_map_record *record, u64 now)
{
	if (hwheel_word_state(hwheel_map_word_load(&record->word)) != HWHEEL_PENDING)
		return false;
	WRITE_ONCE(record->fired_ns, now);
	/* Fully ordered: the time comes before. */
	return !hwheel_map_word_set(&record->word, EXPIRED_BIT) &&
	       hwheel_word_state(hwheel_map_word_load(&record->word)) == HWHEEL_EXPIRED;
}

static void stop_record(struct hwheel_mapping *map, struct hwheel_map_record *record, u32 i)
{
	struct hwheel *wheel = hwheel_mapping_wheel(map);

	if (!end_record(record, wheel->now))
		return;
	hwheel_map_ring_put(map, i | HWHEEL_MAP_STOPPED);
	map->counts.stopped++;
	trace_mapped_end(wheel, map, i, hwheel_map_word_load(&record->word), true);
}

/* A part of a segment */
static void walk_some(struct hwheel_mapping *map)
{
	struct hwheel_map_segment *segment = hwheel_mapping_segment_of(map, map->walked);
	u32 end = min(segment->first + segment->nr, map->walked + HWHEEL_MAP_BATCH);
	u32 i;

	hwheel_clock_read(hwheel_mapping_wheel(map));
	for (i = map->walked; i < end; i++)
		stop_record(map, &segment->records[i - segment->first], i);
	map->walked = end;
}

/* Returns whether that was all; if not, there was no time for the rest. */
bool hwheel_map_stop_walk(struct hwheel_mapping *map)
{
	if (!map->walked)
		hwheel_map_lists_close(map);
	/* Pairs with hwheel_mapping_grow(). */
	map->drain.known = smp_load_acquire(&map->memory.nr);
	while (map->walked < map->drain.known) {
		walk_some(map);
		if (hwheel_map_part_is_used(map) && map->walked < map->drain.known)
			return false;
		cond_resched();
	}
	/* Nobody looks at the nodes that are filed. */
	map->counts.filed = 0;
	return true;
}
