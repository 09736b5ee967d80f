// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapped timeouts in simulated time: the test does what a program does with the shared memory.
 */
#include <linux/mm.h>

#include "device/config.h"
#include "map_sim.h"

#define MANY		1000U

/* On the edge, and not later than it took to see the clock */
static void expect_fired(struct kunit *test, struct hwheel_file *file, u32 i, u64 edge)
{
	u64 time = sim_edge_time(file->wheel, edge);

	KUNIT_EXPECT_EQ(test, map_reap(file), i);
	KUNIT_EXPECT_GE(test, record_of(file, i)->fired_ns, time);
	KUNIT_EXPECT_LT(test, record_of(file, i)->fired_ns, time + SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, record_of(file, i)->word & 7, HWHEEL_MAP_IDLE);
}

static void fires_at_its_edge(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	u64 edges[] = { 2, 3, 3 + SIM_SLOTS, 5 * SIM_SLOTS, 1000 };
	int i;

	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		map_arm(file, i, sim_edge_time(file->wheel, edges[i]));
		sim_pass(file->wheel, edges[i] - 1);
		KUNIT_EXPECT_EQ(test, map_unread(file), 0);
		sim_pass(file->wheel, edges[i]);
		expect_fired(test, file, i, edges[i]);
	}
}

static void never_before_its_deadline(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	u64 deadline = sim_edge_time(file->wheel, 5) + 1;

	map_arm(file, 0, deadline);
	sim_pass(file->wheel, 5);
	KUNIT_EXPECT_EQ(test, map_unread(file), 0);
	sim_pass(file->wheel, 6);
	expect_fired(test, file, 0, 6);
}

/* The worker sleeps, and is kicked: at once, or at the edge if it is not. */
static void past_deadline_fires_by_the_next_edge(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	sim_pass(file->wheel, 20);
	test_sleep(file->wheel, SIM_TICK / 2);
	map_arm(file, 0, 0);
	map_arm(file, 1, sim_edge_time(file->wheel, 10));
	sim_pass(file->wheel, 21);
	map_expect_order(test, file, 0, 2);
}

static void never_is_never(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm(file, 0, U64_MAX);
	WRITE_ONCE(record_of(file, 1)->word, ~7ULL | QUEUED);
	map_submit(file, 1, 1);
	sim_pass(file->wheel, 10000);
	KUNIT_EXPECT_EQ(test, map_unread(file), 0);
	KUNIT_EXPECT_EQ(test, file->mapping->source.counts.filed, 2);
}

static void cancelled_does_not_fire(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm(file, 0, sim_edge_time(file->wheel, 5));
	KUNIT_EXPECT_TRUE(test, map_cancel(file, 0));
	map_arm(file, 1, sim_edge_time(file->wheel, 5));
	sim_pass(file->wheel, 3);
	KUNIT_EXPECT_EQ(test, file->mapping->source.counts.filed, 1);
	KUNIT_EXPECT_TRUE(test, map_cancel(file, 1));
	KUNIT_EXPECT_FALSE(test, map_cancel(file, 1));
	sim_pass(file->wheel, 4);
	KUNIT_EXPECT_EQ(test, file->mapping->source.counts.filed, 0);
	sim_pass(file->wheel, 10);
	KUNIT_EXPECT_EQ(test, map_unread(file), 0);
	KUNIT_EXPECT_EQ(test, record_of(file, 0)->word & 7, HWHEEL_MAP_CANCELLED);
	KUNIT_EXPECT_EQ(test, record_of(file, 1)->word & 7, HWHEEL_MAP_CANCELLED);
}

/* Cancelled and armed again between two looks of the worker: it sees the last of it. */
static void latest_state_counts(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm(file, 0, sim_edge_time(file->wheel, 5));
	sim_pass(file->wheel, 3);
	KUNIT_EXPECT_TRUE(test, map_cancel(file, 0));
	map_arm(file, 0, sim_edge_time(file->wheel, 9));
	KUNIT_EXPECT_TRUE(test, map_cancel(file, 0));
	map_arm(file, 0, sim_edge_time(file->wheel, 8));
	sim_pass(file->wheel, 7);
	KUNIT_EXPECT_EQ(test, map_unread(file), 0);
	sim_pass(file->wheel, 8);
	expect_fired(test, file, 0, 8);
}

static void refreshed_fires_later(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm(file, 0, sim_edge_time(file->wheel, 5));
	sim_pass(file->wheel, 4);
	KUNIT_EXPECT_TRUE(test, map_refresh(file, 0, sim_edge_time(file->wheel, 30)));
	KUNIT_EXPECT_EQ(test, map_state(file, 0), HWHEEL_MAP_PENDING);
	KUNIT_EXPECT_FALSE(test, record_of(file, 0)->word & QUEUED);
	sim_pass(file->wheel, 29);
	KUNIT_EXPECT_EQ(test, map_unread(file), 0);
	sim_pass(file->wheel, 30);
	expect_fired(test, file, 0, 30);
}

static void refreshed_fires_earlier(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm(file, 0, sim_edge_time(file->wheel, 500));
	sim_pass(file->wheel, 10);
	KUNIT_EXPECT_TRUE(test, map_refresh(file, 0, sim_edge_time(file->wheel, 12)));
	sim_pass(file->wheel, 12);
	expect_fired(test, file, 0, 12);
}

/* The thread stands still, or was killed, between setting QUEUED and its push. */
static void stopped_thread_holds_up_its_record_only(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	KUNIT_EXPECT_TRUE(test, map_arm_only(file, 0, sim_edge_time(file->wheel, 4)));
	map_arm(file, 1, sim_edge_time(file->wheel, 4));
	sim_pass(file->wheel, 6);
	expect_fired(test, file, 1, 4);
	KUNIT_EXPECT_EQ(test, map_state(file, 0), HWHEEL_MAP_PENDING);
	map_submit(file, 0, 0);
	sim_pass(file->wheel, 7);
	KUNIT_EXPECT_EQ(test, map_reap(file), 0);
}

