/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_SLOTS_H
#define _HWHEEL_SLOTS_H

#include <linux/build_bug.h>
#include <linux/hwheel.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>

#define HWHEEL_NO_EDGE	U64_MAX

/* Chains of a slot; with 1 nothing is prefetched */
#ifndef HWHEEL_CHAINS
#define HWHEEL_CHAINS	3
#endif

/* How many backlogs may be worked off at a time before the cursor has to wait */
#define HWHEEL_BACKLOGS	8

/* A group has so many slots, or smaller groups. */
#define HWHEEL_GROUP_SIZE	8U
#define HWHEEL_GROUP_BITS	3

/* How often slots are grouped at the most, until one group has all */
#define HWHEEL_GROUP_DEPTHS	8

static_assert(HWHEEL_GROUP_SIZE == 1U << HWHEEL_GROUP_BITS);
static_assert(HWHEEL_MAX_LEVELS * HWHEEL_MAX_SLOTS <=
	      1ULL << (HWHEEL_GROUP_DEPTHS * HWHEEL_GROUP_BITS));

/**
 * struct hwheel_chains - nodes in no order
 * @chain: each a part of them, popped in turns
 */
struct hwheel_chains {
	struct hlist_head	chain[HWHEEL_CHAINS];
};

/**
 * struct hwheel_slot - the nodes of a level whose edges fall into one span of it
 * @chains: enqueued here
 * @next:   edge at which the slot is to be taken: no node here was enqueued for an earlier one, and
 *          a slot that moves down is begun before that; HWHEEL_NO_EDGE if empty
 */
struct hwheel_slot {
	struct hwheel_chains	chains;
	u64			next;
};

/**
 * struct hwheel_slots - where nodes wait for their edge
 *
 * The next edge is the root of a tree of minima, so it costs the same whatever is enqueued.
 * One writer at a time: the wheel's worker, or the thread that stops the wheel after it.
 */
struct hwheel_slots {
	/**
	 * @cursor: The last edge that was reached; no node is enqueued for an earlier one, and
	 * for this one only in slots that are about to be taken.
	 */
	u64			cursor;
	/** @mask: Slots of a level - 1; they are a power of two. */
	unsigned int		mask;
	/**
	 * @bits: Logarithm of how many slots of a level one slot of the next level spans: half a
	 * revolution.
	 */
	unsigned int		bits;
	/** @rate: Logarithm of how many nodes the owner can move down between two edges. */
	unsigned int		rate;
	/** @levels: How many levels there are. */
	unsigned int		levels;
	/** @stride: From the slots of a level to those of the next, in whole groups. */
	unsigned int		stride;
	/** @slot: The slots of all levels. */
	struct hwheel_slot	*slot;
	/**
	 * @first: The first edge at which a slot is to be taken: of each group of slots, then of
	 * each group of groups, up to one that has all.
	 */
	u64			*first[HWHEEL_GROUP_DEPTHS];
	/** @depths: How many of these there are. */
	unsigned int		depths;
	/**
	 * @filed: For each slot above the lowest level: nodes filed since it was empty, unlinked
	 * ones included.
	 */
	u32			*filed;
	/**
	 * @moving: For each level above the lowest: the rest of a slot that was begun before its
	 * span, to be filed on lower levels, and the first edge of that span.
	 */
	struct hwheel_slot	moving[HWHEEL_MAX_LEVELS];
	/**
	 * @due: Still to be looked at: taken from a slot that is due at the cursor, or drained
	 * after the cursor had passed their edge.
	 */
	struct hwheel_chains	due;
	/** @backlogs: As @due, of earlier edges at which there was too much for one pass. */
	struct hwheel_chains	backlogs[HWHEEL_BACKLOGS];
	/** @backlog: Which of the backlogs comes next. */
	unsigned int		backlog;
};

/* How long it takes to move a node that is in no cache, in ns */
#define HWHEEL_MOVE_NS	256

/* The rate of slots whose owner has so much time between two edges, at least HWHEEL_MOVE_NS */
static inline unsigned int hwheel_move_rate(u64 ns)
{
	return ilog2((unsigned int)min_t(u64, ns, U32_MAX) / HWHEEL_MOVE_NS);
}

u64 hwheel_slots_bytes(unsigned int nr, unsigned int levels);
int hwheel_slots_init(struct hwheel_slots *slots, unsigned int nr,
		      unsigned int levels, unsigned int rate, gfp_t gfp);
void hwheel_slots_free(struct hwheel_slots *slots);

u64 hwheel_slots_next(struct hwheel_slots *slots);
bool hwheel_slots_advance(struct hwheel_slots *slots, u64 edge);
void hwheel_slots_put_off(struct hwheel_slots *slots);
struct hwheel_chains *hwheel_slots_next_backlog(struct hwheel_slots *slots);
struct hwheel_chains *hwheel_slots_moving_above(struct hwheel_slots *slots, u64 edge);
struct hwheel_node *hwheel_slots_pop_any(struct hwheel_slots *slots);
unsigned int hwheel_slots_parts(const struct hwheel_slots *slots);
void hwheel_slots_take_part(struct hwheel_slots *slots, unsigned int part);

void hwheel_slots_enqueue_above(struct hwheel_slots *slots, struct hwheel_node *node, u64 edge,
				unsigned long chain);
