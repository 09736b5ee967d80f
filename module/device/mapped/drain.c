// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draining a mapping: the worker takes each list once, and acts on its records, in parts.
 *
 * The worker acts on a record as on the wheel's own timeouts (engine/worker.c): it brings the node
 * up to the word, and clears QUEUED by an exchange from that very word. A record whose word
 * changes all the time stays with the worker until the next run.
 *
 * A list that was taken is the worker's: each record on it has QUEUED, so no thread pushes it
 * again. Each record is on a list once: a list that is longer than there are records, or that has
 * a link to no record, is corrupt. A list has the latest record first. The worker files the whole
 * list, in however many parts, as one batch, from which expire.c finds the order again.
 *
 * Model: mapped.pml in selftests/models/.
 */
#include <linux/nospec.h>
#include <linux/sched.h>

#include "device/file_trace.h"
#include "engine/state.h"
#include "engine/wheel.h"
#include "drain.h"
#include "list.h"
#include "mapping.h"
#include "node.h"
#include "part.h"
#include "word.h"

static __always_inline bool map_act(struct hwheel_mapping *map, struct hwheel_map_node *node,
				    struct hwheel_map_record *record, u64 first, u32 batch,
				    bool plain)
{
	/* Pairs with the release of the arming exchange. */
	u64 word = hwheel_map_word_load(&record->word);

	hwheel_map_node_unlink(map, node);
	if (likely(hwheel_word_state(word) == HWHEEL_PENDING))
		hwheel_map_node_file(map, node, word, first, batch, plain);
	if (!plain)
		trace_mapped_act(hwheel_mapping_wheel(map), map, node->index, word);
	/* Fully ordered: the node was changed before others see QUEUED cleared. */
	return hwheel_map_word_exchange(&record->word, &word, word & ~(u64)HWHEEL_QUEUED);
}

static noinline void map_act_on_latest(struct hwheel_mapping *map,
				       struct hwheel_map_node *node,
				       struct hwheel_map_record *record, u32 batch)
{
	unsigned int tries;

	for (tries = 1; tries < HWHEEL_MAP_TRIES; tries++)
		if (map_act(map, node, record, map->drain.first, batch, false))
			return;
	/* The next run acts on it. */
	hwheel_map_node_unlink(map, node);
	hwheel_map_node_add(map, node, &map->drain.again);
}

/* Each once, as far as there is time. */
static void act_on_again(struct hwheel_mapping *map)
{
	struct hwheel_map_node *node;
	struct hlist_head rest;

	hlist_move_list(&map->drain.again, &rest);
	while (!hwheel_map_part_is_used(map) && (node = hwheel_map_node_pop(map, &rest)))
		map_act_on_latest(map, node, hwheel_mapping_record_of(map, node),
				  HWHEEL_MAP_ALONE);
	/* Those that there was no time for stay, too. */
	while ((node = hwheel_map_node_pop(map, &map->drain.again)))
		hwheel_map_node_add(map, node, &rest);
	hlist_move_list(&rest, &map->drain.again);
}

/*
 * Acts on a part of the list, and returns the number of its records. A link of 0, or one to no
 * record, ends the list: less one, both are indexes beyond all records.
 */
static __always_inline unsigned int act_on_batch(struct hwheel_mapping *map, bool plain)
{
	struct hwheel_map_segment *segment = map->segment;
	unsigned int left = HWHEEL_MAP_BATCH;
	u32 link = map->drain.taken, batch = map->drain.batch;
	u64 first = map->drain.first;

	for (; left; left--) {
		struct hwheel_map_record *record;
		struct hwheel_map_node *node;
		unsigned long i = (u32)(link - segment->link), nr = segment->nr;

		if (unlikely(i >= nr)) {
			segment = hwheel_mapping_find(map, link - 1);
			if (!segment)
				break;
			i = (u32)(link - segment->link);
			nr = segment->nr;
		}
		i = array_index_nospec(i, nr);
		record = &segment->records[i];
		node = &segment->nodes[i];
		/* Or the compiler finds the address again for each field. */
		OPTIMIZER_HIDE_VAR(node);
		/* Before QUEUED is cleared: then the link is the next pusher's. */
		link = READ_ONCE(record->link);
		if (unlikely(!map_act(map, node, record, first, batch, plain)))
			map_act_on_latest(map, node, record, batch);
	}
	map->drain.taken = left ? 0 : link;
	if (unlikely(left && link))
		map->corrupt = true;
	return HWHEEL_MAP_BATCH - left;
}

static noinline unsigned int act_on_batch_in_full(struct hwheel_mapping *map)
{
	return act_on_batch(map, false);
}

/* Is there nothing to do with most records but to file them in the one level of the slots? */
static bool is_plain(const struct hwheel_mapping *map)
{
	return map->slots.levels == 1 && map->drain.first > map->slots.cursor &&
	       !trace_mapped_act_enabled();
}

/* Takes a list if none is taken, and acts on a part of it. False: nothing is left to do. */
static bool drain_some(struct hwheel_mapping *map)
{
	unsigned int n;

	if (!map->drain.taken) {
		map->drain.length = 0;
		map->drain.batch += 2;
		if (!hwheel_map_lists_take(map))
			return false;
	}
	/* Two copies, as each record would pay some instructions for the rare cases. */
	n = is_plain(map) ? act_on_batch(map, true) : act_on_batch_in_full(map);
	map->counts.drained += n;
	map->drain.length += n;
	if (map->drain.length > map->drain.known)
		map->corrupt = true;
	return !map->corrupt;
}

bool hwheel_map_is_drained(const struct hwheel_mapping *map)
{
	return !map->drain.taken && map->drain.next_list == map->memory.lists;
}

/* Acts on all that is in the lists, or as much as there is time for: it goes on in the next run. */
void hwheel_map_drain(struct hwheel_mapping *map)
{
	if (hwheel_map_is_drained(map)) {
		map->drain.first = hwheel_mapping_wheel(map)->first;
		map->drain.next_list = 0;
	}
	if (!hlist_empty(&map->drain.again))
		act_on_again(map);
	while (drain_some(map) && !hwheel_map_part_is_used(map))
		cond_resched();
}