/* A record that is filed needs no push. */
static void queued_one_fires(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm(file, 0, sim_edge_time(file->wheel, 6));
	sim_pass(file->wheel, 3);
	record_of(file, 0)->word |= QUEUED;
	sim_pass(file->wheel, 6);
	KUNIT_EXPECT_EQ(test, map_reap(file), 0);
	KUNIT_EXPECT_EQ(test, record_of(file, 0)->word & 7, HWHEEL_MAP_IDLE | QUEUED);
	map_submit(file, 0, 0);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, record_of(file, 0)->word & 7, HWHEEL_MAP_IDLE);
	KUNIT_EXPECT_EQ(test, map_reap(file), -1);
}

/* In one list of many batches, in several ticks, and cascading or not */
static void keeps_the_order_of_arming(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, MANY);
	u32 i;

	for (i = 0; i < MANY; i++) {
		if (i % 300 == 299)
			sim_settle(file->wheel);
		map_arm(file, i, sim_edge_time(file->wheel, 50));
	}
	sim_pass(file->wheel, 50);
	map_expect_order(test, file, 0, MANY);
}

static void all_lists_are_drained(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm_on(file, 1, 0, sim_edge_time(file->wheel, 4));
	sim_settle(file->wheel);
	map_arm_on(file, 0, 1, sim_edge_time(file->wheel, 6));
	sim_pass(file->wheel, 6);
	map_expect_order(test, file, 0, 2);
}

/* The ring goes round as the records are used again. */
static void ring_goes_round(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, MANY);
	u32 round, i;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < MANY; i++)
			map_arm(file, i, 0);
		sim_settle(file->wheel);
		map_expect_order(test, file, 0, MANY);
	}
	KUNIT_EXPECT_EQ(test, file->mapping->memory.header->tail, 10 * MANY);
}

/* The worker comes when it can, and says when that was. */
static void late_one_tells_when_it_fired(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	u64 time;

	map_arm(file, 0, sim_edge_time(file->wheel, 20));
	sim_pass(file->wheel, 19);
	sim_stall(SIM_TICK * 3 / 2);
	time = test_now(file->wheel);
	test_sleep(file->wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, map_reap(file), 0);
	KUNIT_EXPECT_GE(test, record_of(file, 0)->fired_ns, time);
}

static void list_may_have_all_records(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	u32 nr = file->mapping->memory.nr, i;

	for (i = 0; i < nr; i++)
		map_arm(file, i, 0);
	sim_settle(file->wheel);
	map_expect_order(test, file, 0, nr);
	KUNIT_EXPECT_FALSE(test, file->mapping->corrupt);
}

/* They are filed again when their first edge comes. */
static void refreshed_ones_are_behind_those_of_their_edge(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm(file, 0, sim_edge_time(file->wheel, 5));
	map_arm(file, 1, sim_edge_time(file->wheel, 20));
	map_arm(file, 2, sim_edge_time(file->wheel, 5));
	sim_pass(file->wheel, 3);
	KUNIT_EXPECT_TRUE(test, map_refresh(file, 0, sim_edge_time(file->wheel, 20)));
	KUNIT_EXPECT_TRUE(test, map_refresh(file, 2, sim_edge_time(file->wheel, 20)));
	sim_pass(file->wheel, 20);
	KUNIT_EXPECT_EQ(test, map_reap(file), 1);
	KUNIT_EXPECT_EQ(test, map_reap(file), 0);
	KUNIT_EXPECT_EQ(test, map_reap(file), 2);
}

static void all_that_happens_is_counted(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	const struct hwheel_source_counts *counts = &file->mapping->source.counts;

	map_arm(file, 0, 0);
	map_arm(file, 1, sim_edge_time(file->wheel, 20));
	map_arm(file, 2, HWHEEL_NEVER);
	sim_pass(file->wheel, 20);
	KUNIT_EXPECT_EQ(test, counts->drained, 3);
	KUNIT_EXPECT_EQ(test, counts->expired, 2);
	KUNIT_EXPECT_EQ(test, counts->filed, 1);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 1);
	KUNIT_EXPECT_EQ(test, counts->stopped, 1);
	KUNIT_EXPECT_EQ(test, counts->filed, 0);
}

static struct hwheel_file *open_second(struct kunit *test, struct hwheel *wheel)
{
	struct hwheel_file *file = open_file(wheel, MAP_MAX);

	KUNIT_ASSERT_EQ(test, map_more(file, MANY, 1), 0);
	return file;
}

/* Of all files, also of those that were closed: nothing of theirs is filed any more. */
static void wheel_counts_for_all_files(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1), *other;
	struct hwheel *wheel = file->wheel;

	other = open_second(test, wheel);
	map_arm(file, 0, HWHEEL_NEVER);
	map_arm(file, 1, 0);
	map_arm(other, 0, HWHEEL_NEVER);
	map_arm(other, 1, HWHEEL_NEVER);
	sim_pass(wheel, 20);
	KUNIT_EXPECT_EQ(test, wheel->sourced.drained, 4);
	KUNIT_EXPECT_EQ(test, wheel->sourced.expired, 1);
	KUNIT_EXPECT_EQ(test, wheel->sourced.filed, 3);
	close_file(other);
	KUNIT_EXPECT_EQ(test, wheel->sourced.filed, 1);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 1);
	KUNIT_EXPECT_EQ(test, wheel->sourced.stopped, 1);
	KUNIT_EXPECT_EQ(test, wheel->sourced.filed, 0);
	KUNIT_EXPECT_EQ(test, wheel->sourced.drained, 4);
}

/* Waking up */

static void idle_one_costs_no_wakeup(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	unsigned long before;

	map_arm(file, 0, sim_edge_time(file->wheel, 10000));
	sim_settle(file->wheel);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, *head_of(file, 0), HWHEEL_MAP_ASLEEP);
	KUNIT_EXPECT_EQ(test, *head_of(file, 1), HWHEEL_MAP_ASLEEP);
	before = sim_wakeups(file->wheel);
	sim_pass(file->wheel, 9999);
	KUNIT_EXPECT_LE(test, sim_wakeups(file->wheel), before + 1);
	sim_pass(file->wheel, 10000);
	expect_fired(test, file, 0, 10000);
}

/* As long as something comes in each tick */
static void busy_one_needs_no_kick(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	int i, kicks = 0;

	for (i = 0; i < 100; i++) {
		if (map_arm_only(file, i, HWHEEL_NEVER) && map_push(file, i % 2, i)) {
			hwheel_mapped_file_kick(file);
			kicks++;
		}
		test_sleep(file->wheel, SIM_TICK / 2);
	}
	KUNIT_EXPECT_EQ(test, kicks, 1);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, file->mapping->source.counts.filed, 100);
}

