// SPDX-License-Identifier: GPL-2.0-only
/* read, poll and epoll: each event exactly once, whole or not at all. */

#include "share.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/uio.h>

#define SIZE		sizeof(struct hwheel_event)
#define BAD_BUFFER	((void *)8)

FIXTURE(read)
{
	int	fd;
	size_t	page;
};

FIXTURE_SETUP(read)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->page = sysconf(_SC_PAGESIZE);
}

FIXTURE_TEARDOWN(read)
{
	EXPECT_EQ(0, close(self->fd));
}

/* A read that cannot but fault, if it gets as far as that. */
static int read_nowhere(int fd, size_t size)
{
	struct iovec iov = { BAD_BUFFER, size };
	ssize_t got = readv(fd, &iov, 1);

	return got < 0 ? -errno : got;
}

/* 0 if the events of fire(@n), all of them, are read now, each once. */
static int expect_all(int fd, unsigned int n)
{
	unsigned int seen[256] = { 0 };
	int ret = collect(fd, seen, n, n);

	if (!ret && !each_once(seen, n))
		return -EPROTO;
	return ret ?: stays_quiet(fd, now_ns());
}

/* Both when an event waits and when none does, blocking or not. */
TEST_F(read, short_buffer)
{
	static const size_t sizes[] = { 0, 1, 8, SIZE - 1 };
	struct hwheel_event ev;
	int round;
	size_t i;

	for (round = 0; round < 4; round++) {
		if (round == 1)
			ASSERT_EQ(0, fire(self->fd, 1));
		if (round == 2)
			ASSERT_EQ(0, set_blocking_file(self->fd));
		if (round == 3)
			ASSERT_EQ(0, next_event(self->fd, &ev));
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			memset(&ev, 0x5a, SIZE);
			EXPECT_EQ(-1, read(self->fd, &ev, sizes[i]));
			EXPECT_EQ(EINVAL, errno);
			EXPECT_EQ(POISON64, ev.id);
		}
	}
}

TEST_F(read, nothing_to_read)
{
	struct hwheel_event ev;

	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));
	ASSERT_EQ(0, arm(self->fd, NEVER, 0, NULL));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(0, expect_all(self->fd, 1));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));
	EXPECT_EQ(POISON64, ev.id);
}

/* O_NONBLOCK is the caller's to change at any time. */
TEST_F(read, nonblock_is_looked_up_each_time)
{
	int fd = open_device(0);
	struct hwheel_event ev;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, read_events(fd, &ev, 1));
	ASSERT_EQ(0, set_blocking_file(fd));
	ASSERT_EQ(0, arm(fd, 50 * MSEC, 1, NULL));
	EXPECT_EQ(1, read_events(fd, &ev, 1));
	EXPECT_EQ(0, close(fd));
}

/* Each is armed once the one before it has become an event. */
static int fire_in_order(int fd, size_t n)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < n; i++)
		ret = arm(fd, 0, i, NULL) ?: await_events(fd, i + 1);
	return ret;
}

/* Events that a read could not copy come first in the next read, in their order. */
TEST_F(read, events_keep_their_order)
{
	char *pages = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + self->page;
	struct hwheel_event ev[8];
	size_t there, i;

	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(0, mprotect(end, self->page, PROT_NONE));
	for (there = 0; there < 8; there++) {
		ASSERT_EQ(0, fire_in_order(self->fd, 8));
		ASSERT_EQ(there ? there * SIZE : -1, read(self->fd, end - there * SIZE, 8 * SIZE));
		ASSERT_EQ(8 - there, read_events(self->fd, ev, 8));
		for (i = there; i < 8; i++)
			EXPECT_EQ(i, ev[i - there].cookie);
	}
	EXPECT_EQ(0, munmap(pages, 2 * self->page));
}

TEST_F(read, several_at_once)
{
	struct hwheel_event ev[10];
	unsigned int seen[5] = { 0 };
	size_t i;

	ASSERT_EQ(0, fire(self->fd, 5));
	ASSERT_EQ(5, read_events(self->fd, ev, 10));
	for (i = 0; i < 5; i++) {
		ASSERT_GT(5, ev[i].cookie);
		seen[ev[i].cookie]++;
	}
	EXPECT_TRUE(each_once(seen, 5));
	for (; i < 10; i++)
		EXPECT_EQ(POISON64, ev[i].id);
	EXPECT_EQ(-EAGAIN, read_events(self->fd, ev, 1));
}

