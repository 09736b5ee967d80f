// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots of a wheel: pure data, which knows neither clock nor lock.
 *
 * There are one or more levels of so many slots each. A slot of the lowest level spans
 * one edge, one of the next level as many as half a revolution of the level below. A node is
 * enqueued for an edge, in the lowest level on which that is less than a revolution away; on the
 * highest one it may be any number of revolutions (rounds) away. One level with rounds is the
 * hashed wheel, several are the hierarchical one.
 *
 * A slot keeps a lower bound of the edges that its nodes were enqueued for. Groups of eight slots,
 * of eight such groups, and so on keep the least of theirs: a tree, whose root is the next edge at
 * which something may be due. A bound that falls or rises changes those above it only as far as it
 * is their least, so the next edge costs at most one step per depth, whatever is enqueued and for
 * whichever round. A slot is taken up to a span before its own. Time in which nothing is due is
 * skipped however long it is. Revolutions in which a slot has nothing due are skipped, too: a node
 * has no round counter that every revolution would count down.
 *
 * Advancing to an edge takes a whole slot that is due to the due list; the caller pops the
 * nodes one by one and enqueues again those which are not due: a later revolution, a deadline that
 * was moved meanwhile, or the rest of a slot of a higher level, which cascades.
 *
 * A slot of a higher level with few nodes is taken when the first of them is due, and costs no pass
 * of its own. A slot with many nodes is begun before its span: the more were filed there, the
 * earlier, but by no more than the length of the span. From then on all of the span is within a
 * revolution of the level below, so each node goes down a level at least, and nodes that are filed
 * for the span meanwhile go there at once. The slot becomes a moving list. Between two edges the
 * caller pops as many of its nodes as there is time for. The rest is due when the span begins.
 *
 * Two slots of a level never move down at the same time: a slot moves until its span begins, and
 * the next one is begun then at the earliest.
 *
 * A slot has several chains, which are popped in turns: while the owner looks at the first node of
 * one, memory delivers those of the others. A slot is occupied if one of its chains is, and is
 * taken, put off or moved with all of them. The owner chooses the chain when it enqueues. The order
 * of chains means nothing.
 *
 * A node can be unlinked at any time in O(1), from the lists as well, so no cursor into a
 * list is ever kept.
 *
 * These are schemes 6 and 7 of G. Varghese and A. Lauck, "Hashed and Hierarchical Timing
 * Wheels", 1987.
 */
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "slots.h"

/* How many slots are initialised in a row without cond_resched() */
#define INIT_BATCH	4096

/* How many groups @nr slots or groups make, in whole groups again unless it is one */
static unsigned int groups_of(unsigned int nr)
{
	nr >>= HWHEEL_GROUP_BITS;
	return nr > 1 ? round_up(nr, HWHEEL_GROUP_SIZE) : 1;
}

/* How many groups there are of @nr slots, of all depths */
static unsigned int all_groups(unsigned int nr)
{
	unsigned int all = 0;

	while (nr > 1) {
		nr = groups_of(nr);
		all += nr;
	}
	return all;
}

static int alloc_groups(struct hwheel_slots *slots, unsigned int nr, gfp_t gfp)
{
	unsigned int all = all_groups(nr), n;
	u64 *first;

	first = kvcalloc(all, sizeof(*first), gfp);
	if (!first)
		return -ENOMEM;
	memset64(first, HWHEEL_NO_EDGE, all);
	for (n = nr; n > 1; slots->depths++) {
		n = groups_of(n);
		slots->first[slots->depths] = first;
		first += n;
	}
	return 0;
}

static int alloc_slots(struct hwheel_slots *slots, unsigned int nr, gfp_t gfp)
{
	unsigned int above = nr - slots->stride, i;

	if (above) {
		slots->filed = kvcalloc(above, sizeof(*slots->filed), gfp);
		if (!slots->filed)
			return -ENOMEM;
	}
	slots->slot = kvcalloc(nr, sizeof(*slots->slot), gfp);
	if (!slots->slot)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		slots->slot[i].next = HWHEEL_NO_EDGE;
		if (i % INIT_BATCH == 0)
			cond_resched();
	}
	return alloc_groups(slots, nr, gfp);
}

