// SPDX-License-Identifier: GPL-2.0-only
/*
 * libhwheel: what each function promises, by the library alone. With -v local it needs no module,
 * as only the tests of handles in the process run.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

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

/* The device as open() finds it, or an error of the test's */

static int open_error;

__typeof__(open) __real_open64, __wrap_open64;

int __wrap_open64(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (!open_error || strcmp(path, HWHEEL_DEVICE))
		return __real_open64(path, flags, mode);
	errno = open_error;
	return -1;
}

TEST_F(place, open_refuses_unknown_flags)
{
	struct hwheel *wheel = NULL;

	EXPECT_EQ(-EINVAL, variant->open(&wheel, ~0U));
	EXPECT_EQ(-EINVAL, variant->open(&wheel, 4));
	EXPECT_EQ(NULL, wheel);
	EXPECT_EQ(0, hwheel_close(NULL));
}

static bool has_feature_local(struct hwheel *wheel)
{
	struct hwheel_info info;

	return !hwheel_info(wheel, &info) && info.features & HWHEEL_FEATURE_LOCAL;
}

TEST_F(place, info_has_the_place)
{
	EXPECT_EQ(is_local(variant), has_feature_local(self->wheel));
}

/* Elsewhere only where there is no device for this program; other errors are about the program. */
TEST_F(place, anywhere)
{
	static const int falls_back[] = { ENOENT, ENXIO, ENODEV, EACCES, EPERM };
	static const int others[] = { EMFILE, ENFILE, ENOMEM, EBUSY, EINTR, EIO };
	struct hwheel_event event;
	struct hwheel *wheel;
	uint64_t id;

	for (size_t i = 0; i < ARRAY_SIZE(falls_back); i++) {
		open_error = falls_back[i];
		wheel = NULL;
		EXPECT_EQ(-open_error, hwheel_open(&wheel, HWHEEL_NONBLOCK));
		EXPECT_EQ(NULL, wheel);
		ASSERT_EQ(0, hwheel_open(&wheel, HWHEEL_NONBLOCK | HWHEEL_ANYWHERE));
		EXPECT_TRUE(has_feature_local(wheel));
		EXPECT_EQ(-EAGAIN, hwheel_next_events(wheel, &event, 1));
		EXPECT_EQ(0, hwheel_close(wheel));
		ASSERT_EQ(0, hwheel_open(&wheel, HWHEEL_ANYWHERE));
		ASSERT_EQ(0, hwheel_arm(wheel, MSEC, 5, &id));
		ASSERT_EQ(1, hwheel_next_events(wheel, &event, 1));
		EXPECT_EQ(5, event.cookie);
		EXPECT_EQ(0, hwheel_close(wheel));
	}
	wheel = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		open_error = others[i];
		EXPECT_EQ(-open_error, hwheel_open(&wheel, HWHEEL_ANYWHERE));
		EXPECT_EQ(NULL, wheel);
	}
	open_error = 0;
	if (is_local(variant))
		return;
	/* The module is there. */
	ASSERT_EQ(0, hwheel_open(&wheel, HWHEEL_ANYWHERE));
	EXPECT_FALSE(has_feature_local(wheel));
	EXPECT_EQ(0, hwheel_close(wheel));
}

TEST_F(place, event_brings_cookie_back)
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

TEST_F(place, absolute_deadline_comes_back)
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
TEST_F(place, delays_beyond_the_clock_mean_never)
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

TEST_F(place, query_tells_state)
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

TEST_F(place, past_deadlines)
{
	uint64_t id;

	for (uint64_t deadline = 0; deadline < 3000; deadline += 999) {
		ASSERT_EQ(0, hwheel_arm_at(self->wheel, deadline, 1, &id));
		EXPECT_EQ(id, next_event(self->wheel).id);
	}
}

TEST_F(place, any_number_may_be_an_id)
{
	uint64_t state = 1, id, cookie;
	unsigned int known = 0;

	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 5, &id));
	for (int i = 0; i < 100000; i++) {
		uint64_t number = state = state * 6364136223846793005ULL + 1442695040888963407ULL;

		/* Near those that there are, too */
		if (i % 4)
			number = id + number % 100000 - 50000;
		if (i % 3 == 0)
			number &= 0xffffffffU << (i % 2 * 16);
		known += number != id && hwheel_cancel(self->wheel, number) != -ENOENT;
		known += number != id && hwheel_refresh(self->wheel, number, 0) != -ENOENT;
		known += number != id && hwheel_query(self->wheel, number, NULL, NULL) != -ENOENT;
	}
	EXPECT_EQ(0, known);
	EXPECT_EQ(-ENOENT, hwheel_cancel(self->wheel, 0));
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, NULL, &cookie));
	EXPECT_EQ(5, cookie);
}