TEST_F(read, one_after_another)
{
	struct hwheel_event ev;
	unsigned int seen = 0;
	int i;

	ASSERT_EQ(0, fire(self->fd, 5));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(1, read_events(self->fd, &ev, 1));
		seen |= 1U << ev.cookie;
	}
	EXPECT_EQ(0x1f, seen);
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));
}

/* More than any batch that the device might copy in. */
TEST_F(read, thousands_at_once)
{
	const size_t n = 5000;
	struct hwheel_event *ev = calloc(n + 1, SIZE);
	unsigned int *seen = calloc(n, sizeof(*seen));
	size_t i;

	ASSERT_EQ(0, fire(self->fd, n));
	ASSERT_EQ(n, read_events(self->fd, ev, n + 1));
	for (i = 0; i < n; i++) {
		ASSERT_GT(n, ev[i].cookie);
		seen[ev[i].cookie]++;
	}
	EXPECT_TRUE(each_once(seen, n));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, ev, 1));
	free(ev);
	free(seen);
}

TEST_F(read, room_for_two_and_a_half)
{
	char buffer[5 * SIZE / 2], poison[SIZE / 2];
	int i;

	memset(poison, 0x5a, sizeof(poison));
	ASSERT_EQ(0, fire(self->fd, 5));
	for (i = 0; i < 2; i++) {
		memset(buffer, 0x5a, sizeof(buffer));
		EXPECT_EQ(2 * SIZE, read(self->fd, buffer, sizeof(buffer)));
		EXPECT_EQ(0, memcmp(buffer + 2 * SIZE, poison, sizeof(poison)));
	}
	EXPECT_EQ(SIZE, read(self->fd, buffer, sizeof(buffer)));
	EXPECT_EQ(-1, read(self->fd, buffer, sizeof(buffer)));
	EXPECT_EQ(EAGAIN, errno);
}

TEST_F(read, misaligned_buffer)
{
	char buffer[2 * SIZE + 8];
	struct hwheel_event ev;

	ASSERT_EQ(0, fire(self->fd, 2));
	EXPECT_EQ(2 * SIZE, read(self->fd, buffer + 3, 2 * SIZE + 3));
	memcpy(&ev, buffer + 3 + SIZE, SIZE);
	EXPECT_TRUE(event_is_sound(&ev));
}

TEST_F(read, blocking)
{
	struct hwheel_event ev;
	__u64 before = now_ns();
	int i;

	ASSERT_EQ(0, set_blocking_file(self->fd));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, arm(self->fd, 30 * MSEC, i, NULL));
		ASSERT_EQ(1, read_events(self->fd, &ev, 1));
		EXPECT_EQ(i, ev.cookie);
	}
	EXPECT_LE(before + 5 * 30 * MSEC, now_ns());
}

/* Armed only after the reader went to sleep, by another process. */
TEST_F(read, blocked_reader_is_woken)
{
	struct hwheel_event ev;
	pid_t pid;

	ASSERT_EQ(0, set_blocking_file(self->fd));
	pid = START_CHILD(read_events(self->fd, &ev, 1) != 1 || ev.cookie != 5);
	ASSERT_LE(0, pid);
	ASSERT_EQ(0, await_sleep(pid));
	ASSERT_EQ(0, arm(self->fd, 0, 5, NULL));
	EXPECT_EQ(0, reap(pid));
}

/* A reader that sleeps keeps nobody from arming, moving and cancelling. */
TEST_F(read, blocked_reader_blocks_nobody)
{
	struct hwheel_event ev;
	__u64 id, other;
	pid_t pid;

	ASSERT_EQ(0, set_blocking_file(self->fd));
	pid = START_CHILD(read_events(self->fd, &ev, 1) != 1 || ev.cookie != 1);
	ASSERT_LE(0, pid);
	ASSERT_EQ(0, await_sleep(pid));
	EXPECT_EQ(0, readable(self->fd, 0));
	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	ASSERT_EQ(0, arm(self->fd, NEVER, 2, &other));
	EXPECT_EQ(0, cancel(self->fd, other));
	EXPECT_EQ(0, refresh(self->fd, id, 0));
	EXPECT_EQ(0, reap(pid));
}

