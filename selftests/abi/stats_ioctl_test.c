// SPDX-License-Identifier: GPL-2.0-only
/* STATS and /proc/PID/fdinfo: each counter tells what was done, and they add up. */

#include "common.h"
#include "fdinfo.h"

#include <pthread.h>
#include <sys/mman.h>

/* On the wheel of all, and on one of its own, whose counters are the file's. */
FIXTURE(stats)
{
	int	fd;
};

FIXTURE_VARIANT(stats)
{
	struct hwheel_config	config;
};

FIXTURE_VARIANT_ADD(stats, shared) { .config = { .clock = CLOCK_MONOTONIC } };

FIXTURE_VARIANT_ADD(stats, own) {
	.config = {
		.tick_ns = MSEC, .slots = 16, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	},
};

FIXTURE_VARIANT_ADD(stats, hierarchical) {
	.config = {
		.tick_ns = MSEC, .slots = 4, .levels = 4, .clock = CLOCK_BOOTTIME,
		.kind = HWHEEL_KIND_HIERARCHICAL,
	},
};

FIXTURE_SETUP(stats)
{
	self->fd = open_configured(O_NONBLOCK, &variant->config);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(stats)
{
	EXPECT_EQ(0, close(self->fd));
}

/* The file's own part comes first. */
#define OWN_SIZE	offsetof(struct hwheel_file_stats, wheel)

/* 0 if the file's own part is that. */
static int compare_own(int fd, const struct hwheel_file_stats *want)
{
	struct hwheel_file_stats stats;
	int ret = get_stats(fd, &stats);

	return ret ?: memcmp(&stats, want, OWN_SIZE) ? -EPROTO : 0;
}

/* In memory that can't be written */
static const struct hwheel_op readonly = { .op = HWHEEL_OP_ARM, .time_ns = NEVER };

static bool adds_up(const struct hwheel_file_stats *stats)
{
	return stats->armed ==
	       stats->pending + stats->expired + stats->cancelled + stats->stopped;
}

TEST_F(stats, of_a_new_file)
{
	struct hwheel_file_stats ones, fives, zero = { 0 };
	size_t i;

	memset(&ones, 0xff, sizeof(ones));
	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_STATS, &ones));
	ASSERT_EQ(0, get_stats(self->fd, &fives));
	EXPECT_EQ(0, memcmp(&ones, &zero, OWN_SIZE));
	EXPECT_EQ(0, memcmp(&fives, &zero, OWN_SIZE));
	for (i = 0; i < ARRAY_SIZE(ones.reserved); i++) {
		EXPECT_EQ(0, ones.reserved[i]);
		EXPECT_EQ(0, fives.reserved[i]);
	}
}

TEST(of_a_new_wheel)
{
	struct hwheel_config config = {
		.tick_ns = MSEC, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	struct hwheel_file_stats stats, want = { 0 };
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, configure(fd, &config));
	ASSERT_EQ(0, get_stats(fd, &stats));
	want.wheel = 1;
	/* The slots */
	EXPECT_LT(4096, stats.account_bytes);
	want.account_bytes = stats.account_bytes;
	EXPECT_EQ(0, memcmp(&stats, &want, sizeof(stats)));
	EXPECT_EQ(0, close(fd));
}

/* All figures after each kind of operation, of as many as there are of no other kind */
TEST_F(stats, each_counter)
{
	struct hwheel_file_stats want = { 0 };
	struct hwheel_event ev[16];
	__u64 ids[16];

	ASSERT_EQ(0, arm_many(self->fd, 16, NEVER, ids));
	want.armed = 16;
	want.held = 16;
	want.pending = 16;
	EXPECT_EQ(0, compare_own(self->fd, &want));

	ASSERT_EQ(0, refresh(self->fd, ids[0], 3600 * SEC));
	ASSERT_EQ(0, refresh(self->fd, ids[0], NEVER));
	ASSERT_EQ(0, refresh(self->fd, ids[1], NEVER));
	want.refreshed = 3;
	EXPECT_EQ(0, compare_own(self->fd, &want));

	/* The worker lets go of them. */
	ASSERT_EQ(0, cancel_many(self->fd, ids, 2));
	want.cancelled = 2;
	want.held = 14;
	want.pending = 14;
	ASSERT_EQ(0, await_held(self->fd, 14));
	EXPECT_EQ(0, compare_own(self->fd, &want));

	ASSERT_EQ(0, refresh(self->fd, ids[2], 0));
	ASSERT_EQ(0, refresh(self->fd, ids[3], 0));
	ASSERT_EQ(0, refresh(self->fd, ids[4], 0));
	ASSERT_EQ(0, refresh(self->fd, ids[5], 0));
	want.refreshed = 7;
	want.expired = 4;
	want.events = 4;
	want.pending = 10;
	ASSERT_EQ(0, await_events(self->fd, 4));
	EXPECT_EQ(0, compare_own(self->fd, &want));

	ASSERT_EQ(1, read_any(self->fd, variant->config.clock, ev, 1));
	want.held = 13;
	want.events = 3;
	EXPECT_EQ(0, compare_own(self->fd, &want));

	ASSERT_EQ(10, stop(self->fd));
	want.stopped = 10;
	want.pending = 0;
	want.events = 13;
	EXPECT_EQ(0, compare_own(self->fd, &want));

	ASSERT_EQ(13, read_any(self->fd, variant->config.clock, ev, 16));
	want.held = 0;
	want.events = 0;
	EXPECT_EQ(0, compare_own(self->fd, &want));
}

