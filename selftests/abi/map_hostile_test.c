// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each test breaks mapped memory in one way. The worker goes on, other files on the shared
 * wheel notice nothing, and STOP and close() work on the broken file.
 *
 * The contract promises a hostile program nothing about its own timeouts. Where a test looks
 * at them, the worker may as well have given the file up, which poll() tells.
 */

#include "share.h"
#include "map.h"

#define RECORDS	300
#define LISTS	3

/**
 * struct _test_data_hostile - the attacker's mapping, and those that it must not harm
 * @map:   the attacker's
 * @m:     a pointer to it
 * @good:  a mapped file on the default wheel
 * @plain: a file without a mapping on the default wheel
 * @users: how many held the module before
 */
FIXTURE(hostile)
{
	struct map	map;
	struct map	*m;
	struct map	good;
	int		plain;
	long		users;
};

FIXTURE_VARIANT(hostile)
{
	struct hwheel_config	config;
};

FIXTURE_VARIANT_ADD(hostile, shared) {
	.config = { .clock = CLOCK_MONOTONIC, .max_timeouts = 1000 },
};

FIXTURE_VARIANT_ADD(hostile, own) {
	.config = {
		.tick_ns = MSEC, .slots = 16, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
		.max_timeouts = 1000,
	},
};

FIXTURE_SETUP(hostile)
{
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	self->users = users_of_module();
	self->m = &self->map;
	self->plain = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->plain);
	ASSERT_EQ(0, map_open_shared(&self->good, 100, 2));
	ASSERT_EQ(0, map_open(self->m, &variant->config, RECORDS, LISTS));
}

/* 0 if timeouts of this mapping fire, each once */
static int works(struct map *m)
{
	__u64 deadline = map_now(m) + MSEC;
	int ret;

	ret = map_arm(m, 0, 1, 0) ?: map_expect(m, 1, 0);
	ret = ret ?: map_arm(m, 1, 2, deadline) ?: map_expect(m, 2, deadline);
	return ret ?: map_stays_quiet(m, deadline);
}

static int plain_works(int fd)
{
	unsigned int seen[10] = { 0 };
	int ret = arm_many(fd, 10, now_ns() + MSEC, NULL) ?: collect(fd, seen, 10, 10);

	return ret ?: each_once(seen, 10) ? 0 : -EPROTO;
}

/* 0 if timeouts of the victims fire, however late */
static int others_go_on(struct map *good, int plain)
{
	return plain_works(plain) ?: works(good) ?: settle(now_ns());
}

FIXTURE_TEARDOWN(hostile)
{
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	EXPECT_LE(0, stop(self->m->fd));
	EXPECT_EQ(0, map_kick(self->m));
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	EXPECT_EQ(0, map_close(self->m));
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	EXPECT_EQ(0, map_close(&self->good));
	EXPECT_EQ(0, close(self->plain));
	EXPECT_EQ(0, await_users(self->users));
}

static bool is_given_up(const struct map *m)
{
	return poll_all(m->fd) & POLLERR;
}

/* Waits until poll() tells that the worker has given the file up. */
static int await_giving_up(const struct map *m)
{
	struct pollfd pfd = { .fd = m->fd };
	int ret = poll(&pfd, 1, WAIT_MS);

	if (ret <= 0)
		return ret ? -errno : -ETIMEDOUT;
	return pfd.revents & POLLERR ? 0 : -EPROTO;
}

static __u32 head_of(const struct map *m, unsigned int list)
{
	return __atomic_load_n(&m->lists[list].head, __ATOMIC_ACQUIRE);
}

/* Waits until the worker has taken the list, or given the file up. */
static int await_taken(const struct map *m, unsigned int list)
{
	return AWAIT(!head_of(m, list) || head_of(m, list) == HWHEEL_MAP_ASLEEP || is_given_up(m));
}

static void set_head(struct map *m, unsigned int list, __u32 value)
{
	__atomic_store_n(&m->lists[list].head, value, __ATOMIC_SEQ_CST);
}

static void set_link(struct map *m, __u32 i, __u32 value)
{
	__atomic_store_n(&m->records[i].link, value, __ATOMIC_SEQ_CST);
}

static void set_word(struct map *m, __u32 i, __u64 value)
{
	__atomic_store_n(&m->records[i].word, value, __ATOMIC_SEQ_CST);
}

