// SPDX-License-Identifier: GPL-2.0-only
/* libhwheel: what each function promises, by the library alone. Needs a loaded module. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* By system calls, and in memory that is shared with the kernel */
FIXTURE(operations) {
	struct hwheel *wheel;
	struct hwheel_batch *batch;
};

FIXTURE_VARIANT(operations) {
	size_t mapped;
	uint64_t unit_ns;
};

FIXTURE_VARIANT_ADD(operations, by_calls) {
	.unit_ns = 8,
};

FIXTURE_VARIANT_ADD(operations, mapped) {
	.mapped = MANY, .unit_ns = 1024,
};

FIXTURE_SETUP(operations)
{
	ASSERT_EQ(0, hwheel_open(&self->wheel, HWHEEL_NONBLOCK));
	if (variant->mapped)
		ASSERT_EQ(0, hwheel_map(self->wheel, variant->mapped));
	ASSERT_EQ(0, hwheel_batch_new(&self->batch, MANY));
}

FIXTURE_TEARDOWN(operations)
{
	hwheel_batch_free(self->batch);
	EXPECT_EQ(0, hwheel_close(self->wheel));
}

/* Waits until one is there: a test that hangs ends with the harness's timeout. */
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

TEST_F(operations, event_brings_cookie_back)
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
	EXPECT_EQ(-ENOENT, hwheel_cancel(self->wheel, id));
	EXPECT_EQ(-ENOENT, hwheel_query(self->wheel, id, NULL, NULL));
}

TEST_F(operations, absolute_deadline_comes_back)
{
	uint64_t unit = variant->unit_ns, now = hwheel_now(self->wheel);
	uint64_t deadline = (now + MSEC + unit - 1) / unit * unit;
	struct hwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, hwheel_arm_at(self->wheel, deadline, 0, &id));
	event = next_event(self->wheel);
	EXPECT_EQ(deadline, event.deadline_ns);
	EXPECT_GE(event.fired_ns, deadline);
}

/* Of all that a delay can be; the sum with the time of day may not fit. */
TEST_F(operations, delays_beyond_the_clock_mean_never)
{
	const uint64_t delays[] = {
		UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - hwheel_now(self->wheel), 1ULL << 63,
		INT64_MAX, INT64_MAX - hwheel_now(self->wheel),
	};
	struct hwheel_event event;
	uint64_t id, left;

	for (size_t i = 0; i < ARRAY_SIZE(delays); i++) {
		ASSERT_EQ(0, hwheel_arm(self->wheel, delays[i], i, &id));
		EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, &left, NULL));
		EXPECT_GT(left, 200ULL * 365 * 24 * HOUR);
		ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, i, &id));
		EXPECT_EQ(0, hwheel_refresh(self->wheel, id, delays[i]));
		EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, &left, NULL));
		EXPECT_GT(left, 200ULL * 365 * 24 * HOUR);
	}
	ASSERT_EQ(0, hwheel_arm(self->wheel, 30 * MSEC, 100, &id));
	event = next_event(self->wheel);
	EXPECT_EQ(100, event.cookie);
	EXPECT_EQ(-EAGAIN, hwheel_next_events(self->wheel, &event, 1));
}

TEST_F(operations, query_tells_state)
{
	uint64_t id, left, cookie;

	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 7, &id));
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, &left, &cookie));
	EXPECT_EQ(7, cookie);
	EXPECT_LE(left, HOUR + variant->unit_ns);
	EXPECT_GT(left, 0);
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, NULL, NULL));
	EXPECT_EQ(0, hwheel_cancel(self->wheel, id));
	EXPECT_EQ(-ENOENT, hwheel_query(self->wheel, id, NULL, NULL));
}

