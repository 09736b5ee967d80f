// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory that an account may hold (max_user_bytes): what counts, that it is counted exactly,
 * and that a call without room changes nothing.
 */
#include "common.h"
#include "fdinfo.h"
#include "map.h"
#include "share.h"
#include "threads.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define USER		4600
#define PARAMETER	"/sys/module/hwheel/parameters/max_user_bytes"
#define MIB		1048576ULL

/* More than a file may hold by default */
#define MANY		100000

/* The parameter, opened by root for children that are others by now */
static int limit_fd = -1;

static int set_limit(__u64 bytes)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%llu\n", bytes);

	return pwrite(limit_fd, text, n, 0) == n ? 0 : -errno;
}

static int become(uid_t uid)
{
	return setresuid(uid, uid, uid) ? -errno : 0;
}

/* What the account of the file holds, as STATS and fdinfo have it */
static __u64 bytes_of(int fd)
{
	struct hwheel_file_stats stats;

	if (get_stats(fd, &stats) || fdinfo_number(fd, "account_bytes") != stats.account_bytes)
		return POISON64;
	return stats.account_bytes;
}

/* Of a file that is opened for that */
static __u64 bytes_now(void)
{
	int fd = open_device(O_NONBLOCK);
	__u64 bytes = fd < 0 ? POISON64 : bytes_of(fd);

	close(fd);
	return bytes;
}

/* All that the files of the account have had is freed. */
static int is_empty(void)
{
	return bytes_now() ? -EBUSY : 0;
}

static int leave_room(__u64 bytes)
{
	return set_limit(bytes_now() + bytes);
}

FIXTURE(bytes) {
	__u64	limit;
};

FIXTURE_SETUP(bytes)
{
	if (geteuid())
		SKIP(return, "needs root, to be several users");
	self->limit = parameter("max_user_bytes", 0);
	limit_fd = open(PARAMETER, O_WRONLY);
	ASSERT_LE(0, limit_fd);
	ASSERT_EQ(0, chmod("/dev/hwheel", 0666));
}

FIXTURE_TEARDOWN(bytes)
{
	EXPECT_EQ(0, set_limit(self->limit));
	EXPECT_EQ(0, close(limit_fd));
	EXPECT_EQ(0, chmod("/dev/hwheel", 0600));
}

TEST_F(bytes, info_has_the_limit)
{
	int fd = open_device(O_NONBLOCK);
	struct hwheel_info info;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_info(fd, &info));
	EXPECT_EQ(self->limit, info.max_user_bytes);
	ASSERT_EQ(0, set_limit(12345));
	ASSERT_EQ(0, get_info(fd, &info));
	EXPECT_EQ(12345, info.max_user_bytes);
	EXPECT_EQ(0, close(fd));
}

/*
 * Exact counts, on kernels of 64 bits: a page of entries with room for 16 pages; a segment with a
 * node and a record for each timeout.
 */

static bool has_64_bits(void)
{
	struct utsname name;

	return !uname(&name) && (strstr(name.machine, "64") || !strcmp(name.machine, "s390x"));
}

static int count_ids(void)
{
	const __u64 page = page_size(), first = page + 16 * 8;
	int fd = open_device(O_NONBLOCK), err;
	__u64 bytes = first, n;

	if (fd < 0)
		return fd;
	if (bytes_of(fd))
		return -EEXIST;
	for (n = 0; n < 16 * page / 128; n++) {
		err = arm(fd, NEVER, n, NULL);
		if (err)
			return err;
		bytes = first + n / (page / 128) * page;
		if (bytes_of(fd) != bytes)
			return -EPROTO;
	}
	if (stop(fd) != (int)n || bytes_of(fd) != bytes)
		return -EDOM;
	close(fd);
	return is_empty();
}

TEST_F(bytes, of_ids)
{
	if (!has_64_bits())
		SKIP(return, "counts as on 64 bits");
	EXPECT_EQ(0, IN_CHILD(become(USER) ?: count_ids()));
}

static int count_records(void)
{
	const __u64 page = page_size();
	struct hwheel_map layout;
	struct map m;
	__u64 bytes;
	int err;

	err = map_open_shared(&m, 1, 2);
	if (err)
		return err;
	bytes = bytes_of(m.fd);
	/* The header, the lists, the ring and the records */
	if (bytes < m.layout.size + page / sizeof(*m.records) * 32)
		return -ERANGE;
	err = map_make(m.fd, 3 * page / sizeof(*m.records), 0, &layout);
	if (err)
		return err;
	bytes += 24 + 3 * page / sizeof(*m.records) * (32 + sizeof(*m.records));
	if (bytes_of(m.fd) != bytes)
		return -EPROTO;
	err = map_close(&m);
	return err ?: is_empty();
}

