// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapped timeouts: each arm ends in exactly one way, no timeout fires early, and a thread
 * that is stopped halfway through an operation holds up no other timeout.
 */

#include "share.h"
#include "fdinfo.h"
#include "map.h"

#include <glob.h>
#include <pthread.h>

#define RECORDS		1000
#define LISTS		4
#define COOKIE		0x1122334455667788

/* A slow machine can do something before this is over, and a test can wait for it. */
#define AWHILE		(500 * MSEC)

/* Each test runs on the default wheel and on own wheels of both kinds and clocks. */
FIXTURE(timeouts)
{
	struct map	map;
	struct map	*m;
	unsigned int	*seen;
};

FIXTURE_VARIANT(timeouts)
{
	struct hwheel_config	config;
};

FIXTURE_VARIANT_ADD(timeouts, shared) { .config = { .clock = CLOCK_MONOTONIC } };

FIXTURE_VARIANT_ADD(timeouts, hashed) {
	.config = {
		.tick_ns = MSEC, .slots = 16, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	},
};

FIXTURE_VARIANT_ADD(timeouts, hierarchical) {
	.config = {
		.tick_ns = 2 * MSEC, .slots = 8, .levels = 3, .clock = CLOCK_BOOTTIME,
		.kind = HWHEEL_KIND_HIERARCHICAL,
	},
};

FIXTURE_SETUP(timeouts)
{
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	self->m = &self->map;
	ASSERT_EQ(0, map_open(self->m, &variant->config, RECORDS + 1, LISTS));
	self->seen = calloc(self->m->layout.records, sizeof(*self->seen));
	ASSERT_NE(NULL, self->seen);
}

FIXTURE_TEARDOWN(timeouts)
{
	if (!self->m->header->stopped)
		EXPECT_EQ(0, map_stays_quiet(self->m, map_now(self->m)));
	free(self->seen);
	EXPECT_EQ(0, map_close(self->m));
}

/* The tick of the file's wheel */
static __u64 tick_of(const struct map *m)
{
	struct hwheel_info info;

	return get_info(m->fd, &info) ? 0 : info.tick_ns;
}

/* 0 if a timeout fires in this mapping. */
static int works(struct map *m)
{
	__u64 deadline = map_now(m) + MSEC;

	return map_arm(m, 1, 900, deadline) ?: map_expect(m, 900, deadline);
}

/* Firing */

TEST_F(timeouts, fires_once)
{
	__u64 deadline = map_now(self->m) + 20 * MSEC + 3;
	struct hwheel_map_record *record = &self->m->records[5];
	struct map_event event;

	record->cookie = COOKIE;
	record->generation = 77;
	ASSERT_EQ(0, map_arm(self->m, 0, 5, deadline));
	ASSERT_EQ(0, map_next_of(self->m, 5, &event));
	EXPECT_EQ(round_up_8(deadline), event.deadline_ns);
	EXPECT_LE(event.deadline_ns, event.fired_ns);
	EXPECT_FALSE(event.stopped);
	EXPECT_EQ(COOKIE, event.cookie);
	EXPECT_EQ(77, event.generation);
	EXPECT_EQ(HWHEEL_MAP_IDLE, map_state(self->m, 5));
	EXPECT_EQ(COOKIE, record->cookie);
	EXPECT_EQ(77, record->generation);
}

/* map_reap_sound() looks at each event. */
TEST_F(timeouts, never_early)
{
	__u64 base = map_now(self->m);
	int i;

	for (i = 0; i < RECORDS; i++)
		ASSERT_EQ(0, map_arm(self->m, i % LISTS, i, base + i * 123457ULL + i));
	EXPECT_EQ(0, map_collect(self->m, self->seen, RECORDS, RECORDS));
	EXPECT_TRUE(each_once(self->seen, RECORDS));
}

/* The low bits of a deadline come back in the event. */
TEST_F(timeouts, tag)
{
	__u64 base = (map_now(self->m) + 20 * MSEC + 1023) & ~1023ULL;
	struct map_event event;
	int i, tags = 0;

	for (i = 0; i < 128; i++)
		ASSERT_EQ(0, map_arm(self->m, 0, i, base + 8 * i));
	for (i = 0; i < 128; i++) {
		ASSERT_EQ(0, map_next(self->m, &event));
		tags += event.deadline_ns == base + 8 * event.index;
	}
	EXPECT_EQ(128, tags);
}

TEST_F(timeouts, past_deadline)
{
	const __u64 deadlines[] = {
		0, 1, 8, 9, MSEC, map_now(self->m) - 1000, map_now(self->m),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(deadlines); i++) {
		ASSERT_EQ(0, map_arm(self->m, 0, i, deadlines[i]));
		EXPECT_EQ(0, map_expect(self->m, i, deadlines[i]));
	}
}

/* Deadlines that are too large for the word are clamped and do not wrap. */
TEST_F(timeouts, far_deadline)
{
	const __u64 deadlines[] = {
		HWHEEL_MAP_NEVER, HWHEEL_MAP_NEVER - 8, NEVER, NEVER - 7, 1ULL << 62,
		map_now(self->m) + 100 * 365 * 24 * HOUR, map_now(self->m) + HOUR,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(deadlines); i++)
		ASSERT_EQ(0, map_arm(self->m, 0, i, deadlines[i]));
	EXPECT_EQ(0, map_stays_quiet(self->m, map_now(self->m) + 50 * MSEC));
	for (i = 0; i < ARRAY_SIZE(deadlines); i++) {
		EXPECT_FALSE(map_is_queued(self->m, i));
		EXPECT_EQ(0, map_cancel(self->m, 0, i));
	}
}

/* The program arms a record again after each of its events, by each list in turn. */
TEST_F(timeouts, armed_again)
{
	__u64 last = 0;
	struct map_event event;
	int i;

	ASSERT_EQ(0, map_arm(self->m, 0, 5, 0));
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, map_next_of(self->m, 5, &event));
		EXPECT_LE(last, event.fired_ns);
		last = event.fired_ns;
		ASSERT_EQ(0, map_arm_in(self->m, i % LISTS, 5, i % 3 * MSEC));
	}
	EXPECT_EQ(0, map_next_of(self->m, 5, &event));
}

