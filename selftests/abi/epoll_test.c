// SPDX-License-Identifier: GPL-2.0-only
/*
 * epoll in each of its modes: level and edge triggered, once, exclusive. Whatever the
 * mode, somebody is told of every batch of events and everybody of the end.
 */

#include "share.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#define FILES	8
#define MANY	4000
#define WAITERS	4

FIXTURE(epoll)
{
	int	epoll;
	int	fd;
};

FIXTURE_SETUP(epoll)
{
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->epoll);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(epoll)
{
	EXPECT_EQ(0, close(self->epoll));
	EXPECT_EQ(0, close(self->fd));
}

static int control(int epoll, int how, int fd, __u32 events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(epoll, how, fd, &event) ? -errno : 0;
}

static int add(int epoll, int fd, __u32 events)
{
	return control(epoll, EPOLL_CTL_ADD, fd, events);
}

/*
 * Returns what epoll tells of @fd, and of nothing else, within @timeout_ms; 0 if nothing. The
 * device may leave a wake-up to a work item, if one took long, so the caller waits for it.
 */
static int told(int epoll, int fd, int timeout_ms)
{
	struct epoll_event event[2];
	int n = epoll_wait(epoll, event, 2, timeout_ms);

	if (n < 0)
		return -errno;
	if (n > 1 || (n && event[0].data.fd != fd))
		return -EPROTO;
	return n ? (int)event[0].events : 0;
}

/* All that there is, which has to be sound: how many, or a negative errno. */
static int drain(int fd)
{
	struct hwheel_event ev[16];
	int sum = 0, got;

	while ((got = read_events(fd, ev, 16)) > 0)
		sum += got;
	return got == -EAGAIN ? sum : got;
}

TEST_F(epoll, tells_which_file)
{
	int fds[FILES], i;

	for (i = 0; i < FILES; i++) {
		fds[i] = open_device(O_NONBLOCK);
		ASSERT_LE(0, fds[i]);
		ASSERT_EQ(0, add(self->epoll, fds[i], EPOLLIN));
		ASSERT_EQ(0, arm(fds[i], NEVER, 0, NULL));
	}
	for (i = 0; i < FILES; i++) {
		EXPECT_EQ(0, told(self->epoll, -1, 0));
		ASSERT_EQ(0, arm(fds[i], 0, i, NULL));
		EXPECT_EQ(EPOLLIN, told(self->epoll, fds[i], WAIT_MS));
		EXPECT_EQ(1, drain(fds[i]));
	}
	for (i = 0; i < FILES; i++)
		EXPECT_EQ(0, close(fds[i]));
	EXPECT_EQ(0, told(self->epoll, -1, 0));
}

/* Through two, one edge and one level triggered, and both of them in a third one. */
TEST_F(epoll, nested)
{
	int edge = epoll_create1(EPOLL_CLOEXEC), level = epoll_create1(EPOLL_CLOEXEC), i;

	ASSERT_EQ(0, add(edge, self->fd, EPOLLIN | EPOLLET));
	ASSERT_EQ(0, add(level, self->fd, EPOLLIN));
	ASSERT_EQ(0, add(self->epoll, edge, EPOLLIN));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, arm(self->fd, 0, i, NULL));
		EXPECT_EQ(EPOLLIN, told(self->epoll, edge, WAIT_MS));
		EXPECT_EQ(EPOLLIN, told(edge, self->fd, WAIT_MS));
		EXPECT_EQ(0, told(self->epoll, edge, 0));
		EXPECT_EQ(EPOLLIN, told(level, self->fd, WAIT_MS));
	}
	EXPECT_EQ(3, drain(self->fd));
	EXPECT_EQ(0, told(level, self->fd, 0));
	EXPECT_EQ(0, close(level));
	EXPECT_EQ(0, close(edge));
}

TEST_F(epoll, level_until_all_is_read)
{
	struct hwheel_event ev;
	int i;

	ASSERT_EQ(0, add(self->epoll, self->fd, EPOLLIN | EPOLLRDNORM | EPOLLOUT));
	ASSERT_EQ(0, fire(self->fd, 10));
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(EPOLLIN | EPOLLRDNORM, told(self->epoll, self->fd, WAIT_MS));
		ASSERT_EQ(1, read_events(self->fd, &ev, 1));
	}
	EXPECT_EQ(0, told(self->epoll, self->fd, 0));
}

/* Once for each batch, however many events are in it and whether any is read. */
TEST_F(epoll, edge_for_each_batch)
{
	struct hwheel_event ev;
	int i;

	ASSERT_EQ(0, add(self->epoll, self->fd, EPOLLIN | EPOLLET));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, fire(self->fd, 100));
		EXPECT_EQ(EPOLLIN, told(self->epoll, self->fd, WAIT_MS));
		EXPECT_EQ(0, told(self->epoll, self->fd, 0));
		ASSERT_EQ(1, read_events(self->fd, &ev, 1));
		EXPECT_EQ(0, told(self->epoll, self->fd, 0));
	}
	EXPECT_EQ(5 * 99, drain(self->fd));
	EXPECT_EQ(0, told(self->epoll, self->fd, 0));
}

