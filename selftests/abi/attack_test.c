// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users who attack others by what they arm: with crowds that wait for their events, with very many
 * timeouts at a time, with many mapped files, and with wheels whose workers never rest.
 */
#include "victim.h"

#define MAX_ATTACKERS	4
#define MAX_FILES	512

#define EDGE_NS		(10 * MSEC)

/**
 * struct attack - what attackers do
 * @run:   in each of their processes: sets up, reports that, and goes on for ever
 * @nr:    so many processes
 * @files: so many files each
 * @dups:  file descriptors of each of them
 */
struct attack {
	int		(*run)(const struct attack *attack, unsigned long *done);
	unsigned int	nr;
	unsigned int	files;
	unsigned int	dups;
};

/* The crowds: so many epoll instances watch each descriptor of each file. */

#define EPOLLS	256

/**
 * struct crowd - files, and what waits for them
 * @fds:    their descriptors, those of a file side by side
 * @nr:     how many
 * @epolls: what watches all of them
 */
struct crowd {
	int		fds[2 * MAX_FILES];
	unsigned int	nr;
	int		epolls[EPOLLS];
};

static int watch_all(const struct crowd *crowd, int epoll)
{
	struct epoll_event event = { .events = EPOLLIN };
	unsigned int i;

	for (i = 0; i < crowd->nr; i++)
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, crowd->fds[i], &event))
			return -errno;
	return 0;
}

static int begin_crowd(struct crowd *crowd, const struct attack *attack)
{
	unsigned int i;
	int ret = 0;

	*crowd = (struct crowd){ 0 };
	for (; crowd->nr < attack->files * attack->dups; crowd->nr++) {
		int *fd = &crowd->fds[crowd->nr];

		*fd = crowd->nr % attack->dups ? dup(fd[-1]) : open_device(O_NONBLOCK);
		if (*fd < 0)
			return -errno;
	}
	for (i = 0; !ret && i < EPOLLS; i++) {
		crowd->epolls[i] = epoll_create1(0);
		/* Beyond the kernel's limit for a user it is as large as it may be. */
		ret = crowd->epolls[i] < 0 ? -errno : watch_all(crowd, crowd->epolls[i]);
		ret = ret == -ENOSPC ? 0 : ret;
	}
	return ret;
}

/* The files come first. */
static void end_crowd(struct crowd *crowd)
{
	unsigned int i;

	while (crowd->nr)
		close(crowd->fds[--crowd->nr]);
	for (i = 0; i < EPOLLS; i++)
		close(crowd->epolls[i]);
}

#define BURST	20
#define EDGES	3
#define ROUNDS	100

/* Reads what has expired on a file, and arms some for each of the next edges. */
static int feed_file(int fd, unsigned int burst, unsigned long *done)
{
	struct hwheel_event events[BURST];
	int got = read_events(fd, events, BURST), ret = 0;
	unsigned int i;

	if (got > 0)
		__atomic_add_fetch(done, got, __ATOMIC_RELAXED);
	for (i = 0; !ret && i < burst; i++)
		ret = arm(fd, i % EDGES * EDGE_NS, i, NULL);
	return ret == -ENOSPC ? 0 : ret;
}

/* Closes all files now and then: nothing of it may be left over. */
static int with_crowds(const struct attack *attack, unsigned long *done)
{
	unsigned int n, i;
	struct crowd crowd;
	int ret;

	do {
		ret = begin_crowd(&crowd, attack);
		for (n = 0; !ret && n < ROUNDS; n++) {
			for (i = 0; !ret && i < crowd.nr; i += attack->dups)
				ret = feed_file(crowd.fds[i], BURST / attack->files + EDGES, done);
			poll(NULL, 0, EDGE_NS / MSEC / 2);
		}
		end_crowd(&crowd);
	} while (!ret);
	return ret;
}

/* Many timeouts */

#define FLOOD		65536
#define FLOOD_NS	(100 * MSEC)
#define HOUR		(3600 * SEC)

/* @nr of them, each @step later, or as many as the account may have, or the file */
static int flood_file(int fd, __u64 deadline, __u64 step, unsigned int nr)
{
	static struct hwheel_op ops[HWHEEL_SUBMIT_MAX];
	unsigned int n, i;
	int ret = 0;

	for (n = 0; ret >= 0 && n < nr; n += HWHEEL_SUBMIT_MAX) {
		for (i = 0; i < HWHEEL_SUBMIT_MAX; i++)
			ops[i] = (struct hwheel_op){
				.op = HWHEEL_OP_ARM,
				.flags = HWHEEL_ABSOLUTE,
				.time_ns = deadline + (n + i) * step,
			};
		ret = submit(fd, ops, HWHEEL_SUBMIT_MAX);
		if (ret < HWHEEL_SUBMIT_MAX || ops[i - 1].result)
			break;
	}
	return ret < 0 && ret != -ENOSPC ? ret : 0;
}

