// SPDX-License-Identifier: GPL-2.0-only
/*
 * CONFIG: what a file's wheel may be like, when it may be chosen, how many there may be,
 * and that none of them ever fires early or disturbs another.
 */

#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#define HOUR		(3600 * SEC)
#define MILLION		1000000
#define LARGEST_SET	16777216

/* For tables: CONFIG has no default for the clock, and the kind says whose wheel it is. */
#define HASHED		HWHEEL_KIND_HASHED
#define HIERARCHICAL	HWHEEL_KIND_HIERARCHICAL
#define SIMPLE		HWHEEL_KIND_SIMPLE
#define MONO		CLOCK_MONOTONIC
#define BOOT		CLOCK_BOOTTIME

#define WORKER_SIZE	32

static const char *worker_of(char name[WORKER_SIZE], pid_t pid)
{
	snprintf(name, WORKER_SIZE, "hwheel/p%d", pid);
	return name;
}

/* Of wheels that @pid made */
static int count_workers(pid_t pid)
{
	char name[WORKER_SIZE];

	return count_threads("/proc", worker_of(name, pid));
}

static int await_workers(pid_t pid, int n)
{
	char name[WORKER_SIZE];

	return await_threads(worker_of(name, pid), n);
}

FIXTURE(config)
{
	int			fd;
	struct hwheel_info	shared;
};

FIXTURE_SETUP(config)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, get_info(self->fd, &self->shared));
}

FIXTURE_TEARDOWN(config)
{
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, await_workers(getpid(), 0));
}

/* 0 if the file can still be given another limit, and so has no wheel and no id. */
static int is_new(int fd, __u64 max)
{
	struct hwheel_config config = { .max_timeouts = max, .clock = CLOCK_MONOTONIC };

	return configure(fd, &config);
}

/* What INFO says of a file: a field that is 0 is as for the default wheel. */
static int compare_info(int fd, const struct hwheel_info *shared, struct hwheel_info want)
{
	struct hwheel_info info;
	int ret = get_info(fd, &info);

	if (ret)
		return ret;
	want.features = shared->features;
	want.max_submit = shared->max_submit;
	want.max_user_bytes = shared->max_user_bytes;
	want.tick_ns = want.tick_ns ?: shared->tick_ns;
	want.max_timeouts = want.max_timeouts ?: shared->max_timeouts;
	want.slots = want.slots ?: shared->slots;
	want.levels = want.levels ?: 1;
	want.kind = want.kind ?: HWHEEL_KIND_HASHED;
	want.clock = want.clock ?: CLOCK_MONOTONIC;
	return memcmp(&want, &info, sizeof(info)) ? -EPROTO : 0;
}

TEST_F(config, default_changes_nothing)
{
	struct hwheel_config config = { .clock = CLOCK_MONOTONIC };
	struct hwheel_info info;

	ASSERT_EQ(0, configure(self->fd, &config));
	ASSERT_EQ(0, get_info(self->fd, &info));
	EXPECT_EQ(0, memcmp(&self->shared, &info, sizeof(info)));
	EXPECT_EQ(0, info.own_wheel);
	EXPECT_EQ(0, count_workers(getpid()));
	EXPECT_EQ(0, is_new(self->fd, 1));
}

/* Each with what becomes of it; .own_wheel is implied, and what is 0 is default. */
static const struct accepted {
	struct hwheel_config	config;
	struct hwheel_info	info;
} accepted[] = {
	{ { .kind = HASHED, .clock = MONO, .tick_ns = 50000 }, { .tick_ns = 50000 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = 50001 }, { .tick_ns = 50008 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = 50007 }, { .tick_ns = 50008 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = 50008 }, { .tick_ns = 50008 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = (1ULL << 32) + 8 },
	  { .tick_ns = (1ULL << 32) + 8 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = HOUR - 7 }, { .tick_ns = HOUR } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = HOUR }, { .tick_ns = HOUR } },
	{ { .kind = HASHED, .clock = MONO, .slots = 1 }, { .slots = 1 } },
	{ { .kind = HASHED, .clock = MONO, .slots = 2 }, { .slots = 2 } },
	{ { .kind = HASHED, .clock = MONO, .slots = 3 }, { .slots = 4 } },
	{ { .kind = HASHED, .clock = MONO, .slots = 513 }, { .slots = 1024 } },
	{ { .kind = HASHED, .clock = MONO, .slots = 524289 }, { .slots = 1048576 } },
	{ { .kind = HASHED, .clock = MONO, .slots = 1048576 }, { .slots = 1048576 } },
	{ { .kind = HASHED, .clock = MONO }, { .clock = MONO } },
	{ { .kind = HASHED, .clock = BOOT }, { .clock = BOOT } },
	{ { .kind = SIMPLE, .clock = BOOT }, { .kind = SIMPLE, .clock = BOOT } },
	{ { .kind = HIERARCHICAL, .clock = MONO }, { .kind = HIERARCHICAL, .levels = 3 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = HOUR, .slots = 1048576 },
	  { .tick_ns = HOUR, .slots = 1048576 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = 50000, .max_timeouts = 1 },
	  { .tick_ns = 50000, .max_timeouts = 1 } },
	{ { .tick_ns = 60000, .slots = 100, .levels = 4, .kind = HIERARCHICAL, .clock = BOOT,
	    .max_timeouts = 7 },
	  { .tick_ns = 60000, .slots = 128, .levels = 4, .kind = HIERARCHICAL, .clock = BOOT,
	    .max_timeouts = 7 } },
	{ { .kind = HASHED, .clock = MONO, .turn_ns = 1 }, { .slots = 1 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = 10 * MSEC, .turn_ns = 30000 * MSEC },
	  { .tick_ns = 10 * MSEC, .slots = 4096 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = 10 * MSEC, .turn_ns = 163840 * MSEC },
	  { .tick_ns = 10 * MSEC, .slots = 16384 } },
	{ { .kind = HASHED, .clock = MONO, .tick_ns = 10 * MSEC, .turn_ns = 163840 * MSEC + 1 },
	  { .tick_ns = 10 * MSEC, .slots = 4096, .levels = 2, .kind = HIERARCHICAL } },
	{ { .kind = HASHED, .clock = BOOT, .tick_ns = 50000, .turn_ns = UINT64_MAX },
	  { .tick_ns = 50000, .slots = 4096, .levels = 5, .kind = HIERARCHICAL, .clock = BOOT } },
	{ { .kind = SIMPLE, .clock = MONO, .tick_ns = MSEC, .turn_ns = 1000 * MSEC },
	  { .tick_ns = MSEC, .slots = 1024, .kind = SIMPLE } },
	{ { .kind = SIMPLE, .clock = MONO, .tick_ns = MSEC, .turn_ns = 1048576 * MSEC },
	  { .tick_ns = MSEC, .slots = 1048576, .kind = SIMPLE } },
	/* Those that no deadline can reach: 2^63 ns are 2.4 turns of such a level. */
	{ { .tick_ns = HOUR, .slots = 1048576, .levels = 8, .kind = HIERARCHICAL, .clock = MONO },
	  { .tick_ns = HOUR, .slots = 1048576, .levels = 2, .kind = HIERARCHICAL } },
	/* And 2^47 ticks of 50 us, 2^20 at a time */
	{ { .tick_ns = 50000, .slots = 1048576, .levels = 8, .kind = HIERARCHICAL, .clock = MONO },
	  { .tick_ns = 50000, .slots = 1048576, .levels = 3, .kind = HIERARCHICAL } },
	/* A level of one slot spans no more than the one below. */
	{ { .slots = 1, .levels = 8, .kind = HIERARCHICAL, .clock = MONO },
	  { .slots = 1, .levels = 1, .kind = HASHED } },
};