static int signals;

static void count_signal(int signal)
{
	__atomic_add_fetch(&signals, 1, __ATOMIC_SEQ_CST);
}

/* A signal every @us: one that comes before read() has begun is not the last. */
static int start_signals(int flags, void (*handler)(int), int us)
{
	struct itimerval interval = { { 0, us }, { 0, us } };
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	return sigaction(SIGALRM, &action, NULL) ?: setitimer(ITIMER_REAL, &interval, NULL);
}

static int stop_signals(void)
{
	struct itimerval none = { { 0, 0 }, { 0, 0 } };

	return setitimer(ITIMER_REAL, &none, NULL);
}

TEST_F(read, signal_interrupts)
{
	struct hwheel_event ev;
	__u64 id;

	ASSERT_EQ(0, set_blocking_file(self->fd));
	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	ASSERT_EQ(0, start_signals(0, count_signal, 10000));
	EXPECT_EQ(-EINTR, read_events(self->fd, &ev, 1));
	ASSERT_EQ(0, stop_signals());
	EXPECT_LT(0, signals);

	ASSERT_EQ(0, refresh(self->fd, id, 0));
	ASSERT_EQ(1, read_events(self->fd, &ev, 1));
	EXPECT_EQ(id, ev.id);
}

static int signalled_fd;
static __u64 signalled_id;

static void refresh_on_signal(int signal)
{
	if (__atomic_add_fetch(&signals, 1, __ATOMIC_SEQ_CST) == 5)
		refresh(signalled_fd, signalled_id, 0);
}

TEST_F(read, restarts_if_asked)
{
	struct hwheel_event ev;

	ASSERT_EQ(0, set_blocking_file(self->fd));
	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &signalled_id));
	signalled_fd = self->fd;
	ASSERT_EQ(0, start_signals(SA_RESTART, refresh_on_signal, 10000));
	EXPECT_EQ(1, read_events(self->fd, &ev, 1));
	ASSERT_EQ(0, stop_signals());
	EXPECT_LE(5, signals);
	EXPECT_EQ(signalled_id, ev.id);
}

/* Interrupted at every moment there is, it loses nothing and repeats nothing. */
TEST_F(read, signals_lose_nothing)
{
	unsigned int seen[2000] = { 0 }, left = 2000, interrupted = 0;
	struct hwheel_event ev[3];
	size_t i;
	int got;

	ASSERT_EQ(0, set_blocking_file(self->fd));
	for (i = 0; i < 2000; i++)
		ASSERT_EQ(0, arm(self->fd, i * MSEC / 2, i, NULL));
	ASSERT_EQ(0, start_signals(0, count_signal, 1000));
	while (left) {
		got = read_events(self->fd, ev, 3);
		if (got == -EINTR) {
			interrupted++;
			continue;
		}
		ASSERT_LT(0, got);
		left -= got;
		while (got--) {
			ASSERT_GT(2000, ev[got].cookie);
			seen[ev[got].cookie]++;
		}
	}
	ASSERT_EQ(0, stop_signals());
	EXPECT_TRUE(each_once(seen, 2000));
	TH_LOG("interrupted %u times", interrupted);
}

TEST_F(read, bad_buffer)
{
	char *page = mmap(NULL, self->page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *const bad[] = { NULL, BAD_BUFFER, page, (char *)-4096UL };
	size_t i;

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, fire(self->fd, 5));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-1, read(self->fd, bad[i], 3 * SIZE));
		EXPECT_EQ(EFAULT, errno);
		EXPECT_EQ(1, readable(self->fd, 0));
	}
	ASSERT_EQ(0, munmap(page, self->page));
	EXPECT_EQ(-1, read(self->fd, page, 3 * SIZE));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, expect_all(self->fd, 5));
}

/* Counts the events of a read that may have stopped at a fault; -1 if not sound. */
static int count_events(const char *buffer, ssize_t got, unsigned int *seen, size_t size)
{
	struct hwheel_event ev;
	ssize_t at;

	for (at = 0; at < got; at += SIZE) {
		memcpy(&ev, buffer + at, SIZE);
		if (!event_is_sound(&ev) || ev.cookie >= size)
			return -1;
		seen[ev.cookie]++;
	}
	return at == got ? 0 : -1;
}

