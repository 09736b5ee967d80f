// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots, and the conversions between times and edges. All of this is pure, so
 * these tests hand it any time they like.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/prandom.h>

#include "engine/edge.h"
#include "engine/slots.h"
#include "engine/wheel.h"

#define EDGES_OF_3_DAYS	(3 * 86400ULL * NSEC_PER_SEC / HWHEEL_MIN_TICK_NS)

/**
 * struct item - a node, and what the test knows about it
 * @node:  the node
 * @edge:  the edge that it was enqueued for
 * @enqueued: in a slot or on the due list
 * @fired: how often it was found due
 * @moved: how often it was looked at and not due
 */
struct item {
	struct hwheel_node	node;
	u64			edge;
	bool			enqueued;
	unsigned int		fired;
	unsigned int		moved;
};

/**
 * struct fixture - slots, and the nodes to enqueue in them
 * @test:     the test
 * @slots:    the slots
 * @items:    the nodes
 * @nr:       how many there are
 * @advances: how often the slots had something to look at
 * @looks:    how many nodes were looked at
 * @turn:     the chain that had the last turn
 */
struct fixture {
	struct kunit		*test;
	struct hwheel_slots	slots;
	struct item		*items;
	unsigned int		nr;
	unsigned int		advances;
	unsigned int		looks;
	unsigned long		turn;
};

static int fixture_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct fixture), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

static void fixture_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	hwheel_slots_free(&f->slots);
	kvfree(f->items);
}

static struct fixture *make_moving(struct kunit *test, unsigned int slots, unsigned int levels,
				   unsigned int rate, unsigned int items)
{
	struct fixture *f = test->priv;

	f->test = test;
	f->nr = items;
	f->items = kvcalloc(items, sizeof(*f->items), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->items);
	KUNIT_ASSERT_EQ(test, 0, hwheel_slots_init(&f->slots, slots, levels, rate, GFP_KERNEL));
	return f;
}

/* No slot has so many nodes that it is begun before they are due. */
static struct fixture *make_levels(struct kunit *test, unsigned int slots,
				   unsigned int levels, unsigned int items)
{
	return make_moving(test, slots, levels, 16, items);
}

static struct fixture *make_slots(struct kunit *test, unsigned int slots,
				  unsigned int items)
{
	return make_levels(test, slots, 1, items);
}

static u64 random_below(struct rnd_state *rnd, u64 range)
{
	return mul_u64_u32_shr(range, prandom_u32_state(rnd), 32);
}

/* Neighbours are in different chains. */
static unsigned int chain_of(const struct fixture *f, const struct item *item)
{
	return (item - f->items) % HWHEEL_CHAINS;
}

static void enqueue(struct fixture *f, unsigned int i, u64 edge)
{
	struct item *item = &f->items[i];

	item->edge = max(edge, f->slots.cursor + 1);
	hwheel_slots_enqueue(&f->slots, &item->node, item->edge, chain_of(f, item));
	item->enqueued = true;
}

static void unlink_item(struct fixture *f, unsigned int i)
{
	hwheel_slots_unlink(&f->slots, &f->items[i].node);
	f->items[i].enqueued = false;
}

static struct item *pop_due(struct fixture *f)
{
	struct hwheel_node *node = hwheel_slots_pop(&f->slots.due, &f->turn);

	if (!node)
		return NULL;
	KUNIT_EXPECT_TRUE(f->test, hlist_unhashed(&node->link));
	f->looks++;
	return container_of(node, struct item, node);
}

/* What the worker does with one that it popped */
static void look_at(struct fixture *f, struct item *item)
{
	if (item->edge > f->slots.cursor) {
		hwheel_slots_enqueue(&f->slots, &item->node, item->edge, chain_of(f, item));
		item->moved++;
		return;
	}
	KUNIT_EXPECT_EQ(f->test, item->edge, f->slots.cursor);
	item->enqueued = false;
	item->fired++;
}

static void run_to(struct fixture *f, u64 edge)
{
	struct item *item;

	while (hwheel_slots_advance(&f->slots, edge)) {
		f->advances++;
		while ((item = pop_due(f)))
			look_at(f, item);
	}
	KUNIT_EXPECT_EQ(f->test, f->slots.cursor, edge);
}

static u64 next_of(struct fixture *f)
{
	return hwheel_slots_next(&f->slots);
}

static u64 first_enqueued(const struct fixture *f)
{
	u64 first = HWHEEL_NO_EDGE;
	unsigned int i;

	for (i = 0; i < f->nr; i++)
		if (f->items[i].enqueued)
			first = min(first, f->items[i].edge);
	return first;
}

/*
 * What the worker does between two edges, for so many nodes at the most. A node that is not due is
 * looked at as any other.
 */
static unsigned int move_some(struct fixture *f, unsigned int max)
{
	struct hwheel_chains *moving;
	unsigned int n;

	for (n = 0; n < max && (moving = hwheel_slots_moving(&f->slots, f->slots.cursor)); n++)
		look_at(f, container_of(hwheel_slots_pop(moving, &f->turn), struct item, node));
	return n;
}

/* Each group has the first edge of what is in it. */
static void check_groups(const struct fixture *f, unsigned int depth, unsigned int nr)
{
	const struct hwheel_slots *slots = &f->slots;
	unsigned int i, n;

	for (i = 0; i < DIV_ROUND_UP(nr, HWHEEL_GROUP_SIZE); i++) {
		u64 first = HWHEEL_NO_EDGE;

		for (n = i * HWHEEL_GROUP_SIZE; n < min(nr, (i + 1) * HWHEEL_GROUP_SIZE); n++)
			first = min(first, depth ? slots->first[depth - 1][n] :
						   slots->slot[n].next);
		KUNIT_ASSERT_EQ_MSG(f->test, slots->first[depth][i], first,
				    "group %u of depth %u", i, depth);
	}
}

/* A slot has a next edge if it has nodes, and only then. */
static void check_slots(const struct fixture *f)
{
	unsigned int nr = f->slots.levels * f->slots.stride, i;

	for (i = 0; i < nr; i++) {
		const struct hwheel_slot *slot = &f->slots.slot[i];

		KUNIT_ASSERT_EQ_MSG(f->test, slot->next == HWHEEL_NO_EDGE,
				    hwheel_chains_empty(&slot->chains), "next edge of slot %u", i);
	}
	for (i = 0; i < f->slots.depths; i++) {
		check_groups(f, i, nr);
		nr = DIV_ROUND_UP(nr, HWHEEL_GROUP_SIZE);
	}
	KUNIT_ASSERT_EQ(f->test, nr, 1);
}