/* Configures a file so, and compares it with what must become of it. */
static int try_accepted(const struct hwheel_info *shared, const struct accepted *accepted)
{
	struct hwheel_info want = accepted->info;
	int fd = open_device(O_NONBLOCK), ret;

	want.own_wheel = 1;
	ret = fd < 0 ? fd : configure(fd, &accepted->config);
	if (!ret)
		ret = compare_info(fd, shared, want);
	if (!ret && await_workers(getpid(), 1))
		ret = -ECHILD;
	close(fd);
	return ret;
}

TEST_F(config, accepts)
{
	__u64 limit = allow_bytes(UINT64_MAX);
	size_t i;

	self->shared.max_user_bytes = UINT64_MAX;
	for (i = 0; i < ARRAY_SIZE(accepted); i++)
		EXPECT_EQ(0, try_accepted(&self->shared, &accepted[i])) {
			TH_LOG("number %zu", i);
		}
	allow_bytes(limit);
}

static const struct hwheel_config refused[] = {
	{ .kind = HASHED, .clock = MONO, .tick_ns = 1 },
	{ .kind = HASHED, .clock = MONO, .tick_ns = 49999 },
	{ .kind = HASHED, .clock = MONO, .tick_ns = HOUR + 1 },
	{ .kind = HASHED, .clock = MONO, .tick_ns = 1ULL << 63 },
	{ .kind = HASHED, .clock = MONO, .tick_ns = UINT64_MAX },
	{ .clock = MONO, .max_timeouts = LARGEST_SET + 1 },
	{ .clock = MONO, .max_timeouts = (1ULL << 32) + 1 },
	{ .clock = MONO, .max_timeouts = UINT64_MAX },
	{ .kind = HASHED, .clock = MONO, .slots = 1048577 },
	{ .kind = HASHED, .clock = MONO, .slots = 1U << 31 },
	{ .kind = HASHED, .clock = MONO, .slots = (1U << 31) + 1 },
	{ .kind = HASHED, .clock = MONO, .slots = UINT32_MAX },
	{ .kind = HIERARCHICAL, .clock = MONO, .levels = 9 },
	{ .kind = HIERARCHICAL, .clock = MONO, .levels = 256 + 1 },
	{ .kind = HIERARCHICAL, .clock = MONO, .levels = UINT32_MAX },
	{ .clock = MONO, .kind = 4 },
	{ .clock = MONO, .kind = 256 + HASHED },
	{ .clock = MONO, .kind = UINT32_MAX },
	{ .kind = HASHED, .clock = MONO, .turn_ns = 1, .slots = 1 },
	{ .kind = HASHED, .clock = MONO, .turn_ns = 1, .levels = 1 },
	{ .kind = SIMPLE, .clock = MONO, .turn_ns = 1, .slots = 1 },
	{ .kind = SIMPLE, .clock = MONO, .tick_ns = MSEC, .turn_ns = 1048576 * MSEC + 1 },
	{ .kind = SIMPLE, .clock = MONO, .turn_ns = UINT64_MAX },
	{ .kind = HIERARCHICAL, .clock = MONO, .turn_ns = 1 },
	/* Nothing can be chosen on the default wheel. */
	{ .clock = MONO, .turn_ns = 1 },
	{ .clock = MONO, .flags = HWHEEL_CONFIG_NICE },
	{ .clock = MONO, .tick_ns = 10 * MSEC },
	{ .clock = MONO, .slots = 512 },
	{ .clock = MONO, .levels = 1 },
	{ .clock = BOOT },
};

/* CLOCK_REALTIME is 0: a program that gives no clock is refused as well. */
static const clockid_t refused_clocks[] = {
	CLOCK_REALTIME, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW,
	CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME_ALARM,
	CLOCK_BOOTTIME_ALARM, CLOCK_TAI, 256 + CLOCK_BOOTTIME, -1, INT_MAX, INT_MIN,
};

static int try_refused(int fd, const struct hwheel_config *config)
{
	struct hwheel_info before, after;
	int ret = get_info(fd, &before);

	if (!ret)
		ret = configure(fd, config);
	if (!ret || get_info(fd, &after))
		return -EPROTO;
	return memcmp(&before, &after, sizeof(after)) ? -EPROTO : ret;
}

TEST_F(config, refuses)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refused); i++)
		EXPECT_EQ(-EINVAL, try_refused(self->fd, &refused[i])) {
			TH_LOG("number %zu", i);
		}
	EXPECT_EQ(0, count_workers(getpid()));
	EXPECT_EQ(0, is_new(self->fd, 0));
}

/* With each kind, and where only the limit is wanted */
TEST_F(config, refuses_clocks)
{
	__u32 kind;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refused_clocks); i++)
		for (kind = HWHEEL_KIND_DEFAULT; kind <= HWHEEL_KIND_SIMPLE; kind++) {
			struct hwheel_config config = {
				.max_timeouts = 1, .kind = kind, .clock = refused_clocks[i],
			};

			EXPECT_EQ(-EINVAL, try_refused(self->fd, &config)) {
				TH_LOG("clock %d, kind %u", refused_clocks[i], kind);
			}
		}
	EXPECT_EQ(0, count_workers(getpid()));
	EXPECT_EQ(0, is_new(self->fd, 0));
}

