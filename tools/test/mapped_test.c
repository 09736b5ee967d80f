// SPDX-License-Identifier: GPL-2.0-only
/*
 * libhwheel: mapped timeouts. The promises of each operation are tested in libhwheel_test.c; this
 * is about ids, records, threads and processes. It knows the library's own headers, to look at
 * addresses and to use up generations. Needs a loaded module.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "libhwheel/record.h"

#define MSEC	1000000ULL
#define HOUR	(3600000 * MSEC)
#define MANY	1000
#define COOKIE	77

/* The library calls the kernel by these three, and a test may have them refuse. */

static uint32_t most_records = UINT32_MAX;
static int refusal = EDQUOT;	/* of more than that */
static unsigned int map_calls;
static uint32_t version = HWHEEL_MAP_VERSION;
static bool shares = true, moves = true;
static char *others;	/* memory of another thread */

__typeof__(ioctl) __real_ioctl, __wrap_ioctl;
/* With offsets of 64 bits, mmap() is mmap64(). */
__typeof__(mmap) __real_mmap64, __wrap_mmap64;
__typeof__(mremap) __real_mremap, __wrap_mremap;

int __wrap_ioctl(int fd, unsigned long command, ...)
{
	struct hwheel_map *layout;
	va_list arguments;
	int ret;

	va_start(arguments, command);
	layout = va_arg(arguments, void *);
	va_end(arguments);
	map_calls += command == HWHEEL_IOC_MAP;
	if (command == HWHEEL_IOC_MAP && layout->records > most_records) {
		errno = refusal;
		return -1;
	}
	ret = __real_ioctl(fd, command, layout);
	if (command == HWHEEL_IOC_MAP && !ret)
		layout->version = version;
	return ret;
}

/* The kernel removes the old mapping before it refuses the new one. Anybody may get the place. */
static void *refuse(void *at, size_t size)
{
	if (at) {
		munmap(at, size);
		others = __real_mmap64(at, size, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		others[0] = COOKIE;
	}
	errno = ENOMEM;
	return MAP_FAILED;
}

void *__wrap_mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (shares || !(flags & MAP_SHARED))
		return __real_mmap64(at, size, prot, flags, fd, offset);
	return refuse(at, size);
}

void *__wrap_mremap(void *from, size_t old_size, size_t size, int flags, ...)
{
	va_list arguments;
	void *at;

	va_start(arguments, flags);
	at = va_arg(arguments, void *);
	va_end(arguments);
	return moves ? __real_mremap(from, old_size, size, flags, at) : refuse(at, size);
}

/* The library's clock, in simulated time; 0: it is the machine's */
static uint64_t simulated_ns;

__typeof__(clock_gettime) __real_clock_gettime, __wrap_clock_gettime;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!simulated_ns)
		return __real_clock_gettime(clock, now);
	*now = (struct timespec){
		.tv_sec = (time_t)(simulated_ns / 1000000000U),
		.tv_nsec = (long)(simulated_ns % 1000000000U),
	};
	return 0;
}

FIXTURE(mapped) {
	struct hwheel *wheel;
};

FIXTURE_SETUP(mapped)
{
	ASSERT_EQ(0, hwheel_open(&self->wheel, HWHEEL_NONBLOCK));
	ASSERT_EQ(0, hwheel_map(self->wheel, MANY));
}

FIXTURE_TEARDOWN(mapped)
{
	EXPECT_EQ(0, hwheel_close(self->wheel));
}

static int next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	struct pollfd poll_fd = { .fd = hwheel_fd(wheel), .events = POLLIN };
	int n;

	while ((n = hwheel_next_events(wheel, events, count)) == -EAGAIN)
		poll(&poll_fd, 1, -1);
	return n;
}

static struct hwheel_event next_event(struct hwheel *wheel)
{
	struct hwheel_event event = { 0 };

	next_events(wheel, &event, 1);
	return event;
}

static uint32_t offset_of_id(uint64_t number)
{
	union id id = { number };

	return id.offset;
}

/* How many records are pending */
static uint64_t count_pending(const struct map *map)
{
	uint64_t n = 0;

	for (uint32_t at = RECORD_SIZE; at < map->size; at += RECORD_SIZE)
		n += (load_word((void *)(map->base + at)) & HWHEEL_MAP_STATE) == HWHEEL_MAP_PENDING;
	return n;
}

/* Making a map */

TEST_F(mapped, no_second_handle_maps_the_file)
{
	struct hwheel *other;

	ASSERT_EQ(0, hwheel_open_fd(&other, dup(hwheel_fd(self->wheel))));
	EXPECT_EQ(-EBUSY, hwheel_map(other, MANY));
	EXPECT_EQ(0, hwheel_close(other));
}

/* Nor does it take room from the first one. */
TEST_F(mapped, a_second_handle_takes_no_room)
{
	struct hwheel *other;
	struct hwheel_info info;
	uint64_t id;

	ASSERT_EQ(0, hwheel_info(self->wheel, &info));
	ASSERT_EQ(0, hwheel_open_fd(&other, dup(hwheel_fd(self->wheel))));
	EXPECT_EQ(-EBUSY, hwheel_map(other, info.max_timeouts / 2));
	EXPECT_EQ(0, hwheel_close(other));
	for (unsigned int i = 0; i < info.max_timeouts; i++)
		ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, i, &id));
}