/* Half of them expire at one edge, half are far away and are ended by closing the files. */
static int with_floods(const struct attack *attack, unsigned long *done)
{
	int fds[MAX_FILES], ret = 0;
	__u64 deadline;
	unsigned int i;

	while (!ret) {
		deadline = now_ns() + FLOOD_NS;
		for (i = 0; !ret && i < attack->files; i++) {
			fds[i] = open_device(O_NONBLOCK);
			ret = fds[i] < 0 ? fds[i] : flood_file(fds[i], deadline + i % 2 * HOUR, 0,
							       FLOOD);
		}
		if (!ret && readable(fds[0], WAIT_MS) == 1)
			__atomic_add_fetch(done, 1, __ATOMIC_RELAXED);
		while (i)
			close(fds[--i]);
	}
	return ret;
}

/* Mapped files */

#define RECORDS	512

static int with_mapped_files(const struct attack *attack, unsigned long *done)
{
	struct map maps[MAX_FILES];
	struct map_event events[RECORDS];
	unsigned int i, record;
	int ret = 0;

	for (i = 0; !ret && i < attack->files; i++)
		ret = map_open_shared(&maps[i], RECORDS, 1);
	for (i = 0; !ret; i = (i + 1) % attack->files) {
		/* Those that are pending are refused. */
		for (record = 0; record < RECORDS; record++)
			map_arm_in(&maps[i], 0, record, record % EDGES * EDGE_NS);
		if (map_reap(&maps[i], events, RECORDS) > 0)
			__atomic_add_fetch(done, 1, __ATOMIC_RELAXED);
	}
	return ret;
}

/* Wheels */

#define VISITED	8192

/* One of a wheel's timeouts expires at every other tick, and all are in the slot that is due. */
static int with_wheels(const struct attack *attack, unsigned long *done)
{
	const struct hwheel_config config = {
		.kind = HWHEEL_KIND_HASHED, .tick_ns = MSEC, .slots = 1, .clock = CLOCK_MONOTONIC,
	};
	unsigned int i;
	int fd;

	for (i = 0; i < attack->files; i++) {
		fd = open_configured(O_NONBLOCK, &config);
		if (fd < 0)
			return fd;
		if (flood_file(fd, now_ns(), 2 * MSEC, VISITED))
			return -EPROTO;
	}
	__atomic_store_n(done, 1, __ATOMIC_RELAXED);
	pause();
	return 0;
}

FIXTURE(attack)
{
	struct victim	*victim;
	unsigned long	*done;
	pid_t		pids[MAX_ATTACKERS];
	long		users;
};

FIXTURE_VARIANT(attack)
{
	struct attack	attack;
};

FIXTURE_VARIANT_ADD(attack, crowds_of_a_file) {
	.attack = { .run = with_crowds, .nr = 2, .files = 1, .dups = 2 * MAX_FILES },
};

FIXTURE_VARIANT_ADD(attack, crowds_of_many_files) {
	.attack = { .run = with_crowds, .nr = 2, .files = MAX_FILES, .dups = 1 },
};

FIXTURE_VARIANT_ADD(attack, floods) {
	.attack = { .run = with_floods, .nr = 2, .files = 24 },
};

FIXTURE_VARIANT_ADD(attack, mapped_files) {
	.attack = { .run = with_mapped_files, .nr = 4, .files = 64 },
};

FIXTURE_VARIANT_ADD(attack, wheels) {
	.attack = { .run = with_wheels, .nr = 1, .files = 16 },
};

static int allow_files(void)
{
	struct rlimit limit = { 4 * MAX_FILES, 4 * MAX_FILES };

	return setrlimit(RLIMIT_NOFILE, &limit) ? -errno : 0;
}