/* Everything else is valid, and would make a wheel. */
TEST_F(config, refuses_what_is_reserved)
{
	struct hwheel_config config = {
		.kind = HWHEEL_KIND_HASHED, .tick_ns = 50000, .clock = CLOCK_MONOTONIC,
	};
	size_t i;
	int bit;

	for (bit = 0; bit < 32; bit++) {
		config.flags = 1U << bit;
		if (!(config.flags & (HWHEEL_CONFIG_NICE | HWHEEL_CONFIG_CPUS)))
			EXPECT_EQ(-EINVAL, try_refused(self->fd, &config));
	}
	config.flags = 0;
	for (i = 0; i < ARRAY_SIZE(config.reserved); i++)
		for (bit = 0; bit < 32; bit++) {
			config.reserved[i] = 1U << bit;
			EXPECT_EQ(-EINVAL, try_refused(self->fd, &config));
			config.reserved[i] = 0;
		}
	EXPECT_EQ(0, count_workers(getpid()));
	EXPECT_EQ(0, is_new(self->fd, 0));
}

/* Of the thread of the only wheel of this process's own: its niceness and its CPUs */
static int find_worker(int *nice, cpu_set_t *cpus)
{
	char name[WORKER_SIZE];
	pid_t pid = find_thread("/proc", worker_of(name, getpid()));

	if (pid < 0)
		return pid;
	errno = 0;
	*nice = getpriority(PRIO_PROCESS, pid);
	return errno || sched_getaffinity(pid, sizeof(*cpus), cpus) ? -errno : 0;
}

/* A child of its own, as its niceness and CPUs change */
static int takes_place(__u32 flags)
{
	struct hwheel_config config = {
		.kind = HASHED, .clock = MONO, .flags = flags,
	};
	cpu_set_t usual, own, cpus;
	int nice, err, fd;

	if (sched_getaffinity(0, sizeof(usual), &usual))
		return -errno;
	CPU_ZERO(&own);
	CPU_SET(0, &own);
	if (setpriority(PRIO_PROCESS, 0, 7) || sched_setaffinity(0, sizeof(own), &own))
		return -errno;
	fd = open_configured(O_NONBLOCK, &config);
	if (fd < 0)
		return fd;
	err = find_worker(&nice, &cpus);
	if (err)
		return err;
	if (nice != (flags & HWHEEL_CONFIG_NICE ? 7 : 0) ||
	    !CPU_EQUAL(&cpus, flags & HWHEEL_CONFIG_CPUS ? &own : &usual))
		return -EPROTO;
	return fire(fd, 3);
}

TEST_F(config, takes_its_place_from_the_caller)
{
	__u32 flags;

	for (flags = 0; flags <= (HWHEEL_CONFIG_NICE | HWHEEL_CONFIG_CPUS); flags++)
		EXPECT_EQ(0, IN_CHILD(takes_place(flags))) {
			TH_LOG("flags %u", flags);
		}
}

/* The levels that each kind becomes with 0, 1, 2 ... of them; -1 if it can't have so many. */
static const int levels_of[][10] = {
	[HWHEEL_KIND_HASHED]	   = {  1,  1, -1, -1, -1, -1, -1, -1, -1, -1 },
	[HWHEEL_KIND_HIERARCHICAL] = {  3, -1,  2,  3,  4,  5,  6,  7,  8, -1 },
	[HWHEEL_KIND_SIMPLE]	   = {  1,  1, -1, -1, -1, -1, -1, -1, -1, -1 },
};

/* With so few slots that all levels can be reached. */
static int try_kind(const struct hwheel_info *shared, __u32 kind, __u32 levels)
{
	struct accepted try = {
		.config = {
			.slots = 16, .kind = kind, .levels = levels, .clock = CLOCK_MONOTONIC,
		},
		.info = { .slots = 16, .kind = kind, .levels = levels_of[kind][levels] },
	};

	return try_accepted(shared, &try);
}

TEST_F(config, kinds_and_levels)
{
	__u32 kind, levels;

	for (kind = HWHEEL_KIND_HASHED; kind <= HWHEEL_KIND_SIMPLE; kind++)
		for (levels = 0; levels < 10; levels++)
			EXPECT_EQ(levels_of[kind][levels] < 0 ? -EINVAL : 0,
				  try_kind(&self->shared, kind, levels)) {
				TH_LOG("kind %u with %u levels", kind, levels);
			}
}

/* Nothing is wrong with these; it is the file that may not have them. */
static const struct hwheel_config valid[] = {
	{ .clock = MONO },
	{ .clock = MONO, .max_timeouts = 1 },
	{ .clock = MONO, .kind = HASHED, .tick_ns = 50000 },
	{ .slots = 8, .levels = 2, .kind = HIERARCHICAL, .clock = BOOT },
};

/* How many of the valid ones are not refused with that */
static int count_not_refused(int fd, int err)
{
	size_t i;
	int n = 0;

	for (i = 0; i < ARRAY_SIZE(valid); i++)
		n += try_refused(fd, &valid[i]) != err;
	return n;
}

TEST_F(config, refused_after_arm)
{
	struct hwheel_event ev;
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &id));
	EXPECT_EQ(0, count_not_refused(self->fd, -EBUSY));
	ASSERT_EQ(0, cancel(self->fd, id));
	EXPECT_EQ(0, count_not_refused(self->fd, -EBUSY));
	ASSERT_EQ(0, await_held(self->fd, 0));
	EXPECT_EQ(0, count_not_refused(self->fd, -EBUSY));
	ASSERT_EQ(0, arm(self->fd, 0, 1, &id));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(0, count_not_refused(self->fd, -EBUSY));
	EXPECT_EQ(0, count_workers(getpid()));
}

TEST_F(config, refused_after_batch)
{
	ASSERT_EQ(1, arm_batches(self->fd, 1));
	EXPECT_EQ(0, count_not_refused(self->fd, -EBUSY));
}

/* With the smallest set, whose one index is used over and over. */
TEST_F(config, refused_after_arm_in_a_set_of_one)
{
	struct hwheel_event ev;
	int i;

	ASSERT_EQ(0, is_new(self->fd, 1));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, arm(self->fd, 0, i, NULL));
		EXPECT_EQ(0, count_not_refused(self->fd, -EBUSY));
		ASSERT_EQ(0, next_event(self->fd, &ev));
		EXPECT_EQ(0, count_not_refused(self->fd, -EBUSY));
	}
}

