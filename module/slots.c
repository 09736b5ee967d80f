// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots of a wheel: pure data, which knows neither clock nor lock.
 *
 * There are one or more levels of so many slots each. A slot of the lowest level spans
 * one edge, one of the next level as many as a whole turn of the level below. A node is
 * filed for an edge, in the lowest level on which that is less than a turn away; on the
 * highest one it may be any number of turns (rounds) away. One level with rounds is the
 * hashed wheel, several are the hierarchical one.
 *
 * A slot keeps a lower bound of the edges that its nodes were filed for. With it and the
 * bitmap of occupied slots the next edge at which something may be due is found without
 * looking at any node: from the first occupied slot of each level, but on the highest one
 * from as many as are occupied for later rounds only. Time in which nothing is due is
 * skipped however long it is. So are turns in which a slot has nothing due: there is no round
 * counter in a node, to be counted down on every turn.
 *
 * Advancing to an edge takes a whole slot that is due to the due list; the caller pops the
 * nodes one by one and files again those which are not due: a later turn, a deadline that
 * was moved meanwhile, or the rest of a slot of a higher level, which cascades. All in such
 * a slot are within a turn of the level below, so each goes down a level at least: a node
 * is moved once per level at most, and only when another that shares its slot is due, not
 * already when the slot's span begins.
 *
 * A node can be unlinked at any time in O(1), from the lists as well, so no cursor into a
 * list is ever kept.
 *
 * These are schemes 6 and 7 of G. Varghese and A. Lauck, "Hashed and Hierarchical Timing
 * Wheels", 1987.
 */
#include <linux/bitmap.h>
#include <linux/find.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "slots.h"

static int alloc_slots(struct hwheel_slots *slots, unsigned int nr, gfp_t gfp)
{
	unsigned int i;

	slots->slot = kvcalloc(nr, sizeof(*slots->slot), gfp);
	slots->occupied = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), gfp);
	if (!slots->slot || !slots->occupied)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		slots->slot[i].next = HWHEEL_NO_EDGE;
	return 0;
}

/* When it fails, too, hwheel_slots_free() is the caller's to call. */
int hwheel_slots_init(struct hwheel_slots *slots, unsigned int nr,
		      unsigned int levels, gfp_t gfp)
{
	if (WARN_ON_ONCE(!is_power_of_2(nr) || !levels ||
			 (levels - 1) * ilog2(nr) >= BITS_PER_LONG_LONG))
		return -EINVAL;

	*slots = (struct hwheel_slots) {
		.mask	= nr - 1,
		.bits	= ilog2(nr),
		.levels	= levels,
		.stride	= round_up(nr, BITS_PER_LONG),
	};
	return alloc_slots(slots, levels * slots->stride, gfp);
}

void hwheel_slots_free(struct hwheel_slots *slots)
{
	kvfree(slots->slot);
	kvfree(slots->occupied);
}

/* Is an edge less than a turn away on this level? */
static bool is_within_turn(const struct hwheel_slots *slots, u64 edge,
			   unsigned int level)
{
	unsigned int shift = level * slots->bits;

	return (edge >> shift) - (slots->cursor >> shift) <= slots->mask;
}

/* For hwheel_slots_of(), where there are several levels */
unsigned int hwheel_slots_of_level(const struct hwheel_slots *slots, u64 edge)
{
	unsigned int level = 0;

	while (level < slots->levels - 1 && !is_within_turn(slots, edge, level))
		level++;
	return level * slots->stride +
	       ((edge >> (level * slots->bits)) & slots->mask);
}

/* Where on a level the search begins: on the lowest one, the cursor's slot was taken. */
static u64 first_span(const struct hwheel_slots *slots, unsigned int level)
{
	return level ? slots->cursor >> (level * slots->bits) : slots->cursor + 1;
}

/*
 * The next edge of one level at which something may be due, which may be the cursor.
 * Slots are looked at in the order in which the cursor meets them: as soon as the best
 * edge so far is not beyond the span in which the cursor meets this one, those behind it
 * have nothing earlier.
 */