/* The worker may not have let go of a cancelled one: pending says so, held not yet. */
TEST_F(stats, cancelled_is_not_pending)
{
	struct hwheel_file_stats stats;
	__u64 ids[100];

	ASSERT_EQ(0, arm_many(self->fd, 100, NEVER, ids));
	ASSERT_EQ(0, cancel_many(self->fd, ids, 100));
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(100, stats.cancelled);
	EXPECT_GE(100, stats.held);
	EXPECT_EQ(0, stats.events);
	EXPECT_EQ(0, await_held(self->fd, 0));
}

TEST_F(stats, refused_calls_do_not_count)
{
	struct hwheel_op bad = { .flags = 2 }, worse[] = {
		{ .op = HWHEEL_OP_ARM, .flags = 2 },
		{ .op = HWHEEL_OP_ARM, .reserved = 1 },
		{ .op = HWHEEL_OP_REFRESH },
		{ .op = HWHEEL_OP_CANCEL },
		{ .op = UINT32_MAX },
	};
	struct hwheel_file_stats want = { 0 };
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &id));
	ASSERT_EQ(0, cancel(self->fd, id));
	ASSERT_EQ(0, await_held(self->fd, 0));
	want.armed = 1;
	want.cancelled = 1;

	EXPECT_EQ(-EINVAL, call(self->fd, HWHEEL_IOC_ARM, &bad));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_ARM, NULL));
	EXPECT_EQ(-ENOENT, refresh(self->fd, id, 0));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id + 1));
	EXPECT_EQ(ARRAY_SIZE(worse), submit(self->fd, worse, ARRAY_SIZE(worse)));
	EXPECT_EQ(0, compare_own(self->fd, &want));

	/* Nor when the id can't be written */
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_ARM, (void *)&readonly));
	EXPECT_EQ(0, compare_own(self->fd, &want));

	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(-ESHUTDOWN, arm(self->fd, 0, 0, NULL));
	EXPECT_EQ(0, compare_own(self->fd, &want));
}

TEST_F(stats, full_file)
{
	struct hwheel_config config = variant->config;
	struct hwheel_file_stats want = { .held = 5, .pending = 5, .armed = 5 };
	int fd = open_device(O_NONBLOCK), err;

	config.max_timeouts = 5;
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, configure(fd, &config));
	ASSERT_EQ(5, fill(fd, 5, &err));
	ASSERT_EQ(-ENOSPC, err);
	EXPECT_EQ(0, arm_batches(fd, 10));
	EXPECT_EQ(0, compare_own(fd, &want));
	EXPECT_EQ(0, close(fd));
}

/* In a batch each operation counts as it does alone. */
TEST_F(stats, batch)
{
	struct hwheel_op ops[300] = { 0 };
	struct hwheel_file_stats want = { 0 };
	size_t i;

	for (i = 0; i < 300; i++)
		ops[i] = (struct hwheel_op){ .op = HWHEEL_OP_ARM, .time_ns = NEVER };
	ASSERT_EQ(300, submit(self->fd, ops, 300));
	for (i = 0; i < 300; i++)
		ops[i] = (struct hwheel_op){
			.op = i < 100 ? HWHEEL_OP_CANCEL :
			      i < 250 ? HWHEEL_OP_REFRESH : HWHEEL_OP_QUERY,
			.id = ops[i].id,
			.time_ns = i >= 100 && i < 250 ? NEVER : 0,
		};
	ASSERT_EQ(300, submit(self->fd, ops, 300));
	ASSERT_EQ(0, await_held(self->fd, 200));
	want.held = 200;
	want.pending = 200;
	want.armed = 300;
	want.refreshed = 150;
	want.cancelled = 100;
	EXPECT_EQ(0, compare_own(self->fd, &want));
}