/* The lists sleep while the worker expires what is due. */
static void expiry_wakes_no_list(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm(file, 0, sim_edge_time(file->wheel, 20));
	sim_pass(file->wheel, 20);
	KUNIT_EXPECT_EQ(test, map_reap(file), 0);
	KUNIT_EXPECT_EQ(test, *head_of(file, 0), HWHEEL_MAP_ASLEEP);
	KUNIT_EXPECT_TRUE(test, map_arm_only(file, 1, 0));
	KUNIT_EXPECT_TRUE(test, map_push(file, 0, 1));
	hwheel_mapped_file_kick(file);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, map_reap(file), 1);
}

/* In each tick is enough. */
static void one_in_each_tick_needs_no_kick(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	int i, kicks = 0;

	sim_pass(file->wheel, 10);
	for (i = 0; i < 10; i++) {
		if (map_arm_only(file, i, HWHEEL_NEVER) && map_push(file, 0, i)) {
			hwheel_mapped_file_kick(file);
			kicks++;
		}
		test_sleep_until(file->wheel, sim_edge_time(file->wheel, 10 + i) + SIM_TICK / 2);
	}
	KUNIT_EXPECT_EQ(test, kicks, 1);
}

/* After the first one the worker waits for more, after the next it knows better. */
static void lone_ones_are_not_waited_for(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	int i;

	for (i = 0; i < 4; i++) {
		sim_pass(file->wheel, 10 + 10 * i);
		KUNIT_EXPECT_EQ(test, *head_of(file, 0), HWHEEL_MAP_ASLEEP);
		map_arm(file, i, HWHEEL_NEVER);
		test_sleep(file->wheel, SIM_SETTLE);
		KUNIT_EXPECT_EQ(test, *head_of(file, 0), i ? HWHEEL_MAP_ASLEEP : 0);
	}
	sim_pass(file->wheel, 100);
	map_arm(file, 8, HWHEEL_NEVER);
	map_arm(file, 9, HWHEEL_NEVER);
	test_sleep(file->wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, *head_of(file, 0), 0);
}

/**
 * struct watcher - a poll()
 * @entry: in the queue
 * @file:  the file
 * @woken: how often it was woken
 * @push:  the record that is pushed on the first list when the file has events, or -1
 */
struct watcher {
	struct wait_queue_entry	entry;
	struct hwheel_file	*file;
	unsigned int		woken;
	int			push;
};

static int watcher_wake(struct wait_queue_entry *entry, unsigned int mode, int flags,
			void *key)
{
	struct watcher *watcher = container_of(entry, struct watcher, entry);

	watcher->woken++;
	if (watcher->push >= 0 && map_arm_only(watcher->file, watcher->push, 0))
		map_submit(watcher->file, 0, watcher->push);
	watcher->push = -1;
	return 1;
}

static void watch(struct watcher *watcher, struct hwheel_file *file, int push)
{
	*watcher = (struct watcher) { .file = file, .push = push };
	init_waitqueue_func_entry(&watcher->entry, watcher_wake);
	add_wait_queue(&file->wait, &watcher->entry);
}

static void events_wake_those_who_poll(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	struct watcher watcher;

	watch(&watcher, file, -1);
	map_arm(file, 0, HWHEEL_NEVER);
	map_arm(file, 1, HWHEEL_NEVER);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, watcher.woken, 0);
	map_arm(file, 2, 0);
	map_arm(file, 3, 0);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, watcher.woken, 1);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), EPOLLIN | EPOLLRDNORM);
	map_expect_order(test, file, 2, 2);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), 0);
	remove_wait_queue(&file->wait, &watcher.entry);
}

/* Also when nothing was pending */
static void stop_wakes_those_who_poll(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	struct watcher watcher;

	watch(&watcher, file, -1);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	KUNIT_EXPECT_EQ(test, watcher.woken, 1);
	remove_wait_queue(&file->wait, &watcher.entry);
}

/* A call that fails on a stopped file tells nobody of an end that poll() tells of. */
static void failed_call_wakes_nobody(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	struct watcher watcher;

	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	watch(&watcher, file, -1);
	hwheel_file_publish_end(file);
	KUNIT_EXPECT_EQ(test, watcher.woken, 0);
	remove_wait_queue(&file->wait, &watcher.entry);
}

/* The worker, which has just drained the list, is about to park it. */
static void what_is_pushed_before_parking_is_found(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	struct watcher watcher;

	map_arm(file, 0, 0);
	sim_settle(file->wheel);
	sim_pass(file->wheel, 10);
	watch(&watcher, file, 2);
	map_arm(file, 1, 0);
	sim_settle(file->wheel);
	map_expect_order(test, file, 0, 3);
	remove_wait_queue(&file->wait, &watcher.entry);
}

/* Segments */

static void second_map_adds_records(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	u32 first = file->mapping->memory.nr;

	map_arm(file, first - 1, sim_edge_time(file->wheel, 10));
	sim_settle(file->wheel);
	KUNIT_ASSERT_EQ(test, map_more(file, MANY, 0), 0);
	KUNIT_EXPECT_GE(test, file->mapping->memory.nr, first + MANY);
	map_arm(file, first, sim_edge_time(file->wheel, 10));
	map_arm(file, file->mapping->memory.nr - 1, sim_edge_time(file->wheel, 10));
	sim_pass(file->wheel, 10);
	KUNIT_EXPECT_EQ(test, map_reap(file), first - 1);
	KUNIT_EXPECT_EQ(test, map_reap(file), first);
	KUNIT_EXPECT_EQ(test, map_reap(file), file->mapping->memory.nr - 1);
}

/* In each of them the first and the last */
static void records_of_many_segments_are_found(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	u32 step = file->mapping->memory.nr, i;

	for (i = 1; i < 7; i++)
		KUNIT_ASSERT_EQ(test, map_more(file, 1, 0), 0);
	for (i = 0; i < 7 * step; i += step) {
		map_arm(file, i, 0);
		map_arm(file, i + step - 1, 0);
	}
	sim_settle(file->wheel);
	for (i = 0; i < 7 * step; i += step) {
		KUNIT_EXPECT_EQ(test, map_reap(file), i);
		KUNIT_EXPECT_EQ(test, map_reap(file), i + step - 1);
	}
}