TEST_F(timeouts, all_lists)
{
	struct map map;
	unsigned int i;

	ASSERT_EQ(0, map_open(&map, &variant->config, HWHEEL_MAP_LISTS + 1, HWHEEL_MAP_LISTS));
	for (i = 0; i < HWHEEL_MAP_LISTS; i++)
		ASSERT_EQ(0, map_arm_in(&map, i, i, i % 3 * MSEC));
	EXPECT_EQ(0, map_collect(&map, self->seen, HWHEEL_MAP_LISTS, HWHEEL_MAP_LISTS));
	EXPECT_TRUE(each_once(self->seen, HWHEEL_MAP_LISTS));
	for (i = 0; i < HWHEEL_MAP_LISTS; i++) {
		ASSERT_EQ(0, map_arm(&map, i, i, 0));
		EXPECT_EQ(0, map_expect(&map, i, 0));
	}
	EXPECT_EQ(0, map_stays_quiet(&map, map_now(&map)));
	EXPECT_EQ(0, map_close(&map));
}

/* The file holds as many timeouts as it may, and many are due at one edge. */
TEST_F(timeouts, all_records)
{
	__u32 n = max_timeouts(self->m->fd) - 1, i;
	unsigned int *seen = calloc(n, sizeof(*seen));
	struct map map;
	__u64 base;

	ASSERT_NE(NULL, seen);
	ASSERT_EQ(0, map_open(&map, &variant->config, n + 1, LISTS));
	base = map_now(&map);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, map_arm(&map, i % LISTS, i, base + i % 20 * 5 * MSEC));
	EXPECT_EQ(0, map_collect(&map, seen, n, n));
	EXPECT_TRUE(each_once(seen, n));
	EXPECT_EQ(0, map_stays_quiet(&map, map_now(&map)));
	EXPECT_EQ(0, map_close(&map));
	free(seen);
}

/* The ring wraps several times, while it is nearly full and while it is nearly empty. */
TEST_F(timeouts, ring_goes_round)
{
	struct hwheel_config config = variant->config;
	__u32 n, i, rounds;
	struct map map;

	config.max_timeouts = 8;
	ASSERT_EQ(0, map_open(&map, &config, 8, 1));
	n = map.layout.records - 1;
	rounds = 4 * map.layout.ring_size / n + 2;
	ASSERT_GT(self->m->layout.records, n);
	for (i = 0; i < rounds; i++) {
		memset(self->seen, 0, n * sizeof(*self->seen));
		ASSERT_EQ(0, map_arm_many(&map, n, 0));
		ASSERT_EQ(0, map_await_unread(&map, i % 2 ? n : 1));
		ASSERT_EQ(0, map_collect(&map, self->seen, n, n));
		ASSERT_TRUE(each_once(self->seen, n));
	}
	EXPECT_LT(3 * map.layout.ring_size, map.header->tail);
	EXPECT_EQ(map.header->tail, map.header->head);
	EXPECT_EQ(0, map_close(&map));
}

/* Cancelling and refreshing */

/* @filed: the worker has to have seen the record before this returns. */
static int arm_filed(struct map *m, __u32 i, __u64 deadline, bool filed)
{
	return map_arm(m, 0, i, deadline) ?: filed ? map_await_filed(m, i) : 0;
}

TEST_F(timeouts, cancel)
{
	__u64 deadline = map_now(self->m) + AWHILE;
	int filed;

	for (filed = 0; filed < 2; filed++) {
		ASSERT_EQ(0, arm_filed(self->m, filed, deadline, filed));
		EXPECT_EQ(0, map_cancel(self->m, 0, filed));
		EXPECT_EQ(HWHEEL_MAP_CANCELLED, map_state(self->m, filed));
		EXPECT_EQ(-ENOENT, map_cancel(self->m, 0, filed));
		EXPECT_EQ(-ENOENT, map_refresh(self->m, 0, filed, 0));
	}
	EXPECT_EQ(0, map_stays_quiet(self->m, deadline));
	for (filed = 0; filed < 2; filed++) {
		EXPECT_EQ(HWHEEL_MAP_CANCELLED, map_state(self->m, filed));
		EXPECT_EQ(0, map_await_filed(self->m, filed));
		ASSERT_EQ(0, map_arm(self->m, 0, filed, 0));
		EXPECT_EQ(0, map_expect(self->m, filed, 0));
	}
}

/* Only pending timeouts can be cancelled or refreshed, and only free records can be armed. */
TEST_F(timeouts, states)
{
	EXPECT_EQ(-ENOENT, map_cancel(self->m, 0, 3));
	EXPECT_EQ(-ENOENT, map_refresh(self->m, 0, 3, 0));
	ASSERT_EQ(0, map_arm(self->m, 0, 3, 0));
	EXPECT_EQ(0, map_await_unread(self->m, 1));
	EXPECT_EQ(HWHEEL_MAP_EXPIRED, map_state(self->m, 3));
	EXPECT_EQ(-ENOENT, map_cancel(self->m, 0, 3));
	EXPECT_EQ(-ENOENT, map_refresh(self->m, 0, 3, NEVER));
	EXPECT_EQ(-EBUSY, map_arm(self->m, 0, 3, NEVER));
	EXPECT_EQ(0, map_expect(self->m, 3, 0));
	EXPECT_EQ(-ENOENT, map_cancel(self->m, 0, 3));
}

/* A refresh to a later deadline needs neither a push nor a kick. */
TEST_F(timeouts, refresh_later)
{
	__u64 deadline = map_now(self->m) + AWHILE, later = deadline + 30 * MSEC;
	unsigned int kicks;
	int filed;

	for (filed = 0; filed < 2; filed++) {
		ASSERT_EQ(0, arm_filed(self->m, filed, deadline, filed));
		kicks = self->m->kicks;
		EXPECT_EQ(0, map_refresh(self->m, 0, filed, later));
		EXPECT_EQ(kicks, self->m->kicks);
		EXPECT_TRUE(!filed || !map_is_queued(self->m, filed));
	}
	EXPECT_EQ(0, map_collect(self->m, self->seen, 2, 2));
	EXPECT_TRUE(each_once(self->seen, 2));
	EXPECT_LE(later, map_now(self->m));
	EXPECT_LE(later, self->m->records[0].fired_ns);
	EXPECT_LE(later, self->m->records[1].fired_ns);
}

TEST_F(timeouts, refresh_later_many_times)
{
	__u64 deadline = map_now(self->m) + 10 * MSEC;
	int i;

	ASSERT_EQ(0, map_arm(self->m, 0, 4, deadline));
	for (i = 0; i < 200; i++) {
		deadline = map_now(self->m) + AWHILE;
		/* The timeout has fired if the machine stood still for that long. */
		if (map_refresh(self->m, 0, 4, deadline))
			break;
		poll(NULL, 0, i % 8 == 7);
	}
	EXPECT_EQ(0, map_expect(self->m, 4, map_deadline(map_load(self->m, 4))));
}

