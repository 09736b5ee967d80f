// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timeouts of a file: what userspace can't bring about at will, or not in time.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/limits.h>

#include "file_sim.h"

#define LONG_TICK	(3600 * (u64)NSEC_PER_SEC)
#define MANY		3000

/* Ids */

static void ids_are_not_used_again(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	u64 last = 0;
	int i;

	for (i = 0; i < 10 * FILE_MAX; i++) {
		struct hwheel_entry *entry = add(file);

		KUNIT_ASSERT_FALSE(test, IS_ERR(entry));
		KUNIT_EXPECT_GT(test, entry->id, last);
		last = entry->id;
		hwheel_entry_drop(entry);
	}
	KUNIT_EXPECT_EQ(test, cancel(file, last), -ENOENT);
	KUNIT_EXPECT_EQ(test, cancel(file, last + 1), -ENOENT);
}

/* Its index is another one's by now. */
static void stale_id_names_nobody(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_entry *entry = add(file);
	u64 stale = entry->id, id;
	int i;

	for (i = 0; i < FILE_MAX; i++) {
		hwheel_entry_drop(entry);
		entry = add(file);
	}
	id = entry->id;
	KUNIT_EXPECT_EQ(test, lower_32_bits(id), lower_32_bits(stale));
	KUNIT_EXPECT_EQ(test, arm_at(entry, HWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, query_on(file, file->wheel, stale), -ENOENT);
	KUNIT_EXPECT_EQ(test, refresh_on(file, file->wheel, stale), -ENOENT);
	KUNIT_EXPECT_EQ(test, cancel(file, stale), -ENOENT);
	KUNIT_EXPECT_EQ(test, query_on(file, file->wheel, id), HWHEEL_STATE_PENDING);
}

static void used_up_ids_end_the_set(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_entry *entry = add(file);
	int i, n = 0;

	hwheel_entry_drop(entry);
	spin_lock(&file->table.lock);
	for (i = 0; i < FILE_MAX; i++)
		hwheel_table_at(&file->table, i)->id = (U32_MAX - 1ULL) << 32 | i;
	spin_unlock(&file->table.lock);
	while (!IS_ERR(entry = add(file))) {
		hwheel_entry_drop(entry);
		n++;
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(entry), -ENOSPC);
	KUNIT_EXPECT_EQ(test, n, 2 * FILE_MAX);
	KUNIT_EXPECT_EQ(test, held(file), 0);
}

/* An id that no caller was told names nobody: of a free entry, or of one about to be armed. */
static void ids_to_come_name_nobody(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_entry *entry = add(file);
	u64 id = entry->id, next = id + (1ULL << 32);

	KUNIT_EXPECT_EQ(test, query_on(file, file->wheel, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, refresh_on(file, file->wheel, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, cancel(file, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, arm_at(entry, HWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, cancel(file, id), 0);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);

	KUNIT_EXPECT_EQ(test, cancel(file, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, query_on(file, file->wheel, next), -ENOENT);
	KUNIT_EXPECT_EQ(test, refresh_on(file, file->wheel, next), -ENOENT);
	KUNIT_EXPECT_EQ(test, cancel(file, next), -ENOENT);
}

/* Whatever became of the timeout before */
static void entries_forget(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_event event;
	u64 id;

	KUNIT_EXPECT_EQ(test, cancel(file, add_armed(test, file, HWHEEL_NEVER)), 0);
	sim_settle(file->wheel);
	add_armed(test, file, 0);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, HWHEEL_EVENT_EXPIRED);
	id = add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, query_on(file, file->wheel, id), HWHEEL_STATE_PENDING);
	KUNIT_EXPECT_EQ(test, lower_32_bits(id), lower_32_bits(event.id));
	KUNIT_EXPECT_NE(test, id, event.id);
}

static void all_that_is_held_counts_for_the_limit(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_entry *prepared = add(file);
	struct hwheel_event event;

	add_armed(test, file, 0);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, cancel(file, add_armed(test, file, HWHEEL_NEVER)), 0);
	add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, held(file), FILE_MAX);

	/* The cancelled one makes room for this, and then nothing does. */
	add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, held(file), FILE_MAX);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(add(file)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
	add_armed(test, file, HWHEEL_NEVER);
	hwheel_entry_drop(prepared);
	KUNIT_EXPECT_EQ(test, held(file), FILE_MAX - 1);
}

/* Pages of entries, and the array of them, which has room for 16 at first */
static void entries_are_charged(struct kunit *test)
{
	const unsigned int nr = 17 * HWHEEL_TABLE_PER_PAGE;
	struct hwheel_file *file = open_file(sim_wheel(test), nr), *other = make_file(test);
	const size_t pointer = sizeof(void *);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, charged(file), 0);
	add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, charged(file), PAGE_SIZE + 16 * pointer);
	for (i = 1; i < HWHEEL_TABLE_PER_PAGE; i++)
		add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, charged(file), PAGE_SIZE + 16 * pointer);
	for (; i < nr; i++)
		add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, charged(file), 17 * PAGE_SIZE + 32 * pointer);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(add(file)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, charged(file), 17 * PAGE_SIZE + 32 * pointer);
	close_file(file);
	KUNIT_EXPECT_EQ(test, charged(other), 0);
}

