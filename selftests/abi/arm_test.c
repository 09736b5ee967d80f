// SPDX-License-Identifier: GPL-2.0-only
/* Arm, refresh and cancel: what one timeout does, and what its id means. */

#include "common.h"

#include <sched.h>

#define MANY	10000

FIXTURE(arm)
{
	int fd;
};

FIXTURE_SETUP(arm)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(arm)
{
	EXPECT_EQ(0, close(self->fd));
}

/* Reproducible, and the same on every machine. */
static __u32 next_random(__u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

TEST_F(arm, event_carries_everything)
{
	struct hwheel_event ev;
	__u64 before, after, id;

	before = now_ns();
	ASSERT_EQ(0, arm(self->fd, 20 * MSEC, 0x1122334455667788, &id));
	after = now_ns();
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(0x1122334455667788, ev.cookie);
	EXPECT_LE(round_up_8(before + 20 * MSEC), ev.deadline_ns);
	EXPECT_GE(round_up_8(after + 20 * MSEC), ev.deadline_ns);
	EXPECT_LE(ev.deadline_ns, ev.fired_ns);
	EXPECT_GE(now_ns(), ev.fired_ns);
	EXPECT_EQ(HWHEEL_EVENT_EXPIRED, ev.type);
	EXPECT_EQ(0, ev.reserved);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(arm, any_cookie_comes_back)
{
	static const __u64 cookies[] = { 0, 1, UINT32_MAX, 1ULL << 32, 1ULL << 63, UINT64_MAX };
	struct hwheel_event ev;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cookies); i++) {
		ASSERT_EQ(0, arm(self->fd, 0, cookies[i], NULL));
		ASSERT_EQ(0, next_event(self->fd, &ev));
		EXPECT_EQ(cookies[i], ev.cookie);
	}
}

TEST_F(arm, never_early)
{
	struct hwheel_event ev;
	__u64 delay, before, after;

	/* From below a tick to several, none of them a multiple of 8. */
	for (delay = 1; delay < 100 * MSEC; delay = delay * 3 + 2) {
		before = now_ns();
		ASSERT_EQ(0, arm(self->fd, delay, delay, NULL));
		after = now_ns();
		ASSERT_EQ(0, next_event(self->fd, &ev));
		EXPECT_LE(round_up_8(before + delay), ev.deadline_ns);
		EXPECT_GE(round_up_8(after + delay), ev.deadline_ns);
		EXPECT_LE(before + delay, now_ns());
		EXPECT_LE(before + delay, ev.fired_ns);
	}
}

TEST_F(arm, delay_zero)
{
	struct hwheel_event ev;
	__u64 before, after;

	before = now_ns();
	ASSERT_EQ(0, arm(self->fd, 0, 7, NULL));
	after = now_ns();
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_LE(round_up_8(before), ev.deadline_ns);
	EXPECT_GE(round_up_8(after), ev.deadline_ns);
}

TEST_F(arm, absolute_in_the_past)
{
	const __u64 past[] = { 0, 1, 8, now_ns() / 2, now_ns() - 1 };
	struct hwheel_event ev;
	__u64 before;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(past); i++) {
		before = now_ns();
		ASSERT_EQ(0, arm_at(self->fd, past[i], i, NULL));
		ASSERT_EQ(0, next_event(self->fd, &ev));
		EXPECT_EQ(i, ev.cookie);
		EXPECT_EQ(round_up_8(past[i]), ev.deadline_ns);
		/* It fires after it was armed, late as it is. */
		EXPECT_LE(before, ev.fired_ns);
	}
}

TEST_F(arm, absolute_is_rounded_up_to_8)
{
	__u64 base = round_up_8(now_ns() + 50 * MSEC);
	__u64 deadline[17] = { 0 };
	struct hwheel_event ev;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(deadline); i++)
		ASSERT_EQ(0, arm_at(self->fd, base + i, i, NULL));
	for (i = 0; i < ARRAY_SIZE(deadline); i++) {
		ASSERT_EQ(0, next_event(self->fd, &ev));
		ASSERT_GT(ARRAY_SIZE(deadline), ev.cookie);
		deadline[ev.cookie] = ev.deadline_ns;
	}
	for (i = 0; i < ARRAY_SIZE(deadline); i++)
		EXPECT_EQ(round_up_8(base + i), deadline[i]);
}