TEST_F(timeouts, refresh_earlier)
{
	int filed;

	for (filed = 0; filed < 2; filed++) {
		__u64 deadline = map_now(self->m) + 20 * MSEC;

		ASSERT_EQ(0, arm_filed(self->m, filed, NEVER, filed));
		EXPECT_EQ(0, map_refresh(self->m, 1, filed, HOUR + deadline));
		EXPECT_EQ(0, map_refresh(self->m, 2, filed, deadline));
		EXPECT_EQ(0, map_expect(self->m, filed, deadline));
		ASSERT_EQ(0, arm_filed(self->m, filed, NEVER, filed));
		EXPECT_EQ(0, map_refresh(self->m, 0, filed, 0));
		EXPECT_EQ(0, map_expect(self->m, filed, 0));
	}
}

TEST_F(timeouts, refresh_earlier_then_later)
{
	__u64 soon = map_now(self->m) + AWHILE, late = soon + 30 * MSEC;

	ASSERT_EQ(0, arm_filed(self->m, 1, NEVER, true));
	ASSERT_EQ(0, map_refresh(self->m, 0, 1, soon));
	ASSERT_EQ(0, map_refresh(self->m, 0, 1, late));
	EXPECT_EQ(0, map_expect(self->m, 1, late));
}

/* Only the last of many arms counts, whichever of them the worker has seen. */
TEST_F(timeouts, armed_while_queued)
{
	__u64 deadline = 0;
	int i;

	for (i = 0; i < 2000; i++) {
		ASSERT_EQ(0, map_arm(self->m, i % LISTS, 6, NEVER - 8 * i));
		if (i % 500 == 499)
			ASSERT_EQ(0, map_await_filed(self->m, 6));
		ASSERT_EQ(0, map_cancel(self->m, i % LISTS, 6));
	}
	deadline = map_now(self->m) + 5 * MSEC;
	ASSERT_EQ(0, map_arm(self->m, 0, 6, deadline));
	EXPECT_EQ(0, map_expect(self->m, 6, deadline));
}

/* The second arm does not fire at the deadline that the worker has filed for the first. */
TEST_F(timeouts, armed_again_for_later)
{
	__u64 soon = map_now(self->m) + AWHILE, late = soon + 30 * MSEC;

	ASSERT_EQ(0, arm_filed(self->m, 1, soon, true));
	ASSERT_EQ(0, map_cancel(self->m, 0, 1));
	ASSERT_EQ(0, map_arm(self->m, 1, 1, late));
	ASSERT_EQ(0, map_arm(self->m, 1, 2, NEVER));
	ASSERT_EQ(0, map_await_filed(self->m, 2));
	EXPECT_EQ(0, map_expect(self->m, 1, late));
}

/* The order */

/* 0 if the events come in the order of arming; -EAGAIN if the machine was too slow to tell */
static int try_order(struct map *m, __u32 n, __u32 batch, __u64 delay)
{
	__u64 deadline = map_now(m) + delay;
	int ret = 0;
	__u32 i;

	for (i = 0; !ret && i < n; i++) {
		ret = map_arm(m, 0, i, deadline);
		if (!ret && i % batch == batch - 1)
			ret = map_await_filed(m, i);
	}
	if (ret)
		return ret;
	ret = map_now(m) < deadline ? 0 : -EAGAIN;
	for (i = 0; i < n; i++) {
		int err = map_expect(m, i, deadline);

		if (err && err != -EEXIST)
			return err;
		ret = ret ?: err;
	}
	return ret;
}

/* 0 if timeouts of one thread that are due at one edge keep their order */
static int keeps_order(struct map *m, __u32 n, __u32 batch)
{
	__u64 delay;
	int ret = -EAGAIN;

	for (delay = AWHILE; ret == -EAGAIN && delay < WAIT_MS * MSEC; delay *= 2)
		ret = try_order(m, n, batch, delay);
	return ret;
}

/* On several levels there is none. */
TEST_F(timeouts, order_within_a_tick)
{
	if (variant->config.levels > 1)
		SKIP(return, "one level alone keeps the order");
	EXPECT_EQ(0, keeps_order(self->m, RECORDS, RECORDS + 1));
}

/* The worker files each ten timeouts before it sees the next ten. */
TEST_F(timeouts, order_across_ticks)
{
	if (variant->config.levels > 1)
		SKIP(return, "one level alone keeps the order");
	EXPECT_EQ(0, keeps_order(self->m, 100, 10));
}

/* Waiting */

TEST_F(timeouts, poll)
{
	EXPECT_EQ(0, poll_all(self->m->fd));
	ASSERT_EQ(0, map_arm(self->m, 0, 1, NEVER));
	EXPECT_EQ(0, poll_all(self->m->fd));
	ASSERT_EQ(0, map_arm(self->m, 0, 2, 0));
	ASSERT_EQ(0, map_arm(self->m, 0, 3, 0));
	ASSERT_EQ(1, readable(self->m->fd, WAIT_MS));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->m->fd));
	ASSERT_EQ(0, map_collect(self->m, self->seen, 4, 2));
	EXPECT_EQ(0, poll_all(self->m->fd));
}

TEST_F(timeouts, epoll_level)
{
	int epoll = watch(self->m->fd, EPOLLIN);

	ASSERT_LE(0, epoll);
	EXPECT_EQ(0, watched(epoll, 0));
	ASSERT_EQ(0, map_arm_many(self->m, 2, 0));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	ASSERT_EQ(0, map_await_unread(self->m, 2));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	ASSERT_EQ(0, map_collect(self->m, self->seen, 2, 1));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	ASSERT_EQ(0, map_collect(self->m, self->seen, 2, 1));
	EXPECT_EQ(0, watched(epoll, 0));
	EXPECT_EQ(0, close(epoll));
}

/* epoll tells of events that are older than its interest in the file. */
TEST_F(timeouts, epoll_afterwards)
{
	int epoll;

	ASSERT_EQ(0, map_arm(self->m, 0, 2, 0));
	ASSERT_EQ(0, map_await_unread(self->m, 1));
	epoll = watch(self->m->fd, EPOLLIN | EPOLLET);
	ASSERT_LE(0, epoll);
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	EXPECT_EQ(0, map_expect(self->m, 2, 0));
	EXPECT_EQ(0, close(epoll));
}

/* epoll tells of each batch, also while an earlier one was not reaped. */
TEST_F(timeouts, epoll_edge)
{
	int epoll = watch(self->m->fd, EPOLLIN | EPOLLET), i;

	ASSERT_LE(0, epoll);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, map_arm(self->m, 0, i, 0));
		EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
		if (i % 2)
			EXPECT_EQ(0, map_collect(self->m, self->seen, 10, 2));
	}
	EXPECT_TRUE(each_once(self->seen, 10));
	EXPECT_EQ(0, close(epoll));
}

