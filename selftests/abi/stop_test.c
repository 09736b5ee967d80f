// SPDX-License-Identifier: GPL-2.0-only
/*
 * STOP: what was pending is read as stopped, what had expired as expired, then the file is
 * at its end. Each timeout ends in one way, whatever races.
 */

#include "share.h"

#include <pthread.h>
#include <sys/uio.h>

#define HUNDRED		100
#define MANY		100000
#define COOKIE		0x1122334455667788

/* On the wheel of all, and on one of its own: STOP is the same. */
FIXTURE(stop)
{
	int	fd;
};

FIXTURE_VARIANT(stop)
{
	struct hwheel_config	config;
};

FIXTURE_VARIANT_ADD(stop, shared) { .config = { .clock = CLOCK_MONOTONIC } };

FIXTURE_VARIANT_ADD(stop, hashed) {
	.config = {
		.tick_ns = MSEC, .slots = 16, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	},
};

FIXTURE_VARIANT_ADD(stop, hierarchical) {
	.config = {
		.tick_ns = 2 * MSEC, .slots = 8, .levels = 3, .clock = CLOCK_BOOTTIME,
		.kind = HWHEEL_KIND_HIERARCHICAL,
	},
};

FIXTURE_SETUP(stop)
{
	self->fd = open_configured(O_NONBLOCK, &variant->config);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(stop)
{
	EXPECT_EQ(0, close(self->fd));
}

/* The clock of a file's wheel */
static clockid_t clock_of(int fd)
{
	struct hwheel_info info;

	return get_info(fd, &info) ? CLOCK_REALTIME : (clockid_t)info.clock;
}

/* Up to @max events: how many, 0 at the end. */
static int read_ended(int fd, struct hwheel_event *ev, size_t max)
{
	return read_any(fd, clock_of(fd), ev, max);
}

/* Reads all there is at once; how many were of @type, and each counted in @seen. */
static int drain(int fd, __u32 type, unsigned int *seen, size_t size)
{
	struct hwheel_event ev[64];
	int got, i, n = 0;

	while ((got = read_ended(fd, ev, 64)) > 0) {
		for (i = 0; i < got; i++) {
			if (ev[i].type != type || ev[i].cookie >= size)
				return -EPROTO;
			seen[ev[i].cookie]++;
		}
		n += got;
	}
	return got ?: n;
}

/* Expired and not read, whatever the wheel */
static int fire_unread(int fd, size_t n)
{
	return arm_many(fd, n, 0, NULL) ?: await_events(fd, n);
}

/* At the end, however one looks. */
static int at_end(int fd)
{
	struct hwheel_event ev[2];

	if (read_ended(fd, ev, 1) || read_ended(fd, ev, 2))
		return -EEXIST;
	return poll_all(fd) == POLLHUP ? 0 : -EPROTO;
}

TEST_F(stop, nothing)
{
	EXPECT_EQ(0, poll_all(self->fd));
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, at_end(self->fd));
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, at_end(self->fd));
}

/* The first call finds them all, and the second one the end. */
TEST_F(stop, pending)
{
	struct hwheel_event ev[2 * HUNDRED];
	unsigned int seen[HUNDRED] = { 0 };
	__u64 base, before, after, ids[HUNDRED];
	int i;

	base = round_up_8(clock_ns(clock_of(self->fd)) + 3600 * SEC);
	for (i = 0; i < HUNDRED; i++)
		ASSERT_EQ(0, arm_at(self->fd, base + i * SEC, i, &ids[i]));
	before = clock_ns(clock_of(self->fd));
	ASSERT_EQ(HUNDRED, stop(self->fd));
	after = clock_ns(clock_of(self->fd));
	ASSERT_EQ(HUNDRED, read_ended(self->fd, ev, 2 * HUNDRED));
	EXPECT_EQ(0, at_end(self->fd));
	for (i = 0; i < HUNDRED; i++) {
		ASSERT_GT(HUNDRED, ev[i].cookie);
		seen[ev[i].cookie]++;
		EXPECT_EQ(HWHEEL_EVENT_STOPPED, ev[i].type);
		EXPECT_EQ(ids[ev[i].cookie], ev[i].id);
		EXPECT_EQ(base + ev[i].cookie * SEC, ev[i].deadline_ns);
		EXPECT_LE(before, ev[i].fired_ns);
		EXPECT_GE(after, ev[i].fired_ns);
	}
	EXPECT_TRUE(each_once(seen, HUNDRED));
}