/* What got no id was no arm; nor is what needs one that there never was. */
TEST_F(config, allowed_after_other_calls)
{
	struct hwheel_op bad[] = {
		{ .op = HWHEEL_OP_ARM, .flags = 2 },
		{ .op = HWHEEL_OP_ARM, .reserved = 1 },
		{ .op = HWHEEL_OP_CANCEL },
		{ .op = HWHEEL_OP_REFRESH, .id = 1ULL << 32 },
		{ .op = HWHEEL_OP_QUERY, .id = 1 },
		{ .op = 99 },
	};
	struct hwheel_config config = {
		.tick_ns = 50000, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	struct hwheel_event ev;

	EXPECT_EQ(-EINVAL, call(self->fd, HWHEEL_IOC_ARM, &bad[0]));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_ARM, NULL));
	EXPECT_EQ(-ENOENT, cancel(self->fd, 1ULL << 32));
	EXPECT_EQ(-ENOENT, refresh(self->fd, 1ULL << 32, 0));
	EXPECT_EQ(ARRAY_SIZE(bad), submit(self->fd, bad, ARRAY_SIZE(bad)));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));
	EXPECT_EQ(0, configure(self->fd, &config));
}

TEST_F(config, refused_with_a_wheel)
{
	struct hwheel_config config = {
		.tick_ns = 70000, .slots = 32,
		.kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};

	ASSERT_EQ(0, configure(self->fd, &config));
	EXPECT_EQ(0, count_not_refused(self->fd, -EBUSY));
	EXPECT_EQ(0, await_workers(getpid(), 1));
	EXPECT_EQ(0, arm(self->fd, NEVER, 0, NULL));
	EXPECT_EQ(0, count_not_refused(self->fd, -EBUSY));
}

TEST_F(config, refused_once_stopped)
{
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, count_not_refused(self->fd, -ESHUTDOWN));
	EXPECT_EQ(0, count_workers(getpid()));
}

TEST_F(config, refused_once_its_wheel_is_stopped)
{
	struct hwheel_config config = {
		.slots = 32, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};

	ASSERT_EQ(0, configure(self->fd, &config));
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, count_not_refused(self->fd, -ESHUTDOWN));
	EXPECT_EQ(0, await_workers(getpid(), 0));
}

/* A limit may be set again and again, and counts to the last one. */
TEST_F(config, limit)
{
	static const __u64 limits[] = { 1000, 1, 65, 2 };
	struct hwheel_info want = self->shared;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		want.max_timeouts = limits[i];
		ASSERT_EQ(0, is_new(self->fd, limits[i]));
		EXPECT_EQ(0, compare_info(self->fd, &self->shared, want));
		/* Which keeps the limit */
		ASSERT_EQ(0, is_new(self->fd, 0));
		EXPECT_EQ(0, compare_info(self->fd, &self->shared, want));
	}
	EXPECT_EQ(2, fill(self->fd, 10, &err));
	EXPECT_EQ(-ENOSPC, err);
}

TEST_F(config, limit_on_its_own_wheel)
{
	struct hwheel_config config = {
		.slots = 32, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	}, larger = {
		.max_timeouts = 70, .clock = CLOCK_MONOTONIC,
	};
	int err;

	ASSERT_EQ(0, is_new(self->fd, 70));
	ASSERT_EQ(0, configure(self->fd, &config));
	EXPECT_EQ(-EBUSY, try_refused(self->fd, &larger));
	EXPECT_EQ(70, fill(self->fd, 100, &err));
	EXPECT_EQ(-ENOSPC, err);
}

/* In a child, as it does not get its capability back. */
static int limits_without_capability(int fd, __u64 max)
{
	struct hwheel_config beyond[] = {
		{ .clock = MONO, .max_timeouts = max + 1 },
		{ .clock = MONO, .max_timeouts = LARGEST_SET },
		{ .clock = MONO, .max_timeouts = max + 1, .kind = HASHED, .tick_ns = 50000 },
	};
	size_t i;

	if (set_capability(CAP_SYS_RESOURCE, false))
		return 1;
	for (i = 0; i < ARRAY_SIZE(beyond); i++)
		if (try_refused(fd, &beyond[i]) != -EPERM)
			return 2;
	if (is_new(fd, 1) || is_new(fd, max))
		return 3;
	return count_workers(getpid()) ? 4 : 0;
}

TEST_F(config, capability)
{
	__u64 max = parameter("max_timeouts", self->shared.max_timeouts);
	struct hwheel_info want = self->shared;

	if (max >= LARGEST_SET)
		SKIP(return, "the module's limit is the largest");
	EXPECT_EQ(0, IN_CHILD(limits_without_capability(self->fd, max)));

	if (set_capability(CAP_SYS_RESOURCE, true))
		SKIP(return, "needs CAP_SYS_RESOURCE");
	EXPECT_EQ(0, is_new(self->fd, max + 1));
	EXPECT_EQ(0, is_new(self->fd, LARGEST_SET));
	want.max_timeouts = LARGEST_SET;
	EXPECT_EQ(0, compare_info(self->fd, &self->shared, want));
}

/*
 * Time, on each kind of wheel and clock
 */

FIXTURE(time)
{
	int	fd;
	__u64	turn;
};

FIXTURE_VARIANT(time)
{
	struct hwheel_config	config;
};

FIXTURE_VARIANT_ADD(time, hashed) {
	.config = {
		.kind = HWHEEL_KIND_HASHED, .tick_ns = MSEC, .slots = 8, .clock = CLOCK_MONOTONIC,
	},
};

FIXTURE_VARIANT_ADD(time, hashed_boottime) {
	.config = {
		.kind = HWHEEL_KIND_HASHED, .tick_ns = MSEC, .slots = 8, .clock = CLOCK_BOOTTIME,
	},
};

FIXTURE_VARIANT_ADD(time, hierarchical) {
	.config = {
		.kind = HWHEEL_KIND_HIERARCHICAL, .tick_ns = MSEC, .slots = 4, .levels = 3,
		.clock = CLOCK_MONOTONIC,
	},
};

FIXTURE_VARIANT_ADD(time, hierarchical_boottime) {
	.config = {
		.kind = HWHEEL_KIND_HIERARCHICAL, .tick_ns = MSEC, .slots = 4, .levels = 3,
		.clock = CLOCK_BOOTTIME,
	},
};

FIXTURE_VARIANT_ADD(time, simple) {
	.config = {
		.kind = HWHEEL_KIND_SIMPLE, .tick_ns = MSEC, .slots = 128, .clock = CLOCK_MONOTONIC,
	},
};

FIXTURE_VARIANT_ADD(time, simple_boottime) {
	.config = {
		.kind = HWHEEL_KIND_SIMPLE, .tick_ns = MSEC, .slots = 128, .clock = CLOCK_BOOTTIME,
	},
};

/* An odd one, and the shortest that there is */
FIXTURE_VARIANT_ADD(time, tick_odd) {
	.config = {
		.kind = HWHEEL_KIND_HASHED, .tick_ns = 777777, .slots = 1, .clock = CLOCK_MONOTONIC,
	},
};

