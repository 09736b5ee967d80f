// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounts: whose files share a default wheel and its worker, from the first ARM, SET or MAP until
 * a while after the last file was closed.
 */
#include "accounts.h"
#include "share.h"
#include "threads.h"

#include <pthread.h>

#define USER		4500
#define SUBORDINATE	450000
#define SUBORDINATES	1000
#define GROUP		HIERARCHY "/hwheel_account_test"

/* An operation that a file may begin with, which starts the worker; 0 or a negative errno */
typedef int begin_fn(int fd);

static int begin_by_arm(int fd)
{
	return arm(fd, NEVER, 0, NULL);
}

static int begin_by_set(int fd)
{
	__u64 id = 0;

	return set(fd, &id, NEVER, 0);
}

static int begin_by_batch(int fd)
{
	struct hwheel_op op = { .op = HWHEEL_OP_SET, .time_ns = NEVER };

	return submit(fd, &op, 1) == 1 ? op.result : -EPROTO;
}

static int begin_by_map(int fd)
{
	struct hwheel_map map = { .records = 1, .lists = 1 };

	return call(fd, HWHEEL_IOC_MAP, &map);
}

/**
 * struct holder - a process that holds a worker
 * @begin: by this
 * @pid:   the process
 * @step:  it goes on when this is written to
 * @done:  it writes to this when it is in its namespace, and when it has begun
 */
struct holder {
	begin_fn	*begin;
	pid_t		pid;
	int		step[2];
	int		done[2];
};

static int take_step(const struct holder *holder)
{
	char byte;

	if (write(holder->done[1], "", 1) != 1 || read(holder->step[0], &byte, 1) != 1)
		return -EPROTO;
	return 0;
}

static int hold(const struct holder *holder)
{
	int fd = open_device(O_NONBLOCK);

	if (fd < 0)
		return fd;
	return holder->begin(fd) ?: take_step(holder);
}

/* As @maker in a new user namespace there, which has @uid within */
static int hold_within(const struct holder *holder, uid_t maker, uid_t uid)
{
	int err = become(maker);

	if (!err && unshare(CLONE_NEWUSER))
		err = -errno;
	return err ?: take_step(holder) ?: become(uid) ?: hold(holder);
}

static int init_holder(struct holder *holder)
{
	return pipe(holder->step) || pipe(holder->done) ? -errno : 0;
}

/* Until the process has written; -EPROTO if it has ended. */
static int await_step(struct holder *holder)
{
	char byte;

	close(holder->done[1]);
	holder->done[1] = -1;
	return read(holder->done[0], &byte, 1) == 1 ? 0 : -EPROTO;
}

static int go_on(struct holder *holder)
{
	return write(holder->step[1], "", 1) == 1 ? 0 : -errno;
}

static int hold_as(struct holder *holder, uid_t uid)
{
	int err = init_holder(holder);

	if (err)
		return err;
	holder->pid = START_CHILD(become(uid) ?: hold(holder));
	return await_step(holder);
}

static int hold_in(struct holder *holder, const char *group)
{
	int err = init_holder(holder);

	if (err)
		return err;
	holder->pid = START_CHILD(join(group) ?: hold(holder));
	return await_step(holder);
}

/* Returns -EPROTO if there are no user namespaces here. */
static int hold_in_namespace(struct holder *holder, uid_t maker, uid_t uid)
{
	char path[64], map[64];
	int err = init_holder(holder);

	if (err)
		return err;
	holder->pid = START_CHILD(hold_within(holder, maker, uid));
	err = await_step(holder);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", holder->pid);
	snprintf(map, sizeof(map), "0 %d %d\n", SUBORDINATE, SUBORDINATES);
	err = write_text(path, map) ?: go_on(holder);
	return err ?: await_step(holder);
}

static int release(struct holder *holder)
{
	int err = go_on(holder);

	close(holder->step[0]);
	close(holder->step[1]);
	close(holder->done[0]);
	return err ?: reap(holder->pid);
}

static int count_workers(const char *pattern)
{
	return count_threads("/proc", pattern);
}

#define HOLDERS	3

