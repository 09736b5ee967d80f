/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_SLOTS_H
#define _HWHEEL_SLOTS_H

#include <linux/hwheel.h>

#define HWHEEL_NO_EDGE	U64_MAX

/**
 * struct hwheel_slot - the nodes filed at edges that are equal modulo the slots
 * @nodes: filed here, in no order
 * @next:  no node here was filed for an earlier edge; HWHEEL_NO_EDGE if empty
 */
struct hwheel_slot {
	struct hlist_head	nodes;
	u64			next;
};

/**
 * struct hwheel_slots - where nodes wait for their edge
 * @cursor:   the last edge that was reached; all nodes are filed beyond it
 * @mask:     slots - 1; the slots are a power of two
 * @slot:     the slots: that of an edge is edge & mask
 * @occupied: a bit for each slot that is not empty
 * @due:      taken from the cursor's slot, still to be looked at
 *
 * One writer at a time: the wheel's worker, or who stops the wheel after it.
 */
struct hwheel_slots {
	u64			cursor;
	unsigned int		mask;
	struct hwheel_slot	*slot;
	unsigned long		*occupied;
	struct hlist_head	due;
};

int hwheel_slots_init(struct hwheel_slots *slots, unsigned int nr);
void hwheel_slots_free(struct hwheel_slots *slots);

void hwheel_slots_file(struct hwheel_slots *slots, struct hwheel_node *node,
		       u64 edge);
void hwheel_slots_unlink(struct hwheel_slots *slots, struct hwheel_node *node);

u64 hwheel_slots_next(const struct hwheel_slots *slots);
bool hwheel_slots_advance(struct hwheel_slots *slots, u64 edge);
struct hwheel_node *hwheel_slots_pop_due(struct hwheel_slots *slots);
struct hwheel_node *hwheel_slots_pop_any(struct hwheel_slots *slots);

#endif /* _HWHEEL_SLOTS_H */
