// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring: a read that finds no event waits without a thread, takes what comes, can be
 * cancelled, and loses nothing whatever becomes of it.
 */

#include "share.h"
#include "threads.h"

#include <liburing.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define SIZE	sizeof(struct hwheel_event)
#define DEPTH	64

/* No request is made with the number 0. */
FIXTURE(uring)
{
	struct io_uring	ring;
	long		users;
	int		fd;
};

FIXTURE_SETUP(uring)
{
	int ret = io_uring_queue_init(DEPTH, &self->ring, 0);

	if (ret == -EPERM)
		SKIP(return, "io_uring is disabled here");
	ASSERT_EQ(0, ret);
	self->users = users_of_module();
	self->fd = open_device(0);
	ASSERT_LE(0, self->fd);
}

/* The ring lets go of files a little after it was closed. */
FIXTURE_TEARDOWN(uring)
{
	io_uring_queue_exit(&self->ring);
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, await_users(self->users));
}

static int send_sqe(struct io_uring *ring, struct io_uring_sqe *sqe, __u64 number)
{
	int ret;

	io_uring_sqe_set_data64(sqe, number);
	ret = io_uring_submit(ring);
	return ret == 1 ? 0 : ret < 0 ? ret : -EPROTO;
}

static int start_read(struct io_uring *ring, int fd, void *to, size_t size, __u64 number)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_read(sqe, fd, to, size, -1);
	return send_sqe(ring, sqe, number);
}

static int start_cancel(struct io_uring *ring, __u64 whom, __u64 number)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_cancel64(sqe, whom, 0);
	return send_sqe(ring, sqe, number);
}

/* The next request that is done has to be @number; what it returned, and its @flags. */
static int result_and_flags(struct io_uring *ring, __u64 number, unsigned int *flags)
{
	struct __kernel_timespec bound = { .tv_sec = WAIT_MS / 1000 };
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(ring, &cqe, &bound);

	if (ret)
		return -ETIMEDOUT;
	*flags = cqe->flags;
	ret = cqe->user_data == number ? cqe->res : -EPROTO;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

static int result_of(struct io_uring *ring, __u64 number)
{
	unsigned int flags;

	return result_and_flags(ring, number, &flags);
}

/* 0 if no request is done, though all that was due has fired. */
static int nothing_done(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int ret = settle(now_ns());

	if (ret)
		return ret;
	return io_uring_peek_cqe(ring, &cqe) == -EAGAIN ? 0 : -EEXIST;
}

/* Threads that do for a ring what it can't do without blocking */
static int count_workers(void)
{
	return count_threads("/proc/self/task", "iou-wrk*");
}

TEST_F(uring, read_of_what_is_there)
{
	struct hwheel_event ev[10];
	int i;

	ASSERT_EQ(0, fire(self->fd, 5));
	memset(ev, 0x5a, sizeof(ev));
	ASSERT_EQ(0, start_read(&self->ring, self->fd, ev, sizeof(ev), 1));
	EXPECT_EQ(5 * SIZE, result_of(&self->ring, 1));
	for (i = 0; i < 5; i++)
		EXPECT_TRUE(event_is_sound(&ev[i]));
	EXPECT_EQ(POISON64, ev[5].id);
}

TEST_F(uring, read_of_what_comes)
{
	struct hwheel_event ev;
	__u64 id;
	int i;

	for (i = 0; i < 10; i++) {
		memset(&ev, 0x5a, SIZE);
		ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev, SIZE, 1));
		EXPECT_EQ(0, nothing_done(&self->ring));
		EXPECT_EQ(POISON64, ev.id);
		ASSERT_EQ(0, arm(self->fd, i * MSEC, i, &id));
		ASSERT_EQ(SIZE, result_of(&self->ring, 1));
		EXPECT_EQ(id, ev.id);
		EXPECT_EQ(i, ev.cookie);
		EXPECT_TRUE(event_is_sound(&ev));
	}
	EXPECT_EQ(0, readable(self->fd, 0));
}

