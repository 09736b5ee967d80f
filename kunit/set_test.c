// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timeouts of a file: what userspace can't bring about at will, or not in time.
 */
#include <linux/limits.h>

#include "set.h"

#define LONG_TICK	(3600 * (u64)NSEC_PER_SEC)
#define MANY		3000

/* Time namespaces */

static const struct offset_case {
	s64	offset;
	u64	user;
	u64	ours;
	u64	back;
} offset_cases[] = {
	{ 0, 0, 0, 0 },
	{ 0, 1234, 1234, 1234 },
	{ 0, HWHEEL_NEVER, HWHEEL_NEVER, HWHEEL_NEVER },
	{ 1000, 0, 0, 1000 },
	{ 1000, 999, 0, 1000 },
	{ 1000, 1000, 0, 1000 },
	{ 1000, 1001, 1, 1001 },
	{ 1000, U64_MAX, U64_MAX - 1000, U64_MAX },
	{ S64_MAX, S64_MAX, 0, S64_MAX },
	{ -1000, 0, 1000, 0 },
	{ -1000, 1, 1001, 1 },
	{ -1000, U64_MAX, HWHEEL_NEVER + 1000, HWHEEL_NEVER },
	{ -S64_MAX, U64_MAX, HWHEEL_NEVER + S64_MAX, HWHEEL_NEVER },
};

static void times_of_others_are_shifted_and_never_wrap(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	const struct offset_case *c;

	for (c = offset_cases; c < offset_cases + ARRAY_SIZE(offset_cases); c++) {
		set->offsets[0] = c->offset;
		KUNIT_EXPECT_EQ(test, c->ours,
				hwheel_time_from_user(set, set->wheel, c->user));
		KUNIT_EXPECT_EQ(test, c->back,
				hwheel_time_to_user(set, set->wheel, c->ours));
	}
}

static void our_past_is_not_before_their_zero(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);

	set->offsets[0] = -1000;
	KUNIT_EXPECT_EQ(test, hwheel_time_to_user(set, set->wheel, 999), 0);
}

static void each_clock_has_its_offset(struct kunit *test)
{
	struct hwheel *boot = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .clock = CLOCK_BOOTTIME,
	});
	struct hwheel_set *set = make_set(test);

	set->offsets[0] = 1000;
	set->offsets[1] = 70;
	KUNIT_EXPECT_EQ(test, hwheel_time_to_user(set, set->wheel, 1), 1001);
	KUNIT_EXPECT_EQ(test, hwheel_time_to_user(set, boot, 1), 71);
	KUNIT_EXPECT_EQ(test, hwheel_time_from_user(set, boot, 1071), 1001);
}

/* Ids */

static void ids_are_not_used_again(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	u64 last = 0;
	int i;

	for (i = 0; i < 10 * SET_MAX; i++) {
		struct hwheel_entry *entry = add(set);

		KUNIT_ASSERT_FALSE(test, IS_ERR(entry));
		KUNIT_EXPECT_GT(test, entry->id, last);
		last = entry->id;
		hwheel_set_drop(entry);
	}
	KUNIT_EXPECT_EQ(test, cancel(set, last), -EALREADY);
	KUNIT_EXPECT_EQ(test, cancel(set, last + 1), -ENOENT);
}