static unsigned int stride_of(unsigned int nr)
{
	return round_up(nr, HWHEEL_GROUP_SIZE);
}

/* The memory that hwheel_slots_init() takes */
u64 hwheel_slots_bytes(unsigned int nr, unsigned int levels)
{
	unsigned int stride = stride_of(nr), all = levels * stride;

	return (u64)all * sizeof(struct hwheel_slot) + (u64)all_groups(all) * sizeof(u64) +
	       (u64)(all - stride) * sizeof(u32);
}

/*
 * @nr slots on each level, at least 4 if there are several. When it fails, too,
 * hwheel_slots_free() is the caller's to call.
 */
int hwheel_slots_init(struct hwheel_slots *slots, unsigned int nr,
		      unsigned int levels, unsigned int rate, gfp_t gfp)
{
	unsigned int bits = levels > 1 ? ilog2(nr) - 1 : 0;

	if (WARN_ON_ONCE(!is_power_of_2(nr) || !levels || (levels > 1 && nr < 4) ||
			 (levels - 1) * bits >= BITS_PER_LONG_LONG))
		return -EINVAL;

	*slots = (struct hwheel_slots) {
		.mask	= nr - 1,
		.bits	= bits,
		.rate	= rate,
		.levels	= levels,
		.stride	= stride_of(nr),
	};
	return alloc_slots(slots, levels * slots->stride, gfp);
}

/* What they are like can still be asked for. */
void hwheel_slots_free(struct hwheel_slots *slots)
{
	kvfree(slots->slot);
	kvfree(slots->filed);
	kvfree(slots->first[0]);
	slots->slot = NULL;
	slots->filed = NULL;
	slots->first[0] = NULL;
}

/* Is an edge less than a revolution away on this level? */
static bool is_within_revolution(const struct hwheel_slots *slots, u64 edge,
				 unsigned int level)
{
	unsigned int shift = level * slots->bits;

	return (edge >> shift) - (slots->cursor >> shift) <= slots->mask;
}

/* The slot of a level into whose span an edge falls */
static unsigned int slot_of_edge(const struct hwheel_slots *slots, unsigned int level,
				 u64 edge)
{
	return level * slots->stride + ((edge >> (level * slots->bits)) & slots->mask);
}

/* How many edges a slot of a level spans, and how long before its span it is begun at the most */
static u64 span_of(const struct hwheel_slots *slots, unsigned int level)
{
	return 1ULL << (level * slots->bits);
}

/* So many nodes, a power of two, take an eighth of the time that there is to move some. */
static unsigned int few(const struct hwheel_slots *slots)
{
	return 1U << max(slots->rate, 3U) >> 3;
}

/*
 * The first edge of the span to which slot @i of a higher level is taken at @edge: the span that
 * has this edge, or that follows. Neighbours differ in the lowest bit.
 */
static u64 start_of(const struct hwheel_slots *slots, unsigned int level, unsigned int i,
		    u64 edge)
{
	u64 span = edge >> (level * slots->bits);

	span += (span ^ i) & 1;
	return span << (level * slots->bits);
}

/*
 * The edge at which a slot of a higher level is to be taken, whose first node is for @edge. A slot
 * with few nodes waits until the first of them is due. Others are begun as early as it takes to
 * move so many, with each level below moving as many, and before the slots are begun to which the
 * nodes go.
 */
static u64 begin_of(const struct hwheel_slots *slots, unsigned int level, unsigned int i,
		    u64 edge, u32 nodes)
{
	u64 lead = level * (u64)(nodes >> slots->rate) + 1 + span_of(slots, level - 1);

	if (nodes < few(slots))
		return edge;
	edge = start_of(slots, level, i, edge) - min(lead, span_of(slots, level));
	return max(edge, slots->cursor + 1);
}

/*
 * For hwheel_slots_enqueue(): an edge that is not within a revolution of the lowest level. A slot
 * is to be taken earlier with an earlier node, or with every few nodes more.
 */