/* The fault at every byte of four events: each before it may be read, none is lost. */
TEST_F(read, buffer_that_ends)
{
	char *pages = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + self->page;
	size_t there;

	ASSERT_NE(MAP_FAILED, pages);
	for (there = 0; there <= 4 * SIZE; there++) {
		unsigned int seen[6] = { 0 }, sum = 0;
		ssize_t got;

		ASSERT_EQ(0, mprotect(end, self->page, there & 1 ? PROT_READ : PROT_NONE));
		ASSERT_EQ(0, fire(self->fd, 6));
		got = read(self->fd, end - there, 6 * SIZE);
		if (got < 0) {
			ASSERT_EQ(EFAULT, errno);
		} else {
			ASSERT_LT(0, got);
			ASSERT_GE(there, got);
			ASSERT_EQ(0, count_events(end - there, got, seen, 6));
			sum = got / SIZE;
		}
		ASSERT_EQ(0, collect(self->fd, seen, 6, 6 - sum));
		ASSERT_TRUE(each_once(seen, 6)) {
			TH_LOG("fault after %zu bytes", there);
		}
	}
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, munmap(pages, 2 * self->page));
}

/* Byte by byte: two events and a bit. */
TEST_F(read, scattered)
{
	struct iovec iov[2 * SIZE + 3];
	char buffer[2 * SIZE + 3];
	unsigned int seen[3] = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(iov); i++)
		iov[i] = (struct iovec){ buffer + i, 1 };
	ASSERT_EQ(0, fire(self->fd, 3));
	ASSERT_EQ(2 * SIZE, readv(self->fd, iov, ARRAY_SIZE(iov)));
	EXPECT_EQ(0, count_events(buffer, 2 * SIZE, seen, 3));
	EXPECT_EQ(0, collect(self->fd, seen, 3, 1));
	EXPECT_TRUE(each_once(seen, 3));
}

TEST_F(read, scattered_with_empty_pieces)
{
	char buffer[2 * SIZE];
	struct iovec iov[] = {
		{ NULL, 0 }, { buffer, 7 }, { NULL, 0 }, { NULL, 0 }, { buffer + 7, SIZE },
		{ buffer + 7 + SIZE, SIZE - 7 }, { NULL, 0 },
	};
	unsigned int seen[2] = { 0 };

	ASSERT_EQ(0, fire(self->fd, 2));
	EXPECT_EQ(2 * SIZE, readv(self->fd, iov, ARRAY_SIZE(iov)));
	EXPECT_EQ(0, count_events(buffer, 2 * SIZE, seen, 2));
	EXPECT_TRUE(each_once(seen, 2));
}

TEST_F(read, scattered_too_short)
{
	char buffer[SIZE];
	struct iovec iov[] = { { buffer, SIZE / 2 }, { buffer + SIZE / 2, SIZE / 2 - 1 } };

	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(-1, readv(self->fd, iov, 2));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, expect_all(self->fd, 1));
}

/* A hole in the middle of the second event. */
TEST_F(read, scattered_with_a_hole)
{
	char buffer[3 * SIZE];
	struct iovec iov[] = {
		{ buffer, SIZE + 3 },
		{ BAD_BUFFER, SIZE },
		{ buffer + SIZE + 3, SIZE },
	};
	unsigned int seen[4] = { 0 }, sum = 0;
	ssize_t got;

	ASSERT_EQ(0, fire(self->fd, 4));
	got = readv(self->fd, iov, 3);
	if (got < 0) {
		ASSERT_EQ(EFAULT, errno);
	} else {
		ASSERT_EQ(SIZE, got);
		ASSERT_EQ(0, count_events(buffer, got, seen, 4));
		sum = 1;
	}
	ASSERT_EQ(0, collect(self->fd, seen, 4, 4 - sum));
	EXPECT_TRUE(each_once(seen, 4));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* A stream: it has no position, and nothing can be written. */
TEST_F(read, not_seekable)
{
	struct hwheel_event ev;

	ASSERT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(-1, pread(self->fd, &ev, SIZE, 0));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, pread(self->fd, &ev, SIZE, 4096));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_SET));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_CUR));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(0, expect_all(self->fd, 1));
}

