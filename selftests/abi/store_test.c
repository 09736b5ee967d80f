// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores in the mapped deadlines: a later one counts, whatever wheel the file is on, and
 * nothing that is stored does any harm.
 */

#include "mapped.h"

#include <pthread.h>

#define HOUR	(3600 * SEC)
#define N	64

/* One fixture for all kinds of wheel. A file holds N time-outs at most. */
FIXTURE(store)
{
	struct mapped	m;
	__u64		most;
};

FIXTURE_VARIANT(store)
{
	struct hwheel_config	config;
};

FIXTURE_VARIANT_ADD(store, shared)
{
	.config = { .max_timeouts = N, .clock = CLOCK_MONOTONIC },
};

FIXTURE_VARIANT_ADD(store, hashed)
{
	.config = {
		.max_timeouts = N,
		.kind = HWHEEL_KIND_HASHED, .tick_ns = MSEC, .slots = 16, .clock = CLOCK_MONOTONIC,
	},
};

FIXTURE_VARIANT_ADD(store, hierarchical)
{
	.config = { .max_timeouts = N, .kind = HWHEEL_KIND_HIERARCHICAL, .tick_ns = MSEC,
		    .slots = 8, .levels = 3,
		    .clock = CLOCK_MONOTONIC },
};

FIXTURE_VARIANT_ADD(store, simple)
{
	.config = { .max_timeouts = N, .kind = HWHEEL_KIND_SIMPLE, .tick_ns = 10 * MSEC,
		    .slots = 1048576,
		    .clock = CLOCK_MONOTONIC },
};

FIXTURE_VARIANT_ADD(store, boottime)
{
	.config = { .max_timeouts = N, .clock = CLOCK_BOOTTIME, .kind = HWHEEL_KIND_HASHED },
};

static __u64 turn_of(int fd)
{
	struct hwheel_info info;

	if (get_info(fd, &info) || info.kind != HWHEEL_KIND_SIMPLE)
		return HWHEEL_STORE_MAX_NS;
	return info.slots * info.tick_ns;
}

FIXTURE_SETUP(store)
{
	struct mapped *m = &self->m;

	m->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, m->fd);
	ASSERT_EQ(0, configure(m->fd, &variant->config));
	m->clock = variant->config.clock ?: CLOCK_MONOTONIC;
	m->words = map_words(m->fd, N * sizeof(*m->words));
	ASSERT_NE(NULL, m->words);
	self->most = turn_of(m->fd);
}

FIXTURE_TEARDOWN(store)
{
	EXPECT_EQ(0, munmap(self->m.words, N * sizeof(*self->m.words)));
	if (self->m.fd >= 0)
		EXPECT_EQ(0, close(self->m.fd));
}

static __u64 now(const struct mapped *m)
{
	return clock_ns(m->clock);
}

/* Nothing comes any more of what has expired. */
static int no_more(const struct mapped *m)
{
	struct hwheel_event ev;
	int ret = read_raw(m->fd, &ev, 1);

	return ret == -EAGAIN ? 0 : -EEXIST;
}

/* The words are told */

TEST_F(store, arm_tells)
{
	const struct mapped *m = &self->m;
	__u64 deadline = now(m) + HOUR + 3, id;

	ASSERT_EQ(0, arm_at(m->fd, deadline, 0, &id));
	EXPECT_EQ(round_up_8(deadline), load(m->words, id));
	ASSERT_EQ(0, arm(m->fd, HOUR, 0, &id));
	EXPECT_LE(deadline, load(m->words, id));
	EXPECT_EQ(deadline_of(m->fd, id), load(m->words, id));
}

/* Where there is no end, what does not fit means the latest there is. */
TEST_F(store, arm_tells_never)
{
	const struct mapped *m = &self->m;
	__u64 id;
	int ret = arm(m->fd, NEVER, 0, &id);

	if (variant->config.kind == HWHEEL_KIND_SIMPLE) {
		ASSERT_EQ(-ERANGE, ret);
		EXPECT_EQ(0, m->words[0]);
		return;
	}
	ASSERT_EQ(0, ret);
	EXPECT_LT(INT64_MAX - 8ULL, load(m->words, id) + 8);
	EXPECT_EQ(deadline_of(m->fd, id), load(m->words, id));
}

