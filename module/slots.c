// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots of a wheel: pure data, which knows neither clock nor lock.
 *
 * A node is filed for an edge in the slot edge & mask. Nodes of several turns of
 * the wheel share a slot; instead of a round counter in each node, which would
 * have to be counted down on every turn, a slot keeps a lower bound of the edges
 * its nodes were filed for. With it and the bitmap of occupied slots the next
 * edge at which something may be due is found without looking at any node, and
 * turns in which a slot has nothing due are skipped.
 *
 * Advancing to an edge takes the whole slot to the due list; the caller pops the
 * nodes one by one and files again those which are not due (a later turn, or a
 * deadline that was moved meanwhile). A node can be unlinked at any time in O(1),
 * from the due list as well, so no cursor into a list is ever kept.
 *
 * This is scheme 6 of G. Varghese and A. Lauck, "Hashed and Hierarchical Timing
 * Wheels", 1987.
 */
#include <linux/bitmap.h>
#include <linux/find.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "slots.h"

/* When it fails, too, hwheel_slots_free() is the caller's to call. */
int hwheel_slots_init(struct hwheel_slots *slots, unsigned int nr)
{
	unsigned int i;

	if (WARN_ON_ONCE(!is_power_of_2(nr)))
		return -EINVAL;

	slots->cursor = 0;
	slots->mask = nr - 1;
	INIT_HLIST_HEAD(&slots->due);
	slots->slot = kvcalloc(nr, sizeof(*slots->slot), GFP_KERNEL);
	slots->occupied = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), GFP_KERNEL);
	if (!slots->slot || !slots->occupied)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		slots->slot[i].next = HWHEEL_NO_EDGE;
	return 0;
}

void hwheel_slots_free(struct hwheel_slots *slots)
{
	kvfree(slots->slot);
	kvfree(slots->occupied);
}

/* @node is not filed. An edge that was reached already means the next one. */
void hwheel_slots_file(struct hwheel_slots *slots, struct hwheel_node *node,
		       u64 edge)
{
	struct hwheel_slot *slot;

	edge = max(edge, slots->cursor + 1);
	node->slot = edge & slots->mask;
	slot = &slots->slot[node->slot];
	slot->next = min(slot->next, edge);
	__set_bit(node->slot, slots->occupied);
	hlist_add_head(&node->link, &slot->nodes);
}

/* Also for a node on the due list, and for one that is not filed. */
void hwheel_slots_unlink(struct hwheel_slots *slots, struct hwheel_node *node)
{
	struct hwheel_slot *slot = &slots->slot[node->slot];

	if (hlist_unhashed(&node->link))
		return;
	hlist_del_init(&node->link);
	if (hlist_empty(&slot->nodes)) {
		slot->next = HWHEEL_NO_EDGE;
		__clear_bit(node->slot, slots->occupied);
	}
}

/*
 * The next edge at which something may be due. Slots are looked at in the order in
 * which the cursor meets them: as soon as the best edge so far is not beyond where
 * the cursor meets this one, those behind it have nothing earlier.
 */
u64 hwheel_slots_next(const struct hwheel_slots *slots)
{
	u64 first = slots->cursor + 1, best = HWHEEL_NO_EDGE;
	unsigned int start = first & slots->mask, i;

	for_each_set_bit_wrap(i, slots->occupied, slots->mask + 1, start) {
		best = min(best, slots->slot[i].next);
		if (best <= first + ((i - start) & slots->mask))
			break;
	}
	return best;
}

static void take_slot(struct hwheel_slots *slots, unsigned int i)
{
	struct hwheel_slot *slot = &slots->slot[i];

	slot->next = HWHEEL_NO_EDGE;
	__clear_bit(i, slots->occupied);
	hlist_move_list(&slot->nodes, &slots->due);
}

/*
 * Moves the cursor to the next edge that has something to look at, which then is
 * on the due list; false if there is none up to @edge, where the cursor then is.
 * The due list is empty before.
 */
bool hwheel_slots_advance(struct hwheel_slots *slots, u64 edge)
{
	u64 next = hwheel_slots_next(slots);

	if (next > edge) {
		slots->cursor = max(slots->cursor, edge);
		return false;
	}
	slots->cursor = next;
	take_slot(slots, next & slots->mask);
	return true;
}

struct hwheel_node *hwheel_slots_pop_due(struct hwheel_slots *slots)
{
	struct hwheel_node *node;

	if (hlist_empty(&slots->due))
		return NULL;
	node = hlist_entry(slots->due.first, struct hwheel_node, link);
	hlist_del_init(&node->link);
	return node;
}

/* Empties the slots node by node, whatever their edges. */
struct hwheel_node *hwheel_slots_pop_any(struct hwheel_slots *slots)
{
	unsigned int i;

	if (hlist_empty(&slots->due)) {
		i = find_first_bit(slots->occupied, slots->mask + 1);
		if (i > slots->mask)
			return NULL;
		take_slot(slots, i);
	}
	return hwheel_slots_pop_due(slots);
}