FIXTURE(accounts) {
	struct holder	holders[HOLDERS];
};

FIXTURE_VARIANT(accounts) {
	begin_fn	*begin;
};

FIXTURE_VARIANT_ADD(accounts, arm) {
	.begin = begin_by_arm,
};

FIXTURE_VARIANT_ADD(accounts, set) {
	.begin = begin_by_set,
};

FIXTURE_VARIANT_ADD(accounts, batch) {
	.begin = begin_by_batch,
};

FIXTURE_VARIANT_ADD(accounts, map) {
	.begin = begin_by_map,
};

FIXTURE_SETUP(accounts)
{
	int i;

	if (geteuid())
		SKIP(return, "needs root, to be several users");
	for (i = 0; i < HOLDERS; i++)
		self->holders[i].begin = variant->begin;
	ASSERT_EQ(0, chmod("/dev/hwheel", 0666));
}

FIXTURE_TEARDOWN(accounts)
{
	EXPECT_EQ(0, chmod("/dev/hwheel", 0600));
}

TEST_F(accounts, users_have_a_worker_each)
{
	ASSERT_EQ(0, await_threads("hwheel/u450?", 0));
	ASSERT_EQ(0, hold_as(&self->holders[0], USER));
	ASSERT_EQ(0, hold_as(&self->holders[1], USER));
	ASSERT_EQ(0, hold_as(&self->holders[2], USER + 1));
	EXPECT_EQ(1, count_workers("hwheel/u4500"));
	EXPECT_EQ(1, count_workers("hwheel/u4501"));
	EXPECT_EQ(0, release(&self->holders[0]));
	EXPECT_EQ(0, release(&self->holders[2]));
	EXPECT_EQ(0, await_threads("hwheel/u4501", 0));
	EXPECT_EQ(1, count_workers("hwheel/u4500"));
	EXPECT_EQ(0, release(&self->holders[1]));
	EXPECT_EQ(0, await_threads("hwheel/u4500", 0));
}

/* Whoever only looks costs no thread, and what INFO says of the wheel holds when there is one. */
static int looks(begin_fn *begin)
{
	struct hwheel_info before, after;
	struct hwheel_op op;
	int fd = open_device(O_NONBLOCK), err;

	if (fd < 0)
		return fd;
	err = get_info(fd, &before);
	if (!err && (refresh(fd, 1, 0) != -ENOENT || cancel(fd, 1) != -ENOENT ||
		     query(fd, 1, 0, &op) != -ENOENT || readable(fd, 0)))
		err = -EPROTO;
	if (!err && count_workers("hwheel/u4502"))
		err = -EEXIST;
	err = err ?: begin(fd) ?: get_info(fd, &after);
	if (!err && memcmp(&before, &after, sizeof(before)))
		err = -EDOM;
	if (!err && count_workers("hwheel/u4502") != 1)
		err = -ESRCH;
	return err ?: stop(fd) < 0 ? -EPROTO : close(fd);
}

TEST_F(accounts, the_first_timeout_starts_the_worker)
{
	ASSERT_EQ(0, await_threads("hwheel/u4502", 0));
	EXPECT_EQ(0, IN_CHILD(become(USER + 2) ?: looks(variant->begin)));
	EXPECT_EQ(0, await_threads("hwheel/u4502", 0));
}

/* A STOP and a close without a timeout end no worker, as there is none. */
static int stops(begin_fn *begin)
{
	int fd = open_device(O_NONBLOCK);
	struct hwheel_event event;

	if (fd < 0)
		return fd;
	if (stop(fd) || begin(fd) != -ESHUTDOWN || read(fd, &event, sizeof(event)))
		return -EPROTO;
	return count_workers("hwheel/u4502") ? -EEXIST : close(fd);
}

TEST_F(accounts, a_stopped_file_starts_none)
{
	ASSERT_EQ(0, await_threads("hwheel/u4502", 0));
	EXPECT_EQ(0, IN_CHILD(become(USER + 2) ?: stops(variant->begin)));
	EXPECT_EQ(0, count_workers("hwheel/u4502"));
}

#define RACERS	8