FIXTURE_SETUP(attack)
{
	if (geteuid())
		SKIP(return, "needs root, to be several users");
	if (allow_files())
		SKIP(return, "needs RLIMIT_NOFILE");
	if (variant->attack.run == with_mapped_files && !map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	self->users = users_of_module();
	self->victim = map_shared(sizeof(*self->victim));
	self->done = map_shared(MAX_ATTACKERS * sizeof(*self->done));
	ASSERT_NE(NULL, self->victim);
	ASSERT_NE(NULL, self->done);
}

FIXTURE_TEARDOWN(attack)
{
	int i;

	for (i = 0; i < MAX_ATTACKERS; i++)
		kill_attacker(&self->pids[i]);
	EXPECT_EQ(0, await_users(self->users));
}

/* Returns when each has done something to the victim; -ECHILD if one has ended. */
static int begin_attack(const struct attack *attack, enum account victim, pid_t *pids,
			unsigned long *done)
{
	siginfo_t ended = { .si_pid = 0 };
	unsigned int i;

	for (i = 0; i < attack->nr; i++) {
		done[i] = 0;
		pids[i] = START_CHILD(become_attacker(victim, i) ?: attack->run(attack, &done[i]));
	}
	for (i = 0; i < attack->nr; i++)
		while (!__atomic_load_n(&done[i], __ATOMIC_RELAXED)) {
			if (waitid(P_PID, pids[i], &ended, WEXITED | WNOHANG | WNOWAIT) ||
			    ended.si_pid)
				return -ECHILD;
			poll(NULL, 0, 1);
		}
	return 0;
}

TEST_F(attack, delays_no_other_user)
{
	ASSERT_EQ(0, begin_attack(&variant->attack, A_USER, self->pids, self->done));
	ASSERT_EQ(0, measure_victim(A_USER, self->victim));
	show_victim(_metadata, self->victim);
	EXPECT_TRUE(is_unharmed(self->victim));
}

TEST_F(attack, delays_no_other_cgroup_of_root)
{
	if (mount_cgroups())
		SKIP(return, "no cgroup v2 here");
	ASSERT_EQ(0, begin_attack(&variant->attack, A_CGROUP, self->pids, self->done));
	EXPECT_EQ(0, measure_victim(A_CGROUP, self->victim));
	EXPECT_EQ(0, unmount_cgroups());
	show_victim(_metadata, self->victim);
	EXPECT_TRUE(is_unharmed(self->victim));
}

TEST_F(attack, delays_no_container)
{
	if (IN_CHILD(enter_namespace()))
		SKIP(return, "no user namespaces here");
	ASSERT_EQ(0, begin_attack(&variant->attack, A_NAMESPACE, self->pids, self->done));
	ASSERT_EQ(0, measure_victim(A_NAMESPACE, self->victim));
	show_victim(_metadata, self->victim);
	EXPECT_TRUE(is_unharmed(self->victim));
}

/* The CPU time of a process of another user that computes on one CPU, for some time, in ns */
#define HOG_NS	(2 * SEC)

static int compute(__u64 *ran)
{
	cpu_set_t cpus;
	__u64 end = now_ns() + HOG_NS;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return -errno;
	while (now_ns() < end)
		;
	*ran = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return 0;
}

/* A plain process beside it takes half of the CPU; the workers of an account no more. */
TEST_F(attack, leaves_others_their_share)
{
	__u64 *ran = map_shared(3 * sizeof(*ran));
	pid_t beside;

	ASSERT_NE(NULL, ran);
	beside = START_CHILD(enter(A_USER, true, 1) ?: compute(&ran[0]));
	ASSERT_EQ(0, IN_CHILD(enter(A_USER, true, 0) ?: compute(&ran[1])));
	ASSERT_EQ(0, reap(beside));
	ASSERT_EQ(0, begin_attack(&variant->attack, A_USER, self->pids, self->done));
	ASSERT_EQ(0, IN_CHILD(enter(A_USER, true, 0) ?: compute(&ran[2])));
	TH_LOG("%llu %% of a CPU, beside a process %llu %%", ran[2] * 100 / HOG_NS,
	       ran[1] * 100 / HOG_NS);
	EXPECT_LE(ran[1] / 2, ran[2]);
}

/* Whoever waits in a crowd is woken, too. */
static void *wait_for_event(void *data)
{
	struct pollfd pfd = { .fd = *(int *)data, .events = POLLIN };

	return (void *)(intptr_t)poll(&pfd, 1, WAIT_MS);
}

TEST(crowds_are_woken)
{
	const struct attack attack = { .files = 2, .dups = MAX_FILES };
	struct crowd crowd;
	pthread_t waiters[2];
	void *ret;
	int i;

	if (allow_files())
		SKIP(return, "needs RLIMIT_NOFILE");
	ASSERT_EQ(0, begin_crowd(&crowd, &attack));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&waiters[i], NULL, wait_for_event, &crowd.fds[0]));
	EXPECT_EQ(0, arm(crowd.fds[0], 0, 0, NULL));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, pthread_join(waiters[i], &ret));
		EXPECT_EQ(1, (intptr_t)ret);
	}
	EXPECT_EQ(1, readable(crowd.epolls[0], WAIT_MS));
	end_crowd(&crowd);
}

TEST_HARNESS_MAIN