TEST_F(read, not_writable)
{
	int readonly = open(DEVICE, O_RDONLY | O_CLOEXEC);
	struct hwheel_event ev = { 0 };

	ASSERT_LE(0, readonly);
	EXPECT_EQ(-1, write(self->fd, &ev, SIZE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(readonly, &ev, SIZE));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(0, close(readonly));
}

TEST_F(read, not_readable)
{
	int writeonly = open(DEVICE, O_WRONLY | O_CLOEXEC);
	struct hwheel_event ev;

	if (writeonly < 0)
		return;
	EXPECT_EQ(-1, read(writeonly, &ev, SIZE));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(0, close(writeonly));
}

/* POLLIN if and only if an event waits, and nothing else ever. */
TEST_F(read, poll)
{
	struct hwheel_event ev;
	__u64 id;

	EXPECT_EQ(0, poll_all(self->fd));
	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &id));
	EXPECT_EQ(0, poll_all(self->fd));
	ASSERT_EQ(0, fire(self->fd, 2));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->fd));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->fd));
	ASSERT_EQ(1, read_events(self->fd, &ev, 1));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->fd));
	ASSERT_EQ(1, read_events(self->fd, &ev, 1));
	EXPECT_EQ(0, poll_all(self->fd));
	ASSERT_EQ(0, cancel(self->fd, id));
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(0, poll_all(self->fd));
}

TEST_F(read, poll_wakes)
{
	struct hwheel_event ev;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, arm(self->fd, i * MSEC, i, NULL));
		ASSERT_EQ(1, readable(self->fd, WAIT_MS));
		ASSERT_EQ(1, read_events(self->fd, &ev, 1));
		ASSERT_EQ(i, ev.cookie);
	}
}

TEST_F(read, epoll_level)
{
	int epoll = watch(self->fd, EPOLLIN | EPOLLOUT | EPOLLPRI);
	struct hwheel_event ev;

	ASSERT_LE(0, epoll);
	EXPECT_EQ(0, watched(epoll, 0));
	ASSERT_EQ(0, arm(self->fd, 20 * MSEC, 0, NULL));
	ASSERT_EQ(0, arm(self->fd, 20 * MSEC, 1, NULL));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	EXPECT_EQ(EPOLLIN, watched(epoll, 0));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(0, watched(epoll, 0));
	EXPECT_EQ(0, close(epoll));
}

/* Once for what has come, and again for what comes next, read or not. */
TEST_F(read, epoll_edge)
{
	int epoll = watch(self->fd, EPOLLIN | EPOLLET);
	unsigned int seen[3] = { 0 };
	int i;

	ASSERT_LE(0, epoll);
	EXPECT_EQ(0, watched(epoll, 0));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, arm(self->fd, 0, i, NULL));
		EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
		ASSERT_EQ(0, settle(now_ns()));
		EXPECT_EQ(0, watched(epoll, 0));
	}
	EXPECT_EQ(0, collect(self->fd, seen, 3, 3));
	EXPECT_EQ(0, watched(epoll, 0));

	/* Added when an event is there already, it is told of it. */
	EXPECT_EQ(0, close(epoll));
	ASSERT_EQ(0, fire(self->fd, 1));
	epoll = watch(self->fd, EPOLLIN | EPOLLET);
	ASSERT_LE(0, epoll);
	EXPECT_EQ(EPOLLIN, watched(epoll, 0));
	EXPECT_EQ(0, watched(epoll, 0));
	EXPECT_EQ(0, close(epoll));
}

/* A read that faulted has taken nothing away. */
TEST_F(read, epoll_after_fault)
{
	int epoll = watch(self->fd, EPOLLIN);

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, fire(self->fd, 2));
	EXPECT_EQ(-EFAULT, read_nowhere(self->fd, 2 * SIZE));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	EXPECT_EQ(0, expect_all(self->fd, 2));
	EXPECT_EQ(0, watched(epoll, 0));
	EXPECT_EQ(0, close(epoll));
}

/* Events that were put back are told of once more: meanwhile a reader may have found none. */
TEST_F(read, epoll_edge_after_fault)
{
	int epoll = watch(self->fd, EPOLLIN | EPOLLET);

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(0, watched(epoll, 0));
	EXPECT_EQ(-EFAULT, read_nowhere(self->fd, SIZE));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	EXPECT_EQ(0, expect_all(self->fd, 1));
	EXPECT_EQ(0, close(epoll));
}