static u64 next_of(const struct hwheel_slots *slots, unsigned int level)
{
	const unsigned long *occupied =
		slots->occupied + level * slots->stride / BITS_PER_LONG;
	const struct hwheel_slot *slot = slots->slot + level * slots->stride;
	u64 first = first_span(slots, level), best = HWHEEL_NO_EDGE;
	unsigned int start = first & slots->mask, i;

	for_each_set_bit_wrap(i, occupied, slots->mask + 1, start) {
		best = min(best, slot[i].next);
		if (best >> (level * slots->bits) <=
		    first + ((i - start) & slots->mask))
			break;
	}
	return best;
}

/* And the lowest level with that */
static u64 find_next(const struct hwheel_slots *slots, unsigned int *level)
{
	u64 best = next_of(slots, 0);
	unsigned int i;

	*level = 0;
	for (i = 1; i < slots->levels; i++) {
		u64 next = next_of(slots, i);

		if (next < best) {
			best = next;
			*level = i;
		}
	}
	return best;
}

/* The next edge at which something may be due */
u64 hwheel_slots_next(const struct hwheel_slots *slots)
{
	unsigned int level;

	return find_next(slots, &level);
}

static void take_slot(struct hwheel_slots *slots, unsigned int i)
{
	hlist_move_list(&slots->slot[i].nodes, &slots->due);
	hwheel_slots_set_empty(slots, i);
}

/*
 * Moves the cursor to the next edge that has something to look at, which then is
 * on the due list; false if there is none up to @edge, where the cursor then is.
 * The due list is empty before. There may be more at the same edge, on another level.
 */
bool hwheel_slots_advance(struct hwheel_slots *slots, u64 edge)
{
	unsigned int level;
	u64 next = find_next(slots, &level), span;

	if (next > edge) {
		slots->cursor = max(slots->cursor, edge);
		return false;
	}
	slots->cursor = next;
	span = next >> (level * slots->bits);
	take_slot(slots, level * slots->stride + (span & slots->mask));
	return true;
}

/* What is due becomes a crowd, if there are not too many of these already. */
void hwheel_slots_put_off(struct hwheel_slots *slots)
{
	struct hlist_head *crowd;

	for (crowd = slots->crowds; crowd < slots->crowds + HWHEEL_CROWDS; crowd++) {
		if (hlist_empty(crowd)) {
			hlist_move_list(&slots->due, crowd);
			return;
		}
	}
}

/* The next one in turn, so that a small one does not wait for a large one; or NULL */
struct hlist_head *hwheel_slots_next_crowd(struct hwheel_slots *slots)
{
	unsigned int i;

	for (i = 0; i < HWHEEL_CROWDS; i++) {
		struct hlist_head *crowd = &slots->crowds[slots->crowd];

		slots->crowd = (slots->crowd + 1) % HWHEEL_CROWDS;
		if (!hlist_empty(crowd))
			return crowd;
	}
	return NULL;
}

static struct hwheel_node *pop_crowd(struct hwheel_slots *slots)
{
	struct hlist_head *crowd = hwheel_slots_next_crowd(slots);

	return crowd ? hwheel_slots_pop(crowd) : NULL;
}

static unsigned int next_occupied(const struct hwheel_slots *slots)
{
	unsigned int nr = slots->levels * slots->stride;
	unsigned int i = find_next_bit(slots->occupied, nr, slots->emptied);

	return i < nr ? i : find_first_bit(slots->occupied, nr);
}

/* Empties the slots node by node, whatever their edges. */
struct hwheel_node *hwheel_slots_pop_any(struct hwheel_slots *slots)
{
	struct hwheel_node *node;

	node = hwheel_slots_pop_due(slots) ?: pop_crowd(slots);
	if (node)
		return node;
	slots->emptied = next_occupied(slots);
	if (slots->emptied >= slots->levels * slots->stride)
		return NULL;
	take_slot(slots, slots->emptied);
	return hwheel_slots_pop_due(slots);
}
