// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of a file's entries: indexes, ids, and entries that stay where they are.
 */
#include <kunit/test.h>
#include <linux/limits.h>

#include "device/table.h"

#define PER_PAGE	HWHEEL_TABLE_PER_PAGE

/* So many pages that the array of them has to grow more than once */
#define MANY_PAGES	70

struct fixture {
	struct hwheel_table	table;
	struct hwheel_entry	model;
	unsigned int		max;
};

static int table_test_init(struct kunit *test)
{
	struct fixture *fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fixture);
	hwheel_table_init(&fixture->table);
	fixture->model.cookie = 77;
	fixture->max = UINT_MAX;
	test->priv = fixture;
	return 0;
}

static void table_test_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	hwheel_table_free(&fixture->table);
}

static void grow(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct hwheel_entry *entries;

	if (!hwheel_table_growth(&fixture->table, fixture->max))
		return;
	entries = hwheel_table_make(&fixture->table, &fixture->model);
	KUNIT_ASSERT_NOT_NULL(test, entries);
	hwheel_table_add(&fixture->table, fixture->max, entries);
}

static struct hwheel_table *grown(struct kunit *test, unsigned int pages)
{
	struct fixture *fixture = test->priv;

	while (pages--)
		grow(test);
	return &fixture->table;
}

static struct hwheel_entry *take(struct hwheel_table *table)
{
	struct hwheel_entry *entry;

	spin_lock(&table->lock);
	entry = hwheel_table_take(table);
	spin_unlock(&table->lock);
	return entry;
}

static void put(struct hwheel_table *table, struct hwheel_entry *entry)
{
	spin_lock(&table->lock);
	hwheel_table_put(table, entry);
	spin_unlock(&table->lock);
}

static struct hwheel_entry *at(struct hwheel_table *table, u32 index)
{
	struct hwheel_entry *entry;

	spin_lock(&table->lock);
	entry = hwheel_table_at(table, index);
	spin_unlock(&table->lock);
	return entry;
}

static struct hwheel_entry *find(struct hwheel_table *table, u64 id)
{
	struct hwheel_entry *entry;

	spin_lock(&table->lock);
	entry = hwheel_table_find(table, id);
	spin_unlock(&table->lock);
	return entry;
}

static u32 index_of(const struct hwheel_entry *entry)
{
	return lower_32_bits(entry->id);
}

static void empty_has_nothing(struct kunit *test)
{
	struct hwheel_table *table = grown(test, 0);

	KUNIT_EXPECT_NULL(test, take(table));
	KUNIT_EXPECT_NULL(test, at(table, 0));
	KUNIT_EXPECT_NULL(test, find(table, 1ULL << 32));
}

static void indexes_are_given_out_in_turn(struct kunit *test)
{
	struct hwheel_table *table = grown(test, 1);
	u32 i;

	for (i = 0; i < 3 * PER_PAGE; i++) {
		struct hwheel_entry *entry = take(table);

		if (!entry) {
			grow(test);
			entry = take(table);
		}
		KUNIT_ASSERT_NOT_NULL(test, entry);
		KUNIT_EXPECT_EQ(test, entry->id, 1ULL << 32 | i);
		KUNIT_EXPECT_EQ(test, entry->cookie, 77);
		KUNIT_EXPECT_PTR_EQ(test, at(table, i), entry);
	}
	KUNIT_EXPECT_NULL(test, take(table));
	KUNIT_EXPECT_NULL(test, at(table, i));
	KUNIT_EXPECT_NULL(test, at(table, U32_MAX));
}

static void entries_stay_in_place(struct kunit *test)
{
	struct hwheel_table *table = grown(test, 1);
	struct hwheel_entry *first = take(table), *second;
	u32 i;

	grown(test, MANY_PAGES);
	second = take(table);
	KUNIT_EXPECT_PTR_EQ(test, find(table, first->id), first);
	KUNIT_EXPECT_PTR_EQ(test, find(table, second->id), second);
	for (i = 0; i < (MANY_PAGES + 1) * PER_PAGE; i++)
		if (index_of(at(table, i)) != i)
			break;
	KUNIT_EXPECT_EQ(test, i, (MANY_PAGES + 1) * PER_PAGE);
	KUNIT_EXPECT_NULL(test, at(table, i));
}