/* Sixty that wait take no thread, only a place in the file's wait queue. */
TEST_F(uring, many_wait_without_a_thread)
{
	struct hwheel_event ev[60];
	unsigned int seen[60] = { 0 };
	int i;

	for (i = 0; i < 60; i++)
		ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev[i], SIZE, 1));
	EXPECT_EQ(0, nothing_done(&self->ring));
	EXPECT_EQ(0, count_workers());
	ASSERT_EQ(0, arm_many(self->fd, 60, now_ns() + 20 * MSEC, NULL));
	for (i = 0; i < 60; i++)
		ASSERT_EQ(SIZE, result_of(&self->ring, 1));
	for (i = 0; i < 60; i++) {
		ASSERT_GT(60, ev[i].cookie);
		seen[ev[i].cookie]++;
	}
	EXPECT_TRUE(each_once(seen, 60));
}

/* The last of several that come at one edge may be there before the read is. */
TEST_F(uring, several_in_one_read)
{
	struct hwheel_event ev[100];
	unsigned int seen[100] = { 0 };
	int left = 100, got, i;

	ASSERT_EQ(0, start_read(&self->ring, self->fd, ev, sizeof(ev), 1));
	ASSERT_EQ(0, arm_many(self->fd, 100, now_ns() + 50 * MSEC, NULL));
	while (left) {
		got = result_of(&self->ring, 1);
		ASSERT_LT(0, got);
		ASSERT_EQ(0, got % SIZE);
		for (i = 0; i < (int)(got / SIZE); i++) {
			ASSERT_GT(100, ev[i].cookie);
			seen[ev[i].cookie]++;
			left--;
		}
		if (left)
			ASSERT_EQ(0, start_read(&self->ring, self->fd, ev, sizeof(ev), 1));
	}
	EXPECT_TRUE(each_once(seen, 100));
}

TEST_F(uring, scattered)
{
	char buffer[2 * SIZE];
	struct iovec iov[] = {
		{ buffer, 3 }, { buffer + 3, SIZE }, { buffer + 3 + SIZE, SIZE - 3 },
	};
	struct io_uring_sqe *sqe;
	struct hwheel_event ev;
	int round;

	/* Events that are there, then events that come. */
	for (round = 0; round < 2; round++) {
		if (!round)
			ASSERT_EQ(0, fire(self->fd, 1));
		sqe = io_uring_get_sqe(&self->ring);
		io_uring_prep_readv(sqe, self->fd, iov, 3, -1);
		ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
		if (round)
			ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
		ASSERT_EQ(SIZE, result_of(&self->ring, 1));
		memcpy(&ev, buffer, SIZE);
		EXPECT_TRUE(event_is_sound(&ev));
	}
}

TEST_F(uring, fixed_buffer)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov = { page, 4096 };
	struct io_uring_sqe *sqe;
	struct hwheel_event ev;
	int round;

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, io_uring_register_buffers(&self->ring, &iov, 1));
	for (round = 0; round < 2; round++) {
		if (!round)
			ASSERT_EQ(0, fire(self->fd, 1));
		memset(page, 0x5a, 4096);
		sqe = io_uring_get_sqe(&self->ring);
		io_uring_prep_read_fixed(sqe, self->fd, page + 8, 2 * SIZE - 1, -1, 0);
		ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
		if (round)
			ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
		ASSERT_EQ(SIZE, result_of(&self->ring, 1));
		memcpy(&ev, page + 8, SIZE);
		EXPECT_TRUE(event_is_sound(&ev));
		EXPECT_EQ(0x5a, page[8 + SIZE]);
	}
	EXPECT_EQ(0, munmap(page, 4096));
}