/* With room for no whole number of pages */
static void map_tells_where_all_is(struct kunit *test)
{
	struct hwheel_map arg = { .records = 1, .lists = 33 };
	struct hwheel_file *file = open_file(sim_wheel(test), 3000);
	u64 lists = PAGE_ALIGN(33 * sizeof(struct hwheel_map_list));
	u64 ring = PAGE_ALIGN(4096 * sizeof(u32));

	KUNIT_ASSERT_EQ(test, hwheel_mapped_file_map(file, &arg), 0);
	KUNIT_EXPECT_EQ(test, arg.records, HWHEEL_MAP_PAGE);
	KUNIT_EXPECT_EQ(test, arg.lists, 33);
	KUNIT_EXPECT_EQ(test, arg.version, HWHEEL_MAP_VERSION);
	KUNIT_EXPECT_EQ(test, file->mapping->memory.header->version, HWHEEL_MAP_VERSION);
	KUNIT_EXPECT_EQ(test, arg.ring_size, ring / sizeof(u32));
	KUNIT_EXPECT_EQ(test, arg.lists_offset, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, arg.ring_offset, PAGE_SIZE + lists);
	KUNIT_EXPECT_EQ(test, arg.records_offset, PAGE_SIZE + lists + ring);
	KUNIT_EXPECT_EQ(test, arg.size, PAGE_SIZE + lists + ring + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, map_more(file, 3000 - HWHEEL_MAP_PAGE, 0), 0);
	KUNIT_EXPECT_GE(test, file->mapping->memory.nr, 3000);
	close_file(file);
}

/* Not where the wheel was created */
static void mapping_begins_where_the_wheel_is(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);

	sim_pass(wheel, 1000);
	KUNIT_EXPECT_EQ(test, map_file_on(test, wheel, 1)->mapping->slots.cursor, 1000);
}

/* A power of two, also of a wheel with several levels */
static void slots_are_no_more_than_records(struct kunit *test)
{
	static const unsigned int slots[] = { 4, 64, 4096, 65536 };
	unsigned int most = roundup_pow_of_two(round_up(MAP_MAX, HWHEEL_MAP_PAGE)), i;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .slots = slots[i], .levels = 2,
		});
		struct hwheel_mapping *map = map_file_on(test, wheel, 1)->mapping;

		KUNIT_EXPECT_EQ(test, map->slots.mask + 1, min(slots[i], most));
		KUNIT_EXPECT_EQ(test, map->slots.levels, 2);
	}
}

static void header_has_the_offset_of_the_clock(struct kunit *test)
{
	struct hwheel_file *file = open_file(sim_wheel(test), MAP_MAX);

	file->timens.monotonic = -12345;
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, file->mapping->memory.header->clock_offset_ns, -12345);
	close_file(file);
}

static void outputs_of_map_are_to_be_zero(struct kunit *test)
{
	struct hwheel_file *file = open_file(sim_wheel(test), MAP_MAX);
	const struct hwheel_map wrong[] = {
		{ .records = 1, .lists = 1, .flags = 1 },
		{ .records = 1, .lists = 1, .version = 1 },
		{ .records = 1, .lists = 1, .ring_size = 1 },
		{ .records = 1, .lists = 1, .reserved = 1 },
		{ .records = 1, .lists = 1, .lists_offset = 1 },
		{ .records = 1, .lists = 1, .ring_offset = 1 },
		{ .records = 1, .lists = 1, .records_offset = 1 },
		{ .records = 1, .lists = 1, .size = 1 },
		{ .records = 1, .lists = HWHEEL_MAP_LISTS + 1 },
		{ .records = 1 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct hwheel_map arg = wrong[i];

		KUNIT_EXPECT_EQ(test, hwheel_mapped_file_map(file, &arg), -EINVAL);
	}
	close_file(file);
}

static void simple_wheel_is_not_mapped(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .flags = HWHEEL_SIMPLE,
	});
	struct hwheel_file *file = open_file(wheel, MAP_MAX);

	KUNIT_EXPECT_EQ(test, map_more(file, 1, 1), -EOPNOTSUPP);
	close_file(file);
}

static void limits_of_map(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	KUNIT_EXPECT_EQ(test, map_more(file, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, map_more(file, MAP_MAX + 1, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, map_more(file, U32_MAX, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, map_more(file, MAP_MAX - file->mapping->memory.nr + 1, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, map_more(file, MAP_MAX - file->mapping->memory.nr, 2), 0);
	KUNIT_EXPECT_EQ(test, file->mapping->memory.nr, MAP_MAX);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 2), -ENOSPC);
}

static s64 taken_of_limit(const struct hwheel *wheel)
{
	return atomic64_read(&wheel->pending);
}

/* They count for the limit, and not as pending. */
static void limited_wheel_reserves_the_records(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = 300,
	});
	struct hwheel_file *file = map_file_on(test, wheel, 1);
	u64 first = file->mapping->memory.nr;

	KUNIT_EXPECT_EQ(test, taken_of_limit(wheel), first);
	KUNIT_EXPECT_EQ(test, map_more(file, 301 - first, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, taken_of_limit(wheel), first);
	file = open_file(wheel, MAP_MAX);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, taken_of_limit(wheel), 2 * first);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	close_file(file);
	KUNIT_EXPECT_EQ(test, taken_of_limit(wheel), first);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static void stop_gives_the_records_back(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = 300,
	});
	struct hwheel_file *file = open_file(wheel, MAP_MAX);

	KUNIT_ASSERT_EQ(test, map_more(file, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	KUNIT_EXPECT_EQ(test, taken_of_limit(wheel), 0);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	close_file(file);
	KUNIT_EXPECT_EQ(test, taken_of_limit(wheel), 0);
}

static u64 segment_bytes(u32 records)
{
	return sizeof(struct hwheel_map_segment) + records * sizeof(struct hwheel_map_node) +
	       records * sizeof(struct hwheel_map_record);
}

/* All that the file has allocated */
static u64 mapped_bytes(const struct hwheel_file *file)
{
	const struct hwheel_mapping *map = file->mapping;
	const struct hwheel_map_memory *memory = &map->memory;
	unsigned int i, ring = (memory->ring_mask + 1) * sizeof(u32) / PAGE_SIZE;
	u64 bytes = sizeof(*map) + memory->first_page * PAGE_SIZE + ring * sizeof(*memory->ring) +
		    memory->pages.max * sizeof(*memory->pages.pages) +
		    memory->max / HWHEEL_MAP_PAGE * sizeof(*memory->segments) +
		    hwheel_slots_bytes(map->slots.mask + 1, map->slots.levels);

	for (i = 0; i < memory->nr_segments; i++)
		bytes += segment_bytes(memory->segments[i]->nr);
	return bytes;
}

/* More often than it might be mapped */
static void failed_map_takes_no_place(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = 300,
	});
	struct hwheel_file *file = open_file(wheel, MAP_MAX);
	int i;

	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, map_more(file, 301, 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, charged(file), 0);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, map_more(file, 300, 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, charged(file), mapped_bytes(file));
	KUNIT_EXPECT_EQ(test, file->mapping->memory.pages.nr,
			hwheel_mapping_nr_pages(file->mapping));
	close_file(file);
}

