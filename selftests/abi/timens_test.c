// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time namespaces: all absolute times of a file are on the clocks as its opener saw them,
 * whoever uses it and where; relative ones are the same everywhere.
 */

#include "share.h"

#include <sched.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

#define HOUR		(3600 * SEC)
#define DAY		(24 * 3600)
/* Of all namespaces the kernel wants to see the clock before half of this. */
#define LATEST		(INT64_MAX / (long long)SEC / 2)

/* By how much a clock is shifted. From @to on: to show that, however long it has run. */
struct shift {
	long long	s;
	long		ns;
	bool		to;
};

/*
 * One fixture for all shifts, each for a file on the default wheel, whose clock is
 * CLOCK_MONOTONIC, and for one with a wheel of its own on CLOCK_BOOTTIME. The other
 * clock is always shifted by something else.
 *
 * The test begins outside of the namespace and can go in and out.
 */
FIXTURE(timens)
{
	int	outside;
	int	inside;
	int	fd;
};

FIXTURE_VARIANT(timens)
{
	clockid_t	clock;
	struct shift	monotonic;
	struct shift	boottime;
};

FIXTURE_VARIANT_ADD(timens, ahead) {
	.clock = CLOCK_MONOTONIC, .monotonic = { .s = 10 * DAY }, .boottime = { .s = 20 * DAY },
};

FIXTURE_VARIANT_ADD(timens, ahead_boottime) {
	.clock = CLOCK_BOOTTIME, .monotonic = { .s = 20 * DAY }, .boottime = { .s = 10 * DAY },
};

/* Not a multiple of 8 ns */
FIXTURE_VARIANT_ADD(timens, ahead_oddly) {
	.clock = CLOCK_MONOTONIC, .monotonic = { .s = 1, .ns = 3 }, .boottime = { .s = DAY },
};

FIXTURE_VARIANT_ADD(timens, ahead_by_146_years) {
	.clock = CLOCK_MONOTONIC, .monotonic = { .s = LATEST - 3600, .to = true },
	.boottime = { .s = DAY },
};

FIXTURE_VARIANT_ADD(timens, ahead_by_146_years_boottime) {
	.clock = CLOCK_BOOTTIME, .monotonic = { .s = DAY },
	.boottime = { .s = LATEST - 3600, .to = true },
};

/* The machine started but now. */
FIXTURE_VARIANT_ADD(timens, behind) {
	.clock = CLOCK_MONOTONIC, .monotonic = { .to = true }, .boottime = { .s = DAY },
};

FIXTURE_VARIANT_ADD(timens, behind_oddly) {
	.clock = CLOCK_MONOTONIC, .monotonic = { .s = -2, .ns = 999999997 },
	.boottime = { .s = DAY },
};

FIXTURE_VARIANT_ADD(timens, behind_boottime) {
	.clock = CLOCK_BOOTTIME, .monotonic = { .s = DAY }, .boottime = { .to = true },
};

static long long shift_s(const struct shift *shift, clockid_t clock)
{
	return shift->to ? shift->s - (long long)(clock_ns(clock) / SEC) : shift->s;
}

static int write_offsets(const struct shift *monotonic, const struct shift *boottime)
{
	int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC), n;
	char text[128];

	if (fd < 0)
		return -errno;
	n = snprintf(text, sizeof(text), "monotonic %lld %ld\nboottime %lld %ld\n",
		     shift_s(monotonic, CLOCK_MONOTONIC), monotonic->ns,
		     shift_s(boottime, CLOCK_BOOTTIME), boottime->ns);
	n = write(fd, text, n) == n ? 0 : -errno;
	close(fd);
	return n;
}

static int enter(int namespace)
{
	return setns(namespace, CLONE_NEWTIME) ? -errno : 0;
}

/* On the wheel of @clock, opened where we are */
static int open_on(clockid_t clock)
{
	int fd = open_device(O_NONBLOCK), ret;

	if (fd < 0 || clock == CLOCK_MONOTONIC)
		return fd;
	ret = configure_file(fd, (struct hwheel_config){
		.kind = HWHEEL_KIND_HASHED, .clock = clock,
	});
	return ret ?: fd;
}

FIXTURE_SETUP(timens)
{
	self->outside = open("/proc/self/ns/time", O_RDONLY | O_CLOEXEC);
	if (self->outside < 0 || unshare(CLONE_NEWTIME))
		SKIP(return, "no time namespaces, or not for us");
	ASSERT_EQ(0, write_offsets(&variant->monotonic, &variant->boottime));
	self->inside = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->inside);
	ASSERT_EQ(0, enter(self->inside));
	self->fd = open_on(variant->clock);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(timens)
{
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, close(self->inside));
	EXPECT_EQ(0, close(self->outside));
}