/* Where the worker has filed them, and where it has not seen the last ones yet. */
TEST_F(stop, filed_and_queued)
{
	unsigned int seen[3 * HUNDRED] = { 0 };
	__u64 id;
	int i;

	for (i = 0; i < 3 * HUNDRED; i++) {
		ASSERT_EQ(0, arm(self->fd, 3600 * SEC, i, &id));
		if (i % 3 == 1)
			ASSERT_EQ(0, refresh(self->fd, id, NEVER));
		if (i % 3 == 2)
			ASSERT_EQ(0, refresh(self->fd, id, 1800 * SEC));
		if (i == 2 * HUNDRED)
			ASSERT_EQ(0, settle(now_ns()));
	}
	EXPECT_EQ(3 * HUNDRED, stop(self->fd));
	EXPECT_EQ(3 * HUNDRED, drain(self->fd, HWHEEL_EVENT_STOPPED, seen, 3 * HUNDRED));
	EXPECT_TRUE(each_once(seen, 3 * HUNDRED));
	EXPECT_EQ(0, at_end(self->fd));
}

TEST_F(stop, second_time)
{
	unsigned int seen[HUNDRED] = { 0 };
	struct hwheel_event ev;

	ASSERT_EQ(0, arm_many(self->fd, HUNDRED, NEVER, NULL));
	EXPECT_EQ(HUNDRED, stop(self->fd));
	EXPECT_EQ(0, stop(self->fd));
	ASSERT_EQ(1, read_ended(self->fd, &ev, 1));
	ASSERT_GT(HUNDRED, ev.cookie);
	seen[ev.cookie]++;
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(HUNDRED - 1, drain(self->fd, HWHEEL_EVENT_STOPPED, seen, HUNDRED));
	EXPECT_TRUE(each_once(seen, HUNDRED));
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, at_end(self->fd));
}

/* They are not stopped, not counted, and come first. */
TEST_F(stop, expired)
{
	struct hwheel_event ev[3 * HUNDRED];
	unsigned int seen[2 * HUNDRED] = { 0 };
	int i;

	ASSERT_EQ(0, fire_unread(self->fd, HUNDRED));
	for (i = 0; i < HUNDRED; i++)
		ASSERT_EQ(0, arm(self->fd, NEVER, HUNDRED + i, NULL));
	EXPECT_EQ(HUNDRED, stop(self->fd));
	ASSERT_EQ(2 * HUNDRED, read_ended(self->fd, ev, 3 * HUNDRED));
	for (i = 0; i < 2 * HUNDRED; i++) {
		ASSERT_GT(2 * HUNDRED, ev[i].cookie);
		seen[ev[i].cookie]++;
		EXPECT_EQ(i < HUNDRED ? HWHEEL_EVENT_EXPIRED : HWHEEL_EVENT_STOPPED, ev[i].type);
		EXPECT_EQ(i < HUNDRED, ev[i].cookie < HUNDRED);
	}
	EXPECT_TRUE(each_once(seen, 2 * HUNDRED));
	EXPECT_EQ(0, at_end(self->fd));
}

TEST_F(stop, only_expired)
{
	unsigned int seen[HUNDRED] = { 0 };

	ASSERT_EQ(0, fire_unread(self->fd, HUNDRED));
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->fd));
	EXPECT_EQ(HUNDRED, drain(self->fd, HWHEEL_EVENT_EXPIRED, seen, HUNDRED));
	EXPECT_TRUE(each_once(seen, HUNDRED));
	EXPECT_EQ(0, at_end(self->fd));
}