/* The ring has the file, though no descriptor is left; then one is opened anew. */
TEST_F(uring, fixed_file)
{
	struct hwheel_event ev;
	struct io_uring_sqe *sqe;

	ASSERT_EQ(0, io_uring_register_files(&self->ring, &self->fd, 1));
	ASSERT_EQ(0, arm(self->fd, 20 * MSEC, 3, NULL));
	ASSERT_EQ(0, close(self->fd));
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_read(sqe, 0, &ev, SIZE, -1);
	sqe->flags |= IOSQE_FIXED_FILE;
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	EXPECT_EQ(SIZE, result_of(&self->ring, 1));
	EXPECT_EQ(3, ev.cookie);
	self->fd = open_device(0);
	ASSERT_LE(0, self->fd);
}

/* The kernel chooses the buffer only when there is an event for it. */
TEST_F(uring, provided_buffer)
{
	struct hwheel_event ev[2];
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	io_uring_prep_provide_buffers(sqe, ev, SIZE, 2, 1, 0);
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	ASSERT_LE(0, result_of(&self->ring, 1));
	memset(ev, 0x5a, sizeof(ev));
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_read(sqe, self->fd, NULL, SIZE, -1);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 1;
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 2));
	EXPECT_EQ(0, nothing_done(&self->ring));
	ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
	EXPECT_EQ(SIZE, result_of(&self->ring, 2));
	EXPECT_NE(ev[0].id == POISON64, ev[1].id == POISON64);
}

TEST_F(uring, bad_buffer)
{
	struct hwheel_event ev;
	int round;

	for (round = 0; round < 2; round++) {
		if (!round)
			ASSERT_EQ(0, fire(self->fd, 1));
		ASSERT_EQ(0, start_read(&self->ring, self->fd, (void *)8, SIZE, 1));
		if (round)
			ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
		EXPECT_EQ(-EFAULT, result_of(&self->ring, 1));
		ASSERT_EQ(0, next_event(self->fd, &ev));
		EXPECT_EQ(0, readable(self->fd, 0));
	}
}

TEST_F(uring, short_buffer)
{
	struct hwheel_event ev;
	int round;

	for (round = 0; round < 2; round++) {
		if (round)
			ASSERT_EQ(0, fire(self->fd, 1));
		ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev, SIZE - 1, 1));
		EXPECT_EQ(-EINVAL, result_of(&self->ring, 1));
	}
	EXPECT_EQ(0, next_event(self->fd, &ev));
}

/* It is a stream: any offset but that of a stream is of no use, and does no harm. */
TEST_F(uring, offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
	struct hwheel_event ev;
	int ret;

	ASSERT_EQ(0, fire(self->fd, 1));
	io_uring_prep_read(sqe, self->fd, &ev, SIZE, 4096);
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	ret = result_of(&self->ring, 1);
	EXPECT_TRUE(ret == SIZE || (ret < 0 && !next_event(self->fd, &ev)));
}

/* The kernel may take O_NONBLOCK for what a read is to do, or wait all the same. */
TEST_F(uring, nonblocking_file)
{
	struct hwheel_event ev;
	int ret;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, fire(self->fd, 1));
	ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev, SIZE, 1));
	EXPECT_EQ(SIZE, result_of(&self->ring, 1));
	ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev, SIZE, 2));
	ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
	ret = result_of(&self->ring, 2);
	EXPECT_TRUE(ret == SIZE || ret == -EAGAIN);
	if (ret == -EAGAIN)
		EXPECT_EQ(0, next_event(self->fd, &ev));
}

/* RWF_NOWAIT, which is for one read. */
TEST_F(uring, nonblocking_read)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
	struct hwheel_event ev;
	struct iovec iov = { &ev, SIZE };

	io_uring_prep_readv2(sqe, self->fd, &iov, 1, -1, RWF_NOWAIT);
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	EXPECT_EQ(-EAGAIN, result_of(&self->ring, 1));
	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(SIZE, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
}