/* The kernel has made it: the next call maps that. */
TEST_F(mapped, what_was_made_is_mapped_later)
{
	struct hwheel *wheel;
	uint64_t id;

	ASSERT_EQ(0, hwheel_open(&wheel, 0));
	shares = false;
	EXPECT_EQ(-ENOMEM, hwheel_map(wheel, MANY));
	EXPECT_EQ(-ENOMEM, hwheel_map(wheel, MANY));
	EXPECT_EQ(-EOPNOTSUPP, hwheel_arm(wheel, 1, COOKIE, &id));
	shares = true;
	ASSERT_EQ(0, hwheel_map(wheel, MANY));
	ASSERT_EQ(0, hwheel_arm(wheel, 1, COOKIE, &id));
	EXPECT_EQ(COOKIE, next_event(wheel).cookie);
	EXPECT_EQ(0, hwheel_close(wheel));
}

TEST_F(mapped, others_than_read_write_cannot_be_mapped)
{
	struct hwheel *wheel;
	int fd = open(HWHEEL_DEVICE, O_WRONLY);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, hwheel_open_fd(&wheel, fd));
	EXPECT_EQ(-EBADF, hwheel_map(wheel, MANY));
	EXPECT_EQ(0, hwheel_close(wheel));
}

TEST_F(mapped, simple_wheels_cannot_be_mapped)
{
	const struct hwheel_config config = {
		.kind = HWHEEL_KIND_SIMPLE, .tick_ns = MSEC, .slots = 8192,
		.clock = CLOCK_MONOTONIC,
	};
	struct hwheel *wheel;
	uint64_t id;

	ASSERT_EQ(0, hwheel_open(&wheel, 0));
	ASSERT_EQ(0, hwheel_configure(wheel, &config));
	EXPECT_EQ(-EOPNOTSUPP, hwheel_map(wheel, MANY));
	EXPECT_EQ(0, hwheel_arm(wheel, MSEC, 1, &id));
	EXPECT_EQ(id, next_event(wheel).id);
	EXPECT_EQ(0, hwheel_close(wheel));
}

/* Such a handle does not work as before. */
TEST_F(mapped, other_versions_cannot_be_mapped)
{
	struct hwheel *wheel;
	uint64_t id;

	ASSERT_EQ(0, hwheel_open(&wheel, 0));
	version++;
	EXPECT_EQ(-EPROTONOSUPPORT, hwheel_map(wheel, MANY));
	EXPECT_EQ(-EPROTONOSUPPORT, hwheel_map(wheel, MANY));
	EXPECT_EQ(-EOPNOTSUPP, hwheel_arm(wheel, MSEC, 1, &id));
	EXPECT_EQ(0, hwheel_close(wheel));
}

TEST_F(mapped, own_wheel)
{
	const struct hwheel_config config = {
		.kind = HWHEEL_KIND_HASHED, .tick_ns = MSEC, .clock = CLOCK_BOOTTIME,
	};
	struct hwheel_event event;
	struct hwheel *wheel;
	uint64_t id;

	EXPECT_EQ(-EBUSY, hwheel_configure(self->wheel, &config));
	ASSERT_EQ(0, hwheel_open(&wheel, 0));
	ASSERT_EQ(0, hwheel_configure(wheel, &config));
	ASSERT_EQ(0, hwheel_map(wheel, 1));
	ASSERT_EQ(0, hwheel_arm(wheel, MSEC, 1, &id));
	event = next_event(wheel);
	EXPECT_EQ(id, event.id);
	EXPECT_LE(event.fired_ns, hwheel_now(wheel));
	EXPECT_EQ(0, hwheel_close(wheel));
}

/* Ids */

TEST_F(mapped, stale_ids_name_nothing)
{
	uint64_t deadline = hwheel_now(self->wheel) + HOUR, stale, id;

	ASSERT_EQ(0, hwheel_arm_at(self->wheel, deadline, 1, &stale));
	ASSERT_EQ(0, hwheel_cancel(self->wheel, stale));
	/* The record that was freed last is used first. */
	ASSERT_EQ(0, hwheel_arm_at(self->wheel, deadline, 2, &id));
	ASSERT_EQ(offset_of_id(stale), offset_of_id(id));
	EXPECT_NE(stale, id);
	EXPECT_EQ(-ENOENT, hwheel_cancel(self->wheel, stale));
	EXPECT_EQ(-ENOENT, hwheel_refresh(self->wheel, stale, 2 * HOUR));
	EXPECT_EQ(-ENOENT, hwheel_refresh(self->wheel, stale, 0));
	EXPECT_EQ(-ENOENT, hwheel_query(self->wheel, stale, NULL, NULL));
	EXPECT_EQ(0, hwheel_cancel(self->wheel, id));
	EXPECT_EQ(-ENOENT, hwheel_cancel(self->wheel, id));
}

TEST_F(mapped, stale_ids_of_expired_ones)
{
	uint64_t stale, id;

	ASSERT_EQ(0, hwheel_arm(self->wheel, 0, 1, &stale));
	ASSERT_EQ(stale, next_event(self->wheel).id);
	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 2, &id));
	ASSERT_EQ(offset_of_id(stale), offset_of_id(id));
	EXPECT_EQ(-ENOENT, hwheel_cancel(self->wheel, stale));
	EXPECT_EQ(-ENOENT, hwheel_refresh(self->wheel, stale, HOUR));
	EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, id, NULL, NULL));
}

