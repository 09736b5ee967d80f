// SPDX-License-Identifier: GPL-2.0-only
/* libhwheel: what each function promises, by the library alone. Needs a loaded module. */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "kselftest_harness.h"
#include "libhwheel.h"

#define MSEC	1000000ULL
#define HOUR	(3600000 * MSEC)
#define MANY	1000

FIXTURE(lib) {
	struct hwheel *wheel;
	struct hwheel_batch *batch;
};

FIXTURE_SETUP(lib)
{
	ASSERT_EQ(0, hwheel_open(&self->wheel, HWHEEL_NONBLOCK));
	ASSERT_EQ(0, hwheel_batch_new(&self->batch, MANY));
}

FIXTURE_TEARDOWN(lib)
{
	hwheel_batch_free(self->batch);
	EXPECT_EQ(0, hwheel_close(self->wheel));
}

/* Waits until one is there: a test that hangs ends with the harness's time-out. */
static struct hwheel_event next_event(struct hwheel *wheel)
{
	struct pollfd poll_fd = { .fd = hwheel_fd(wheel), .events = POLLIN };
	struct hwheel_event event = { 0 };

	while (hwheel_next_events(wheel, &event, 1) == -EAGAIN)
		poll(&poll_fd, 1, -1);
	return event;
}

TEST_F(lib, open_refuses_unknown_flags)
{
	struct hwheel *wheel = NULL;

	EXPECT_EQ(-EINVAL, hwheel_open(&wheel, ~0U));
	EXPECT_EQ(NULL, wheel);
	EXPECT_EQ(0, hwheel_close(NULL));
}

TEST_F(lib, event_brings_cookie_back)
{
	struct hwheel_event event;
	uint64_t id = 0;

	ASSERT_EQ(0, hwheel_arm(self->wheel, MSEC, 42, &id));
	event = next_event(self->wheel);
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(42, event.cookie);
	EXPECT_EQ(HWHEEL_EVENT_EXPIRED, event.type);
	EXPECT_GE(event.fired_ns, event.deadline_ns);
	EXPECT_LE(event.fired_ns, hwheel_now(self->wheel));
	EXPECT_EQ(-EAGAIN, hwheel_next_events(self->wheel, &event, 1));
	EXPECT_EQ(-EALREADY, hwheel_cancel(self->wheel, id));
	EXPECT_EQ(-ENOENT, hwheel_query(self->wheel, id, NULL, NULL));
}

TEST_F(lib, absolute_deadline_comes_back)
{
	uint64_t deadline = (hwheel_now(self->wheel) + MSEC + 7) / 8 * 8;
	struct hwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, hwheel_arm_at(self->wheel, deadline, 0, &id));
	event = next_event(self->wheel);
	EXPECT_EQ(deadline, event.deadline_ns);
	EXPECT_GE(event.fired_ns, deadline);
}

TEST_F(lib, query_tells_state)
{
	uint64_t id, left, cookie;

	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 7, &id));
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, &left, &cookie));
	EXPECT_EQ(7, cookie);
	EXPECT_LE(left, HOUR + 8);
	EXPECT_GT(left, 0);
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, NULL, NULL));
	EXPECT_EQ(0, hwheel_cancel(self->wheel, id));
	EXPECT_NE(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, NULL, NULL));
}

/* refresh_twice: later and earlier, also by stores */
static void refresh_twice(struct __test_metadata *_metadata, struct hwheel *wheel)
{
	uint64_t id, left;

	ASSERT_EQ(0, hwheel_arm(wheel, HOUR, 0, &id));
	EXPECT_EQ(0, hwheel_refresh(wheel, id, 2 * HOUR));
	EXPECT_EQ(0, hwheel_refresh_at(wheel, id, hwheel_now(wheel) + 3 * HOUR));
	EXPECT_EQ(0, hwheel_refresh(wheel, id, MSEC));
	EXPECT_EQ(id, next_event(wheel).id);
	EXPECT_EQ(-ENOENT, hwheel_refresh(wheel, id, HOUR));
	EXPECT_EQ(-ENOENT, hwheel_refresh_at(wheel, id, hwheel_now(wheel) + HOUR));
	EXPECT_EQ(-ENOENT, hwheel_query(wheel, id, &left, NULL));
}

TEST_F(lib, refresh_by_system_call)
{
	refresh_twice(_metadata, self->wheel);
}

TEST_F(lib, refresh_by_store)
{
	ASSERT_EQ(0, hwheel_map(self->wheel));
	EXPECT_EQ(0, hwheel_map(self->wheel));
	refresh_twice(_metadata, self->wheel);
}

/* The module does not know of a store until the deadline that it knows of. */
TEST_F(lib, store_makes_no_system_call)
{
	struct hwheel_statistics stats;
	uint64_t id;

	ASSERT_EQ(0, hwheel_map(self->wheel));
	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 0, &id));
	EXPECT_EQ(0, hwheel_refresh(self->wheel, id, 2 * HOUR));
	ASSERT_EQ(0, hwheel_stats(self->wheel, &stats));
	EXPECT_EQ(0, stats.refreshed);
	EXPECT_EQ(0, hwheel_refresh(self->wheel, id, 20 * HOUR));
	ASSERT_EQ(0, hwheel_stats(self->wheel, &stats));
	EXPECT_EQ(1, stats.refreshed);
}