/* What the worker has not let go of yet does not keep the file from its end. */
TEST_F(stop, cancelled)
{
	unsigned int seen[HUNDRED] = { 0 };
	__u64 ids[HUNDRED];
	int round;

	ASSERT_EQ(0, arm_many(self->fd, HUNDRED, NEVER, ids));
	ASSERT_EQ(0, settle(now_ns()));
	ASSERT_EQ(0, cancel_many(self->fd, ids, HUNDRED));
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, drain(self->fd, HWHEEL_EVENT_STOPPED, seen, HUNDRED));
	EXPECT_EQ(0, at_end(self->fd));

	for (round = 0; round < 20; round++) {
		int fd = open_configured(O_NONBLOCK, &variant->config);

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, arm_many(fd, HUNDRED, NEVER, ids));
		ASSERT_EQ(0, cancel_many(fd, ids, HUNDRED - 1));
		EXPECT_EQ(1, stop(fd));
		EXPECT_EQ(1, drain(fd, HWHEEL_EVENT_STOPPED, seen, HUNDRED));
		EXPECT_EQ(0, at_end(fd));
		EXPECT_EQ(0, close(fd));
	}
}

/* A refused call leaves its memory alone and counts for nothing. */
static int arms_are_refused(int fd)
{
	struct hwheel_op op = { .cookie = 1 }, want;
	struct hwheel_config config = { .max_timeouts = 1, .clock = CLOCK_MONOTONIC };
	struct hwheel_file_stats before, after;

	want = op;
	if (get_stats(fd, &before) || call(fd, HWHEEL_IOC_ARM, &op) != -ESHUTDOWN ||
	    memcmp(&op, &want, sizeof(op)))
		return -EPROTO;
	op.flags = HWHEEL_ABSOLUTE;
	op.time_ns = NEVER;
	if (call(fd, HWHEEL_IOC_ARM, &op) != -ESHUTDOWN || op.id)
		return -EPROTO;
	op.op = HWHEEL_OP_ARM;
	if (submit(fd, &op, 1) != 1 || op.result != -ESHUTDOWN || op.id)
		return -EPROTO;
	if (configure(fd, &config) != -ESHUTDOWN || get_stats(fd, &after))
		return -EPROTO;
	return before.armed == after.armed && before.held == after.held ? 0 : -EPROTO;
}

TEST_F(stop, arm_afterwards)
{
	unsigned int seen[HUNDRED] = { 0 };

	ASSERT_EQ(0, arm_many(self->fd, HUNDRED, NEVER, NULL));
	ASSERT_EQ(HUNDRED, stop(self->fd));
	EXPECT_EQ(0, arms_are_refused(self->fd));
	EXPECT_EQ(HUNDRED, drain(self->fd, HWHEEL_EVENT_STOPPED, seen, HUNDRED));
	EXPECT_TRUE(each_once(seen, HUNDRED));
	EXPECT_EQ(0, arms_are_refused(self->fd));
	EXPECT_EQ(0, at_end(self->fd));
}

TEST_F(stop, arm_in_an_empty_file)
{
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, arms_are_refused(self->fd));
	EXPECT_EQ(0, at_end(self->fd));
}

/* Also when there would be no room for it */
TEST_F(stop, arm_in_a_full_file)
{
	struct hwheel_config config = variant->config;
	int fd, err;

	config.max_timeouts = 10;
	fd = open_configured(O_NONBLOCK, &config);
	ASSERT_LE(0, fd);
	ASSERT_EQ(10, fill(fd, 10, &err));
	ASSERT_EQ(-ENOSPC, err);
	ASSERT_EQ(10, stop(fd));
	EXPECT_EQ(0, arms_are_refused(fd));
	EXPECT_EQ(0, close(fd));
}

static bool is_untouched(const struct hwheel_op *op)
{
	return !op->cookie && !op->time_ns;
}