/* Whether the last page is used in part or not at all */
static void there_are_not_more_than_max(struct kunit *test)
{
	static const unsigned int maxima[] = {
		1, PER_PAGE - 1, PER_PAGE, PER_PAGE + 1, 3 * PER_PAGE,
	};
	struct fixture *fixture = test->priv;
	struct hwheel_table *table = &fixture->table;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(maxima); i++) {
		memset(table, 0, sizeof(*table));
		hwheel_table_init(table);
		fixture->max = maxima[i];
		grown(test, 5);
		for (n = 0; take(table); n++)
			;
		KUNIT_EXPECT_EQ(test, n, maxima[i]);
		KUNIT_EXPECT_EQ(test, n, hwheel_table_size(table, maxima[i]));
		if (i < ARRAY_SIZE(maxima) - 1)
			hwheel_table_free(table);
	}
}

/* It is charged for before it is there. */
static void growth_is_known_beforehand(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct hwheel_table *table = &fixture->table;
	u64 bytes = 0;
	unsigned int i;

	fixture->max = MANY_PAGES * PER_PAGE - 1;
	for (i = 0; i < MANY_PAGES; i++) {
		bytes += hwheel_table_growth(table, fixture->max);
		grow(test);
		KUNIT_EXPECT_EQ(test, bytes, table->nr * PAGE_SIZE +
				table->room * sizeof(*table->pages));
	}
	KUNIT_EXPECT_EQ(test, hwheel_table_growth(table, fixture->max), 0);
}

static void last_used_is_next(struct kunit *test)
{
	struct hwheel_table *table = grown(test, 2);
	struct hwheel_entry *a = take(table), *b = take(table), *c = take(table);

	put(table, b);
	put(table, a);
	KUNIT_EXPECT_PTR_EQ(test, take(table), a);
	KUNIT_EXPECT_PTR_EQ(test, take(table), b);
	KUNIT_EXPECT_EQ(test, index_of(take(table)), index_of(c) + 1);
}

static void each_use_has_an_id(struct kunit *test)
{
	struct hwheel_table *table = grown(test, 1);
	struct hwheel_entry *entry = take(table);
	u64 first = entry->id, second;

	put(table, entry);
	KUNIT_EXPECT_NULL(test, find(table, first));

	KUNIT_EXPECT_PTR_EQ(test, take(table), entry);
	second = entry->id;
	KUNIT_EXPECT_EQ(test, second, first + (1ULL << 32));
	KUNIT_EXPECT_NULL(test, find(table, first));
	KUNIT_EXPECT_PTR_EQ(test, find(table, second), entry);
	KUNIT_EXPECT_NULL(test, find(table, second + (1ULL << 32)));
	KUNIT_EXPECT_NULL(test, find(table, index_of(entry)));
}

/* A caller that finds an entry by a future id must see that it is not in use. */
static void free_ones_are_idle(struct kunit *test)
{
	struct hwheel_table *table = grown(test, 1);
	struct hwheel_entry *entry = take(table);

	atomic64_set(&entry->timeout.word, HWHEEL_CANCELLED);
	entry->stopped = true;
	put(table, entry);
	KUNIT_EXPECT_EQ(test, hwheel_timeout_state(&entry->timeout), HWHEEL_IDLE);
	KUNIT_EXPECT_FALSE(test, entry->stopped);
}

static void used_up_ids_are_not_used_again(struct kunit *test)
{
	struct hwheel_table *table = grown(test, 1);
	struct hwheel_entry *entry = take(table), *other;
	u64 last = (u64)U32_MAX << 32 | index_of(entry);

	entry->id = last - (1ULL << 32);
	put(table, entry);
	KUNIT_EXPECT_PTR_EQ(test, take(table), entry);
	KUNIT_EXPECT_EQ(test, entry->id, last);
	put(table, entry);

	while ((other = take(table)))
		KUNIT_EXPECT_PTR_NE(test, other, entry);
	KUNIT_EXPECT_NULL(test, find(table, last));
	KUNIT_EXPECT_NULL(test, find(table, 1ULL << 32 | lower_32_bits(last)));
}

static struct kunit_case table_cases[] = {
	KUNIT_CASE(empty_has_nothing),
	KUNIT_CASE(indexes_are_given_out_in_turn),
	KUNIT_CASE(entries_stay_in_place),
	KUNIT_CASE(there_are_not_more_than_max),
	KUNIT_CASE(growth_is_known_beforehand),
	KUNIT_CASE(last_used_is_next),
	KUNIT_CASE(each_use_has_an_id),
	KUNIT_CASE(free_ones_are_idle),
	KUNIT_CASE(used_up_ids_are_not_used_again),
	{}
};

static struct kunit_suite table_suite = {
	.name		= "hwheel_table",
	.init		= table_test_init,
	.exit		= table_test_exit,
	.test_cases	= table_cases,
};

kunit_test_suite(table_suite);
