// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one program can cost the others: their lateness, while it has crowds that wait for
 * its events; and their place, while it fills its file or takes wheels.
 */

#include "threads.h"

#include <linux/capability.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define HOUR		(3600 * SEC)
#define MAX_TIMEOUTS	100

/* The crowds */

#define ATTACKERS	3
#define CROWD		65536
#define MAX_FILES	512
#define BURST		100
#define SAMPLES		51

/**
 * struct attacker - a thread that waits for its files' events many times over
 * @thread: itself
 * @fds:    its files
 * @files:  how many
 * @stop:   is it to end?
 * @polls:  how often it has waited
 * @fired:  events of the files
 */
struct attacker {
	pthread_t	thread;
	int		fds[MAX_FILES];
	unsigned int	files;
	bool		stop;
	unsigned long	polls;
	unsigned long	fired;
};

/* One poll() is as many waiters as its array has entries, and these want no events. */
static void *attack(void *data)
{
	struct pollfd *crowd = calloc(CROWD, sizeof(*crowd));
	struct attacker *attacker = data;
	size_t i;

	for (i = 0; crowd && i < CROWD; i++)
		crowd[i].fd = attacker->fds[i % attacker->files];
	while (crowd && !__atomic_load_n(&attacker->stop, __ATOMIC_RELAXED)) {
		if (poll(crowd, CROWD, 100) < 0)
			break;
		__atomic_add_fetch(&attacker->polls, 1, __ATOMIC_RELAXED);
	}
	free(crowd);
	return NULL;
}

/* Reads what has fired on a file, and has some fire soon. */
static int feed_file(struct attacker *attacker, int fd)
{
	struct hwheel_event events[BURST];
	int got, i, ret = 0;

	got = read_events(fd, events, BURST);
	if (got > 0)
		attacker->fired += got;
	for (i = 0; !ret && i < BURST / attacker->files + 1; i++)
		ret = arm(fd, 0, i, NULL);
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

static int compare_u64(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * How late timeouts fire and are seen: medians, as a machine may stand still now and then.
 * When a program sees an event depends on what CPU time the others leave it, so that is told
 * only.
 */
struct lateness {
	__u64	fired;
	__u64	seen;
};

static __u64 median_of(__u64 *samples)
{
	qsort(samples, SAMPLES, sizeof(*samples), compare_u64);
	return samples[SAMPLES / 2];
}

/* While @attackers are fed */
static int measure(int fd, struct attacker *attackers, size_t nr, struct lateness *lateness)
{
	__u64 fired[SAMPLES], seen[SAMPLES];
	struct hwheel_event event;
	size_t i, k;
	int ret = 0;

	for (i = 0; !ret && i < SAMPLES; i++) {
		for (k = 0; !ret && k < nr; k++)
			ret = feed(&attackers[k]);
		ret = ret ?: arm(fd, 20 * MSEC, i, NULL) ?: next_event(fd, &event);
		fired[i] = event.fired_ns - event.deadline_ns;
		seen[i] = now_ns() - event.deadline_ns;
	}
	lateness->fired = median_of(fired);
	lateness->seen = median_of(seen);
	return ret;
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

static int begin_attack(struct attacker *attacker, unsigned int files)
{
	for (; attacker->files < files; attacker->files++) {
		int fd = open_device(O_NONBLOCK);

		if (fd < 0)
			return fd;
		attacker->fds[attacker->files] = fd;
	}
	return -pthread_create(&attacker->thread, NULL, attack, attacker);
}

static void end_attack(struct attacker *attacker)
{
	__atomic_store_n(&attacker->stop, true, __ATOMIC_RELAXED);
	pthread_join(attacker->thread, NULL);
	while (attacker->files)
		close(attacker->fds[--attacker->files]);
}

FIXTURE(crowds)
{
};

/* As many as the worker wakes, of many files; or all of one */
FIXTURE_VARIANT(crowds)
{
	unsigned int	files;
};

FIXTURE_VARIANT_ADD(crowds, of_a_file) { .files = 1 };
FIXTURE_VARIANT_ADD(crowds, of_many_files) { .files = MAX_FILES };

FIXTURE_SETUP(crowds)
{
}

FIXTURE_TEARDOWN(crowds)
{
}

TEST_F(crowds, delay_nobody_else)
{
	struct attacker attackers[ATTACKERS] = { 0 };
	struct lateness alone, beside;
	struct hwheel_info info;
	int victim, i;

	if (allow_files(CROWD))
		SKIP(return, "needs RLIMIT_NOFILE");
	victim = open_device(O_NONBLOCK);
	ASSERT_LE(0, victim);
	ASSERT_EQ(0, get_info(victim, &info));
	ASSERT_EQ(0, measure(victim, NULL, 0, &alone));

	for (i = 0; i < ATTACKERS; i++)
		ASSERT_EQ(0, begin_attack(&attackers[i], variant->files));
	ASSERT_EQ(0, measure(victim, attackers, ATTACKERS, &beside));
	for (i = 0; i < ATTACKERS; i++) {
		end_attack(&attackers[i]);
		EXPECT_LT(0, attackers[i].fired);
		EXPECT_LT(0, attackers[i].polls);
	}
	EXPECT_LE(beside.fired, alone.fired + 2 * info.tick_ns);
	TH_LOG("median: fired %llu us late, alone %llu; seen %llu, alone %llu",
	       beside.fired / 1000, alone.fired / 1000, beside.seen / 1000, alone.seen / 1000);
	EXPECT_EQ(0, close(victim));
}

/* Two threads of a crowd wait for something that does come. */
static void *wait_for_event(void *data)
{
	struct pollfd pfd = { .fd = *(int *)data, .events = POLLIN };

	return (void *)(intptr_t)poll(&pfd, 1, WAIT_MS);
}

TEST_F(crowds, are_woken)
{
	struct attacker attacker = { 0 };
	pthread_t waiters[2];
	void *ret;
	int i;

	if (allow_files(CROWD))
		SKIP(return, "needs RLIMIT_NOFILE");
	ASSERT_EQ(0, begin_attack(&attacker, variant->files));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&waiters[i], NULL, wait_for_event,
					    &attacker.fds[0]));
	EXPECT_EQ(0, arm(attacker.fds[0], 0, 0, NULL));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, pthread_join(waiters[i], &ret));
		EXPECT_EQ(1, (intptr_t)ret);
	}
	end_attack(&attacker);
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

