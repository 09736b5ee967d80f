// SPDX-License-Identifier: GPL-2.0-only
/*
 * Closing: whatever the file holds, and whoever closes it, it takes everything
 * with it, at once, and disturbs no other file. A kernel that is told to panic at
 * any complaint is what sees memory used after that.
 */

#include "share.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>

#define MANY	10000

/*
 * One fixture for all that a file can hold when it is closed. A witness in a file
 * that stays open tells that the wheel goes on.
 */
FIXTURE(close)
{
	int	witness;
	long	users;
	int	fd;
};

FIXTURE_VARIANT(close)
{
	unsigned int	n;
};

FIXTURE_VARIANT_ADD(close, none) { .n = 0 };
FIXTURE_VARIANT_ADD(close, one) { .n = 1 };
FIXTURE_VARIANT_ADD(close, many) { .n = MANY };

FIXTURE_SETUP(close)
{
	self->witness = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->witness);
	ASSERT_EQ(0, arm(self->witness, 100 * MSEC, 1, NULL));
	self->users = users_of_module();
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

/* self->fd was closed by the test. */
FIXTURE_TEARDOWN(close)
{
	struct hwheel_event ev;
	int again;

	EXPECT_EQ(self->users, users_of_module());
	EXPECT_EQ(0, next_event(self->witness, &ev));
	EXPECT_EQ(1, ev.cookie);
	EXPECT_EQ(0, stays_quiet(self->witness, now_ns()));

	/* Opened anew, it is empty, and it works. */
	again = open_device(O_NONBLOCK);
	ASSERT_LE(0, again);
	EXPECT_EQ(-EAGAIN, read_events(again, &ev, 1));
	EXPECT_EQ(0, arm(again, 0, 2, NULL));
	EXPECT_EQ(0, next_event(again, &ev));
	EXPECT_EQ(2, ev.cookie);
	EXPECT_EQ(0, stays_quiet(again, now_ns()));
	EXPECT_EQ(0, close(again));
	EXPECT_EQ(0, close(self->witness));
}

/* Timeouts with deadlines @step_ns apart. */
static int arm_apart(int fd, unsigned int n, __u64 step_ns, __u64 *ids)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < n; i++)
		ret = arm(fd, (i + 1) * step_ns, i, ids ? &ids[i] : NULL);
	return ret;
}

TEST_F(close, pending)
{
	ASSERT_EQ(0, arm_apart(self->fd, variant->n, 3600 * SEC, NULL));
	ASSERT_EQ(0, close(self->fd));
}

/* The wheel has filed them by then. */
TEST_F(close, pending_and_filed)
{
	ASSERT_EQ(0, arm_apart(self->fd, variant->n, 3600 * SEC, NULL));
	ASSERT_EQ(0, settle(now_ns()));
	ASSERT_EQ(0, close(self->fd));
}

TEST_F(close, expired_unread)
{
	ASSERT_EQ(0, fire(self->fd, variant->n));
	ASSERT_EQ(0, close(self->fd));
}

/* Cancelled a moment ago, so the worker has not let go of them. */
TEST_F(close, cancelled)
{
	__u64 *ids = calloc(variant->n + 1, sizeof(*ids));

	ASSERT_NE(NULL, ids);
	ASSERT_EQ(0, arm_apart(self->fd, variant->n, 3600 * SEC, ids));
	ASSERT_EQ(0, settle(now_ns()));
	ASSERT_EQ(0, cancel_many(self->fd, ids, variant->n));
	ASSERT_EQ(0, close(self->fd));
	free(ids);
}

TEST_F(close, all_of_it)
{
	__u64 *ids = calloc(variant->n + 1, sizeof(*ids));
	unsigned int i;

	ASSERT_NE(NULL, ids);
	/* Some are refreshed, some cancelled, some fire meanwhile, some will. */
	ASSERT_EQ(0, arm_apart(self->fd, variant->n, SEC / 2000, ids));
	for (i = 0; i < variant->n; i += 3) {
		cancel(self->fd, ids[i]);
		if (i + 1 < variant->n)
			refresh(self->fd, ids[i + 1], i & 1 ? 0 : NEVER);
	}
	ASSERT_EQ(0, close(self->fd));
	free(ids);
}

/* All of them due at the moment of the close. */
TEST_F(close, about_to_fire)
{
	__u64 deadline = now_ns() + 20 * MSEC;

	ASSERT_EQ(0, arm_many(self->fd, variant->n, deadline, NULL));
	while (now_ns() < deadline)
		sched_yield();
	ASSERT_EQ(0, close(self->fd));
}

/* A child has it too: the last one out turns off the light. */
TEST_F(close, from_a_child)
{
	int go[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, arm_apart(self->fd, variant->n, 3600 * SEC, NULL));
	/* The child goes on when its parent has closed its own. */
	pid = START_CHILD(close(go[1]) || read(go[0], &c, 1) ||
			  arm(self->fd, NEVER, 0, NULL) || close(self->fd));
	ASSERT_LE(0, pid);
	ASSERT_EQ(0, close(self->fd));
	ASSERT_EQ(0, close(go[1]));
	EXPECT_EQ(0, reap(pid));
	ASSERT_EQ(0, close(go[0]));
}

static int wait_for_byte(int fd)
{
	char c;

	return read(fd, &c, 1) == 1 ? 0 : -EPIPE;
}