/* Its index is another one's by now. */
static void stale_id_names_nobody(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_entry *entry = add(set);
	u64 stale = entry->id, id;
	int i;

	for (i = 0; i < SET_MAX; i++) {
		hwheel_set_drop(entry);
		entry = add(set);
	}
	id = entry->id;
	KUNIT_EXPECT_EQ(test, lower_32_bits(id), lower_32_bits(stale));
	KUNIT_EXPECT_EQ(test, arm_at(entry, HWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, query_on(set, set->wheel, stale), -ENOENT);
	KUNIT_EXPECT_EQ(test, refresh_on(set, set->wheel, stale), -ENOENT);
	KUNIT_EXPECT_EQ(test, cancel(set, stale), -EALREADY);
	KUNIT_EXPECT_EQ(test, query_on(set, set->wheel, id), HWHEEL_STATE_PENDING);
}

static void used_up_ids_end_the_set(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_entry *entry = add(set);
	int i, n = 0;

	hwheel_set_drop(entry);
	spin_lock(&set->table.lock);
	for (i = 0; i < SET_MAX; i++)
		hwheel_table_at(&set->table, i)->id = (U32_MAX - 1ULL) << 32 | i;
	spin_unlock(&set->table.lock);
	while (!IS_ERR(entry = add(set))) {
		hwheel_set_drop(entry);
		n++;
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(entry), -ENOSPC);
	KUNIT_EXPECT_EQ(test, n, 2 * SET_MAX);
	KUNIT_EXPECT_EQ(test, held(set), 0);
}

/* What was never told is not there, be it free or about to be armed. */
static void ids_to_come_name_nobody(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_entry *entry = add(set);
	u64 id = entry->id, next = id + (1ULL << 32);

	KUNIT_EXPECT_EQ(test, query_on(set, set->wheel, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, refresh_on(set, set->wheel, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, cancel(set, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, arm_at(entry, HWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, cancel(set, id), 0);
	KUNIT_EXPECT_EQ(test, hwheel_set_stop(set), 0);

	KUNIT_EXPECT_EQ(test, cancel(set, id), -EALREADY);
	KUNIT_EXPECT_EQ(test, query_on(set, set->wheel, next), -ENOENT);
	KUNIT_EXPECT_EQ(test, refresh_on(set, set->wheel, next), -ENOENT);
	KUNIT_EXPECT_EQ(test, cancel(set, next), -ENOENT);
}

/* Whatever became of the timeout before */
static void entries_forget(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_event event;
	u64 id;

	KUNIT_EXPECT_EQ(test, cancel(set, add_armed(test, set, HWHEEL_NEVER)), 0);
	sim_settle(set->wheel);
	add_armed(test, set, 0);
	sim_settle(set->wheel);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, HWHEEL_EVENT_EXPIRED);
	id = add_armed(test, set, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, query_on(set, set->wheel, id), HWHEEL_STATE_PENDING);
	KUNIT_EXPECT_EQ(test, lower_32_bits(id), lower_32_bits(event.id));
	KUNIT_EXPECT_NE(test, id, event.id);
}

static void all_that_is_held_counts_for_the_limit(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_entry *prepared = add(set), *another;
	struct hwheel_event event;

	add_armed(test, set, 0);
	KUNIT_EXPECT_EQ(test, cancel(set, add_armed(test, set, HWHEEL_NEVER)), 0);
	another = add(set);
	KUNIT_ASSERT_FALSE(test, IS_ERR(another));
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(add(set)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, held(set), SET_MAX);

	sim_settle(set->wheel);
	KUNIT_EXPECT_EQ(test, held(set), SET_MAX - 1);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), sizeof(event));
	hwheel_set_drop(prepared);
	hwheel_set_drop(another);
	KUNIT_EXPECT_EQ(test, held(set), 0);
}

/* Stop */

static void stop_does_not_wait_for_a_tick(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = LONG_TICK, .slots = SIM_SLOTS,
	});
	struct hwheel_set *set = make_set_on(test, wheel);
	u64 begin, deadline = HWHEEL_NEVER;
	struct hwheel_event event;

	KUNIT_EXPECT_EQ(test, cancel(set, add_armed(test, set, deadline)), 0);
	add_armed(test, set, deadline);
	add_armed(test, set, deadline);
	test_sleep(wheel, SIM_SETTLE);	/* the worker lingers */
	begin = test_now(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_set_stop(set), 2);
	KUNIT_EXPECT_LT(test, test_now(wheel), begin + SIM_SETTLE);

	KUNIT_EXPECT_EQ(test, read_event(set, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, HWHEEL_EVENT_STOPPED);
	KUNIT_EXPECT_EQ(test, event.deadline_ns, deadline);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, read_event(set, &event), 0);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(set), EPOLLHUP);
	KUNIT_EXPECT_EQ(test, hwheel_set_stop(set), 0);
}