/* A parameter of the module: as @otherwise if it can't be read. */
static unsigned int parameter(const char *name, unsigned int otherwise)
{
	unsigned int value;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/hwheel/parameters/%s", name);
	file = fopen(path, "r");
	if (!file)
		return otherwise;
	if (fscanf(file, "%u", &value) != 1)
		value = otherwise;
	fclose(file);
	return value;
}

/* Of this thread */
static int drop_sys_resource(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static int open_own(void)
{
	struct hwheel_config config = {
		.slots = 64, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	int fd = open_device(O_NONBLOCK), ret;

	if (fd < 0)
		return fd;
	ret = configure(fd, &config);
	if (ret)
		close(fd);
	return ret ?: fd;
}

#define MAX_WHEELS	512

TEST(a_user_has_some_of_the_wheels)
{
	unsigned int limit = parameter("max_user_wheels", 16), i;
	int fds[MAX_WHEELS];

	if (limit >= MAX_WHEELS || limit >= parameter("max_wheels", 64))
		SKIP(return, "the limit is too large to try");
	ASSERT_EQ(0, drop_sys_resource());
	for (i = 0; i < limit; i++) {
		fds[i] = open_own();
		ASSERT_LE(0, fds[i]);
	}
	EXPECT_EQ(-ENOSPC, open_own());
	if (limit) {
		close(fds[--limit]);
		fds[limit] = open_own();
		EXPECT_LE(0, fds[limit++]);
	}
	for (i = 0; i < limit; i++)
		EXPECT_EQ(0, close(fds[i]));
}

/* The thread and the place of a wheel are free as soon as nothing is pending there. */
TEST(a_stopped_file_gives_its_wheel_back)
{
	unsigned int limit = parameter("max_wheels", 64), i;
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
