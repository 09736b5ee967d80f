// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one program can cost the others: their lateness, while it has crowds that wait for
 * its events; and their place, while it fills its file or takes wheels.
 */

#include "lateness.h"
#include "share.h"
#include "threads.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define HOUR		(3600 * SEC)
#define MAX_TIMEOUTS	100

/* The crowds */

#define MAX_ATTACKERS	3
#define MAX_THREADS	64
#define MAX_FILES	512
#define BURST		20
#define EDGES		3

/* The tick of the shared wheel, or about that */
#define EDGE_NS		(10 * MSEC)

/* How many wait by one poll(); with the file that ends it, these are the files of a process. */
#define CROWD		65535

/* For how long an epoll instance has whoever wakes it walk a queue of its own */
#define LONG_WALK	(4 * MSEC)
#define PART_OF_CROWD	8192

/* Half a tick of the shared wheel */
#define PAUSE_US	5000

/**
 * struct crowd - what the threads of an attacker wait for
 * @files:    so many files
 * @watchers: as so many entries, in turn
 * @by_epoll: by an epoll instance, until it has a long queue of its own
 * @rounds:   0, or how many events of each file until the attacker opens other files: a user
 *            that has closed all files has a fresh account
 */
struct crowd {
	unsigned int	files;
	unsigned int	watchers;
	bool		by_epoll;
	unsigned int	rounds;
};

/**
 * struct attacker - a process or a part of one, which has a crowd
 * @crowd:   that
 * @fds:     its files
 * @files:   how many
 * @epoll:   what watches them, or -1
 * @end:     an eventfd: the threads are to end
 * @threads: those
 * @tids:    their ids, once they run
 * @nr:      how many
 * @fired:   events of the files
 */
struct attacker {
	const struct crowd	*crowd;
	int			fds[MAX_FILES];
	unsigned int		files;
	int			epoll;
	int			end;
	pthread_t		threads[MAX_THREADS];
	pid_t			tids[MAX_THREADS];
	unsigned int		nr;
	unsigned long		fired;
};

/* One poll() is as many waiters as its array has entries, and these want no events. */
static void *wait_as_crowd(void *data)
{
	struct attacker *attacker = data;
	size_t watchers = attacker->crowd->watchers, i;
	struct pollfd *fds = calloc(watchers + 1, sizeof(*fds));

	for (i = 0; fds && i < watchers; i++)
		fds[i].fd = attacker->epoll >= 0 ? attacker->epoll :
						   attacker->fds[i % attacker->files];
	if (fds)
		fds[i] = (struct pollfd){ .fd = attacker->end, .events = POLLIN };
	__atomic_store_n(&attacker->tids[attacker->nr], gettid(), __ATOMIC_RELEASE);
	if (fds)
		poll(fds, watchers + 1, -1);
	free(fds);
	return NULL;
}

/* Returns when it waits. */
static int add_thread(struct attacker *attacker)
{
	pthread_t *thread = &attacker->threads[attacker->nr];
	pid_t *tid = &attacker->tids[attacker->nr];
	int ret = start_waiting(thread, tid, wait_as_crowd, attacker);

	attacker->nr += !!*tid;
	return ret;
}

/* How long an event keeps whoever wakes the epoll instance: the shortest of some times */
static __u64 time_walk(int event)
{
	__u64 value = 1, best = NEVER, begin, ns;
	int i;

	for (i = 0; i < 3; i++) {
		begin = now_ns();
		if (write(event, &value, sizeof(value)) != sizeof(value))
			return 0;
		ns = now_ns() - begin;
		best = ns < best ? ns : best;
	}
	return best;
}

static int watch_files(struct attacker *attacker)
{
	struct epoll_event event = { .events = EPOLLIN };
	unsigned int i;

	for (i = 0; i < attacker->files; i++)
		if (epoll_ctl(attacker->epoll, EPOLL_CTL_ADD, attacker->fds[i], &event))
			return -errno;
	return 0;
}

/* Threads poll() the epoll instance until it has a queue that is long on this machine. */
static int add_long_queue(struct attacker *attacker)
{
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), ret;

	attacker->epoll = watch(event, EPOLLIN);
	if (attacker->epoll < 0)
		return attacker->epoll;
	do
		ret = add_thread(attacker);
	while (!ret && attacker->nr < MAX_THREADS && time_walk(event) < LONG_WALK);
	close(event);
	return ret ?: watch_files(attacker);
}