#define SHARED_EVENTS	4000
#define LAST		UINT64_MAX

struct shared_count {
	unsigned int seen[SHARED_EVENTS];
	unsigned int sum;
};

/* Reads one event at a time until one says that it is the last of this reader. */
static int read_until_last(int fd, struct shared_count *shared)
{
	struct hwheel_event ev;
	int got;

	while ((got = read_events(fd, &ev, 1)) == 1) {
		if (ev.cookie == LAST)
			return 0;
		if (ev.cookie >= SHARED_EVENTS)
			return 1;
		__atomic_add_fetch(&shared->seen[ev.cookie], 1, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&shared->sum, 1, __ATOMIC_SEQ_CST);
	}
	return 1;
}

TEST_F(read, readers_share)
{
	struct shared_count *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	__u64 bound;
	pid_t pid[4];
	int i;

	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_EQ(0, set_blocking_file(self->fd));
	for (i = 0; i < 4; i++) {
		pid[i] = START_CHILD(read_until_last(self->fd, shared));
		ASSERT_LE(0, pid[i]);
	}
	for (i = 0; i < SHARED_EVENTS; i++)
		ASSERT_EQ(0, arm(self->fd, i * MSEC / 8, i, NULL));
	bound = now_ns() + WAIT_MS * MSEC;
	while (__atomic_load_n(&shared->sum, __ATOMIC_SEQ_CST) < SHARED_EVENTS &&
	       now_ns() < bound)
		ASSERT_EQ(0, settle(now_ns()));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, arm(self->fd, 0, LAST, NULL));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, reap(pid[i]));
	EXPECT_TRUE(each_once(shared->seen, SHARED_EVENTS));
	EXPECT_EQ(0, munmap(shared, sizeof(*shared)));
}

struct faulty_reader {
	int	fd;
	int	stop;
	int	faults;
};

static void *read_faultily(void *data)
{
	struct faulty_reader *reader = data;

	while (!__atomic_load_n(&reader->stop, __ATOMIC_ACQUIRE)) {
		reader->faults += read_nowhere(reader->fd, 8 * SIZE) == -EFAULT;
		sched_yield();
	}
	return NULL;
}

/* What one reader cannot take, another one gets, also if it was waiting. */
TEST_F(read, faulty_reader_takes_nothing)
{
	struct faulty_reader reader = { self->fd, 0, 0 };
	unsigned int seen[2000] = { 0 };
	pthread_t thread;
	size_t i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, read_faultily, &reader));
	for (i = 0; i < 2000; i++)
		ASSERT_EQ(0, arm(self->fd, i * MSEC / 4, i, NULL));
	for (i = 0; i < 2000; ) {
		struct hwheel_event ev;
		int got;

		ASSERT_EQ(1, readable(self->fd, WAIT_MS));
		got = read_events(self->fd, &ev, 1);
		/* The other one has it in its hands. */
		if (got == -EAGAIN)
			continue;
		ASSERT_EQ(1, got);
		ASSERT_GT(2000, ev.cookie);
		seen[ev.cookie]++;
		i++;
	}
	__atomic_store_n(&reader.stop, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_TRUE(each_once(seen, 2000));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	TH_LOG("%d faults", reader.faults);
}

TEST_F(read, duplicate_shares_the_set)
{
	int other = dup(self->fd);
	struct hwheel_event ev;
	__u64 id;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	ASSERT_EQ(0, refresh(other, id, 0));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	ASSERT_EQ(0, next_event(other, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));

	/* It lives as long as one of them. */
	ASSERT_EQ(0, arm(self->fd, 50 * MSEC, 2, &id));
	ASSERT_EQ(0, dup2(other, self->fd) == self->fd ? 0 : -errno);
	ASSERT_EQ(0, close(other));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
}

TEST_F(read, child_shares_the_set)
{
	struct hwheel_event ev;
	__u64 mine;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &mine));
	ASSERT_EQ(0, IN_CHILD(cancel(self->fd, mine) ?: arm(self->fd, 20 * MSEC, 2, NULL)));
	EXPECT_EQ(-ENOENT, cancel(self->fd, mine));
	/* What the child armed outlives it. */
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(2, ev.cookie);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_HARNESS_MAIN