static const unsigned int geometries[] = {
	1, 2, 4, 8, 32, 64, 128, 512, 4096, 65536, HWHEEL_MAX_SLOTS,
};

static void describe_geometry(const unsigned int *slots, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u slots", *slots);
}

KUNIT_ARRAY_PARAM(geometry, geometries, describe_geometry);

/**
 * struct shape - slots on any number of levels
 * @slots:  of each
 * @levels: how many
 */
struct shape {
	unsigned int	slots;
	unsigned int	levels;
};

static const struct shape shapes[] = {
	{ 1, 1 },	{ 2, 1 },	{ 8, 1 },	{ 32, 1 },
	{ 64, 1 },	{ 128, 1 },	{ 512, 1 },	{ 4096, 1 },
	{ 65536, 1 },	{ HWHEEL_MAX_SLOTS, 1 },
	{ 4, 2 },	{ 4, 3 },	{ 4, HWHEEL_MAX_LEVELS },
	{ 8, 2 },	{ 8, HWHEEL_MAX_LEVELS },
	{ 64, 2 },	{ 64, 3 },	{ 128, 4 },	{ 512, 2 },
	{ 512, 4 },	{ 4096, 3 },	{ HWHEEL_MAX_SLOTS, 2 },
};

static void describe_shape(const struct shape *shape, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u levels of %u slots",
		 shape->levels, shape->slots);
}

KUNIT_ARRAY_PARAM(shape, shapes, describe_shape);

static struct fixture *make_shape(struct kunit *test, unsigned int items)
{
	const struct shape *shape = test->param_value;

	return make_levels(test, shape->slots, shape->levels, items);
}

static unsigned int slots_of(const struct fixture *f)
{
	return f->slots.mask + 1;
}

static void new_slots_are_empty(struct kunit *test)
{
	struct fixture *f = make_shape(test, 1);

	KUNIT_EXPECT_EQ(test, f->slots.cursor, 0);
	KUNIT_EXPECT_EQ(test, next_of(f), HWHEEL_NO_EDGE);
	KUNIT_EXPECT_NULL(test, pop_due(f));
	KUNIT_EXPECT_NULL(test, hwheel_slots_pop_any(&f->slots));
	check_slots(f);

	run_to(f, 10ULL * slots_of(f));
	KUNIT_EXPECT_EQ(test, f->advances, 0);
}

/* Nodes all over the first turn, the first and the last slot among them */
static void each_slot_fires_at_its_edge(struct kunit *test)
{
	unsigned int slots = *(const unsigned int *)test->param_value;
	unsigned int nr = min(slots, 4096U), step = slots / nr, i;
	struct fixture *f = make_slots(test, slots, nr);

	for (i = 0; i < nr; i++) {
		enqueue(f, i, (i + 1) * step);
		KUNIT_ASSERT_EQ(test, f->items[i].node.slot,
				((i + 1) * step) & (slots - 1));
	}
	check_slots(f);

	for (i = 0; i < nr; i++) {
		run_to(f, (i + 1) * step - 1);
		KUNIT_ASSERT_EQ(test, f->items[i].fired, 0);
		run_to(f, (i + 1) * step);
		KUNIT_ASSERT_EQ(test, f->items[i].fired, 1);
	}
	KUNIT_EXPECT_EQ(test, f->advances, nr);
	KUNIT_EXPECT_EQ(test, next_of(f), HWHEEL_NO_EDGE);
}

/* From a cursor anywhere in the wheel, exactly k turns away and one off */
static void whole_revolutions_away(struct kunit *test)
{
	static const unsigned int turns[] = { 1, 2, 3, 10, 1000 };
	struct fixture *f = make_shape(test, 3 * ARRAY_SIZE(turns));
	unsigned int slots = slots_of(f), i;
	u64 start = slots / 3 + 5ULL * slots;

	run_to(f, start);
	for (i = 0; i < f->nr; i++)
		enqueue(f, i, start + (u64)turns[i / 3] * slots + i % 3 - 1);
	for (i = 0; i < f->nr; i++) {
		u64 edge = f->items[i].edge;

		if (edge > f->slots.cursor + 1)
			run_to(f, edge - 1);
		if (edge > f->slots.cursor)
			KUNIT_EXPECT_EQ(test, f->items[i].fired, 0);
		run_to(f, max(edge, f->slots.cursor));
		KUNIT_EXPECT_EQ(test, f->items[i].fired, 1);
	}
	KUNIT_EXPECT_EQ(test, next_of(f), HWHEEL_NO_EDGE);
}

static void a_slot_shared_by_revolutions_is_looked_at_once_per_deadline(struct kunit *test)
{
	struct fixture *f = make_slots(test, 8, 3);

	enqueue(f, 0, 24);
	enqueue(f, 1, 8);
	enqueue(f, 2, 16 * 1000000);
	run_to(f, 16 * 1000000);
	KUNIT_EXPECT_EQ(test, f->advances, 3);
	KUNIT_EXPECT_EQ(test, f->looks, 3 + 2 + 1);
}

static void a_far_deadline_costs_no_look_before(struct kunit *test)
{
	struct fixture *f = make_slots(test, 512, 1);

	enqueue(f, 0, EDGES_OF_3_DAYS);
	run_to(f, EDGES_OF_3_DAYS - 1);
	KUNIT_EXPECT_EQ(test, f->advances, 0);
	run_to(f, EDGES_OF_3_DAYS);
	KUNIT_EXPECT_EQ(test, f->advances, 1);
	KUNIT_EXPECT_EQ(test, f->items[0].fired, 1);
}

/* However far the cursor jumps, each fires at its own edge (look_at() checks). */
static void jumps(struct kunit *test)
{
	struct fixture *f = make_shape(test, 64);
	unsigned int slots = slots_of(f), i, n;
	const u64 jump[] = { 1, 2, slots - 1, slots, slots + 1, 10ULL * slots,
			     1000ULL * slots, EDGES_OF_3_DAYS };
	struct rnd_state rnd;

	prandom_seed_state(&rnd, slots);
	for (n = 0; n < ARRAY_SIZE(jump); n++) {
		u64 start = f->slots.cursor;

		for (i = 0; i < f->nr; i++)
			enqueue(f, i, start + 1 + random_below(&rnd, jump[n]));
		run_to(f, start + jump[n] + 1);
		for (i = 0; i < f->nr; i++)
			KUNIT_ASSERT_EQ(test, f->items[i].fired, n + 1);
	}
}