static void account_without_room_gets_no_entries(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	u64 max = hwheel_account_max_bytes, first = PAGE_SIZE + 16 * sizeof(void *);

	leave_room(file, first - 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(add(file)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, charged(file), 0);
	KUNIT_EXPECT_EQ(test, file->table.nr, 0);
	KUNIT_EXPECT_EQ(test, may_configure(file), 0);
	leave_room(file, first);
	hwheel_entry_drop(add(file));
	KUNIT_EXPECT_EQ(test, charged(file), first);
	/* What there is can be used on. */
	leave_room(file, 0);
	hwheel_entry_drop(add(file));
	hwheel_account_max_bytes = max;
}

/* Stop */

static void stop_does_not_wait_for_a_tick(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = LONG_TICK, .slots = SIM_SLOTS,
	});
	struct hwheel_file *file = make_file_on(test, wheel);
	u64 begin, deadline = HWHEEL_NEVER;
	struct hwheel_event event;

	KUNIT_EXPECT_EQ(test, cancel(file, add_armed(test, file, deadline)), 0);
	add_armed(test, file, deadline);
	add_armed(test, file, deadline);
	test_sleep(wheel, SIM_SETTLE);	/* the worker lingers */
	begin = test_now(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 2);
	KUNIT_EXPECT_LT(test, test_now(wheel), begin + SIM_SETTLE);

	KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, HWHEEL_EVENT_STOPPED);
	KUNIT_EXPECT_EQ(test, event.deadline_ns, deadline);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, read_event(file, &event), 0);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(file), EPOLLHUP);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
}

static void stop_takes_its_time_with_many(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_file *file = open_file(wheel, MANY);
	struct hwheel_event event;
	unsigned int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	for (i = 0; i < MANY; i++)
		add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), MANY);
	for (i = 0; i < MANY; i++)
		if (read_event(file, &event) != sizeof(event))
			break;
	KUNIT_EXPECT_EQ(test, i, MANY);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), 0);
	close_file(file);
}

/* Cancelled, but the worker does not know yet */
static void stop_waits_for_what_is_let_go(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_event event;

	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, cancel(file, add_armed(test, file, HWHEEL_NEVER)), 0);
	KUNIT_EXPECT_EQ(test, held(file), 1);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	KUNIT_EXPECT_EQ(test, held(file), 0);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), 0);
}

static void stop_leaves_what_had_expired(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_event event;

	add_armed(test, file, 0);
	sim_settle(file->wheel);
	add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 1);

	KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, HWHEEL_EVENT_EXPIRED);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(file), EPOLLIN | EPOLLRDNORM);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, HWHEEL_EVENT_STOPPED);
	KUNIT_EXPECT_GE(test, test_now(file->wheel), event.fired_ns);
}

static void arm_under_way_meets_a_stop(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_entry *entry = add(file);
	struct hwheel_event event;

	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(add(file)), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(file), 0);

	KUNIT_EXPECT_EQ(test, arm_at(entry, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), 0);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(file), EPOLLHUP);
}

/**
 * struct stopper - a thread that stops a file
 * @file:  it stops this one
 * @ret:  with this result
 * @done: it has
 */
struct stopper {
	struct hwheel_file	*file;
	long			ret;
	struct completion	done;
};

static int stop_it(void *data)
{
	struct stopper *stopper = data;

	stopper->ret = hwheel_file_stop(stopper->file);
	complete(&stopper->done);
	return 0;
}

static void wait_for_test(struct sim_timeout *sim)
{
	wait_for_completion(sim->data);
}