FIXTURE_VARIANT_ADD(time, tick_shortest) {
	.config = {
		.kind = HWHEEL_KIND_HIERARCHICAL, .tick_ns = 50000, .slots = 2, .levels = 8,
		.clock = CLOCK_MONOTONIC,
	},
};

FIXTURE_SETUP(time)
{
	self->fd = open_configured(O_NONBLOCK, &variant->config);
	ASSERT_LE(0, self->fd);
	self->turn = variant->config.tick_ns * variant->config.slots;
}

FIXTURE_TEARDOWN(time)
{
	EXPECT_EQ(0, close(self->fd));
}

#define ARMED	400

struct armed {
	__u64	id;
	__u64	not_before;
	__u64	not_after;
	bool	seen;
};

/* Delays up to @spread, none in order, half of them as points in time */
static int arm_for(int fd, clockid_t clock, __u64 i, __u64 spread, struct armed *armed)
{
	__u64 delay = i * 2654435761 % spread, now = clock_ns(clock);
	int ret;

	armed->seen = false;
	armed->not_before = now + delay;
	if (i & 1)
		ret = arm_at(fd, armed->not_before, i, &armed->id);
	else
		ret = arm(fd, delay, i, &armed->id);
	armed->not_after = i & 1 ? armed->not_before : clock_ns(clock) + delay;
	return ret;
}

static bool is_of(const struct hwheel_event *ev, const struct armed *armed)
{
	return ev->id == armed->id && !armed->seen &&
	       ev->deadline_ns >= round_up_8(armed->not_before) &&
	       ev->deadline_ns <= round_up_8(armed->not_after) &&
	       ev->type == HWHEEL_EVENT_EXPIRED;
}

/* All come, each once, with its deadline; read_any() looks whether it is early. */
static int collect_armed(int fd, clockid_t clock, struct armed *armed, size_t n)
{
	struct hwheel_event ev;
	int ret;

	while (n--) {
		ret = readable(fd, WAIT_MS);
		if (ret <= 0)
			return ret ?: -ETIMEDOUT;
		ret = read_any(fd, clock, &ev, 1);
		if (ret != 1)
			return ret ?: -EPROTO;
		if (ev.cookie >= ARMED || !is_of(&ev, &armed[ev.cookie]))
			return -EPROTO;
		armed[ev.cookie].seen = true;
	}
	return 0;
}

TEST_F(time, never_early)
{
	clockid_t clock = variant->config.clock;
	struct armed armed[ARMED];
	struct hwheel_event ev;
	size_t i;

	for (i = 0; i < ARMED; i++)
		ASSERT_EQ(0, arm_for(self->fd, clock, i, 100 * MSEC, &armed[i]));
	EXPECT_EQ(0, collect_armed(self->fd, clock, armed, ARMED));
	EXPECT_EQ(-EAGAIN, read_any(self->fd, clock, &ev, 1));
}

/* The same one at a time: the wheel sleeps in between. */
TEST_F(time, never_early_when_quiet)
{
	clockid_t clock = variant->config.clock;
	struct armed armed[ARMED];
	size_t i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, arm_for(self->fd, clock, i, 30 * MSEC, &armed[i]));
		ASSERT_EQ(0, collect_armed(self->fd, clock, armed, 1));
	}
}

TEST_F(time, never_early_once_refreshed)
{
	clockid_t clock = variant->config.clock;
	__u64 now = clock_ns(clock), base = now + 60 * MSEC;
	struct armed armed[ARMED];
	size_t i, n = 0;

	for (i = 0; i < ARMED; i++) {
		ASSERT_EQ(0, arm_at(self->fd, base, i, &armed[i].id));
		armed[i].not_before = now + i * 2654435761 % (100 * MSEC);
		if (refresh_at(self->fd, armed[i].id, armed[i].not_before))
			/* It fired before that. */
			armed[i].not_before = base;
		armed[i].not_after = armed[i].not_before;
		armed[i].seen = false;
		n++;
	}
	EXPECT_EQ(0, collect_armed(self->fd, clock, armed, n));
}

/* Beyond one turn: only a simple wheel refuses that, and nothing is armed. */
TEST_F(time, a_turn)
{
	int want = variant->config.kind == HWHEEL_KIND_SIMPLE ? -ERANGE : 0;
	struct hwheel_file_stats before, after;
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, self->turn, 1, &id));
	ASSERT_EQ(0, get_stats(self->fd, &before));
	EXPECT_EQ(want, arm(self->fd, self->turn + SEC, 2, NULL));
	EXPECT_EQ(want, arm(self->fd, NEVER, 3, NULL));
	EXPECT_EQ(want, arm_at(self->fd, clock_ns(variant->config.clock) + self->turn + SEC,
			       4, NULL));
	EXPECT_EQ(want, arm_at(self->fd, NEVER, 5, NULL));
	ASSERT_EQ(0, get_stats(self->fd, &after));
	EXPECT_EQ(before.armed + (want ? 0 : 4), after.armed);
	if (want)
		EXPECT_GE(before.held, after.held);
}

/* Where it can't be moved there, the timeout stays what it was. */
TEST_F(time, refresh_beyond_a_turn)
{
	int want = variant->config.kind == HWHEEL_KIND_SIMPLE ? -ERANGE : 0;
	struct hwheel_event ev;
	__u64 id, deadline;

	deadline = round_up_8(clock_ns(variant->config.clock) + 100 * MSEC);
	ASSERT_EQ(0, arm_at(self->fd, deadline, 1, &id));
	EXPECT_EQ(want, refresh(self->fd, id, NEVER));
	EXPECT_EQ(want, refresh(self->fd, id, self->turn + SEC));
	EXPECT_EQ(want, refresh_at(self->fd, id, NEVER));
	if (!want)
		ASSERT_EQ(0, refresh_at(self->fd, id, deadline));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	ASSERT_EQ(1, read_any(self->fd, variant->config.clock, &ev, 1));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(deadline, ev.deadline_ns);
}

/*
 * Several wheels
 */