TEST_F(bytes, of_records)
{
	if (!has_64_bits())
		SKIP(return, "counts as on 64 bits");
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	EXPECT_EQ(0, IN_CHILD(become(USER) ?: count_records()));
}

/* STOP frees the slots, of 32 bytes each, and the tree of their edges; close() frees the wheel. */
static int count_slots(__u32 slots, __u32 levels, __u64 *freed)
{
	const struct hwheel_config config = {
		.slots = slots, .levels = levels, .clock = CLOCK_MONOTONIC,
		.kind = levels > 1 ? HWHEEL_KIND_HIERARCHICAL : HWHEEL_KIND_HASHED,
	};
	int fd = open_configured(O_NONBLOCK, &config);
	__u64 all, rest;

	if (fd < 0)
		return fd;
	all = bytes_of(fd);
	if (stop(fd))
		return -EPROTO;
	rest = bytes_of(fd);
	if (rest < 1000 || rest >= all)
		return -ERANGE;
	*freed = all - rest;
	close(fd);
	return is_empty();
}

static int count_wheels(void)
{
	__u64 one, two, three;
	int err;

	err = count_slots(4096, 1, &one) ?: count_slots(4096, 2, &two) ?:
	      count_slots(4096, 3, &three);
	if (err)
		return err;
	if (one != 4096 * 32 + (512 + 64 + 8 + 1) * 8)
		return -EDOM;
	/* And how many were filed in a slot above the lowest level */
	if (two != 2 * 4096 * 32 + (1024 + 128 + 16 + 8 + 1) * 8 + 4096 * 4)
		return -EDOM;
	return three > two + 4096 * 32 ? 0 : -EDOM;
}

TEST_F(bytes, of_slots)
{
	if (!has_64_bits())
		SKIP(return, "counts as on 64 bits");
	EXPECT_EQ(0, IN_CHILD(become(USER) ?: count_wheels()));
}

/*
 * The limit
 */

/* A file without room for an entry is as new: it gets another limit, and has no wheel. */
static int arm_without_room(void)
{
	const struct hwheel_config config = { .max_timeouts = 5, .clock = CLOCK_MONOTONIC };
	int fd = open_device(O_NONBLOCK), err;
	struct hwheel_file_stats before, after;

	if (fd < 0)
		return fd;
	err = get_stats(fd, &before);
	if (!err && arm(fd, NEVER, 0, NULL) != -ENOSPC)
		err = -EPROTO;
	err = err ?: get_stats(fd, &after);
	if (!err && memcmp(&before, &after, offsetof(struct hwheel_file_stats, wheel_pending)))
		err = -EDOM;
	if (!err && (after.wheel || fdinfo_number(fd, "wheel")))
		err = -EEXIST;
	err = err ?: configure(fd, &config);
	close(fd);
	return err;
}

/* A timeout that ended makes room for another one. */
static int reuse(int fd, __u64 id, __u64 held)
{
	struct hwheel_op op = { .op = HWHEEL_OP_ARM, .time_ns = NEVER };
	int err = cancel(fd, id) ?: await_held(fd, held - 1);

	err = err ?: arm(fd, NEVER, 0, NULL);
	if (err)
		return err;
	return submit(fd, &op, 1) == 1 && op.result == -ENOSPC ? 0 : -EPROTO;
}

static int other_arms(uid_t uid)
{
	int fd, err = become(0) ?: become(uid);

	fd = err ?: open_device(O_NONBLOCK);
	return fd < 0 ? fd : arm(fd, NEVER, 0, NULL);
}