static void memory_is_charged(struct kunit *test)
{
	static const u32 maxima[] = { 1, 100, HWHEEL_MAP_PAGE + 1, MAP_MAX, 70000 };
	static const u32 lists[] = { 1, 2, 33, HWHEEL_MAP_LISTS };
	struct hwheel_file *file, *other = map_file_open(test, sim_wheel(test));
	unsigned int i;

	for (i = 0; i < 20; i++) {
		file = open_file(other->wheel, maxima[i % 5]);
		KUNIT_EXPECT_EQ(test, map_more(file, 1, lists[i % 4]), 0);
		KUNIT_EXPECT_EQ(test, charged(file), mapped_bytes(file));
		map_more(file, 2 * HWHEEL_MAP_PAGE, 0);
		map_more(file, 1, 0);
		KUNIT_EXPECT_EQ(test, charged(file), mapped_bytes(file));
		close_file(file);
		KUNIT_EXPECT_EQ(test, charged(other), 0);
	}
}

/* Neither the first MAP nor a second one leaves anything when there is no room for all of it. */
static void account_without_room_gets_no_records(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	u64 max = hwheel_account_max_bytes, more = segment_bytes(3 * HWHEEL_MAP_PAGE);
	u64 one = charged(file);

	leave_room(file, more - 1);
	KUNIT_EXPECT_EQ(test, map_more(file, 3 * HWHEEL_MAP_PAGE, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, charged(file), one);
	KUNIT_EXPECT_EQ(test, charged(file), mapped_bytes(file));
	leave_room(file, more);
	KUNIT_EXPECT_EQ(test, map_more(file, 3 * HWHEEL_MAP_PAGE, 0), 0);
	KUNIT_EXPECT_EQ(test, charged(file), one + more);

	file = open_file(file->wheel, MAP_MAX);
	leave_room(file, one - segment_bytes(HWHEEL_MAP_PAGE) - 1);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 2), -ENOSPC);
	leave_room(file, one - 1);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 2), -ENOSPC);
	KUNIT_EXPECT_NULL(test, file->mapping);
	KUNIT_EXPECT_EQ(test, may_configure(file), 0);
	KUNIT_EXPECT_EQ(test, charged(file), one + more);
	leave_room(file, one);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 2), 0);
	close_file(file);
	hwheel_account_max_bytes = max;
}

/* It took the account's default wheel before it failed. */
static void failed_map_leaves_the_wheel(struct kunit *test)
{
	struct hwheel_file *file = hwheel_file_create(current_cred(), MAP_MAX);
	u64 max = hwheel_account_max_bytes;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	hwheel_publish_init(file);
	leave_room(file, 0);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 1), -ENOSPC);
	hwheel_account_max_bytes = max;
	KUNIT_EXPECT_NULL(test, file->wheel);
	KUNIT_EXPECT_NULL(test, file->account_wheel);
	KUNIT_EXPECT_EQ(test, file->account->users, 0);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 1), 0);
	KUNIT_EXPECT_PTR_EQ(test, file->wheel, file->account->wheel);
	KUNIT_EXPECT_EQ(test, file->account->users, 1);
	hwheel_file_end(file);
	hwheel_config_destroy(file);
	hwheel_file_free(file);
}

static int try_mmap(struct kunit *test, struct hwheel_file *file, vm_flags_t flags,
		    unsigned long pgoff, struct vm_area_struct **vma)
{
	int err;

	*vma = kunit_kzalloc(test, sizeof(**vma), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, *vma);
	vma_init(*vma, &init_mm);
	vm_flags_init(*vma, flags);
	(*vma)->vm_end = PAGE_SIZE;
	(*vma)->vm_pgoff = pgoff;
	mmap_write_lock(&init_mm);
	err = hwheel_mapped_file_mmap(file, *vma);
	mmap_write_unlock(&init_mm);
	return err;
}

static void pages_are_mapped_that_are_there(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	unsigned long nr = file->mapping->memory.pages.nr;
	struct vm_area_struct *vma;

	KUNIT_EXPECT_EQ(test, try_mmap(test, file, VM_READ, 0, &vma), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_mmap(test, file, VM_MAYSHARE, nr, &vma), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_mmap(test, file, VM_MAYSHARE, nr - 1, &vma), 0);
	KUNIT_EXPECT_EQ(test, vma->vm_flags, VM_MAYSHARE | VM_DONTCOPY | VM_DONTEXPAND);
}

static vm_fault_t fault_at(struct vm_area_struct *vma, unsigned long pgoff, struct page **page)
{
	struct vm_fault vmf = { .vma = vma, .pgoff = pgoff };
	vm_fault_t ret = vma->vm_ops->fault(&vmf);

	*page = vmf.page;
	return ret;
}

static void faults_find_what_is_there(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	struct hwheel_mmap_pages *pages = &file->mapping->memory.pages;
	struct vm_area_struct *vma;
	struct page *page;

	KUNIT_ASSERT_EQ(test, try_mmap(test, file, VM_MAYSHARE, 0, &vma), 0);
	KUNIT_EXPECT_EQ(test, fault_at(vma, pages->nr, &page), VM_FAULT_SIGBUS);
	KUNIT_EXPECT_EQ(test, fault_at(vma, pages->max, &page), VM_FAULT_SIGBUS);
	KUNIT_EXPECT_EQ(test, fault_at(vma, pages->nr - 1, &page), 0);
	KUNIT_EXPECT_PTR_EQ(test, page, pages->pages[pages->nr - 1]);
	KUNIT_EXPECT_EQ(test, page_count(page), 2);
	put_page(page);
}