/* The clock as it is in another namespace than ours, which is @here. */
static __u64 clock_in(int there, int here, clockid_t clock)
{
	__u64 ns;

	if (enter(there))
		return 0;
	ns = clock_ns(clock);
	return enter(here) ? 0 : ns;
}

/* Waits for one event, of any clock. */
static int next_any(int fd, struct hwheel_event *ev)
{
	int ret = readable(fd, WAIT_MS);

	if (ret <= 0)
		return ret ?: -ETIMEDOUT;
	ret = read_raw(fd, ev, 1);
	return ret == 1 ? 0 : ret ?: -ENODATA;
}

/* @deadline_ns is what was asked for; the clock was at @before when it was armed. */
static int check_event(const struct hwheel_event *ev, __u64 deadline_ns, __u64 before,
		       clockid_t clock)
{
	__u64 now = clock_ns(clock);

	if (ev->type != HWHEEL_EVENT_EXPIRED || ev->reserved)
		return -EPROTO;
	if (ev->deadline_ns < deadline_ns || ev->deadline_ns >= deadline_ns + 8)
		return -ERANGE;
	if (ev->fired_ns < ev->deadline_ns || ev->fired_ns < before)
		return -ETIME;
	return ev->fired_ns <= now ? 0 : -EOVERFLOW;
}

/* One that fires at @deadline_ns, and not at another time. */
static int fires_at(int fd, __u64 deadline_ns, clockid_t clock)
{
	__u64 before = clock_ns(clock), id;
	struct hwheel_event ev;
	int ret;

	ret = arm_at(fd, deadline_ns, 4, &id) ?: next_any(fd, &ev);
	if (ret)
		return ret;
	return ev.id == id ? check_event(&ev, deadline_ns, before, clock) : -EPROTO;
}

/* Else the others would be worth nothing. */
TEST_F(timens, clocks_differ)
{
	__u64 before = clock_in(self->outside, self->inside, variant->clock);
	__u64 here = clock_ns(variant->clock);
	__u64 after = clock_in(self->outside, self->inside, variant->clock);

	EXPECT_TRUE(before > here || here > after);
}

TEST_F(timens, arm)
{
	int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, fires_at(self->fd, clock_ns(variant->clock) + i * 5 * MSEC + i,
				      variant->clock));
}

/* The same everywhere */
TEST_F(timens, arm_relative)
{
	__u64 before = clock_ns(variant->clock), after;
	struct hwheel_event ev;

	ASSERT_EQ(0, arm(self->fd, 20 * MSEC, 1, NULL));
	after = clock_ns(variant->clock);
	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_LE(before + 20 * MSEC, ev.deadline_ns);
	EXPECT_GT(after + 20 * MSEC + 8, ev.deadline_ns);
	EXPECT_LE(ev.deadline_ns, ev.fired_ns);
	EXPECT_GE(clock_ns(variant->clock), ev.fired_ns);
}

TEST_F(timens, refresh)
{
	__u64 deadline = clock_ns(variant->clock) + 30 * MSEC, id;
	struct hwheel_event ev;

	/* Earlier; in between it is later than any clock could show. */
	ASSERT_EQ(0, arm_at(self->fd, deadline + HOUR, 1, &id));
	ASSERT_EQ(0, refresh_at(self->fd, id, NEVER));
	ASSERT_EQ(0, refresh_at(self->fd, id, deadline));
	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_EQ(0, check_event(&ev, deadline, 0, variant->clock));
}

TEST_F(timens, refresh_later)
{
	__u64 deadline = clock_ns(variant->clock) + 400 * MSEC, id;
	struct hwheel_event ev;

	ASSERT_EQ(0, arm_at(self->fd, deadline - 200 * MSEC, 1, &id));
	if (refresh_at(self->fd, id, deadline))
		SKIP(return, "the machine stalled for 200 ms");
	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_EQ(0, check_event(&ev, deadline, 0, variant->clock));
}

TEST_F(timens, refresh_relative)
{
	__u64 before, after, id;
	struct hwheel_event ev;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	before = clock_ns(variant->clock);
	ASSERT_EQ(0, refresh(self->fd, id, 20 * MSEC));
	after = clock_ns(variant->clock);
	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_LE(before + 20 * MSEC, ev.deadline_ns);
	EXPECT_GT(after + 20 * MSEC + 8, ev.deadline_ns);
}

