// SPDX-License-Identifier: GPL-2.0-only
/*
 * One set of timeouts in several hands: a process that has a descriptor of the file, by
 * dup(), fork() or SCM_RIGHTS, has all of it, and one that has none has nothing of it.
 */

#include "share.h"
#include "userfault.h"

#include <pthread.h>
#include <sys/mman.h>

/* What the two sides of a test tell each other. */
struct page {
	__u64	id;
	__u64	ids[64];
	int	socket;
};

typedef int (*part_fn)(int fd, struct page *page);

static int run_on_dup(int fd, part_fn part, struct page *page)
{
	int copy = dup(fd), ret;

	if (copy < 0)
		return -errno;
	ret = part(copy, page);
	return close(copy) ? -errno : ret;
}

static int run_in_child(int fd, part_fn part, struct page *page)
{
	return IN_CHILD(part(fd, page));
}

static int receive_and_run(int socket, part_fn part, struct page *page)
{
	int fd = receive_file(socket);

	return fd < 0 ? fd : part(fd, page);
}

/* A process that has got the file from nowhere else. */
static int run_where_it_was_sent(int fd, part_fn part, struct page *page)
{
	int sockets[2], ret;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (!pid) {
		close(fd);
		_exit(-receive_and_run(sockets[1], part, page));
	}
	ret = pid < 0 ? -errno : send_file(sockets[0], fd);
	close(sockets[0]);
	close(sockets[1]);
	return ret ?: reap(pid);
}

/*
 * One fixture for all ways to share: the test is one side, and what it has run there
 * the other one.
 */
FIXTURE(share)
{
	struct page	*page;
	long		users;
	int		fd;
};

FIXTURE_VARIANT(share)
{
	int (*run)(int fd, part_fn part, struct page *page);
};

FIXTURE_VARIANT_ADD(share, dup) { .run = run_on_dup };
FIXTURE_VARIANT_ADD(share, fork) { .run = run_in_child };
FIXTURE_VARIANT_ADD(share, sent) { .run = run_where_it_was_sent };

FIXTURE_SETUP(share)
{
	self->page = map_shared(sizeof(*self->page));
	ASSERT_NE(NULL, self->page);
	self->users = users_of_module();
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(share)
{
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, await_users(self->users));
}

static int read_the_one(int fd, struct page *page)
{
	struct hwheel_event ev;
	int ret = next_event(fd, &ev);

	if (ret)
		return ret;
	return ev.id == page->id && ev.cookie == 7 ? 0 : -EPROTO;
}

static int arm_the_one(int fd, struct page *page)
{
	return arm(fd, 20 * MSEC, 7, &page->id);
}