static void a_jump_over_nothing_is_one_step(struct kunit *test)
{
	struct fixture *f = make_slots(test, 512, 2);
	u64 edge = 0;

	enqueue(f, 0, 5 * EDGES_OF_3_DAYS);
	while (edge < 4 * EDGES_OF_3_DAYS) {
		edge += EDGES_OF_3_DAYS;
		KUNIT_EXPECT_FALSE(test, hwheel_slots_advance(&f->slots, edge));
		KUNIT_EXPECT_EQ(test, f->slots.cursor, edge);
	}
}

static void the_cursor_never_goes_back(struct kunit *test)
{
	struct fixture *f = make_slots(test, 8, 1);

	run_to(f, 100);
	KUNIT_EXPECT_FALSE(test, hwheel_slots_advance(&f->slots, 99));
	KUNIT_EXPECT_FALSE(test, hwheel_slots_advance(&f->slots, 0));
	KUNIT_EXPECT_EQ(test, f->slots.cursor, 100);
}

static void a_reached_edge_means_the_next_one(struct kunit *test)
{
	static const u64 edges[] = { 0, 1, 92, 99, 100, 101 };
	struct fixture *f = make_slots(test, 8, ARRAY_SIZE(edges));
	unsigned int i;

	run_to(f, 100);
	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		enqueue(f, i, edges[i]);
		KUNIT_EXPECT_EQ(test, f->items[i].node.slot, 101 % 8);
	}
	KUNIT_EXPECT_EQ(test, next_of(f), 101);
	run_to(f, 100);
	KUNIT_EXPECT_EQ(test, f->advances, 0);
	run_to(f, 101);
	for (i = 0; i < ARRAY_SIZE(edges); i++)
		KUNIT_EXPECT_EQ(test, f->items[i].fired, 1);
}

/* Of the edge that is being expired, too: a re-arm there can't loop. */
static void filing_while_due_means_the_next_edge(struct kunit *test)
{
	struct fixture *f = make_slots(test, 1, 2);

	enqueue(f, 0, 7);
	KUNIT_ASSERT_TRUE(test, hwheel_slots_advance(&f->slots, 7));
	KUNIT_ASSERT_PTR_EQ(test, pop_due(f), &f->items[0]);
	enqueue(f, 0, 7);
	KUNIT_EXPECT_NULL(test, pop_due(f));
	KUNIT_EXPECT_EQ(test, next_of(f), 8);
	check_slots(f);
}

static void the_last_edges_do_not_wrap(struct kunit *test)
{
	const u64 last = HWHEEL_NO_EDGE - 1;
	struct fixture *f = make_slots(test, 512, 3);

	enqueue(f, 0, last);
	enqueue(f, 1, last - 512);
	enqueue(f, 2, 1);
	KUNIT_EXPECT_EQ(test, next_of(f), 1);
	run_to(f, last - 513);
	KUNIT_EXPECT_EQ(test, f->items[2].fired, 1);
	KUNIT_EXPECT_EQ(test, f->advances, 1);
	KUNIT_EXPECT_EQ(test, next_of(f), last - 512);
	run_to(f, last - 1);
	KUNIT_EXPECT_EQ(test, f->items[1].fired, 1);
	enqueue(f, 1, 0);
	run_to(f, last);
	KUNIT_EXPECT_EQ(test, f->items[0].fired, 1);
	KUNIT_EXPECT_EQ(test, f->items[1].fired, 2);
}

static void unlink_leaves_the_others(struct kunit *test)
{
	struct fixture *f = make_slots(test, 8, 4);
	unsigned int i;

	for (i = 0; i < 4; i++)
		enqueue(f, i, 8 * (i + 1));
	unlink_item(f, 1);
	unlink_item(f, 3);
	unlink_item(f, 3);
	check_slots(f);
	run_to(f, 100);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, f->items[i].fired, i % 2 == 0);
}

static void unlink_of_the_last_empties_the_slot(struct kunit *test)
{
	struct fixture *f = make_slots(test, 64, 2);

	enqueue(f, 0, 63);
	enqueue(f, 1, 64);
	unlink_item(f, 0);
	KUNIT_EXPECT_EQ(test, next_of(f), 64);
	unlink_item(f, 1);
	KUNIT_EXPECT_EQ(test, next_of(f), HWHEEL_NO_EDGE);
	check_slots(f);
}

/* The slot that a due node came from has new ones meanwhile, or none. */
static void unlink_from_the_due_list(struct kunit *test)
{
	struct fixture *f = make_slots(test, 8, 4);
	unsigned int i;

	for (i = 0; i < 3; i++)
		enqueue(f, i, 8);
	KUNIT_ASSERT_TRUE(test, hwheel_slots_advance(&f->slots, 8));
	unlink_item(f, 1);
	check_slots(f);
	enqueue(f, 3, 16);
	unlink_item(f, 0);
	check_slots(f);
	KUNIT_EXPECT_EQ(test, next_of(f), 16);
	unlink_item(f, 3);
	check_slots(f);
	KUNIT_EXPECT_PTR_EQ(test, pop_due(f), &f->items[2]);
	KUNIT_EXPECT_NULL(test, pop_due(f));
}

/* A chain's only node has no next, as the last one of others has. */
static void unlink_of_a_chains_only_node(struct kunit *test)
{
	struct fixture *f = make_slots(test, 64, HWHEEL_CHAINS + 1);
	unsigned int i;

	for (i = 0; i < HWHEEL_CHAINS; i++)
		enqueue(f, i, 63);
	enqueue(f, HWHEEL_CHAINS, 64);
	for (i = 0; i < HWHEEL_CHAINS; i++) {
		KUNIT_EXPECT_EQ(test, next_of(f), 63);
		check_slots(f);
		unlink_item(f, i);
	}
	KUNIT_EXPECT_EQ(test, next_of(f), 64);
	check_slots(f);
}

/* As long as all chains have nodes each turn is another one's; all come, whatever the lengths. */
static void chains_have_a_turn_each(struct kunit *test)
{
	struct fixture *f = make_slots(test, 8, 10 * HWHEEL_CHAINS);
	unsigned int whole = 0, n;
	struct item *item;

	for (n = 0; n < f->nr; n++)
		enqueue(f, n, 5);
	/* The first chain has three nodes, the others all. */
	for (n = 3 * HWHEEL_CHAINS; n < f->nr; n += HWHEEL_CHAINS)
		unlink_item(f, n);
	KUNIT_ASSERT_TRUE(test, hwheel_slots_advance(&f->slots, 5));
	for (n = 0; (item = pop_due(f)); n++) {
		look_at(f, item);
		whole |= 1U << chain_of(f, item);
		if (n % HWHEEL_CHAINS != HWHEEL_CHAINS - 1)
			continue;
		if (n < 3 * HWHEEL_CHAINS)
			KUNIT_EXPECT_EQ(test, whole, (1U << HWHEEL_CHAINS) - 1);
		whole = 0;
	}
	KUNIT_EXPECT_EQ(test, n, 3 + 10 * (HWHEEL_CHAINS - 1));
}