/* From beyond a turn of the wheel to beyond the clock, and what wraps to "soon". */
static size_t far_times(__u64 *times)
{
	size_t n = 0;
	int bit;

	for (bit = 40; bit < 64; bit++) {
		times[n++] = 1ULL << bit;
		times[n++] = (1ULL << bit) + now_ns() + MSEC;
	}
	times[n++] = INT64_MAX - 1;
	times[n++] = INT64_MAX;
	times[n++] = INT64_MAX + 1ULL;
	times[n++] = UINT64_MAX - now_ns();
	times[n++] = 0 - now_ns() + MSEC;
	times[n++] = UINT64_MAX - 8;
	times[n++] = UINT64_MAX - 7;
	times[n++] = UINT64_MAX - 1;
	times[n++] = UINT64_MAX;
	return n;
}

TEST_F(arm, far_does_not_fire)
{
	__u64 times[64], ids[128];
	size_t n = far_times(times), i;

	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, arm(self->fd, times[i], i, &ids[2 * i]));
		ASSERT_EQ(0, arm_at(self->fd, now_ns() + (1ULL << 40) < times[i] ?
				    times[i] : NEVER, i, &ids[2 * i + 1]));
	}
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns() + 50 * MSEC));
	for (i = 0; i < 2 * n; i++)
		EXPECT_EQ(0, cancel(self->fd, ids[i]));
}

TEST_F(arm, far_fires_once_refreshed)
{
	__u64 times[64], ids[64], deadline = now_ns();
	size_t n = far_times(times), i;
	unsigned int seen[64] = { 0 };

	for (i = 0; i < n; i++)
		ASSERT_EQ(0, arm(self->fd, times[i], i, &ids[i]));
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, refresh_at(self->fd, ids[i], deadline));
	ASSERT_EQ(0, collect(self->fd, seen, n, n));
	EXPECT_TRUE(each_once(seen, n));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(arm, refreshed_to_far_does_not_fire)
{
	__u64 times[64], ids[64], deadline = now_ns() + 200 * MSEC;
	size_t n = far_times(times), i;
	struct hwheel_event ev;

	for (i = 0; i < n; i++)
		ASSERT_EQ(0, arm_at(self->fd, deadline, i, &ids[i]));
	for (i = 0; i < n; i++)
		if (refresh(self->fd, ids[i], times[i]))
			/* The machine stalled; it had expired as it should. */
			ASSERT_LE(deadline, now_ns());
	ASSERT_EQ(0, settle(deadline));
	while (read_events(self->fd, &ev, 1) == 1) {
		EXPECT_EQ(round_up_8(deadline), ev.deadline_ns);
		EXPECT_EQ(-ENOENT, cancel(self->fd, ev.id));
	}
}