static int open_files(struct attacker *attacker)
{
	for (; attacker->files < attacker->crowd->files; attacker->files++) {
		int fd = open_device(O_NONBLOCK);

		if (fd < 0)
			return fd;
		attacker->fds[attacker->files] = fd;
	}
	return 0;
}

static int begin_attack(struct attacker *attacker, const struct crowd *crowd)
{
	int ret;

	attacker->crowd = crowd;
	attacker->epoll = -1;
	attacker->end = eventfd(0, EFD_CLOEXEC);
	ret = open_files(attacker);
	if (ret)
		return ret;
	return crowd->by_epoll ? add_long_queue(attacker) : add_thread(attacker);
}

static void end_attack(struct attacker *attacker)
{
	__u64 value = 1;

	if (write(attacker->end, &value, sizeof(value)) != sizeof(value))
		return;
	while (attacker->nr)
		pthread_join(attacker->threads[--attacker->nr], NULL);
	while (attacker->files)
		close(attacker->fds[--attacker->files]);
	if (attacker->epoll >= 0)
		close(attacker->epoll);
	close(attacker->end);
}

/* Reads what has fired on a file, and makes some fire at each of the next edges. */
static int feed_file(struct attacker *attacker, int fd)
{
	struct hwheel_event events[BURST];
	int got, i, ret = 0;

	got = read_events(fd, events, BURST);
	if (got > 0)
		__atomic_add_fetch(&attacker->fired, got, __ATOMIC_RELAXED);
	for (i = 0; !ret && i < BURST / attacker->files + EDGES; i++)
		ret = arm(fd, i % EDGES * EDGE_NS, i, NULL);
	return ret == -ENOSPC ? 0 : ret;
}

static int feed(struct attacker *attacker)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < attacker->files; i++)
		ret = feed_file(attacker, attacker->fds[i]);
	return ret;
}

/*
 * The attackers' processes. Each is another user, which may still open the device, and all of
 * them leave the CPUs to the victim.
 */

#define FIRST_USER	4200

static int feed_on(struct attacker *attacker)
{
	unsigned int rounds = attacker->crowd->rounds;
	int ret;

	do {
		ret = feed(attacker);
		usleep(PAUSE_US);
	} while (!ret && --rounds);
	return ret;
}

/* Tells by @ready when the crowd waits, and does not return. */
static void attack(struct attacker *attacker, const struct crowd *crowd, uid_t uid, int ready)
{
	int ret = become_attacker(uid) ?: begin_attack(attacker, crowd);

	if (write(ready, &ret, sizeof(ret)) != sizeof(ret))
		_exit(1);
	while (!ret) {
		ret = feed_on(attacker);
		end_attack(attacker);
		ret = ret ?: begin_attack(attacker, crowd);
	}
	_exit(1);
}

static int await_ready(int ready)
{
	int ret;

	if (read(ready, &ret, sizeof(ret)) != sizeof(ret))
		return -EPIPE;
	return ret;
}