TEST_F(stats, bad_pointer)
{
	size_t size = sysconf(_SC_PAGESIZE);
	struct hwheel_file_stats want = { 0 };
	char *page = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + size, size));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_STATS, page + size - sizeof(want) + 1));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_STATS, page + size));
	EXPECT_EQ(0, call(self->fd, HWHEEL_IOC_STATS, page + size - sizeof(want)));
	ASSERT_EQ(0, mprotect(page, size, PROT_READ));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_STATS, page));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_STATS, NULL));
	EXPECT_EQ(0, compare_own(self->fd, &want));
	EXPECT_EQ(0, munmap(page, size));
}

/* What one file does is no business of another, even on the same wheel. */
TEST_F(stats, of_another_file)
{
	struct hwheel_file_stats before, after, zero = { 0 };
	int other = open_device(O_NONBLOCK);
	struct hwheel_event ev;

	ASSERT_LE(0, other);
	/* It is on the account's wheel from its first ARM, even one that fails. */
	ASSERT_EQ(-EFAULT, call(other, HWHEEL_IOC_ARM, (void *)&readonly));
	ASSERT_EQ(0, get_stats(other, &before));
	ASSERT_EQ(0, arm_many(self->fd, 20, NEVER, NULL));
	ASSERT_EQ(0, arm(self->fd, 0, 0, NULL));
	ASSERT_EQ(0, await_events(self->fd, 1));
	ASSERT_EQ(1, read_any(self->fd, variant->config.clock, &ev, 1));
	ASSERT_EQ(0, get_stats(other, &after));
	EXPECT_EQ(0, memcmp(&after, &zero, OWN_SIZE));
	if (variant->config.tick_ns) {
		EXPECT_EQ(before.wheel_armed, after.wheel_armed);
		EXPECT_EQ(before.wheel_pending, after.wheel_pending);
	} else {
		EXPECT_LE(before.wheel_armed + 21, after.wheel_armed);
		EXPECT_LE(before.wheel_expired + 1, after.wheel_expired);
		EXPECT_LE(20, after.wheel_pending);
	}
	EXPECT_EQ(0, close(other));
}

/* All files of the wheel are of the opener's account. */
static int looks_without_capability(int fd)
{
	struct hwheel_file_stats stats;

	if (set_capability(CAP_SYS_ADMIN, false))
		return 1;
	if (get_stats(fd, &stats) || stats.held != 7 || stats.armed != 7)
		return 2;
	return stats.wheel != 1 || stats.wheel_pending < 7 ? 3 : 0;
}

TEST_F(stats, of_the_wheel_for_users)
{
	struct hwheel_file_stats stats;

	ASSERT_EQ(0, arm_many(self->fd, 7, NEVER, NULL));
	EXPECT_EQ(0, IN_CHILD(looks_without_capability(self->fd)));

	/* A program that has it sees all, on the same descriptor. */
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.wheel);
	EXPECT_LE(7, stats.wheel_pending);
}

/*
 * The wheel's part, where no other file is on it
 */

FIXTURE(own)
{
	int	fd;
};

FIXTURE_VARIANT(own)
{
	struct hwheel_config	config;
};

FIXTURE_VARIANT_ADD(own, hashed) {
	.config = {
		.tick_ns = MSEC, .slots = 16, .clock = CLOCK_BOOTTIME, .kind = HWHEEL_KIND_HASHED,
	},
};

FIXTURE_VARIANT_ADD(own, hierarchical) {
	.config = {
		.tick_ns = MSEC, .slots = 4, .levels = 4, .clock = CLOCK_MONOTONIC,
		.kind = HWHEEL_KIND_HIERARCHICAL,
	},
};