TEST_F(arm, refresh_later)
{
	__u64 deadline = round_up_8(now_ns() + 600 * MSEC);
	struct hwheel_event ev;
	__u64 id;

	ASSERT_EQ(0, arm_at(self->fd, deadline - 300 * MSEC, 1, &id));
	if (refresh_at(self->fd, id, deadline)) {
		ASSERT_LE(deadline - 300 * MSEC, now_ns());
		SKIP(return, "the machine stalled for 300 ms");
	}
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(1, ev.cookie);
	EXPECT_EQ(deadline, ev.deadline_ns);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(arm, refresh_earlier)
{
	__u64 deadline = round_up_8(now_ns() + 30 * MSEC);
	struct hwheel_event ev;
	__u64 id;

	ASSERT_EQ(0, arm_at(self->fd, deadline + 3600 * SEC, 1, &id));
	ASSERT_EQ(0, refresh_at(self->fd, id, deadline));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(deadline, ev.deadline_ns);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* Earlier after the wheel has filed it: it must move, not only change its word. */
TEST_F(arm, refresh_earlier_once_filed)
{
	struct hwheel_event ev;
	__u64 id, deadline;

	ASSERT_EQ(0, arm(self->fd, 3600 * SEC, 1, &id));
	ASSERT_EQ(0, settle(now_ns()));
	deadline = round_up_8(now_ns() + 30 * MSEC);
	ASSERT_EQ(0, refresh_at(self->fd, id, deadline));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(deadline, ev.deadline_ns);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* There and back: the last word wins, whatever the wheel has seen in between. */
TEST_F(arm, refresh_back_and_forth)
{
	struct hwheel_event ev;
	__u64 id, deadline;
	int i;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0, refresh(self->fd, id, i & 1 ? NEVER : (3600 - i) * SEC));
	ASSERT_EQ(0, settle(now_ns()));
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0, refresh(self->fd, id, i & 1 ? (3600 + i) * SEC : NEVER));
	deadline = round_up_8(now_ns());
	ASSERT_EQ(0, refresh_at(self->fd, id, deadline));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(deadline, ev.deadline_ns);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(arm, refresh_relative)
{
	struct hwheel_event ev;
	__u64 id, before, after;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	before = now_ns();
	ASSERT_EQ(0, refresh(self->fd, id, 20 * MSEC));
	after = now_ns();
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_LE(round_up_8(before + 20 * MSEC), ev.deadline_ns);
	EXPECT_GE(round_up_8(after + 20 * MSEC), ev.deadline_ns);
}

TEST_F(arm, refresh_of_the_dead)
{
	struct hwheel_event ev;
	__u64 expired, cancelled;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &cancelled));
	ASSERT_EQ(0, cancel(self->fd, cancelled));
	EXPECT_EQ(-ENOENT, refresh(self->fd, cancelled, 0));

	ASSERT_EQ(0, arm(self->fd, 0, 2, &expired));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	EXPECT_EQ(-ENOENT, refresh(self->fd, expired, 0));
	EXPECT_EQ(-ENOENT, refresh(self->fd, expired, NEVER));

	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(expired, ev.id);
	EXPECT_EQ(2, ev.cookie);
	EXPECT_EQ(-ENOENT, refresh(self->fd, expired, 0));

	/* Also once the wheel has let go of it. */
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(-ENOENT, refresh(self->fd, cancelled, 0));
	EXPECT_EQ(-ENOENT, refresh(self->fd, expired, 0));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(arm, cancel_prevents_the_event)
{
	__u64 deadline = now_ns() + SEC;
	__u64 id;

	ASSERT_EQ(0, arm_at(self->fd, deadline, 1, &id));
	ASSERT_EQ(0, cancel(self->fd, id));
	EXPECT_EQ(0, stays_quiet(self->fd, deadline));
}

TEST_F(arm, cancel_prevents_the_event_once_filed)
{
	__u64 deadline = now_ns() + SEC;
	__u64 id;

	ASSERT_EQ(0, arm_at(self->fd, deadline, 1, &id));
	ASSERT_EQ(0, settle(now_ns()));
	ASSERT_EQ(0, cancel(self->fd, id));
	EXPECT_EQ(0, stays_quiet(self->fd, deadline));
}

TEST_F(arm, cancel_after_refresh)
{
	__u64 deadline = now_ns() + SEC;
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	ASSERT_EQ(0, refresh_at(self->fd, id, deadline));
	ASSERT_EQ(0, cancel(self->fd, id));
	EXPECT_EQ(0, stays_quiet(self->fd, deadline));
}

TEST_F(arm, cancel_twice)
{
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	EXPECT_EQ(0, cancel(self->fd, id));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id));
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id));
}

TEST_F(arm, cancel_of_the_expired)
{
	struct hwheel_event ev;
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, 0, 1, &id));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id));

	/* The event is still there, and once it was read the answer is the same. */
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(-ENOENT, cancel(self->fd, id));
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id));
}

TEST_F(arm, id_never_issued)
{
	static const __u64 ids[] = {
		0, 1, 2, 3, 0xffff, UINT32_MAX, 1ULL << 32, (1ULL << 32) + 1, INT64_MAX,
		1ULL << 63, UINT64_MAX - 1, UINT64_MAX, 0x123456789abcdef0,
	};
	__u64 live;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		EXPECT_EQ(-ENOENT, cancel(self->fd, ids[i]));
		EXPECT_EQ(-ENOENT, refresh(self->fd, ids[i], 0));
	}
	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &live));
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		if (ids[i] == live)
			continue;
		EXPECT_EQ(-ENOENT, cancel(self->fd, ids[i]));
		EXPECT_EQ(-ENOENT, refresh(self->fd, ids[i], 0));
	}
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, cancel(self->fd, live));
}

/* Neither neighbours of an id nor any of its bits flipped are another name of it. */
TEST_F(arm, id_almost_right)
{
	__u64 id;
	int bit;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id + 1));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id - 1));
	for (bit = 0; bit < 64; bit++) {
		EXPECT_EQ(-ENOENT, cancel(self->fd, id ^ 1ULL << bit)) {
			TH_LOG("bit %d of id %#llx", bit, id);
		}
		EXPECT_EQ(-ENOENT, refresh(self->fd, id ^ 1ULL << bit, 0)) {
			TH_LOG("bit %d of id %#llx", bit, id);
		}
	}
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, cancel(self->fd, id));
}