static void mapped_or_with_ids(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	struct hwheel_file *other = make_file_on(test, file->wheel);
	struct hwheel_event event;

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(add(file)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), -EOPNOTSUPP);
	add_armed(test, other, 0);
	KUNIT_EXPECT_EQ(test, map_more(other, 1, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_kick(other), -EINVAL);
}

static void map_settles_the_wheel(struct kunit *test)
{
	struct hwheel_file *file = map_file_open(test, sim_wheel(test));

	KUNIT_EXPECT_EQ(test, may_configure(file), 0);
	KUNIT_ASSERT_EQ(test, map_more(file, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, may_configure(file), -EBUSY);
}

/* Stopping */

static void stop_makes_events_of_all(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, MANY);
	u64 before = test_now(file->wheel);
	u32 i;

	for (i = 0; i < MANY / 2; i++)
		map_arm(file, i, HWHEEL_NEVER);
	sim_settle(file->wheel);
	for (; i < MANY; i++)
		map_arm_only(file, i, HWHEEL_NEVER);
	map_cancel(file, 3);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), MANY - 1);
	KUNIT_EXPECT_EQ(test, map_unread(file), MANY - 1);
	for (i = 0; i < MANY; i++)
		if (i != 3)
			KUNIT_ASSERT_EQ(test, map_reap(file), i | HWHEEL_MAP_STOPPED);
	KUNIT_EXPECT_GE(test, record_of(file, 0)->fired_ns, before);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), EPOLLHUP);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
}

/* Their events come before the end. */
static void stop_walks_all_segments(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	u32 first = file->mapping->memory.nr;

	map_arm_only(file, 0, HWHEEL_NEVER);
	KUNIT_ASSERT_EQ(test, map_more(file, MANY, 0), 0);
	map_arm_only(file, first, HWHEEL_NEVER);
	map_arm_only(file, file->mapping->memory.nr - 1, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 3);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), EPOLLIN | EPOLLRDNORM);
	KUNIT_EXPECT_EQ(test, map_reap(file), HWHEEL_MAP_STOPPED);
	KUNIT_EXPECT_EQ(test, map_reap(file), first | HWHEEL_MAP_STOPPED);
	KUNIT_EXPECT_EQ(test, map_reap(file),
			(file->mapping->memory.nr - 1) | HWHEEL_MAP_STOPPED);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), EPOLLHUP);
}

static void stop_closes_the_lists(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 5);
	u32 i;

	for (i = 0; i < 5; i++)
		map_arm_on(file, 0, i, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 5);
	KUNIT_EXPECT_EQ(test, *head_of(file, 0), HWHEEL_MAP_CLOSED);
	KUNIT_EXPECT_EQ(test, *head_of(file, 1), HWHEEL_MAP_CLOSED);
}

static void nothing_fires_after_stop(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), 0);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	KUNIT_EXPECT_EQ(test, file->mapping->memory.header->stopped, 1);
	map_arm(file, 0, 0);
	hwheel_mapped_file_kick(file);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, map_unread(file), 0);
	KUNIT_EXPECT_TRUE(test, map_cancel(file, 0));
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	KUNIT_EXPECT_EQ(test, map_more(file, 1, 2), -ESHUTDOWN);
}

static void close_ends_at_once(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = 3600 * (u64)NSEC_PER_SEC,
	});
	struct hwheel_file *file = open_file(wheel, MAP_MAX);
	u64 before = test_now(wheel);

	KUNIT_ASSERT_EQ(test, map_more(file, MANY, 2), 0);
	map_arm(file, 0, 1);
	test_sleep(wheel, SIM_SETTLE);
	map_arm(file, 1, 1);
	close_file(file);
	KUNIT_EXPECT_LT(test, test_now(wheel) - before, SIM_TICK);
	KUNIT_EXPECT_EQ(test, hwheel_slots_next(&wheel->slots), HWHEEL_NO_EDGE);
}

/* Hostile memory */

static void expect_given_up(struct kunit *test, struct hwheel_file *file)
{
	sim_settle(file->wheel);
	KUNIT_EXPECT_TRUE(test, file->mapping->corrupt);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), EPOLLERR);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_kick(file), 0);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
}

static bool is_polled(struct hwheel_file *file)
{
	return test_bit(HWHEEL_SOURCE_IS_ACTIVE, &file->mapping->source.flags);
}

/* The worker lingers after the first record, and not after a later one that comes alone. */
static void lone_records_are_not_lingered_for(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 100);
	struct hwheel *wheel = file->wheel;

	sim_pass(wheel, 10);
	map_arm(file, 0, U64_MAX);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_TRUE(test, is_polled(file));
	sim_pass(wheel, 20);
	KUNIT_EXPECT_FALSE(test, is_polled(file));
	map_arm(file, 1, U64_MAX);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_FALSE(test, is_polled(file));
	map_arm(file, 2, U64_MAX);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_TRUE(test, is_polled(file));
	KUNIT_EXPECT_EQ(test, file->mapping->source.counts.filed, 3);
}

/* A program that does nothing but kick wakes the worker twice in a tick at most. */
static void kicks_alone_end_in_polling(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 100);
	struct hwheel *wheel = file->wheel;
	unsigned long wakeups;
	int i;

	sim_pass(wheel, 10);
	hwheel_mapped_file_kick(file);
	sim_pass(wheel, 20);
	wakeups = sim_wakeups(wheel);
	for (i = 0; i < 5; i++) {
		hwheel_mapped_file_kick(file);
		test_sleep(wheel, SIM_SETTLE);
	}
	KUNIT_EXPECT_LE(test, sim_wakeups(wheel), wakeups + 2);
	KUNIT_EXPECT_TRUE(test, is_polled(file));
	sim_pass(wheel, 22);
	KUNIT_EXPECT_FALSE(test, is_polled(file));
}