/* It arms, and moves to a later time and to an earlier one. */
TEST_F(timens, set)
{
	__u64 deadline = clock_ns(variant->clock) + 30 * MSEC, id = 0;
	struct hwheel_event ev;

	ASSERT_EQ(0, set_at(self->fd, &id, deadline + HOUR, 1));
	ASSERT_EQ(0, set_at(self->fd, &id, NEVER, 1));
	ASSERT_EQ(0, set_at(self->fd, &id, deadline, 1));
	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(0, check_event(&ev, deadline, 0, variant->clock));
}

TEST_F(timens, set_relative)
{
	__u64 before, after, id = 0;
	struct hwheel_event ev;

	ASSERT_EQ(0, set(self->fd, &id, NEVER, 1));
	before = clock_ns(variant->clock);
	ASSERT_EQ(0, set(self->fd, &id, 20 * MSEC, 1));
	after = clock_ns(variant->clock);
	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_LE(before + 20 * MSEC, ev.deadline_ns);
	EXPECT_GT(after + 20 * MSEC + 8, ev.deadline_ns);
}

/* It takes the event back, and arms; WITHDRAW takes the last one back. */
TEST_F(timens, set_of_the_expired)
{
	__u64 deadline = clock_ns(variant->clock), id, first;
	struct hwheel_event ev;

	ASSERT_EQ(0, arm_at(self->fd, deadline, 1, &id));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	first = id;
	deadline += 30 * MSEC;
	ASSERT_EQ(0, set_at(self->fd, &id, deadline, 2));
	EXPECT_NE(first, id);
	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_EQ(2, ev.cookie);
	EXPECT_EQ(0, check_event(&ev, deadline, 0, variant->clock));
	ASSERT_EQ(0, set_at(self->fd, &id, deadline, 3));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	EXPECT_EQ(0, withdraw(self->fd, id));
	EXPECT_EQ(0, readable(self->fd, 0));
}

static struct hwheel_op asked(__u64 id, __u32 flags)
{
	return (struct hwheel_op){ .flags = flags, .id = id };
}

TEST_F(timens, query)
{
	__u64 deadline = clock_ns(variant->clock) + HOUR, id;
	struct hwheel_op op;

	ASSERT_EQ(0, arm_at(self->fd, deadline, 9, &id));
	op = asked(id, HWHEEL_ABSOLUTE);
	EXPECT_EQ(HWHEEL_STATE_PENDING, call(self->fd, HWHEEL_IOC_QUERY, &op));
	EXPECT_EQ(9, op.cookie);
	EXPECT_LE(deadline, op.time_ns);
	EXPECT_GT(deadline + 8, op.time_ns);

	/* The time that is left is equal on each clock. */
	op = asked(id, 0);
	EXPECT_EQ(HWHEEL_STATE_PENDING, call(self->fd, HWHEEL_IOC_QUERY, &op));
	EXPECT_GT(HOUR + 8, op.time_ns);
	EXPECT_LE(deadline, clock_ns(variant->clock) + op.time_ns);
}

TEST_F(timens, query_of_the_expired)
{
	__u64 deadline = clock_ns(variant->clock), id;
	struct hwheel_op op;

	ASSERT_EQ(0, arm_at(self->fd, deadline, 9, &id));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	op = asked(id, HWHEEL_ABSOLUTE);
	EXPECT_EQ(HWHEEL_STATE_EXPIRED, call(self->fd, HWHEEL_IOC_QUERY, &op));
	EXPECT_LE(deadline, op.time_ns);
	EXPECT_GT(deadline + 8, op.time_ns);
	op = asked(id, 0);
	EXPECT_EQ(HWHEEL_STATE_EXPIRED, call(self->fd, HWHEEL_IOC_QUERY, &op));
	EXPECT_EQ(0, op.time_ns);
}

