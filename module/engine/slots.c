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
 * A slot keeps a lower bound of the edges that its nodes were enqueued for. With it and the
 * bitmap of occupied slots the next edge at which something may be due is found without
 * looking at any node. A slot is taken up to a span before its own. On the highest level any
 * number of slots may be occupied for later rounds only, so the search is made in
 * bounded parts, and its caller meanwhile sleeps no further than it has come. Time in which
 * nothing is due is skipped however long it is. Revolutions in which a slot has nothing due are
 * skipped, too: a node has no round counter that every revolution would count down.
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
#include <linux/sched.h>
#include <linux/slab.h>

#include "slots.h"

/* How many slots are initialised in a row without cond_resched() */
#define INIT_BATCH	4096

static int alloc_slots(struct hwheel_slots *slots, unsigned int nr, gfp_t gfp)
{
	unsigned int above = nr - slots->stride, i;

	if (above) {
		slots->filed = kvcalloc(above, sizeof(*slots->filed), gfp);
		if (!slots->filed)
			return -ENOMEM;
	}
	slots->slot = kvcalloc(nr, sizeof(*slots->slot), gfp);
	slots->occupied = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), gfp);
	if (!slots->slot || !slots->occupied)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		slots->slot[i].next = HWHEEL_NO_EDGE;
		if (i % INIT_BATCH == 0)
			cond_resched();
	}
	return 0;
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
		.found	= HWHEEL_NO_EDGE,
		.mask	= nr - 1,
		.bits	= bits,
		.rate	= rate,
		.levels	= levels,
		.stride	= round_up(nr, BITS_PER_LONG),
	};
	return alloc_slots(slots, levels * slots->stride, gfp);
}

/* What they are like can still be asked for. */
void hwheel_slots_free(struct hwheel_slots *slots)
{
	kvfree(slots->slot);
	kvfree(slots->occupied);
	kvfree(slots->filed);
	slots->slot = NULL;
	slots->occupied = NULL;
	slots->filed = NULL;
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
void hwheel_slots_enqueue_above(struct hwheel_slots *slots, struct hwheel_node *node, u64 edge)
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
	hwheel_slots_enqueue_in(slots, node, edge, i);
}

/* The first edge at which something may be due of what is still to be looked at on a level */
static u64 edge_of(const struct hwheel_slots *slots, unsigned int level)
{
	const struct hwheel_search *search = &slots->search[level];
	u64 edge = search->span << (level * slots->bits);

	if (!search->left)
		return HWHEEL_NO_EDGE;
	return level ? edge - min(edge, span_of(slots, level)) : edge;
}

/* The level on which the search has to go on, and the edge to which it has come there */
static __always_inline u64 hindmost(const struct hwheel_slots *slots, unsigned int *level)
{
	u64 first = edge_of(slots, 0);
	unsigned int i;

	*level = 0;
	for (i = 1; i < slots->levels; i++) {
		u64 edge = edge_of(slots, i);

		if (edge < first) {
			first = edge;
			*level = i;
		}
	}
	return first;
}

/*
 * On the lowest level the cursor's slot was taken. A revolution has all slots of a level, but for
 * those beyond the last edge that there can be.
 */
static void begin_search(struct hwheel_slots *slots)
{
	unsigned int level;

	for (level = 0; level < slots->levels; level++) {
		struct hwheel_search *search = &slots->search[level];
		unsigned int shift = level * slots->bits;

		search->span = level ? slots->cursor >> shift : slots->cursor + 1;
		search->left = min_t(u64, slots->mask + 1,
				     ((HWHEEL_NO_EDGE - 1) >> shift) - search->span + 1);
	}
	slots->found = HWHEEL_NO_EDGE;
}

/* Looks at the next occupied slot, or skips what its word of the bitmap says is empty. */
static void search_step(struct hwheel_slots *slots, unsigned int level)
{
	struct hwheel_search *search = &slots->search[level];
	unsigned int i = search->span & slots->mask;
	unsigned int bit = i % BITS_PER_LONG;
	unsigned int skip = min(BITS_PER_LONG - bit, slots->mask + 1 - i);
	unsigned long word;

	i += level * slots->stride;
	word = slots->occupied[i / BITS_PER_LONG] >> bit;
	if (word) {
		skip = __ffs(word);
		slots->found = min(slots->found, slots->slot[i + skip].next);
		skip++;
	}
	skip = min(skip, search->left);
	search->span += skip;
	search->left -= skip;
}

/*
 * Slots are looked at in the order in which the cursor meets them: as soon as the edge that
 * was found is not beyond the one at which the search is, what is behind has nothing earlier.
 * Returns whether that is so, or nothing up to @edge was found. If not, there may be more.
 */
static bool search_up_to(struct hwheel_slots *slots, u64 edge)
{
	unsigned int steps = HWHEEL_SEARCH_STEPS, level;
	u64 next;

	while ((next = hindmost(slots, &level)) < slots->found && next <= edge) {
		if (!steps--)
			return false;
		search_step(slots, level);
	}
	return true;
}

/*
 * A slot that is to be taken at an edge, of the lowest level that has one: it spans the edge, or
 * follows. -1 if there is none.
 */
static int slot_to_take(const struct hwheel_slots *slots, u64 edge, unsigned int *level)
{
	unsigned int i = slot_of_edge(slots, 0, edge);

	*level = 0;
	if (slots->slot[i].next <= edge)
		return i;
	for (*level = 1; *level < slots->levels; ++*level) {
		i = slot_of_edge(slots, *level, edge);
		if (slots->slot[i].next <= edge)
			return i;
		i = slot_of_edge(slots, *level, edge + span_of(slots, *level));
		if (slots->slot[i].next <= edge)
			return i;
	}
	return -1;
}