/* In either direction, alone and in a batch */
TEST_F(store, refresh_tells)
{
	const struct mapped *m = &self->m;
	__u64 at = now(m) + HOUR, id;
	struct hwheel_op op = { .op = HWHEEL_OP_REFRESH, .flags = HWHEEL_ABSOLUTE };

	ASSERT_EQ(0, arm_at(m->fd, at, 0, &id));
	ASSERT_EQ(0, refresh_at(m->fd, id, at + SEC));
	EXPECT_EQ(round_up_8(at + SEC), load(m->words, id));
	ASSERT_EQ(0, refresh_at(m->fd, id, at - SEC));
	EXPECT_EQ(round_up_8(at - SEC), load(m->words, id));
	ASSERT_EQ(0, refresh(m->fd, id, HOUR));
	EXPECT_EQ(deadline_of(m->fd, id), load(m->words, id));
	op.id = id;
	op.time_ns = at + 2 * SEC;
	ASSERT_EQ(1, submit(m->fd, &op, 1));
	EXPECT_EQ(round_up_8(at + 2 * SEC), load(m->words, id));
}

/* What was refused changes neither the word nor what it says. */
TEST_F(store, refused_refresh)
{
	const struct mapped *m = &self->m;
	struct hwheel_op op = { .reserved = 1, .time_ns = SEC };
	__u64 at = now(m) + HOUR, id;

	ASSERT_EQ(0, arm_at(m->fd, at, 0, &id));
	store(m->words, id, at + SEC);
	op.id = id;
	EXPECT_EQ(-EINVAL, call(m->fd, HWHEEL_IOC_REFRESH, &op));
	EXPECT_EQ(-ENOENT, refresh(m->fd, id + (1ULL << 32), 2 * HOUR));
	if (variant->config.kind == HWHEEL_KIND_SIMPLE)
		EXPECT_EQ(-ERANGE, refresh(m->fd, id, NEVER));
	EXPECT_EQ(at + SEC, load(m->words, id));
	EXPECT_EQ(round_up_8(at + SEC), round_up_8(deadline_of(m->fd, id)));
}

TEST_F(store, end_tells)
{
	const struct mapped *m = &self->m;
	struct hwheel_event ev;
	__u64 ids[4];

	ASSERT_EQ(0, arm_many(m->fd, 4, now(m) + HOUR, ids));
	ASSERT_EQ(0, cancel(m->fd, ids[0]));
	EXPECT_EQ(0, load(m->words, ids[0]));
	ASSERT_EQ(0, refresh(m->fd, ids[1], 0));
	ASSERT_EQ(1, readable(m->fd, WAIT_MS));
	EXPECT_EQ(0, load(m->words, ids[1]));
	EXPECT_NE(0, load(m->words, ids[2]));
	EXPECT_EQ(1, read_any(m->fd, m->clock, &ev, 1));
	ASSERT_EQ(2, stop(m->fd));
	EXPECT_EQ(0, load(m->words, ids[2]));
	EXPECT_EQ(0, load(m->words, ids[3]));
}

/* A later one counts */

TEST_F(store, extends)
{
	EXPECT_EQ(0, extends_by(&self->m, store));
	EXPECT_EQ(0, no_more(&self->m));
}

/* Nor does it matter that the module has looked at an earlier one before. */
TEST_F(store, extends_again_and_again)
{
	const struct mapped *m = &self->m;
	__u64 known = now(m) + 50 * MSEC, later = known, id;

	ASSERT_EQ(0, arm_at(m->fd, known, 0, &id));
	while (now(m) < known + 500 * MSEC) {
		__u64 next = now(m) + 50 * MSEC;

		store(m->words, id, next);
		if (now(m) >= later)
			SKIP(return, "too slow a machine");
		later = next;
		poll(NULL, 0, 5);
	}
	EXPECT_EQ(0, expect_event(m, id, later));
	EXPECT_EQ(0, no_more(m));
}