void hwheel_slots_lower(struct hwheel_slots *slots, unsigned int i, u64 edge);
void hwheel_slots_raise(struct hwheel_slots *slots, unsigned int i);

/*
 * Operations on each timeout are inline, with the instructions counted: every register that a
 * call costs would show.
 */

static __always_inline bool hwheel_chains_empty(const struct hwheel_chains *chains)
{
	unsigned int i;

	for (i = 0; i < HWHEEL_CHAINS; i++)
		if (!hlist_empty(&chains->chain[i]))
			return false;
	return true;
}

/* @to is empty. */
static inline void hwheel_chains_move(struct hwheel_chains *from, struct hwheel_chains *to)
{
	unsigned int i;

	for (i = 0; i < HWHEEL_CHAINS; i++)
		hlist_move_list(&from->chain[i], &to->chain[i]);
}

/*
 * The nodes to be moved down first, of those that are for edges beyond @edge; or NULL. Between two
 * edges the owner pops hwheel_slots_move_batch() of them at a time, and enqueues them again.
 */
static __always_inline struct hwheel_chains *
hwheel_slots_moving(struct hwheel_slots *slots, u64 edge)
{
	return likely(slots->levels == 1) ? NULL : hwheel_slots_moving_above(slots, edge);
}

/* As many nodes as @max, and not more than can be moved between two edges */
static inline unsigned int hwheel_slots_move_batch(const struct hwheel_slots *slots,
						   unsigned int max)
{
	return min(max, 1U << slots->rate);
}

/*
 * Enqueues in a slot that the caller has chosen, to be looked at by @edge. The call comes last, so
 * that no register has to be saved for it.
 */
static __always_inline void hwheel_slots_enqueue_in(struct hwheel_slots *slots,
						    struct hwheel_node *node, u64 edge,
						    unsigned long i, unsigned long chain)
{
	struct hwheel_slot *slot = &slots->slot[i];

	node->slot = i;
	hlist_add_head(&node->link, &slot->chains.chain[chain]);
	/* Always so if it was empty */
	if (unlikely(edge < slot->next))
		hwheel_slots_lower(slots, node->slot, edge);
}

/* @node is not enqueued; @edge is beyond the cursor. */
static __always_inline void hwheel_slots_enqueue(struct hwheel_slots *slots,
						 struct hwheel_node *node, u64 edge,
						 unsigned long chain)
{
	if (likely(slots->levels == 1 || edge - slots->cursor <= slots->mask))
		hwheel_slots_enqueue_in(slots, node, edge, edge & slots->mask, chain);
	else
		hwheel_slots_enqueue_above(slots, node, edge, chain);
}

/* As for a node that was taken from a slot that is due at the cursor */
static inline void hwheel_slots_add_due(struct hwheel_slots *slots,
					struct hwheel_node *node, unsigned long chain)
{
	node->slot = slots->cursor & slots->mask;
	hlist_add_head(&node->link, &slots->due.chain[chain]);
}

static inline void hwheel_slots_set_empty(struct hwheel_slots *slots, unsigned int i)
{
	u64 next = slots->slot[i].next;

	slots->slot[i].next = HWHEEL_NO_EDGE;
	if (next == slots->first[0][i >> HWHEEL_GROUP_BITS])
		hwheel_slots_raise(slots, i);
}

/* Also for a node that was taken from its slot, and for one that is not enqueued. */
static __always_inline void hwheel_slots_unlink(struct hwheel_slots *slots,
						struct hwheel_node *node)
{
	struct hlist_node *next;

	if (hlist_unhashed(&node->link))
		return;
	next = node->link.next;
	__hlist_del(&node->link);
	node->link.pprev = NULL;
	if (!next && hwheel_chains_empty(&slots->slot[node->slot].chains))
		hwheel_slots_set_empty(slots, node->slot);
}

/*
 * As hlist_del_init() of the first, @first, without a look at where that is. It writes to the next
 * node. A locked operation waits for such stores where memory is slow, so in @turns the node after
 * that is prefetched: it has the turns of the other chains to arrive.
 */
static __always_inline struct hwheel_node *
hwheel_slots_pop_first(struct hlist_head *chain, struct hlist_node *first, bool turns)
{
	struct hlist_node *next = first->next;

	chain->first = next;
	if (next) {
		next->pprev = &chain->first;
		if (turns && next->next)
			prefetchw(next->next);
	}
	first->pprev = NULL;
	return hlist_entry(first, struct hwheel_node, link);
}

/*
 * The first of the chain whose turn it is, of those that are not empty; or NULL. *@turn is the
 * chain of the last turn, any at first.
 */
static __always_inline struct hwheel_node *
hwheel_slots_pop(struct hwheel_chains *chains, unsigned long *turn)
{
	unsigned long i = (*turn ?: HWHEEL_CHAINS) - 1, n;
	struct hlist_node *first = chains->chain[i].first;

	if (unlikely(!first)) {
		for (n = 1; n < HWHEEL_CHAINS && !first; n++) {
			i = (i ?: HWHEEL_CHAINS) - 1;
			first = chains->chain[i].first;
		}
		if (!first)
			return NULL;
	}
	*turn = i;
	return hwheel_slots_pop_first(&chains->chain[i], first, HWHEEL_CHAINS > 1);
}

#endif /* _HWHEEL_SLOTS_H */