/* What the others say of it, until its event was read and afterwards */
TEST_F(stop, id)
{
	__u64 deadline, id;
	struct hwheel_event ev;
	struct hwheel_op op;

	deadline = round_up_8(clock_ns(clock_of(self->fd)) + 3600 * SEC);
	ASSERT_EQ(0, arm_at(self->fd, deadline, COOKIE, &id));
	ASSERT_EQ(1, stop(self->fd));

	EXPECT_EQ(-ENOENT, cancel(self->fd, id));
	EXPECT_EQ(-ENOENT, refresh(self->fd, id, 0));
	EXPECT_EQ(-ENOENT, refresh(self->fd, id, NEVER));
	EXPECT_EQ(HWHEEL_STATE_STOPPED, query(self->fd, id, HWHEEL_ABSOLUTE, &op));
	EXPECT_EQ(COOKIE, op.cookie);
	EXPECT_EQ(deadline, op.time_ns);
	EXPECT_EQ(-ENOENT, cancel(self->fd, id + 1));

	ASSERT_EQ(1, read_ended(self->fd, &ev, 1));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(COOKIE, ev.cookie);
	EXPECT_EQ(deadline, ev.deadline_ns);
	EXPECT_EQ(HWHEEL_EVENT_STOPPED, ev.type);

	EXPECT_EQ(-ENOENT, cancel(self->fd, id));
	EXPECT_EQ(-ENOENT, refresh(self->fd, id, NEVER));
	EXPECT_EQ(-ENOENT, query(self->fd, id, HWHEEL_ABSOLUTE, &op));
	EXPECT_TRUE(is_untouched(&op));
	EXPECT_EQ(0, at_end(self->fd));
}

TEST_F(stop, id_of_the_expired)
{
	struct hwheel_event ev;
	struct hwheel_op op;
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, 0, COOKIE, &id));
	ASSERT_EQ(0, await_events(self->fd, 1));
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(HWHEEL_STATE_EXPIRED, query(self->fd, id, HWHEEL_ABSOLUTE, &op));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id));
	EXPECT_EQ(-ENOENT, refresh(self->fd, id, NEVER));
	ASSERT_EQ(1, read_ended(self->fd, &ev, 1));
	EXPECT_EQ(HWHEEL_EVENT_EXPIRED, ev.type);
	EXPECT_EQ(-ENOENT, query(self->fd, id, HWHEEL_ABSOLUTE, &op));
	EXPECT_EQ(0, at_end(self->fd));
}

TEST_F(stop, poll)
{
	struct hwheel_event ev;

	ASSERT_EQ(0, arm_many(self->fd, 2, NEVER, NULL));
	EXPECT_EQ(0, poll_all(self->fd));
	ASSERT_EQ(2, stop(self->fd));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->fd));
	ASSERT_EQ(1, read_ended(self->fd, &ev, 1));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->fd));
	ASSERT_EQ(1, read_ended(self->fd, &ev, 1));
	EXPECT_EQ(POLLHUP, poll_all(self->fd));
	EXPECT_EQ(0, at_end(self->fd));
}

TEST_F(stop, epoll_level)
{
	int epoll = watch(self->fd, EPOLLIN);
	struct hwheel_event ev[2];

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, arm_many(self->fd, 2, NEVER, NULL));
	EXPECT_EQ(0, watched(epoll, 0));
	ASSERT_EQ(2, stop(self->fd));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	EXPECT_EQ(EPOLLIN, watched(epoll, 0));
	ASSERT_EQ(2, read_ended(self->fd, ev, 2));
	EXPECT_EQ(EPOLLHUP, watched(epoll, 0));
	EXPECT_EQ(EPOLLHUP, watched(epoll, 0));
	EXPECT_EQ(0, at_end(self->fd));
	EXPECT_EQ(EPOLLHUP, watched(epoll, 0));
	EXPECT_EQ(0, close(epoll));
}