/* The tick of an hour fires nothing meanwhile, the shortest does not wait for it. */
TEST(files_do_not_disturb_each_other)
{
	struct hwheel_config config[] = {
		{ .kind = HASHED, .clock = MONO, .tick_ns = HOUR },
		{ .kind = HASHED, .clock = MONO, .tick_ns = 50000 },
		{ .kind = HASHED, .clock = MONO, .tick_ns = 3 * MSEC },
	};
	struct hwheel_file_stats stats;
	unsigned int seen[2][100] = { 0 };
	int fd[3], i;

	for (i = 0; i < 3; i++) {
		fd[i] = open_configured(O_NONBLOCK, &config[i]);
		ASSERT_LE(0, fd[i]);
	}
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, arm(fd[0], i * MSEC, i, NULL));
		ASSERT_EQ(0, arm(fd[1], i * MSEC, i, NULL));
		ASSERT_EQ(0, arm(fd[2], i * MSEC, i, NULL));
	}
	ASSERT_EQ(0, collect(fd[1], seen[0], 100, 100));
	ASSERT_EQ(0, collect(fd[2], seen[1], 100, 100));
	EXPECT_TRUE(each_once(seen[0], 100));
	EXPECT_TRUE(each_once(seen[1], 100));
	EXPECT_EQ(0, settle(now_ns()));

	ASSERT_EQ(0, get_stats(fd[0], &stats));
	EXPECT_EQ(100, stats.pending);
	EXPECT_EQ(0, stats.expired);
	EXPECT_EQ(100, stop(fd[0]));
	ASSERT_EQ(0, arm(fd[1], 0, 7, NULL));
	EXPECT_EQ(1, readable(fd[1], WAIT_MS));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, close(fd[i]));
}

/* Closing one leaves what is pending on the other, though both have one name. */
TEST(closing_one_leaves_the_others)
{
	struct hwheel_config config = {
		.tick_ns = MSEC, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	unsigned int seen[50] = { 0 };
	int fd[2], i;

	for (i = 0; i < 2; i++) {
		fd[i] = open_configured(O_NONBLOCK, &config);
		ASSERT_LE(0, fd[i]);
		ASSERT_EQ(0, arm_many(fd[i], 50, now_ns() + 50 * MSEC, NULL));
	}
	EXPECT_EQ(0, await_workers(getpid(), 2));
	ASSERT_EQ(0, close(fd[0]));
	EXPECT_EQ(0, await_workers(getpid(), 1));
	ASSERT_EQ(0, collect(fd[1], seen, 50, 50));
	EXPECT_TRUE(each_once(seen, 50));
	ASSERT_EQ(0, close(fd[1]));
	EXPECT_EQ(0, await_workers(getpid(), 0));
}

/* What the machine has left, in bytes, not to the page; -1 if it does not say */
static long long free_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	long long kib = -1;
	char line[128];

	if (!file)
		return -1;
	while (kib < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemFree: %lld", &kib) != 1)
			kib = -1;
	fclose(file);
	return kib < 0 ? -1 : kib * 1024;
}

static void *close_file(void *data)
{
	close(*(int *)data);
	return NULL;
}

/*
 * A million timeouts of one file, closed while they are pending. Meanwhile everybody else
 * goes on; the kernel's own watchdog tells if it takes a CPU for too long.
 */
static void close_a_million(struct __test_metadata *_metadata,
			    const struct hwheel_config *config)
{
	int fd = open_device(O_NONBLOCK), witness = open_device(O_NONBLOCK);
	long long before = free_memory(), taken, kept;
	__u64 begin, armed, closed, limit = allow_bytes(UINT64_MAX);
	pthread_t thread;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, witness);
	if (configure(fd, config) == -EPERM)
		SKIP(return, "needs CAP_SYS_RESOURCE");
	begin = now_ns();
	ASSERT_EQ(MILLION, arm_batches(fd, MILLION));
	armed = now_ns();
	EXPECT_EQ(-ENOSPC, arm(fd, NEVER, 0, NULL));
	taken = before - free_memory();

	ASSERT_EQ(0, pthread_create(&thread, NULL, close_file, &fd));
	EXPECT_EQ(0, fire(witness, 1));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	closed = now_ns();
	ASSERT_EQ(0, settle(closed));
	kept = before - free_memory();
	/* Others use memory, too, and each CPU keeps some that is free. */
	EXPECT_LT(kept, taken / 2);
	TH_LOG("armed in %llu ms, with %lld bytes each, closed in %llu ms", (armed - begin) / MSEC,
	       taken / MILLION, (closed - armed) / MSEC);
	EXPECT_EQ(0, close(witness));
	allow_bytes(limit);
}

TEST(a_million_on_the_default_wheel)
{
	struct hwheel_config config = { .max_timeouts = MILLION, .clock = CLOCK_MONOTONIC };

	close_a_million(_metadata, &config);
}

TEST(a_million_on_its_own_wheel)
{
	struct hwheel_config config = {
		.max_timeouts = MILLION, .tick_ns = 10 * MSEC,
		.kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};

	close_a_million(_metadata, &config);
	EXPECT_EQ(0, await_workers(getpid(), 0));
}

/*
 * How many wheels there may be
 */

#define WHEELS_MAX	512

static const struct hwheel_config some_wheel = {
	.tick_ns = 10 * MSEC, .slots = 8, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
};

/* Opens files with wheels until that fails: how many there are. */
static size_t make_wheels(int *fds, size_t max, int *err)
{
	size_t n;

	for (n = 0; n < max; n++) {
		fds[n] = open_device(O_NONBLOCK);
		if (fds[n] < 0) {
			*err = fds[n];
			break;
		}
		*err = try_refused(fds[n], &some_wheel);
		if (*err != -EPROTO) {
			close(fds[n]);
			break;
		}
	}
	return n;
}

static void close_wheels(int *fds, size_t n)
{
	while (n--)
		close(fds[n]);
}

TEST(wheels_are_limited)
{
	size_t limit = parameter("max_user_wheels", 16), n;
	int fds[WHEELS_MAX], fd, round, err = 0;
	struct hwheel_config own = { .max_timeouts = 1, .clock = CLOCK_MONOTONIC };

	if (limit >= WHEELS_MAX)
		SKIP(return, "the limit is too large to try");
	n = make_wheels(fds, limit + 1, &err);
	ASSERT_EQ(limit, n);
	EXPECT_EQ(-ENOSPC, err);
	EXPECT_EQ(0, await_workers(getpid(), limit));

	/* One more is refused until another one is closed, and then there is room for one. */
	fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (round = 0; limit && round < 3; round++) {
		EXPECT_EQ(-ENOSPC, try_refused(fd, &some_wheel));
		ASSERT_EQ(0, close(fds[0]));
		fds[0] = fd;
		ASSERT_EQ(0, configure(fds[0], &some_wheel));
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
	}
	/* A limit takes no wheel, and the file works without. */
	EXPECT_EQ(-ENOSPC, try_refused(fd, &some_wheel));
	EXPECT_EQ(0, configure(fd, &own));
	EXPECT_EQ(0, fire(fd, 1));
	EXPECT_EQ(0, close(fd));
	close_wheels(fds, n);
	EXPECT_EQ(0, await_workers(getpid(), 0));
}

#define STOP_ROUNDS	20

