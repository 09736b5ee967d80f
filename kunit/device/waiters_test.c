// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waking those who wait for events: how often, how many of them, and on whose time.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "device/account.h"
#include "device/waiters.h"
#include "file_sim.h"

#define CROWD	2000
#define STOPPED	1000
#define FILES	(4 * HWHEEL_ACCOUNT_WAITERS / HWHEEL_WAITERS_MAX)

/**
 * struct watcher - an entry in the queue of those who wait
 * @entry:     in there
 * @worker:    of the wheel
 * @woken:     how often
 * @by_worker: how often by the worker
 */
struct watcher {
	struct wait_queue_entry	entry;
	struct task_struct	*worker;
	unsigned int		woken;
	unsigned int		by_worker;
};

/* As for read(), which takes the event that it is woken for */
static int note_wake_up(struct wait_queue_entry *entry, unsigned int mode,
			int flags, void *key)
{
	struct watcher *watcher = container_of(entry, struct watcher, entry);

	watcher->woken++;
	watcher->by_worker += current == watcher->worker;
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
		watchers[i].worker = file->wheel->worker;
		init_waitqueue_func_entry(&watchers[i].entry, note_wake_up);
		if (exclusive)
			add_wait_queue_exclusive(&file->wait.queue, &watchers[i].entry);
		else
			add_wait_queue(&file->wait.queue, &watchers[i].entry);
	}
	return watchers;
}