struct sleeper {
	int	fd;
	pid_t	tid;
	int	revents;
};

static void *sleep_in_poll(void *data)
{
	struct sleeper *sleeper = data;
	struct pollfd pfd = { .fd = sleeper->fd, .events = POLLIN };

	__atomic_store_n(&sleeper->tid, gettid(), __ATOMIC_RELEASE);
	if (poll(&pfd, 1, -1) == 1)
		sleeper->revents = pfd.revents;
	return NULL;
}

static int start_sleeper(pthread_t *thread, struct sleeper *sleeper, int fd)
{
	*sleeper = (struct sleeper){ .fd = fd };
	return start_waiting(thread, &sleeper->tid, sleep_in_poll, sleeper);
}

#define SLEEPERS	5

/* The sleepers have no time limit, at which poll() would look again. */
TEST_F(timeouts, wakes_sleepers)
{
	struct sleeper sleepers[SLEEPERS];
	pthread_t threads[SLEEPERS];
	int i;

	for (i = 0; i < SLEEPERS; i++)
		ASSERT_EQ(0, start_sleeper(&threads[i], &sleepers[i], self->m->fd));
	ASSERT_EQ(0, map_arm(self->m, 0, 1, 0));
	for (i = 0; i < SLEEPERS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(POLLIN, sleepers[i].revents);
	}
	EXPECT_EQ(0, map_expect(self->m, 1, 0));
}

TEST_F(timeouts, stop_wakes_sleepers)
{
	struct sleeper sleeper;
	pthread_t thread;

	ASSERT_EQ(0, start_sleeper(&thread, &sleeper, self->m->fd));
	ASSERT_EQ(0, stop(self->m->fd));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(POLLHUP, sleeper.revents);
}

/* The worker's sleep */

/* Waits until the worker does not look at this list. */
static int await_asleep(const struct map *m, unsigned int list)
{
	return AWAIT(__atomic_load_n(&m->lists[list].head, __ATOMIC_ACQUIRE) == HWHEEL_MAP_ASLEEP);
}

/* The worker stops looking when it has nothing to do, and a kick makes it look. */
TEST_F(timeouts, falls_asleep)
{
	unsigned int list;
	int i;

	ASSERT_EQ(0, map_arm(self->m, 0, 10, NEVER));
	ASSERT_EQ(0, map_arm_in(self->m, 1, 11, HOUR));
	for (i = 0; i < 20; i++) {
		for (list = 0; list < LISTS; list++)
			ASSERT_EQ(0, await_asleep(self->m, list));
		self->m->kicks = 0;
		ASSERT_EQ(0, map_arm_in(self->m, i % LISTS, 5, i % 2 * 3 * MSEC));
		EXPECT_EQ(1, self->m->kicks);
		ASSERT_EQ(0, map_expect(self->m, 5, map_deadline(map_load(self->m, 5))));
	}
	EXPECT_EQ(0, map_cancel(self->m, 2, 10));
	EXPECT_EQ(0, map_cancel(self->m, 3, 11));
}

/* A filed timeout fires although the worker sleeps and nobody kicks it. */
TEST_F(timeouts, fires_out_of_sleep)
{
	__u64 deadline = map_now(self->m) + AWHILE;
	unsigned int list;

	ASSERT_EQ(0, map_arm(self->m, 0, 5, deadline));
	for (list = 0; list < LISTS; list++)
		ASSERT_EQ(0, await_asleep(self->m, list));
	EXPECT_EQ(1, self->m->kicks);
	EXPECT_EQ(0, map_expect(self->m, 5, deadline));
}

/*
 * A pusher kicks only if the list is ASLEEP. The worker puts a list to sleep only after it
 * has found the list empty, at a later edge than that of the kick.
 */
TEST_F(timeouts, a_million_pairs_kick_rarely)
{
	__u64 tick = tick_of(self->m), deadline = map_now(self->m) + HOUR, ticks;
	__u64 begin = now_ns();
	int i;

	ASSERT_LT(0, tick);
	for (i = 0; i < 1000000; i++) {
		ASSERT_EQ(0, map_arm(self->m, 0, i & 63, deadline));
		ASSERT_EQ(0, map_cancel(self->m, 0, i & 63));
	}
	ticks = (now_ns() - begin) / tick;
	EXPECT_GE(ticks + 2, self->m->kicks);
	EXPECT_LE(1, self->m->kicks);
	EXPECT_EQ(0, map_stays_quiet(self->m, map_now(self->m)));
	TH_LOG("%u kicks in %llu ticks", self->m->kicks, ticks);
}

/* Several threads */

/**
 * struct crew - threads that share a mapping
 * @m:    the mapping
 * @seen: how many times each record has expired
 * @left: how many events are still to come
 * @next: which list the next thread takes
 */
struct crew {
	struct map	*m;
	unsigned int	*seen;
	unsigned int	left;
	unsigned int	next;
	int		ret;
};

#define LIVES	20

/* Arms the record again unless it has had all its lives. */
static int take_event(struct crew *crew, unsigned int list, const struct map_event *event)
{
	unsigned int seen;

	if (event->index >= RECORDS)
		return -EPROTO;
	seen = __atomic_add_fetch(&crew->seen[event->index], 1, __ATOMIC_RELAXED);
	if (seen > LIVES)
		return -EEXIST;
	__atomic_sub_fetch(&crew->left, 1, __ATOMIC_RELAXED);
	return seen < LIVES ? map_arm_in(crew->m, list, event->index, seen % 3 * MSEC) : 0;
}

/* poll() has a short limit: the other reaper may take the last event. */
static int reap_all(struct crew *crew, unsigned int list)
{
	__u64 bound = now_ns() + 2 * WAIT_MS * MSEC;
	struct map_event events[7];
	int got = 0, i;

	while (!got && __atomic_load_n(&crew->left, __ATOMIC_RELAXED)) {
		if (now_ns() > bound)
			return -ETIMEDOUT;
		readable(crew->m->fd, 1);
		for (got = map_reap_sound(crew->m, events, 7), i = 0; i < got; i++) {
			int ret = take_event(crew, list, &events[i]);

			if (ret)
				return ret;
		}
		got = got < 0 ? got : 0;
	}
	return got;
}

static void *reaper(void *data)
{
	struct crew *crew = data;
	int ret = reap_all(crew, __atomic_fetch_add(&crew->next, 1, __ATOMIC_RELAXED) % LISTS);

	if (ret)
		__atomic_store_n(&crew->ret, ret, __ATOMIC_RELAXED);
	return NULL;
}