struct stopper {
	pthread_barrier_t	barrier;
	int			fd;
	int			ret;
};

static void *stop_at_once(void *data)
{
	struct stopper *stopper = data;

	pthread_barrier_wait(&stopper->barrier);
	stopper->ret = stop(stopper->fd);
	return NULL;
}

/* Two threads stop @fd; as soon as this one has, another file gets a wheel: that, or an errno. */
static int stop_and_take_place(int fd, int n)
{
	struct stopper stopper = { .fd = fd };
	pthread_t thread;
	int other, stopped, err;

	other = arm_many(fd, n, NEVER, NULL) ?: open_device(O_NONBLOCK);
	if (other < 0 || pthread_barrier_init(&stopper.barrier, NULL, 2) ||
	    pthread_create(&thread, NULL, stop_at_once, &stopper))
		return -EPROTO;
	pthread_barrier_wait(&stopper.barrier);
	stopped = stop(fd);
	err = configure(other, &some_wheel);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&stopper.barrier);
	if (close(fd) || stopped < 0 || stopper.ret < 0 || stopped + stopper.ret != n)
		return -EPROTO;
	return err ?: other;
}

/* The place is free when STOP returns, also if another thread's STOP has done the work. */
TEST(each_stop_waits_for_the_place)
{
	size_t limit = parameter("max_user_wheels", 16), n;
	int fds[WHEELS_MAX], round, err = 0;

	if (!limit || limit >= WHEELS_MAX)
		SKIP(return, "the limit does not fit");
	n = make_wheels(fds, limit + 1, &err);
	ASSERT_EQ(limit, n);
	for (round = 0; round < STOP_ROUNDS; round++) {
		fds[0] = stop_and_take_place(fds[0], 1000);
		ASSERT_LE(0, fds[0]);
	}
	close_wheels(fds, n);
}

/* A CONFIG that fails for another reason takes none of them away. */
TEST(refused_wheels_do_not_count)
{
	struct hwheel_config bad = {
		.tick_ns = 1, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	size_t limit = parameter("max_user_wheels", 16), n, i;
	int fds[WHEELS_MAX], err = 0, fd;

	if (limit >= WHEELS_MAX)
		SKIP(return, "the limit is too large to try");
	fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm(fd, NEVER, 0, NULL));
	for (i = 0; i < 2 * limit; i++) {
		EXPECT_EQ(-EINVAL, configure(fd, &bad));
		EXPECT_EQ(-EBUSY, configure(fd, &some_wheel));
	}
	n = make_wheels(fds, limit, &err);
	EXPECT_EQ(limit, n);
	close_wheels(fds, n);
	EXPECT_EQ(0, close(fd));
}

#define MAKERS		8

struct makers {
	pthread_barrier_t	barrier;
	size_t			limit;
	size_t			live;
	size_t			refused;
	int			bad;
};

static void make_some(struct makers *makers, int *fds, size_t n)
{
	size_t i;
	int ret;

	for (i = 0; i < n; i++) {
		fds[i] = open_device(O_NONBLOCK);
		ret = fds[i] < 0 ? fds[i] : configure(fds[i], &some_wheel);
		if (!ret)
			__atomic_add_fetch(&makers->live, 1, __ATOMIC_SEQ_CST);
		else if (ret == -ENOSPC)
			__atomic_add_fetch(&makers->refused, 1, __ATOMIC_SEQ_CST);
		else
			__atomic_add_fetch(&makers->bad, 1, __ATOMIC_SEQ_CST);
	}
}

/* Each wants one more than its share of the limit, so together they are refused some. */
static void *make_and_close(void *data)
{
	struct makers *makers = data;
	size_t share = makers->limit / MAKERS + 1;
	int fds[WHEELS_MAX], round;

	for (round = 1; round <= 5; round++) {
		pthread_barrier_wait(&makers->barrier);
		make_some(makers, fds, share);
		pthread_barrier_wait(&makers->barrier);
		if (makers->live != round * makers->limit)
			__atomic_add_fetch(&makers->bad, 1, __ATOMIC_SEQ_CST);
		close_wheels(fds, share);
	}
	return NULL;
}

TEST(wheels_are_limited_for_all_at_once)
{
	struct makers makers = { .limit = parameter("max_user_wheels", 16) };
	pthread_t threads[MAKERS];
	int i;

	if (makers.limit >= WHEELS_MAX)
		SKIP(return, "the limit is too large to try");
	ASSERT_EQ(0, pthread_barrier_init(&makers.barrier, NULL, MAKERS));
	for (i = 0; i < MAKERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, make_and_close, &makers));
	for (i = 0; i < MAKERS; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(0, makers.bad);
	EXPECT_EQ(5 * makers.limit, makers.live);
	EXPECT_EQ(5 * MAKERS * (makers.limit / MAKERS + 1), makers.live + makers.refused);
	EXPECT_EQ(0, await_workers(getpid(), 0));
}

/* How many threads the machine may have: what it was, or a negative errno */
static int set_threads_max(int max)
{
	FILE *file = fopen("/proc/sys/kernel/threads-max", "r+");
	int old, ret;

	if (!file)
		return -errno;
	ret = fscanf(file, "%d", &old) == 1 ? old : -EPROTO;
	rewind(file);
	if (ret > 0 && fprintf(file, "%d", max) < 0)
		ret = -EPROTO;
	return fclose(file) ? -errno : ret;
}

/* Returns -ENOSPC if @n CONFIGs do, or the first other result. */
static int try_without_threads(int fd, size_t n)
{
	int ret = -ENOSPC;

	while (ret == -ENOSPC && n--)
		ret = try_refused(fd, &some_wheel);
	return ret;
}

/*
 * Waiting helps no more than where the module has a limit: that is not EAGAIN. Wheels that were not
 * made do not count, however many.
 */
TEST_F(config, no_thread_is_left)
{
	size_t limit = parameter("max_user_wheels", 16);
	int old = set_threads_max(20), ret;

	if (old == -ENOENT || old == -EACCES)
		SKIP(return, "threads-max can't be set");
	ASSERT_LT(20, old);
	ret = try_without_threads(self->fd, limit + 1);
	ASSERT_EQ(20, set_threads_max(old));
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(0, configure(self->fd, &some_wheel));
}

/*
 * Workers
 */

TEST(closing_ends_the_worker)
{
	int fd = open_device(O_NONBLOCK), again;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, count_workers(getpid()));
	ASSERT_EQ(0, configure(fd, &some_wheel));
	EXPECT_EQ(0, await_workers(getpid(), 1));
	ASSERT_EQ(0, arm(fd, NEVER, 0, NULL));
	again = dup(fd);
	ASSERT_LE(0, again);
	EXPECT_EQ(0, close(fd));
	EXPECT_EQ(0, fire(again, 1));
	EXPECT_EQ(0, await_workers(getpid(), 1));
	EXPECT_EQ(0, close(again));
	EXPECT_EQ(0, await_workers(getpid(), 0));
}