static void stop_takes_its_time_with_many(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_set *set = hwheel_set_create(wheel, MANY);
	struct hwheel_event event;
	unsigned int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(set));
	for (i = 0; i < MANY; i++)
		add_armed(test, set, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_set_stop(set), MANY);
	for (i = 0; i < MANY; i++)
		if (read_event(set, &event) != sizeof(event))
			break;
	KUNIT_EXPECT_EQ(test, i, MANY);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), 0);
	hwheel_set_close(set);
}

/* Cancelled, but the worker does not know yet */
static void stop_waits_for_what_is_let_go(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_event event;

	sim_settle(set->wheel);
	KUNIT_EXPECT_EQ(test, cancel(set, add_armed(test, set, HWHEEL_NEVER)), 0);
	KUNIT_EXPECT_EQ(test, held(set), 1);
	KUNIT_EXPECT_EQ(test, hwheel_set_stop(set), 0);
	KUNIT_EXPECT_EQ(test, held(set), 0);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), 0);
}

static void stop_leaves_what_had_expired(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_event event;

	add_armed(test, set, 0);
	sim_settle(set->wheel);
	add_armed(test, set, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_set_stop(set), 1);

	KUNIT_EXPECT_EQ(test, read_event(set, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, HWHEEL_EVENT_EXPIRED);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(set), EPOLLIN | EPOLLRDNORM);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, HWHEEL_EVENT_STOPPED);
	KUNIT_EXPECT_GE(test, test_now(set->wheel), event.fired_ns);
}

static void arm_under_way_meets_a_stop(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_entry *entry = add(set);
	struct hwheel_event event;

	KUNIT_EXPECT_EQ(test, hwheel_set_stop(set), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(add(set)), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(set), 0);

	KUNIT_EXPECT_EQ(test, arm_at(entry, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), 0);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(set), EPOLLHUP);
}

static void close_ends_whatever_there_is(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_set *set = hwheel_set_create(wheel, SET_MAX);

	KUNIT_ASSERT_FALSE(test, IS_ERR(set));
	add_armed(test, set, 0);
	sim_settle(wheel);
	add_armed(test, set, 0);
	add_armed(test, set, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, cancel(set, add_armed(test, set, HWHEEL_NEVER)), 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 2);
	hwheel_set_close(set);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	sim_settle(wheel);
}

/* Events */

static void short_reads_take_whole_events(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_event events[3];
	const size_t one = sizeof(*events);

	KUNIT_EXPECT_EQ(test, read_bytes(set, events, one), -EAGAIN);
	add_armed(test, set, 0);
	add_armed(test, set, 0);
	add_armed(test, set, 0);
	sim_settle(set->wheel);
	KUNIT_EXPECT_EQ(test, read_bytes(set, events, one - 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, read_bytes(set, events, 2 * one - 1), one);
	KUNIT_EXPECT_EQ(test, read_bytes(set, events, 3 * one), 2 * one);
	KUNIT_EXPECT_EQ(test, read_bytes(set, events, one), -EAGAIN);
	KUNIT_EXPECT_EQ(test, held(set), 0);
}

/* Configuring */

static int may_configure(struct hwheel_set *set)
{
	int err;

	mutex_lock(&set->lock);
	err = hwheel_set_may_configure(set);
	mutex_unlock(&set->lock);
	return err;
}

static void configure(struct hwheel_set *set, struct hwheel *wheel)
{
	mutex_lock(&set->lock);
	hwheel_set_configure(set, wheel, SET_MAX);
	mutex_unlock(&set->lock);
}

static void an_id_settles_the_wheel(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);

	KUNIT_EXPECT_EQ(test, may_configure(set), 0);
	configure(set, NULL);
	KUNIT_EXPECT_EQ(test, may_configure(set), 0);
	hwheel_set_drop(add(set));
	KUNIT_EXPECT_EQ(test, may_configure(set), -EBUSY);
	hwheel_set_stop(set);
	KUNIT_EXPECT_EQ(test, may_configure(set), -ESHUTDOWN);
}