static int reach_by_ids(void)
{
	const struct hwheel_config config = { .max_timeouts = MANY, .clock = CLOCK_MONOTONIC };
	int fd = open_device(O_NONBLOCK), err;
	__u64 n, id, limit, bytes;

	if (fd < 0)
		return fd;
	limit = bytes_of(fd) + 40 * page_size();
	err = set_limit(limit) ?: arm(fd, NEVER, 0, &id);
	if (err)
		return err;
	n = fill(fd, MANY, &err);
	bytes = bytes_of(fd);
	if (err != -ENOSPC || n < 38 * page_size() / 128 || n > 40 * page_size() / 128)
		return -ERANGE;
	if (bytes > limit || bytes + page_size() + 512 <= limit)
		return -EDOM;
	err = reuse(fd, id, n + 1) ?: arm_without_room();
	if (err)
		return err;
	if (configure(fd, &config) != -EBUSY && configure(fd, &config) != -EPERM)
		return -EPROTO;
	if (bytes_of(fd) != bytes)
		return -EXDEV;
	/* A higher limit counts at once. */
	err = set_limit(limit + page_size() + 512) ?: arm(fd, NEVER, 0, NULL);
	if (err)
		return err;
	close(fd);
	return is_empty();
}

TEST_F(bytes, reached_by_ids)
{
	EXPECT_EQ(0, IN_CHILD(become(USER) ?: reach_by_ids()));
}

/* No capability lifts it. */
TEST_F(bytes, reached_by_root)
{
	EXPECT_EQ(0, IN_CHILD(reach_by_ids()));
}

static int fill_and_ask_others(void)
{
	int fd = open_device(O_NONBLOCK), err;

	if (fd < 0)
		return fd;
	fill(fd, MANY, &err);
	if (err != -ENOSPC)
		return -EPROTO;
	err = IN_CHILD(other_arms(USER + 1)) ?: IN_CHILD(other_arms(0));
	return err ?: IN_CHILD(become(USER) ?: arm_without_room());
}

TEST_F(bytes, others_have_room)
{
	ASSERT_EQ(0, set_limit(40 * page_size()));
	EXPECT_EQ(0, IN_CHILD(setresuid(USER, USER, 0) ?: fill_and_ask_others()));
}

/* Returns 0 if MAP fails so, and the file could not be told from one without the call. */
static int map_in_vain(int fd, __u32 records, __u32 lists)
{
	struct hwheel_file_stats before, after;
	struct hwheel_map layout;
	int err = get_stats(fd, &before);

	if (!err && map_make(fd, records, lists, &layout) != -ENOSPC)
		err = -EPROTO;
	if (!err && (layout.records != records || layout.lists != lists || layout.size))
		err = -EFAULT;
	err = err ?: get_stats(fd, &after);
	if (!err && memcmp(&before, &after, offsetof(struct hwheel_file_stats, wheel_pending)))
		err = -EDOM;
	if (!err && before.account_bytes != after.account_bytes)
		err = -EXDEV;
	return err;
}