/* Once nothing is pending, the next edge has a time that does not fit 64 bits. */
static void far_edge_costs_no_wakeup(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = BIT(26), .slots = 65536, .levels = 3,
	});
	struct hwheel_file *file = map_file_on(test, wheel, 1);
	unsigned long wakeups;

	sim_pass(wheel, 3);
	map_arm(file, 0, sim_edge_time(wheel, 5));
	sim_pass(wheel, 75);
	hwheel_mapped_file_kick(file);
	sim_settle(wheel);
	wakeups = sim_wakeups(wheel);
	sim_pass(wheel, 100);
	KUNIT_EXPECT_LE(test, sim_wakeups(wheel), wakeups + 1);
}

/* Where a record's node is, or was last */
static unsigned int level_of(struct hwheel_file *file, u32 i)
{
	struct hwheel_mapping *map = file->mapping;

	return map->memory.segments[0]->nodes[i].node.slot / map->slots.stride;
}

/* 1,024 records of one slot, in ticks of 1 ms: four parts of the time of a pass */
static struct hwheel_file *file_with_full_slot(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = NSEC_PER_MSEC, .slots = 64, .levels = 2,
	});
	struct hwheel_file *file = map_file_on(test, wheel, 1024);
	u32 i;

	for (i = 0; i < 1024; i++)
		map_arm(file, i, sim_edge_time(wheel, 320 + i % 32));
	sim_pass(wheel, 313);
	return file;
}

/* By a thread that is stopped before its push; the slot is begun at edge 314. */
static void due_while_it_is_moved_is_published(struct kunit *test)
{
	struct hwheel_file *file = file_with_full_slot(test);

	KUNIT_EXPECT_TRUE(test, map_arm_only(file, 5, sim_edge_time(file->wheel, 1)));
	sim_pass(file->wheel, 315);
	KUNIT_EXPECT_EQ(test, map_unread(file), 1);
	KUNIT_EXPECT_EQ(test, map_reap(file), 5);
}

static void full_slot_is_emptied_before_it_is_due(struct kunit *test)
{
	struct hwheel_file *file = file_with_full_slot(test);
	struct hwheel *wheel = file->wheel;
	u32 i;

	for (i = 0; i < 1024; i++)
		KUNIT_ASSERT_EQ(test, level_of(file, i), 1);
	sim_pass(wheel, 319);
	for (i = 0; i < 1024; i++)
		KUNIT_ASSERT_EQ(test, level_of(file, i), 0);
	for (i = 0; i < 32; i++) {
		sim_pass(wheel, 320 + i);
		KUNIT_EXPECT_EQ(test, map_unread(file), (i + 1) * 1024 / 32);
	}
}

static void cycle_in_a_list_is_found(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm_only(file, 0, 0);
	map_arm_only(file, 1, 0);
	map_push(file, 0, 0);
	map_push(file, 0, 1);
	record_of(file, 0)->link = 2;
	hwheel_mapped_file_kick(file);
	expect_given_up(test, file);
}

/* The worker has found the damage, and not closed the lists yet. */
static void damage_is_told_once_the_lists_are_closed(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	file->mapping->corrupt = true;
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), 0);
	hwheel_mapped_file_kick(file);
	expect_given_up(test, file);
	KUNIT_EXPECT_EQ(test, *head_of(file, 1), HWHEEL_MAP_CLOSED);
}

static void damage_wakes_those_who_poll(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	struct watcher watcher;

	watch(&watcher, file, -1);
	*head_of(file, 0) = file->mapping->memory.nr + 1;
	hwheel_mapped_file_kick(file);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, watcher.woken, 1);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), EPOLLERR);
	KUNIT_EXPECT_EQ(test, *head_of(file, 1), HWHEEL_MAP_CLOSED);
	remove_wait_queue(&file->wait, &watcher.entry);
}

/* However many lists are damaged, and however often the program kicks */
static void damage(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	unsigned int i;

	for (i = 0; i < 2; i++)
		*head_of(file, i) = file->mapping->memory.nr + 1;
	for (i = 0; i < 3; i++) {
		hwheel_mapped_file_kick(file);
		sim_settle(file->wheel);
	}
	expect_given_up(test, file);
}

#define MINUTE	(60ULL * NSEC_PER_SEC)

static void damage_is_one_line_a_minute(struct kunit *test)
{
	static const char text[] = "a mapped list of uid ", more[] = "(left out before: 2 such";
	struct hwheel *wheel = sim_wheel(test);
	unsigned int i, before, before_more;

	/* Others may have left some out, and written one. */
	test_sleep(wheel, MINUTE + 1);
	damage(test);
	test_sleep(wheel, MINUTE + 1);
	before = test_count_logged(text);
	for (i = 0; i < 3; i++)
		damage(test);
	KUNIT_EXPECT_EQ(test, test_count_logged(text) - before, 1);
	before_more = test_count_logged(more);
	test_sleep(wheel, MINUTE + 1);
	damage(test);
	KUNIT_EXPECT_EQ(test, test_count_logged(text) - before, 2);
	KUNIT_EXPECT_EQ(test, test_count_logged(more) - before_more, 1);
}

/* The kernel's exchanges and the program's have to be one, and so have their views of a page. */
static void mapped_where_exchanges_are_atomic(struct kunit *test)
{
	struct hwheel_file *file = open_file(sim_wheel(test), MAP_MAX);
	bool works = !IS_ENABLED(CONFIG_GENERIC_ATOMIC64) && !IS_ENABLED(CONFIG_ARM) &&
		     !IS_ENABLED(CONFIG_MIPS);

	KUNIT_EXPECT_EQ(test, map_more(file, 1, 1), works ? 0 : -EOPNOTSUPP);
	close_file(file);
}

static void link_to_nothing_is_found(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm_only(file, 0, 0);
	map_push(file, 0, 0);
	record_of(file, 0)->link = file->mapping->memory.nr + 1;
	hwheel_mapped_file_kick(file);
	expect_given_up(test, file);
}

static void head_to_nothing_is_found(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	*head_of(file, 0) = file->mapping->memory.nr + 1;
	hwheel_mapped_file_kick(file);
	expect_given_up(test, file);
}

static void other_files_go_on(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	struct hwheel_file *other = map_file_on(test, file->wheel, 1);

	map_arm(other, 0, sim_edge_time(file->wheel, 10));
	*head_of(file, 0) = file->mapping->memory.nr + 1;
	hwheel_mapped_file_kick(file);
	sim_pass(file->wheel, 10);
	KUNIT_EXPECT_TRUE(test, file->mapping->corrupt);
	expect_fired(test, other, 0, 10);
}