/* Returns when the crowd waits. @attacker is shared with the new process. */
static int fork_attacker(struct attacker *attacker, const struct crowd *crowd, uid_t uid,
			 pid_t *pid)
{
	int ready[2], ret;

	if (pipe2(ready, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (!*pid) {
		close(ready[0]);
		attack(attacker, crowd, uid, ready[1]);
	}
	close(ready[1]);
	ret = *pid < 0 ? -errno : await_ready(ready[0]);
	close(ready[0]);
	return ret;
}

/* The victim */

#define AHEAD_NS	((EDGES + 1) * EDGE_NS)

/*
 * The victim arms its timeouts before attackers arm those of the same edge: the worker then
 * comes to the victim after them.
 */
static int measure(int fd, struct lateness *lateness)
{
	struct samples samples;
	struct hwheel_event event;
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < SAMPLES; i++) {
		ret = arm(fd, AHEAD_NS, i, NULL) ?: next_event(fd, &event);
		samples.fired[i] = event.fired_ns - event.deadline_ns;
		samples.seen[i] = now_ns() - event.deadline_ns;
	}
	if (!ret)
		*lateness = sum_up(&samples);
	return ret;
}

/* With a file of its own, which is closed again: a user without files has a fresh account. */
static int open_and_measure(struct lateness *lateness)
{
	int fd = open_device(O_NONBLOCK), ret;

	if (fd < 0)
		return fd;
	ret = measure(fd, lateness);
	close(fd);
	return ret;
}

/*
 * A machine that stands still just while the worker wakes the victim lets the victim pass for
 * slow, and then it waits for work items for some seconds. So there are several tries.
 */
static int measure_beside(struct lateness *beside, const struct lateness *latest)
{
	int ret, i;

	for (i = 0; i < TRIES; i++) {
		ret = open_and_measure(beside);
		if (ret || is_within(beside, latest))
			break;
	}
	return ret;
}

/* Until each attacker has had a timeout that expired; -ECHILD if one has ended. */
static int await_attacks(const struct attacker *attackers, const pid_t *pids, unsigned int nr)
{
	siginfo_t ended = { .si_pid = 0 };
	unsigned int i;

	for (i = 0; i < nr; i++)
		while (!__atomic_load_n(&attackers[i].fired, __ATOMIC_RELAXED)) {
			if (waitid(P_PID, pids[i], &ended, WEXITED | WNOHANG | WNOWAIT) ||
			    ended.si_pid)
				return -ECHILD;
			poll(NULL, 0, 1);
		}
	return 0;
}

static int allow_files(rlim_t nr)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	if (limit.rlim_cur >= nr)
		return 0;
	limit.rlim_cur = nr;
	if (limit.rlim_max < nr)
		limit.rlim_max = nr;
	return setrlimit(RLIMIT_NOFILE, &limit) ? -errno : 0;
}

FIXTURE(crowds)
{
	struct attacker *attackers;
	pid_t pids[MAX_ATTACKERS];
};

FIXTURE_VARIANT(crowds)
{
	unsigned int	nr;
	struct crowd	crowds[MAX_ATTACKERS];
};

/* More than the worker wakes: of one file, and of many of them together */
FIXTURE_VARIANT_ADD(crowds, of_a_file) {
	.nr = 3,
	.crowds = {
		{ .files = 1, .watchers = CROWD },
		{ .files = 1, .watchers = CROWD },
		{ .files = 1, .watchers = CROWD },
	},
};

FIXTURE_VARIANT_ADD(crowds, of_many_files) {
	.nr = 3,
	.crowds = {
		{ .files = MAX_FILES, .watchers = CROWD },
		{ .files = MAX_FILES, .watchers = CROWD },
		{ .files = MAX_FILES, .watchers = CROWD },
	},
};

/*
 * One user has many files with a few each, and is not slow for long. What the work items of the
 * other user have to do takes some seconds.
 */
FIXTURE_VARIANT_ADD(crowds, before_a_long_queue) {
	.nr = 2,
	.crowds = {
		{ .files = 320, .watchers = 320 * 4, .rounds = 10 },
		{ .files = MAX_FILES, .watchers = PART_OF_CROWD, .by_epoll = true },
	},
};

FIXTURE_SETUP(crowds)
{
	self->attackers = map_shared(MAX_ATTACKERS * sizeof(*self->attackers));
	ASSERT_NE(NULL, self->attackers);
	if (geteuid())
		SKIP(return, "needs root, to be several users");
	if (allow_files(CROWD + 1))
		SKIP(return, "needs RLIMIT_NOFILE");
}

FIXTURE_TEARDOWN(crowds)
{
	int i;

	for (i = 0; i < MAX_ATTACKERS; i++)
		kill_attacker(&self->pids[i]);
	munmap(self->attackers, MAX_ATTACKERS * sizeof(*self->attackers));
}

/* The victim beside as many processes as there are attackers */
static int measure_usual(struct lateness *usual, pid_t *pids, unsigned int nr)
{
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++)
		pids[i] = fork_bystander(FIRST_USER + i);
	ret = open_and_measure(usual);
	for (i = 0; i < nr; i++)
		kill_attacker(&pids[i]);
	return ret;
}