/* As for someone who computed a deadline for the wheel that there was before */
static void deadlines_for_another_wheel_are_not_taken(struct kunit *test)
{
	struct hwheel *own = sim_wheel(test);
	struct hwheel_set *set = make_set(test);
	struct hwheel *shared = set->wheel;
	u64 id;

	configure(set, own);
	KUNIT_EXPECT_EQ(test, may_configure(set), -EBUSY);
	id = add_armed(test, set, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, refresh_on(set, shared, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, query_on(set, shared, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, refresh_on(set, own, id), 0);
	KUNIT_EXPECT_EQ(test, query_on(set, own, id), HWHEEL_STATE_PENDING);
}

static void states_are_told(struct kunit *test)
{
	struct hwheel_set *set = make_set(test);
	struct hwheel_entry *prepared = add(set);
	struct hwheel *wheel = set->wheel;
	u64 past = add_armed(test, set, 0), far, farther;
	struct hwheel_event event;

	sim_settle(wheel);
	far = add_armed(test, set, HWHEEL_NEVER);
	farther = add_armed(test, set, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, query_on(set, wheel, prepared->id), -ENOENT);
	KUNIT_EXPECT_EQ(test, query_on(set, wheel, past), HWHEEL_STATE_EXPIRED);
	KUNIT_EXPECT_EQ(test, query_on(set, wheel, far), HWHEEL_STATE_PENDING);
	KUNIT_EXPECT_EQ(test, cancel(set, far), 0);
	KUNIT_EXPECT_EQ(test, query_on(set, wheel, far), HWHEEL_STATE_CANCELLED);
	hwheel_set_stop(set);
	KUNIT_EXPECT_EQ(test, query_on(set, wheel, farther), HWHEEL_STATE_STOPPED);
	KUNIT_EXPECT_EQ(test, cancel(set, farther), -EALREADY);
	KUNIT_EXPECT_EQ(test, refresh_on(set, wheel, farther), -ENOENT);
	KUNIT_EXPECT_EQ(test, read_event(set, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, query_on(set, wheel, past), -ENOENT);
	hwheel_set_drop(prepared);
}

static struct kunit_case set_cases[] = {
	KUNIT_CASE(times_of_others_are_shifted_and_never_wrap),
	KUNIT_CASE(our_past_is_not_before_their_zero),
	KUNIT_CASE(each_clock_has_its_offset),
	KUNIT_CASE(ids_are_not_used_again),
	KUNIT_CASE(stale_id_names_nobody),
	KUNIT_CASE(used_up_ids_end_the_set),
	KUNIT_CASE(ids_to_come_name_nobody),
	KUNIT_CASE(entries_forget),
	KUNIT_CASE(all_that_is_held_counts_for_the_limit),
	KUNIT_CASE(stop_does_not_wait_for_a_tick),
	KUNIT_CASE(stop_takes_its_time_with_many),
	KUNIT_CASE(stop_waits_for_what_is_let_go),
	KUNIT_CASE(stop_leaves_what_had_expired),
	KUNIT_CASE(arm_under_way_meets_a_stop),
	KUNIT_CASE(close_ends_whatever_there_is),
	KUNIT_CASE(short_reads_take_whole_events),
	KUNIT_CASE(an_id_settles_the_wheel),
	KUNIT_CASE(deadlines_for_another_wheel_are_not_taken),
	KUNIT_CASE(states_are_told),
	{}
};

static struct kunit_suite set_suite = {
	.name		= "hwheel_set",
	.suite_init	= test_wait_for_timers,
	.test_cases	= set_cases,
};

kunit_test_suite(set_suite);