TEST_F(timens, submit)
{
	__u64 now = clock_ns(variant->clock);
	struct hwheel_op ops[] = {
		{ .op = HWHEEL_OP_ARM, .flags = HWHEEL_ABSOLUTE, .time_ns = now + 20 * MSEC },
		{ .op = HWHEEL_OP_SET, .flags = HWHEEL_ABSOLUTE, .time_ns = now + HOUR },
		{ .op = HWHEEL_OP_ARM, .time_ns = HOUR },
	};
	struct hwheel_op more[] = {
		{ .op = HWHEEL_OP_QUERY, .flags = HWHEEL_ABSOLUTE },
		{ .op = HWHEEL_OP_REFRESH, .flags = HWHEEL_ABSOLUTE, .time_ns = now + 30 * MSEC },
		{ .op = HWHEEL_OP_QUERY, .flags = HWHEEL_ABSOLUTE },
		{ .op = HWHEEL_OP_QUERY },
	};
	struct hwheel_event ev;

	ASSERT_EQ(3, submit(self->fd, ops, 3));
	more[0].id = ops[1].id;
	more[1].id = ops[1].id;
	more[2].id = ops[2].id;
	more[3].id = ops[2].id;
	ASSERT_EQ(4, submit(self->fd, more, 4));
	EXPECT_EQ(HWHEEL_STATE_PENDING, more[0].result);
	EXPECT_LE(now + HOUR, more[0].time_ns);
	EXPECT_GT(now + HOUR + 8, more[0].time_ns);
	EXPECT_EQ(0, more[1].result);
	EXPECT_EQ(HWHEEL_STATE_PENDING, more[2].result);
	EXPECT_LE(now + HOUR, more[2].time_ns);
	EXPECT_GT(clock_ns(variant->clock) + HOUR + 8, more[2].time_ns);
	EXPECT_GT(HOUR + 8, more[3].time_ns);

	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_EQ(0, check_event(&ev, now + (ev.id == ops[0].id ? 20 : 30) * MSEC, now,
				 variant->clock));
	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_EQ(0, check_event(&ev, now + (ev.id == ops[0].id ? 20 : 30) * MSEC, now,
				 variant->clock));
}

/*
 * Also what was before this clock's zero in another namespace is past. What the machine
 * itself had not begun then may be told as having been due when it did.
 */
TEST_F(timens, past)
{
	const __u64 outer = clock_in(self->outside, self->inside, variant->clock);
	const __u64 now = clock_ns(variant->clock);
	const __u64 start = now > outer ? now - outer : 0;
	const __u64 past[] = {
		0, 1, 7, 8, start / 2, start - !!start, start, start + 1, start + 9,
		now / 2, now - 1, now,
	};
	struct hwheel_event ev;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(past); i++) {
		ASSERT_EQ(0, arm_at(self->fd, past[i], i, NULL));
		ASSERT_EQ(0, next_any(self->fd, &ev));
		EXPECT_EQ(i, ev.cookie);
		EXPECT_LE(past[i], ev.deadline_ns);
		EXPECT_GT((past[i] < start ? start : past[i]) + 8, ev.deadline_ns);
		EXPECT_LE(now, ev.fired_ns);
		EXPECT_GE(clock_ns(variant->clock), ev.fired_ns);
	}
}

/* Far deadlines do not wrap, however the clocks are shifted. */
static size_t far_times(__u64 *times, __u64 now, __u64 outer)
{
	const __u64 shift = now - outer;
	size_t n = 0;
	int i;

	for (i = -9; i <= 9; i += 3) {
		times[n++] = now + HOUR + i;
		times[n++] = INT64_MAX + (__u64)i;
		times[n++] = INT64_MAX + shift + i;
		times[n++] = INT64_MAX - shift + i;
		times[n++] = UINT64_MAX - 9 + i;
		times[n++] = UINT64_MAX - (shift < INT64_MAX ? shift : -shift) + i;
	}
	return n;
}

TEST_F(timens, far)
{
	const __u64 now = clock_ns(variant->clock);
	const __u64 outer = clock_in(self->outside, self->inside, variant->clock);
	__u64 times[64], ids[64];
	size_t n = far_times(times, now, outer), i;
	struct hwheel_event ev;
	struct hwheel_op op;

	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, arm_at(self->fd, times[i], i, &ids[i]));
		op = asked(ids[i], HWHEEL_ABSOLUTE);
		EXPECT_EQ(HWHEEL_STATE_PENDING, call(self->fd, HWHEEL_IOC_QUERY, &op));
		EXPECT_LT(now + HOUR - SEC, op.time_ns);
		op = asked(ids[i], 0);
		EXPECT_EQ(HWHEEL_STATE_PENDING, call(self->fd, HWHEEL_IOC_QUERY, &op));
		EXPECT_LT(HOUR / 2, op.time_ns);
	}
	ASSERT_EQ(0, arm(self->fd, 20 * MSEC, n, NULL));
	ASSERT_EQ(0, next_any(self->fd, &ev));
	EXPECT_EQ(n, ev.cookie);
	EXPECT_EQ(0, readable(self->fd, 0));
	/* One of each */
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, refresh_at(self->fd, ids[i], now));
		ASSERT_EQ(0, next_any(self->fd, &ev));
		EXPECT_EQ(ids[i], ev.id);
		EXPECT_EQ(0, check_event(&ev, now, now, variant->clock));
	}
}