/* What a word was, and what its timeout was due at when the last store came, or before */
struct beat {
	__u64	id;
	__u64	certain;
	__u64	last;
	bool	over;
};

static void beat(const struct mapped *m, struct beat *b, __u64 delay)
{
	__u64 next = now(m) + delay;

	if (b->over || next <= b->certain)
		return;
	b->last = next;
	store(m->words, b->id, next);
	b->over = now(m) >= b->certain;
	if (!b->over)
		b->certain = next;
}

/* The last store may have come too late, all others count. */
static int judge(const struct beat *b, const struct hwheel_event *ev)
{
	if (ev->id != b->id || ev->type != HWHEEL_EVENT_EXPIRED)
		return -EPROTO;
	return ev->deadline_ns == round_up_8(b->certain) ||
	       ev->deadline_ns == round_up_8(b->last) ? 0 : -ERANGE;
}

/* Stores that race expiry: with so short delays many are too late. */
TEST_F(store, races_expiry)
{
	const struct mapped *m = &self->m;
	unsigned int seen[N] = { 0 }, step, i, rnd = 1;
	struct beat beats[N];
	struct hwheel_event ev;

	for (i = 0; i < N; i++) {
		__u64 at = now(m) + 40 * MSEC;

		beats[i] = (struct beat){ .certain = at, .last = at };
		ASSERT_EQ(0, arm_at(m->fd, at, i, &beats[i].id));
	}
	for (step = 0; step < 200000; step++) {
		rnd = rnd * 1103515245 + 12345;
		beat(m, &beats[step % N], (rnd >> 16) % (step % N * MSEC + 1));
	}
	for (i = 0; i < N; i++) {
		ASSERT_EQ(1, readable(m->fd, WAIT_MS));
		ASSERT_EQ(1, read_any(m->fd, m->clock, &ev, 1));
		ASSERT_GT(N, ev.cookie);
		seen[ev.cookie]++;
		EXPECT_EQ(0, judge(&beats[ev.cookie], &ev));
	}
	EXPECT_TRUE(each_once(seen, N));
	EXPECT_EQ(0, no_more(m));
}

TEST_F(store, query_tells)
{
	const struct mapped *m = &self->m;
	__u64 at = now(m) + HOUR, id, before;
	struct hwheel_op op;

	ASSERT_EQ(0, arm_at(m->fd, at, 7, &id));
	store(m->words, id, at + SEC);
	ASSERT_EQ(HWHEEL_STATE_PENDING, query(m->fd, id, HWHEEL_ABSOLUTE, &op));
	EXPECT_LE(at + SEC, op.time_ns);
	EXPECT_GE(round_up_8(at + SEC), op.time_ns);
	EXPECT_EQ(7, op.cookie);
	before = now(m);
	ASSERT_EQ(HWHEEL_STATE_PENDING, query(m->fd, id, 0, &op));
	EXPECT_GE(round_up_8(at + SEC) - before, op.time_ns);
	EXPECT_LE(at + SEC - now(m), op.time_ns);
	/* It only looks. */
	EXPECT_EQ(at + SEC, load(m->words, id));
	store(m->words, id, at - SEC);
	EXPECT_EQ(round_up_8(at), deadline_of(m->fd, id));
}

/* A multiple of 8 like any other deadline */
TEST_F(store, query_rounds)
{
	const struct mapped *m = &self->m;
	__u64 at = round_up_8(now(m) + HOUR), id;

	ASSERT_EQ(0, arm_at(m->fd, at, 0, &id));
	store(m->words, id, at + 1);
	EXPECT_EQ(at + 8, deadline_of(m->fd, id));
}

/* A store is no REFRESH, also once it was looked at. */
TEST_F(store, statistics)
{
	const struct mapped *m = &self->m;
	struct hwheel_file_stats stats;

	ASSERT_EQ(0, extends_by(m, store));
	ASSERT_EQ(0, get_stats(m->fd, &stats));
	EXPECT_EQ(0, stats.refreshed);
	EXPECT_EQ(0, stats.pending);
}

/* Others don't */