FIXTURE_SETUP(own)
{
	self->fd = open_configured(O_NONBLOCK, &variant->config);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(own)
{
	EXPECT_EQ(0, close(self->fd));
}

static __u64 sum_lateness(const struct hwheel_file_stats *stats)
{
	__u64 sum = 0;
	size_t i;

	for (i = 0; i < HWHEEL_LATENESS_BINS; i++)
		sum += stats->wheel_lateness[i];
	return sum;
}

/* The wheel is this file's alone, so its figures are the file's. */
static bool wheel_agrees(const struct hwheel_file_stats *stats)
{
	return stats->wheel == 1 && stats->wheel_pending == stats->pending &&
	       stats->wheel_armed == stats->armed && stats->wheel_expired == stats->expired &&
	       sum_lateness(stats) == stats->expired;
}

TEST_F(own, wheel)
{
	struct hwheel_file_stats stats;
	__u64 ids[50];
	int i;

	ASSERT_EQ(0, arm_many(self->fd, 50, NEVER, ids));
	for (i = 0; i < 30; i++)
		ASSERT_EQ(0, refresh(self->fd, ids[i], 3600 * SEC));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, refresh(self->fd, ids[i], 7200 * SEC));
	ASSERT_EQ(0, cancel_many(self->fd, ids, 10));
	ASSERT_EQ(0, await_held(self->fd, 40));
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(40, stats.wheel_pending);
	EXPECT_EQ(50, stats.wheel_armed);
	EXPECT_EQ(0, stats.wheel_expired);
	EXPECT_TRUE(wheel_agrees(&stats));

	for (i = 10; i < 25; i++)
		ASSERT_EQ(0, refresh(self->fd, ids[i], 0));
	ASSERT_EQ(0, await_events(self->fd, 15));
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(15, stats.wheel_expired);
	EXPECT_EQ(25, stats.wheel_pending);
	EXPECT_TRUE(wheel_agrees(&stats));

	ASSERT_EQ(25, stop(self->fd));
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(0, stats.wheel_pending);
	EXPECT_TRUE(wheel_agrees(&stats));
}

/* Deadlines past by far are in the last bin; nothing else is. */
TEST_F(own, lateness)
{
	struct hwheel_file_stats stats;

	/* 2^6 ticks late and more */
	ASSERT_EQ(0, arm_many(self->fd, 10, 8, NULL));
	ASSERT_EQ(0, await_events(self->fd, 10));
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(10, stats.wheel_lateness[HWHEEL_LATENESS_BINS - 1]);
	EXPECT_EQ(10, sum_lateness(&stats));
	ASSERT_EQ(0, arm(self->fd, 5 * MSEC, 0, NULL));
	ASSERT_EQ(0, await_events(self->fd, 11));
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(11, sum_lateness(&stats));
	EXPECT_EQ(11, stats.wheel_expired);
}

/* Each is as large as before, or larger, but for those of what there is now. */
static bool has_grown(const struct hwheel_file_stats *old, const struct hwheel_file_stats *new)
{
	const __u64 *a = &old->armed, *b = &new->armed;

	for (; a <= &old->stopped; a++, b++)
		if (*a > *b)
			return false;
	a = &old->wheel_armed;
	b = &new->wheel_armed;
	for (; a < old->reserved; a++, b++)
		if (*a > *b)
			return false;
	return true;
}

struct busy {
	int		fd;
	unsigned int	done;
};

#define WORKERS		3
#define EACH		4000