static int reach_by_map(void)
{
	const struct hwheel_config config = { .max_timeouts = 1000, .clock = CLOCK_MONOTONIC };
	const __u32 page = page_size() / sizeof(struct hwheel_map_record);
	int fd = open_device(O_NONBLOCK), err;
	struct hwheel_map layout;
	__u64 empty;

	if (fd < 0)
		return fd;
	err = set_limit(page_size()) ?: map_in_vain(fd, 1, 1) ?: configure(fd, &config);
	err = err ?: set_limit(MIB) ?: map_make(fd, 1, 1, &layout);
	if (err)
		return err;
	/* As the memory was on the first try, but for a page of records */
	empty = bytes_of(fd) - 2 * page_size();
	err = leave_room(2 * page_size()) ?: map_in_vain(fd, 2 * page, 0);
	if (err)
		return err;
	if (mmap(NULL, layout.size + page_size(), PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
		return -EEXIST;
	err = leave_room(3 * page_size()) ?: map_make(fd, page, 0, &layout);
	if (err)
		return err;
	if (layout.records != 2 * page)
		return -ERANGE;
	close(fd);

	/* All but the records fits. */
	fd = open_configured(O_NONBLOCK, &config);
	if (fd < 0)
		return fd;
	err = leave_room(empty) ?: map_in_vain(fd, 1, 1) ?: configure(fd, &config);
	close(fd);
	return err ?: is_empty();
}

TEST_F(bytes, reached_by_map)
{
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	EXPECT_EQ(0, IN_CHILD(become(USER) ?: reach_by_map()));
}

/* Returns 0 if CONFIG fails so and changes nothing. */
static int configure_in_vain(int fd, const struct hwheel_config *config)
{
	struct hwheel_info before, after;
	int err = get_info(fd, &before);

	if (!err && configure(fd, config) != -ENOSPC)
		err = -EPROTO;
	err = err ?: get_info(fd, &after);
	if (!err && memcmp(&before, &after, sizeof(before)))
		err = -EDOM;
	return err ?: bytes_of(fd) ? -EXDEV : 0;
}

/* Of tick and slots as large as may be, on three levels: 100 MB */
static int reach_by_config(void)
{
	const struct hwheel_config largest = {
		.tick_ns = 50000, .slots = 1048576, .levels = 8,
		.kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_MONOTONIC,
	};
	struct hwheel_config config = {
		.slots = 1024, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	__u64 wheels = parameter("max_user_wheels", 16), i;
	int fd = open_device(O_NONBLOCK), err;

	if (fd < 0)
		return fd;
	/* One level of them would fit. */
	err = set_limit(35 * MIB);
	for (i = 0; !err && i < 2 * wheels; i++)
		err = configure_in_vain(fd, &largest);
	if (!err && count_threads("/proc", "hwheel/p*"))
		err = -EEXIST;
	err = err ?: configure(fd, &config);
	if (!err && (bytes_of(fd) < 1024 * 32 || bytes_of(fd) > 1024 * 64))
		err = -ERANGE;
	err = err ?: leave_room(0) ?: arm(fd, NEVER, 0, NULL) == -ENOSPC ? 0 : -EPROTO;
	err = err ?: leave_room(MIB) ?: arm(fd, NEVER, 0, NULL);
	close(fd);
	return err ?: is_empty();
}

TEST_F(bytes, reached_by_config)
{
	ASSERT_LE(1, parameter("max_user_wheels", 16));
	EXPECT_EQ(0, IN_CHILD(become(USER) ?: reach_by_config()));
}

#define RACERS		4
#define RACE_ROUNDS	20
#define RACE_PAGES	30

static void *race_to_fill(void *barrier)
{
	int fd = open_device(O_NONBLOCK), err;
	long n;

	pthread_barrier_wait(barrier);
	n = fill(fd, MANY, &err);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	close(fd);
	return (void *)(err == -ENOSPC ? n : -1);
}

/* Together they get all pages that there is room for, and no more. */
static int race_once(void)
{
	const __u64 page = page_size();
	pthread_t threads[RACERS];
	pthread_barrier_t barrier;
	__u64 bytes;
	void *n;
	int i, ret = 0;

	pthread_barrier_init(&barrier, NULL, RACERS + 1);
	for (i = 0; i < RACERS; i++)
		if (pthread_create(&threads[i], NULL, race_to_fill, &barrier))
			return -EPROTO;
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	bytes = bytes_now();
	pthread_barrier_wait(&barrier);
	for (i = 0; i < RACERS; i++) {
		pthread_join(threads[i], &n);
		ret |= (long)n < 0;
	}
	if (ret || bytes > RACE_PAGES * page || bytes + page + 512 <= RACE_PAGES * page)
		return -EPROTO;
	return is_empty();
}

static int race(void)
{
	int i, err = set_limit(RACE_PAGES * page_size());

	for (i = 0; !err && i < RACE_ROUNDS; i++)
		err = race_once();
	return err;
}

TEST_F(bytes, counted_for_all_at_once)
{
	EXPECT_EQ(0, IN_CHILD(become(USER) ?: race()));
}

/* Holds all kinds of memory until it is killed. */
static int hold_all(int ready)
{
	const struct hwheel_config own = {
		.tick_ns = MSEC, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	int err = become(USER), fd;
	struct map m;

	fd = err ?: open_configured(O_NONBLOCK, &own);
	if (fd < 0)
		return fd;
	err = arm_many(fd, 1000, NEVER, NULL);
	if (!err && map_is_supported())
		err = map_open_shared(&m, 1000, 3);
	if (err || write(ready, "", 1) != 1)
		return err ?: -EPROTO;
	pause();
	return 0;
}

static int is_empty_user(void)
{
	return become(USER) ?: is_empty();
}

TEST_F(bytes, nothing_is_left_of_those_that_are_killed)
{
	int ready[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = START_CHILD(hold_all(ready[1]));
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(-EBUSY, IN_CHILD(is_empty_user()));
	EXPECT_EQ(0, kill_child(pid));
	EXPECT_EQ(0, IN_CHILD(is_empty_user()));
	EXPECT_EQ(0, close(ready[0]));
	EXPECT_EQ(0, close(ready[1]));
}

TEST_HARNESS_MAIN