/* Otherwise an ARM that grows, CONFIG and MAP would wait for that callback as well. */
static void stop_does_not_hold_the_lock_while_it_waits(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *holds = sim_timeouts(test, wheel, 1, &sim_ops);
	struct hwheel_file *file = make_file_on(test, wheel);
	struct stopper stopper = { .file = file };
	DECLARE_COMPLETION_ONSTACK(release);

	init_completion(&stopper.done);
	holds->then = wait_for_test;
	holds->data = &release;
	add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&holds->timeout, 0), 0);
	sim_settle(wheel);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(stop_it, &stopper, "stopper")));
	sim_settle(wheel);

	KUNIT_EXPECT_FALSE(test, completion_done(&stopper.done));
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&file->lock));
	complete(&release);
	wait_for_completion(&stopper.done);
	KUNIT_EXPECT_EQ(test, stopper.ret, 1);
}

/* Full, but of timeouts that are cancelled and wait for the worker, which sleeps for long */
static void cancelled_ones_make_room(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = LONG_TICK,
	});
	struct hwheel_file *file = make_file_on(test, wheel);
	u64 begin = test_now(wheel);
	int i;

	for (i = 0; i < 10 * FILE_MAX; i++)
		KUNIT_EXPECT_EQ(test, cancel(file, add_armed(test, file, HWHEEL_NEVER)), 0);
	KUNIT_EXPECT_LT(test, test_now(wheel), begin + NSEC_PER_SEC);
}

static void pending_ones_do_not_make_room(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	int i;

	for (i = 0; i < FILE_MAX; i++)
		add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(add(file)), -ENOSPC);
}

static void close_ends_whatever_there_is(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_file *file = open_file(wheel, FILE_MAX);

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	add_armed(test, file, 0);
	sim_settle(wheel);
	add_armed(test, file, 0);
	add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, cancel(file, add_armed(test, file, HWHEEL_NEVER)), 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 2);
	close_file(file);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	sim_settle(wheel);
}

/* Events */

static void short_reads_take_whole_events(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_event events[3];
	const size_t one = sizeof(*events);

	KUNIT_EXPECT_EQ(test, read_bytes(file, events, one), -EAGAIN);
	add_armed(test, file, 0);
	add_armed(test, file, 0);
	add_armed(test, file, 0);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, read_bytes(file, events, one - 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, read_bytes(file, events, 2 * one - 1), one);
	KUNIT_EXPECT_EQ(test, read_bytes(file, events, 3 * one), 2 * one);
	KUNIT_EXPECT_EQ(test, read_bytes(file, events, one), -EAGAIN);
	KUNIT_EXPECT_EQ(test, held(file), 0);
}

/* Configuring */

static void configure(struct hwheel_file *file, struct hwheel *wheel)
{
	mutex_lock(&file->lock);
	hwheel_file_configure(file, wheel, FILE_MAX);
	mutex_unlock(&file->lock);
}

static void an_id_settles_the_wheel(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);

	KUNIT_EXPECT_EQ(test, may_configure(file), 0);
	configure(file, NULL);
	KUNIT_EXPECT_EQ(test, may_configure(file), 0);
	hwheel_entry_drop(add(file));
	KUNIT_EXPECT_EQ(test, may_configure(file), -EBUSY);
	hwheel_file_stop(file);
	KUNIT_EXPECT_EQ(test, may_configure(file), -ESHUTDOWN);
}

/* As for someone who computed a deadline for the wheel that there was before */
static void deadlines_for_another_wheel_are_not_taken(struct kunit *test)
{
	struct hwheel *own = sim_wheel(test);
	struct hwheel_file *file = make_file(test);
	struct hwheel *shared = file->wheel;
	u64 id;

	configure(file, own);
	KUNIT_EXPECT_EQ(test, may_configure(file), -EBUSY);
	id = add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, refresh_on(file, shared, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, query_on(file, shared, id), -ENOENT);
	KUNIT_EXPECT_EQ(test, refresh_on(file, own, id), 0);
	KUNIT_EXPECT_EQ(test, query_on(file, own, id), HWHEEL_STATE_PENDING);
}