/* 0 if a child that is at @work, and has closed @fd, can be killed once it is ready */
static int kill_at_work(int (*work)(size_t n, int ready), size_t n, int fd)
{
	int ready[2], ret;
	pid_t pid;

	if (pipe(ready))
		return -errno;
	pid = START_CHILD(close(fd) ?: work(n, ready[1]));
	close(ready[1]);
	ret = pid < 0 ? -EAGAIN : wait_for_byte(ready[0]);
	close(ready[0]);
	return ret ?: kill_child(pid);
}

/* Holds @n timeouts of each kind, and arms more. */
static int arm_more(size_t n, int ready)
{
	int fd = open_device(O_NONBLOCK);
	struct hwheel_event ev[16];
	__u64 id;

	if (fire(fd, n) || arm_apart(fd, n, SEC, NULL) || write(ready, "", 1) != 1)
		return -EPROTO;
	while (1) {
		if (!arm(fd, MSEC, 0, &id) && id % 2)
			cancel(fd, id);
		read_events(fd, ev, 16);
	}
}

TEST_F(close, killed)
{
	EXPECT_EQ(0, kill_at_work(arm_more, variant->n, self->fd));
	EXPECT_EQ(0, close(self->fd));
}

static int sleep_in_read(size_t n, int ready)
{
	int fd = open_device(0);
	struct hwheel_event ev;

	if (arm_apart(fd, n, 0, NULL) || arm(fd, NEVER, 0, NULL) || write(ready, "", 1) != 1)
		return -EPROTO;
	while (read_events(fd, &ev, 1) > 0)
		;
	return -EPROTO;
}

TEST_F(close, killed_while_reading)
{
	EXPECT_EQ(0, kill_at_work(sleep_in_read, variant->n, self->fd));
	EXPECT_EQ(0, close(self->fd));
}

/* An epoll that watches the file does not keep it. */
TEST_F(close, watched)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, self->fd, &event));
	ASSERT_EQ(0, arm_apart(self->fd, variant->n, MSEC, NULL));
	ASSERT_EQ(0, close(self->fd));
	EXPECT_EQ(self->users, users_of_module());
	EXPECT_EQ(0, settle(now_ns()));
	EXPECT_EQ(0, epoll_wait(epoll, &event, 1, 0));
	EXPECT_EQ(0, close(epoll));
}

/* Opened and closed while the wheel is at work on what the ones before left. */
TEST(over_and_over)
{
	struct hwheel_event ev;
	__u32 random = 1;
	int fd, i, j;

	for (i = 0; i < 300; i++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		for (j = 0; j < 64; j++) {
			__u64 id;

			random = random * 1664525 + 1013904223;
			ASSERT_EQ(0, arm(fd, (random >> 8) % (30 * MSEC), j, &id));
			if (random >> 30 == 0)
				cancel(fd, id);
			if (random >> 30 == 1)
				refresh(fd, id, (random >> 4) % (30 * MSEC));
		}
		/* Every third is closed before anything can have fired. */
		if (i % 3)
			ASSERT_EQ(0, next_event(fd, &ev));
		ASSERT_EQ(0, close(fd));
	}
}

struct worker {
	int	index;
	int	result;
};

static void *open_arm_close(void *data)
{
	struct worker *worker = data;
	int fd, i, j;

	for (i = 0; i < 200 && !worker->result; i++) {
		fd = open_device(O_NONBLOCK);
		for (j = 0; j < 50 && !worker->result; j++)
			worker->result = arm(fd, (i + j) % 20 * MSEC, worker->index, NULL);
		if (close(fd))
			worker->result = -errno;
	}
	return NULL;
}

TEST(many_at_once)
{
	struct worker workers[8] = { 0 };
	pthread_t threads[8];
	int i;

	for (i = 0; i < 8; i++) {
		workers[i].index = i;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, open_arm_close, &workers[i]));
	}
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(0, workers[i].result);
	}
}

/* Several threads of one file work on each other's timeouts, and all may fail. */
struct user {
	int	fd;
	__u64	*ids;
	int	bad;
};

#define SHARED_IDS	64

static void *use_any(void *data)
{
	struct user *user = data;
	struct hwheel_event ev[4];
	__u32 random = (__u32)(uintptr_t)&random;
	int i, ret;

	for (i = 0; i < 20000; i++) {
		__u64 *id;

		random = random * 1664525 + 1013904223;
		id = &user->ids[(random >> 16) % SHARED_IDS];
		switch (random >> 30) {
		case 0:
			ret = arm(user->fd, (random >> 8) % (5 * MSEC), 0, id);
			user->bad += ret && ret != -ENOSPC;
			break;
		case 1:
			ret = cancel(user->fd, __atomic_load_n(id, __ATOMIC_RELAXED));
			user->bad += ret && ret != -ENOENT;
			break;
		case 2:
			ret = refresh(user->fd, __atomic_load_n(id, __ATOMIC_RELAXED), MSEC);
			user->bad += ret && ret != -ENOENT;
			break;
		default:
			ret = read_events(user->fd, ev, 4);
			user->bad += ret < 0 && ret != -EAGAIN;
		}
	}
	return NULL;
}

TEST(closed_after_a_brawl)
{
	__u64 ids[SHARED_IDS];
	struct user users[6];
	pthread_t threads[6];
	int fd = open_device(O_NONBLOCK), i;

	ASSERT_LE(0, fd);
	for (i = 0; i < SHARED_IDS; i++)
		ASSERT_EQ(0, arm(fd, i * MSEC, 0, &ids[i]));
	for (i = 0; i < 6; i++) {
		users[i] = (struct user){ fd, ids, 0 };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, use_any, &users[i]));
	}
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(0, users[i].bad);
	}
	ASSERT_EQ(0, close(fd));
	EXPECT_EQ(0, settle(now_ns()));
}

TEST_HARNESS_MAIN