/* Soon, but each at its deadline, whatever is no later than that */
TEST_F(store, earlier_ones)
{
	const struct mapped *m = &self->m;
	__u64 at = round_up_8(now(m) + 60 * MSEC), ids[N];
	const __u64 values[] = {
		0, 1, 8, at / 2, at - 50 * MSEC, at - 8, at - 1, at, now(m), now(m) + MSEC,
	};
	size_t i, n = ARRAY_SIZE(values);
	struct hwheel_event ev;

	ASSERT_EQ(0, arm_many(m->fd, n, at, ids));
	for (i = 0; i < n; i++)
		store(m->words, ids[i], values[i]);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(1, readable(m->fd, WAIT_MS));
		ASSERT_EQ(1, read_any(m->fd, m->clock, &ev, 1));
		EXPECT_EQ(at, ev.deadline_ns);
	}
	EXPECT_EQ(0, no_more(m));
}

/* Farther than one may store: as far as one may, and once. */
TEST_F(store, garbage)
{
	static const __u64 values[] = {
		UINT64_MAX, UINT64_MAX - 1, 1ULL << 63, (1ULL << 63) - 1, (1ULL << 63) - 8,
		UINT64_MAX - SEC, POISON64,
	};
	const struct mapped *m = &self->m;
	size_t i, n = ARRAY_SIZE(values);
	__u64 at, ids[N], most;

	at = round_up_8(now(m) + 100 * MSEC);
	ASSERT_EQ(0, arm_many(m->fd, n, at, ids));
	for (i = 0; i < n; i++)
		store(m->words, ids[i], values[i]);
	if (now(m) >= at)
		SKIP(return, "too slow a machine");
	most = at + (self->most < HWHEEL_STORE_MAX_NS ? self->most : HWHEEL_STORE_MAX_NS);
	for (i = 0; i < n; i++)
		EXPECT_EQ(most, deadline_of(m->fd, ids[i]));
	/* Another that nobody extends is the fence. */
	ASSERT_EQ(0, arm_at(m->fd, at, n, &ids[n]));
	EXPECT_EQ(0, expect_event(m, ids[n], at));
	ASSERT_EQ(0, arm(m->fd, 0, n, NULL));
	ASSERT_EQ(1, readable(m->fd, WAIT_MS));
	for (i = 0; i < n; i++) {
		EXPECT_EQ(most, deadline_of(m->fd, ids[i]));
		EXPECT_EQ(values[i], load(m->words, ids[i]));
		EXPECT_EQ(0, cancel(m->fd, ids[i]));
	}
}

/* On a simple wheel with a short turn, it comes after that. */
TEST(garbage_on_a_short_turn)
{
	struct hwheel_config config = {
		.kind = HWHEEL_KIND_SIMPLE, .tick_ns = 5 * MSEC, .slots = 16,
		.clock = CLOCK_MONOTONIC,
	};
	struct mapped m = { open_device(O_NONBLOCK), CLOCK_MONOTONIC, NULL };
	__u64 at, id, turn = config.slots * config.tick_ns;

	ASSERT_LE(0, m.fd);
	ASSERT_EQ(0, configure(m.fd, &config));
	m.words = map_words(m.fd, 1);
	ASSERT_NE(NULL, m.words);
	do {
		at = round_up_8(now(&m) + 50 * MSEC);
		ASSERT_EQ(0, arm_at(m.fd, at, 0, &id));
		store(m.words, id, UINT64_MAX);
		if (now(&m) < at)
			break;
	} while (!forget(&m, id));
	EXPECT_EQ(0, expect_event(&m, id, at + turn));
	EXPECT_EQ(0, munmap(m.words, 1));
	EXPECT_EQ(0, close(m.fd));
}

TEST_F(store, refresh_overrides)
{
	const struct mapped *m = &self->m;
	__u64 at = now(m) + HOUR, id, soon;
	struct hwheel_op op = { .op = HWHEEL_OP_REFRESH, .flags = HWHEEL_ABSOLUTE };

	ASSERT_EQ(0, arm_at(m->fd, at, 0, &id));
	store(m->words, id, at + HOUR);
	soon = now(m) + 20 * MSEC;
	ASSERT_EQ(0, refresh_at(m->fd, id, soon));
	EXPECT_EQ(0, expect_event(m, id, soon));
	ASSERT_EQ(0, arm_at(m->fd, at, 0, &id));
	store(m->words, id, UINT64_MAX);
	op.id = id;
	op.time_ns = now(m) + 20 * MSEC;
	ASSERT_EQ(1, submit(m->fd, &op, 1));
	EXPECT_EQ(0, expect_event(m, id, op.time_ns));
}