/* Offsets within records, whatever is there */
TEST_F(mapped, no_id_is_within_a_record)
{
	const uint32_t generations[] = { 0, 1, 4, 5, 6, 9 };
	union id id, other;
	unsigned int known = 0;
	uint64_t number;

	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 0, &number));
	id.number = number;
	for (uint32_t offset = 0; offset < 8192; offset++)
		for (size_t i = 0; i < ARRAY_SIZE(generations); i++) {
			other.offset = offset;
			other.generation = generations[i];
			if (other.number == id.number)
				continue;
			known += hwheel_cancel(self->wheel, other.number) != -ENOENT;
			known += hwheel_refresh(self->wheel, other.number, 2 * HOUR) != -ENOENT;
			known += hwheel_query(self->wheel, other.number, NULL, NULL) != -ENOENT;
		}
	EXPECT_EQ(0, known);
	EXPECT_EQ(0, hwheel_cancel(self->wheel, number));
}

/*
 * The ids in a lane's magazine are those that the records had last. After the last generation comes
 * the first one, and the record goes on.
 */
TEST_F(mapped, generations_wrap)
{
	uint64_t ids[8];
	union id id;

	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 1, &ids[0]));
	ASSERT_EQ(0, hwheel_cancel(self->wheel, ids[0]));
	(*slot_of(self->wheel))->top[-1].generation = LAST_GENERATION - 3 * GENERATION_STEP;
	for (unsigned int i = 0; i < 8; i++) {
		uint64_t none = 0;

		/* By each of the ways to arm */
		ASSERT_EQ(0, i % 2 ? hwheel_arm(self->wheel, HOUR, i, &none) :
				     hwheel_set(self->wheel, &none, HOUR, i));
		ids[i] = none;
		id.number = none;
		EXPECT_EQ(LAST_GENERATION + (i - 2) * GENERATION_STEP, id.generation);
		EXPECT_EQ(offset_of_id(ids[0]), id.offset);
		for (unsigned int k = 0; k < i; k++)
			EXPECT_EQ(-ENOENT, hwheel_cancel(self->wheel, ids[k]));
		/* By each of the ways to end */
		if (i % 4 == 3) {
			ASSERT_EQ(0, hwheel_refresh(self->wheel, ids[i], 0));
			EXPECT_EQ(ids[i], next_event(self->wheel).id);
		} else {
			ASSERT_EQ(0, hwheel_cancel(self->wheel, ids[i]));
		}
	}
}

/* Months of it: each record is used up many times over, and none is lost to max_timeouts. */
TEST_F(mapped, wrapped_records_are_not_lost)
{
	static uint64_t ids[MANY];
	const uint32_t size = self->wheel->map->size;
	const struct lane *lane;
	uint64_t n;

	for (int round = 0; round < 10; round++) {
		for (n = 0; n < MANY / 2; n++)
			ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, n, &ids[n]));
		lane = *slot_of(self->wheel);
		ASSERT_EQ(MANY / 2, count_pending(lane->map));
		for (n = 0; n < MANY / 2; n++) {
			union id id = { ids[n] };
			struct hwheel_map_record *record = record_at(lane, id.offset);

			/* As if it had been armed so often */
			id.generation = LAST_GENERATION - n % 3 * GENERATION_STEP;
			record->generation = id.generation;
			record->word = (record->word & ~(uint64_t)TAG) |
				       (id.generation << 2 & TAG);
			ASSERT_EQ(0, hwheel_cancel(self->wheel, id.number));
		}
	}
	EXPECT_EQ(size, lane->map->size);
}

/* Deadlines */

TEST_F(mapped, deadlines_far_away_mean_never)
{
	const uint64_t far[] = {
		UINT64_MAX, UINT64_MAX - 1, 1ULL << 63, (1ULL << 63) - 1, HWHEEL_MAP_NEVER,
		HWHEEL_MAP_NEVER - 1023, HWHEEL_MAP_NEVER - 1024, HWHEEL_MAP_NEVER - 1025,
	};
	struct hwheel_event event;
	uint64_t id, other, left;

	for (size_t i = 0; i < ARRAY_SIZE(far); i++) {
		ASSERT_EQ(0, hwheel_arm_at(self->wheel, far[i], i, &id));
		ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, i, &other));
		EXPECT_EQ(0, hwheel_refresh_at(self->wheel, other, far[i]));
		EXPECT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, other, &left, NULL));
		EXPECT_GT(left, 200ULL * 365 * 24 * HOUR);
	}
	ASSERT_EQ(0, hwheel_arm(self->wheel, 30 * MSEC, 100, &id));
	event = next_event(self->wheel);
	EXPECT_EQ(100, event.cookie);
	EXPECT_EQ(-EAGAIN, hwheel_next_events(self->wheel, &event, 1));
}

/*
 * Those of one edge and one thread come in the order of arming. The worker has time to file them
 * all before the edge, without which it need not keep the order.
 */
TEST_F(mapped, order_within_an_edge)
{
	uint64_t deadline = hwheel_now(self->wheel) + 300 * MSEC, id;
	struct hwheel_event events[MANY];
	int n = 0;

	for (int i = 0; i < MANY; i++)
		ASSERT_EQ(0, hwheel_arm_at(self->wheel, deadline, i, &id));
	while (n < MANY)
		n += next_events(self->wheel, events + n, MANY - n);
	for (int i = 0; i < MANY; i++)
		ASSERT_EQ(i, events[i].cookie);
}

