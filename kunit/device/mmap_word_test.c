// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines that programs store in the words that they share with us.
 */
#include <linux/limits.h>

#include "device/mmap.h"
#include "file_sim.h"

static void share_words(struct kunit *test, struct hwheel_file *file)
{
	KUNIT_ASSERT_EQ(test, 0, hwheel_mmap_pages_grow(&file->shared, 1, FILE_MAX));
}

static struct hwheel_file *make_shared_file(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);

	share_words(test, file);
	return file;
}

static u64 word_of(struct hwheel_file *file, u64 id)
{
	return *hwheel_mmap_pages_word(&file->shared, lower_32_bits(id));
}

static void store(struct hwheel_file *file, u64 id, u64 ns)
{
	*hwheel_mmap_pages_word(&file->shared, lower_32_bits(id)) = ns;
}

static u64 edge_time(struct hwheel_file *file, u64 edge)
{
	return sim_edge_time(file->wheel, edge);
}

static u64 add_due(struct kunit *test, struct hwheel_file *file, u64 edge)
{
	return add_armed(test, file, edge_time(file, edge));
}

static bool has_event(struct hwheel_file *file)
{
	return hwheel_event_poll(file) & EPOLLIN;
}

/* Its event comes on this edge, and not before. */
static void expect_event(struct kunit *test, struct hwheel_file *file, u64 edge)
{
	struct hwheel_event event = { };

	sim_pass(file->wheel, edge - 1);
	KUNIT_EXPECT_FALSE(test, has_event(file));
	sim_pass(file->wheel, edge);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
	KUNIT_EXPECT_GE(test, event.fired_ns, event.deadline_ns);
}

static void later_store_delays(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 id = add_due(test, file, 3);

	store(file, id, edge_time(file, 7));
	expect_event(test, file, 7);
	KUNIT_EXPECT_EQ(test, word_of(file, id), 0);
}

static void earlier_store_does_nothing(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 stores[] = { 0, 1, edge_time(file, 2) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(stores); i++) {
		u64 id = add_due(test, file, 10 * i + 5);

		store(file, id, stores[i]);
		expect_event(test, file, 10 * i + 5);
	}
}

static void heartbeats(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 id = add_due(test, file, 20), edge;

	for (edge = 1; edge < 100; edge++) {
		sim_pass(file->wheel, edge);
		store(file, id, edge_time(file, edge + 20));
	}
	expect_event(test, file, 99 + 20);
}

/* The largest one, and then no more. */
static void any_value_counts_once_and_for_a_day(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 id = add_due(test, file, 3), edge, day;

	day = div64_u64(HWHEEL_STORE_MAX_NS, file->wheel->tick);
	store(file, id, U64_MAX);
	for (edge = 3; edge < 3 + day; edge += day / 3)
		sim_pass_long(file->wheel, edge);
	KUNIT_EXPECT_FALSE(test, has_event(file));
	KUNIT_EXPECT_EQ(test, word_of(file, id), U64_MAX);
	sim_pass_long(file->wheel, 3 + day - 1);
	expect_event(test, file, 3 + day);
	test_took_long(test);
}

static void simple_wheel_is_not_outdone(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .flags = HWHEEL_SIMPLE,
	});
	struct hwheel_file *file = make_file_on(test, wheel);

	share_words(test, file);
	store(file, add_due(test, file, 3), U64_MAX);
	expect_event(test, file, 3 + SIM_SLOTS);
}

static void store_for_another_only_delays(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 id = add_due(test, file, 3), next = id;

	KUNIT_EXPECT_EQ(test, cancel(file, id), 0);
	sim_pass(file->wheel, 2);
	while (lower_32_bits(next) != lower_32_bits(id) || next == id) {
		struct hwheel_entry *entry = add(file);

		next = entry->id;
		if (lower_32_bits(next) == lower_32_bits(id))
			KUNIT_EXPECT_EQ(test, arm_at(entry, edge_time(file, 5)), 0);
		else
			hwheel_entry_drop(entry);
	}
	store(file, id, edge_time(file, 8));
	expect_event(test, file, 8);
}

static void store_between_times_is_forgotten(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	struct hwheel_entry *entry = add(file);

	store(file, entry->id, U64_MAX);
	KUNIT_EXPECT_EQ(test, arm_at(entry, edge_time(file, 3)), 0);
	expect_event(test, file, 3);
}

static void words_tell_deadlines(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 a = add_due(test, file, 3), b = add_due(test, file, 50);
	u64 c = add_armed(test, file, edge_time(file, 60) - 3);

	KUNIT_EXPECT_EQ(test, word_of(file, a), edge_time(file, 3));
	KUNIT_EXPECT_EQ(test, word_of(file, b), edge_time(file, 50));
	KUNIT_EXPECT_EQ(test, word_of(file, c), edge_time(file, 60));
	KUNIT_EXPECT_EQ(test, refresh_on(file, file->wheel, b), 0);
	KUNIT_EXPECT_EQ(test, word_of(file, b), HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, cancel(file, b), 0);
	KUNIT_EXPECT_EQ(test, word_of(file, b), 0);
	sim_pass(file->wheel, 3);
	KUNIT_EXPECT_EQ(test, word_of(file, a), 0);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 1);
	KUNIT_EXPECT_EQ(test, word_of(file, c), 0);
}