/* The owner unlinks and adds nodes between two turns; no pointer is kept. */
static void chains_change_between_turns(struct kunit *test)
{
	struct fixture *f = make_slots(test, 8, 40);
	unsigned int popped = 0, unlinked = 0, i;
	struct rnd_state rnd;
	struct item *item;

	prandom_seed_state(&rnd, 8);
	for (i = 0; i < f->nr; i++)
		enqueue(f, i, 5);
	KUNIT_ASSERT_TRUE(test, hwheel_slots_advance(&f->slots, 5));
	while ((item = pop_due(f))) {
		look_at(f, item);
		popped++;
		i = prandom_u32_state(&rnd) % f->nr;
		if (!f->items[i].enqueued)
			continue;
		unlink_item(f, i);
		unlinked++;
	}
	KUNIT_EXPECT_EQ(test, popped + unlinked, f->nr);
	KUNIT_EXPECT_GT(test, unlinked, 5);
	for (i = 0; i < f->nr; i++)
		KUNIT_EXPECT_FALSE(test, f->items[i].enqueued);
	check_slots(f);
}

static void pop_any_empties_all(struct kunit *test)
{
	struct fixture *f = make_shape(test, 100);
	struct hwheel_node *node;
	unsigned int i;

	for (i = 0; i < f->nr; i++)
		enqueue(f, i, i < 10 ? 3 : 1 + i * 777777ULL);
	KUNIT_ASSERT_TRUE(test, hwheel_slots_advance(&f->slots, 3));
	while ((node = hwheel_slots_pop_any(&f->slots))) {
		KUNIT_ASSERT_TRUE(test, hlist_unhashed(&node->link));
		container_of(node, struct item, node)->fired++;
	}
	for (i = 0; i < f->nr; i++)
		KUNIT_EXPECT_EQ(test, f->items[i].fired, 1);
	KUNIT_EXPECT_EQ(test, next_of(f), HWHEEL_NO_EDGE);
	check_slots(f);
}

static u64 random_edge(struct fixture *f, struct rnd_state *rnd)
{
	u64 range = 3ULL * slots_of(f);

	while (prandom_u32_state(rnd) % 2 && range < EDGES_OF_3_DAYS / slots_of(f))
		range *= slots_of(f) + 1;
	if (prandom_u32_state(rnd) % 16 == 0)
		range = EDGES_OF_3_DAYS;
	return f->slots.cursor + random_below(rnd, range);
}

static void next_is_the_first_enqueued_edge(struct kunit *test)
{
	struct fixture *f = make_shape(test, 50);
	struct rnd_state rnd;
	unsigned int n;

	prandom_seed_state(&rnd, slots_of(f));
	for (n = 0; n < 2000; n++) {
		unsigned int i = prandom_u32_state(&rnd) % f->nr;

		if (!f->items[i].enqueued)
			enqueue(f, i, random_edge(f, &rnd));
		else
			run_to(f, random_edge(f, &rnd));
		KUNIT_ASSERT_EQ_MSG(test, next_of(f),
				    first_enqueued(f), "step %u", n);
	}
}

/* With unlinking a slot's next may be too early, which costs a look, never late. */
static void slots_are_exact_and_next_is_never_late(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	struct fixture *f = make_levels(test, min(shape->slots, 512U),
					shape->levels, 50);
	struct rnd_state rnd;
	unsigned int n;

	prandom_seed_state(&rnd, slots_of(f));
	for (n = 0; n < 2000; n++) {
		unsigned int i = prandom_u32_state(&rnd) % f->nr;

		if (!f->items[i].enqueued)
			enqueue(f, i, random_edge(f, &rnd));
		else if (prandom_u32_state(&rnd) % 2)
			unlink_item(f, i);
		else
			run_to(f, random_edge(f, &rnd));
		check_slots(f);
		KUNIT_ASSERT_LE_MSG(test, next_of(f),
				    first_enqueued(f), "step %u", n);
	}
}

/* The same where the due list is left half looked at */
static void slots_are_exact_while_something_is_due(struct kunit *test)
{
	struct fixture *f = make_slots(test, 4, 20);
	struct rnd_state rnd;
	unsigned int n, i;

	prandom_seed_state(&rnd, 4);
	for (n = 0; n < 5000; n++) {
		struct item *item = NULL;

		i = prandom_u32_state(&rnd) % f->nr;
		if (!f->items[i].enqueued)
			enqueue(f, i, f->slots.cursor + i);
		else if (prandom_u32_state(&rnd) % 4 == 0)
			unlink_item(f, i);
		else if (hwheel_chains_empty(&f->slots.due))
			hwheel_slots_advance(&f->slots, f->slots.cursor + 1);
		else
			item = pop_due(f);
		if (item)
			look_at(f, item);
		check_slots(f);
	}
	KUNIT_EXPECT_GT(test, f->looks, 1000);
}

/*
 * Slots that get full and empty again, each with one node at most, for any round. So no slot has a
 * lower bound of a node that was unlinked, and the next edge is exact.
 */
static void the_next_edge_is_exact(struct kunit *test)
{
	unsigned int slots = *(const unsigned int *)test->param_value;
	unsigned int nr = min(slots, 512U), step = slots / nr, n;
	struct fixture *f = make_slots(test, slots, nr);
	struct rnd_state rnd;

	prandom_seed_state(&rnd, slots);
	for (n = 0; n < 20000; n++) {
		unsigned int i = prandom_u32_state(&rnd) % nr;
		u64 range = n % 3 ? slots : 1000ULL * slots;
		u64 edge = f->slots.cursor + 1 + random_below(&rnd, range);

		if (f->items[i].enqueued == n / 4000 % 2)
			unlink_item(f, i);
		else if (!f->items[i].enqueued)
			enqueue(f, i, edge + ((i * step - edge) & (slots - 1)));
		if (n % 16 == 0 && next_of(f) != HWHEEL_NO_EDGE)
			run_to(f, n % 64 ? next_of(f) : f->slots.cursor + slots);
		KUNIT_ASSERT_EQ_MSG(test, next_of(f), first_enqueued(f), "step %u", n);
		if (n % 1000 == 999 && slots <= 4096)
			check_slots(f);
	}
	KUNIT_EXPECT_GT(test, f->advances, nr / 4);
}