/* Room */

/* Arms as many as there is room for, and returns why no more, or 0 if @most are armed. */
static int arm_up_to(struct hwheel *wheel, uint64_t most, uint64_t *n)
{
	uint64_t id;
	int error = 0;

	for (*n = 0; !error && *n < most; ++*n)
		error = hwheel_arm(wheel, HOUR, *n, &id);
	*n -= !!error;
	return error;
}

/* Where there is no room for twice as many, there may be for some, whatever is short. */
TEST_F(mapped, grows_by_what_there_is)
{
	static const int refusals[] = { ENOMEM, ENOSPC, EDQUOT };
	uint64_t n;

	for (int i = 0; i < 3; i++) {
		refusal = refusals[i];
		most_records = 300;
		EXPECT_EQ(0, arm_up_to(self->wheel, 10 * MANY, &n));
		most_records = 0;
		EXPECT_EQ(-refusal, arm_up_to(self->wheel, UINT32_MAX, &n));
	}
}

/* The address space stays the library's. */
TEST_F(mapped, growth_that_fails_leaves_no_hole)
{
	const struct map *map = self->wheel->map;
	uint64_t n;
	void *at;

	shares = false;
	EXPECT_EQ(-ENOMEM, arm_up_to(self->wheel, 10 * MANY, &n));
	EXPECT_EQ(NULL, others);
	at = map->base + map->size;
	EXPECT_EQ(MAP_FAILED, mmap(at, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
				   MAP_FIXED_NOREPLACE, -1, 0));
	EXPECT_EQ(EEXIST, errno);
	shares = true;
	EXPECT_EQ(0, arm_up_to(self->wheel, 10 * MANY, &n));
}

/* Where there is a hole all the same, another thread's memory may be in it. */
TEST_F(mapped, no_growth_into_memory_of_others)
{
	struct hwheel *wheel;
	uint64_t n;

	ASSERT_EQ(0, hwheel_open(&wheel, HWHEEL_NONBLOCK));
	ASSERT_EQ(0, hwheel_map(wheel, MANY));
	moves = false;
	EXPECT_EQ(-ENOMEM, arm_up_to(wheel, 10 * MANY, &n));
	moves = true;
	ASSERT_NE(NULL, others);
	EXPECT_EQ(-ENOMEM, arm_up_to(wheel, 10 * MANY, &n));
	EXPECT_EQ(-ENOMEM, hwheel_map(wheel, MANY));
	EXPECT_EQ(COOKIE, others[0]);
	EXPECT_EQ(0, hwheel_close(wheel));
	EXPECT_EQ(COOKIE, others[0]);
}

/* Nor does the first call keep the place, or give it back. */
TEST_F(mapped, no_map_over_memory_of_others)
{
	struct hwheel *wheel;
	uint64_t id;

	ASSERT_EQ(0, hwheel_open(&wheel, HWHEEL_NONBLOCK));
	moves = false;
	EXPECT_EQ(-ENOMEM, hwheel_map(wheel, MANY));
	moves = true;
	ASSERT_NE(NULL, others);
	EXPECT_EQ(COOKIE, others[0]);
	ASSERT_EQ(0, hwheel_map(wheel, MANY));
	ASSERT_EQ(0, hwheel_arm(wheel, 1, COOKIE, &id));
	EXPECT_EQ(COOKIE, next_event(wheel).cookie);
	EXPECT_EQ(0, hwheel_close(wheel));
	EXPECT_EQ(COOKIE, others[0]);
}

/* Threads */

static void *arm_one(void *data)
{
	struct hwheel *wheel = data;
	uint64_t *id = malloc(sizeof(*id));

	if (id && hwheel_arm(wheel, HOUR, 1, id))
		*id = 0;
	return id;
}

static uint64_t arm_in_a_thread(struct hwheel *wheel)
{
	pthread_t thread;
	uint64_t id = 0;
	void *result;

	if (pthread_create(&thread, NULL, arm_one, wheel) || pthread_join(thread, &result))
		return 0;
	if (result)
		id = *(uint64_t *)result;
	free(result);
	return id;
}

/* Their free records are not lost. */
TEST_F(mapped, threads_that_end)
{
	struct hwheel_info info;
	uint64_t id;

	ASSERT_EQ(0, hwheel_info(self->wheel, &info));
	for (int i = 0; i < 3000; i++) {
		id = arm_in_a_thread(self->wheel);
		ASSERT_NE(0, id);
		ASSERT_EQ(0, hwheel_cancel(self->wheel, id));
	}
	EXPECT_GE(4, self->wheel->map->nr_lanes);
	for (unsigned int i = 0; i < info.max_timeouts; i++)
		ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, i, &id));
	EXPECT_EQ(-ENOSPC, hwheel_arm(self->wheel, HOUR, 0, &id));
}

#define CROWD		150
#define CROWD_ROOM	8192

struct crowd {
	struct hwheel *wheel;
	pthread_barrier_t all_armed;
	int error;
};

static void *arm_in_crowd(void *data)
{
	struct crowd *crowd = data;
	uint64_t id;
	int error = hwheel_arm(crowd->wheel, HOUR, 1, &id);

	if (error)
		__atomic_store_n(&crowd->error, error, __ATOMIC_RELAXED);
	pthread_barrier_wait(&crowd->all_armed);
	return NULL;
}