TEST_F(store, cancel_of_garbage)
{
	const struct mapped *m = &self->m;
	__u64 ids[N];

	ASSERT_EQ(0, arm_many(m->fd, N, now(m) + 50 * MSEC, ids));
	memset(m->words, 0xff, N * sizeof(*m->words));
	if (now(m) >= load(m->words, 0))
		SKIP(return, "too slow a machine");
	poll(NULL, 0, 100);
	EXPECT_EQ(0, cancel_many(m->fd, ids, N));
	EXPECT_EQ(0, await_held(m->fd, 0));
	EXPECT_EQ(0, no_more(m));
}

TEST_F(store, stop_of_garbage)
{
	const struct mapped *m = &self->m;
	struct hwheel_event ev[N];
	int i;

	ASSERT_EQ(0, arm_many(m->fd, N, now(m) + HOUR, NULL));
	memset(m->words, 0xff, N * sizeof(*m->words));
	EXPECT_EQ(N, stop(m->fd));
	memset(m->words, 0xff, N * sizeof(*m->words));
	ASSERT_EQ(N, read_any(m->fd, m->clock, ev, N));
	for (i = 0; i < N; i++)
		EXPECT_EQ(HWHEEL_EVENT_STOPPED, ev[i].type);
	EXPECT_EQ(0, read_any(m->fd, m->clock, ev, 1));
}

/* The mapping outlives it. */
TEST_F(store, close_of_garbage)
{
	ASSERT_EQ(0, arm_many(self->m.fd, N, now(&self->m) + 20 * MSEC, NULL));
	memset(self->m.words, 0xff, N * sizeof(*self->m.words));
	ASSERT_EQ(0, close(self->m.fd));
	self->m.fd = -1;
}

/* What has ended tells what its event tells, whatever comes after that. */
TEST_F(store, comes_after_the_end)
{
	const struct mapped *m = &self->m;
	__u64 at = now(m) + 20 * MSEC, id;
	struct hwheel_op op;

	ASSERT_EQ(0, arm_at(m->fd, at, 0, &id));
	ASSERT_EQ(1, readable(m->fd, WAIT_MS));
	store(m->words, id, at + HOUR);
	ASSERT_EQ(HWHEEL_STATE_EXPIRED, query(m->fd, id, HWHEEL_ABSOLUTE, &op));
	EXPECT_EQ(round_up_8(at), op.time_ns);
	ASSERT_EQ(HWHEEL_STATE_EXPIRED, query(m->fd, id, 0, &op));
	EXPECT_EQ(0, op.time_ns);
	EXPECT_EQ(-ENOENT, refresh(m->fd, id, HOUR));
	EXPECT_EQ(-ENOENT, cancel(m->fd, id));
	EXPECT_EQ(at + HOUR, load(m->words, id));
	EXPECT_EQ(0, expect_event(m, id, at));
	EXPECT_EQ(0, no_more(m));
}

/* An index that is used again: what came before ARM is gone, what comes after it counts. */
TEST_F(store, successor)
{
	const struct mapped *m = &self->m;
	unsigned int seen[N] = { 0 };
	__u64 ids[N], at, id;

	ASSERT_EQ(0, arm_many(m->fd, N, 0, ids));
	ASSERT_EQ(0, collect(m->fd, seen, N, N));
	memset(m->words, 0xff, N * sizeof(*m->words));
	at = now(m) + 20 * MSEC;
	ASSERT_EQ(0, arm_at(m->fd, at, 0, &id));
	ASSERT_GT(N, HWHEEL_INDEX(id));
	ASSERT_EQ(HWHEEL_INDEX(ids[HWHEEL_INDEX(id)]), HWHEEL_INDEX(id));
	ASSERT_NE(ids[HWHEEL_INDEX(id)], id);
	EXPECT_EQ(0, expect_event(m, id, at));
	at = now(m) + HOUR;
	ASSERT_EQ(0, arm_at(m->fd, at, 0, &id));
	store(m->words, id - (1ULL << 32), at + SEC);
	EXPECT_LE(at + SEC, deadline_of(m->fd, id));
	EXPECT_EQ(0, cancel(m->fd, id));
	EXPECT_EQ(0, extends_by(m, store));
}