/* Makes the worker take a list with this head. */
static int offer(struct map *m, unsigned int list, __u32 head)
{
	set_head(m, list, head);
	return map_kick(m) ?: await_taken(m, list);
}

/* Makes a record look as if a thread was about to push it. */
static void prepare(struct map *m, __u32 i)
{
	set_word(m, i, map_word(0) | HWHEEL_MAP_PENDING | HWHEEL_MAP_QUEUED);
}

static bool works_or_is_given_up(struct map *m)
{
	return is_given_up(m) || !works(m) || is_given_up(m);
}

/* Lists */

/* A list that has more links than there are records is damaged: the worker gives up the file. */
TEST_F(hostile, cycle_of_one)
{
	prepare(self->m, 5);
	set_link(self->m, 5, 5 + 1);
	ASSERT_EQ(0, offer(self->m, 0, 5 + 1));
	EXPECT_EQ(0, await_giving_up(self->m));
}

TEST_F(hostile, cycle_of_two)
{
	prepare(self->m, 5);
	prepare(self->m, 6);
	set_link(self->m, 5, 6 + 1);
	set_link(self->m, 6, 5 + 1);
	ASSERT_EQ(0, offer(self->m, 1, 5 + 1));
	EXPECT_EQ(0, await_giving_up(self->m));
}

TEST_F(hostile, cycle_of_idle_records)
{
	set_link(self->m, 5, 6 + 1);
	set_link(self->m, 6, 5 + 1);
	ASSERT_EQ(0, offer(self->m, 0, 6 + 1));
	EXPECT_EQ(0, await_giving_up(self->m));
}

TEST_F(hostile, pushed_twice)
{
	ASSERT_EQ(1, map_exchange_to_arm(self->m, 5, 0));
	map_link(self->m, 0, 5);
	map_link(self->m, 0, 5);
	ASSERT_EQ(0, map_kick(self->m));
	EXPECT_EQ(0, await_giving_up(self->m));
}

/* Another record lies between the two pushes. */
TEST_F(hostile, pushed_again)
{
	ASSERT_EQ(1, map_exchange_to_arm(self->m, 5, 0));
	ASSERT_EQ(1, map_exchange_to_arm(self->m, 6, 0));
	map_link(self->m, 0, 5);
	map_link(self->m, 0, 6);
	map_link(self->m, 0, 5);
	ASSERT_EQ(0, map_kick(self->m));
	EXPECT_EQ(0, await_giving_up(self->m));
}

/* Each list ends in a cycle while timeouts are pending. */
TEST_F(hostile, cycle_with_much_pending)
{
	unsigned int list;
	__u32 i;

	for (i = 0; i < RECORDS; i++)
		ASSERT_EQ(0, map_arm_in(self->m, i % LISTS, i, i % 3 * 10 * MSEC));
	set_link(self->m, 7, 7 + 1);
	for (list = 0; list < LISTS; list++)
		ASSERT_EQ(0, offer(self->m, list, 7 + 1));
	EXPECT_EQ(0, await_giving_up(self->m));
}

/* The list goes through all records into a cycle of the last two. */
static int offer_endless_list(struct map *m)
{
	__u32 n = m->layout.records, i;

	for (i = 0; i < n; i++)
		set_link(m, i, (i < n - 1 ? i + 1 : n - 2) + 1);
	return offer(m, 2, 0 + 1) ?: await_giving_up(m);
}

TEST_F(hostile, endless_list)
{
	__u32 i;

	for (i = 0; i < self->m->layout.records; i++)
		prepare(self->m, i);
	EXPECT_EQ(0, offer_endless_list(self->m));
}

TEST_F(hostile, endless_list_of_idle_records)
{
	EXPECT_EQ(0, offer_endless_list(self->m));
}

/* Threads that wait for events hear that none will come. */
TEST_F(hostile, endless_list_with_much_pending)
{
	__u32 i;

	for (i = 0; i < RECORDS; i++)
		ASSERT_EQ(0, map_arm_in(self->m, i % LISTS, i, HOUR + i % 3 * 10 * MSEC));
	ASSERT_EQ(0, map_await_filed(self->m, RECORDS - 1));
	EXPECT_EQ(0, offer_endless_list(self->m));
	EXPECT_EQ(POLLERR, poll_all(self->m->fd));
}