TEST_F(share, armed_here_read_there)
{
	ASSERT_EQ(0, arm_the_one(self->fd, self->page));
	EXPECT_EQ(0, variant->run(self->fd, read_the_one, self->page));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* The process that armed it may be gone by then. */
TEST_F(share, armed_there_read_here)
{
	ASSERT_EQ(0, variant->run(self->fd, arm_the_one, self->page));
	EXPECT_EQ(0, read_the_one(self->fd, self->page));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

static int arm_for_long(int fd, struct page *page)
{
	return arm(fd, NEVER, 7, &page->id);
}

static int cancel_the_one(int fd, struct page *page)
{
	int state = state_of(fd, page->id);

	if (state != HWHEEL_STATE_PENDING)
		return state < 0 ? state : -EPROTO;
	return cancel(fd, page->id);
}

TEST_F(share, cancelled_there)
{
	ASSERT_EQ(0, arm_for_long(self->fd, self->page));
	ASSERT_EQ(0, variant->run(self->fd, cancel_the_one, self->page));
	EXPECT_EQ(-ENOENT, cancel(self->fd, self->page->id));
	EXPECT_EQ(-ENOENT, refresh(self->fd, self->page->id, 0));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

static int cancel_again(int fd, struct page *page)
{
	return cancel(fd, page->id);
}

TEST_F(share, cancelled_here)
{
	ASSERT_EQ(0, variant->run(self->fd, arm_for_long, self->page));
	ASSERT_EQ(0, cancel_the_one(self->fd, self->page));
	EXPECT_EQ(-ENOENT, variant->run(self->fd, cancel_again, self->page));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

static int refresh_the_one(int fd, struct page *page)
{
	return refresh(fd, page->id, 0);
}

TEST_F(share, refreshed_there)
{
	ASSERT_EQ(0, arm_for_long(self->fd, self->page));
	ASSERT_EQ(0, variant->run(self->fd, refresh_the_one, self->page));
	EXPECT_EQ(0, read_the_one(self->fd, self->page));
}

static int submit_many(int fd, struct page *page)
{
	struct hwheel_op ops[64];
	int ret, i;

	for (i = 0; i < 64; i++)
		ops[i] = (struct hwheel_op){ .op = HWHEEL_OP_ARM, .cookie = i };
	ret = submit(fd, ops, 64);
	return ret == 64 ? 0 : ret < 0 ? ret : -EPROTO;
}

TEST_F(share, submitted_there)
{
	unsigned int seen[64] = { 0 };

	ASSERT_EQ(0, variant->run(self->fd, submit_many, self->page));
	EXPECT_EQ(0, collect(self->fd, seen, 64, 64));
	EXPECT_TRUE(each_once(seen, 64));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

static int stop_the_one(int fd, struct page *page)
{
	int ret = stop(fd);

	return ret == 1 ? 0 : ret < 0 ? ret : -EPROTO;
}

static int arm_is_refused(int fd, struct page *page)
{
	return arm(fd, 0, 0, NULL) == -ESHUTDOWN ? 0 : -EPROTO;
}

TEST_F(share, stopped_there)
{
	struct hwheel_event ev;

	ASSERT_EQ(0, arm_for_long(self->fd, self->page));
	ASSERT_EQ(0, variant->run(self->fd, stop_the_one, self->page));
	EXPECT_EQ(0, arm_is_refused(self->fd, self->page));
	EXPECT_EQ(0, variant->run(self->fd, arm_is_refused, self->page));
	EXPECT_EQ(1, read_raw(self->fd, &ev, 1));
	EXPECT_EQ(self->page->id, ev.id);
	EXPECT_EQ(HWHEEL_EVENT_STOPPED, ev.type);
	EXPECT_EQ(0, read_raw(self->fd, &ev, 1));
}

#define LIMIT	10

static int limit_and_arm(int fd, struct page *page)
{
	int ret = configure_file(fd, (struct hwheel_config){
		.max_timeouts = LIMIT, .clock = CLOCK_MONOTONIC,
	});

	return ret ?: arm_many(fd, LIMIT - 3, NEVER, page->ids);
}

/* The limit is the file's, whoever uses it. */
TEST_F(share, limited_there)
{
	ASSERT_EQ(0, variant->run(self->fd, limit_and_arm, self->page));
	EXPECT_EQ(LIMIT, max_timeouts(self->fd));
	ASSERT_EQ(0, arm_many(self->fd, 3, NEVER, NULL));
	EXPECT_EQ(-ENOSPC, arm(self->fd, NEVER, 0, NULL));
	EXPECT_EQ(0, cancel_many(self->fd, self->page->ids, 1));
	EXPECT_EQ(0, arm_patiently(self->fd, NEVER, 0, NULL));
	EXPECT_EQ(-ENOSPC, arm(self->fd, NEVER, 0, NULL));
}

static int get_wheel_and_arm(int fd, struct page *page)
{
	struct hwheel_config config = {
		.tick_ns = MSEC, .slots = 64, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};

	return configure_file(fd, config) ?: arm_the_one(fd, page);
}

/* It outlives the process that asked for it, whose name it has. */
TEST_F(share, wheel_from_there)
{
	struct hwheel_info info;

	ASSERT_EQ(0, variant->run(self->fd, get_wheel_and_arm, self->page));
	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_INFO, &info));
	EXPECT_EQ(1, info.own_wheel);
	EXPECT_EQ(MSEC, info.tick_ns);
	EXPECT_EQ(64, info.slots);
	EXPECT_EQ(-EBUSY, configure_file(self->fd, (struct hwheel_config){
		.slots = 8, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	}));
	EXPECT_EQ(0, read_the_one(self->fd, self->page));
	ASSERT_EQ(0, arm_the_one(self->fd, self->page));
	EXPECT_EQ(0, variant->run(self->fd, read_the_one, self->page));
}

/* Goes on when the other side has closed, which it tells by closing the socket. */
static int work_alone(int fd, struct page *page)
{
	struct hwheel_event ev;
	char byte;
	int i;

	if (read(page->socket, &byte, 1))
		return -EPROTO;
	if (arm(fd, 20 * MSEC, 60, NULL))
		return -EIO;
	for (i = 0; i < 2; i++)
		if (next_event(fd, &ev) || ev.cookie != 59 + i)
			return -EPROTO;
	return 0;
}

/* The last descriptor is a child's, which was sent it. */
TEST(share_until_the_last_close)
{
	struct page *page = map_shared(sizeof(*page));
	int go[2], files[2], fd = open_device(O_NONBLOCK);
	long users = users_of_module();
	pid_t pid;

	ASSERT_NE(NULL, page);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, files));
	page->socket = go[0];
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(fd);
		close(go[1]);
		_exit(-receive_and_run(files[1], work_alone, page));
	}
	ASSERT_EQ(0, arm(fd, 0, 59, NULL));
	ASSERT_EQ(0, send_file(files[0], fd));
	ASSERT_EQ(0, close(fd));
	EXPECT_EQ(users, users_of_module());
	ASSERT_EQ(0, close(go[1]));
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(0, await_users(users < 0 ? users : users - 1));
}