/* Also those that places of ended timeouts had, or will have */
TEST_F(place, ids_of_other_generations)
{
	uint64_t ended[3], id;

	for (size_t i = 0; i < ARRAY_SIZE(ended); i++)
		ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, i, &ended[i]));
	for (size_t i = 0; i < ARRAY_SIZE(ended); i++)
		ASSERT_EQ(0, hwheel_cancel(self->wheel, ended[i]));
	for (uint64_t i = 0; i < 7 * ARRAY_SIZE(ended); i++) {
		uint64_t other = ended[i / 7] + ((i % 7 - 3) << 32);

		EXPECT_EQ(-ENOENT, hwheel_query(self->wheel, other, NULL, NULL));
		EXPECT_EQ(-ENOENT, hwheel_withdraw(self->wheel, other));
		EXPECT_EQ(-ENOENT, hwheel_cancel(self->wheel, other));
		EXPECT_EQ(-ENOENT, hwheel_refresh(self->wheel, other, 0));
		id = other;
		ASSERT_EQ(0, hwheel_set(self->wheel, &id, HOUR, 1));
		EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, NULL, NULL));
		EXPECT_EQ(0, hwheel_withdraw(self->wheel, id));
	}
}

/* Later and earlier */
TEST_F(place, refresh)
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
TEST_F(place, set)
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