/* Later and earlier */
TEST_F(operations, refresh)
{
	struct hwheel *wheel = self->wheel;
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

/* Moved if it is pending, which keeps its cookie, else armed */
TEST_F(operations, set)
{
	struct hwheel *wheel = self->wheel;
	uint64_t id = 0, first, cookie;
	struct hwheel_event event;

	ASSERT_EQ(0, hwheel_set(wheel, &id, HOUR, 1));
	first = id;
	EXPECT_EQ(0, hwheel_set(wheel, &id, 2 * HOUR, 2));
	EXPECT_EQ(0, hwheel_set_at(wheel, &id, hwheel_now(wheel) + HOUR, 3));
	EXPECT_EQ(0, hwheel_set_at(wheel, &id, UINT64_MAX, 3));
	EXPECT_EQ(first, id);
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(wheel, id, NULL, &cookie));
	EXPECT_EQ(1, cookie);
	EXPECT_EQ(0, hwheel_set(wheel, &id, 0, 4));
	event = next_event(wheel);
	EXPECT_EQ(first, event.id);
	EXPECT_EQ(1, event.cookie);
	EXPECT_EQ(0, hwheel_set(wheel, &id, HOUR, 5));
	EXPECT_NE(first, id);
	first = id;
	EXPECT_EQ(0, hwheel_cancel(wheel, id));
	EXPECT_EQ(0, hwheel_set(wheel, &id, HOUR, 6));
	EXPECT_NE(first, id);
	EXPECT_EQ(0, hwheel_withdraw(wheel, id));
	EXPECT_EQ(-ENOENT, hwheel_withdraw(wheel, id));
}

static void await_event(struct hwheel *wheel)
{
	struct pollfd poll_fd = { .fd = hwheel_fd(wheel), .events = POLLIN };

	poll(&poll_fd, 1, -1);
}

/* The event was not taken: it does not come. */
TEST_F(operations, set_takes_the_event_back)
{
	struct hwheel *wheel = self->wheel;
	struct hwheel_event events[4];
	uint64_t id = 0, first, other;

	ASSERT_EQ(0, hwheel_set(wheel, &id, 0, 1));
	first = id;
	await_event(wheel);
	ASSERT_EQ(0, hwheel_set(wheel, &id, HOUR, 2));
	EXPECT_NE(first, id);
	EXPECT_EQ(-EAGAIN, hwheel_next_events(wheel, events, 4));
	EXPECT_EQ(-ENOENT, hwheel_query(wheel, first, NULL, NULL));
	EXPECT_EQ(-ENOENT, hwheel_withdraw(wheel, first));
	EXPECT_EQ(0, hwheel_cancel(wheel, id));

	/* Beside one that comes */
	ASSERT_EQ(0, hwheel_arm(wheel, 0, 3, &first));
	await_event(wheel);
	ASSERT_EQ(0, hwheel_arm(wheel, 0, 4, &other));
	EXPECT_EQ(0, hwheel_withdraw(wheel, first));
	EXPECT_EQ(-ENOENT, hwheel_query(wheel, first, NULL, NULL));
	EXPECT_EQ(other, next_event(wheel).id);
	EXPECT_EQ(-ENOENT, hwheel_withdraw(wheel, other));
	EXPECT_EQ(-EAGAIN, hwheel_next_events(wheel, events, 4));
}

static const uint64_t no_ids[] = { 0, 1, UINT32_MAX, 1ULL << 40, INT64_MAX, UINT64_MAX };

/* Of another handle: this one has none so far out. */
TEST_F(operations, set_of_an_id_of_none)
{
	struct hwheel *wheel = self->wheel, *other;
	uint64_t id = 0, theirs, left;

	ASSERT_EQ(0, hwheel_open(&other, HWHEEL_NONBLOCK));
	if (variant->mapped)
		ASSERT_EQ(0, hwheel_map(other, variant->mapped));
	for (int i = 0; i < MANY / 2; i++)
		ASSERT_EQ(0, hwheel_arm(other, HOUR, 1, &theirs));
	for (size_t i = 0; i < ARRAY_SIZE(no_ids); i++) {
		id = no_ids[i];
		EXPECT_EQ(-ENOENT, hwheel_withdraw(wheel, id));
		ASSERT_EQ(0, hwheel_set(wheel, &id, HOUR, i));
		EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(wheel, id, NULL, NULL));
		EXPECT_EQ(0, hwheel_withdraw(wheel, id));
	}
	id = theirs;
	ASSERT_EQ(0, hwheel_set(wheel, &id, 0, 2));
	EXPECT_EQ(id, next_event(wheel).id);
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(other, theirs, &left, NULL));
	EXPECT_EQ(0, hwheel_close(other));
}