TEST_F(lib, configure_once)
{
	const struct hwheel_config config = {
		.tick_ns = MSEC, .slots = 64, .clock = CLOCK_BOOTTIME,
	};
	struct hwheel_info info;
	uint64_t id;

	ASSERT_EQ(0, hwheel_configure(self->wheel, &config));
	ASSERT_EQ(0, hwheel_info(self->wheel, &info));
	EXPECT_EQ(MSEC, info.tick_ns);
	EXPECT_EQ(64, info.slots);
	EXPECT_EQ(CLOCK_BOOTTIME, info.clock);
	EXPECT_EQ(1, info.own_wheel);
	EXPECT_EQ(-EBUSY, hwheel_configure(self->wheel, &config));
	ASSERT_EQ(0, hwheel_arm_at(self->wheel, hwheel_now(self->wheel) + MSEC, 0, &id));
	EXPECT_EQ(id, next_event(self->wheel).id);
}

TEST_F(lib, stop_hands_all_back)
{
	struct hwheel_event events[3];
	uint64_t id;

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, i, &id));
	EXPECT_EQ(3, hwheel_stop(self->wheel));
	EXPECT_EQ(0, hwheel_stop(self->wheel));
	ASSERT_EQ(3, hwheel_next_events(self->wheel, events, 3));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(HWHEEL_EVENT_STOPPED, events[i].type);
	EXPECT_EQ(0, hwheel_next_events(self->wheel, events, 3));
	EXPECT_EQ(-ESHUTDOWN, hwheel_arm(self->wheel, 0, 0, &id));
}

TEST_F(lib, stats_count)
{
	struct hwheel_statistics stats;
	uint64_t ids[2];

	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 0, &ids[0]));
	ASSERT_EQ(0, hwheel_arm(self->wheel, 0, 0, &ids[1]));
	EXPECT_EQ(0, hwheel_cancel(self->wheel, ids[0]));
	next_event(self->wheel);
	ASSERT_EQ(0, hwheel_stats(self->wheel, &stats));
	EXPECT_EQ(2, stats.armed);
	EXPECT_EQ(1, stats.cancelled);
	EXPECT_EQ(1, stats.expired);
	EXPECT_EQ(0, stats.pending);
}

TEST_F(lib, batch_has_bounds)
{
	struct hwheel_batch *batch = NULL;

	EXPECT_EQ(-EINVAL, hwheel_batch_new(&batch, 0));
	EXPECT_EQ(-EINVAL, hwheel_batch_new(&batch, HWHEEL_SUBMIT_MAX + 1));
	EXPECT_EQ(NULL, batch);
	hwheel_batch_free(NULL);
	EXPECT_EQ(0, hwheel_submit(self->wheel, self->batch));
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(i, hwheel_batch_arm(self->batch, HOUR, i));
	EXPECT_EQ(-ENOSPC, hwheel_batch_cancel(self->batch, 1));
	EXPECT_EQ(MANY, hwheel_batch_count(self->batch));
	EXPECT_EQ(-ECANCELED, hwheel_batch_result(self->batch, 0));
	EXPECT_EQ(-EINVAL, hwheel_batch_result(self->batch, MANY));
	EXPECT_EQ(0, hwheel_batch_id(self->batch, MANY));
	hwheel_batch_clear(self->batch);
	EXPECT_EQ(0, hwheel_batch_count(self->batch));
}

TEST_F(lib, batch_does_each_operation)
{
	uint64_t now = hwheel_now(self->wheel), id, left, cookie;
	struct hwheel_event event;

	EXPECT_EQ(0, hwheel_batch_arm(self->batch, HOUR, 10));
	EXPECT_EQ(1, hwheel_batch_arm_at(self->batch, now + HOUR, 11));
	ASSERT_EQ(2, hwheel_submit(self->wheel, self->batch));
	EXPECT_EQ(0, hwheel_batch_result(self->batch, 0));
	EXPECT_EQ(0, hwheel_batch_result(self->batch, 1));
	id = hwheel_batch_id(self->batch, 0);
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, NULL, &cookie));
	EXPECT_EQ(10, cookie);

	uint64_t other = hwheel_batch_id(self->batch, 1);

	hwheel_batch_clear(self->batch);
	EXPECT_EQ(0, hwheel_batch_refresh(self->batch, id, 2 * HOUR));
	EXPECT_EQ(1, hwheel_batch_refresh_at(self->batch, other, now + MSEC));
	EXPECT_EQ(2, hwheel_batch_cancel(self->batch, id));
	EXPECT_EQ(3, hwheel_batch_cancel(self->batch, id));
	ASSERT_EQ(4, hwheel_submit(self->wheel, self->batch));
	EXPECT_EQ(0, hwheel_batch_result(self->batch, 0));
	EXPECT_EQ(0, hwheel_batch_result(self->batch, 1));
	EXPECT_EQ(0, hwheel_batch_result(self->batch, 2));
	EXPECT_EQ(-EALREADY, hwheel_batch_result(self->batch, 3));
	event = next_event(self->wheel);
	EXPECT_EQ(other, event.id);
	EXPECT_EQ(11, event.cookie);
	EXPECT_EQ(-ENOENT, hwheel_query(self->wheel, other, &left, NULL));
}

TEST_HARNESS_MAIN