/* Exactly one of the threads reaps each event. */
TEST_F(timeouts, two_reapers)
{
	struct crew crew = { .m = self->m, .seen = self->seen, .left = RECORDS * LIVES };
	pthread_t threads[2];
	unsigned int i, wrong = 0;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, reaper, &crew));
	ASSERT_EQ(0, map_arm_many(self->m, RECORDS, 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(0, crew.ret);
	for (i = 0; i < RECORDS; i++)
		wrong += self->seen[i] != LIVES;
	EXPECT_EQ(0, wrong);
}

#define ARMERS	4

static void *arm_part(void *data)
{
	struct crew *crew = data;
	unsigned int part = __atomic_fetch_add(&crew->next, 1, __ATOMIC_RELAXED), i;
	int ret = 0;

	for (i = part; !ret && i < RECORDS; i += ARMERS)
		ret = map_arm_in(crew->m, part % LISTS, i, i % 7 * MSEC);
	if (ret)
		__atomic_store_n(&crew->ret, ret, __ATOMIC_RELAXED);
	return NULL;
}

TEST_F(timeouts, several_armers)
{
	struct crew crew = { .m = self->m };
	pthread_t threads[ARMERS];
	int i;

	for (i = 0; i < ARMERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, arm_part, &crew));
	EXPECT_EQ(0, map_collect(self->m, self->seen, RECORDS, RECORDS));
	EXPECT_TRUE(each_once(self->seen, RECORDS));
	for (i = 0; i < ARMERS; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(0, crew.ret);
}

/* MAP adds segments while a thread uses the first one. */
TEST_F(timeouts, more_records_meanwhile)
{
	struct crew crew = { .m = self->m, .seen = self->seen, .left = RECORDS * LIVES };
	struct hwheel_map layout = { 0 };
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, reaper, &crew));
	ASSERT_EQ(0, map_arm_many(self->m, RECORDS, 0));
	for (i = 0; i < 30; i++)
		ASSERT_EQ(0, map_make(self->m->fd, 100, 0, &layout));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, crew.ret);
	EXPECT_LE(self->m->layout.records + 3000, layout.records);
	EXPECT_EQ(0, works(self->m));
}

/* Threads that are stopped halfway: only their own record waits for them. */

/* The thread has set QUEUED and has not pushed. */
TEST_F(timeouts, armer_stopped_before_its_push)
{
	__u64 deadline = map_now(self->m) + 5 * MSEC;

	ASSERT_EQ(1, map_exchange_to_arm(self->m, 1, deadline));
	ASSERT_EQ(0, map_arm(self->m, 0, 2, deadline));
	EXPECT_EQ(0, map_expect(self->m, 2, deadline));
	EXPECT_EQ(0, map_stays_quiet(self->m, deadline + 5 * MSEC));
	EXPECT_EQ(map_word(deadline) | HWHEEL_MAP_QUEUED, map_load(self->m, 1));
	ASSERT_EQ(0, map_push(self->m, 0, 1));
	EXPECT_EQ(0, map_expect(self->m, 1, deadline));
}

/* Other threads cancel and arm the record meanwhile, and have nothing to push. */
TEST_F(timeouts, used_before_its_push)
{
	ASSERT_EQ(1, map_exchange_to_arm(self->m, 1, 0));
	EXPECT_EQ(0, map_exchange_to_cancel(self->m, 1));
	EXPECT_EQ(0, map_exchange_to_arm(self->m, 1, NEVER));
	EXPECT_EQ(0, map_exchange_to_refresh(self->m, 1, 8));
	EXPECT_EQ(0, map_stays_quiet(self->m, map_now(self->m)));
	ASSERT_EQ(0, map_push(self->m, 0, 1));
	EXPECT_EQ(0, map_expect(self->m, 1, 8));
}

/*
 * The worker has filed the timeout before, so it fires at the filed deadline at the latest.
 * The next arm of the record depends on the push that is still to come.
 */
TEST_F(timeouts, refresher_stopped_before_its_push)
{
	__u64 deadline = map_now(self->m) + AWHILE;

	ASSERT_EQ(0, arm_filed(self->m, 1, deadline, true));
	ASSERT_EQ(1, map_exchange_to_refresh(self->m, 1, 8));
	EXPECT_EQ(0, map_expect(self->m, 1, 8));
	EXPECT_TRUE(map_is_queued(self->m, 1));
	EXPECT_EQ(0, map_exchange_to_arm(self->m, 1, 16));
	EXPECT_EQ(0, map_stays_quiet(self->m, map_now(self->m)));
	ASSERT_EQ(0, map_push(self->m, 0, 1));
	EXPECT_EQ(0, map_expect(self->m, 1, 16));
}

TEST_F(timeouts, canceller_stopped_before_its_push)
{
	__u64 deadline = map_now(self->m) + AWHILE;

	ASSERT_EQ(0, arm_filed(self->m, 1, deadline, true));
	ASSERT_EQ(1, map_exchange_to_cancel(self->m, 1));
	EXPECT_EQ(0, map_stays_quiet(self->m, deadline));
	ASSERT_EQ(0, map_push(self->m, 0, 1));
	EXPECT_EQ(0, map_await_filed(self->m, 1));
	EXPECT_EQ(HWHEEL_MAP_CANCELLED, map_state(self->m, 1));
	ASSERT_EQ(0, map_arm(self->m, 0, 1, 0));
	EXPECT_EQ(0, map_expect(self->m, 1, 0));
}

/* The thread has pushed and has not kicked. Other pushers see an awake list. */
TEST_F(timeouts, pusher_stopped_before_its_kick)
{
	ASSERT_EQ(0, await_asleep(self->m, 0));
	ASSERT_EQ(1, map_exchange_to_arm(self->m, 1, 0));
	ASSERT_TRUE(map_link(self->m, 0, 1));
	ASSERT_EQ(0, map_arm(self->m, 0, 2, 0));
	EXPECT_EQ(0, self->m->kicks);
	ASSERT_EQ(0, map_kick(self->m));
	EXPECT_EQ(0, map_collect(self->m, self->seen, 3, 2));
	EXPECT_EQ(1, self->seen[1]);
	EXPECT_EQ(1, self->seen[2]);
}

/* The thread has copied events and has not claimed them: another reaper gets them all. */
TEST_F(timeouts, reaper_stopped_before_its_claim)
{
	struct map_event events[10];
	__u64 head;

	ASSERT_EQ(0, map_arm_many(self->m, 10, 0));
	ASSERT_EQ(0, map_await_unread(self->m, 10));
	EXPECT_EQ(10, map_peek(self->m, events, 10, &head));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->m->fd));
	EXPECT_EQ(0, map_collect(self->m, self->seen, 10, 10));
	EXPECT_TRUE(each_once(self->seen, 10));
}