/* The worker never looks again at a file that it has given up. */
TEST_F(hostile, given_up_for_good)
{
	ASSERT_EQ(0, offer_endless_list(self->m));
	set_head(self->m, 0, 0);
	set_head(self->m, 2, 0);
	EXPECT_EQ(0, map_arm(self->m, 0, 8, 0));
	EXPECT_EQ(0, map_kick(self->m));
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	EXPECT_EQ(HWHEEL_MAP_PENDING, map_state(self->m, 8));
	EXPECT_EQ(0, await_giving_up(self->m));
}

TEST_F(hostile, on_two_lists)
{
	int i;

	for (i = 0; i < 20; i++) {
		map_exchange_to_arm(self->m, 5, i % 2 ? NEVER : 0);
		map_link(self->m, 0, 5);
		map_link(self->m, 1, 5);
		ASSERT_EQ(0, map_kick(self->m));
		ASSERT_EQ(0, await_taken(self->m, 0));
		ASSERT_EQ(0, await_taken(self->m, 1));
		map_cancel(self->m, 2, 5);
	}
}

/* A list goes on in the middle of another one. */
TEST_F(hostile, link_to_another_list)
{
	__u32 i;

	for (i = 10; i < 20; i++) {
		ASSERT_EQ(1, map_exchange_to_arm(self->m, i, 0));
		map_link(self->m, i % 2, i);
	}
	set_link(self->m, 10, 15 + 1);
	set_link(self->m, 19, 10 + 1);
	ASSERT_EQ(0, map_kick(self->m));
	EXPECT_EQ(0, await_taken(self->m, 0));
	EXPECT_EQ(0, await_taken(self->m, 1));
}

/* Links lead to a filed record and to one that is on no list. */
TEST_F(hostile, link_to_others)
{
	ASSERT_EQ(0, map_arm(self->m, 0, 20, NEVER));
	ASSERT_EQ(0, map_await_filed(self->m, 20));
	ASSERT_EQ(1, map_exchange_to_arm(self->m, 21, NEVER));
	set_link(self->m, 21, 20 + 1);
	set_link(self->m, 20, 22 + 1);
	ASSERT_EQ(0, offer(self->m, 1, 21 + 1));
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	EXPECT_TRUE(works_or_is_given_up(self->m));
}

/* Values of heads and links that name no record */
static size_t wrong_indexes(const struct map *m, __u32 indexes[5])
{
	indexes[0] = m->layout.records + 1;
	indexes[1] = m->layout.ring_size * 2 + 1;
	indexes[2] = HWHEEL_MAP_STOPPED + 1;
	indexes[3] = HWHEEL_MAP_ASLEEP - 1;
	indexes[4] = 0x7fffffff;
	return 5;
}

TEST_F(hostile, head_out_of_range)
{
	__u32 indexes[5];
	size_t n = wrong_indexes(self->m, indexes), i;

	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, offer(self->m, i % LISTS, indexes[i]));
		EXPECT_EQ(0, others_go_on(&self->good, self->plain));
		EXPECT_TRUE(works_or_is_given_up(self->m));
	}
}

/* ASLEEP, too, means nothing in a link. */
TEST_F(hostile, link_out_of_range)
{
	__u32 indexes[6] = { [5] = HWHEEL_MAP_ASLEEP };
	size_t n = wrong_indexes(self->m, indexes) + 1, i;

	for (i = 0; i < n; i++) {
		prepare(self->m, 10 + i);
		set_link(self->m, 10 + i, indexes[i]);
		ASSERT_EQ(0, offer(self->m, i % LISTS, 10 + i + 1));
		EXPECT_EQ(0, others_go_on(&self->good, self->plain));
		EXPECT_TRUE(works_or_is_given_up(self->m));
	}
}

/* The program writes ASLEEP while the worker looks at the list. */
TEST_F(hostile, asleep_written)
{
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, map_arm(self->m, 0, 10 + i, NEVER));
		set_head(self->m, 0, HWHEEL_MAP_ASLEEP);
		set_head(self->m, 1, HWHEEL_MAP_ASLEEP);
	}
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	EXPECT_TRUE(works_or_is_given_up(self->m));
}

/* The program clears ASLEEP, so nobody kicks the worker for the next push. */
TEST_F(hostile, asleep_cleared)
{
	ASSERT_EQ(HWHEEL_MAP_ASLEEP, head_of(self->m, 0));
	set_head(self->m, 0, 0);
	ASSERT_EQ(0, map_arm(self->m, 0, 5, 0));
	EXPECT_EQ(0, self->m->kicks);
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	ASSERT_EQ(0, map_kick(self->m));
	EXPECT_TRUE(is_given_up(self->m) || !map_expect(self->m, 5, 0));
}