static int compare_ids(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Arms one and ends it: both ways to end, the slower one rarely. */
static int arm_and_end(int fd, size_t i, __u64 *id)
{
	struct hwheel_event ev;

	if (i % 1000)
		return arm_patiently(fd, NEVER, i, id) ?: cancel(fd, *id);
	return arm_patiently(fd, 0, i, id) ?: next_event(fd, &ev) ?: ev.id == *id ? 0 : -EPROTO;
}

/* The ids of @n timeouts, one after another, sorted. */
static int use_many(int fd, __u64 *ids, size_t n)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < n; i++)
		ret = arm_and_end(fd, i, &ids[i]);
	qsort(ids, i, sizeof(*ids), compare_ids);
	return ret;
}

/* Of @n sorted ids: how many are there twice. */
static size_t count_twins(const __u64 *ids, size_t n)
{
	size_t i, twins = 0;

	for (i = 1; i < n; i++)
		twins += ids[i - 1] == ids[i];
	return twins;
}

/* More than a file can hold at a time, so places are used again, ids are not. */
TEST_F(arm, ids_never_repeat)
{
	const size_t n = max_timeouts(self->fd) + 30000;
	__u64 *ids = calloc(n, sizeof(*ids));

	ASSERT_NE(NULL, ids);
	ASSERT_EQ(0, use_many(self->fd, ids, n));
	EXPECT_EQ(0, count_twins(ids, n));
	free(ids);
}

#define HELD	10

/* Numbers next to those that were given out are still unknown, if they were not. */
static size_t count_mistaken(int fd, const __u64 *ids, size_t n, __u64 distance)
{
	size_t i, mistaken = 0;
	__u64 near;

	for (i = 0; i < n; i++) {
		near = ids[i] + distance;
		if (!bsearch(&near, ids, n, sizeof(*ids), compare_ids))
			mistaken += cancel(fd, near) != -ENOENT;
		mistaken += cancel(fd, ids[i]) != -ENOENT;
	}
	return mistaken;
}

/* Some are pending all the time. */
TEST_F(arm, ids_between_the_issued)
{
	const size_t n = max_timeouts(self->fd) + 30000, all = n + 2 * HELD;
	__u64 *ids = calloc(all, sizeof(*ids)), held[HELD];
	const __u64 near[] = { 1, -1, 1ULL << 32, -(1ULL << 32) };
	size_t i;

	ASSERT_NE(NULL, ids);
	for (i = 0; i < HELD; i++) {
		ASSERT_EQ(0, arm(self->fd, NEVER, 0, &held[i]));
		ASSERT_EQ(0, arm_and_end(self->fd, i, &ids[i]));
	}
	ASSERT_EQ(0, use_many(self->fd, ids + HELD, n));
	ASSERT_EQ(0, cancel_many(self->fd, held, HELD));
	ASSERT_EQ(0, settle(now_ns()));
	memcpy(ids + HELD + n, held, sizeof(held));
	qsort(ids, all, sizeof(*ids), compare_ids);
	EXPECT_EQ(0, count_twins(ids, all));
	for (i = 0; i < ARRAY_SIZE(near); i++)
		EXPECT_EQ(0, count_mistaken(self->fd, ids, all, near[i]));
	free(ids);
}

/* The wheel lets go in between, so each may sit where the ones before it did. */
TEST_F(arm, stale_id_hits_nothing)
{
	struct hwheel_event ev;
	__u64 ids[50];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		ASSERT_EQ(0, arm(self->fd, NEVER, i, &ids[i]));
		for (j = 0; j < i; j++) {
			ASSERT_EQ(-ENOENT, cancel(self->fd, ids[j]));
			ASSERT_EQ(-ENOENT, refresh(self->fd, ids[j], 0));
		}
		if (i & 1) {
			ASSERT_EQ(0, cancel(self->fd, ids[i]));
		} else {
			ASSERT_EQ(0, refresh(self->fd, ids[i], 0));
			ASSERT_EQ(0, next_event(self->fd, &ev));
			ASSERT_EQ(ids[i], ev.id);
		}
		ASSERT_EQ(0, stays_quiet(self->fd, now_ns()));
	}
}