/* Nobody has a descriptor, but one is on its way. */
TEST(share_in_flight)
{
	int sockets[2], fd = open_device(O_NONBLOCK);
	long users = users_of_module();
	struct hwheel_event ev;
	__u64 id;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	ASSERT_EQ(0, arm(fd, 0, 1, &id));
	ASSERT_EQ(0, send_file(sockets[0], fd));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(users, users_of_module());
	fd = receive_file(sockets[1]);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, next_event(fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(0, close(fd));
	EXPECT_EQ(0, await_users(users < 0 ? users : users - 1));
}

/* And never arrives. */
TEST(share_lost_in_flight)
{
	int sockets[2], fd = open_device(O_NONBLOCK);
	long users = users_of_module();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	ASSERT_EQ(0, arm_many(fd, 100, NEVER, NULL));
	ASSERT_EQ(0, arm_many(fd, 100, 0, NULL));
	ASSERT_EQ(0, send_file(sockets[0], fd));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, close(sockets[1]));
	ASSERT_EQ(0, close(sockets[0]));
	EXPECT_EQ(0, await_users(users < 0 ? users : users - 1));
}

/* Opened through /proc it is another file: same device, a set of its own. */
TEST(share_not_by_name)
{
	int fd = open_device(O_NONBLOCK), other;
	struct hwheel_event ev;
	char path[64];
	__u64 id;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm(fd, NEVER, 1, &id));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOENT, state_of(other, id));
	EXPECT_EQ(-ENOENT, cancel(other, id));
	EXPECT_EQ(0, stop(other));
	EXPECT_EQ(0, refresh(fd, id, 0));
	EXPECT_EQ(0, next_event(fd, &ev));
	EXPECT_EQ(0, read_raw(other, &ev, 1));
	EXPECT_EQ(0, close(other));
	EXPECT_EQ(0, close(fd));
}

/*
 * Two files that know nothing of each other. Numbers that name timeouts of the one may
 * be those of timeouts of the other, too, but then they name its own.
 */
#define EACH	50

FIXTURE(apart)
{
	int	fd;
	int	other;
	__u64	ids[EACH];
};

FIXTURE_SETUP(apart)
{
	self->fd = open_device(O_NONBLOCK);
	self->other = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	ASSERT_EQ(0, arm_many(self->fd, EACH, NEVER, self->ids));
}

/* Whatever the other file was asked for, all of them are as they were armed. */
FIXTURE_TEARDOWN(apart)
{
	struct hwheel_event ev;
	int i;

	for (i = 0; i < EACH; i++) {
		struct hwheel_op op = { .id = self->ids[i] };

		EXPECT_EQ(HWHEEL_STATE_PENDING, call(self->fd, HWHEEL_IOC_QUERY, &op));
		EXPECT_EQ(i, op.cookie);
		EXPECT_LT(1ULL << 62, op.time_ns);
	}
	EXPECT_EQ(0, cancel_many(self->fd, self->ids, EACH));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, close(self->other));
}

TEST_F(apart, never_armed_any)
{
	int i;

	for (i = 0; i < EACH; i++) {
		EXPECT_EQ(-ENOENT, state_of(self->other, self->ids[i]));
		EXPECT_EQ(-ENOENT, refresh(self->other, self->ids[i], 0));
		EXPECT_EQ(-ENOENT, refresh_at(self->other, self->ids[i], 0));
		EXPECT_EQ(-ENOENT, cancel(self->other, self->ids[i]));
	}
	EXPECT_EQ(0, stays_quiet(self->other, now_ns()));
}