/* Of files with their wheels, at work until the end */
static int work_until_killed(int ready)
{
	struct hwheel_event ev[16];
	int fds[4], i, err;
	__u64 id;

	if (make_wheels(fds, 4, &err) != 4 || fill(fds[3], 1000, &err) < 1000 ||
	    write(ready, "", 1) != 1)
		return -EPROTO;
	for (i = 0;; i = (i + 1) % 4) {
		if (!arm(fds[i], MSEC, 0, &id) && id % 2)
			cancel(fds[i], id);
		read_events(fds[i], ev, 16);
	}
}

TEST(kill_ends_the_workers)
{
	int ready[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = START_CHILD(work_until_killed(ready[1]));
	ASSERT_LE(0, pid);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(4, count_workers(pid));
	EXPECT_EQ(0, kill_child(pid));
	EXPECT_EQ(0, await_workers(pid, 0));
	EXPECT_EQ(0, close(ready[0]));
	EXPECT_EQ(0, close(ready[1]));
}

/* The child made the wheel, the parent goes on with it. */
TEST(worker_outlives_its_maker)
{
	int fd = open_device(O_NONBLOCK);
	struct hwheel_event ev;
	pid_t pid;

	ASSERT_LE(0, fd);
	pid = START_CHILD(configure(fd, &some_wheel) ?: arm(fd, 20 * MSEC, 5, NULL));
	ASSERT_LE(0, pid);
	ASSERT_EQ(0, reap(pid));
	EXPECT_EQ(1, count_workers(pid));
	ASSERT_EQ(0, next_event(fd, &ev));
	EXPECT_EQ(5, ev.cookie);
	EXPECT_EQ(0, close(fd));
	EXPECT_EQ(0, await_workers(pid, 0));
}

/*
 * CONFIG and ARM at once: one of them comes first. Whichever it is, what was armed fires
 * on the wheel that the file has then, once and not early. Times are of one clock, as the two
 * differ once the machine was suspended.
 */

#define RACERS		3
#define RACE_ROUNDS	100

struct race {
	pthread_barrier_t	start;
	int			fd;
	struct armed		armed[RACERS];
	int			ret[RACERS];
	int			next;
	__u64			lead_ns;
};

/* Later than the start by up to what CONFIG may take, so that either comes first. */
static void *arm_one(void *data)
{
	struct race *race = data;
	int i = __atomic_fetch_add(&race->next, 1, __ATOMIC_SEQ_CST);
	__u64 begin;

	pthread_barrier_wait(&race->start);
	begin = now_ns();
	while (now_ns() < begin + race->lead_ns)
		;
	race->ret[i] = arm_for(race->fd, CLOCK_MONOTONIC, i, 3 * MSEC, &race->armed[i]);
	return NULL;
}

static int run_race(struct race *race, const struct hwheel_config *config)
{
	pthread_t threads[RACERS];
	int i, ret;

	for (i = 0; i < RACERS; i++)
		if (pthread_create(&threads[i], NULL, arm_one, race))
			return -EAGAIN;
	pthread_barrier_wait(&race->start);
	ret = configure(race->fd, config);
	for (i = 0; i < RACERS; i++)
		pthread_join(threads[i], NULL);
	return ret;
}

TEST(configured_while_armed)
{
	static const struct hwheel_config configs[] = {
		{ .kind = HASHED, .clock = MONO, .tick_ns = 50000 },
		{ .kind = HIERARCHICAL, .clock = MONO, .tick_ns = 2 * MSEC, .slots = 2,
		  .levels = 4 },
		{ .kind = SIMPLE, .clock = MONO, .tick_ns = MSEC },
	};
	struct hwheel_info info;
	int round, i, ret, won = 0;

	for (round = 0; round < RACE_ROUNDS; round++) {
		struct race race = { .fd = open_device(O_NONBLOCK),
				     .lead_ns = round % 10 * MSEC / 10 };

		ASSERT_LE(0, race.fd);
		ASSERT_EQ(0, pthread_barrier_init(&race.start, NULL, RACERS + 1));
		ret = run_race(&race, &configs[round % ARRAY_SIZE(configs)]);
		if (ret)
			ASSERT_EQ(-EBUSY, ret);
		ASSERT_EQ(0, get_info(race.fd, &info));
		EXPECT_EQ(!ret, info.own_wheel);
		for (i = 0; i < RACERS; i++)
			EXPECT_EQ(0, race.ret[i]);
		EXPECT_EQ(0, collect_armed(race.fd, info.clock, race.armed, RACERS));
		EXPECT_EQ(0, close(race.fd));
		won += !ret;
	}
	EXPECT_EQ(0, await_workers(getpid(), 0));
	TH_LOG("%d of %d were configured first", won, round);
}

static void *configure_one(void *data)
{
	struct race *race = data;
	int i = __atomic_fetch_add(&race->next, 1, __ATOMIC_SEQ_CST);

	pthread_barrier_wait(&race->start);
	race->ret[i] = configure(race->fd, &some_wheel);
	return NULL;
}

/* One of them makes the wheel. */
TEST(configured_by_many)
{
	size_t limit = parameter("max_user_wheels", 16);
	int fds[WHEELS_MAX], round, i, won, err = 0;
	pthread_t threads[RACERS];

	for (round = 0; round < 30; round++) {
		struct race race = { .fd = open_device(O_NONBLOCK) };

		ASSERT_LE(0, race.fd);
		ASSERT_EQ(0, pthread_barrier_init(&race.start, NULL, RACERS));
		for (i = 0; i < RACERS; i++)
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, configure_one, &race));
		for (i = 0; i < RACERS; i++)
			ASSERT_EQ(0, pthread_join(threads[i], NULL));
		for (i = won = 0; i < RACERS; i++) {
			won += !race.ret[i];
			if (race.ret[i])
				EXPECT_EQ(-EBUSY, race.ret[i]);
		}
		EXPECT_EQ(1, won);
		EXPECT_EQ(0, await_workers(getpid(), 1));
		EXPECT_EQ(0, close(race.fd));
		EXPECT_EQ(0, await_workers(getpid(), 0));
	}
	/* The wheels of those that lost do not count. */
	if (limit < WHEELS_MAX) {
		size_t n = make_wheels(fds, limit, &err);

		EXPECT_EQ(limit, n);
		close_wheels(fds, n);
	}
}

TEST_HARNESS_MAIN