/* What a reader could not take is news: others may wait for it. */
TEST_F(epoll, edge_after_a_fault)
{
	struct iovec nowhere = { (void *)8, 2 * sizeof(struct hwheel_event) };

	ASSERT_EQ(0, add(self->epoll, self->fd, EPOLLIN | EPOLLET));
	ASSERT_EQ(0, fire(self->fd, 2));
	EXPECT_EQ(EPOLLIN, told(self->epoll, self->fd, WAIT_MS));
	EXPECT_EQ(-1, readv(self->fd, &nowhere, 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(EPOLLIN, told(self->epoll, self->fd, WAIT_MS));
	EXPECT_EQ(2, drain(self->fd));
}

TEST_F(epoll, once)
{
	ASSERT_EQ(0, add(self->epoll, self->fd, EPOLLIN | EPOLLONESHOT));
	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(EPOLLIN, told(self->epoll, self->fd, WAIT_MS));
	EXPECT_EQ(0, told(self->epoll, self->fd, 0));
	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(0, told(self->epoll, self->fd, 0));

	/* Asked for again, it looks at what is there. */
	ASSERT_EQ(0, control(self->epoll, EPOLL_CTL_MOD, self->fd, EPOLLIN | EPOLLONESHOT));
	EXPECT_EQ(EPOLLIN, told(self->epoll, self->fd, WAIT_MS));
	EXPECT_EQ(2, drain(self->fd));
	ASSERT_EQ(0, control(self->epoll, EPOLL_CTL_MOD, self->fd, EPOLLIN | EPOLLONESHOT));
	EXPECT_EQ(0, told(self->epoll, self->fd, 0));
	ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
	EXPECT_EQ(EPOLLIN, told(self->epoll, self->fd, WAIT_MS));
	EXPECT_EQ(1, drain(self->fd));
}

/*
 * The end is told when there is no event left, also to those who asked for nothing, in
 * each mode.
 */
FIXTURE(end)
{
	int	epoll;
	int	fd;
};

FIXTURE_VARIANT(end)
{
	__u32	mode;
	bool	again;
};

FIXTURE_VARIANT_ADD(end, level) { .mode = 0, .again = true };
FIXTURE_VARIANT_ADD(end, edge) { .mode = EPOLLET };
FIXTURE_VARIANT_ADD(end, once) { .mode = EPOLLONESHOT };
FIXTURE_VARIANT_ADD(end, exclusive) { .mode = EPOLLEXCLUSIVE, .again = true };

FIXTURE_SETUP(end)
{
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->epoll);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(end)
{
	EXPECT_EQ(0, close(self->epoll));
	EXPECT_EQ(0, close(self->fd));
}

static bool is_end(int events)
{
	return events > 0 && events & EPOLLHUP && !(events & EPOLLERR);
}

TEST_F(end, of_an_empty_file)
{
	ASSERT_EQ(0, add(self->epoll, self->fd, EPOLLIN | variant->mode));
	EXPECT_EQ(0, told(self->epoll, self->fd, 0));
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_TRUE(is_end(told(self->epoll, self->fd, WAIT_MS)));
	EXPECT_EQ(variant->again, is_end(told(self->epoll, self->fd, 0)));
}

TEST_F(end, not_asked_for)
{
	ASSERT_EQ(0, add(self->epoll, self->fd, variant->mode));
	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(0, told(self->epoll, self->fd, 0));
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, told(self->epoll, self->fd, 0));
	EXPECT_EQ(1, drain(self->fd) == -EPROTO);
	EXPECT_TRUE(is_end(told(self->epoll, self->fd, WAIT_MS)));
}

TEST_F(end, already_there)
{
	ASSERT_EQ(0, stop(self->fd));
	ASSERT_EQ(0, add(self->epoll, self->fd, EPOLLIN | variant->mode));
	EXPECT_TRUE(is_end(told(self->epoll, self->fd, WAIT_MS)));
	EXPECT_EQ(variant->again, is_end(told(self->epoll, self->fd, 0)));
}

/* Events first, then the end, and no end before the last event was read. */
TEST_F(end, after_the_events)
{
	struct hwheel_event ev;
	bool expected;
	int i, what;

	ASSERT_EQ(0, arm_many(self->fd, 3, NEVER, NULL));
	ASSERT_EQ(0, add(self->epoll, self->fd, EPOLLIN | variant->mode));
	ASSERT_EQ(3, stop(self->fd));
	for (i = 0; i < 3; i++) {
		expected = !i || variant->again;
		what = told(self->epoll, self->fd, expected ? WAIT_MS : 0);
		EXPECT_TRUE(what == EPOLLIN || (!expected && !what));
		ASSERT_EQ(1, read_raw(self->fd, &ev, 1));
		EXPECT_EQ(HWHEEL_EVENT_STOPPED, ev.type);
	}
	if (variant->mode == EPOLLONESHOT)
		ASSERT_EQ(0, control(self->epoll, EPOLL_CTL_MOD, self->fd,
				     EPOLLIN | EPOLLONESHOT));
	EXPECT_TRUE(is_end(told(self->epoll, self->fd, WAIT_MS)));
	EXPECT_EQ(0, read_raw(self->fd, &ev, 1));
}

/* One whose timeout was cancelled is not at its end before the wheel has let go of it. */
TEST_F(end, after_a_cancellation)
{
	__u64 id;

	ASSERT_EQ(0, add(self->epoll, self->fd, EPOLLIN | variant->mode));
	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &id));
	ASSERT_EQ(0, settle(now_ns()));
	ASSERT_EQ(0, cancel(self->fd, id));
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_TRUE(is_end(told(self->epoll, self->fd, WAIT_MS)));
}