/* Its own have ended. */
TEST_F(apart, ended_its_own)
{
	__u64 ids[EACH / 2];
	int i;

	ASSERT_EQ(0, arm_many(self->other, EACH / 2, NEVER, ids));
	ASSERT_EQ(0, cancel_many(self->other, ids, EACH / 2));
	ASSERT_EQ(0, settle(now_ns()));
	for (i = 0; i < EACH; i++) {
		EXPECT_EQ(-ENOENT, state_of(self->other, self->ids[i]));
		EXPECT_EQ(-ENOENT, refresh(self->other, self->ids[i], 0));
		EXPECT_EQ(-ENOENT, cancel(self->other, self->ids[i]));
	}
}

TEST_F(apart, stopped)
{
	__u64 ids[EACH];
	struct hwheel_event ev;

	ASSERT_EQ(0, arm_many(self->other, EACH, NEVER, ids));
	EXPECT_EQ(EACH, stop(self->other));
	while (read_raw(self->other, &ev, 1) > 0)
		EXPECT_EQ(HWHEEL_EVENT_STOPPED, ev.type);
}

/* A batch of the other file: only its own react. */
TEST_F(apart, submits)
{
	struct hwheel_op ops[3 * EACH] = { 0 };
	struct hwheel_event ev;
	__u64 own;
	int i;

	ASSERT_EQ(0, arm(self->other, 0, 3, &own));
	ASSERT_EQ(0, next_event(self->other, &ev));
	for (i = 0; i < 3 * EACH; i++) {
		ops[i].op = HWHEEL_OP_REFRESH + i / EACH;
		ops[i].id = self->ids[i % EACH];
	}
	ASSERT_EQ(3 * EACH, submit(self->other, ops, 3 * EACH));
	for (i = 0; i < 3 * EACH; i++)
		EXPECT_EQ(-ENOENT, ops[i].result);
	EXPECT_EQ(0, stays_quiet(self->other, now_ns()));
}

/* As many in either file, so that the numbers may be the same. */
TEST_F(apart, armed_as_many)
{
	unsigned int seen[EACH] = { 0 };
	__u64 ids[EACH];
	int i;

	ASSERT_EQ(0, arm_many(self->other, EACH, NEVER, ids));
	for (i = 0; i < EACH; i++)
		refresh(self->other, self->ids[i], 0);
	for (i = 0; i < EACH; i++)
		refresh(self->other, ids[i], 0);
	EXPECT_EQ(0, collect(self->other, seen, EACH, EACH));
	EXPECT_TRUE(each_once(seen, EACH));
	for (i = 0; i < EACH; i++)
		EXPECT_GT(0, cancel(self->other, self->ids[i]));
}

/* A reader on its own descriptor, or on that of others. */
struct reader {
	int			fd;
	pid_t			tid;
	int			result;
	struct hwheel_event	ev;
};

static void *read_one(void *data)
{
	struct reader *reader = data;

	__atomic_store_n(&reader->tid, gettid(), __ATOMIC_RELEASE);
	reader->result = read_events(reader->fd, &reader->ev, 1);
	return NULL;
}

static int start_reader(pthread_t *thread, struct reader *reader)
{
	return start_waiting(thread, &reader->tid, read_one, reader);
}

FIXTURE(blocked)
{
	struct reader	reader;
	pthread_t	thread;
	long		users;
	int		fd;
};