TEST_F(arm, id_of_another_file)
{
	int other = open_device(O_NONBLOCK);
	struct hwheel_event ev;
	__u64 id;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	EXPECT_EQ(-ENOENT, cancel(other, id));
	EXPECT_EQ(-ENOENT, refresh(other, id, 0));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, stays_quiet(other, now_ns()));

	ASSERT_EQ(0, refresh(self->fd, id, 0));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(1, ev.cookie);
	EXPECT_EQ(-ENOENT, cancel(other, id));
	EXPECT_EQ(0, close(other));
}

/* Even when both files use one id. */
TEST_F(arm, files_do_not_share_ids)
{
	int other = open_device(O_NONBLOCK);
	struct hwheel_event ev;
	__u64 mine, theirs;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &mine));
	ASSERT_EQ(0, arm(other, NEVER, 2, &theirs));
	ASSERT_EQ(0, cancel(other, theirs));
	ASSERT_EQ(0, refresh(self->fd, mine, 0));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(1, ev.cookie);
	EXPECT_EQ(0, stays_quiet(other, now_ns()));
	EXPECT_EQ(0, close(other));
}

TEST_F(arm, closing_one_file_leaves_the_others)
{
	int other = open_device(O_NONBLOCK);
	struct hwheel_event ev;
	int i;

	ASSERT_LE(0, other);
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, arm(other, 100 * MSEC, i, NULL));
	ASSERT_EQ(0, arm(self->fd, 100 * MSEC, 1000, NULL));
	ASSERT_EQ(0, close(other));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(1000, ev.cookie);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(arm, limit_of_pending)
{
	__u64 limit = max_timeouts(self->fd);
	int err;

	ASSERT_LT(0, limit);
	EXPECT_EQ(limit, fill(self->fd, limit, &err));
	EXPECT_EQ(-ENOSPC, err);
	EXPECT_EQ(-ENOSPC, arm(self->fd, 0, 0, NULL));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(arm, limit_is_per_file)
{
	int other = open_device(O_NONBLOCK);
	__u64 limit = max_timeouts(self->fd);
	int err;

	ASSERT_LE(0, other);
	EXPECT_EQ(limit, fill(self->fd, limit, &err));
	EXPECT_EQ(-ENOSPC, err);
	EXPECT_EQ(limit, fill(other, limit, &err));
	EXPECT_EQ(-ENOSPC, err);
	EXPECT_EQ(0, close(other));
	EXPECT_EQ(-ENOSPC, arm(self->fd, 0, 0, NULL));
}

/* Cancelled ones count until the worker let go of them, and not longer. */
TEST_F(arm, limit_after_cancel)
{
	__u64 limit = max_timeouts(self->fd);
	__u64 *ids = calloc(limit, sizeof(*ids));
	int round, err;

	ASSERT_NE(NULL, ids);
	ASSERT_EQ(0, arm_many(self->fd, limit, NEVER, ids));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, cancel(self->fd, ids[round]));
		ASSERT_EQ(0, arm_patiently(self->fd, NEVER, 0, &ids[round]));
		ASSERT_EQ(-ENOSPC, arm(self->fd, NEVER, 0, NULL));
	}
	ASSERT_EQ(0, cancel_many(self->fd, ids, limit));
	ASSERT_EQ(0, arm_patiently(self->fd, NEVER, 0, NULL));
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(limit - 1, fill(self->fd, limit, &err));
	EXPECT_EQ(-ENOSPC, err);
	free(ids);
}

/* Expired ones count until their events were read: then at once not any more. */
TEST_F(arm, limit_of_expired)
{
	__u64 limit = max_timeouts(self->fd), i;
	unsigned int *seen = calloc(limit, sizeof(*seen));
	struct hwheel_event ev;

	ASSERT_NE(NULL, seen);
	ASSERT_EQ(0, fire(self->fd, limit));
	ASSERT_EQ(-ENOSPC, arm(self->fd, NEVER, 0, NULL));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(1, read_events(self->fd, &ev, 1));
		ASSERT_GT(limit, ev.cookie);
		seen[ev.cookie]++;
		ASSERT_EQ(0, arm(self->fd, NEVER, 0, NULL));
		ASSERT_EQ(-ENOSPC, arm(self->fd, NEVER, 0, NULL));
	}
	ASSERT_EQ(0, collect(self->fd, seen, limit, limit - 100));
	EXPECT_TRUE(each_once(seen, limit));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));
	free(seen);
}

