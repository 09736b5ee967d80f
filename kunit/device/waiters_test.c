// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waking those who wait for events: how often, and how many of them.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "device/waiters.h"
#include "file_sim.h"

#define CROWD	2000
#define STOPPED	1000

/**
 * struct watcher - an entry in the queue of those who wait
 * @entry: in there
 * @woken: how often
 */
struct watcher {
	struct wait_queue_entry	entry;
	unsigned int		woken;
};

/* As for read(), which takes the event that it is woken for */
static int note_wake_up(struct wait_queue_entry *entry, unsigned int mode,
			int flags, void *key)
{
	struct watcher *watcher = container_of(entry, struct watcher, entry);

	watcher->woken++;
	return 1;
}

static struct watcher *make_watchers(struct kunit *test, struct hwheel_file *file,
				     unsigned int nr, bool exclusive)
{
	struct watcher *watchers;
	unsigned int i;

	watchers = kunit_kcalloc(test, nr, sizeof(*watchers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, watchers);
	for (i = 0; i < nr; i++) {
		init_waitqueue_func_entry(&watchers[i].entry, note_wake_up);
		if (exclusive)
			add_wait_queue_exclusive(&file->wait, &watchers[i].entry);
		else
			add_wait_queue(&file->wait, &watchers[i].entry);
	}
	return watchers;
}

static void remove_watchers(struct hwheel_file *file, struct watcher *watchers,
			    unsigned int nr)
{
	while (nr--)
		remove_wait_queue(&file->wait, &watchers[nr].entry);
}

static unsigned int sum_woken(const struct watcher *watchers, unsigned int nr)
{
	unsigned int sum = 0;

	while (nr--)
		sum += watchers[nr].woken;
	return sum;
}

static unsigned int count_woken(const struct watcher *watchers, unsigned int nr)
{
	unsigned int n = 0;

	while (nr--)
		n += watchers[nr].woken > 0;
	return n;
}

/* At one edge */
static void fire(struct kunit *test, struct hwheel_file *file, unsigned int nr)
{
	while (nr--)
		add_armed(test, file, 0);
	sim_settle(file->wheel);
}

static void a_pass_wakes_once(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct watcher *watcher = make_watchers(test, file, 1, false);

	fire(test, file, FILE_MAX);
	KUNIT_EXPECT_EQ(test, watcher->woken, 1);
	remove_watchers(file, watcher, 1);
}

/* The worker makes events of the timeouts in parts. */
static void a_stop_wakes_once(struct kunit *test)
{
	struct hwheel_file *file = open_file(sim_wheel(test), STOPPED);
	struct watcher *watcher;
	int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	watcher = make_watchers(test, file, 1, false);
	for (i = 0; i < STOPPED; i++)
		add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), STOPPED);
	KUNIT_EXPECT_EQ(test, watcher->woken, 1);
	remove_watchers(file, watcher, 1);
	close_file(file);
}

static void each_event_wakes_a_reader(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct watcher *readers = make_watchers(test, file, 5, true);

	fire(test, file, 3);
	KUNIT_EXPECT_EQ(test, sum_woken(readers, 5), 3);
	KUNIT_EXPECT_EQ(test, count_woken(readers, 5), 3);
	fire(test, file, 1);
	KUNIT_EXPECT_EQ(test, sum_woken(readers, 5), 4);
	remove_watchers(file, readers, 5);
}

/* They stand behind the crowd. */
static void readers_in_a_crowd_are_woken(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct watcher *crowd = make_watchers(test, file, CROWD, false);
	struct watcher *readers = make_watchers(test, file, 5, true);

	fire(test, file, 3);
	KUNIT_EXPECT_EQ(test, sum_woken(readers, 5), 3);
	remove_watchers(file, readers, 5);
	remove_watchers(file, crowd, CROWD);
}

static void the_end_wakes_all(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct watcher *crowd = make_watchers(test, file, CROWD, false);
	struct watcher *readers = make_watchers(test, file, 5, true);

	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, count_woken(readers, 5), 5);
	KUNIT_EXPECT_EQ(test, count_woken(crowd, CROWD), CROWD);
	remove_watchers(file, readers, 5);
	remove_watchers(file, crowd, CROWD);
}

/* The stop comes upon a cancelled timeout: the end is there when the wheel has released it. */
static void the_end_comes_with_the_last_one(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct watcher *watcher = make_watchers(test, file, 1, false);
	u64 id = add_armed(test, file, HWHEEL_NEVER);

	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, cancel(file, id), 0);
	KUNIT_EXPECT_EQ(test, watcher->woken, 0);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, watcher->woken, 1);
	remove_watchers(file, watcher, 1);
}

static struct kunit_case waiters_cases[] = {
	KUNIT_CASE(a_pass_wakes_once),
	KUNIT_CASE(a_stop_wakes_once),
	KUNIT_CASE(each_event_wakes_a_reader),
	KUNIT_CASE(readers_in_a_crowd_are_woken),
	KUNIT_CASE(the_end_wakes_all),
	KUNIT_CASE(the_end_comes_with_the_last_one),
	{}
};

static struct kunit_suite waiters_suite = {
	.name		= "hwheel_waiters",
	.test_cases	= waiters_cases,
};

kunit_test_suite(waiters_suite);