/* Once for the events, and once for the end, which nobody has to ask for. */
TEST_F(stop, epoll_edge)
{
	int epoll = watch(self->fd, EPOLLIN | EPOLLET);
	struct hwheel_event ev[2];

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, arm_many(self->fd, 2, NEVER, NULL));
	EXPECT_EQ(0, watched(epoll, 0));
	ASSERT_EQ(2, stop(self->fd));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	EXPECT_EQ(0, watched(epoll, 0));
	ASSERT_EQ(1, read_ended(self->fd, ev, 1));
	EXPECT_EQ(0, watched(epoll, 0));
	ASSERT_EQ(1, read_ended(self->fd, ev, 1));
	EXPECT_EQ(EPOLLHUP, watched(epoll, WAIT_MS));
	EXPECT_EQ(0, watched(epoll, 0));
	EXPECT_EQ(0, close(epoll));
}

TEST_F(stop, epoll_of_an_empty_file)
{
	int level = watch(self->fd, 0), edge = watch(self->fd, EPOLLET);

	ASSERT_LE(0, level);
	ASSERT_LE(0, edge);
	EXPECT_EQ(0, watched(edge, 0));
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(EPOLLHUP, watched(level, WAIT_MS));
	EXPECT_EQ(EPOLLHUP, watched(level, 0));
	EXPECT_EQ(EPOLLHUP, watched(edge, WAIT_MS));
	EXPECT_EQ(0, watched(edge, 0));
	EXPECT_EQ(0, close(level));
	EXPECT_EQ(0, close(edge));
}

/* Reads until the end: 0 if there were @n events, all of them stopped. */
static int read_to_end(int fd, int n)
{
	struct hwheel_event ev[7];
	int got, i;

	while ((got = read_ended(fd, ev, 7)) > 0)
		for (i = 0; i < got; i++, n--)
			if (ev[i].type != HWHEEL_EVENT_STOPPED)
				return 2;
	return got || n;
}

/* A reader that sleeps is woken by what was stopped, or by the end. */
static int wakes_reader(const struct hwheel_config *config, int n)
{
	int fd = open_configured(0, config);
	pid_t pid;

	if (fd < 0 || arm_many(fd, n, NEVER, NULL))
		return -EPROTO;
	pid = START_CHILD(read_to_end(fd, n));
	if (pid < 0 || await_sleep(pid) || stop(fd) != n)
		return -EPROTO;
	return reap(pid) ?: close(fd);
}

TEST_F(stop, wakes_reader)
{
	EXPECT_EQ(0, wakes_reader(&variant->config, 0));
	EXPECT_EQ(0, wakes_reader(&variant->config, 1));
	EXPECT_EQ(0, wakes_reader(&variant->config, HUNDRED));
}

static int count_to_end(int fd)
{
	struct hwheel_event ev;
	int n = 0;

	while (read_ended(fd, &ev, 1) > 0)
		n++;
	return n;
}

/* However many sleep, each of them comes to the end. */
TEST_F(stop, wakes_all_readers)
{
	int fd = open_configured(0, &variant->config), n, i;
	pid_t pid[5];

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_many(fd, 3, NEVER, NULL));
	for (i = 0; i < 5; i++) {
		pid[i] = START_CHILD(-count_to_end(fd));
		ASSERT_LE(0, pid[i]);
	}
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, await_sleep(pid[i]));
	EXPECT_EQ(3, stop(fd));
	for (i = n = 0; i < 5; i++) {
		int read = -reap(pid[i]);

		EXPECT_GE(3, read);
		n += read;
	}
	EXPECT_EQ(3, n);
	EXPECT_EQ(0, at_end(fd));
	EXPECT_EQ(0, close(fd));
}

/* A thread in poll() wakes, too; it has no time limit, at which it would look again. */
TEST_F(stop, wakes_poll)
{
	struct pollfd pfd = { .fd = self->fd };
	pid_t pid = START_CHILD(poll(&pfd, 1, -1) != 1 || pfd.revents != POLLHUP);

	ASSERT_LE(0, pid);
	ASSERT_EQ(0, await_sleep(pid));
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, reap(pid));
}

TEST_F(stop, blocking_read_of_a_stopped_file)
{
	int fd = open_configured(0, &variant->config);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_many(fd, 10, NEVER, NULL));
	ASSERT_EQ(10, stop(fd));
	EXPECT_EQ(0, read_to_end(fd, 10));
	EXPECT_EQ(0, at_end(fd));
	EXPECT_EQ(0, close(fd));
}

