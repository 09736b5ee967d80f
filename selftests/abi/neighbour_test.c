// SPDX-License-Identifier: GPL-2.0-only
/* The place that one program can cost others, while it fills its file or takes wheels */

#include "common.h"
#include "threads.h"

#include <sys/stat.h>
#include <sys/wait.h>

#define HOUR		(3600 * SEC)
#define MAX_TIMEOUTS	100

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