static void *scribble(void *data)
{
	const struct mapped *m = data;
	__u64 rnd = 88172645463325252ULL;

	while (!load(m->words, N)) {
		rnd ^= rnd << 13;
		rnd ^= rnd >> 7;
		rnd ^= rnd << 17;
		if (rnd & 1 << 20)
			store(m->words, rnd % N, now(m) + (rnd >> 40));
		else if (rnd & 1 << 21)
			store(m->words, rnd % N, rnd >> (rnd >> 58));
		else
			((__u8 *)m->words)[rnd % (N * sizeof(__u64))] = rnd >> 32;
	}
	return NULL;
}

/* All that is said of @m while somebody scribbles: never early, each once. */
static int go_on(const struct mapped *m)
{
	unsigned int seen[N] = { 0 }, expired = N;
	__u64 at = now(m) + 10 * MSEC, ids[N];
	struct hwheel_event ev;
	int i, ret;

	if (arm_many(m->fd, N, at, ids))
		return -EPROTO;
	poll(NULL, 0, 12);
	/* Some are far now. */
	for (i = 0; i < N; i++) {
		ret = refresh_at(m->fd, ids[i], at + i);
		if (ret && ret != -ENOENT)
			return ret;
		ret = cancel(m->fd, ids[i]);
		if (ret && ret != -ENOENT)
			return ret;
		seen[i] = !ret;
		expired -= !ret;
	}
	while (expired--) {
		if (readable(m->fd, WAIT_MS) != 1 || read_any(m->fd, m->clock, &ev, 1) != 1)
			return -ETIMEDOUT;
		if (ev.cookie >= N || ev.deadline_ns < at || ev.type != HWHEEL_EVENT_EXPIRED)
			return -EPROTO;
		seen[ev.cookie]++;
	}
	return each_once(seen, N) ? await_held(m->fd, 0) : -EXDEV;
}

TEST_F(store, scribbler)
{
	pthread_t thread;
	int round;

	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &self->m));
	for (round = 0; round < 20; round++)
		EXPECT_EQ(0, go_on(&self->m));
	/* Beyond those that are used */
	store(self->m.words, N, 1);
	EXPECT_EQ(0, pthread_join(thread, NULL));
}

/* Its time-outs have the same indexes, and are exact while ours get garbage. */
TEST_F(store, other_file)
{
	struct mapped other = { open_device(O_NONBLOCK), CLOCK_MONOTONIC, NULL };
	__u64 at = now_ns() + 100 * MSEC, ids[N], id = 0;
	struct hwheel_event ev;
	pthread_t thread;
	int i;

	ASSERT_LE(0, other.fd);
	other.words = map_words(other.fd, 1);
	ASSERT_NE(NULL, other.words);
	ASSERT_EQ(0, arm_many(self->m.fd, N, now(&self->m), NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &self->m));
	EXPECT_EQ(0, arm_many(other.fd, N, at, ids));
	EXPECT_EQ(0, arm_at(other.fd, at + HOUR, N, &id));
	for (i = 0; i < N; i++) {
		ASSERT_EQ(1, readable(other.fd, WAIT_MS));
		ASSERT_EQ(1, read_events(other.fd, &ev, 1));
		EXPECT_EQ(round_up_8(at), ev.deadline_ns);
		EXPECT_EQ(0, load(other.words, ev.id));
	}
	EXPECT_EQ(round_up_8(at + HOUR), load(other.words, id));
	store(self->m.words, N, 1);
	EXPECT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, munmap(other.words, 1));
	EXPECT_EQ(0, close(other.fd));
}

TEST_HARNESS_MAIN