/* A worker thread of the ring sleeps in read() when it is told to. */
TEST_F(uring, read_by_a_thread)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
	struct hwheel_event ev;

	io_uring_prep_read(sqe, self->fd, &ev, SIZE, -1);
	sqe->flags |= IOSQE_ASYNC;
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	EXPECT_EQ(0, nothing_done(&self->ring));
	ASSERT_EQ(0, arm(self->fd, 0, 4, NULL));
	EXPECT_EQ(SIZE, result_of(&self->ring, 1));
	EXPECT_EQ(4, ev.cookie);
}

static int two_results(struct io_uring *ring, int results[3])
{
	struct __kernel_timespec bound = { .tv_sec = WAIT_MS / 1000 };
	struct io_uring_cqe *cqe;
	int i;

	for (i = 0; i < 2; i++) {
		if (io_uring_wait_cqe_timeout(ring, &cqe, &bound))
			return -ETIMEDOUT;
		if (cqe->user_data > 2)
			return -EPROTO;
		results[cqe->user_data] = cqe->res;
		io_uring_cqe_seen(ring, cqe);
	}
	return 0;
}

TEST_F(uring, cancelled)
{
	struct hwheel_event ev;
	int results[3];

	memset(&ev, 0x5a, SIZE);
	ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev, SIZE, 1));
	EXPECT_EQ(0, nothing_done(&self->ring));
	ASSERT_EQ(0, start_cancel(&self->ring, 1, 2));
	ASSERT_EQ(0, two_results(&self->ring, results));
	EXPECT_EQ(-ECANCELED, results[1]);
	EXPECT_EQ(0, results[2]);
	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(POISON64, ev.id);
	EXPECT_EQ(0, next_event(self->fd, &ev));
}

TEST_F(uring, cancelled_in_a_thread)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
	struct hwheel_event ev;
	int results[3];

	io_uring_prep_read(sqe, self->fd, &ev, SIZE, -1);
	sqe->flags |= IOSQE_ASYNC;
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	EXPECT_EQ(0, nothing_done(&self->ring));
	ASSERT_EQ(0, start_cancel(&self->ring, 1, 2));
	ASSERT_EQ(0, two_results(&self->ring, results));
	EXPECT_TRUE(results[1] == -ECANCELED || results[1] == -EINTR);
	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(0, next_event(self->fd, &ev));
}

/* With a timeout of the ring's own, which is earlier or later than the event. */
TEST_F(uring, linked_timeout)
{
	struct __kernel_timespec never = { .tv_sec = 3600 }, soon = { .tv_nsec = MSEC };
	struct hwheel_event ev;
	int results[3], round;

	for (round = 0; round < 2; round++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

		io_uring_prep_read(sqe, self->fd, &ev, SIZE, -1);
		io_uring_sqe_set_data64(sqe, 1);
		sqe->flags |= IOSQE_IO_LINK;
		sqe = io_uring_get_sqe(&self->ring);
		io_uring_prep_link_timeout(sqe, round ? &never : &soon, 0);
		io_uring_sqe_set_data64(sqe, 2);
		ASSERT_EQ(2, io_uring_submit(&self->ring));
		if (round)
			ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
		ASSERT_EQ(0, two_results(&self->ring, results));
		EXPECT_EQ(round ? (int)SIZE : -ECANCELED, results[1]);
		EXPECT_EQ(round ? -ECANCELED : -ETIME, results[2]);
	}
}

TEST_F(uring, end_of_an_empty_file)
{
	struct hwheel_event ev;

	ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev, SIZE, 1));
	EXPECT_EQ(0, nothing_done(&self->ring));
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, result_of(&self->ring, 1));
	ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev, SIZE, 2));
	EXPECT_EQ(0, result_of(&self->ring, 2));
}