/* The event was not taken: it does not come. */
TEST_F(place, set_takes_the_event_back)
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
TEST_F(place, set_of_an_id_of_none)
{
	struct hwheel *wheel = self->wheel, *other;
	uint64_t id = 0, theirs, left;

	ASSERT_EQ(0, open_place(variant, HWHEEL_NONBLOCK, NULL, &other));
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
TEST_F(place, set_after_a_stop)
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

TEST_F(place, batch_sets)
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

TEST_F(place, again_bounds)
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
TEST_F(place, again_does_not_drift)
{
	const struct hwheel_config config = {
		.tick_ns = 50000, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	uint64_t id = 0, begin, deadline, missed, sum = 0;
	struct hwheel *wheel;

	ASSERT_EQ(0, open_place(variant, HWHEEL_NONBLOCK, &config, &wheel));
	begin = hwheel_now(wheel);
	deadline = begin;
	while (sum < PERIODS) {
		struct hwheel_event event;

		ASSERT_EQ(0, hwheel_again(wheel, &id, &deadline, PERIOD, 0, &missed));
		sum += missed + 1;
		ASSERT_EQ(begin + sum * PERIOD, deadline);
		event = next_event(wheel);
		ASSERT_EQ((deadline + variant->unit_ns - 1) & -variant->unit_ns,
			  event.deadline_ns);
	}
	EXPECT_EQ(0, hwheel_close(wheel));
}

/* The tick of a local wheel is a power of two, and it has the slots that it has. */
TEST_F(place, configure_once)
{
	const struct hwheel_config config = {
		.tick_ns = MSEC, .slots = 64, .clock = CLOCK_BOOTTIME,
		.kind = HWHEEL_KIND_HASHED, .max_timeouts = MANY,
	};
	struct hwheel *wheel;
	struct hwheel_info info;
	uint64_t id;

	ASSERT_EQ(0, open_place(variant, HWHEEL_NONBLOCK, &config, &wheel));
	ASSERT_EQ(0, hwheel_info(wheel, &info));
	EXPECT_EQ(is_local(variant) ? 1 << 19 : MSEC, info.tick_ns);
	EXPECT_EQ(is_local(variant) ? 256 : 64, info.slots);
	EXPECT_EQ(CLOCK_BOOTTIME, info.clock);
	EXPECT_EQ(1, info.own_wheel);
	EXPECT_EQ(MANY, info.max_timeouts);
	EXPECT_EQ(-EBUSY, hwheel_configure(wheel, &config));
	ASSERT_EQ(0, hwheel_arm_at(wheel, hwheel_now(wheel) + MSEC, 0, &id));
	EXPECT_EQ(id, next_event(wheel).id);
	EXPECT_EQ(0, hwheel_close(wheel));
}

/* The limit holds for pending timeouts and events that wait. Maps have whole pages. */
TEST_F(place, max_timeouts)
{
	const uint64_t max = sysconf(_SC_PAGESIZE) / 32;
	const struct hwheel_config config = { .clock = CLOCK_MONOTONIC, .max_timeouts = max };
	struct hwheel_event events[3];
	struct hwheel *wheel;
	uint64_t fired, pending, id = 0;

	ASSERT_EQ(0, open_place(variant, HWHEEL_NONBLOCK, &config, &wheel));
	ASSERT_EQ(0, hwheel_arm(wheel, 0, 1, &fired));
	await_event(wheel);
	for (uint64_t i = 1; i < max; i++)
		ASSERT_EQ(0, hwheel_arm(wheel, HOUR, 2, &pending));
	EXPECT_EQ(-ENOSPC, hwheel_arm(wheel, HOUR, 3, &id));
	EXPECT_EQ(-ENOSPC, hwheel_set(wheel, &id, HOUR, 3));
	EXPECT_EQ(0, id);
	EXPECT_EQ(0, hwheel_set(wheel, &pending, HOUR, 3));
	ASSERT_EQ(1, hwheel_next_events(wheel, events, 3));
	EXPECT_EQ(1, events[0].cookie);
	EXPECT_EQ(0, hwheel_arm(wheel, HOUR, 3, &id));
	EXPECT_EQ(0, hwheel_cancel(wheel, id));
	EXPECT_EQ(0, hwheel_set(wheel, &id, HOUR, 3));
	EXPECT_EQ(max, hwheel_stop(wheel));
	EXPECT_EQ(0, hwheel_close(wheel));
}

TEST_F(place, map_has_bounds)
{
	struct hwheel_info info;

	if (!variant->mapped)
		ASSERT_EQ(0, hwheel_map(self->wheel, MANY));
	ASSERT_EQ(0, hwheel_info(self->wheel, &info));
	EXPECT_EQ(-EINVAL, hwheel_map(self->wheel, 0));
	EXPECT_EQ(-ENOSPC, hwheel_map(self->wheel, info.max_timeouts));
	EXPECT_EQ(-ENOSPC, hwheel_map(self->wheel, SIZE_MAX));
	EXPECT_EQ(0, hwheel_map(self->wheel, MANY));
}

TEST_F(place, map_comes_first)
{
	struct hwheel *wheel;
	uint64_t id;

	ASSERT_EQ(0, variant->open(&wheel, 0));
	ASSERT_EQ(0, hwheel_arm(wheel, HOUR, 1, &id));
	EXPECT_EQ(-EBUSY, hwheel_map(wheel, MANY));
	/* It stays as it is. */
	EXPECT_EQ(0, hwheel_cancel(wheel, id));
	EXPECT_EQ(0, hwheel_close(wheel));
}

TEST_F(place, grows_up_to_the_limit)
{
	uint64_t *ids, id, n = 0;
	struct hwheel_info info;
	int error;

	ASSERT_EQ(0, hwheel_info(self->wheel, &info));
	ids = calloc(info.max_timeouts + 1, sizeof(*ids));
	ASSERT_NE(NULL, ids);
	while (!(error = hwheel_arm(self->wheel, HOUR, n, &ids[n])))
		ASSERT_GE(info.max_timeouts, ++n);
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_EQ(info.max_timeouts, n);
	EXPECT_EQ(-ENOSPC, hwheel_arm(self->wheel, HOUR, n, &id));
	for (uint64_t i = 0; i < n; i++)
		ASSERT_EQ(0, hwheel_cancel(self->wheel, ids[i]));
	for (uint64_t i = 0; i < n; i++)
		ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, i, &id));
	EXPECT_EQ(-ENOSPC, hwheel_arm(self->wheel, HOUR, n, &id));
	EXPECT_EQ(n, hwheel_stop(self->wheel));
	free(ids);
}

TEST_F(place, stop_hands_all_back)
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

TEST_F(place, batch_has_bounds)
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

TEST_F(place, batch_does_each_operation)
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
TEST_F(place, batch_is_used_again)
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
/* Of a mapped handle the worker sees no refresh. */
TEST_F(place, batches_under_a_profiling_timer)
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
	EXPECT_EQ(variant->mapped ? 0 : BATCHES * MANY, stats.refreshed);
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