/* The program kicks all the time, and the worker finds empty lists. */
TEST_F(hostile, nothing_but_kicks)
{
	int i;

	for (i = 0; i < 100000; i++) {
		if (i % 3 == 0)
			set_head(self->m, i % LISTS, i % 2 ? 0 : HWHEEL_MAP_ASLEEP);
		ASSERT_EQ(0, map_kick(self->m));
	}
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	EXPECT_TRUE(works_or_is_given_up(self->m));
}

/* Words */

static const __u64 wrong_words[] = {
	UINT64_MAX,
	UINT64_MAX & ~(__u64)HWHEEL_MAP_STATE,
	UINT64_MAX & ~(__u64)HWHEEL_MAP_QUEUED,
	UINT64_MAX & ~(__u64)(HWHEEL_MAP_QUEUED | HWHEEL_MAP_STATE),
	UINT64_MAX & ~(__u64)HWHEEL_MAP_WITHDRAWN & ~(__u64)HWHEEL_MAP_STATE,
	HWHEEL_MAP_STATE | HWHEEL_MAP_QUEUED | HWHEEL_MAP_WITHDRAWN,
	HWHEEL_MAP_PENDING | HWHEEL_MAP_QUEUED | HWHEEL_MAP_WITHDRAWN,
	HWHEEL_MAP_PENDING | HWHEEL_MAP_WITHDRAWN,
	HWHEEL_MAP_PENDING,
	HWHEEL_MAP_EXPIRED,
	HWHEEL_MAP_EXPIRED | HWHEEL_MAP_QUEUED,
	HWHEEL_MAP_EXPIRED | HWHEEL_MAP_QUEUED | HWHEEL_MAP_WITHDRAWN,
	HWHEEL_MAP_CANCELLED,
	HWHEEL_MAP_CANCELLED | HWHEEL_MAP_QUEUED | HWHEEL_MAP_WITHDRAWN,
	HWHEEL_MAP_IDLE | HWHEEL_MAP_QUEUED,
	HWHEEL_MAP_IDLE | HWHEEL_MAP_WITHDRAWN,
	1ULL << 63,
	1ULL << 63 | HWHEEL_MAP_QUEUED,
	(1ULL << 63) - 16,
	(1ULL << 63) - 16 + HWHEEL_MAP_QUEUED,
};

/* The worker finds these words on lists. */
TEST_F(hostile, wrong_word_pushed)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong_words); i++) {
		set_word(self->m, 10 + i, wrong_words[i]);
		ASSERT_EQ(0, map_push(self->m, i % LISTS, 10 + i));
		ASSERT_EQ(0, await_taken(self->m, i % LISTS));
	}
}

/* The words change while the records are filed, for soon and for much later. */
TEST_F(hostile, wrong_word_filed)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong_words); i++) {
		__u64 deadline = i % 2 ? HOUR : 100 * MSEC;

		ASSERT_EQ(0, map_arm_in(self->m, 0, 10 + i, deadline));
		ASSERT_EQ(0, map_await_filed(self->m, 10 + i));
		set_word(self->m, 10 + i, wrong_words[i]);
	}
	EXPECT_EQ(0, settle(now_ns() + 110 * MSEC));
	for (i = 0; i < ARRAY_SIZE(wrong_words); i++)
		ASSERT_EQ(0, map_push(self->m, i % LISTS, 10 + i));
}

/* The words change between expiry and reaping. */
TEST_F(hostile, wrong_word_expired)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong_words); i++) {
		ASSERT_EQ(0, map_arm(self->m, 0, 10 + i, 0));
		ASSERT_EQ(0, map_await_state(self->m, 10 + i, HWHEEL_MAP_EXPIRED));
		set_word(self->m, 10 + i, wrong_words[i]);
		ASSERT_EQ(0, map_push(self->m, i % LISTS, 10 + i));
	}
}