TEST_F(crowds, delay_nobody_else)
{
	struct lateness usual, beside, bound;
	__u64 tick = tick_ns();
	unsigned int i;

	ASSERT_LT(0, tick);
	ASSERT_EQ(0, measure_usual(&usual, self->pids, variant->nr));
	for (i = 0; i < variant->nr; i++)
		ASSERT_EQ(0, fork_attacker(&self->attackers[i], &variant->crowds[i],
					   FIRST_USER + i, &self->pids[i]));
	bound = latest(&usual, tick);
	ASSERT_EQ(0, await_attacks(self->attackers, self->pids, variant->nr));
	ASSERT_EQ(0, measure_beside(&beside, &bound));
	EXPECT_LE(beside.fired, bound.fired);
	EXPECT_LE(beside.seen, bound.seen);
	EXPECT_LE(beside.worst, bound.worst);
	TH_LOG("us late (usually): fired %llu (%llu), seen %llu (%llu), worst %llu (%llu)",
	       beside.fired / 1000, usual.fired / 1000, beside.seen / 1000, usual.seen / 1000,
	       beside.worst / 1000, usual.worst / 1000);
}

/* Two threads of a crowd wait for something that does come. */
static void *wait_for_event(void *data)
{
	struct pollfd pfd = { .fd = *(int *)data, .events = POLLIN };

	return (void *)(intptr_t)poll(&pfd, 1, WAIT_MS);
}

TEST_F(crowds, are_woken)
{
	struct attacker *attacker = self->attackers;
	const struct crowd *crowd = &variant->crowds[variant->nr - 1];
	pthread_t waiters[2];
	void *ret;
	int i;

	ASSERT_EQ(0, begin_attack(attacker, crowd));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&waiters[i], NULL, wait_for_event,
					    &attacker->fds[0]));
	EXPECT_EQ(0, arm(attacker->fds[0], 0, 0, NULL));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, pthread_join(waiters[i], &ret));
		EXPECT_EQ(1, (intptr_t)ret);
	}
	end_attack(attacker);
}

/* Room */

/* On a wheel whose worker looks once an hour */
static int open_slow(void)
{
	struct hwheel_config config = {
		.tick_ns = HOUR,
		.max_timeouts = MAX_TIMEOUTS,
		.kind = HWHEEL_KIND_HASHED,
		.clock = CLOCK_MONOTONIC,
	};
	int fd = open_device(O_NONBLOCK), ret;

	if (fd < 0)
		return fd;
	ret = configure(fd, &config);
	return ret ?: fd;
}

TEST(cancelled_ones_make_room)
{
	__u64 ids[MAX_TIMEOUTS], id;
	int fd = open_slow(), i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_many(fd, MAX_TIMEOUTS, NEVER, ids));
	EXPECT_EQ(-ENOSPC, arm(fd, NEVER, 0, NULL));
	for (i = 0; i < 30 * MAX_TIMEOUTS; i++) {
		ASSERT_EQ(0, cancel(fd, ids[i % MAX_TIMEOUTS]));
		ASSERT_EQ(0, arm(fd, NEVER, i, &id));
		ids[i % MAX_TIMEOUTS] = id;
	}
	EXPECT_EQ(-ENOSPC, arm(fd, NEVER, 0, NULL));
	EXPECT_EQ(0, close(fd));
}

TEST(a_batch_makes_room_for_itself)
{
	struct hwheel_op ops[2 * MAX_TIMEOUTS] = { 0 };
	struct hwheel_submit submit = {
		.ops = (uintptr_t)ops, .nr = 2 * MAX_TIMEOUTS,
	};
	__u64 ids[MAX_TIMEOUTS];
	int fd = open_slow(), i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_many(fd, MAX_TIMEOUTS, NEVER, ids));
	for (i = 0; i < MAX_TIMEOUTS; i++) {
		ops[2 * i].op = HWHEEL_OP_CANCEL;
		ops[2 * i].id = ids[i];
		ops[2 * i + 1].op = HWHEEL_OP_ARM;
		ops[2 * i + 1].time_ns = NEVER;
	}
	EXPECT_EQ(2 * MAX_TIMEOUTS, call(fd, HWHEEL_IOC_SUBMIT, &submit));
	for (i = 0; i < 2 * MAX_TIMEOUTS; i++)
		ASSERT_EQ(0, ops[i].result);
	EXPECT_EQ(0, close(fd));
}