/* How far a level reaches before it has to use rounds, or as far as matters */
static u64 reach_of(const struct fixture *f)
{
	u64 reach = slots_of(f);
	unsigned int level;

	for (level = 1; level < f->slots.levels && reach < EDGES_OF_3_DAYS; level++)
		reach *= slots_of(f) / 2;
	return reach;
}

/* On the way to its edge, when the slots are so full that none is alone in its slot */
static void moved_once_per_level_at_most(struct kunit *test)
{
	struct fixture *f = make_shape(test, 1000);
	unsigned int i, highest = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, slots_of(f));
	for (i = 0; i < f->nr; i++)
		enqueue(f, i, 1 + random_below(&rnd, reach_of(f) - 1));
	run_to(f, reach_of(f));
	for (i = 0; i < f->nr; i++) {
		KUNIT_ASSERT_EQ(test, f->items[i].fired, 1);
		highest = max(highest, f->items[i].moved);
	}
	KUNIT_EXPECT_LT(test, highest, f->slots.levels);
}

/* A slot of a higher level is not touched when its span begins, but when it is due. */
static void alone_in_its_slot_it_is_not_moved(struct kunit *test)
{
	struct fixture *f = make_levels(test, 8, 4, 3);

	enqueue(f, 0, 3);
	enqueue(f, 1, 8 * 8 + 5);
	enqueue(f, 2, 3 * 8 * 4 * 4 + 7);
	run_to(f, 8 * 4 * 4 * 4);
	KUNIT_EXPECT_EQ(test, f->advances, 3);
	KUNIT_EXPECT_EQ(test, f->looks, 3);
}

static void levels_that_are_due_at_one_edge(struct kunit *test)
{
	struct fixture *f = make_levels(test, 8, 3, 3);
	unsigned int i;

	enqueue(f, 0, 100);
	run_to(f, 75);
	enqueue(f, 1, 100);
	run_to(f, 95);
	enqueue(f, 2, 100);
	KUNIT_EXPECT_NE(test, f->items[0].node.slot, f->items[1].node.slot);
	KUNIT_EXPECT_NE(test, f->items[1].node.slot, f->items[2].node.slot);
	run_to(f, 99);
	KUNIT_EXPECT_EQ(test, f->advances, 0);
	run_to(f, 100);
	KUNIT_EXPECT_EQ(test, f->advances, 3);
	for (i = 0; i < f->nr; i++)
		KUNIT_EXPECT_EQ(test, f->items[i].fired, 1);
}

/* Moving down */

/* Where a node is */
static unsigned int level_of(const struct fixture *f, unsigned int i)
{
	return f->items[i].node.slot / f->slots.stride;
}

/* Level 1 spans 32 edges; 16 nodes can be moved between two edges, and 2 are not few. */
static struct fixture *make_slot_at_320(struct kunit *test, unsigned int nr)
{
	struct fixture *f = make_moving(test, 64, 2, 4, nr);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		enqueue(f, i, 320 + i % 32);
		KUNIT_ASSERT_EQ(test, level_of(f, i), 1);
	}
	return f;
}

/* 160 nodes take 10 times, after which the slots of the lowest level have an edge to spare. */
static void many_are_begun_as_early_as_it_takes(struct kunit *test)
{
	struct fixture *f = make_slot_at_320(test, 160);
	u64 edge, begin = 320 - 160 / 16 - 2;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, next_of(f), begin);
	run_to(f, begin - 1);
	KUNIT_EXPECT_NULL(test, hwheel_slots_moving(&f->slots, 0));
	for (edge = begin; edge < 318; edge++) {
		run_to(f, edge);
		KUNIT_EXPECT_EQ(test, move_some(f, 16), 16);
	}
	KUNIT_EXPECT_NULL(test, hwheel_slots_moving(&f->slots, 0));
	for (i = 0; i < f->nr; i++)
		KUNIT_EXPECT_EQ(test, level_of(f, i), 0);
	run_to(f, 352);
	KUNIT_EXPECT_EQ(test, f->looks, 160);
}

/* However many they are: from there on they are within a turn of the lowest level. */
static void none_is_begun_more_than_a_span_early(struct kunit *test)
{
	struct fixture *f = make_slot_at_320(test, 10000);

	KUNIT_EXPECT_EQ(test, next_of(f), 320 - 32);
	run_to(f, 320 - 32);
	KUNIT_EXPECT_EQ(test, move_some(f, 10000), 10000);
	check_slots(f);
	KUNIT_EXPECT_EQ(test, next_of(f), 320);
}

/* A few cost no edge of their own. */
static void few_wait_for_the_first_of_them(struct kunit *test)
{
	struct fixture *f = make_slot_at_320(test, 1);

	KUNIT_EXPECT_EQ(test, next_of(f), 320);
	run_to(f, 319);
	KUNIT_EXPECT_NULL(test, hwheel_slots_moving(&f->slots, 0));
	KUNIT_EXPECT_EQ(test, level_of(f, 0), 1);
	run_to(f, 320);
	KUNIT_EXPECT_EQ(test, f->advances, 1);
}

/* The owner looks at what is left when the span begins, all at once. */
static void too_slow_a_mover_loses_nothing(struct kunit *test)
{
	struct fixture *f = make_slot_at_320(test, 160);
	unsigned int i;

	run_to(f, 318);
	KUNIT_EXPECT_EQ(test, move_some(f, 10), 10);
	unlink_item(f, 5);
	enqueue(f, 5, 330);
	KUNIT_EXPECT_EQ(test, level_of(f, 5), 0);
	KUNIT_EXPECT_EQ(test, next_of(f), 319);
	run_to(f, 320);
	KUNIT_EXPECT_NULL(test, hwheel_slots_moving(&f->slots, 0));
	run_to(f, 352);
	for (i = 0; i < f->nr; i++)
		KUNIT_EXPECT_EQ(test, f->items[i].fired, 1);
}