TEST_F(arm, many_fire_exactly_once)
{
	static unsigned int seen[MANY];
	__u32 random = 1;
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < MANY; i++)
		ret = arm(self->fd, next_random(&random) % SEC, i, NULL);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, collect(self->fd, seen, MANY, MANY));
	EXPECT_TRUE(each_once(seen, MANY));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* One deadline for all: one edge, one slot. */
TEST_F(arm, many_at_one_deadline)
{
	static unsigned int seen[MANY];

	ASSERT_EQ(0, arm_many(self->fd, MANY, now_ns() + SEC, NULL));
	ASSERT_EQ(0, collect(self->fd, seen, MANY, MANY));
	EXPECT_TRUE(each_once(seen, MANY));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* One slot, one of two rounds: the nearer ones fire, the farther ones wait. */
TEST_F(arm, rounds)
{
	struct hwheel_config config = {
		.tick_ns = 10 * MSEC, .slots = 64, .kind = HWHEEL_KIND_HASHED,
		.clock = CLOCK_MONOTONIC,
	};
	const __u64 turn = config.tick_ns * config.slots;
	unsigned int seen[200] = { 0 };
	__u64 deadline;
	size_t i;

	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_CONFIG, &config));
	deadline = now_ns() + 200 * MSEC;
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, arm_at(self->fd, deadline, i, NULL));
		ASSERT_EQ(0, arm_at(self->fd, deadline + turn * (1 + i), 100 + i, NULL));
	}
	ASSERT_EQ(0, collect(self->fd, seen, 200, 100));
	EXPECT_TRUE(each_once(seen, 100));
	/* It takes a whole turn until the first of the others. */
	ASSERT_EQ(0, collect(self->fd, seen, 200, 1));
	EXPECT_EQ(1, seen[100]);
	EXPECT_LE(deadline + turn, now_ns());
}

/* Whichever side wins, exactly one of "cancelled" and "the event came" holds. */
TEST_F(arm, cancel_races_expiry)
{
	static unsigned int seen[MANY], cancelled[MANY];
	__u64 due[64], ids[64], deadline;
	size_t i, j, fired = 0;
	__u32 random = 1;
	int ret;

	for (i = 0; i < MANY; i += j) {
		deadline = now_ns() + 2 * MSEC;
		for (j = 0; j < ARRAY_SIZE(ids) && i + j < MANY; j++) {
			due[j] = deadline + next_random(&random) % (20 * MSEC);
			ASSERT_EQ(0, arm_at(self->fd, due[j], i + j, &ids[j]));
		}
		/* Near the due time of one of them the wheel is busy with it. */
		while (now_ns() < due[0])
			sched_yield();
		for (j = 0; j < ARRAY_SIZE(ids) && i + j < MANY; j++) {
			ret = cancel(self->fd, ids[j]);
			if (ret)
				ASSERT_EQ(-ENOENT, ret);
			cancelled[i + j] = !ret;
			fired += !!ret;
		}
	}
	ASSERT_EQ(0, collect(self->fd, seen, MANY, fired));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns() + 20 * MSEC));
	for (i = 0; i < MANY; i++)
		seen[i] += cancelled[i];
	EXPECT_TRUE(each_once(seen, MANY));
	TH_LOG("%zu of %d fired", fired, MANY);
}

/* A refresh that succeeded is the event's deadline; one that failed is not. */
TEST_F(arm, refresh_races_expiry)
{
	struct hwheel_event ev;
	__u64 first, second, id;
	int i, ret, won = 0;

	for (i = 0; i < 500; i++) {
		first = round_up_8(now_ns() + MSEC);
		second = first + MSEC + 8;
		ASSERT_EQ(0, arm_at(self->fd, first, i, &id));
		/* It fires somewhere in the tick after that. */
		while (now_ns() < first + i % 16 * MSEC)
			sched_yield();
		ret = refresh_at(self->fd, id, second);
		if (ret)
			ASSERT_EQ(-ENOENT, ret);
		ASSERT_EQ(0, next_event(self->fd, &ev));
		ASSERT_EQ(id, ev.id);
		ASSERT_EQ(ret ? first : second, ev.deadline_ns);
		won += !ret;
	}
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	TH_LOG("%d of %d were refreshed in time", won, i);
}

TEST_HARNESS_MAIN