static void states_are_told(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_entry *prepared = add(file);
	struct hwheel *wheel = file->wheel;
	u64 past = add_armed(test, file, 0), far, farther;
	struct hwheel_event event;

	sim_settle(wheel);
	far = add_armed(test, file, HWHEEL_NEVER);
	farther = add_armed(test, file, HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, query_on(file, wheel, prepared->id), -ENOENT);
	KUNIT_EXPECT_EQ(test, query_on(file, wheel, past), HWHEEL_STATE_EXPIRED);
	KUNIT_EXPECT_EQ(test, query_on(file, wheel, far), HWHEEL_STATE_PENDING);
	KUNIT_EXPECT_EQ(test, cancel(file, far), 0);
	KUNIT_EXPECT_EQ(test, query_on(file, wheel, far), -ENOENT);
	hwheel_file_stop(file);
	KUNIT_EXPECT_EQ(test, query_on(file, wheel, farther), HWHEEL_STATE_STOPPED);
	KUNIT_EXPECT_EQ(test, cancel(file, farther), -ENOENT);
	KUNIT_EXPECT_EQ(test, refresh_on(file, wheel, farther), -ENOENT);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, query_on(file, wheel, past), -ENOENT);
	hwheel_entry_drop(prepared);
}

/* Timeouts that are withdrawn, or set again */

static void set_moves_or_takes_the_event_back(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	u64 id = add_armed(test, file, HWHEEL_NEVER), first = id;
	struct hwheel_event event;

	KUNIT_EXPECT_EQ(test, set_at(file, &id, 0), 0);
	KUNIT_EXPECT_EQ(test, id, first);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, query_on(file, file->wheel, id), HWHEEL_STATE_EXPIRED);
	KUNIT_EXPECT_EQ(test, set_at(file, &id, HWHEEL_NEVER), 0);
	KUNIT_EXPECT_NE(test, id, first);
	KUNIT_EXPECT_EQ(test, lower_32_bits(id), lower_32_bits(first));
	KUNIT_EXPECT_EQ(test, read_event(file, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, query_on(file, file->wheel, first), -ENOENT);
	KUNIT_EXPECT_EQ(test, withdraw(file, first), -ENOENT);
	KUNIT_EXPECT_EQ(test, held(file), 1);
	KUNIT_EXPECT_EQ(test, withdraw(file, id), 0);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, held(file), 0);
	/* An entry that is free, or that has none of these ids */
	KUNIT_EXPECT_EQ(test, set_at(file, &id, HWHEEL_NEVER), -ENOENT);
}

/* The next id of the entry would be the first one again. */
static void set_leaves_an_entry_without_ids(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	struct hwheel_entry *entry = add(file);
	struct hwheel_event event;
	u64 id;

	entry->id |= (u64)U32_MAX << 32;
	id = entry->id;
	KUNIT_EXPECT_EQ(test, arm_at(entry, 0), 0);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, set_at(file, &id, HWHEEL_NEVER), -ENOENT);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
	KUNIT_EXPECT_EQ(test, event.id, id);
}

static void failed_set_leaves_the_event(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .flags = HWHEEL_SIMPLE,
	});
	struct hwheel_file *file = make_file_on(test, wheel);
	struct hwheel_event event;
	u64 ids[3], id;
	int i;

	/* Their order is that of their edges. */
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		ids[i] = add_armed(test, file, 0);
		test_sleep(wheel, 2 * SIM_TICK);
	}
	id = ids[1];
	KUNIT_EXPECT_EQ(test, set_at(file, &id, HWHEEL_NEVER), -ERANGE);
	KUNIT_EXPECT_EQ(test, id, ids[1]);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		KUNIT_EXPECT_EQ(test, read_event(file, &event), sizeof(event));
		KUNIT_EXPECT_EQ(test, event.id, ids[i]);
		KUNIT_EXPECT_NE(test, event.cookie, 7);
	}
	KUNIT_EXPECT_EQ(test, read_event(file, &event), -EAGAIN);
}

#define AT_ONE_EDGE	3

/**
 * struct in_pass - timeouts of a file, and what a callback in their pass found
 * @file: theirs
 * @ids:  their ids
 * @set:  what each SET of an expired one returned, and 0 of a pending one
 * @expired: how many had expired, and were not published
 */
struct in_pass {
	struct hwheel_file	*file;
	u64			ids[AT_ONE_EDGE];
	int			set[AT_ONE_EDGE];
	unsigned int		expired;
};