/* Late by so much that the slot would have to be moved and expired already */
static void a_late_owner_misses_no_slot(struct kunit *test)
{
	static const u64 late[] = { 319, 320, 321, 351, 352, 5000 };
	struct fixture *f = make_slot_at_320(test, 160);
	unsigned int n, i;

	for (n = 0; n < ARRAY_SIZE(late); n++) {
		u64 turn = 352 * 16 * n;

		for (i = 0; i < f->nr; i++) {
			unlink_item(f, i);
			enqueue(f, i, turn + 320 + i % 32);
		}
		run_to(f, turn + late[n]);
		KUNIT_EXPECT_GT(test, first_enqueued(f), f->slots.cursor);
		run_to(f, turn + max(late[n], 352ULL));
		for (i = 0; i < f->nr; i++)
			KUNIT_ASSERT_EQ(test, f->items[i].fired, n + 1);
	}
}

/* On the highest level, nodes of a later round are in the way of one that is due before. */
static void later_rounds_keep_nobody_waiting(struct kunit *test)
{
	struct fixture *f = make_moving(test, 64, 2, 4, 1000);
	unsigned int i;

	enqueue(f, 0, 320);
	for (i = 1; i < f->nr; i++)
		enqueue(f, i, 320 + 64 * 32 + i % 32);
	KUNIT_EXPECT_EQ(test, next_of(f), 320 - 32);
	run_to(f, 320 - 32);
	KUNIT_EXPECT_EQ(test, move_some(f, 1000), 1000);
	KUNIT_EXPECT_EQ(test, level_of(f, 0), 0);
	KUNIT_EXPECT_EQ(test, level_of(f, 1), 1);
	KUNIT_EXPECT_EQ(test, next_of(f), 320);
	run_to(f, 320);
	KUNIT_EXPECT_EQ(test, f->items[0].fired, 1);
	KUNIT_EXPECT_EQ(test, next_of(f), 320 + 64 * 32 - 32);
}

/*
 * Slots beside an array, with any rate, and an owner that is in time, late, or asleep, and moves as
 * many as it likes. look_at() checks that each fires at its edge.
 */
static void slots_do_as_an_array_does(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	struct fixture *f = NULL;
	struct rnd_state rnd;
	unsigned int n, moved = 0;

	prandom_seed_state(&rnd, shape->slots * shape->levels);
	f = make_moving(test, min(shape->slots, 512U), shape->levels,
			prandom_u32_state(&rnd) % 6, 300);
	for (n = 0; n < 20000; n++) {
		unsigned int i = prandom_u32_state(&rnd) % f->nr;
		u64 edge = f->slots.cursor;

		if (!f->items[i].enqueued) {
			enqueue(f, i, random_edge(f, &rnd));
			continue;
		}
		switch (prandom_u32_state(&rnd) % 8) {
		case 0:
			unlink_item(f, i);
			continue;
		case 1:
			edge = random_edge(f, &rnd);
			break;
		case 2:
		case 3:
			edge = min(next_of(f), HWHEEL_NO_EDGE - 1);
			break;
		default:
			edge++;
		}
		run_to(f, edge);
		moved += move_some(f, prandom_u32_state(&rnd) % 40);
		if (n % 16 == 0)
			check_slots(f);
		KUNIT_ASSERT_GT_MSG(test, first_enqueued(f), f->slots.cursor, "step %u", n);
		KUNIT_ASSERT_LE_MSG(test, next_of(f), first_enqueued(f), "step %u", n);
	}
	KUNIT_EXPECT_TRUE(test, moved || shape->levels == 1);
}

/**
 * struct load - timeouts that all expire within a time
 * @tick:   in ns
 * @slots:  of each level
 * @levels: how many
 * @nr:     how many timeouts
 * @cost:   ns that it takes to look at one
 * @mapped: by the rate of a mapping
 */
struct load {
	u64		tick;
	unsigned int	slots;
	unsigned int	levels;
	unsigned int	nr;
	unsigned int	cost;
	bool		mapped;
};

static const struct load loads[] = {
	{ NSEC_PER_MSEC, 512, 2, 1000000, 250 },
	{ NSEC_PER_MSEC, 512, 3, 1000000, 250 },
	{ NSEC_PER_MSEC, 512, 2, 200000, 250 },
	{ NSEC_PER_MSEC, 64, 4, 200000, 250 },
	{ 10 * NSEC_PER_MSEC, 512, 2, 1000000, 250 },
	{ NSEC_PER_MSEC, 512, 2, 100000, 500, true },
	{ 200 * NSEC_PER_USEC, 512, 2, 20000, 250 },
	{ HWHEEL_MIN_TICK_NS, 8, 8, 20000, 250 },
};

static void describe_load(const struct load *load, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u%s on %u levels of %u, tick %llu us",
		 load->nr, load->mapped ? " mapped" : "", load->levels, load->slots,
		 load->tick / NSEC_PER_USEC);
}

KUNIT_ARRAY_PARAM(load, loads, describe_load);

/* Looks at all that is due, each of which takes time, and returns how late the latest was. */
static u64 expire_in_time(struct fixture *f, const struct load *load, u64 *now)
{
	struct item *item;
	u64 worst = 0;

	while (hwheel_slots_advance(&f->slots, div64_u64(*now, load->tick))) {
		while ((item = pop_due(f))) {
			*now += load->cost;
			if (item->edge <= f->slots.cursor)
				worst = max(worst, *now - item->edge * load->tick);
			look_at(f, item);
		}
	}
	return worst;
}

/* Looks and moves take time, and the owner moves for half a tick between two edges. */
static void all_are_in_time(struct kunit *test)
{
	const struct load *load = test->param_value;
	unsigned int rate = hwheel_move_rate(load->tick / 2) - (load->mapped ? 2 : 0);
	struct fixture *f = make_moving(test, load->slots, load->levels, rate, load->nr);
	u64 now = 0, worst = 0, next;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, load->slots);
	for (i = 0; i < f->nr; i++)
		enqueue(f, i, 100 + random_below(&rnd, 2000));
	while ((next = next_of(f)) != HWHEEL_NO_EDGE) {
		now = max(now, next * load->tick);
		worst = max(worst, expire_in_time(f, load, &now));
		now += move_some(f, load->tick / 2 / load->cost) * load->cost;
	}
	for (i = 0; i < f->nr; i++)
		KUNIT_ASSERT_EQ(test, f->items[i].fired, 1);
	kunit_info(test, "at most %llu ns late, with a tick of %llu ns\n", worst, load->tick);
	KUNIT_EXPECT_LE(test, worst, 2 * load->tick);
}

/* Backlogs */

static struct hwheel_node *pop_backlog(struct fixture *f)
{
	struct hwheel_chains *backlog = hwheel_slots_next_backlog(&f->slots);

	return backlog ? hwheel_slots_pop(backlog, &f->turn) : NULL;
}