FIXTURE_SETUP(blocked)
{
	self->users = users_of_module();
	self->fd = open_device(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(blocked)
{
	EXPECT_EQ(0, await_users(self->users));
}

/* Another one is closed, and the reader goes on. */
TEST_F(blocked, on_a_dup)
{
	__u64 id;

	self->reader.fd = dup(self->fd);
	ASSERT_EQ(0, start_reader(&self->thread, &self->reader));
	ASSERT_EQ(0, arm(self->fd, 50 * MSEC, 8, &id));
	ASSERT_EQ(0, close(self->fd));
	ASSERT_EQ(0, pthread_join(self->thread, NULL));
	EXPECT_EQ(1, self->reader.result);
	EXPECT_EQ(id, self->reader.ev.id);
	EXPECT_EQ(0, arm(self->reader.fd, 0, 9, NULL));
	EXPECT_EQ(1, read_events(self->reader.fd, &self->reader.ev, 1));
	EXPECT_EQ(0, close(self->reader.fd));
}

/* It is the last one that is closed: the reader has the file until it returns. */
TEST_F(blocked, on_what_is_closed)
{
	__u64 id;

	self->reader.fd = self->fd;
	ASSERT_EQ(0, start_reader(&self->thread, &self->reader));
	ASSERT_EQ(0, arm(self->fd, 50 * MSEC, 8, &id));
	ASSERT_EQ(0, close(self->fd));
	ASSERT_EQ(0, pthread_join(self->thread, NULL));
	EXPECT_EQ(1, self->reader.result);
	EXPECT_EQ(id, self->reader.ev.id);
	EXPECT_EQ(8, self->reader.ev.cookie);
}

static void nothing(int signal)
{
}

/* Nothing will ever come, but a signal. */
TEST_F(blocked, until_a_signal)
{
	struct sigaction action = { .sa_handler = nothing };

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	self->reader.fd = self->fd;
	ASSERT_EQ(0, arm(self->fd, NEVER, 8, NULL));
	ASSERT_EQ(0, start_reader(&self->thread, &self->reader));
	ASSERT_EQ(0, close(self->fd));
	ASSERT_EQ(0, pthread_kill(self->thread, SIGUSR1));
	ASSERT_EQ(0, pthread_join(self->thread, NULL));
	EXPECT_EQ(-EINTR, self->reader.result);
}

/* All that sleep are woken, not only one. */
TEST_F(blocked, until_it_is_stopped)
{
	struct reader readers[4];
	pthread_t threads[4];
	int i;

	for (i = 0; i < 4; i++) {
		readers[i] = (struct reader){ .fd = dup(self->fd) };
		ASSERT_EQ(0, start_reader(&threads[i], &readers[i]));
	}
	ASSERT_EQ(0, stop(self->fd));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		/* read_events() takes the end of the file for a mistake. */
		EXPECT_EQ(-EPROTO, readers[i].result);
		EXPECT_EQ(POISON64, readers[i].ev.id);
		EXPECT_EQ(0, close(readers[i].fd));
	}
	ASSERT_EQ(0, close(self->fd));
}

/*
 * A call that arms, held up where it writes the ids to memory: its timeouts are there, but
 * not armed yet, while others use the file.
 */
#define PAGE	((size_t)sysconf(_SC_PAGESIZE))

FIXTURE(paused)
{
	struct hwheel_op	*ops;
	pthread_t		thread;
	int			uffd;
	long			users;
	int			fd;
	__u32			nr;
	int			result;
};

/* 0 for the single ioctl */
FIXTURE_VARIANT(paused)
{
	__u32	nr;
};

FIXTURE_VARIANT_ADD(paused, arm) { .nr = 0 };
FIXTURE_VARIANT_ADD(paused, submit) { .nr = 64 };

/* A reader whose memory is gone when it comes to write there */
struct faulty_reader {
	struct hwheel_event	*ev;
	pthread_t		thread;
	int			uffd;
	int			fd;
	int			result;
};

static void *read_two(void *data)
{
	struct faulty_reader *reader = data;

	if (read(reader->fd, reader->ev, 2 * sizeof(*reader->ev)) < 0)
		reader->result = -errno;
	return NULL;
}

/* On return it has taken two events, and is about to write them. */
static int start_faulty_reader(struct faulty_reader *reader)
{
	reader->ev = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (reader->ev == MAP_FAILED)
		return -errno;
	return hold_up(reader->uffd, reader->ev) ?:
	       -pthread_create(&reader->thread, NULL, read_two, reader) ?:
	       await_writer(reader->uffd);
}

static int end_faulty_reader(struct faulty_reader *reader)
{
	if (mprotect(reader->ev, PAGE, PROT_NONE))
		return -errno;
	return let_go_on(reader->uffd, reader->ev) ?:
	       -pthread_join(reader->thread, NULL);
}

/* Two, as many as there are readers: no one of these goes on sleeping. */
TEST_F(blocked, until_events_come_back)
{
	struct faulty_reader faulty = { .fd = self->fd };
	struct reader readers[2];
	pthread_t threads[2];
	int i;

	faulty.uffd = open_userfaultfd();
	if (faulty.uffd < 0) {
		close(self->fd);
		SKIP(return, "no userfaultfd, or not for us");
	}
	ASSERT_EQ(0, fire(self->fd, 2));
	ASSERT_EQ(0, start_faulty_reader(&faulty));
	for (i = 0; i < 2; i++) {
		readers[i] = (struct reader){ .fd = self->fd };
		ASSERT_EQ(0, start_reader(&threads[i], &readers[i]));
	}
	ASSERT_EQ(0, end_faulty_reader(&faulty));
	EXPECT_EQ(-EFAULT, faulty.result);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(1, readers[i].result);
	}
	EXPECT_EQ(0, close(faulty.uffd));
	ASSERT_EQ(0, close(self->fd));
}