static void run_crowd(struct __test_metadata *_metadata, struct crowd *crowd,
		      void *(*run)(void *crowd), unsigned int nr)
{
	pthread_t threads[CROWD];

	ASSERT_EQ(0, pthread_barrier_init(&crowd->all_armed, NULL, nr));
	for (unsigned int i = 0; i < nr; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, run, crowd));
	for (unsigned int i = 0; i < nr; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(0, pthread_barrier_destroy(&crowd->all_armed));
}

/* None takes so much for itself that others find nothing, and when they end, all is there again. */
TEST_F(mapped, many_threads_share_the_room)
{
	struct hwheel_config config = {
		.kind = HWHEEL_KIND_DEFAULT, .max_timeouts = CROWD_ROOM, .clock = CLOCK_MONOTONIC,
	};
	struct crowd crowd = { .error = 0 };
	uint64_t n;

	ASSERT_EQ(0, hwheel_open(&crowd.wheel, 0));
	ASSERT_EQ(0, hwheel_configure(crowd.wheel, &config));
	ASSERT_EQ(0, hwheel_map(crowd.wheel, CROWD_ROOM));
	run_crowd(_metadata, &crowd, arm_in_crowd, CROWD);
	EXPECT_EQ(0, crowd.error);
	EXPECT_EQ(-ENOSPC, arm_up_to(crowd.wheel, UINT32_MAX, &n));
	EXPECT_EQ(CROWD_ROOM - CROWD, n);
	EXPECT_EQ(0, hwheel_close(crowd.wheel));
}

/* Records that threads which ended have used are taken before the map grows. */

#define USERS		4
#define USERS_ROOM	4096
#define USED		800

static void *use_some(void *data)
{
	struct crowd *crowd = data;
	uint64_t ids[USED];
	int error = 0;

	for (int i = 0; i < USED; i++)
		error = hwheel_arm(crowd->wheel, HOUR, i, &ids[i]) ?: error;
	pthread_barrier_wait(&crowd->all_armed);
	for (int i = 0; i < USED; i++)
		error = hwheel_cancel(crowd->wheel, ids[i]) ?: error;
	if (error)
		__atomic_store_n(&crowd->error, error, __ATOMIC_RELAXED);
	return NULL;
}

static unsigned int home_of_id(const struct map *map, uint64_t id)
{
	return map->homes[(offset_of_id(id) - RECORD_SIZE) / GROUP_SIZE];
}

TEST_F(mapped, no_growth_while_orphans_have_records)
{
	struct crowd crowd = { .error = 0 };
	uint64_t ids[USERS_ROOM];
	const struct map *map;
	uint32_t size;

	ASSERT_EQ(0, hwheel_open(&crowd.wheel, 0));
	ASSERT_EQ(0, hwheel_map(crowd.wheel, USERS_ROOM));
	map = crowd.wheel->map;
	size = map->size;
	run_crowd(_metadata, &crowd, use_some, USERS);
	ASSERT_EQ(0, crowd.error);
	for (int i = 0; i < USERS_ROOM; i++)
		ASSERT_EQ(0, hwheel_arm(crowd.wheel, HOUR, i, &ids[i]));
	EXPECT_EQ(size, map->size);
	/* They are the thread's own from then on. */
	for (int i = 0; i < USERS_ROOM; i++)
		ASSERT_EQ((*slot_of(crowd.wheel))->number, home_of_id(map, ids[i]));
	EXPECT_EQ(0, hwheel_close(crowd.wheel));
}

/* A lane's range has no records that others have taken, so it keeps none of theirs. */

static int count_strangers(struct hwheel *wheel)
{
	const struct lane *lane = *slot_of(wheel);
	int strangers = 0;

	for (uint32_t offset = RECORD_SIZE; offset < lane->map->size; offset += RECORD_SIZE) {
		union id id = { .offset = offset };

		strangers += lane_is_home(lane, offset) &&
			     home_of_id(lane->map, id.number) != lane->number;
	}
	return strangers;
}

static void *arm_and_count_strangers(void *data)
{
	struct hwheel *wheel = data;
	uint64_t id;

	return (void *)(intptr_t)(hwheel_arm(wheel, HOUR, 1, &id) ? -1 : count_strangers(wheel));
}

TEST_F(mapped, an_orphans_range_shrinks)
{
	uint64_t id = 0;
	pthread_t thread;
	void *strangers;

	/* The thread has a lane, so that it does not get the other one's. */
	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 1, &id));
	ASSERT_NE(0, arm_in_a_thread(self->wheel));
	for (int i = 0; i < MANY - 10; i++)
		ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, i, &id));
	EXPECT_EQ(0, count_strangers(self->wheel));
	ASSERT_EQ(0, pthread_create(&thread, NULL, arm_and_count_strangers, self->wheel));
	ASSERT_EQ(0, pthread_join(thread, &strangers));
	EXPECT_EQ(NULL, strangers);
}

struct robbed {
	struct hwheel *wheel;
	pthread_barrier_t turn;
	int error, strangers;
};

static void *be_robbed(void *data)
{
	struct robbed *robbed = data;
	uint64_t id;

	robbed->error = hwheel_arm(robbed->wheel, HOUR, 1, &id);
	pthread_barrier_wait(&robbed->turn);
	pthread_barrier_wait(&robbed->turn);
	/* Until it has looked for more */
	for (int i = 0; i < GROUP && !robbed->error; i++)
		robbed->error = hwheel_arm(robbed->wheel, HOUR, i, &id);
	robbed->strangers = count_strangers(robbed->wheel);
	return NULL;
}