/* What can't be armed changes neither the id nor the event. */
TEST_F(operations, set_after_a_stop)
{
	struct hwheel *wheel = self->wheel;
	struct hwheel_event events[3];
	uint64_t ids[2] = { 0 }, copies[2], none = 0;

	ASSERT_EQ(0, hwheel_set(wheel, &ids[0], 0, 1));
	await_event(wheel);
	ASSERT_EQ(0, hwheel_set(wheel, &ids[1], HOUR, 2));
	EXPECT_EQ(1, hwheel_stop(wheel));
	copies[0] = ids[0];
	copies[1] = ids[1];
	EXPECT_EQ(-ESHUTDOWN, hwheel_set(wheel, &ids[0], HOUR, 3));
	EXPECT_EQ(-ESHUTDOWN, hwheel_set(wheel, &ids[1], HOUR, 3));
	EXPECT_EQ(-ESHUTDOWN, hwheel_set(wheel, &none, HOUR, 3));
	EXPECT_EQ(copies[0], ids[0]);
	EXPECT_EQ(copies[1], ids[1]);
	EXPECT_EQ(0, none);
	EXPECT_EQ(0, hwheel_withdraw(wheel, ids[0]));
	ASSERT_EQ(1, hwheel_next_events(wheel, events, 3));
	EXPECT_EQ(ids[1], events[0].id);
	EXPECT_EQ(HWHEEL_EVENT_STOPPED, events[0].type);
	EXPECT_EQ(0, hwheel_next_events(wheel, events, 3));
}

TEST_F(operations, batch_sets)
{
	uint64_t id = 0, fired = 0, none, left;
	struct hwheel_event event;

	ASSERT_EQ(0, hwheel_set(self->wheel, &id, HOUR, 1));
	ASSERT_EQ(0, hwheel_set(self->wheel, &fired, 0, 1));
	await_event(self->wheel);
	EXPECT_EQ(0, hwheel_batch_set(self->batch, id, 2 * HOUR, 2));
	EXPECT_EQ(1, hwheel_batch_set(self->batch, 0, HOUR, 3));
	EXPECT_EQ(2, hwheel_batch_set_at(self->batch, fired, hwheel_now(self->wheel) + HOUR, 4));
	EXPECT_EQ(3, hwheel_batch_withdraw(self->batch, id));
	EXPECT_EQ(4, hwheel_batch_withdraw(self->batch, fired));
	ASSERT_EQ(5, hwheel_submit(self->wheel, self->batch));
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, hwheel_batch_result(self->batch, i));
	EXPECT_EQ(-ENOENT, hwheel_batch_result(self->batch, 4));
	EXPECT_EQ(id, hwheel_batch_id(self->batch, 0));
	none = hwheel_batch_id(self->batch, 1);
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, none, &left, NULL));
	EXPECT_EQ(-EAGAIN, hwheel_next_events(self->wheel, &event, 1));
	/* Again: it moves what it has armed. */
	ASSERT_EQ(5, hwheel_submit(self->wheel, self->batch));
	EXPECT_EQ(none, hwheel_batch_id(self->batch, 1));
	EXPECT_NE(id, hwheel_batch_id(self->batch, 0));
}

TEST_F(operations, again_bounds)
{
	uint64_t id = 0, deadline = hwheel_now(self->wheel), begin = deadline, missed = 7;

	EXPECT_EQ(-EINVAL, hwheel_again(self->wheel, &id, &deadline, 0, 1, &missed));
	EXPECT_EQ(begin, deadline);
	ASSERT_EQ(0, hwheel_again(self->wheel, &id, &deadline, HOUR, 1, &missed));
	EXPECT_EQ(begin + HOUR, deadline);
	EXPECT_EQ(0, missed);
	/* It lies ahead. */
	ASSERT_EQ(0, hwheel_again(self->wheel, &id, &deadline, HOUR, 1, NULL));
	EXPECT_EQ(begin + HOUR, deadline);
	hwheel_stop(self->wheel);
	EXPECT_EQ(-ESHUTDOWN, hwheel_again(self->wheel, &id, &begin, HOUR, 1, &missed));
	EXPECT_EQ(0, missed);
}

#define PERIODS		10000
#define PERIOD		200003U		/* of ticks of 50 us, and no multiple of 1,024 ns or 8 */

