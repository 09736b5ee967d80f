// SPDX-License-Identifier: GPL-2.0-only
/*
 * Expiring mapped timeouts: the worker puts those into the ring that are due up to the edge which
 * the wheel has reached.
 *
 * Timeouts of one edge and one thread end in the order in which they were armed. A slot has the
 * node first that was filed last. The nodes of one batch, which is a list that was drained, are
 * therefore in the order of arming, but the latest batch comes before the others. The worker moves
 * the due nodes, a run of one batch at a time, to a list with the batches the other way round. A
 * node that is filed again is alone: it may come between two parts of a batch. With several levels
 * nodes of one edge may come to the cursor from two of them, and then the order is that of the
 * levels.
 *
 * QUEUED does not matter here: a timeout that was filed expires even if the thread that has set
 * QUEUED is stopped before its push.
 *
 * Model: mapped.pml in selftests/models/.
 */
#include <linux/minmax.h>
#include <linux/sched.h>

#include "device/file_trace.h"
#include "engine/callback.h"
#include "engine/state.h"
#include "engine/wheel.h"
#include "expire.h"
#include "node.h"
#include "part.h"
#include "ring.h"
#include "word.h"

/*
 * The time comes before the exchange: a word that is EXPIRED has it. A timeout that was refreshed
 * is filed again, and so is one whose word changes all the time. That one must not be acted on:
 * the worker did not take it from a list, so a thread that has set QUEUED is about to push it.
 */
static __always_inline void map_look_at(struct hwheel_mapping *map, struct hwheel_map_node *node)
{
	struct hwheel_map_record *record = hwheel_mapping_record_of(map, node);
	struct hwheel *wheel = hwheel_mapping_wheel(map);
	/* As in map_act(). */
	u64 word = hwheel_map_word_load(&record->word);
	unsigned int tries;

	for (tries = 0; tries < HWHEEL_MAP_TRIES; tries++) {
		if (hwheel_word_state(word) != HWHEEL_PENDING)
			return;
		if (word > wheel->due_word)
			break;
		WRITE_ONCE(record->fired_ns, wheel->now);
		if (likely(hwheel_map_word_exchange(&record->word, &word,
						    hwheel_word_expired(word)))) {
			hwheel_map_ring_put(map, node->index);
			map->counts.expired++;
			trace_mapped_end(wheel, map, node->index, word, false);
			return;
		}
	}
	hwheel_map_node_file(map, node, word, max(wheel->reached, map->slots.cursor) + 1,
			     HWHEEL_MAP_ALONE, false);
}

static void look_at_some(struct hwheel_mapping *map, struct hlist_head *list, unsigned int left)
{
	struct hwheel_map_node *node;

	hwheel_clock_read(hwheel_mapping_wheel(map));
	while (left-- && (node = hwheel_map_node_pop(map, list)))
		map_look_at(map, node);
}

static __always_inline u32 batch_of(struct hlist_node *link)
{
	return hwheel_map_node_of(hlist_entry(link, struct hwheel_node, link))->batch;
}

/* The last of the nodes of one batch that the due list begins with, or of @left of them */
static __always_inline struct hlist_node *end_of_run(struct hlist_node *node, u32 batch,
						     unsigned int *left)
{
	while (--*left && node->next && batch_of(node->next) == batch)
		node = node->next;
	return node;
}

/* Moves the first nodes of the due list, up to @last, to a place in the ready list. */
static void move_run(struct hwheel_mapping *map, struct hlist_node *last,
		     struct hlist_node **place)
{
	struct hlist_head *due = &map->slots.due.chain[0];
	struct hlist_node *first = due->first, *next = *place;

	due->first = last->next;
	if (last->next)
		last->next->pprev = &due->first;
	*place = first;
	first->pprev = place;
	last->next = next;
	if (next)
		next->pprev = &last->next;
}

/* Behind the others of their batch, and before those of later ones; see the top. */
static void place_run(struct hwheel_mapping *map, unsigned int *left)
{
	struct hwheel_map_order *order = &map->order;
	struct hlist_node *last = map->slots.due.chain[0].first;
	u32 batch = batch_of(last);

	if (unlikely(batch == HWHEEL_MAP_ALONE)) {
		--*left;
		move_run(map, last, &order->ready.first);
		return;
	}
	last = end_of_run(last, batch, left);
	move_run(map, last, order->batch == batch ? order->place : &order->ready.first);
	order->batch = batch;
	order->place = &last->next;
}

/* Until all are there, nothing else unlinks nodes. */
static void place_some(struct hwheel_mapping *map)
{
	struct hwheel_map_order *order = &map->order;
	unsigned int left = HWHEEL_MAP_BATCH;

	if (!order->place)
		order->place = &order->ready.first;
	while (left && !hwheel_chains_empty(&map->slots.due))
		place_run(map, &left);
	if (hwheel_chains_empty(&map->slots.due))
		order->place = NULL;
}

/* Does the next step, in bounded time. False: all that is due is in the ring. */
static bool expire_some(struct hwheel_mapping *map)
{
	if (!map->order.place && !hlist_empty(&map->order.ready))
		look_at_some(map, &map->order.ready, HWHEEL_MAP_BATCH);
	else if (!hwheel_chains_empty(&map->slots.due))
		place_some(map);
	else
		return hwheel_slots_advance(&map->slots, hwheel_mapping_wheel(map)->reached);
	return true;
}

/* A due timeout takes that many: the cursor, the order, the exchange. */
#define LEAST_STEPS	3

/*
 * Returns whether all that is due is in the ring; if not, there was no time for it. Some steps come
 * before the first look at the clock, as a drain may have used all the time up.
 */
bool hwheel_map_expire(struct hwheel_mapping *map)
{
	unsigned int steps = 0;

	while (expire_some(map)) {
		if (++steps >= LEAST_STEPS && hwheel_map_part_is_used(map))
			return false;
		cond_resched();
	}
	return true;
}

/*
 * As move_down() in engine/worker.c. A record that a program has made due meanwhile expires.
 * Returns whether nodes were looked at.
 */
bool hwheel_map_move(struct hwheel_mapping *map)
{
	unsigned int batch = hwheel_slots_move_batch(&map->slots, HWHEEL_MAP_BATCH);
	u64 reached = hwheel_mapping_wheel(map)->reached;
	struct hwheel_chains *moving = hwheel_slots_moving(&map->slots, reached);

	if (likely(!moving))
		return false;
	hwheel_map_part_limit(map);
	do {
		look_at_some(map, &moving->chain[0], batch);
		cond_resched();
		moving = hwheel_slots_moving(&map->slots, reached);
	} while (moving && !hwheel_map_part_is_used(map));
	return true;
}