TEST_F(uring, end_after_the_events)
{
	struct hwheel_event ev[4];
	int left = 3, got;

	ASSERT_EQ(0, arm_many(self->fd, 3, NEVER, NULL));
	ASSERT_EQ(0, start_read(&self->ring, self->fd, ev, sizeof(ev), 1));
	ASSERT_EQ(3, stop(self->fd));
	do {
		got = result_of(&self->ring, 1);
		ASSERT_LE(0, got);
		ASSERT_EQ(0, got % SIZE);
		left -= got / SIZE;
		if (got) {
			EXPECT_EQ(HWHEEL_EVENT_STOPPED, ev[0].type);
			ASSERT_EQ(0, start_read(&self->ring, self->fd, ev, sizeof(ev), 1));
		}
	} while (got);
	EXPECT_EQ(0, left);
}

/* The ring goes while reads wait, some in threads: the file and its events stay. */
TEST_F(uring, closed_ring)
{
	static struct hwheel_event ev[8];
	struct hwheel_event last;
	int i;

	memset(ev, 0x5a, sizeof(ev));
	for (i = 0; i < 8; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

		io_uring_prep_read(sqe, self->fd, &ev[i], SIZE, -1);
		if (i & 1)
			sqe->flags |= IOSQE_ASYNC;
		ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	}
	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &last.id));
	io_uring_queue_exit(&self->ring);
	/* Not before the reads are gone is an event ours for sure. */
	ASSERT_EQ(0, io_uring_queue_init(DEPTH, &self->ring, 0));
	ASSERT_EQ(0, start_read(&self->ring, self->fd, &last, SIZE, 2));
	for (i = 0; i < 9; i++)
		ASSERT_EQ(0, arm(self->fd, 0, i, NULL));
	EXPECT_EQ(SIZE, result_of(&self->ring, 2));
	EXPECT_TRUE(event_is_sound(&last));
}

/* The descriptor goes: the read has the file until it is done. */
TEST_F(uring, closed_file)
{
	struct hwheel_event ev;

	ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev, SIZE, 1));
	ASSERT_EQ(0, arm(self->fd, 20 * MSEC, 6, NULL));
	ASSERT_EQ(0, close(self->fd));
	EXPECT_EQ(SIZE, result_of(&self->ring, 1));
	EXPECT_EQ(6, ev.cookie);
	self->fd = open_device(0);
	ASSERT_LE(0, self->fd);
}

/* A process with reads in flight is killed, and takes none of our events along. */
TEST_F(uring, killed)
{
	struct hwheel_event ev;
	int ready[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct io_uring ring;

		close(self->ring.ring_fd);
		if (io_uring_queue_init(DEPTH, &ring, 0) ||
		    start_read(&ring, self->fd, &ev, SIZE, 1) || write(ready[1], "", 1) != 1)
			_exit(1);
		while (1)
			pause();
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_EQ(0, kill_child(pid));
	/* Its file is closed, but its ring may not be through yet: ask more than once. */
	do {
		ASSERT_EQ(0, fire(self->fd, 1));
	} while (!readable(self->fd, 0));
	EXPECT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(0, close(ready[0]));
	EXPECT_EQ(0, close(ready[1]));
}

/* The events that a poll tells, and whether it goes on. */
static int polled(struct io_uring *ring, __u64 number, bool *more)
{
	unsigned int flags = 0;
	int ret = result_and_flags(ring, number, &flags);

	*more = flags & IORING_CQE_F_MORE;
	return ret;
}

TEST_F(uring, poll_once)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
	bool more = true;

	io_uring_prep_poll_add(sqe, self->fd, POLLIN);
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	EXPECT_EQ(0, nothing_done(&self->ring));
	ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
	EXPECT_EQ(POLLIN, polled(&self->ring, 1, &more));
	EXPECT_FALSE(more);
	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(0, nothing_done(&self->ring));
}