static void words_come_later(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	u64 id = add_due(test, file, 5), ended = add_due(test, file, 5);

	KUNIT_EXPECT_EQ(test, cancel(file, ended), 0);
	share_words(test, file);
	KUNIT_EXPECT_EQ(test, word_of(file, id), 0);
	mutex_lock(&file->lock);
	hwheel_mmap_publish_all(file, 0);
	mutex_unlock(&file->lock);
	KUNIT_EXPECT_EQ(test, word_of(file, id), edge_time(file, 5));
	KUNIT_EXPECT_EQ(test, word_of(file, ended), 0);
	store(file, id, edge_time(file, 9));
	expect_event(test, file, 9);
}

/* The call has the last word. */
static void refresh_overrides_what_was_stored(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 id = add_due(test, file, 20);
	int err;

	store(file, id, edge_time(file, 30));
	spin_lock(&file->table.lock);
	err = hwheel_entry_refresh_at(file, file->wheel, id, edge_time(file, 6));
	spin_unlock(&file->table.lock);
	KUNIT_EXPECT_EQ(test, err, 0);
	expect_event(test, file, 6);
}

static void query_tells_the_later_one(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 id = add_due(test, file, 20), cookie, deadline;

	store(file, id, edge_time(file, 30));
	spin_lock(&file->table.lock);
	hwheel_entry_query(file, file->wheel, id, &cookie, &deadline);
	spin_unlock(&file->table.lock);
	KUNIT_EXPECT_EQ(test, deadline, edge_time(file, 30));
	store(file, id, edge_time(file, 10));
	spin_lock(&file->table.lock);
	hwheel_entry_query(file, file->wheel, id, &cookie, &deadline);
	spin_unlock(&file->table.lock);
	KUNIT_EXPECT_EQ(test, deadline, edge_time(file, 20));
}

static void query_does_not_believe_the_word_of_an_ended_one(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 id = add_due(test, file, 3), cookie, deadline;

	sim_pass(file->wheel, 3);
	store(file, id, edge_time(file, 30));
	spin_lock(&file->table.lock);
	hwheel_entry_query(file, file->wheel, id, &cookie, &deadline);
	spin_unlock(&file->table.lock);
	KUNIT_EXPECT_EQ(test, deadline, edge_time(file, 3));
}

static void pending_one_s_word_is_not_0(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);

	KUNIT_EXPECT_NE(test, word_of(file, add_armed(test, file, 0)), 0);
}

static void words_are_on_the_opener_s_clock(struct kunit *test)
{
	struct hwheel_file *file = make_shared_file(test);
	u64 id;

	file->timens.monotonic = 10 * SIM_TICK;
	id = add_due(test, file, 3);
	KUNIT_EXPECT_EQ(test, word_of(file, id), edge_time(file, 13));
	store(file, id, edge_time(file, 17));
	expect_event(test, file, 7);
}

/* Nobody maps 16 million words by accident, and nobody gets more. */
static void array_has_an_end(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_mmap_pages *shared = &file->shared;
	unsigned int words = 2 * HWHEEL_MMAP_PER_PAGE + 1;

	KUNIT_EXPECT_EQ(test, hwheel_mmap_pages_grow(shared, 4, words), -EINVAL);
	KUNIT_EXPECT_NULL(test, hwheel_mmap_pages_word(shared, 0));
	KUNIT_EXPECT_EQ(test, hwheel_mmap_pages_grow(shared, 2, words), 0);
	KUNIT_EXPECT_NOT_NULL(test, hwheel_mmap_pages_word(shared, words - 2));
	KUNIT_EXPECT_NULL(test, hwheel_mmap_pages_word(shared, words - 1));
	KUNIT_EXPECT_EQ(test, hwheel_mmap_pages_grow(shared, 3, words), 0);
	KUNIT_EXPECT_NOT_NULL(test, hwheel_mmap_pages_word(shared, words - 1));
	KUNIT_EXPECT_EQ(test, hwheel_mmap_pages_grow(shared, 1, words), 0);
	KUNIT_EXPECT_EQ(test, shared->nr, 3);
}

static struct kunit_case mmap_word_cases[] = {
	KUNIT_CASE(later_store_delays),
	KUNIT_CASE(earlier_store_does_nothing),
	KUNIT_CASE(heartbeats),
	KUNIT_CASE(any_value_counts_once_and_for_a_day),
	KUNIT_CASE(simple_wheel_is_not_outdone),
	KUNIT_CASE(store_for_another_only_delays),
	KUNIT_CASE(store_between_times_is_forgotten),
	KUNIT_CASE(words_tell_deadlines),
	KUNIT_CASE(words_come_later),
	KUNIT_CASE(refresh_overrides_what_was_stored),
	KUNIT_CASE(query_tells_the_later_one),
	KUNIT_CASE(query_does_not_believe_the_word_of_an_ended_one),
	KUNIT_CASE(pending_one_s_word_is_not_0),
	KUNIT_CASE(words_are_on_the_opener_s_clock),
	KUNIT_CASE(array_has_an_end),
	{}
};

static struct kunit_suite mmap_word_suite = {
	.name		= "hwheel_mmap_word",
	.suite_init	= test_wait_for_timers,
	.test_cases	= mmap_word_cases,
};

kunit_test_suite(mmap_word_suite);