/* On two lists, or without having ended: it is there once, and ends once. */
static void record_on_two_lists_is_there_once(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	map_arm_only(file, 0, sim_edge_time(file->wheel, 10));
	map_push(file, 0, 0);
	map_push(file, 1, 0);
	hwheel_mapped_file_kick(file);
	sim_pass(file->wheel, 10);
	map_expect_order(test, file, 0, 1);
}

static void strange_words_do_no_harm(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	u32 i;

	for (i = 0; i < 64; i++) {
		record_of(file, i)->word = (u64)i << 60 | i;
		map_submit(file, i % 2, i);
	}
	sim_settle(file->wheel);
	for (i = 0; i < 64; i++) {
		record_of(file, i)->word = ~(u64)i;
		map_submit(file, i % 2, i);
	}
	sim_settle(file->wheel);
	KUNIT_EXPECT_FALSE(test, file->mapping->corrupt);
	KUNIT_EXPECT_LE(test, map_unread(file), 64);
}

/* The worker is between the two stores of hwheel_map_ring_publish(). */
static void claimed_before_the_tail_is_known(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	file->mapping->memory.header->tail = 1;
	file->mapping->memory.header->head = 1;
	KUNIT_EXPECT_EQ(test, map_unread(file), 0);
	KUNIT_EXPECT_EQ(test, hwheel_mapped_file_poll(file), 0);
}

static void head_far_from_tail_is_bounded(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);

	file->mapping->memory.header->head = U64_MAX;
	KUNIT_EXPECT_EQ(test, map_unread(file), 1);
	file->mapping->memory.header->head = (u64)S64_MAX + 2;
	KUNIT_EXPECT_EQ(test, map_unread(file), file->mapping->memory.nr);
	file->mapping->memory.header->head = (u64)S64_MAX + 1;
	KUNIT_EXPECT_EQ(test, map_unread(file), 0);
}

static struct kunit_case mapping_cases[] = {
	KUNIT_CASE(fires_at_its_edge),
	KUNIT_CASE(never_before_its_deadline),
	KUNIT_CASE(past_deadline_fires_by_the_next_edge),
	KUNIT_CASE(never_is_never),
	KUNIT_CASE(cancelled_does_not_fire),
	KUNIT_CASE(latest_state_counts),
	KUNIT_CASE(refreshed_fires_later),
	KUNIT_CASE(refreshed_fires_earlier),
	KUNIT_CASE(stopped_thread_holds_up_its_record_only),
	KUNIT_CASE(queued_one_fires),
	KUNIT_CASE(keeps_the_order_of_arming),
	KUNIT_CASE(all_lists_are_drained),
	KUNIT_CASE(ring_goes_round),
	KUNIT_CASE(late_one_tells_when_it_fired),
	KUNIT_CASE(list_may_have_all_records),
	KUNIT_CASE(refreshed_ones_are_behind_those_of_their_edge),
	KUNIT_CASE(all_that_happens_is_counted),
	KUNIT_CASE(wheel_counts_for_all_files),
	KUNIT_CASE(idle_one_costs_no_wakeup),
	KUNIT_CASE(busy_one_needs_no_kick),
	KUNIT_CASE(expiry_wakes_no_list),
	KUNIT_CASE(one_in_each_tick_needs_no_kick),
	KUNIT_CASE(lone_ones_are_not_waited_for),
	KUNIT_CASE(events_wake_those_who_poll),
	KUNIT_CASE(stop_wakes_those_who_poll),
	KUNIT_CASE(failed_call_wakes_nobody),
	KUNIT_CASE(what_is_pushed_before_parking_is_found),
	KUNIT_CASE(second_map_adds_records),
	KUNIT_CASE(records_of_many_segments_are_found),
	KUNIT_CASE(map_tells_where_all_is),
	KUNIT_CASE(mapping_begins_where_the_wheel_is),
	KUNIT_CASE(slots_are_no_more_than_records),
	KUNIT_CASE(header_has_the_offset_of_the_clock),
	KUNIT_CASE(outputs_of_map_are_to_be_zero),
	KUNIT_CASE(simple_wheel_is_not_mapped),
	KUNIT_CASE(limits_of_map),
	KUNIT_CASE(limited_wheel_reserves_the_records),
	KUNIT_CASE(stop_gives_the_records_back),
	KUNIT_CASE(failed_map_takes_no_place),
	KUNIT_CASE(memory_is_charged),
	KUNIT_CASE(account_without_room_gets_no_records),
	KUNIT_CASE(failed_map_leaves_the_wheel),
	KUNIT_CASE(pages_are_mapped_that_are_there),
	KUNIT_CASE(faults_find_what_is_there),
	KUNIT_CASE(mapped_or_with_ids),
	KUNIT_CASE(map_settles_the_wheel),
	KUNIT_CASE(stop_makes_events_of_all),
	KUNIT_CASE(stop_walks_all_segments),
	KUNIT_CASE(stop_closes_the_lists),
	KUNIT_CASE(nothing_fires_after_stop),
	KUNIT_CASE(close_ends_at_once),
	KUNIT_CASE(lone_records_are_not_lingered_for),
	KUNIT_CASE(kicks_alone_end_in_polling),
	KUNIT_CASE(far_edge_costs_no_wakeup),
	KUNIT_CASE(full_slot_is_emptied_before_it_is_due),
	KUNIT_CASE(due_while_it_is_moved_is_published),
	KUNIT_CASE(cycle_in_a_list_is_found),
	KUNIT_CASE(damage_is_told_once_the_lists_are_closed),
	KUNIT_CASE(damage_wakes_those_who_poll),
	KUNIT_CASE(damage_is_one_line_a_minute),
	KUNIT_CASE(mapped_where_exchanges_are_atomic),
	KUNIT_CASE(link_to_nothing_is_found),
	KUNIT_CASE(head_to_nothing_is_found),
	KUNIT_CASE(other_files_go_on),
	KUNIT_CASE(record_on_two_lists_is_there_once),
	KUNIT_CASE(strange_words_do_no_harm),
	KUNIT_CASE(claimed_before_the_tail_is_known),
	KUNIT_CASE(head_far_from_tail_is_bounded),
	{ }
};

static struct kunit_suite mapping_suite = {
	.name = "hwheel_mapping",
	.test_cases = mapping_cases,
};

kunit_test_suite(mapping_suite);