void hwheel_slots_enqueue_above(struct hwheel_slots *slots, struct hwheel_node *node, u64 edge,
				unsigned long chain)
{
	unsigned int level = 1, i;
	struct hwheel_slot *slot;
	u32 *filed;

	while (level < slots->levels - 1 && !is_within_revolution(slots, edge, level))
		level++;
	i = slot_of_edge(slots, level, edge);
	slot = &slots->slot[i];
	filed = &slots->filed[i - slots->stride];
	if (slot->next == HWHEEL_NO_EDGE)
		*filed = 0;
	*filed += *filed < U32_MAX;
	if (edge < slot->next || !(*filed & (few(slots) - 1)))
		edge = begin_of(slots, level, i, min(edge, slot->next), *filed);
	hwheel_slots_enqueue_in(slots, node, edge, i, chain);
}

/* A slot is to be taken at @edge, earlier than so far. */
void hwheel_slots_lower(struct hwheel_slots *slots, unsigned int i, u64 edge)
{
	unsigned int depth;

	slots->slot[i].next = edge;
	for (depth = 0; depth < slots->depths; depth++) {
		i >>= HWHEEL_GROUP_BITS;
		if (slots->first[depth][i] <= edge)
			return;
		slots->first[depth][i] = edge;
	}
}

static u64 first_of_slots(const struct hwheel_slot *slot)
{
	u64 a = min(slot[0].next, slot[1].next), b = min(slot[2].next, slot[3].next);
	u64 c = min(slot[4].next, slot[5].next), d = min(slot[6].next, slot[7].next);

	return min(min(a, b), min(c, d));
}

static u64 first_of_groups(const u64 *group)
{
	u64 a = min(group[0], group[1]), b = min(group[2], group[3]);
	u64 c = min(group[4], group[5]), d = min(group[6], group[7]);

	return min(min(a, b), min(c, d));
}

/* A slot that was the first of its group is empty. */
void hwheel_slots_raise(struct hwheel_slots *slots, unsigned int i)
{
	u64 first = first_of_slots(&slots->slot[round_down(i, HWHEEL_GROUP_SIZE)]);
	unsigned int depth = 0;

	while (true) {
		u64 *group = &slots->first[depth][i >> HWHEEL_GROUP_BITS];

		if (*group == first)
			return;
		*group = first;
		if (++depth == slots->depths)
			return;
		i >>= HWHEEL_GROUP_BITS;
		first = first_of_groups(&slots->first[depth - 1][round_down(i, HWHEEL_GROUP_SIZE)]);
	}
}

/* No slot is to be taken before this edge. */
static u64 first_edge(const struct hwheel_slots *slots)
{
	return slots->first[slots->depths - 1][0];
}

/* The slot that is to be taken at the first edge, which it spans or follows */
static unsigned int first_slot(const struct hwheel_slots *slots, unsigned int *level)
{
	u64 edge = first_edge(slots);

	for (*level = 0; ; ++*level) {
		unsigned int i = slot_of_edge(slots, *level, edge);

		if (slots->slot[i].next == edge)
			return i;
		i = slot_of_edge(slots, *level, edge + span_of(slots, *level));
		if (slots->slot[i].next == edge)
			return i;
	}
}

/* For hwheel_slots_moving(), where there are several levels */
struct hwheel_chains *hwheel_slots_moving_above(struct hwheel_slots *slots, u64 edge)
{
	unsigned int level;

	for (level = 1; level < slots->levels; level++) {
		struct hwheel_slot *moving = &slots->moving[level];

		if (!hwheel_chains_empty(&moving->chains) && moving->next > edge)
			return &moving->chains;
	}
	return NULL;
}

/* Nothing is to be done before this edge. */
u64 hwheel_slots_next(struct hwheel_slots *slots)
{
	return hwheel_slots_moving(slots, 0) ? slots->cursor + 1 : first_edge(slots);
}

static void take_slot(struct hwheel_slots *slots, unsigned int i, struct hwheel_chains *chains)
{
	hwheel_chains_move(&slots->slot[i].chains, chains);
	hwheel_slots_set_empty(slots, i);
}

