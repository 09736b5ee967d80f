// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots of a wheel: pure data, which knows neither clock nor lock.
 *
 * There are one or more levels of so many slots each. A slot of the lowest level spans
 * one edge, one of the next level as many as a whole revolution of the level below. A node is
 * enqueued for an edge, in the lowest level on which that is less than a revolution away; on the
 * highest one it may be any number of revolutions (rounds) away. One level with rounds is the
 * hashed wheel, several are the hierarchical one.
 *
 * A slot keeps a lower bound of the edges that its nodes were enqueued for. With it and the
 * bitmap of occupied slots the next edge at which something may be due is found without
 * looking at any node. Below the highest level the first occupied slot has it. On the highest
 * one any number of slots may be occupied for later rounds only, so the search is made in
 * bounded parts, and its caller meanwhile sleeps no further than it has come. Time in which
 * nothing is due is skipped however long it is. Revolutions in which a slot has nothing due are
 * skipped, too: a node has no round counter that every revolution would count down.
 *
 * Advancing to an edge takes a whole slot that is due to the due list; the caller pops the
 * nodes one by one and enqueues again those which are not due: a later revolution, a deadline that
 * was moved meanwhile, or the rest of a slot of a higher level, which cascades. All in such
 * a slot are within a revolution of the level below, so each goes down a level at least: a node
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
#include <linux/sched.h>
#include <linux/slab.h>

#include "slots.h"

/* How many slots are initialised in a row without cond_resched() */
#define INIT_BATCH	4096

static int alloc_slots(struct hwheel_slots *slots, unsigned int nr, gfp_t gfp)
{
	unsigned int i;

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

/* When it fails, too, hwheel_slots_free() is the caller's to call. */
int hwheel_slots_init(struct hwheel_slots *slots, unsigned int nr,
		      unsigned int levels, gfp_t gfp)
{
	if (WARN_ON_ONCE(!is_power_of_2(nr) || !levels ||
			 (levels - 1) * ilog2(nr) >= BITS_PER_LONG_LONG))
		return -EINVAL;

	*slots = (struct hwheel_slots) {
		.found	= HWHEEL_NO_EDGE,
		.mask	= nr - 1,
		.bits	= ilog2(nr),
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
	slots->slot = NULL;
	slots->occupied = NULL;
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

/* For hwheel_slots_of(), where there are several levels */
unsigned int hwheel_slots_of_level(const struct hwheel_slots *slots, u64 edge)
{
	unsigned int level = 0;

	while (level < slots->levels - 1 && !is_within_revolution(slots, edge, level))
		level++;
	return slot_of_edge(slots, level, edge);
}

/* The first edge of what is still to be looked at on a level */
static u64 edge_of(const struct hwheel_slots *slots, unsigned int level)
{
	const struct hwheel_search *search = &slots->search[level];

	return search->left ? search->span << (level * slots->bits) :
			      HWHEEL_NO_EDGE;
}

/* The level on which the search has to go on, and the edge to which it has come there */
static u64 hindmost(const struct hwheel_slots *slots, unsigned int *level)
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

/* Is there still a slot that has this edge for its first? */
static bool is_occupied(const struct hwheel_slots *slots, u64 edge)
{
	unsigned int level;

	for (level = 0; level < slots->levels; level++)
		if (slots->slot[slot_of_edge(slots, level, edge)].next == edge)
			return true;
	return false;
}

/* Was the slot of the edge that was found taken, or the last node for it unlinked? */
static bool search_is_over(const struct hwheel_slots *slots)
{
	return slots->found != HWHEEL_NO_EDGE && !is_occupied(slots, slots->found);
}

/* Goes on with the search for the next edge; false if there is more to look at. */
bool hwheel_slots_search(struct hwheel_slots *slots)
{
	if (search_is_over(slots))
		begin_search(slots);
	return search_up_to(slots, HWHEEL_NO_EDGE);
}

/* Nothing is due before this edge, as far as the search has come. */
u64 hwheel_slots_next(const struct hwheel_slots *slots)
{
	unsigned int level;

	return min(slots->found, hindmost(slots, &level));
}

static void take_slot(struct hwheel_slots *slots, unsigned int i)
{
	hlist_move_list(&slots->slot[i].nodes, &slots->due);
	hwheel_slots_set_empty(slots, i);
}

/* The slot that is due at the cursor, of the lowest level that has one */
static bool take_due(struct hwheel_slots *slots)
{
	unsigned int level;

	for (level = 0; level < slots->levels; level++) {
		unsigned int i = slot_of_edge(slots, level, slots->cursor);

		if (slots->slot[i].next <= slots->cursor) {
			take_slot(slots, i);
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

	while ((searched = search_up_to(slots, edge)) && slots->found <= edge) {
		slots->cursor = max(slots->cursor, slots->found);
		if (take_due(slots))
			return true;
		begin_search(slots);
	}
	next = searched ? edge : hwheel_slots_next(slots) - 1;
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

static struct hwheel_node *pop_backlog(struct hwheel_slots *slots)
{
	struct hlist_head *backlog = hwheel_slots_next_backlog(slots);

	return backlog ? hwheel_slots_pop(backlog) : NULL;
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

	node = hwheel_slots_pop_due(slots) ?: pop_backlog(slots);
	if (node)
		return node;
	slots->emptied = next_occupied(slots);
	if (slots->emptied >= slots->levels * slots->stride)
		return NULL;
	take_slot(slots, slots->emptied);
	return hwheel_slots_pop_due(slots);
}
