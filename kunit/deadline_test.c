// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines that programs store in the words that they share with us.
 */
#include <linux/limits.h>

#include "set.h"

static void share_words(struct kunit *test, struct hwheel_set *set)
{
	KUNIT_ASSERT_EQ(test, 0, hwheel_shared_grow(&set->shared, 1, SET_MAX));
}

static struct hwheel_set *make_shared_set(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);

	share_words(test, set);
	return set;
}

static u64 word_of(struct hwheel_set *set, u64 id)
{
	return *hwheel_shared_word(&set->shared, lower_32_bits(id));
}

static void store(struct hwheel_set *set, u64 id, u64 ns)
{
	*hwheel_shared_word(&set->shared, lower_32_bits(id)) = ns;
}

static u64 edge_time(struct hwheel_set *set, u64 edge)
{
	return sim_edge_time(set->wheel, edge);
}

static u64 add_due(struct kunit *test, struct hwheel_set *set, u64 edge)
{
	return add_armed(test, set, edge_time(set, edge));
}

static bool has_event(struct hwheel_set *set)
{
	return hwheel_event_poll(set) & EPOLLIN;
}

/* Its event comes on this edge, and not before. */
static void expect_event(struct kunit *test, struct hwheel_set *set, u64 edge)
{
	struct hwheel_event event = { };

	sim_pass(set->wheel, edge - 1);
	KUNIT_EXPECT_FALSE(test, has_event(set));
	sim_pass(set->wheel, edge);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), sizeof(event));
	KUNIT_EXPECT_GE(test, event.fired_ns, event.deadline_ns);
}

static void later_store_delays(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 id = add_due(test, set, 3);

	store(set, id, edge_time(set, 7));
	expect_event(test, set, 7);
	KUNIT_EXPECT_EQ(test, word_of(set, id), 0);
}

static void earlier_store_does_nothing(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 stores[] = { 0, 1, edge_time(set, 2) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(stores); i++) {
		u64 id = add_due(test, set, 10 * i + 5);

		store(set, id, stores[i]);
		expect_event(test, set, 10 * i + 5);
	}
}

static void heartbeats(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 id = add_due(test, set, 20), edge;

	for (edge = 1; edge < 100; edge++) {
		sim_pass(set->wheel, edge);
		store(set, id, edge_time(set, edge + 20));
	}
	expect_event(test, set, 99 + 20);
}

/* The largest one, and then no more. */
static void any_value_counts_once_and_for_a_day(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 id = add_due(test, set, 3), edge, day;

	day = div64_u64(HWHEEL_STORE_MAX_NS, set->wheel->tick);
	store(set, id, U64_MAX);
	for (edge = 3; edge < 3 + day; edge += day / 3)
		sim_pass_long(set->wheel, edge);
	KUNIT_EXPECT_FALSE(test, has_event(set));
	KUNIT_EXPECT_EQ(test, word_of(set, id), U64_MAX);
	sim_pass_long(set->wheel, 3 + day - 1);
	expect_event(test, set, 3 + day);
	test_took_long(test);
}

static void simple_wheel_is_not_outdone(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .flags = HWHEEL_SIMPLE,
	});
	struct hwheel_set *set = make_set_on(test, wheel);

	share_words(test, set);
	store(set, add_due(test, set, 3), U64_MAX);
	expect_event(test, set, 3 + SIM_SLOTS);
}

static void store_for_another_only_delays(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 id = add_due(test, set, 3), next = id;

	KUNIT_EXPECT_EQ(test, cancel(set, id), 0);
	sim_pass(set->wheel, 2);
	while (lower_32_bits(next) != lower_32_bits(id) || next == id) {
		struct hwheel_entry *entry = add(set);

		next = entry->id;
		if (lower_32_bits(next) == lower_32_bits(id))
			KUNIT_EXPECT_EQ(test, arm_at(entry, edge_time(set, 5)), 0);
		else
			hwheel_set_drop(entry);
	}
	store(set, id, edge_time(set, 8));
	expect_event(test, set, 8);
}

static void store_between_times_is_forgotten(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	struct hwheel_entry *entry = add(set);

	store(set, entry->id, U64_MAX);
	KUNIT_EXPECT_EQ(test, arm_at(entry, edge_time(set, 3)), 0);
	expect_event(test, set, 3);
}