/* An event that can't be copied is not lost, and a buffer that is too short is no end. */
TEST_F(stop, faults_lose_nothing)
{
	struct iovec nowhere = { (void *)1, 10 * sizeof(struct hwheel_event) };
	unsigned int seen[10] = { 0 };
	struct hwheel_event ev;

	ASSERT_EQ(0, arm_many(self->fd, 10, NEVER, NULL));
	ASSERT_EQ(10, stop(self->fd));
	EXPECT_EQ(-1, readv(self->fd, &nowhere, 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, read(self->fd, &ev, sizeof(ev) - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->fd));
	EXPECT_EQ(10, drain(self->fd, HWHEEL_EVENT_STOPPED, seen, 10));
	EXPECT_TRUE(each_once(seen, 10));
	EXPECT_EQ(-1, read(self->fd, &ev, sizeof(ev) - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, at_end(self->fd));
}

/* Others on the wheel of all notice nothing; nor does who is stopped notice them. */
TEST_F(stop, leaves_other_files)
{
	int other = open_device(O_NONBLOCK);
	unsigned int seen[HUNDRED] = { 0 }, seen_too[HUNDRED] = { 0 };
	struct hwheel_file_stats stats;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm_many(other, HUNDRED, now_ns() + 200 * MSEC, NULL));
	ASSERT_EQ(0, arm_many(self->fd, HUNDRED, NEVER, NULL));
	EXPECT_EQ(HUNDRED, stop(self->fd));
	ASSERT_EQ(0, get_stats(other, &stats));
	EXPECT_EQ(0, stats.stopped);
	EXPECT_EQ(0, collect(other, seen, HUNDRED, HUNDRED));
	EXPECT_TRUE(each_once(seen, HUNDRED));
	EXPECT_EQ(0, fire(other, HUNDRED));
	EXPECT_EQ(0, poll_all(other) & POLLHUP);
	EXPECT_EQ(HUNDRED, drain(self->fd, HWHEEL_EVENT_STOPPED, seen_too, HUNDRED));
	EXPECT_TRUE(each_once(seen_too, HUNDRED));
	EXPECT_EQ(0, close(other));
}

/* Stopped through one descriptor, it is stopped for all. */
TEST_F(stop, by_a_child)
{
	int fd = dup(self->fd);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_many(self->fd, 10, NEVER, NULL));
	EXPECT_EQ(-10, IN_CHILD(-stop(fd)));
	EXPECT_EQ(0, close(fd));
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(-ESHUTDOWN, arm(self->fd, 0, 0, NULL));
	EXPECT_EQ(0, read_to_end(self->fd, 10));
}

/* The file is closed with events of each kind. */
TEST_F(stop, closed_with_events)
{
	struct hwheel_event ev;
	int fd, i;

	for (i = 0; i < 5; i++) {
		fd = open_configured(O_NONBLOCK, &variant->config);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, fire_unread(fd, 10));
		ASSERT_EQ(0, arm_many(fd, 1000, NEVER, NULL));
		ASSERT_EQ(1000, stop(fd));
		if (i)
			ASSERT_EQ(1, read_ended(fd, &ev, 1));
		ASSERT_EQ(0, close(fd));
	}
	EXPECT_EQ(0, fire_unread(self->fd, 1));
}

TEST_F(stop, many)
{
	unsigned int *seen = calloc(MANY, sizeof(*seen));
	struct hwheel_config config = variant->config;
	int fd;

	ASSERT_NE(NULL, seen);
	config.max_timeouts = MANY;
	fd = open_configured(O_NONBLOCK, &config);
	if (fd == -EPERM)
		SKIP(return, "needs CAP_SYS_RESOURCE");
	ASSERT_LE(0, fd);
	ASSERT_EQ(MANY, arm_batches(fd, MANY));
	EXPECT_EQ(MANY, stop(fd));
	EXPECT_EQ(MANY, drain(fd, HWHEEL_EVENT_STOPPED, seen, MANY));
	EXPECT_TRUE(each_once(seen, MANY));
	EXPECT_EQ(0, at_end(fd));
	EXPECT_EQ(0, close(fd));
	free(seen);
}