TEST_F(timens, stopped)
{
	__u64 before = clock_ns(variant->clock);
	struct hwheel_event ev;

	ASSERT_EQ(0, arm_at(self->fd, before + HOUR, 2, NULL));
	ASSERT_EQ(1, stop(self->fd));
	ASSERT_EQ(1, read_raw(self->fd, &ev, 1));
	EXPECT_EQ(HWHEEL_EVENT_STOPPED, ev.type);
	EXPECT_LE(before + HOUR, ev.deadline_ns);
	EXPECT_GT(before + HOUR + 8, ev.deadline_ns);
	EXPECT_LE(before, ev.fired_ns);
	EXPECT_GE(clock_ns(variant->clock), ev.fired_ns);
}

/* Opened inside, used outside, where the clocks are others: the file keeps its own. */
TEST_F(timens, used_outside)
{
	__u64 deadline = clock_ns(variant->clock) + 50 * MSEC, id;
	struct hwheel_event ev;

	ASSERT_EQ(0, enter(self->outside));
	ASSERT_EQ(0, arm_at(self->fd, deadline, 1, &id));
	ASSERT_EQ(0, next_any(self->fd, &ev));
	ASSERT_EQ(0, enter(self->inside));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(0, check_event(&ev, deadline, 0, variant->clock));
}

/* And the other way round. */
TEST_F(timens, used_inside)
{
	__u64 deadline, id;
	struct hwheel_event ev;
	struct hwheel_op op;
	int fd;

	ASSERT_EQ(0, enter(self->outside));
	fd = open_on(variant->clock);
	ASSERT_LE(0, fd);
	deadline = clock_ns(variant->clock) + 50 * MSEC;
	ASSERT_EQ(0, enter(self->inside));
	ASSERT_EQ(0, arm_at(fd, deadline + HOUR, 1, &id));
	op = asked(id, HWHEEL_ABSOLUTE);
	EXPECT_EQ(HWHEEL_STATE_PENDING, call(fd, HWHEEL_IOC_QUERY, &op));
	EXPECT_EQ(round_up_8(deadline + HOUR), op.time_ns);
	ASSERT_EQ(0, refresh_at(fd, id, deadline));
	ASSERT_EQ(0, next_any(fd, &ev));
	ASSERT_EQ(0, enter(self->outside));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(0, check_event(&ev, deadline, 0, variant->clock));
	EXPECT_EQ(0, close(fd));
}

/* Configured inside, but opened outside: it is the open that counts. */
TEST_F(timens, configured_inside)
{
	struct hwheel_config config = {
		.slots = 64, .clock = variant->clock, .kind = HWHEEL_KIND_HASHED,
	};
	__u64 deadline;
	int fd;

	ASSERT_EQ(0, enter(self->outside));
	fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, fd);
	deadline = clock_ns(variant->clock) + 50 * MSEC;
	ASSERT_EQ(0, enter(self->inside));
	ASSERT_EQ(0, configure_file(fd, config));
	ASSERT_EQ(0, enter(self->outside));
	EXPECT_EQ(0, fires_at(fd, deadline, variant->clock));
	EXPECT_EQ(0, close(fd));
}

/* A process born there, as unshare -T would start it, which opens a file of its own. */
TEST_F(timens, child)
{
	ASSERT_EQ(0, enter(self->outside));
	ASSERT_EQ(0, unshare(CLONE_NEWTIME));
	ASSERT_EQ(0, write_offsets(&variant->boottime, &variant->monotonic));
	EXPECT_EQ(0, IN_CHILD(fires_at(open_on(variant->clock),
				       clock_ns(variant->clock) + 30 * MSEC, variant->clock)));
}

/* A process that has only prepared one for its children is not in it. */
TEST_F(timens, prepared)
{
	int fd;

	ASSERT_EQ(0, enter(self->outside));
	ASSERT_EQ(0, unshare(CLONE_NEWTIME));
	ASSERT_EQ(0, write_offsets(&variant->monotonic, &variant->boottime));
	fd = open_on(variant->clock);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, fires_at(fd, clock_ns(variant->clock) + 30 * MSEC, variant->clock));
	EXPECT_EQ(0, close(fd));
}

TEST_HARNESS_MAIN