struct race {
	begin_fn		*begin;
	pthread_barrier_t	*start;
	int			fd;
};

static void *begin_one(void *data)
{
	struct race *race = data;

	pthread_barrier_wait(race->start);
	return (void *)(long)race->begin(race->fd);
}

/* Threads that begin at once, on one file or on one each, get one wheel. */
static int race_to_begin(begin_fn *begin, bool one_file)
{
	struct race races[RACERS];
	pthread_t threads[RACERS];
	pthread_barrier_t start;
	int i, ret = 0;
	void *err;

	pthread_barrier_init(&start, NULL, RACERS);
	for (i = 0; i < RACERS; i++) {
		races[i].begin = begin;
		races[i].start = &start;
		races[i].fd = i && one_file ? races[0].fd : open_device(O_NONBLOCK);
	}
	for (i = 0; i < RACERS; i++)
		if (pthread_create(&threads[i], NULL, begin_one, &races[i]))
			return -EPROTO;
	for (i = 0; i < RACERS; i++) {
		pthread_join(threads[i], &err);
		ret = ret ?: (long)err;
	}
	return ret ?: count_workers("hwheel/u4503") == 1 ? 0 : -EPROTO;
}

TEST_F(accounts, a_race_makes_one_wheel)
{
	EXPECT_EQ(0, IN_CHILD(become(USER + 3) ?: race_to_begin(variant->begin, true)));
	ASSERT_EQ(0, await_threads("hwheel/u4503", 0));
	EXPECT_EQ(0, IN_CHILD(become(USER + 3) ?: race_to_begin(variant->begin, false)));
}

TEST_F(accounts, subordinate_uids_are_the_users)
{
	ASSERT_EQ(0, await_threads("hwheel/[nu]4*", 0));
	if (hold_in_namespace(&self->holders[0], USER, 5))
		SKIP(return, "users may not have namespaces here");
	ASSERT_EQ(0, hold_in_namespace(&self->holders[1], USER, 6));
	ASSERT_EQ(0, hold_as(&self->holders[2], USER));
	EXPECT_EQ(1, count_workers("hwheel/u4500"));
	EXPECT_EQ(1, count_workers("hwheel/[nu]4*"));
	EXPECT_EQ(0, release(&self->holders[0]));
	EXPECT_EQ(0, release(&self->holders[1]));
	EXPECT_EQ(0, release(&self->holders[2]));
}

/* A namespace that root has made is a container. */
TEST_F(accounts, containers_of_root_are_accounts)
{
	ASSERT_EQ(0, await_threads("hwheel/n*", 0));
	if (hold_in_namespace(&self->holders[0], 0, 5))
		SKIP(return, "no user namespaces here");
	ASSERT_EQ(0, hold_in_namespace(&self->holders[1], 0, 5));
	EXPECT_EQ(2, count_workers("hwheel/n*"));
	EXPECT_EQ(0, release(&self->holders[0]));
	EXPECT_EQ(0, await_threads("hwheel/n*", 1));
	EXPECT_EQ(0, release(&self->holders[1]));
	EXPECT_EQ(0, await_threads("hwheel/n*", 0));
}

TEST_F(accounts, root_has_one_for_each_cgroup)
{
	if (mount_cgroups())
		SKIP(return, "no cgroup v2 here");
	ASSERT_EQ(0, await_threads("hwheel/u0", 0));
	ASSERT_EQ(0, hold_as(&self->holders[0], 0));
	ASSERT_EQ(0, hold_in(&self->holders[1], GROUP));
	ASSERT_EQ(0, hold_in(&self->holders[2], GROUP));
	EXPECT_EQ(2, count_workers("hwheel/u0"));
	EXPECT_EQ(0, release(&self->holders[0]));
	EXPECT_EQ(0, release(&self->holders[1]));
	EXPECT_EQ(0, await_threads("hwheel/u0", 1));
	EXPECT_EQ(0, release(&self->holders[2]));
	EXPECT_EQ(0, await_threads("hwheel/u0", 0));
	EXPECT_EQ(0, rmdir(GROUP));
	EXPECT_EQ(0, unmount_cgroups());
}

TEST_HARNESS_MAIN