/*
 * Threads that wait for one file, each with an epoll of its own, until the end. They get
 * all events, each once.
 */
struct waiter {
	int		fd;
	__u32		mode;
	pid_t		tid;
	unsigned int	*seen;
	unsigned int	woken;
	int		result;
};

static int take_what_is_there(struct waiter *waiter)
{
	struct hwheel_event ev[4];
	int got, i;

	while ((got = read_raw(waiter->fd, ev, 4)) > 0)
		for (i = 0; i < got; i++) {
			if (ev[i].cookie >= MANY || ev[i].fired_ns < ev[i].deadline_ns)
				return -EPROTO;
			__atomic_add_fetch(&waiter->seen[ev[i].cookie], 1, __ATOMIC_RELAXED);
		}
	return got;
}

/* Returns at the end of the file, which it has to be told of. */
static int wait_to_the_end(struct waiter *waiter, int epoll)
{
	int ret = add(epoll, waiter->fd, EPOLLIN | waiter->mode);

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_RELEASE);
	while (!ret) {
		ret = told(epoll, waiter->fd, WAIT_MS);
		if (ret <= 0)
			return ret ?: -ETIMEDOUT;
		waiter->woken++;
		ret = take_what_is_there(waiter);
		if (!ret)
			return 0;
		ret = ret == -EAGAIN ? 0 : ret;
		if (!ret && waiter->mode & EPOLLONESHOT)
			ret = control(epoll, EPOLL_CTL_MOD, waiter->fd,
				      EPOLLIN | waiter->mode);
	}
	return ret;
}

static void *waiter_thread(void *data)
{
	struct waiter *waiter = data;
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	waiter->result = wait_to_the_end(waiter, epoll);
	close(epoll);
	return NULL;
}

FIXTURE(waiters)
{
	struct waiter	waiters[WAITERS];
	pthread_t	threads[WAITERS];
	unsigned int	*seen;
	int		fd;
};

FIXTURE_VARIANT(waiters)
{
	__u32	mode;
};

FIXTURE_VARIANT_ADD(waiters, level) { .mode = 0 };
FIXTURE_VARIANT_ADD(waiters, edge) { .mode = EPOLLET };
FIXTURE_VARIANT_ADD(waiters, once) { .mode = EPOLLONESHOT };
FIXTURE_VARIANT_ADD(waiters, exclusive) { .mode = EPOLLEXCLUSIVE };
FIXTURE_VARIANT_ADD(waiters, exclusive_edge) { .mode = EPOLLEXCLUSIVE | EPOLLET };

FIXTURE_SETUP(waiters)
{
	int i;

	self->seen = calloc(MANY, sizeof(*self->seen));
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	for (i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &self->waiters[i];

		*waiter = (struct waiter){
			.fd = self->fd, .mode = variant->mode, .seen = self->seen,
		};
		ASSERT_EQ(0, start_waiting(&self->threads[i], &waiter->tid, waiter_thread, waiter));
	}
}

FIXTURE_TEARDOWN(waiters)
{
	int i;

	for (i = 0; i < WAITERS; i++) {
		EXPECT_EQ(0, pthread_join(self->threads[i], NULL));
		EXPECT_EQ(0, self->waiters[i].result);
	}
	EXPECT_EQ(0, close(self->fd));
}

/* Everybody is told of the end, also where one alone is told of an event. */
TEST_F(waiters, all_hear_of_the_end)
{
	ASSERT_EQ(0, stop(self->fd));
}

/* While nobody but the waiters reads. */
static int await_seen(const unsigned int *seen)
{
	return AWAIT(__atomic_load_n(seen, __ATOMIC_RELAXED));
}

TEST_F(waiters, none_is_lost)
{
	size_t i;

	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, arm(self->fd, i % 100 * MSEC, i, NULL));
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, await_seen(&self->seen[i]));
	EXPECT_TRUE(each_once(self->seen, MANY));
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_TRUE(each_once(self->seen, MANY));
}

TEST_HARNESS_MAIN