/* In real time: each event is of the exact time, rounded up, however late the program is. */
TEST_F(lib, again_does_not_drift)
{
	const struct hwheel_config config = {
		.tick_ns = 50000, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	const uint64_t units[] = { 8, 1024 };

	for (int mapped = 0; mapped < 2; mapped++) {
		uint64_t id = 0, begin, deadline, missed, sum = 0;
		struct hwheel *wheel;

		ASSERT_EQ(0, hwheel_open(&wheel, HWHEEL_NONBLOCK));
		ASSERT_EQ(0, hwheel_configure(wheel, &config));
		if (mapped)
			ASSERT_EQ(0, hwheel_map(wheel, 1));
		begin = hwheel_now(wheel);
		deadline = begin;
		while (sum < PERIODS) {
			struct hwheel_event event;

			ASSERT_EQ(0, hwheel_again(wheel, &id, &deadline, PERIOD, 0, &missed));
			sum += missed + 1;
			ASSERT_EQ(begin + sum * PERIOD, deadline);
			event = next_event(wheel);
			ASSERT_EQ((deadline + units[mapped] - 1) & -units[mapped],
				  event.deadline_ns);
		}
		EXPECT_EQ(0, hwheel_close(wheel));
	}
}

TEST_F(lib, configure_once)
{
	const struct hwheel_config config = {
		.tick_ns = MSEC, .slots = 64, .clock = CLOCK_BOOTTIME,
		.kind = HWHEEL_KIND_HASHED,
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

TEST_F(operations, stop_hands_all_back)
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
	struct hwheel_file_stats stats;
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

TEST_F(operations, batch_does_each_operation)
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
	EXPECT_EQ(-ENOENT, hwheel_batch_result(self->batch, 3));
	event = next_event(self->wheel);
	EXPECT_EQ(other, event.id);
	EXPECT_EQ(11, event.cookie);
	EXPECT_EQ(-ENOENT, hwheel_query(self->wheel, other, &left, NULL));
}

/* A batch is submitted again: each operation arms another timeout. */
TEST_F(operations, batch_is_used_again)
{
	uint64_t first;

	ASSERT_EQ(0, hwheel_batch_arm(self->batch, HOUR, 1));
	ASSERT_EQ(1, hwheel_submit(self->wheel, self->batch));
	first = hwheel_batch_id(self->batch, 0);
	ASSERT_EQ(1, hwheel_submit(self->wheel, self->batch));
	EXPECT_EQ(0, hwheel_batch_result(self->batch, 0));
	EXPECT_NE(first, hwheel_batch_id(self->batch, 0));
	EXPECT_EQ(0, hwheel_cancel(self->wheel, first));
	EXPECT_EQ(0, hwheel_cancel(self->wheel, hwheel_batch_id(self->batch, 0)));
}

static void ignore(int signal)
{
	(void)signal;
}

static int set_timer(int hz)
{
	struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	struct itimerval timer = { 0 };

	if (hz) {
		timer.it_interval.tv_usec = 1000000 / hz;
		timer.it_value.tv_usec = 1000000 / hz;
	}
	return sigaction(SIGALRM, &action, NULL) ?: setitimer(ITIMER_REAL, &timer, NULL);
}

#define BATCHES	2000

/* Each is one whole: nothing is left out, and nothing is done twice. */
TEST_F(lib, batches_under_a_profiling_timer)
{
	struct hwheel_file_stats stats;
	uint64_t ids[MANY];
	int cut = 0;

	for (int i = 0; i < MANY; i++)
		hwheel_batch_arm(self->batch, HOUR, i);
	ASSERT_EQ(MANY, hwheel_submit(self->wheel, self->batch));
	for (int i = 0; i < MANY; i++)
		ids[i] = hwheel_batch_id(self->batch, i);
	hwheel_batch_clear(self->batch);
	for (int i = 0; i < MANY; i++)
		hwheel_batch_refresh(self->batch, ids[i], HOUR);
	ASSERT_EQ(0, set_timer(250));
	for (int round = 0; round < BATCHES; round++)
		cut += hwheel_submit(self->wheel, self->batch) != MANY;
	ASSERT_EQ(0, set_timer(0));
	EXPECT_EQ(0, cut);
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(0, hwheel_batch_result(self->batch, i));
	ASSERT_EQ(0, hwheel_stats(self->wheel, &stats));
	EXPECT_EQ(BATCHES * MANY, stats.refreshed);
}

/* The error of the first one is told; nothing is done, and all say so. */
TEST_F(lib, batch_on_a_read_only_descriptor)
{
	struct hwheel *wheel = NULL;
	int fd = open(HWHEEL_DEVICE, O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, hwheel_open_fd(&wheel, fd));
	hwheel_batch_arm(self->batch, HOUR, 1);
	hwheel_batch_arm(self->batch, HOUR, 2);
	EXPECT_EQ(-EBADF, hwheel_submit(wheel, self->batch));
	EXPECT_EQ(-ECANCELED, hwheel_batch_result(self->batch, 0));
	EXPECT_EQ(-ECANCELED, hwheel_batch_result(self->batch, 1));
	EXPECT_EQ(0, hwheel_close(wheel));
}

TEST_F(lib, open_fd_refuses_other_files)
{
	int others[] = { open("/dev/null", O_RDWR), open("/", O_RDONLY) }, ends[2];
	struct hwheel *wheel = NULL;
	int closed = dup(0);

	ASSERT_EQ(0, pipe(ends));
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(-ENOTTY, hwheel_open_fd(&wheel, others[i]));
		/* It is still the caller's. */
		EXPECT_EQ(0, close(others[i]));
	}
	EXPECT_EQ(-ENOTTY, hwheel_open_fd(&wheel, ends[0]));
	close(ends[0]);
	close(ends[1]);
	EXPECT_EQ(0, close(closed));
	EXPECT_EQ(-EBADF, hwheel_open_fd(&wheel, closed));
	EXPECT_EQ(-EBADF, hwheel_open_fd(&wheel, -1));
	EXPECT_EQ(NULL, wheel);
}

static int send_fd(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(socket, &message, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* In another process: with a handle of its own on the same set, and on its clock */
static int use_received(int socket, uint64_t pending)
{
	struct hwheel *wheel;
	uint64_t id, cookie;
	int fd = receive_fd(socket);

	if (hwheel_open_fd(&wheel, fd) || hwheel_fd(wheel) != fd)
		return 1;
	if (hwheel_query(wheel, pending, NULL, &cookie) != HWHEEL_STATE_PENDING || cookie != 7)
		return 2;
	if (hwheel_cancel(wheel, pending))
		return 3;
	if (hwheel_arm_at(wheel, hwheel_now(wheel) + MSEC, 8, &id))
		return 4;
	return hwheel_close(wheel) || fcntl(fd, F_GETFD) != -1 ? 5 : 0;
}

TEST_F(lib, open_fd_of_a_passed_descriptor)
{
	const struct hwheel_config config = {
		.kind = HWHEEL_KIND_SIMPLE, .tick_ns = MSEC, .slots = 8192,
		.clock = CLOCK_BOOTTIME,
	};
	int ends[2], status;
	uint64_t id;
	pid_t pid;

	ASSERT_EQ(0, hwheel_configure(self->wheel, &config));
	ASSERT_EQ(0, hwheel_arm(self->wheel, 8000 * MSEC, 7, &id));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(use_received(ends[1], id));
	ASSERT_EQ(0, send_fd(ends[0], hwheel_fd(self->wheel)));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(8, next_event(self->wheel).cookie);
	EXPECT_EQ(-ENOENT, hwheel_cancel(self->wheel, id));
	close(ends[0]);
	close(ends[1]);
}

/* The clock is that of the file, not the one of a file that is new. */
TEST_F(lib, open_fd_knows_the_clock)
{
	const struct hwheel_config config = {
		.kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_BOOTTIME,
	};
	struct hwheel *other;
	struct hwheel_info info;

	ASSERT_EQ(0, hwheel_configure(self->wheel, &config));
	ASSERT_EQ(0, hwheel_open_fd(&other, dup(hwheel_fd(self->wheel))));
	ASSERT_EQ(0, hwheel_info(other, &info));
	EXPECT_EQ(CLOCK_BOOTTIME, info.clock);
	EXPECT_EQ(HWHEEL_KIND_HIERARCHICAL, info.kind);
	EXPECT_LE(hwheel_now(self->wheel), hwheel_now(other));
	EXPECT_EQ(0, hwheel_close(other));
	/* The first handle has its own descriptor. */
	EXPECT_EQ(0, hwheel_info(self->wheel, &info));
}

/*
 * Events that another thread takes, matched by cookie as the header tells: what the object's
 * lock protects is right whenever the lock is held.
 */

#define OBJECTS	20000

struct object {
	pthread_mutex_t lock;
	uint64_t id;
	int events;
	int wrong;
};

struct taker {
	struct hwheel *wheel;
	int left;
};

static void take_event(const struct hwheel_event *event)
{
	struct object *object = (struct object *)(uintptr_t)event->cookie;

	pthread_mutex_lock(&object->lock);
	object->events++;
	object->wrong += object->id != event->id;
	pthread_mutex_unlock(&object->lock);
}

static void *take_events(void *data)
{
	struct taker *taker = data;
	struct pollfd poll_fd = { .fd = hwheel_fd(taker->wheel), .events = POLLIN };
	struct hwheel_event events[16];

	while (taker->left > 0) {
		int count = hwheel_next_events(taker->wheel, events, 16);

		if (count == -EAGAIN)
			poll(&poll_fd, 1, -1);
		else if (count <= 0)
			break;
		for (int i = 0; i < count; i++)
			take_event(&events[i]);
		taker->left -= count > 0 ? count : 0;
	}
	return NULL;
}

static struct object *make_objects(void)
{
	struct object *objects = calloc(OBJECTS, sizeof(*objects));

	for (int i = 0; objects && i < OBJECTS; i++)
		pthread_mutex_init(&objects[i].lock, NULL);
	return objects;
}

/* Each by itself; they are due at once. */
static int arm_one_by_one(struct hwheel *wheel, struct object *objects)
{
	int error = 0;

	for (int i = 0; !error && i < OBJECTS; i++) {
		struct object *object = &objects[i];

		pthread_mutex_lock(&object->lock);
		error = hwheel_arm(wheel, 0, (uintptr_t)object, &object->id);
		pthread_mutex_unlock(&object->lock);
	}
	return error;
}

#define SIZE	40

static int arm_batch(struct hwheel *wheel, struct hwheel_batch *batch, struct object *objects)
{
	int done;

	hwheel_batch_clear(batch);
	for (int i = 0; i < SIZE; i++) {
		hwheel_batch_arm(batch, 0, (uintptr_t)&objects[i]);
		pthread_mutex_lock(&objects[i].lock);
	}
	done = hwheel_submit(wheel, batch);
	for (int i = 0; i < SIZE; i++) {
		objects[i].id = hwheel_batch_id(batch, i);
		pthread_mutex_unlock(&objects[i].lock);
	}
	return done == SIZE ? 0 : -EPROTO;
}

static int count_wrong(const struct object *objects)
{
	int wrong = 0;

	for (int i = 0; i < OBJECTS; i++)
		wrong += objects[i].events != 1 || objects[i].wrong;
	return wrong;
}

TEST_F(operations, events_of_another_thread)
{
	struct object *objects = make_objects();
	struct taker taker = { .wheel = self->wheel, .left = OBJECTS };
	pthread_t thread;

	ASSERT_NE(NULL, objects);
	ASSERT_EQ(0, pthread_create(&thread, NULL, take_events, &taker));
	EXPECT_EQ(0, arm_one_by_one(self->wheel, objects));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, count_wrong(objects));
	free(objects);
}

TEST_F(operations, events_of_another_thread_s_batches)
{
	struct object *objects = make_objects();
	struct taker taker = { .wheel = self->wheel, .left = OBJECTS };
	pthread_t thread;

	ASSERT_NE(NULL, objects);
	ASSERT_EQ(0, pthread_create(&thread, NULL, take_events, &taker));
	for (int i = 0; i < OBJECTS; i += SIZE)
		EXPECT_EQ(0, arm_batch(self->wheel, self->batch, objects + i));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, count_wrong(objects));
	free(objects);
}

TEST_F(lib, configure_needs_a_clock)
{
	const struct hwheel_config configs[] = {
		{ 0 }, { .max_timeouts = 10 }, { .kind = HWHEEL_KIND_HASHED },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_REALTIME },
	};
	const struct hwheel_config shared = { .max_timeouts = 10, .clock = CLOCK_MONOTONIC };
	struct hwheel_info info;

	for (size_t i = 0; i < 4; i++)
		EXPECT_EQ(-EINVAL, hwheel_configure(self->wheel, &configs[i]));
	EXPECT_EQ(0, hwheel_configure(self->wheel, &shared));
	ASSERT_EQ(0, hwheel_info(self->wheel, &info));
	EXPECT_EQ(0, info.own_wheel);
	EXPECT_EQ(10, info.max_timeouts);
}

TEST_HARNESS_MAIN