TEST_F(mapped, a_range_shrinks)
{
	const struct hwheel_config config = { .clock = CLOCK_MONOTONIC, .max_timeouts = MANY };
	struct robbed robbed = { 0 };
	pthread_t thread;
	uint64_t n;

	ASSERT_EQ(0, hwheel_open(&robbed.wheel, 0));
	ASSERT_EQ(0, hwheel_configure(robbed.wheel, &config));
	ASSERT_EQ(0, hwheel_map(robbed.wheel, MANY));
	ASSERT_EQ(0, pthread_barrier_init(&robbed.turn, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, be_robbed, &robbed));
	pthread_barrier_wait(&robbed.turn);
	EXPECT_EQ(0, arm_up_to(robbed.wheel, MANY - 2 * GROUP, &n));
	pthread_barrier_wait(&robbed.turn);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, robbed.error);
	EXPECT_EQ(0, robbed.strangers);
	EXPECT_EQ(0, hwheel_close(robbed.wheel));
}

/* Records that a thread had taken, and never armed */
TEST_F(mapped, records_that_were_never_armed)
{
	uint64_t ids[100];

	ASSERT_NE(0, arm_in_a_thread(self->wheel));
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 100; i++)
			ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, i, &ids[i]));
		for (int i = 0; i < 100; i++)
			ASSERT_EQ(0, hwheel_cancel(self->wheel, ids[i]));
	}
	ASSERT_EQ(0, hwheel_arm(self->wheel, 1, 0, &ids[0]));
	EXPECT_EQ(ids[0], next_event(self->wheel).id);
}

/* One thread arms, and another one cancels, at the limit: magazines go from lane to lane. */

#define HANDED	10000

struct hand {
	struct hwheel *wheel;
	uint64_t id;	/* 0: none */
	int wrong;
};