/* The thread has claimed an event and has not freed the record: only that one is busy. */
TEST_F(timeouts, reaper_stopped_after_its_claim)
{
	struct map_event event;

	ASSERT_EQ(0, map_arm(self->m, 0, 1, 0));
	ASSERT_EQ(0, map_await_unread(self->m, 1));
	ASSERT_EQ(1, map_claim(self->m, &event, 1));
	EXPECT_EQ(0, poll_all(self->m->fd));
	EXPECT_EQ(-EBUSY, map_arm(self->m, 0, 1, 0));
	EXPECT_EQ(0, works(self->m));
}

/* STOP */

/* 0 if the stopped file has no event left and says so */
static int at_end(struct map *m)
{
	struct map_event event;

	if (map_reap(m, &event, 1))
		return -EEXIST;
	return poll_all(m->fd) == POLLHUP ? 0 : -EPROTO;
}

TEST_F(timeouts, stop_nothing)
{
	EXPECT_EQ(0, self->m->header->stopped);
	EXPECT_EQ(0, stop(self->m->fd));
	EXPECT_NE(0, self->m->header->stopped);
	EXPECT_EQ(0, at_end(self->m));
	EXPECT_EQ(0, stop(self->m->fd));
	EXPECT_EQ(0, at_end(self->m));
}

/* The worker has filed some of these timeouts, some are refreshed, and the last are new. */
static int arm_variously(struct map *m, __u64 base, __u32 n)
{
	int ret = 0;
	__u32 i;

	for (i = 0; !ret && i < n; i++) {
		ret = map_arm(m, i % LISTS, i, base + i * SEC);
		if (!ret && i == n / 2)
			ret = map_await_filed(m, i);
		if (!ret && i % 3 == 1)
			ret = map_refresh(m, 0, i - 1, base + (i - 1) * SEC + 8);
		if (!ret && i % 3 == 2)
			ret = map_refresh(m, 0, i - 1, base + (i - 1) * SEC - 8);
	}
	return ret;
}

TEST_F(timeouts, stop_pending)
{
	__u64 base = round_up_8(map_now(self->m) + HOUR), before, after;
	struct map_event events[300];
	unsigned int i, wrong = 0;

	ASSERT_EQ(0, arm_variously(self->m, base, 300));
	before = map_now(self->m);
	ASSERT_EQ(300, stop(self->m->fd));
	after = map_now(self->m);
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->m->fd));
	ASSERT_EQ(300, map_reap_sound(self->m, events, 300));
	for (i = 0; i < 300; i++) {
		ASSERT_GT(300, events[i].index);
		self->seen[events[i].index]++;
		wrong += !events[i].stopped || events[i].fired_ns < before ||
			 events[i].fired_ns > after ||
			 events[i].deadline_ns > base + events[i].index * SEC + 8 ||
			 events[i].deadline_ns < base + events[i].index * SEC - 8;
	}
	EXPECT_EQ(0, wrong);
	EXPECT_TRUE(each_once(self->seen, 300));
	EXPECT_EQ(0, at_end(self->m));
}

/* Expired timeouts are not stopped, STOP does not count them, and their events come first. */
TEST_F(timeouts, stop_expired)
{
	struct map_event event;
	int i;

	ASSERT_EQ(0, map_arm_many(self->m, 10, 0));
	ASSERT_EQ(0, map_await_unread(self->m, 10));
	for (i = 10; i < 20; i++)
		ASSERT_EQ(0, map_arm(self->m, 0, i, NEVER));
	ASSERT_EQ(10, stop(self->m->fd));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->m->fd));
		ASSERT_EQ(1, map_reap_sound(self->m, &event, 1));
		EXPECT_EQ(i >= 10, event.stopped);
		EXPECT_EQ(i >= 10, event.index >= 10);
	}
	EXPECT_EQ(0, at_end(self->m));
}

TEST_F(timeouts, stop_cancelled)
{
	int i;

	ASSERT_EQ(0, map_arm_many(self->m, 100, NEVER));
	ASSERT_EQ(0, map_await_filed(self->m, 99));
	for (i = 0; i < 99; i++)
		ASSERT_EQ(0, map_cancel(self->m, 0, i));
	EXPECT_EQ(1, stop(self->m->fd));
	EXPECT_EQ(0, map_collect(self->m, self->seen, 100, 1));
	EXPECT_EQ(1, self->seen[99]);
	EXPECT_EQ(0, at_end(self->m));
}

/* STOP does not wait for threads that have not pushed yet. */
TEST_F(timeouts, stop_before_a_push)
{
	struct map_event event;

	ASSERT_EQ(0, arm_filed(self->m, 1, NEVER, true));
	ASSERT_EQ(1, map_exchange_to_refresh(self->m, 1, map_now(self->m) + HOUR));
	ASSERT_EQ(1, map_exchange_to_arm(self->m, 2, NEVER));
	ASSERT_EQ(0, arm_filed(self->m, 3, NEVER, true));
	ASSERT_EQ(1, map_exchange_to_cancel(self->m, 3));
	EXPECT_EQ(2, stop(self->m->fd));
	EXPECT_EQ(-ESHUTDOWN, map_push(self->m, 0, 1));
	EXPECT_EQ(-ESHUTDOWN, map_push(self->m, 0, 2));
	EXPECT_EQ(-ESHUTDOWN, map_push(self->m, 0, 3));
	EXPECT_EQ(1, map_reap_sound(self->m, &event, 1));
	EXPECT_TRUE(event.stopped);
	EXPECT_EQ(1, map_reap_sound(self->m, &event, 1));
	EXPECT_TRUE(event.stopped);
	EXPECT_EQ(0, at_end(self->m));
}

TEST_F(timeouts, after_stop)
{
	struct map_event event;
	__u32 i;

	ASSERT_EQ(0, map_arm(self->m, 0, 1, NEVER));
	ASSERT_EQ(1, stop(self->m->fd));
	EXPECT_EQ(-ENOENT, map_cancel(self->m, 0, 1));
	EXPECT_EQ(-ENOENT, map_refresh(self->m, 0, 1, 0));
	for (i = 2; i < 10; i++) {
		EXPECT_EQ(-ESHUTDOWN, map_arm(self->m, i % LISTS, i, i % 2 ? 0 : NEVER));
		EXPECT_EQ(HWHEEL_MAP_CANCELLED, map_state(self->m, i));
	}
	EXPECT_EQ(0, map_kick(self->m));
	EXPECT_EQ(0, stop(self->m->fd));
	EXPECT_EQ(1, map_reap_sound(self->m, &event, 2));
	EXPECT_EQ(-ESHUTDOWN, map_arm(self->m, 0, 1, 0));
	EXPECT_EQ(0, at_end(self->m));
}