static void make_backlog(struct fixture *f, unsigned int first, unsigned int nr)
{
	u64 edge = f->slots.cursor + 1;
	unsigned int i;

	for (i = 0; i < nr; i++)
		enqueue(f, first + i, edge);
	KUNIT_ASSERT_TRUE(f->test, hwheel_slots_advance(&f->slots, edge));
	hwheel_slots_put_off(&f->slots);
}

/* In turn, so that the last one of the smallest comes before that of the others. */
static void backlogs_have_a_turn_each(struct kunit *test)
{
	struct fixture *f = make_slots(test, 8, 12);
	struct hwheel_node *node;
	unsigned int n, small = 0;

	make_backlog(f, 0, 8);
	make_backlog(f, 8, 3);
	make_backlog(f, 11, 1);
	KUNIT_EXPECT_NULL(test, pop_due(f));
	unlink_item(f, 4);
	check_slots(f);
	for (n = 1; (node = pop_backlog(f)); n++)
		if (node >= &f->items[8].node)
			small = n;
	KUNIT_EXPECT_EQ(test, n - 1, 11);
	KUNIT_EXPECT_LE(test, small, 2 * 3 + 1);
}

/* One too many stays where it is, on the due list; nothing at all takes no place. */
static void a_backlog_too_many_stays_due(struct kunit *test)
{
	struct fixture *f = make_slots(test, 8, HWHEEL_BACKLOGS + 1);
	unsigned int i;

	for (i = 0; i <= HWHEEL_BACKLOGS; i++) {
		make_backlog(f, i, 1);
		if (i < HWHEEL_BACKLOGS)
			hwheel_slots_put_off(&f->slots);
	}
	KUNIT_EXPECT_PTR_EQ(test, pop_due(f), &f->items[HWHEEL_BACKLOGS]);
	for (i = 0; i < HWHEEL_BACKLOGS; i++)
		KUNIT_EXPECT_NOT_NULL(test, pop_backlog(f));
	KUNIT_EXPECT_NULL(test, pop_backlog(f));
	KUNIT_EXPECT_NULL(test, hwheel_slots_pop_any(&f->slots));
}

static void pop_any_finds_backlogs(struct kunit *test)
{
	struct fixture *f = make_slots(test, 8, 6);
	unsigned int i;

	make_backlog(f, 0, 2);
	make_backlog(f, 2, 2);
	enqueue(f, 4, 50);
	enqueue(f, 5, 500);
	for (i = 0; i < f->nr; i++)
		KUNIT_EXPECT_NOT_NULL(test, hwheel_slots_pop_any(&f->slots));
	KUNIT_EXPECT_NULL(test, hwheel_slots_pop_any(&f->slots));
}

static const u64 ticks[] = {
	16, HWHEEL_MIN_TICK_NS, 10 * NSEC_PER_MSEC, 99999992,
	HWHEEL_DEFAULT_TICK_NS, NSEC_PER_SEC, 3600ULL * NSEC_PER_SEC,
	365 * 86400ULL * NSEC_PER_SEC, HWHEEL_NEVER,
};

static void describe_tick(const u64 *tick, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "tick of %llu ns", *tick);
}

KUNIT_ARRAY_PARAM(tick, ticks, describe_tick);

/* @n / @d is q and some rest, in units of 2^-63: in 128 bits, q x @d + rest is @n x 2^63 */
static void expect_fraction(struct kunit *test, u64 n, u64 d)
{
	u64 q = hwheel_fraction(n, d), low = q * d, rest = (n << 63) - low;
	u64 high = mul_u64_u64_shr(q, d, 64);

	KUNIT_EXPECT_LT(test, rest, d);
	KUNIT_EXPECT_EQ(test, high + (low + rest < low), n >> 1);
}

static void fractions_are_exact(struct kunit *test)
{
	u64 tick = *(const u64 *)test->param_value;
	unsigned int bit;

	for (bit = 0; bit < 64 && BIT_ULL(bit) < 2 * tick; bit++)
		expect_fraction(test, BIT_ULL(bit), tick);
	expect_fraction(test, 0, tick);
	expect_fraction(test, tick - 1, tick);
	expect_fraction(test, tick, tick);
	expect_fraction(test, tick + 1, tick);
	expect_fraction(test, 2 * tick - 1, tick);
}

static const u64 epochs[] = { 0, 8, 12345678901234568, };

/* On the edge, and as little before it and after it as there is */
static void times_around_an_edge(struct kunit *test)
{
	u64 edge, time, tick = *(const u64 *)test->param_value;
	const u64 unit = HWHEEL_DEADLINE_UNIT;
	struct hwheel wheel = { };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(epochs); i++) {
		hwheel_edge_init(&wheel, epochs[i], tick);
		for (edge = 1; edge <= 1ULL << 20; edge = 3 * edge - 1) {
			if (edge > div64_u64(HWHEEL_NEVER - wheel.epoch,
					     wheel.tick))
				break;
			time = wheel.epoch + edge * wheel.tick;
			KUNIT_EXPECT_EQ(test, hwheel_edge_time(&wheel, edge), time);
			KUNIT_EXPECT_EQ(test, hwheel_edge_due(&wheel, time - unit), edge);
			KUNIT_EXPECT_EQ(test, hwheel_edge_due(&wheel, time), edge);
			KUNIT_EXPECT_EQ(test, hwheel_edge_due(&wheel, time + unit),
					edge + 1);
			KUNIT_EXPECT_EQ(test, hwheel_edge_reached(&wheel, time - 1), edge - 1);
			KUNIT_EXPECT_EQ(test, hwheel_edge_reached(&wheel, time), edge);
			KUNIT_EXPECT_EQ(test, hwheel_edge_reached(&wheel, time + 1), edge);
		}
	}
}