static void *use_file(void *data)
{
	struct hwheel_event ev[8];
	struct busy *busy = data;
	int i, ret;
	__u64 id;

	for (i = 0; i < EACH; i++) {
		ret = arm(busy->fd, i % 5 * MSEC, i, &id);
		if (!ret && i % 3 == 0)
			cancel(busy->fd, id);
		if (!ret && i % 3 == 1)
			refresh(busy->fd, id, i % 2 ? 0 : MSEC);
		if (ret || i % 8 == 7)
			read_any(busy->fd, CLOCK_MONOTONIC, ev, 8);
	}
	__atomic_add_fetch(&busy->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* At any time, whoever is at work */
TEST_F(stats, add_up_while_used)
{
	struct hwheel_file_stats old = { 0 }, stats = { 0 };
	struct busy busy = { .fd = self->fd };
	pthread_t threads[WORKERS];
	int i, looks = 0;

	for (i = 0; i < WORKERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, use_file, &busy));
	while (__atomic_load_n(&busy.done, __ATOMIC_SEQ_CST) < WORKERS) {
		old = stats;
		ASSERT_EQ(0, get_stats(self->fd, &stats));
		ASSERT_TRUE(adds_up(&stats));
		ASSERT_TRUE(has_grown(&old, &stats));
		ASSERT_LE(stats.pending + stats.events, stats.held);
		looks++;
	}
	for (i = 0; i < WORKERS; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	ASSERT_LE(0, stop(self->fd));
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_TRUE(adds_up(&stats));
	EXPECT_EQ(WORKERS * EACH, stats.armed);
	EXPECT_EQ(0, stats.pending);
	if (variant->config.tick_ns)
		EXPECT_TRUE(wheel_agrees(&stats));
	TH_LOG("looked %d times", looks);
}

/*
 * fdinfo
 */

/* What it says of the file's set */
static bool fdinfo_says(int fd, long long pending, long long events, long long stopped)
{
	return fdinfo_number(fd, "pending") == pending && fdinfo_number(fd, "events") == events &&
	       fdinfo_number(fd, "stopped") == stopped;
}

TEST_F(stats, fdinfo_of_the_set)
{
	struct hwheel_event ev;
	__u64 ids[10];

	EXPECT_TRUE(fdinfo_says(self->fd, 0, 0, 0));
	ASSERT_EQ(0, arm_many(self->fd, 10, NEVER, ids));
	EXPECT_TRUE(fdinfo_says(self->fd, 10, 0, 0));
	ASSERT_EQ(0, cancel_many(self->fd, ids, 3));
	EXPECT_TRUE(fdinfo_says(self->fd, 7, 0, 0));
	ASSERT_EQ(0, refresh(self->fd, ids[3], 0));
	ASSERT_EQ(0, refresh(self->fd, ids[4], 0));
	ASSERT_EQ(0, await_events(self->fd, 2));
	EXPECT_TRUE(fdinfo_says(self->fd, 5, 2, 0));
	ASSERT_EQ(1, read_any(self->fd, variant->config.clock, &ev, 1));
	EXPECT_TRUE(fdinfo_says(self->fd, 5, 1, 0));
	ASSERT_EQ(5, stop(self->fd));
	EXPECT_TRUE(fdinfo_says(self->fd, 0, 6, 1));
	EXPECT_EQ(0, fdinfo_number(self->fd, "mapped"));
}

/* The name that its worker and its file in debugfs have, too */
TEST_F(stats, fdinfo_of_the_wheel)
{
	struct hwheel_info info;

	ASSERT_EQ(0, get_info(self->fd, &info));
	EXPECT_EQ(info.tick_ns, fdinfo_number(self->fd, "tick_ns"));
	EXPECT_EQ(info.clock, fdinfo_number(self->fd, "clockid"));
	EXPECT_EQ(info.max_timeouts, fdinfo_number(self->fd, "max_timeouts"));
	EXPECT_EQ(0, fdinfo_number(self->fd, "pos"));
	ASSERT_EQ(0, arm(self->fd, NEVER, 0, NULL));
	EXPECT_LT(0, fdinfo_number(self->fd, "wheel"));
}

/* Files share a wheel, or they do not. */
TEST_F(stats, fdinfo_names_wheels)
{
	int other = open_device(O_NONBLOCK);
	char wheel[2][64];

	ASSERT_LE(0, other);
	ASSERT_EQ(0, configure(other, &variant->config));
	ASSERT_EQ(0, arm(self->fd, NEVER, 0, NULL));
	ASSERT_EQ(0, arm(other, NEVER, 0, NULL));
	ASSERT_EQ(0, fdinfo_value(getpid(), self->fd, "wheel", wheel[0], 64));
	ASSERT_EQ(0, fdinfo_value(getpid(), other, "wheel", wheel[1], 64));
	EXPECT_EQ(!variant->config.tick_ns, !strcmp(wheel[0], wheel[1]));
	EXPECT_EQ(0, close(other));
}

/* Somebody else's, who must be allowed to look at it */
TEST_F(stats, fdinfo_of_another_process)
{
	char pending[64] = "", wheel[2][64];
	pid_t parent = getpid();

	ASSERT_EQ(0, arm_many(self->fd, 12, NEVER, NULL));
	ASSERT_EQ(0, fdinfo_value(parent, self->fd, "wheel", wheel[0], 64));
	EXPECT_EQ(0, IN_CHILD(fdinfo_value(parent, self->fd, "pending", pending, 64) ||
			      fdinfo_value(parent, self->fd, "wheel", wheel[1], 64) ||
			      strcmp(pending, "12") || strcmp(wheel[0], wheel[1])));
}

TEST_HARNESS_MAIN