/* Wheels */

static int open_own(void)
{
	return open_configured(O_NONBLOCK, &(struct hwheel_config){
		.slots = 64, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	});
}

#define MAX_WHEELS	512

/* As many wheels as an account may have, and one more that it does not get. Returns 0 if so. */
static int use_up(int *fds, unsigned int limit)
{
	unsigned int i;

	for (i = 0; i < limit; i++) {
		fds[i] = open_own();
		if (fds[i] < 0)
			return fds[i];
	}
	return open_own() == -ENOSPC ? 0 : -EPROTO;
}

/* In a process of another user, whose wheels end with it */
static int use_up_as(uid_t uid, unsigned int limit)
{
	int fds[MAX_WHEELS], status;
	pid_t pid = fork();

	if (!pid)
		_exit(setresuid(uid, uid, uid) || use_up(fds, limit));
	return pid < 0 || waitpid(pid, &status, 0) != pid ? -errno : status;
}

TEST(each_account_has_its_wheels)
{
	unsigned int limit = parameter("max_user_wheels", 16), i;
	int fds[MAX_WHEELS];

	if (limit >= MAX_WHEELS)
		SKIP(return, "the limit is too large to try");
	ASSERT_EQ(0, chmod("/dev/hwheel", 0666));
	/* Also with CAP_SYS_RESOURCE */
	ASSERT_EQ(0, use_up(fds, limit));
	EXPECT_EQ(0, use_up_as(1000, limit));
	EXPECT_EQ(0, use_up_as(1001, limit));
	if (limit) {
		close(fds[--limit]);
		fds[limit] = open_own();
		EXPECT_LE(0, fds[limit++]);
	}
	for (i = 0; i < limit; i++)
		EXPECT_EQ(0, close(fds[i]));
	EXPECT_EQ(0, chmod("/dev/hwheel", 0600));
}

/* The thread and the place of a wheel are free as soon as nothing is pending there. */
TEST(a_stopped_file_gives_its_wheel_back)
{
	unsigned int limit = parameter("max_user_wheels", 16), i;
	int fds[MAX_WHEELS], more[MAX_WHEELS];
	char name[32];

	if (limit >= MAX_WHEELS)
		SKIP(return, "the limit is too large to try");
	snprintf(name, sizeof(name), "hwheel/p%d", getpid());
	for (i = 0; i < limit; i++) {
		fds[i] = open_own();
		ASSERT_LE(0, fds[i]);
		ASSERT_EQ(0, arm(fds[i], NEVER, i, NULL));
	}
	EXPECT_EQ(-ENOSPC, open_own());
	for (i = 0; i < limit; i++)
		EXPECT_EQ(1, stop(fds[i]));
	EXPECT_EQ(0, await_threads(name, 0));
	for (i = 0; i < limit; i++) {
		more[i] = open_own();
		ASSERT_LE(0, more[i]);
	}
	EXPECT_EQ(-ENOSPC, open_own());
	for (i = 0; i < limit; i++) {
		EXPECT_EQ(0, close(fds[i]));
		EXPECT_EQ(0, close(more[i]));
	}
}

TEST(a_stopped_file_goes_on_answering)
{
	struct hwheel_info before, after;
	struct hwheel_event event = { 0 };
	int fd = open_own();
	__u64 id;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_info(fd, &before));
	ASSERT_EQ(0, arm(fd, NEVER, 7, &id));
	ASSERT_EQ(1, stop(fd));
	EXPECT_EQ(0, stop(fd));
	EXPECT_EQ(-ESHUTDOWN, arm(fd, 0, 0, NULL));
	EXPECT_EQ(-ENOENT, refresh(fd, id, 0));
	EXPECT_EQ(0, get_info(fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_EQ(sizeof(event), read(fd, &event, sizeof(event)));
	EXPECT_EQ(7, event.cookie);
	EXPECT_EQ(HWHEEL_EVENT_STOPPED, event.type);
	EXPECT_EQ(0, read(fd, &event, sizeof(event)));
	EXPECT_EQ(0, close(fd));
}

TEST_HARNESS_MAIN