TEST_F(place, configure_has_bounds)
{
	const struct hwheel_config configs[] = {
		{ 0 }, { .max_timeouts = 10 }, { .kind = HWHEEL_KIND_HASHED },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_REALTIME },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC, .tick_ns = 49999 },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC, .tick_ns = HOUR + 1 },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC, .levels = 2 },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC, .slots = (1 << 20) + 1 },
		{ .kind = HWHEEL_KIND_SIMPLE, .clock = CLOCK_MONOTONIC, .slots = 1, .turn_ns = 1 },
		{ .kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_MONOTONIC, .levels = 1 },
		{ .kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_MONOTONIC, .levels = 9 },
		{ .kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_MONOTONIC, .turn_ns = HOUR },
		{ .kind = HWHEEL_KIND_SIMPLE + 1, .clock = CLOCK_MONOTONIC },
		{ .clock = CLOCK_BOOTTIME }, { .clock = CLOCK_MONOTONIC, .tick_ns = MSEC },
		{ .clock = CLOCK_MONOTONIC, .flags = HWHEEL_CONFIG_NICE },
		{ .clock = CLOCK_MONOTONIC, .slots = 64 },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC, .flags = 4 },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC, .reserved[8] = 1 },
		{ .clock = CLOCK_MONOTONIC, .max_timeouts = (1 << 24) + 1 },
	};
	const struct hwheel_config shared = { .max_timeouts = 10, .clock = CLOCK_MONOTONIC };
	struct hwheel_info info;
	struct hwheel *wheel;

	ASSERT_EQ(0, variant->open(&wheel, 0));
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++)
		EXPECT_EQ(-EINVAL, hwheel_configure(wheel, &configs[i]));
	EXPECT_EQ(0, hwheel_configure(wheel, &shared));
	ASSERT_EQ(0, hwheel_info(wheel, &info));
	EXPECT_EQ(is_local(variant), info.own_wheel);
	EXPECT_EQ(10, info.max_timeouts);
	EXPECT_EQ(0, hwheel_stop(wheel));
	EXPECT_EQ(-ESHUTDOWN, hwheel_configure(wheel, &shared));
	EXPECT_EQ(-ESHUTDOWN, hwheel_map(wheel, 1));
	EXPECT_EQ(0, hwheel_close(wheel));
}

/* The descriptor */

static bool is_readable(struct hwheel *wheel)
{
	struct pollfd file = { .fd = hwheel_fd(wheel), .events = POLLIN };

	return poll(&file, 1, 0) == 1;
}

/* As long as an event is left, and not for one that was cancelled */
TEST_F(place, readable_while_an_event_waits)
{
	struct hwheel *wheel = self->wheel;
	struct hwheel_event event;
	uint64_t ids[3];

	EXPECT_FALSE(is_readable(wheel));
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, hwheel_arm(wheel, 0, i, &ids[i]));
	await_events(wheel, 3);
	for (int i = 0; i < 3; i++) {
		EXPECT_TRUE(is_readable(wheel));
		EXPECT_EQ(1, hwheel_next_events(wheel, &event, 1));
	}
	EXPECT_FALSE(is_readable(wheel));
	/* A later one rings again. */
	ASSERT_EQ(0, hwheel_arm(wheel, HOUR, 4, &ids[0]));
	ASSERT_EQ(0, hwheel_arm(wheel, MSEC, 5, &ids[1]));
	EXPECT_EQ(5, next_event(wheel).cookie);
	EXPECT_FALSE(is_readable(wheel));
}

/* With EPOLLET: each time that a program has taken all, the next event is new. */
TEST_F(place, edges_for_epoll)
{
	struct epoll_event added = { .events = EPOLLIN | EPOLLET }, ready;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct hwheel_event event;
	uint64_t id;

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, hwheel_fd(self->wheel), &added));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, hwheel_arm(self->wheel, MSEC, i, &id));
		do {
			ASSERT_EQ(1, epoll_wait(epoll, &ready, 1, -1));
		} while (hwheel_next_events(self->wheel, &event, 1) == -EAGAIN);
		EXPECT_EQ(i, event.cookie);
		EXPECT_EQ(-EAGAIN, hwheel_next_events(self->wheel, &event, 1));
	}
	close(epoll);
}

/* A handle in the process */

FIXTURE(local) {
	struct hwheel *wheel;
};

FIXTURE_VARIANT(local) {
};

FIXTURE_VARIANT_ADD(local, local) {
};

FIXTURE_SETUP(local)
{
	ASSERT_EQ(0, hwheel_open_local(&self->wheel, HWHEEL_NONBLOCK));
}

FIXTURE_TEARDOWN(local)
{
	EXPECT_EQ(0, hwheel_close(self->wheel));
}