static void *arm_on_held_page(void *data)
{
	FIXTURE_DATA(paused) * self = data;

	if (self->nr)
		self->result = submit(self->fd, self->ops, self->nr);
	else
		self->result = call(self->fd, HWHEEL_IOC_ARM, self->ops);
	return NULL;
}

FIXTURE_SETUP(paused)
{
	__u32 i;

	self->uffd = open_userfaultfd();
	if (self->uffd < 0)
		SKIP(return, "no userfaultfd, or not for us");
	self->nr = variant->nr;
	self->users = users_of_module();
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->ops = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->ops);
	for (i = 0; i < (self->nr ?: 1); i++)
		self->ops[i] = (struct hwheel_op){ .op = HWHEEL_OP_ARM, .cookie = i };
	ASSERT_EQ(0, hold_up(self->uffd, self->ops));
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, arm_on_held_page, self));
	ASSERT_EQ(0, await_writer(self->uffd));
}

FIXTURE_TEARDOWN(paused)
{
	EXPECT_EQ(0, await_users(self->users));
	EXPECT_EQ(0, munmap(self->ops, PAGE));
	EXPECT_EQ(0, close(self->uffd));
}

static int go_on(FIXTURE_DATA(paused) * self)
{
	return let_go_on(self->uffd, self->ops) ?: -pthread_join(self->thread, NULL);
}

/* The result of each, which is the same for all. */
static int result_of_all(const FIXTURE_DATA(paused) * self)
{
	__u32 i;

	if (!self->nr)
		return self->result;
	if (self->result != (int)self->nr)
		return -EPROTO;
	for (i = 1; i < self->nr; i++)
		if (self->ops[i].result != self->ops[0].result)
			return -EPROTO;
	return self->ops[0].result;
}

/* The file is stopped in between, and not at its end before the call is. */
TEST_F(paused, stopped)
{
	struct hwheel_event ev;

	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(-EAGAIN, read_raw(self->fd, &ev, 1));
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(-ESHUTDOWN, result_of_all(self));
	EXPECT_EQ(0, read_raw(self->fd, &ev, 1));
	EXPECT_EQ(0, close(self->fd));
}

/* A program that guesses an id has no luck. */
TEST_F(paused, guessed)
{
	__u32 n = self->nr ?: 1, i;
	unsigned int seen[64] = { 0 };
	__u64 next;

	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &next));
	for (i = 1; i <= n; i++) {
		EXPECT_EQ(-ENOENT, state_of(self->fd, next - i));
		EXPECT_EQ(-ENOENT, refresh(self->fd, next - i, 0));
		EXPECT_EQ(-ENOENT, cancel(self->fd, next - i));
	}
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(0, result_of_all(self));
	EXPECT_EQ(0, collect(self->fd, seen, n, n));
	EXPECT_TRUE(each_once(seen, n));
	EXPECT_EQ(0, close(self->fd));
}

/* It keeps nobody waiting. */
TEST_F(paused, in_nobodys_way)
{
	struct hwheel_event ev;
	int i;

	EXPECT_EQ(-EBUSY, configure_file(self->fd, (struct hwheel_config){
		.slots = 8, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	}));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(0, arm(self->fd, 0, 1000 + i, NULL));
		EXPECT_EQ(0, next_event(self->fd, &ev));
		EXPECT_EQ(1000 + i, ev.cookie);
	}
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(0, result_of_all(self));
	EXPECT_EQ(0, close(self->fd));
}

/* The call has the file until it returns. */
TEST_F(paused, closed)
{
	ASSERT_EQ(0, close(self->fd));
	EXPECT_EQ(self->users < 0 ? self->users : self->users + 1, users_of_module());
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(0, result_of_all(self));
}

TEST_HARNESS_MAIN