TEST_F(timeouts, epoll_of_a_stopped_file)
{
	int epoll = watch(self->m->fd, EPOLLIN);

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, map_arm_many(self->m, 2, NEVER));
	ASSERT_EQ(2, stop(self->m->fd));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	ASSERT_EQ(0, map_collect(self->m, self->seen, 2, 2));
	EXPECT_EQ(EPOLLHUP, watched(epoll, 0));
	EXPECT_EQ(EPOLLHUP, watched(epoll, 0));
	EXPECT_EQ(0, close(epoll));
}

/* The last claim is no edge: a program that waits for edges looks for the end itself. */
TEST_F(timeouts, edges_of_a_stopped_file)
{
	int epoll = watch(self->m->fd, EPOLLIN | EPOLLET);

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, map_arm_many(self->m, 2, NEVER));
	ASSERT_EQ(2, stop(self->m->fd));
	EXPECT_EQ(EPOLLIN, watched(epoll, WAIT_MS));
	ASSERT_EQ(0, map_collect(self->m, self->seen, 2, 2));
	EXPECT_EQ(POLLHUP, poll_all(self->m->fd));
	EXPECT_EQ(0, close(epoll));
}

/* STOP and close() do not wait for an edge. */
TEST(tick_of_an_hour)
{
	const struct hwheel_config config = {
		.tick_ns = HOUR, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	struct map_event events[100];
	struct map map;

	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	ASSERT_EQ(0, map_open(&map, &config, 100, 1));
	ASSERT_EQ(0, map_arm_many(&map, 50, NEVER));
	ASSERT_EQ(0, map_cancel(&map, 0, 0));
	EXPECT_EQ(49, stop(map.fd));
	EXPECT_EQ(49, map_reap_sound(&map, events, 100));
	EXPECT_EQ(0, at_end(&map));
	EXPECT_EQ(0, map_close(&map));
}

/**
 * struct fight - threads that arm and cancel while STOP comes
 * @m:     the mapping
 * @armed: whether the last arm of a record stands
 * @begun: how many operations were made
 * @next:  whose records the next thread takes
 * @bad:   how many results there were that can't be
 */
struct fight {
	struct map	*m;
	unsigned int	armed[RECORDS];
	unsigned int	begun;
	unsigned int	next;
	unsigned int	bad;
};

#define FIGHTERS	3
#define EACH		(RECORDS / FIGHTERS)
#define ROUNDS		20

/* Returns false once the file is stopped. */
static bool arm_or_cancel(struct fight *fight, unsigned int list, __u32 i)
{
	int ret;

	if (fight->armed[i]) {
		ret = map_cancel(fight->m, list, i);
		fight->armed[i] = !!ret;
	} else {
		ret = map_arm(fight->m, list, i, NEVER);
		fight->armed[i] = !ret;
	}
	if (ret && ret != -ENOENT && ret != -ESHUTDOWN)
		__atomic_add_fetch(&fight->bad, 1, __ATOMIC_RELAXED);
	return !ret;
}

static void *fighter(void *data)
{
	struct fight *fight = data;
	unsigned int part = __atomic_fetch_add(&fight->next, 1, __ATOMIC_RELAXED), k = 0;

	while (arm_or_cancel(fight, part % LISTS, part * EACH + k % EACH)) {
		k += k % 5 ? 1 : 2;
		__atomic_add_fetch(&fight->begun, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Returns what STOP returned, after all threads have ended. */
static int stop_fight(struct fight *fight, unsigned int after)
{
	pthread_t threads[FIGHTERS];
	int i, stopped;

	for (i = 0; i < FIGHTERS; i++)
		if (pthread_create(&threads[i], NULL, fighter, fight))
			exit(KSFT_FAIL);
	while (__atomic_load_n(&fight->begun, __ATOMIC_RELAXED) < after)
		sched_yield();
	stopped = stop(fight->m->fd);
	for (i = 0; i < FIGHTERS; i++)
		pthread_join(threads[i], NULL);
	return stopped;
}

static unsigned int sum(const unsigned int *values, size_t n)
{
	unsigned int sum = 0;

	while (n--)
		sum += values[n];
	return sum;
}

/* Each arm that succeeded and was not cancelled has an event; a refused arm has none. */
TEST_F(timeouts, stop_while_armed)
{
	struct fight *fight = malloc(sizeof(*fight));
	unsigned int total = 0;
	int round, stopped;
	struct map map;

	ASSERT_NE(NULL, fight);
	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, map_open(&map, &variant->config, RECORDS, LISTS));
		*fight = (struct fight){ .m = &map };
		memset(self->seen, 0, RECORDS * sizeof(*self->seen));
		stopped = stop_fight(fight, round * 97);
		EXPECT_EQ(sum(fight->armed, RECORDS), stopped);
		ASSERT_LE(0, stopped);
		EXPECT_EQ(0, map_collect(&map, self->seen, RECORDS, stopped));
		EXPECT_EQ(0, memcmp(fight->armed, self->seen, sizeof(fight->armed)));
		EXPECT_EQ(0, fight->bad);
		EXPECT_EQ(0, at_end(&map));
		EXPECT_EQ(0, map_close(&map));
		total += stopped;
	}
	TH_LOG("%u were stopped in %d rounds", total, ROUNDS);
	free(fight);
}

/* The file as a whole */

TEST_F(timeouts, close_with_much_pending)
{
	long users = users_of_module();
	__u32 n = max_timeouts(self->m->fd), i;
	struct map map;
	int round;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, map_open(&map, &variant->config, n, LISTS));
		for (i = 0; i < n; i++)
			ASSERT_EQ(0, map_arm_in(&map, i % LISTS, i, i % 3 ? HOUR : 0));
		if (round == 1)
			ASSERT_EQ(0, map_await_filed(&map, n - 1));
		if (round == 2)
			ASSERT_LE(0, stop(map.fd));
		ASSERT_EQ(0, map_close(&map));
	}
	EXPECT_EQ(0, await_users(users));
	EXPECT_EQ(0, works(self->m));
}