static void withdraw_in_pass(struct sim_timeout *sim)
{
	struct in_pass *p = sim->data;
	struct hwheel_file *file = p->file;
	int i;

	for (i = 0; i < AT_ONE_EDGE; i++) {
		if (query_on(file, file->wheel, p->ids[i]) == HWHEEL_STATE_EXPIRED) {
			u64 id = p->ids[i];

			p->set[i] = set_at(file, &id, HWHEEL_NEVER);
			p->expired++;
		}
		if (withdraw(file, p->ids[i]) || withdraw(file, p->ids[i]) != -ENOENT ||
		    query_on(file, file->wheel, p->ids[i]) != -ENOENT)
			p->expired = U32_MAX / 2;
	}
}

/* The worker has expired some, and queues their events at the end of the pass. */
static void withdrawn_in_its_pass(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct in_pass p = { .file = make_file_on(test, wheel) };
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);
	u64 edge = round_up(test_now(wheel), SIM_TICK) + 3 * SIM_TICK;
	struct hwheel_event event;
	unsigned int i;

	sim->then = withdraw_in_pass;
	sim->data = &p;
	for (i = 0; i < AT_ONE_EDGE; i++)
		p.ids[i] = add_armed(test, p.file, edge);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, edge + SIM_TICK), 0);
	sim_settle(wheel);
	/* A worker that is late for both edges comes to them in one pass. */
	sim_stall(3 * SIM_TICK);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_EQ(test, p.expired, AT_ONE_EDGE);
	for (i = 0; i < AT_ONE_EDGE; i++)
		KUNIT_EXPECT_TRUE(test, !p.set[i] || p.set[i] == -ENOENT);
	KUNIT_EXPECT_EQ(test, held(p.file), 0);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(p.file), 0);
	KUNIT_EXPECT_EQ(test, read_event(p.file, &event), -EAGAIN);
}

static void withdrawn_ones_are_the_end(struct kunit *test)
{
	struct hwheel_file *file = make_file(test);
	u64 ids[2] = { add_armed(test, file, HWHEEL_NEVER), add_armed(test, file, 0) };
	struct hwheel_event event;

	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 1);
	KUNIT_EXPECT_EQ(test, query_on(file, file->wheel, ids[0]), HWHEEL_STATE_STOPPED);
	/* STOP has made its event, and arms fail from now on. */
	KUNIT_EXPECT_EQ(test, set_at(file, &ids[0], HWHEEL_NEVER), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, withdraw(file, ids[0]), 0);
	KUNIT_EXPECT_EQ(test, withdraw(file, ids[1]), 0);
	KUNIT_EXPECT_EQ(test, held(file), 0);
	KUNIT_EXPECT_EQ(test, read_event(file, &event), 0);
	KUNIT_EXPECT_EQ(test, hwheel_event_poll(file), EPOLLHUP);
}

static struct kunit_case file_cases[] = {
	KUNIT_CASE(ids_are_not_used_again),
	KUNIT_CASE(stale_id_names_nobody),
	KUNIT_CASE(used_up_ids_end_the_set),
	KUNIT_CASE(ids_to_come_name_nobody),
	KUNIT_CASE(entries_forget),
	KUNIT_CASE(all_that_is_held_counts_for_the_limit),
	KUNIT_CASE(entries_are_charged),
	KUNIT_CASE(account_without_room_gets_no_entries),
	KUNIT_CASE(stop_does_not_wait_for_a_tick),
	KUNIT_CASE(stop_takes_its_time_with_many),
	KUNIT_CASE(stop_waits_for_what_is_let_go),
	KUNIT_CASE(stop_leaves_what_had_expired),
	KUNIT_CASE(arm_under_way_meets_a_stop),
	KUNIT_CASE(stop_does_not_hold_the_lock_while_it_waits),
	KUNIT_CASE(cancelled_ones_make_room),
	KUNIT_CASE(pending_ones_do_not_make_room),
	KUNIT_CASE(close_ends_whatever_there_is),
	KUNIT_CASE(short_reads_take_whole_events),
	KUNIT_CASE(an_id_settles_the_wheel),
	KUNIT_CASE(deadlines_for_another_wheel_are_not_taken),
	KUNIT_CASE(states_are_told),
	KUNIT_CASE(set_moves_or_takes_the_event_back),
	KUNIT_CASE(set_leaves_an_entry_without_ids),
	KUNIT_CASE(failed_set_leaves_the_event),
	KUNIT_CASE(withdrawn_in_its_pass),
	KUNIT_CASE(withdrawn_ones_are_the_end),
	{}
};

static struct kunit_suite file_suite = {
	.name		= "hwheel_file",
	.suite_init	= test_wait_for_timers,
	.test_cases	= file_cases,
};

kunit_test_suite(file_suite);