static void a_deadline_up_to_the_epoch_is_due_at_edge_0(struct kunit *test)
{
	u64 tick = *(const u64 *)test->param_value;
	struct hwheel wheel = { };

	hwheel_edge_init(&wheel, 12345678901234568, tick);
	KUNIT_EXPECT_EQ(test, hwheel_edge_due(&wheel, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_edge_due(&wheel, wheel.epoch - 8), 0);
	KUNIT_EXPECT_EQ(test, hwheel_edge_due(&wheel, wheel.epoch), 0);
	KUNIT_EXPECT_EQ(test, hwheel_edge_due(&wheel, wheel.epoch + 8), 1);
	KUNIT_EXPECT_EQ(test, hwheel_edge_reached(&wheel, wheel.epoch), 0);
}

/* Whatever the deadline, never early and by less than a tick late */
static void any_deadline_is_due_within_a_tick(struct kunit *test)
{
	u64 tick = *(const u64 *)test->param_value;
	struct hwheel wheel = { };
	struct rnd_state rnd;
	unsigned int n;

	prandom_seed_state(&rnd, 1);
	for (n = 0; n < 1000; n++) {
		u64 deadline, edge, time;

		hwheel_edge_init(&wheel, epochs[n % ARRAY_SIZE(epochs)], tick);
		prandom_bytes_state(&rnd, &deadline, sizeof(deadline));
		deadline = hwheel_deadline_store(wheel.epoch +
						 (deadline >> (2 + n % 60)));
		edge = hwheel_edge_due(&wheel, deadline);
		time = wheel.epoch + edge * wheel.tick;
		KUNIT_ASSERT_GE(test, time, deadline);
		KUNIT_ASSERT_LT(test, time - deadline, wheel.tick);
		KUNIT_ASSERT_EQ(test, hwheel_edge_time(&wheel, edge),
				min_t(u64, time, KTIME_MAX));
	}
}

static void never_is_an_edge_that_no_clock_reaches(struct kunit *test)
{
	u64 tick = *(const u64 *)test->param_value;
	struct hwheel wheel = { };
	unsigned int i;
	u64 edge;

	for (i = 0; i < ARRAY_SIZE(epochs); i++) {
		hwheel_edge_init(&wheel, epochs[i], tick);
		edge = hwheel_edge_due(&wheel, HWHEEL_NEVER);
		KUNIT_EXPECT_LT(test, edge, HWHEEL_NO_EDGE);
		KUNIT_EXPECT_GE(test, hwheel_edge_time(&wheel, edge), HWHEEL_NEVER);
		KUNIT_EXPECT_LE(test, hwheel_edge_time(&wheel, edge), KTIME_MAX);
		KUNIT_EXPECT_LT(test, hwheel_edge_reached(&wheel, HWHEEL_NEVER - 1), edge);
	}
}

static void time_of_an_edge_does_not_wrap(struct kunit *test)
{
	u64 edge, tick = *(const u64 *)test->param_value;
	struct hwheel wheel = { };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(epochs); i++) {
		hwheel_edge_init(&wheel, epochs[i], tick);
		edge = div64_u64(U64_MAX - wheel.epoch, wheel.tick);
		KUNIT_EXPECT_EQ(test, hwheel_edge_time(&wheel, edge), KTIME_MAX);
		KUNIT_EXPECT_EQ(test, hwheel_edge_time(&wheel, edge + 1), KTIME_MAX);
		KUNIT_EXPECT_EQ(test, hwheel_edge_time(&wheel, U64_MAX / wheel.tick + 1),
				KTIME_MAX);
		KUNIT_EXPECT_EQ(test, hwheel_edge_time(&wheel, HWHEEL_NO_EDGE - 1), KTIME_MAX);
	}
}

static struct kunit_case slots_cases[] = {
	KUNIT_CASE_PARAM(new_slots_are_empty, shape_gen_params),
	KUNIT_CASE_PARAM(each_slot_fires_at_its_edge, geometry_gen_params),
	KUNIT_CASE_PARAM(whole_revolutions_away, shape_gen_params),
	KUNIT_CASE(a_slot_shared_by_revolutions_is_looked_at_once_per_deadline),
	KUNIT_CASE(a_far_deadline_costs_no_look_before),
	KUNIT_CASE_PARAM(jumps, shape_gen_params),
	KUNIT_CASE(a_jump_over_nothing_is_one_step),
	KUNIT_CASE(the_cursor_never_goes_back),
	KUNIT_CASE(a_reached_edge_means_the_next_one),
	KUNIT_CASE(filing_while_due_means_the_next_edge),
	KUNIT_CASE(the_last_edges_do_not_wrap),
	KUNIT_CASE(unlink_leaves_the_others),
	KUNIT_CASE(unlink_of_the_last_empties_the_slot),
	KUNIT_CASE(unlink_from_the_due_list),
	KUNIT_CASE(unlink_of_a_chains_only_node),
	KUNIT_CASE(chains_have_a_turn_each),
	KUNIT_CASE(chains_change_between_turns),
	KUNIT_CASE_PARAM(pop_any_empties_all, shape_gen_params),
	KUNIT_CASE_PARAM(next_is_the_first_enqueued_edge, shape_gen_params),
	KUNIT_CASE_PARAM(slots_are_exact_and_next_is_never_late, shape_gen_params),
	KUNIT_CASE(slots_are_exact_while_something_is_due),
	KUNIT_CASE_PARAM(the_next_edge_is_exact, geometry_gen_params),
	KUNIT_CASE_PARAM(moved_once_per_level_at_most, shape_gen_params),
	KUNIT_CASE(alone_in_its_slot_it_is_not_moved),
	KUNIT_CASE(levels_that_are_due_at_one_edge),
	KUNIT_CASE(many_are_begun_as_early_as_it_takes),
	KUNIT_CASE(none_is_begun_more_than_a_span_early),
	KUNIT_CASE(few_wait_for_the_first_of_them),
	KUNIT_CASE(too_slow_a_mover_loses_nothing),
	KUNIT_CASE(a_late_owner_misses_no_slot),
	KUNIT_CASE(later_rounds_keep_nobody_waiting),
	KUNIT_CASE_PARAM(slots_do_as_an_array_does, shape_gen_params),
	KUNIT_CASE_PARAM(all_are_in_time, load_gen_params),
	KUNIT_CASE(backlogs_have_a_turn_each),
	KUNIT_CASE(a_backlog_too_many_stays_due),
	KUNIT_CASE(pop_any_finds_backlogs),
	KUNIT_CASE_PARAM(fractions_are_exact, tick_gen_params),
	KUNIT_CASE_PARAM(times_around_an_edge, tick_gen_params),
	KUNIT_CASE_PARAM(a_deadline_up_to_the_epoch_is_due_at_edge_0, tick_gen_params),
	KUNIT_CASE_PARAM(any_deadline_is_due_within_a_tick, tick_gen_params),
	KUNIT_CASE_PARAM(never_is_an_edge_that_no_clock_reaches, tick_gen_params),
	KUNIT_CASE_PARAM(time_of_an_edge_does_not_wrap, tick_gen_params),
	{}
};

static struct kunit_suite slots_suite = {
	.name		= "hwheel_slots",
	.init		= fixture_init,
	.exit		= fixture_exit,
	.test_cases	= slots_cases,
};

kunit_test_suite(slots_suite);