/* A file that uses ioctls goes on beside a mapped one. */
TEST_F(timeouts, another_file)
{
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, configure(fd, &variant->config));
	ASSERT_EQ(0, arm_many(fd, 100, clock_ns(variant->config.clock) + 30 * MSEC, NULL));
	ASSERT_EQ(0, map_arm_many(self->m, 100, map_now(self->m) + 30 * MSEC));
	ASSERT_EQ(0, await_events(fd, 100));
	EXPECT_EQ(0, map_collect(self->m, self->seen, 100, 100));
	EXPECT_TRUE(each_once(self->seen, 100));
	ASSERT_EQ(0, arm_many(fd, 10, NEVER, NULL));
	EXPECT_EQ(10, stop(fd));
	EXPECT_EQ(0, works(self->m));
	EXPECT_EQ(0, close(fd));
}

/* The worker publishes its counts after all else: waits until they are @want. */
static int await_stats(const struct map *m, struct hwheel_file_stats want)
{
	const size_t own = offsetof(struct hwheel_file_stats, wheel);
	struct hwheel_file_stats stats;
	int ret;

	want.held = m->layout.records;
	return AWAIT((ret = get_stats(m->fd, &stats)) || !memcmp(&stats, &want, own)) ?: ret;
}

/* The worker counts what it finds on lists. Each step waits, so that it finds everything. */
TEST_F(timeouts, stats)
{
	struct hwheel_file_stats want = { 0 };

	EXPECT_EQ(0, await_stats(self->m, want));
	ASSERT_EQ(0, map_arm_many(self->m, 5, 0));
	ASSERT_EQ(0, arm_filed(self->m, 5, NEVER, true));
	ASSERT_EQ(0, arm_filed(self->m, 6, NEVER, true));
	want.armed = 7;
	want.pending = 2;
	want.expired = 5;
	want.events = 5;
	EXPECT_EQ(0, await_stats(self->m, want));

	ASSERT_EQ(0, map_collect(self->m, self->seen, 5, 4));
	ASSERT_EQ(0, map_refresh(self->m, 0, 5, NEVER - 1));
	want.events = 1;
	EXPECT_EQ(0, await_stats(self->m, want));

	ASSERT_EQ(2, stop(self->m->fd));
	want.pending = 0;
	want.events = 3;
	want.stopped = 2;
	EXPECT_EQ(0, await_stats(self->m, want));
}

/* The wheel's counts leave mapped timeouts out, so none of them becomes negative. */
TEST_F(timeouts, stats_of_the_wheel)
{
	struct hwheel_file_stats before, after;
	int i;

	if (!variant->config.tick_ns)
		SKIP(return, "other files count on the default wheel");
	ASSERT_EQ(0, get_stats(self->m->fd, &before));
	ASSERT_EQ(0, map_arm_many(self->m, 100, NEVER));
	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, map_cancel(self->m, 0, i));
	ASSERT_EQ(0, map_arm_many(self->m, 50, 0));
	EXPECT_EQ(0, map_collect(self->m, self->seen, 50, 50));
	EXPECT_EQ(50, stop(self->m->fd));
	ASSERT_EQ(0, get_stats(self->m->fd, &after));
	EXPECT_EQ(1, after.wheel);
	EXPECT_EQ(before.wheel_pending, after.wheel_pending);
	EXPECT_EQ(before.wheel_armed, after.wheel_armed);
	EXPECT_EQ(before.wheel_expired, after.wheel_expired);
	EXPECT_EQ(0, memcmp(before.wheel_lateness, after.wheel_lateness,
			    sizeof(after.wheel_lateness)));
}

/* The number in a line "NAME:\tNUMBER" or "NAME NUMBER" of a file, or a negative errno */
static long long number_in(const char *path, const char *name)
{
	long long value = -ENOENT;
	size_t length = strlen(name);
	FILE *file = fopen(path, "r");
	char line[256];

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && strchr(": ", line[length]))
			value = strtoll(line + length + 1, NULL, 10);
	fclose(file);
	return value;
}

/* Of the file's wheel */
static long long debugfs_number(int fd, const char *name)
{
	long long value = -ENOENT;
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/sys/kernel/debug/hwheel/*-%lld",
		 fdinfo_number(fd, "wheel"));
	if (!glob(pattern, 0, NULL, &found))
		value = number_in(found.gl_pathv[0], name);
	globfree(&found);
	return value;
}

/* Other files count on the default wheel, too. STOP removes the file of an own wheel. */
TEST_F(timeouts, debugfs)
{
	bool own = variant->config.tick_ns;
	int fd = self->m->fd;
	long long stopped, after;

	if (access("/sys/kernel/debug/hwheel", X_OK))
		SKIP(return, "needs debugfs");
	/* A work item makes the file. */
	ASSERT_EQ(0, AWAIT(debugfs_number(fd, "mapped_pending") >= 0));
	ASSERT_EQ(0, map_arm_many(self->m, 5, 0));
	ASSERT_EQ(0, map_await_unread(self->m, 5));
	ASSERT_EQ(0, arm_filed(self->m, 5, NEVER, true));
	ASSERT_EQ(0, arm_filed(self->m, 6, NEVER, true));
	ASSERT_EQ(0, await_stats(self->m, (struct hwheel_file_stats){
		.armed = 7, .pending = 2, .expired = 5, .events = 5,
	}));
	if (own) {
		EXPECT_EQ(2, debugfs_number(fd, "mapped_pending"));
		EXPECT_EQ(7, debugfs_number(fd, "mapped_drained"));
		EXPECT_EQ(5, debugfs_number(fd, "mapped_expired"));
	}
	stopped = debugfs_number(fd, "mapped_stopped");
	ASSERT_EQ(2, stop(fd));
	after = debugfs_number(fd, "mapped_stopped");
	EXPECT_TRUE(own ? after == -ENOENT : after >= stopped + 2);
}

TEST_F(timeouts, fdinfo)
{
	EXPECT_EQ(0, fdinfo_number(self->m->fd, "events"));
	EXPECT_EQ(0, fdinfo_number(self->m->fd, "stopped"));
	EXPECT_EQ(1, fdinfo_number(self->m->fd, "mapped"));
	EXPECT_LE(0, fdinfo_number(self->m->fd, "pending"));
	EXPECT_EQ(tick_of(self->m), fdinfo_number(self->m->fd, "tick_ns"));
	ASSERT_EQ(0, map_arm_many(self->m, 5, 0));
	ASSERT_EQ(0, map_await_unread(self->m, 5));
	EXPECT_EQ(5, fdinfo_number(self->m->fd, "events"));
	ASSERT_EQ(0, map_collect(self->m, self->seen, 5, 4));
	EXPECT_EQ(1, fdinfo_number(self->m->fd, "events"));
	ASSERT_EQ(0, stop(self->m->fd));
	EXPECT_EQ(1, fdinfo_number(self->m->fd, "stopped"));
	EXPECT_EQ(0, fdinfo_number(self->m->fd, "pending"));
}

TEST_HARNESS_MAIN