/* Those that read no clock see no expiry, but one that another call has seen. */
TEST_F(local, past_deadlines_end_before_they_are_seen)
{
	struct hwheel_event event;
	uint64_t ids[4], id;

	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, hwheel_arm_at(self->wheel, 0, i, &ids[i]));
	await_event(self->wheel);
	EXPECT_EQ(0, hwheel_cancel(self->wheel, ids[0]));
	EXPECT_EQ(0, hwheel_withdraw(self->wheel, ids[1]));
	EXPECT_EQ(0, hwheel_refresh_at(self->wheel, ids[2], hwheel_now(self->wheel) + HOUR));
	id = ids[3];
	EXPECT_EQ(0, hwheel_set_at(self->wheel, &id, hwheel_now(self->wheel) + HOUR, 9));
	EXPECT_EQ(ids[3], id);
	EXPECT_EQ(-EAGAIN, hwheel_next_events(self->wheel, &event, 1));
	EXPECT_FALSE(is_readable(self->wheel));
	ASSERT_EQ(0, hwheel_refresh(self->wheel, id, 0));
	await_event(self->wheel);
	EXPECT_EQ(HWHEEL_STATE_EXPIRED, hwheel_query(self->wheel, id, NULL, NULL));
	EXPECT_EQ(-ENOENT, hwheel_cancel(self->wheel, id));
	EXPECT_EQ(-ENOENT, hwheel_refresh_at(self->wheel, id, UINT64_MAX));
	EXPECT_TRUE(is_readable(self->wheel));
	EXPECT_EQ(0, hwheel_withdraw(self->wheel, id));
	EXPECT_FALSE(is_readable(self->wheel));
}

/* After the end, for good. The timerfd takes a moment to ring. */
TEST_F(local, readable_after_a_stop)
{
	struct hwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 1, &id));
	EXPECT_EQ(1, hwheel_stop(self->wheel));
	EXPECT_EQ(HWHEEL_STATE_STOPPED, hwheel_query(self->wheel, id, NULL, NULL));
	await_event(self->wheel);
	EXPECT_EQ(1, hwheel_next_events(self->wheel, &event, 1));
	EXPECT_TRUE(is_readable(self->wheel));
	EXPECT_EQ(0, hwheel_next_events(self->wheel, &event, 1));
	EXPECT_TRUE(is_readable(self->wheel));
}

/* The timerfd of the new clock is where the old one was. */
TEST_F(local, another_clock_keeps_the_descriptor)
{
	const struct hwheel_config config = {
		.kind = HWHEEL_KIND_HASHED, .clock = CLOCK_BOOTTIME, .tick_ns = MSEC,
	};
	int fd = hwheel_fd(self->wheel);
	uint64_t id;

	ASSERT_EQ(0, hwheel_configure(self->wheel, &config));
	EXPECT_EQ(fd, hwheel_fd(self->wheel));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	ASSERT_EQ(0, hwheel_arm(self->wheel, MSEC, 6, &id));
	EXPECT_EQ(6, next_event(self->wheel).cookie);
}

TEST_F(local, stats)
{
	struct hwheel_file_stats stats;
	struct hwheel_event event;
	uint64_t ids[6], all = 0, bytes;

	ASSERT_EQ(0, hwheel_stats(self->wheel, &stats));
	bytes = stats.account_bytes;
	for (int i = 0; i < 6; i++)
		ASSERT_EQ(0, hwheel_arm(self->wheel, i < 2 ? 0 : HOUR, i, &ids[i]));
	await_events(self->wheel, 2);
	EXPECT_EQ(1, hwheel_next_events(self->wheel, &event, 1));
	EXPECT_EQ(0, hwheel_cancel(self->wheel, ids[2]));
	EXPECT_EQ(0, hwheel_withdraw(self->wheel, ids[3]));
	EXPECT_EQ(0, hwheel_refresh(self->wheel, ids[4], 2 * HOUR));
	ASSERT_EQ(0, hwheel_stats(self->wheel, &stats));
	EXPECT_EQ(6, stats.armed);
	EXPECT_EQ(2, stats.expired);
	EXPECT_EQ(2, stats.cancelled);
	EXPECT_EQ(1, stats.refreshed);
	EXPECT_EQ(2, stats.pending);
	EXPECT_EQ(1, stats.events);
	EXPECT_EQ(3, stats.held);
	EXPECT_EQ(1, stats.wheel);
	EXPECT_EQ(2, stats.wheel_pending);
	EXPECT_EQ(6, stats.wheel_armed);
	EXPECT_EQ(2, stats.wheel_expired);
	EXPECT_EQ(bytes + 6 * 64, stats.account_bytes);
	for (int i = 0; i < HWHEEL_LATENESS_BINS; i++)
		all += stats.wheel_lateness[i];
	EXPECT_EQ(2, all);
	EXPECT_EQ(2, hwheel_stop(self->wheel));
	ASSERT_EQ(0, hwheel_stats(self->wheel, &stats));
	EXPECT_EQ(2, stats.stopped);
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(3, stats.events);
}

TEST_HARNESS_MAIN