/* The words say PENDING, but no thread has ever pushed the records. */
TEST_F(hostile, pending_without_push)
{
	__u32 i;

	for (i = 10; i < RECORDS - 1; i++)
		set_word(self->m, i, map_word(i % 2 ? 0 : NEVER) | (i % 3 ? HWHEEL_MAP_QUEUED : 0));
	EXPECT_EQ(0, map_kick(self->m));
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	EXPECT_TRUE(works_or_is_given_up(self->m));
}

/* The words of filed records change, and no thread pushes them. */
TEST_F(hostile, changed_without_push)
{
	__u64 deadline = map_now(self->m) + 200 * MSEC;
	__u32 i;

	for (i = 10; i < RECORDS; i++)
		ASSERT_EQ(0, map_arm(self->m, 0, i, deadline));
	ASSERT_EQ(0, map_await_filed(self->m, RECORDS - 1));
	for (i = 10; i < RECORDS; i++)
		set_word(self->m, i, map_word(i % 5 * deadline / 2) | (i & 7));
	EXPECT_EQ(0, settle(deadline + 10 * MSEC));
}

/* The program sets filed records to IDLE, and arms them anew. */
TEST_F(hostile, forgotten_and_armed_again)
{
	__u32 i;
	int round;

	for (round = 0; round < 10; round++)
		for (i = 10; i < 50; i++) {
			set_word(self->m, i, HWHEEL_MAP_IDLE);
			ASSERT_EQ(1, map_exchange_to_arm(self->m, i, round % 2 ? NEVER : HOUR));
			ASSERT_EQ(0, map_push(self->m, 0, i));
			if (i % 10 == 9)
				ASSERT_EQ(0, await_taken(self->m, 0));
		}
}

/* The ring and the header */

/* Records expire again although nobody has reaped them, until the ring is too small. */
TEST_F(hostile, ring_overflows)
{
	__u32 rounds = 4 * self->m->layout.ring_size / RECORDS + 1, i;

	while (rounds--) {
		for (i = 0; i < RECORDS; i++) {
			prepare(self->m, i);
			ASSERT_EQ(0, map_push(self->m, 0, i));
		}
		ASSERT_EQ(0, map_await_state(self->m, 0, HWHEEL_MAP_EXPIRED));
		ASSERT_EQ(0, map_await_state(self->m, RECORDS - 1, HWHEEL_MAP_EXPIRED));
	}
	EXPECT_LE(0, poll_all(self->m->fd));
}

TEST_F(hostile, entries_overwritten)
{
	memset(self->m->ring, 0xff, self->m->layout.ring_size * sizeof(*self->m->ring));
	ASSERT_EQ(0, map_arm(self->m, 0, 10, 0));
	ASSERT_EQ(0, map_await_unread(self->m, 1));
	memset(self->m->ring, 0xff, self->m->layout.ring_size * sizeof(*self->m->ring));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->m->fd));
}

static void set_counter(__u64 *counter, __u64 value)
{
	__atomic_store_n(counter, value, __ATOMIC_SEQ_CST);
}

static const __u64 wrong_counts[] = {
	1, 5, 1000, 1ULL << 31, 1ULL << 32, 1ULL << 63, UINT64_MAX - 1000, UINT64_MAX,
};

/* The head runs ahead of the tail and backwards. */
TEST_F(hostile, head_of_the_ring)
{
	__u64 *head = &self->m->header->head, *tail = &self->m->header->tail;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong_counts); i++) {
		set_counter(head, *tail + wrong_counts[i]);
		EXPECT_LE(0, poll_all(self->m->fd));
		ASSERT_EQ(0, map_arm(self->m, 0, 10, 0));
		ASSERT_EQ(0, map_await_state(self->m, 10, HWHEEL_MAP_EXPIRED));
		EXPECT_LE(0, poll_all(self->m->fd));
		EXPECT_EQ(0, others_go_on(&self->good, self->plain));
		/* The worker publishes the tail after it has changed the word. */
		EXPECT_EQ(0, settle(now_ns()));
		set_counter(head, *tail);
		set_word(self->m, 10, HWHEEL_MAP_IDLE);
	}
}

TEST_F(hostile, tail_of_the_ring)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong_counts); i++) {
		set_counter(&self->m->header->tail, wrong_counts[i]);
		EXPECT_LE(0, poll_all(self->m->fd));
		set_word(self->m, 10, HWHEEL_MAP_IDLE);
		ASSERT_EQ(0, map_arm(self->m, 0, 10, 0));
		ASSERT_EQ(0, map_await_state(self->m, 10, HWHEEL_MAP_EXPIRED));
		EXPECT_LE(0, poll_all(self->m->fd));
		EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	}
}

