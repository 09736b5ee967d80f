/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_SLOTS_H
#define _HWHEEL_SLOTS_H

#include <linux/bitops.h>
#include <linux/hwheel.h>
#include <linux/list.h>

#define HWHEEL_NO_EDGE	U64_MAX

/* How many crowds may be worked off at a time before the cursor has to wait */
#define HWHEEL_CROWDS	8

/**
 * struct hwheel_slot - the nodes of a level whose edges fall into one span of it
 * @nodes: filed here, in no order
 * @next:  no node here was filed for an earlier edge; HWHEEL_NO_EDGE if empty
 */
struct hwheel_slot {
	struct hlist_head	nodes;
	u64			next;
};

/**
 * struct hwheel_slots - where nodes wait for their edge
 * @cursor:   the last edge that was reached; no node is filed for an earlier one, and for
 *            this one only in slots that are about to be taken
 * @mask:     slots of a level - 1; they are a power of two
 * @bits:     its logarithm
 * @levels:   how many levels there are
 * @stride:   from the slots of a level to those of the next, in whole words of @occupied
 * @slot:     the slots of all levels
 * @occupied: a bit for each slot that is not empty
 * @due:      taken from a slot that is due at the cursor, still to be looked at
 * @crowds:   the same, of earlier edges at which there was too much
 * @crowd:    which of them has its turn next
 * @emptied:  the slot that was last taken to empty them all
 *
 * One writer at a time: the wheel's worker, or who stops the wheel after it.
 */
struct hwheel_slots {
	u64			cursor;
	unsigned int		mask;
	unsigned int		bits;
	unsigned int		levels;
	unsigned int		stride;
	struct hwheel_slot	*slot;
	unsigned long		*occupied;
	struct hlist_head	due;
	struct hlist_head	crowds[HWHEEL_CROWDS];
	unsigned int		crowd;
	unsigned int		emptied;
};

int hwheel_slots_init(struct hwheel_slots *slots, unsigned int nr,
		      unsigned int levels, gfp_t gfp);
void hwheel_slots_free(struct hwheel_slots *slots);

u64 hwheel_slots_next(const struct hwheel_slots *slots);
bool hwheel_slots_advance(struct hwheel_slots *slots, u64 edge);
void hwheel_slots_put_off(struct hwheel_slots *slots);
struct hlist_head *hwheel_slots_next_crowd(struct hwheel_slots *slots);
struct hwheel_node *hwheel_slots_pop_any(struct hwheel_slots *slots);

unsigned int hwheel_slots_of_level(const struct hwheel_slots *slots, u64 edge);

/*
 * What is done to each timeout is inline, with the instructions counted: every register
 * that a call costs would show.
 */

/* The slot to file in; an edge beyond the cursor */
static __always_inline unsigned long
hwheel_slots_of(const struct hwheel_slots *slots, u64 edge)
{
	if (likely(slots->levels == 1))
		return edge & slots->mask;
	return hwheel_slots_of_level(slots, edge);
}

/* @node is not filed; @edge is beyond the cursor. */
static __always_inline void hwheel_slots_file(struct hwheel_slots *slots,
					      struct hwheel_node *node, u64 edge)
{
	unsigned long i = hwheel_slots_of(slots, edge);
	struct hwheel_slot *slot = &slots->slot[i];

	node->slot = i;
	/* Always so if it was empty */
	if (edge < slot->next) {
		slot->next = edge;
		__set_bit(node->slot, slots->occupied);
	}
	hlist_add_head(&node->link, &slot->nodes);
}

static inline void hwheel_slots_set_empty(struct hwheel_slots *slots, unsigned int i)
{
	slots->slot[i].next = HWHEEL_NO_EDGE;
	__clear_bit(i, slots->occupied);
}

/* Also for a node that was taken from its slot, and for one that is not filed. */
static __always_inline void hwheel_slots_unlink(struct hwheel_slots *slots,
						struct hwheel_node *node)
{
	struct hlist_node *next;

	if (hlist_unhashed(&node->link))
		return;
	next = node->link.next;
	__hlist_del(&node->link);
	node->link.pprev = NULL;
	if (!next && hlist_empty(&slots->slot[node->slot].nodes))
		hwheel_slots_set_empty(slots, node->slot);
}

/* As hlist_del_init() of the first, without a look at where that is */
static __always_inline struct hwheel_node *
hwheel_slots_pop(struct hlist_head *list)
{
	struct hlist_node *first = list->first;

	if (!first)
		return NULL;
	list->first = first->next;
	if (first->next)
		first->next->pprev = &list->first;
	first->pprev = NULL;
	return hlist_entry(first, struct hwheel_node, link);
}

static __always_inline struct hwheel_node *
hwheel_slots_pop_due(struct hwheel_slots *slots)
{
	return hwheel_slots_pop(&slots->due);
}

#endif /* _HWHEEL_SLOTS_H */