static void remove_watchers(struct hwheel_file *file, struct watcher *watchers,
			    unsigned int nr)
{
	while (nr--)
		remove_wait_queue(&file->wait.queue, &watchers[nr].entry);
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

static unsigned int sum_by_worker(const struct watcher *watchers, unsigned int nr)
{
	unsigned int sum = 0;

	while (nr--)
		sum += watchers[nr].by_worker;
	return sum;
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
	KUNIT_EXPECT_EQ(test, watcher->by_worker, 1);
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

static void the_worker_looks_at_a_few(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct watcher *crowd = make_watchers(test, file, CROWD, false);

	fire(test, file, FILE_MAX);
	KUNIT_EXPECT_EQ(test, count_woken(crowd, CROWD), CROWD);
	KUNIT_EXPECT_LE(test, sum_by_worker(crowd, CROWD), HWHEEL_WAITERS_MAX);
	remove_watchers(file, crowd, CROWD);
}

static void as_many_as_a_few_are_woken_by_the_worker(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct watcher *crowd = make_watchers(test, file, HWHEEL_WAITERS_MAX, false);

	fire(test, file, 1);
	KUNIT_EXPECT_EQ(test, sum_by_worker(crowd, HWHEEL_WAITERS_MAX),
			HWHEEL_WAITERS_MAX);
	KUNIT_EXPECT_EQ(test, sum_woken(crowd, HWHEEL_WAITERS_MAX),
			HWHEEL_WAITERS_MAX);
	remove_watchers(file, crowd, HWHEEL_WAITERS_MAX);
}

/* The budget of a user */

/**
 * struct crowds - files of one wheel, each with as few waiters as the worker looks at
 * @wheel:    that
 * @files:    all of one user; together they have more waiters than a user's budget
 * @watchers: the waiters of each
 */
struct crowds {
	struct hwheel		*wheel;
	struct hwheel_file	*files[FILES];
	struct watcher		*watchers[FILES];
};

/* The wheel is as old as the jiffy, so that no jiffy begins within a pass. */
static struct hwheel *make_wheel_with_jiffy(struct kunit *test)
{
	schedule_timeout_uninterruptible(1);
	return sim_wheel(test);
}

static struct crowds *make_crowds(struct kunit *test)
{
	struct crowds *crowds = kunit_kzalloc(test, sizeof(*crowds), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, crowds);
	crowds->wheel = make_wheel_with_jiffy(test);
	for (i = 0; i < FILES; i++) {
		crowds->files[i] = make_file_on(test, crowds->wheel);
		crowds->watchers[i] = make_watchers(test, crowds->files[i],
						    HWHEEL_WAITERS_MAX, false);
	}
	return crowds;
}

static void remove_crowds(struct crowds *crowds)
{
	unsigned int i;

	for (i = 0; i < FILES; i++)
		remove_watchers(crowds->files[i], crowds->watchers[i], HWHEEL_WAITERS_MAX);
}

static void arm_crowds(struct kunit *test, struct crowds *crowds, u64 edge)
{
	unsigned int i;

	for (i = 0; i < FILES; i++)
		add_armed(test, crowds->files[i], sim_edge_time(crowds->wheel, edge));
}

static unsigned int sum_over_crowds(const struct crowds *crowds,
				    unsigned int (*sum)(const struct watcher *, unsigned int))
{
	unsigned int all = 0, i;

	for (i = 0; i < FILES; i++)
		all += sum(crowds->watchers[i], HWHEEL_WAITERS_MAX);
	return all;
}

static void the_worker_looks_at_a_few_of_many_files(struct kunit *test)
{
	struct crowds *crowds = make_crowds(test);

	arm_crowds(test, crowds, 10);
	sim_pass(crowds->wheel, 20);
	KUNIT_EXPECT_EQ(test, sum_over_crowds(crowds, sum_woken), FILES * HWHEEL_WAITERS_MAX);
	KUNIT_EXPECT_EQ(test, sum_over_crowds(crowds, sum_by_worker), HWHEEL_ACCOUNT_WAITERS);
	remove_crowds(crowds);
}

/* A tick is a jiffy here. */
static void a_jiffy_brings_another_budget(struct kunit *test)
{
	struct crowds *crowds = make_crowds(test);

	arm_crowds(test, crowds, 10);
	arm_crowds(test, crowds, 11);
	sim_pass(crowds->wheel, 20);
	KUNIT_EXPECT_EQ(test, sum_over_crowds(crowds, sum_woken),
			2 * FILES * HWHEEL_WAITERS_MAX);
	KUNIT_EXPECT_EQ(test, sum_over_crowds(crowds, sum_by_worker),
			2 * HWHEEL_ACCOUNT_WAITERS);
	remove_crowds(crowds);
}

/* A file of another user; its account is told to leave_user(). */
static struct hwheel_file *make_file_of(struct kunit *test, struct hwheel *wheel,
					struct hwheel_account *user)
{
	struct hwheel_file *file = make_file_on(test, wheel);

	KUNIT_ASSERT_NOT_NULL(test, user);
	file->wait.account = user;
	return file;
}

static void leave_user(struct hwheel_file *file)
{
	hwheel_account_put(file->wait.account);
	file->wait.account = file->account;
}

static void a_budget_is_of_one_user(struct kunit *test)
{
	struct crowds *crowds = make_crowds(test);
	struct hwheel_file *victims[2];
	struct watcher *readers[2];
	unsigned int i;

	/* The pass comes to one of the two when the crowds have had their budget. */
	for (i = 0; i < 2; i++) {
		victims[i] = make_file_of(test, crowds->wheel, account_of(123456));
		readers[i] = make_watchers(test, victims[i], 1, true);
		add_armed(test, victims[i], sim_edge_time(crowds->wheel, 10));
		if (!i)
			arm_crowds(test, crowds, 10);
	}
	sim_pass(crowds->wheel, 20);
	KUNIT_EXPECT_EQ(test, sum_over_crowds(crowds, sum_by_worker), HWHEEL_ACCOUNT_WAITERS);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, readers[i]->woken, 1);
		KUNIT_EXPECT_EQ(test, readers[i]->by_worker, 1);
		remove_watchers(victims[i], readers[i], 1);
		leave_user(victims[i]);
	}
	remove_crowds(crowds);
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

/* An entry that takes long to wake, as an epoll instance does that has a crowd of its own */
static int wake_for_long(struct wait_queue_entry *entry, unsigned int mode,
			 int flags, void *key)
{
	sim_stall(3 * TICK_NSEC);
	jiffies += 3;	/* as the interrupt will do that comes after this */
	return note_wake_up(entry, mode, flags, key);
}

static void the_worker_stays_away_from_slow_ones(struct kunit *test)
{
	struct hwheel_file *file = make_file(test), *other;
	struct watcher *slow = make_watchers(test, file, 1, false), *quick;

	other = make_file_on(test, file->wheel);
	quick = make_watchers(test, other, 1, false);
	slow->entry.func = wake_for_long;
	fire(test, file, 1);
	KUNIT_EXPECT_EQ(test, slow->by_worker, 1);
	fire(test, file, 1);
	KUNIT_EXPECT_EQ(test, slow->woken, 2);
	KUNIT_EXPECT_EQ(test, slow->by_worker, 1);
	/* The other file is the user's, too. */
	fire(test, other, 1);
	KUNIT_EXPECT_EQ(test, quick->woken, 1);
	KUNIT_EXPECT_EQ(test, quick->by_worker, 0);

	test_sleep(file->wheel, 11ULL * NSEC_PER_SEC);
	fire(test, other, 1);
	KUNIT_EXPECT_EQ(test, quick->by_worker, 1);
	remove_watchers(file, slow, 1);
	remove_watchers(other, quick, 1);
}

/* The worker has looked at the others when the work item looks at that one. */
static void slow_ones_of_a_work_item_are_noted(struct kunit *test)
{
	struct hwheel_file *file = make_file(test), *other;
	const unsigned int nr = HWHEEL_WAITERS_MAX + 1;
	struct watcher *crowd = make_watchers(test, file, nr, false), *quick;

	other = make_file_on(test, file->wheel);
	quick = make_watchers(test, other, 1, false);
	/* They stand the last one first. */
	crowd->entry.func = wake_for_long;
	fire(test, other, 1);
	KUNIT_EXPECT_EQ(test, quick->by_worker, 1);
	fire(test, file, 1);
	KUNIT_EXPECT_EQ(test, crowd->woken, 1);
	KUNIT_EXPECT_EQ(test, crowd->by_worker, 0);
	fire(test, other, 1);
	KUNIT_EXPECT_EQ(test, quick->woken, 2);
	KUNIT_EXPECT_EQ(test, quick->by_worker, 1);
	remove_watchers(file, crowd, nr);
	remove_watchers(other, quick, 1);
}

/* A jiffy begins meanwhile, but not while a work item looks. */
static int wake_for_a_jiffy(struct wait_queue_entry *entry, unsigned int mode,
			    int flags, void *key)
{
	struct watcher *watcher = container_of(entry, struct watcher, entry);

	if (current == watcher->worker)
		jiffies++;
	return note_wake_up(entry, mode, flags, key);
}

/* Each of them is too quick for a slow one. */
static void waiters_of_a_jiffy_use_up_the_budget(struct kunit *test)
{
	struct hwheel *wheel = make_wheel_with_jiffy(test);
	struct hwheel_file *files[FILE_MAX];
	struct watcher *watchers[FILE_MAX];
	unsigned int i, woken = 0, by_worker = 0;

	for (i = 0; i < FILE_MAX; i++) {
		files[i] = make_file_on(test, wheel);
		watchers[i] = make_watchers(test, files[i], 1, false);
		watchers[i]->entry.func = wake_for_a_jiffy;
		add_armed(test, files[i], sim_edge_time(wheel, 10));
		add_armed(test, files[i], sim_edge_time(wheel, 20));
	}
	sim_pass(wheel, 30);
	for (i = 0; i < FILE_MAX; i++) {
		woken += watchers[i]->woken;
		by_worker += watchers[i]->by_worker;
		remove_watchers(files[i], watchers[i], 1);
	}
	KUNIT_EXPECT_EQ(test, woken, 2 * FILE_MAX);
	/* One in each pass */
	KUNIT_EXPECT_EQ(test, by_worker, 2);
}

/* Longer than the worker looks at all of a file's, and less than a jiffy */
static int wake_for_a_while(struct wait_queue_entry *entry, unsigned int mode,
			    int flags, void *key)
{
	sim_stall(NSEC_PER_MSEC);
	return note_wake_up(entry, mode, flags, key);
}

static void a_long_one_is_the_last_of_the_worker(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct watcher *pair = make_watchers(test, file, 2, false);

	pair[0].entry.func = wake_for_a_while;
	pair[1].entry.func = wake_for_a_while;
	fire(test, file, 1);
	KUNIT_EXPECT_EQ(test, count_woken(pair, 2), 2);
	KUNIT_EXPECT_EQ(test, sum_by_worker(pair, 2), 1);
	fire(test, file, 1);
	KUNIT_EXPECT_GT(test, sum_woken(pair, 2), 2);
	KUNIT_EXPECT_EQ(test, sum_by_worker(pair, 2), 1);
	remove_watchers(file, pair, 2);
}

static struct kunit_case waiters_cases[] = {
	KUNIT_CASE(a_pass_wakes_once),
	KUNIT_CASE(a_stop_wakes_once),
	KUNIT_CASE(each_event_wakes_a_reader),
	KUNIT_CASE(the_worker_looks_at_a_few),
	KUNIT_CASE(as_many_as_a_few_are_woken_by_the_worker),
	KUNIT_CASE(the_worker_looks_at_a_few_of_many_files),
	KUNIT_CASE(a_jiffy_brings_another_budget),
	KUNIT_CASE(a_budget_is_of_one_user),
	KUNIT_CASE(readers_in_a_crowd_are_woken),
	KUNIT_CASE(the_end_wakes_all),
	KUNIT_CASE(the_end_comes_with_the_last_one),
	KUNIT_CASE(the_worker_stays_away_from_slow_ones),
	KUNIT_CASE(slow_ones_of_a_work_item_are_noted),
	KUNIT_CASE(waiters_of_a_jiffy_use_up_the_budget),
	KUNIT_CASE(a_long_one_is_the_last_of_the_worker),
	{}
};

static struct kunit_suite waiters_suite = {
	.name		= "hwheel_waiters",
	.test_cases	= waiters_cases,
};

kunit_test_suite(waiters_suite);