/* The program overwrites the signs of STOP. The kernel has a flag of its own. */
TEST_F(hostile, stopped_overwritten)
{
	__u32 *head = &self->m->lists[0].head;

	__atomic_store_n(&self->m->header->stopped, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(head, HWHEEL_MAP_CLOSED, __ATOMIC_SEQ_CST);
	EXPECT_EQ(-ESHUTDOWN, map_arm(self->m, 0, 5, NEVER));
	EXPECT_EQ(0, poll_all(self->m->fd) & POLLHUP);
	__atomic_store_n(head, HWHEEL_MAP_ASLEEP, __ATOMIC_SEQ_CST);
	EXPECT_EQ(0, works(self->m));
	ASSERT_EQ(0, map_arm(self->m, 0, 5, NEVER));
	EXPECT_EQ(1, stop(self->m->fd));
	__atomic_store_n(head, 0, __ATOMIC_SEQ_CST);
	EXPECT_EQ(0, map_arm(self->m, 0, 6, 0));
	EXPECT_EQ(0, stop(self->m->fd));
	EXPECT_EQ(HWHEEL_MAP_PENDING, map_state(self->m, 6));
}

/* The kernel believes nothing that is in the header. */
TEST_F(hostile, header_overwritten)
{
	struct hwheel_map_header saved = *self->m->header;

	memset(self->m->header, 0xff, sizeof(*self->m->header));
	EXPECT_LE(0, poll_all(self->m->fd));
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	*self->m->header = saved;
	EXPECT_TRUE(works_or_is_given_up(self->m));
}

/* All of it */

static void fill_memory(struct map *m, int how)
{
	static const int bytes[] = { 0, 0xff, 0x01 };
	__u64 state = how + 1, *words = (void *)m->base;
	size_t i;

	if (how < 3)
		memset(m->base, bytes[how], m->layout.size);
	for (i = 0; how >= 3 && i < m->layout.size / sizeof(*words); i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		words[i] = state >> (how & 1 ? 0 : 56);
	}
}

TEST_F(hostile, all_overwritten)
{
	struct map map;
	__u32 i;
	int how;

	for (how = 0; how < 20; how++) {
		ASSERT_EQ(0, map_open(&map, &variant->config, RECORDS, LISTS));
		for (i = 0; i < RECORDS; i++)
			ASSERT_EQ(0, map_arm_in(&map, i % LISTS, i, i % 4 * 5 * MSEC));
		if (how % 2)
			ASSERT_EQ(0, map_await_filed(&map, 0));
		fill_memory(&map, how);
		EXPECT_EQ(0, map_kick(&map));
		EXPECT_EQ(0, others_go_on(&self->good, self->plain));
		EXPECT_LE(0, poll_all(map.fd));
		fill_memory(&map, how + 1);
		EXPECT_EQ(0, map_kick(&map));
		if (how % 3)
			EXPECT_LE(0, stop(map.fd));
		EXPECT_EQ(0, map_close(&map));
	}
}

/* MAP reads nothing of the broken memory. */
TEST_F(hostile, second_map)
{
	struct hwheel_map layout;

	fill_memory(self->m, 1);
	ASSERT_EQ(0, map_make(self->m->fd, 50, 0, &layout));
	EXPECT_EQ(self->m->layout.records_offset, layout.records_offset);
	EXPECT_EQ(self->m->layout.ring_size, layout.ring_size);
	EXPECT_LE(self->m->layout.records + 50, layout.records);
	fill_memory(self->m, 5);
	EXPECT_EQ(0, map_kick(self->m));
}

/* The worker finds the list in memory that nobody has mapped any more. */
TEST_F(hostile, unmapped)
{
	__u32 n = self->m->layout.records, i;

	for (i = 0; i < n; i++)
		set_link(self->m, i, (i < n - 1 ? i + 1 : n - 2) + 1);
	set_head(self->m, 0, 0 + 1);
	ASSERT_EQ(0, map_unmap(self->m));
	ASSERT_EQ(0, map_kick(self->m));
	EXPECT_EQ(0, await_giving_up(self->m));
	EXPECT_EQ(0, others_go_on(&self->good, self->plain));
	ASSERT_EQ(0, map_memory(self->m));
}

TEST_HARNESS_MAIN