static void words_tell_deadlines(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 a = add_due(test, set, 3), b = add_due(test, set, 50);
	u64 c = add_armed(test, set, edge_time(set, 60) - 3);

	KUNIT_EXPECT_EQ(test, word_of(set, a), edge_time(set, 3));
	KUNIT_EXPECT_EQ(test, word_of(set, b), edge_time(set, 50));
	KUNIT_EXPECT_EQ(test, word_of(set, c), edge_time(set, 60));
	KUNIT_EXPECT_EQ(test, refresh_on(set, set->wheel, b), 0);
	KUNIT_EXPECT_EQ(test, word_of(set, b), HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, cancel(set, b), 0);
	KUNIT_EXPECT_EQ(test, word_of(set, b), 0);
	sim_pass(set->wheel, 3);
	KUNIT_EXPECT_EQ(test, word_of(set, a), 0);
	KUNIT_EXPECT_EQ(test, hwheel_set_stop(set), 1);
	KUNIT_EXPECT_EQ(test, word_of(set, c), 0);
}

static void words_come_later(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	u64 id = add_due(test, set, 5), ended = add_due(test, set, 5);

	KUNIT_EXPECT_EQ(test, cancel(set, ended), 0);
	share_words(test, set);
	KUNIT_EXPECT_EQ(test, word_of(set, id), 0);
	mutex_lock(&set->lock);
	hwheel_set_tell_all(set, 0);
	mutex_unlock(&set->lock);
	KUNIT_EXPECT_EQ(test, word_of(set, id), edge_time(set, 5));
	KUNIT_EXPECT_EQ(test, word_of(set, ended), 0);
	store(set, id, edge_time(set, 9));
	expect_event(test, set, 9);
}

/* The call has the last word. */
static void refresh_overrides_what_was_stored(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 id = add_due(test, set, 20);
	int err;

	store(set, id, edge_time(set, 30));
	spin_lock(&set->table.lock);
	err = hwheel_set_refresh_at(set, set->wheel, id, edge_time(set, 6));
	spin_unlock(&set->table.lock);
	KUNIT_EXPECT_EQ(test, err, 0);
	expect_event(test, set, 6);
}

static void query_tells_the_later_one(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 id = add_due(test, set, 20), cookie, deadline;

	store(set, id, edge_time(set, 30));
	spin_lock(&set->table.lock);
	hwheel_set_query(set, set->wheel, id, &cookie, &deadline);
	spin_unlock(&set->table.lock);
	KUNIT_EXPECT_EQ(test, deadline, edge_time(set, 30));
	store(set, id, edge_time(set, 10));
	spin_lock(&set->table.lock);
	hwheel_set_query(set, set->wheel, id, &cookie, &deadline);
	spin_unlock(&set->table.lock);
	KUNIT_EXPECT_EQ(test, deadline, edge_time(set, 20));
}

static void query_does_not_believe_the_word_of_an_ended_one(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 id = add_due(test, set, 3), cookie, deadline;

	sim_pass(set->wheel, 3);
	store(set, id, edge_time(set, 30));
	spin_lock(&set->table.lock);
	hwheel_set_query(set, set->wheel, id, &cookie, &deadline);
	spin_unlock(&set->table.lock);
	KUNIT_EXPECT_EQ(test, deadline, edge_time(set, 3));
}

static void pending_one_s_word_is_not_0(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);

	KUNIT_EXPECT_NE(test, word_of(set, add_armed(test, set, 0)), 0);
}

static void words_are_on_the_opener_s_clock(struct kunit *test)
{
	struct hwheel_set *set = make_shared_set(test);
	u64 id;

	set->offsets[0] = 10 * SIM_TICK;
	id = add_due(test, set, 3);
	KUNIT_EXPECT_EQ(test, word_of(set, id), edge_time(set, 13));
	store(set, id, edge_time(set, 17));
	expect_event(test, set, 7);
}

/* Nobody maps 16 million words by accident, and nobody gets more. */
static void array_has_an_end(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_shared *shared = &set->shared;
	unsigned int words = 2 * HWHEEL_SHARED_PER_PAGE + 1;

	KUNIT_EXPECT_EQ(test, hwheel_shared_grow(shared, 4, words), -EINVAL);
	KUNIT_EXPECT_NULL(test, hwheel_shared_word(shared, 0));
	KUNIT_EXPECT_EQ(test, hwheel_shared_grow(shared, 2, words), 0);
	KUNIT_EXPECT_NOT_NULL(test, hwheel_shared_word(shared, words - 2));
	KUNIT_EXPECT_NULL(test, hwheel_shared_word(shared, words - 1));
	KUNIT_EXPECT_EQ(test, hwheel_shared_grow(shared, 3, words), 0);
	KUNIT_EXPECT_NOT_NULL(test, hwheel_shared_word(shared, words - 1));
	KUNIT_EXPECT_EQ(test, hwheel_shared_grow(shared, 1, words), 0);
	KUNIT_EXPECT_EQ(test, shared->nr, 3);
}

static struct kunit_case deadline_cases[] = {
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

static struct kunit_suite deadline_suite = {
	.name		= "hwheel_deadline",
	.suite_init	= test_wait_for_timers,
	.test_cases	= deadline_cases,
};

kunit_test_suite(deadline_suite);