/*
 * Takes the first slot, at the cursor. It moves down if its span is beyond @edge. Returns whether
 * it is to be looked at now.
 */
static bool take_first(struct hwheel_slots *slots, u64 edge)
{
	unsigned int level, i = first_slot(slots, &level);
	struct hwheel_slot *moving = &slots->moving[level];
	u64 start = level ? start_of(slots, level, i, slots->cursor) : 0;

	if (start <= edge) {
		take_slot(slots, i, &slots->due);
		return true;
	}
	take_slot(slots, i, &moving->chains);
	moving->next = start;
	return false;
}

/* Nodes that should have been moved down, but their span begins by @edge */
static bool take_late(struct hwheel_slots *slots, u64 edge)
{
	unsigned int level;

	for (level = 1; level < slots->levels; level++) {
		struct hwheel_slot *moving = &slots->moving[level];

		if (!hwheel_chains_empty(&moving->chains) && moving->next <= edge) {
			hwheel_chains_move(&moving->chains, &slots->due);
			return true;
		}
	}
	return false;
}

/*
 * Moves the cursor to the next edge that has something to look at, which then is
 * on the due list; false if there is none up to @edge, where the cursor then is.
 * The due list is empty before. There may be more at the same edge, on another level.
 */
bool hwheel_slots_advance(struct hwheel_slots *slots, u64 edge)
{
	if (take_late(slots, edge))
		return true;
	while (first_edge(slots) <= edge) {
		slots->cursor = max(slots->cursor, first_edge(slots));
		if (take_first(slots, edge))
			return true;
	}
	slots->cursor = max(slots->cursor, edge);
	return false;
}

/* Makes due timeouts a backlog, unless there are too many backlogs already. */
void hwheel_slots_put_off(struct hwheel_slots *slots)
{
	struct hwheel_chains *backlog;

	for (backlog = slots->backlogs; backlog < slots->backlogs + HWHEEL_BACKLOGS; backlog++) {
		if (hwheel_chains_empty(backlog)) {
			hwheel_chains_move(&slots->due, backlog);
			return;
		}
	}
}

/* The next one in turn, so that a small one does not wait for a large one; or NULL */
struct hwheel_chains *hwheel_slots_next_backlog(struct hwheel_slots *slots)
{
	unsigned int i;

	for (i = 0; i < HWHEEL_BACKLOGS; i++) {
		struct hwheel_chains *backlog = &slots->backlogs[slots->backlog];

		slots->backlog = (slots->backlog + 1) % HWHEEL_BACKLOGS;
		if (!hwheel_chains_empty(backlog))
			return backlog;
	}
	return NULL;
}

/* Empties the slots node by node, whatever their edges. */
struct hwheel_node *hwheel_slots_pop_any(struct hwheel_slots *slots)
{
	struct hwheel_chains *chains = &slots->due;
	unsigned long turn = 0;
	unsigned int level;

	if (hwheel_chains_empty(chains))
		chains = hwheel_slots_next_backlog(slots) ?: hwheel_slots_moving(slots, 0);
	if (chains)
		return hwheel_slots_pop(chains, &turn);
	if (first_edge(slots) == HWHEEL_NO_EDGE)
		return NULL;
	take_slot(slots, first_slot(slots, &level), &slots->due);
	return hwheel_slots_pop(&slots->due, &turn);
}

/* Into how many parts all that is not due is divided: each slot, and what each level moves down */
unsigned int hwheel_slots_parts(const struct hwheel_slots *slots)
{
	return slots->levels * (slots->stride + 1);
}

/*
 * Takes a part to the due list, which is empty before. From the last part to the first: a slot that
 * is begun meanwhile moves down in an earlier one.
 */
void hwheel_slots_take_part(struct hwheel_slots *slots, unsigned int part)
{
	unsigned int level = part / (slots->stride + 1), i = part % (slots->stride + 1);

	if (!i) {
		hwheel_chains_move(&slots->moving[level].chains, &slots->due);
		return;
	}
	i += level * slots->stride - 1;
	if (slots->slot[i].next != HWHEEL_NO_EDGE)
		take_slot(slots, i, &slots->due);
}