static void *arm_for_others(void *data)
{
	struct hand *hand = data;
	uint64_t id;
	int error;

	for (int i = 0; i < HANDED; i++) {
		while ((error = hwheel_arm(hand->wheel, HOUR, COOKIE, &id)) == -ENOSPC)
			sched_yield();
		hand->wrong += !!error;
		while (__atomic_load_n(&hand->id, __ATOMIC_ACQUIRE))
			sched_yield();
		__atomic_store_n(&hand->id, id, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *ask_for_others(void *data)
{
	struct hand *hand = data;
	uint64_t id, cookie;
	int state;

	while ((id = __atomic_load_n(&hand->id, __ATOMIC_ACQUIRE)) != UINT64_MAX) {
		state = id ? hwheel_query(hand->wheel, id, NULL, &cookie) : -ENOENT;
		if (state != -ENOENT && (state != HWHEEL_STATE_PENDING || cookie != COOKIE))
			__atomic_fetch_add(&hand->wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void cancel_each(struct hand *hand)
{
	uint64_t id;

	for (int i = 0; i < HANDED; i++) {
		while (!(id = __atomic_load_n(&hand->id, __ATOMIC_ACQUIRE)))
			sched_yield();
		hand->wrong += !!hwheel_cancel(hand->wheel, id);
		__atomic_store_n(&hand->id, 0, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&hand->id, UINT64_MAX, __ATOMIC_RELEASE);
}

TEST_F(mapped, one_arms_and_another_cancels)
{
	const struct hwheel_config config = {
		.clock = CLOCK_MONOTONIC, .max_timeouts = 2 * MANY,
	};
	struct hand hand = { 0 };
	pthread_t threads[2];
	uint64_t ids[MANY];

	ASSERT_EQ(0, hwheel_open(&hand.wheel, 0));
	ASSERT_EQ(0, hwheel_configure(hand.wheel, &config));
	ASSERT_EQ(0, hwheel_map(hand.wheel, 2 * MANY));
	/* Most records are at home here. */
	for (int i = 0; i < MANY; i++)
		ASSERT_EQ(0, hwheel_arm(hand.wheel, HOUR, i, &ids[i]));
	for (int i = 0; i < MANY; i++)
		ASSERT_EQ(0, hwheel_cancel(hand.wheel, ids[i]));
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, arm_for_others, &hand));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, ask_for_others, &hand));
	cancel_each(&hand);
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(0, hand.wrong);
	EXPECT_LE(hand.wheel->map->nr_magazines, 3 * MANY / 100);
	EXPECT_EQ(0, hwheel_close(hand.wheel));
}

/* A thread keeps its lane while another one closes the wheel, and opens others. */
struct relay {
	pthread_barrier_t turn;
	struct hwheel *wheel;
	int wrong;
};

static void *use_each(void *data)
{
	struct relay *relay = data;
	uint64_t id;

	for (int i = 0; i < 100; i++) {
		pthread_barrier_wait(&relay->turn);
		relay->wrong += hwheel_arm(relay->wheel, HOUR, i, &id) ||
				hwheel_cancel(relay->wheel, id);
		pthread_barrier_wait(&relay->turn);
	}
	return NULL;
}

TEST_F(mapped, wheels_that_are_closed)
{
	struct relay relay = { 0 };
	pthread_t thread;

	ASSERT_EQ(0, pthread_barrier_init(&relay.turn, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, use_each, &relay));
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(0, hwheel_open(&relay.wheel, 0));
		EXPECT_EQ(0, hwheel_map(relay.wheel, 1));
		pthread_barrier_wait(&relay.turn);
		pthread_barrier_wait(&relay.turn);
		EXPECT_EQ(0, hwheel_close(relay.wheel));
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, relay.wrong);
	pthread_barrier_destroy(&relay.turn);
}

/* One call for each page, which then comes to be enough for twice as many. */
TEST_F(mapped, grows_faster_again)
{
	const struct map *map = self->wheel->map;
	uint64_t n;

	most_records = 0;
	EXPECT_EQ(-EDQUOT, arm_up_to(self->wheel, UINT32_MAX, &n));
	most_records = UINT32_MAX;
	map_calls = 0;
	EXPECT_EQ(0, arm_up_to(self->wheel, 16 * MANY, &n));
	EXPECT_GE(10, map_calls);
	EXPECT_LE(16 * MANY * RECORD_SIZE, map->size);
}

/* A thread that has free records, and another one that needs them */

static void *hold_some(void *data)
{
	struct relay *relay = data;
	uint64_t ids[MANY / 2];

	for (int i = 0; i < MANY / 2; i++)
		relay->wrong += !!hwheel_arm(relay->wheel, HOUR, i, &ids[i]);
	for (int i = 0; i < MANY / 2; i++)
		relay->wrong += !!hwheel_cancel(relay->wheel, ids[i]);
	pthread_barrier_wait(&relay->turn);
	pthread_barrier_wait(&relay->turn);
	return NULL;
}

TEST_F(mapped, growth_that_fails_takes_few_calls)
{
	struct relay relay = { .wheel = self->wheel };
	pthread_t thread;
	uint64_t n, id;

	ASSERT_EQ(0, pthread_barrier_init(&relay.turn, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, hold_some, &relay));
	pthread_barrier_wait(&relay.turn);
	most_records = 0;
	map_calls = 0;
	EXPECT_EQ(-EDQUOT, arm_up_to(self->wheel, UINT32_MAX, &n));
	/* Half as many each time, and a page again once the other thread has none left */
	EXPECT_GE(6, map_calls);
	EXPECT_LE(MANY - 285, n);
	map_calls = 0;
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(-EDQUOT, hwheel_arm(self->wheel, HOUR, i, &id));
	EXPECT_GE(10, map_calls);
	pthread_barrier_wait(&relay.turn);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, relay.wrong);
}

/* More than a thread has slots */
TEST_F(mapped, many_wheels)
{
	struct hwheel *wheels[2 * SLOTS];
	uint64_t ids[2 * SLOTS];

	for (int i = 0; i < 2 * SLOTS; i++) {
		ASSERT_EQ(0, hwheel_open(&wheels[i], 0));
		ASSERT_EQ(0, hwheel_map(wheels[i], 1));
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2 * SLOTS; i++)
			ASSERT_EQ(0, hwheel_arm(wheels[i], HOUR, i, &ids[i]));
		for (int i = 0; i < 2 * SLOTS; i++)
			ASSERT_EQ(0, hwheel_cancel(wheels[i], ids[i]));
		for (int i = 0; i < 2 * SLOTS; i++) {
			ASSERT_EQ(0, hwheel_arm(wheels[i], 0, i, &ids[i]));
			ASSERT_EQ(i, next_event(wheels[i]).cookie);
		}
	}
	for (int i = 0; i < 2 * SLOTS; i++)
		EXPECT_EQ(0, hwheel_close(wheels[i]));
}

/* Threads that use different lists write no common line: each arms, and cancels what both armed. */

#define LINES	4096
#define PAGES	1024

struct writer {
	struct hwheel *wheel;
	pthread_barrier_t *turn;
	const uint64_t *others;
	uint64_t ids[LINES];
	struct lane *lane;
	bool pages[PAGES];	/* of magazines that were loaded */
	int failed;
};

static void note_page(struct writer *writer)
{
	const struct lane *lane = *slot_of(writer->wheel);
	size_t magazine = (struct magazine *)(lane->top - 1) - lane->map->magazines;

	writer->pages[magazine / MAGAZINES] = true;
}

static void arm_all(struct writer *writer)
{
	for (int i = 0; i < LINES; i++) {
		writer->failed += !!hwheel_arm(writer->wheel, HOUR, i, &writer->ids[i]);
		note_page(writer);
	}
}