/* One request that tells again and again, and at last of the end. */
TEST_F(uring, poll_multishot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
	struct hwheel_event ev;
	bool more = false;
	int told, i;

	io_uring_prep_poll_multishot(sqe, self->fd, POLLIN);
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, nothing_done(&self->ring));
		ASSERT_EQ(0, arm(self->fd, 0, i, NULL));
		ASSERT_EQ(POLLIN, polled(&self->ring, 1, &more));
		EXPECT_TRUE(more);
		ASSERT_EQ(1, read_events(self->fd, &ev, 1));
		EXPECT_EQ(i, ev.cookie);
	}
	ASSERT_EQ(0, stop(self->fd));
	told = polled(&self->ring, 1, &more);
	EXPECT_LT(0, told);
	EXPECT_TRUE(told & POLLHUP);
}

/* Every event that comes while it polls is told of before long, however many come. */
TEST_F(uring, poll_multishot_loses_none)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
	unsigned int seen[2000] = { 0 }, left = 2000;
	struct hwheel_event ev[8];
	bool more;
	int got;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	for (got = 0; got < 2000; got++)
		ASSERT_EQ(0, arm(self->fd, got * MSEC / 8, got, NULL));
	io_uring_prep_poll_multishot(sqe, self->fd, POLLIN);
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	while (left) {
		got = polled(&self->ring, 1, &more);
		ASSERT_LT(0, got);
		ASSERT_TRUE(got & POLLIN);
		while ((got = read_events(self->fd, ev, 8)) > 0) {
			for (left -= got; got--;) {
				ASSERT_GT(2000, ev[got].cookie);
				seen[ev[got].cookie]++;
			}
		}
		ASSERT_EQ(-EAGAIN, got);
		if (!more) {
			sqe = io_uring_get_sqe(&self->ring);
			io_uring_prep_poll_multishot(sqe, self->fd, POLLIN);
			ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
		}
	}
	EXPECT_TRUE(each_once(seen, 2000));
}

TEST_F(uring, poll_removed)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
	int results[3];

	io_uring_prep_poll_multishot(sqe, self->fd, POLLIN);
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 1));
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_poll_remove(sqe, 1);
	ASSERT_EQ(0, send_sqe(&self->ring, sqe, 2));
	ASSERT_EQ(0, two_results(&self->ring, results));
	EXPECT_EQ(-ECANCELED, results[1]);
	EXPECT_EQ(0, results[2]);
	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(0, nothing_done(&self->ring));
}

/*
 * Reads of one event each, always as many in flight as fit, of which some are cancelled
 * all the time: what a cancelled one does not get another one does.
 */
TEST_F(uring, cancelled_all_the_time)
{
	struct __kernel_timespec bound = { .tv_sec = WAIT_MS / 1000 };
	unsigned int seen[1000] = { 0 }, left = 1000, cancelled = 0, i;
	struct hwheel_event ev[17];
	struct io_uring_cqe *cqe;

	for (i = 1; i <= 16; i++)
		ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev[i], SIZE, i));
	/* Where all expires before it is looked for, this one is cancelled. */
	ASSERT_EQ(0, start_cancel(&self->ring, 1, 0));
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0, arm(self->fd, i * MSEC / 4, i, NULL));
	while (left) {
		ASSERT_EQ(0, io_uring_wait_cqe_timeout(&self->ring, &cqe, &bound));
		i = cqe->user_data;
		if (i && cqe->res == SIZE) {
			ASSERT_GT(1000, ev[i].cookie);
			seen[ev[i].cookie]++;
			left--;
		} else if (i) {
			ASSERT_EQ(-ECANCELED, cqe->res);
			cancelled++;
		}
		io_uring_cqe_seen(&self->ring, cqe);
		if (!i)
			continue;
		ASSERT_EQ(0, start_read(&self->ring, self->fd, &ev[i], SIZE, i));
		if (left % 3 == 0)
			ASSERT_EQ(0, start_cancel(&self->ring, i % 16 + 1, 0));
	}
	EXPECT_TRUE(each_once(seen, 1000));
	EXPECT_LT(0, cancelled);
	TH_LOG("%u reads were cancelled", cancelled);
}

TEST_HARNESS_MAIN