/* Was the slot of the edge that was found taken, or the last node for it unlinked? */
static bool search_is_over(const struct hwheel_slots *slots)
{
	unsigned int level;

	return slots->found != HWHEEL_NO_EDGE && slot_to_take(slots, slots->found, &level) < 0;
}

/* Goes on with the search for the next edge; false if there is more to look at. */
bool hwheel_slots_search(struct hwheel_slots *slots)
{
	if (search_is_over(slots))
		begin_search(slots);
	return search_up_to(slots, HWHEEL_NO_EDGE);
}

/* For hwheel_slots_moving(), where there are several levels */
struct hlist_head *hwheel_slots_moving_above(struct hwheel_slots *slots, u64 edge)
{
	unsigned int level;

	for (level = 1; level < slots->levels; level++) {
		struct hwheel_slot *moving = &slots->moving[level];

		if (!hlist_empty(&moving->nodes) && moving->next > edge)
			return &moving->nodes;
	}
	return NULL;
}

/* No slot is to be taken before this edge, as far as the search has come. */
static u64 next_found(const struct hwheel_slots *slots)
{
	unsigned int level;

	return min(slots->found, hindmost(slots, &level));
}

/* Nothing is to be done before this edge, as far as the search has come. */
u64 hwheel_slots_next(struct hwheel_slots *slots)
{
	return hwheel_slots_moving(slots, 0) ? slots->cursor + 1 : next_found(slots);
}

static void take_slot(struct hwheel_slots *slots, unsigned int i, struct hlist_head *list)
{
	hlist_move_list(&slots->slot[i].nodes, list);
	hwheel_slots_set_empty(slots, i);
}

/*
 * Takes a slot that is to be taken at the cursor. It moves down if its span is beyond @edge.
 * Returns whether there was one to look at now.
 */
static bool take_due(struct hwheel_slots *slots, u64 edge)
{
	unsigned int level;
	int i;

	while ((i = slot_to_take(slots, slots->cursor, &level)) >= 0) {
		struct hwheel_slot *moving = &slots->moving[level];
		u64 start = level ? start_of(slots, level, i, slots->cursor) : 0;

		if (start <= edge) {
			take_slot(slots, i, &slots->due);
			return true;
		}
		take_slot(slots, i, &moving->nodes);
		moving->next = start;
	}
	return false;
}

/* Nodes that should have been moved down, but their span begins by @edge */
static bool take_late(struct hwheel_slots *slots, u64 edge)
{
	unsigned int level;

	for (level = 1; level < slots->levels; level++) {
		struct hwheel_slot *moving = &slots->moving[level];

		if (!hlist_empty(&moving->nodes) && moving->next <= edge) {
			hlist_move_list(&moving->nodes, &slots->due);
			return true;
		}
	}
	return false;
}

/*
 * Moves the cursor to the next edge that has something to look at, which then is
 * on the due list; false if there is none up to where the cursor then is. That is @edge, or
 * less: then the search was long, and the caller calls again for the rest of it.
 * The due list is empty before. There may be more at the same edge, on another level.
 */
bool hwheel_slots_advance(struct hwheel_slots *slots, u64 edge)
{
	bool searched;
	u64 next;

	if (take_late(slots, edge))
		return true;
	while ((searched = search_up_to(slots, edge)) && slots->found <= edge) {
		slots->cursor = max(slots->cursor, slots->found);
		if (take_due(slots, edge))
			return true;
		begin_search(slots);
	}
	next = searched ? edge : next_found(slots) - 1;
	slots->cursor = max(slots->cursor, next);
	return false;
}

/* Makes due timeouts a backlog, unless there are too many backlogs already. */
void hwheel_slots_put_off(struct hwheel_slots *slots)
{
	struct hlist_head *backlog;

	for (backlog = slots->backlogs; backlog < slots->backlogs + HWHEEL_BACKLOGS; backlog++) {
		if (hlist_empty(backlog)) {
			hlist_move_list(&slots->due, backlog);
			return;
		}
	}
}

/* The next one in turn, so that a small one does not wait for a large one; or NULL */
struct hlist_head *hwheel_slots_next_backlog(struct hwheel_slots *slots)
{
	unsigned int i;

	for (i = 0; i < HWHEEL_BACKLOGS; i++) {
		struct hlist_head *backlog = &slots->backlogs[slots->backlog];

		slots->backlog = (slots->backlog + 1) % HWHEEL_BACKLOGS;
		if (!hlist_empty(backlog))
			return backlog;
	}
	return NULL;
}

/* Empties the slots node by node, whatever their edges. */
struct hwheel_node *hwheel_slots_pop_any(struct hwheel_slots *slots)
{
	unsigned int nr = slots->levels * slots->stride;
	struct hlist_head *list = &slots->due;

	if (hlist_empty(list))
		list = hwheel_slots_next_backlog(slots) ?: hwheel_slots_moving(slots, 0);
	if (list)
		return hwheel_slots_pop(list);
	slots->emptied = find_next_bit(slots->occupied, nr, slots->emptied);
	if (slots->emptied >= nr)
		slots->emptied = find_first_bit(slots->occupied, nr);
	if (slots->emptied >= nr)
		return NULL;
	take_slot(slots, slots->emptied, &slots->due);
	return hwheel_slots_pop_due(slots);
}