/* Nobody waits for an edge. */
TEST(tick_of_an_hour)
{
	struct hwheel_config config = {
		.tick_ns = 3600 * SEC, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	int fd = open_configured(O_NONBLOCK, &config);
	unsigned int seen[HUNDRED] = { 0 };
	__u64 ids[HUNDRED];

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_many(fd, HUNDRED, NEVER, ids));
	ASSERT_EQ(0, cancel_many(fd, ids, HUNDRED / 2));
	EXPECT_EQ(HUNDRED / 2, stop(fd));
	EXPECT_EQ(HUNDRED / 2, drain(fd, HWHEEL_EVENT_STOPPED, seen, HUNDRED));
	EXPECT_EQ(0, at_end(fd));
	EXPECT_EQ(0, close(fd));
}

/*
 * All at once: threads arm, one by one and in batches, refresh, cancel and read, and some
 * stop. Each timeout ends once: it was cancelled, or its event says what became of it.
 */

#define ARMERS		3
#define STOPPERS	2
#define READERS		2
#define EACH		3000
#define BATCH		20
#define ROUNDS		20

/* Whose each cookie is: its armer counts cancels, readers the events. */
struct brawl {
	int		fd;
	clockid_t	clock;
	unsigned int	armed[ARMERS * EACH];
	unsigned int	cancelled[ARMERS * EACH];
	unsigned int	read[ARMERS * EACH];
	unsigned int	events_stopped;
	unsigned int	stopped;
	unsigned int	bad;
	unsigned int	begun;
};

struct brawler {
	struct brawl	*brawl;
	int		index;
};

static void count_bad(struct brawl *brawl, bool bad)
{
	if (bad)
		__atomic_add_fetch(&brawl->bad, 1, __ATOMIC_SEQ_CST);
}

/* Some are due within a tick, some never. */
static __u64 delay_of(int cookie)
{
	return cookie % 3 ? cookie % 7 * MSEC / 2 : NEVER;
}

static int arm_batch(struct brawl *brawl, int cookie)
{
	struct hwheel_op ops[BATCH];
	int i, done, ret = 0;

	for (i = 0; i < BATCH; i++)
		ops[i] = (struct hwheel_op){ .op = HWHEEL_OP_ARM, .cookie = cookie + i,
					     .time_ns = delay_of(cookie + i) };
	done = submit(brawl->fd, ops, BATCH);
	for (i = 0; i < done; i++) {
		brawl->armed[cookie + i] = !ops[i].result;
		ret = ret ?: ops[i].result;
	}
	return done == BATCH ? ret : -EPROTO;
}

static int arm_one(struct brawl *brawl, int cookie)
{
	__u64 id;
	int ret = arm(brawl->fd, delay_of(cookie), cookie, &id);

	if (ret)
		return ret;
	brawl->armed[cookie] = 1;
	if (cookie % 4 == 1)
		refresh(brawl->fd, id, cookie % 8 == 1 ? 0 : NEVER);
	if (cookie % 5 == 1)
		brawl->cancelled[cookie] = !cancel(brawl->fd, id);
	return 0;
}

/* Until the file is stopped, which is the only error that there may be. */
static void *arm_all(void *data)
{
	struct brawler *brawler = data;
	int cookie = brawler->index * EACH, end = cookie + EACH, ret = 0;
	struct brawl *brawl = brawler->brawl;

	while (!ret && cookie + BATCH <= end) {
		if (cookie % 50) {
			ret = arm_one(brawl, cookie++);
		} else {
			ret = arm_batch(brawl, cookie);
			cookie += BATCH;
		}
		__atomic_add_fetch(&brawl->begun, 1, __ATOMIC_SEQ_CST);
	}
	count_bad(brawl, ret && ret != -ESHUTDOWN);
	return NULL;
}