static void *write_lines(void *data)
{
	struct writer *writer = data;

	arm_all(writer);
	writer->lane = *slot_of(writer->wheel);
	for (int round = 0; round < 3; round++) {
		pthread_barrier_wait(writer->turn);
		for (int i = 0; i < LINES; i++) {
			writer->failed += !!hwheel_cancel(writer->wheel, writer->others[i]);
			note_page(writer);
		}
		pthread_barrier_wait(writer->turn);
		arm_all(writer);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return (first > second) - (first < second);
}

/* The first record begins a page. */
static uint32_t line_of(uint64_t id)
{
	return (offset_of_id(id) - RECORD_SIZE) / LINE;
}

/* How many of one's lines are the other one's, too */
static int count_common(const struct writer writers[2])
{
	uint32_t lines[LINES];
	int common = 0;

	for (int i = 0; i < LINES; i++)
		lines[i] = line_of(writers[0].ids[i]);
	qsort(lines, LINES, sizeof(lines[0]), compare);
	for (int i = 0; i < LINES; i++) {
		uint32_t line = line_of(writers[1].ids[i]);

		common += !!bsearch(&line, lines, LINES, sizeof(lines[0]), compare);
	}
	return common;
}

static int count_common_pages(const struct writer writers[2])
{
	int common = 0;

	for (int i = 0; i < PAGES; i++)
		common += writers[0].pages[i] && writers[1].pages[i];
	return common;
}

TEST_F(mapped, threads_write_no_common_line)
{
	struct map *map = self->wheel->map;
	struct writer writers[2] = { 0 };
	pthread_barrier_t turn;
	pthread_t threads[2];

	ASSERT_EQ(0, pthread_barrier_init(&turn, NULL, 2));
	for (int i = 0; i < 2; i++) {
		writers[i].wheel = self->wheel;
		writers[i].turn = &turn;
		writers[i].others = writers[1 - i].ids;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, write_lines, &writers[i]));
	}
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(0, writers[0].failed + writers[1].failed);
	ASSERT_EQ(0, (uintptr_t)(map->base + RECORD_SIZE) % LINE);
	EXPECT_EQ(0, count_common(writers));
	ASSERT_GE(PAGES, map->max_magazines / MAGAZINES);
	EXPECT_EQ(0, count_common_pages(writers));
	EXPECT_NE(writers[0].lane, writers[1].lane);
	EXPECT_LE(LINE, labs((char *)writers[0].lane - (char *)writers[1].lane));
	EXPECT_NE((uintptr_t)writers[0].lane->top / LINE, (uintptr_t)writers[1].lane->top / LINE);
	if (map->nr_lists > 1)
		EXPECT_LE(LINE, labs((char *)writers[0].lane->list -
				     (char *)writers[1].lane->list));
	pthread_barrier_destroy(&turn);
}

/*
 * In simulated time: the program is late by up to three intervals, each of which is no multiple of
 * 1,024 ns.
 */
TEST_F(mapped, again_does_not_drift)
{
	const uint64_t intervals[] = { 1, 1023, 1025, 999999937, 3600000000001 };

	for (unsigned int i = 0; i < ARRAY_SIZE(intervals); i++) {
		uint64_t chance = i, begin = HOUR, deadline = begin, sum = 0, id = 0, missed;

		simulated_ns = begin;
		for (int period = 0; period < 10000; period++) {
			ASSERT_EQ(0, hwheel_again(self->wheel, &id, &deadline, intervals[i], 0,
						  &missed));
			sum += missed + 1;
			ASSERT_EQ(begin + sum * intervals[i], deadline);
			ASSERT_LT(simulated_ns, deadline);
			ASSERT_LE(deadline - intervals[i], simulated_ns);
			chance = chance * 6364136223846793005ULL + 1442695040888963407ULL;
			simulated_ns = deadline + (chance >> 33) % (3 * intervals[i]);
		}
		simulated_ns = 0;
		hwheel_withdraw(self->wheel, id);
	}
	/* Never, as it would be beyond the clock's range */
	simulated_ns = HOUR;
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t id = 0, deadline = i;

		ASSERT_EQ(0, hwheel_again(self->wheel, &id, &deadline, UINT64_MAX, 0, NULL));
		ASSERT_EQ(UINT64_MAX, deadline);
	}
	simulated_ns = 0;
}

/* A record whose event was withdrawn is in the ring until a thread claims it: nobody arms it. */
TEST_F(mapped, withdrawn_records_wait_in_the_ring)
{
	struct hwheel_event events[MANY];
	static uint64_t ids[MANY];
	struct hwheel_file_stats stats;
	uint64_t id, n;

	for (n = 0; n < MANY / 2; n++)
		ASSERT_EQ(0, hwheel_arm(self->wheel, 0, n, &ids[n]));
	do {
		sched_yield();
		ASSERT_EQ(0, hwheel_stats(self->wheel, &stats));
	} while (stats.events < MANY / 2);
	for (n = 0; n < MANY / 2; n++)
		if (n % 2)
			ASSERT_EQ(0, hwheel_withdraw(self->wheel, ids[n]));
	for (n = 0; n < MANY / 4; n++) {
		ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, n, &id));
		for (uint64_t k = 0; k < MANY / 2; k++)
			ASSERT_NE(offset_of_id(ids[k]), offset_of_id(id));
	}
	for (n = 0; n < MANY / 4; n++) {
		int got = next_events(self->wheel, events, 1);

		ASSERT_EQ(1, got);
		ASSERT_EQ(0, events[0].cookie % 2);
	}
	EXPECT_EQ(-EAGAIN, hwheel_next_events(self->wheel, events, MANY));
}

/* Waiting */

/* The program overwrites the head of a list. */
TEST_F(mapped, damage_is_told)
{
	struct hwheel_event event;
	struct pollfd file = { .fd = hwheel_fd(self->wheel), .events = POLLIN };
	uint64_t id;

	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 1, &id));
	__atomic_store_n((*slot_of(self->wheel))->list, 12345678, __ATOMIC_SEQ_CST);
	ASSERT_EQ(1, poll(&file, 1, -1));
	EXPECT_EQ(POLLERR, file.revents);
	EXPECT_EQ(-EIO, hwheel_next_events(self->wheel, &event, 1));
	EXPECT_EQ(-ESHUTDOWN, hwheel_arm(self->wheel, HOUR, 1, &id));
}

TEST_HARNESS_MAIN