/* The file is a blocking one: only the end ends this. */
static void *read_all(void *data)
{
	struct brawl *brawl = ((struct brawler *)data)->brawl;
	struct hwheel_event ev[16];
	int got, i;

	while ((got = read_any(brawl->fd, brawl->clock, ev, 16)) > 0)
		for (i = 0; i < got; i++) {
			count_bad(brawl, ev[i].cookie >= ARRAY_SIZE(brawl->read));
			if (ev[i].cookie < ARRAY_SIZE(brawl->read))
				__atomic_add_fetch(&brawl->read[ev[i].cookie], 1,
						   __ATOMIC_SEQ_CST);
			if (ev[i].type == HWHEEL_EVENT_STOPPED)
				__atomic_add_fetch(&brawl->events_stopped, 1, __ATOMIC_SEQ_CST);
		}
	count_bad(brawl, got);
	return NULL;
}

/* Somewhere in the middle, each round elsewhere */
static void *stop_it(void *data)
{
	struct brawler *brawler = data;
	struct brawl *brawl = brawler->brawl;
	unsigned int after = brawler->index * 97 % 1500;
	int ret;

	while (__atomic_load_n(&brawl->begun, __ATOMIC_SEQ_CST) < after)
		sched_yield();
	ret = stop(brawl->fd);
	count_bad(brawl, ret < 0);
	__atomic_add_fetch(&brawl->stopped, ret, __ATOMIC_SEQ_CST);
	return NULL;
}

static void start(pthread_t *thread, void *(*work)(void *), struct brawler *brawler,
		  struct brawl *brawl, int index)
{
	*brawler = (struct brawler){ brawl, index };
	if (pthread_create(thread, NULL, work, brawler))
		exit(KSFT_FAIL);
}

static void fight(struct brawl *brawl, int round)
{
	struct brawler brawlers[ARMERS + STOPPERS + READERS];
	pthread_t threads[ARRAY_SIZE(brawlers)];
	int i, n = 0;

	for (i = 0; i < ARMERS; i++, n++)
		start(&threads[n], arm_all, &brawlers[n], brawl, i);
	for (i = 0; i < READERS; i++, n++)
		start(&threads[n], read_all, &brawlers[n], brawl, i);
	for (i = 0; i < STOPPERS; i++, n++)
		start(&threads[n], stop_it, &brawlers[n], brawl, round);
	while (n--)
		pthread_join(threads[n], NULL);
}

/* How many did not end in just one way, or ended without having been armed */
static int count_wrong(const struct brawl *brawl)
{
	int i, wrong = 0;

	for (i = 0; i < ARMERS * EACH; i++)
		wrong += brawl->armed[i] != brawl->read[i] + brawl->cancelled[i];
	return wrong;
}

TEST_F(stop, brawl)
{
	struct brawl *brawl = malloc(sizeof(*brawl));
	struct hwheel_file_stats stats;
	unsigned int stopped = 0;
	int round;

	ASSERT_NE(NULL, brawl);
	for (round = 0; round < ROUNDS; round++) {
		memset(brawl, 0, sizeof(*brawl));
		brawl->fd = open_configured(0, &variant->config);
		ASSERT_LE(0, brawl->fd);
		brawl->clock = clock_of(brawl->fd);
		fight(brawl, round);
		EXPECT_EQ(0, brawl->bad);
		EXPECT_EQ(0, count_wrong(brawl));
		EXPECT_EQ(brawl->stopped, brawl->events_stopped);
		ASSERT_EQ(0, get_stats(brawl->fd, &stats));
		EXPECT_EQ(brawl->stopped, stats.stopped);
		EXPECT_EQ(0, stats.held);
		EXPECT_EQ(stats.armed, stats.expired + stats.cancelled + stats.stopped);
		EXPECT_EQ(0, at_end(brawl->fd));
		EXPECT_EQ(0, close(brawl->fd));
		stopped += brawl->stopped;
	}
	TH_LOG("%u were stopped in %d rounds", stopped, ROUNDS);
	free(brawl);
}

TEST_HARNESS_MAIN
