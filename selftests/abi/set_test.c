// SPDX-License-Identifier: GPL-2.0-only
/*
 * SET and WITHDRAW: SET moves a timeout that is pending, and else arms one; both take back an event
 * that was not read. Each timeout still ends once.
 */
#include "share.h"

#define COOKIE	0x1122334455667788

FIXTURE(set)
{
	int fd;
};

FIXTURE_SETUP(set)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(set)
{
	EXPECT_EQ(0, close(self->fd));
}

/* 0 if it is pending with that deadline and cookie. */
static int check_pending(int fd, __u64 id, __u64 deadline, __u64 cookie)
{
	struct hwheel_op op;

	if (query(fd, id, HWHEEL_ABSOLUTE, &op) != HWHEEL_STATE_PENDING)
		return -EPROTO;
	return op.time_ns == deadline && op.cookie == cookie ? 0 : -EPROTO;
}

/* One that has expired, and whose event waits */
static int fire_one(int fd, __u64 cookie, __u64 *id)
{
	int ret = arm(fd, 0, cookie, id);

	if (ret)
		return ret;
	ret = readable(fd, WAIT_MS);
	return ret == 1 ? 0 : ret ?: -ETIMEDOUT;
}

static const __u64 no_ids[] = { 0, 1, UINT32_MAX, 2ULL << 32, INT64_MAX, UINT64_MAX };

TEST_F(set, arms_by_an_id_of_none)
{
	__u64 deadline = round_up_8(now_ns() + 3600 * SEC), ids[ARRAY_SIZE(no_ids)];
	struct hwheel_event ev;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(no_ids); i++) {
		ids[i] = no_ids[i];
		ASSERT_EQ(0, set_at(self->fd, &ids[i], deadline, COOKIE + i));
		EXPECT_EQ(0, check_pending(self->fd, ids[i], deadline, COOKIE + i));
	}
	ASSERT_EQ(0, set(self->fd, &ids[0], 0, 1));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(ids[0], ev.id);
	EXPECT_EQ(COOKIE, ev.cookie);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(set, moves_what_is_pending)
{
	static const int hours[] = { 2, 1, 5, 3, 4 };
	__u64 base = round_up_8(now_ns() + 3600 * SEC), id, first;
	struct hwheel_file_stats stats;
	struct hwheel_event ev;
	size_t i;

	ASSERT_EQ(0, arm_at(self->fd, base, COOKIE, &id));
	first = id;
	for (i = 0; i < ARRAY_SIZE(hours); i++) {
		ASSERT_EQ(0, set_at(self->fd, &id, base + hours[i] * 3600 * SEC, i));
		EXPECT_EQ(first, id);
		EXPECT_EQ(0, check_pending(self->fd, id, base + hours[i] * 3600 * SEC, COOKIE));
	}
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.armed);
	EXPECT_EQ(ARRAY_SIZE(hours), stats.refreshed);
	/* Never early: by a delay, too */
	base = now_ns() + 20 * MSEC;
	ASSERT_EQ(0, set(self->fd, &id, 20 * MSEC, 0));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(first, ev.id);
	EXPECT_LE(base, ev.deadline_ns);
}

TEST_F(set, takes_an_event_back)
{
	__u64 deadline = round_up_8(now_ns() + 3600 * SEC), id, first;
	struct hwheel_event ev;
	struct hwheel_op op;

	ASSERT_EQ(0, fire_one(self->fd, 1, &id));
	first = id;
	ASSERT_EQ(0, set_at(self->fd, &id, deadline, 2));
	EXPECT_NE(first, id);
	EXPECT_EQ(0, readable(self->fd, 0));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));
	EXPECT_EQ(-ENOENT, query(self->fd, first, 0, &op));
	EXPECT_EQ(-ENOENT, cancel(self->fd, first));
	EXPECT_EQ(-ENOENT, withdraw(self->fd, first));
	EXPECT_EQ(0, check_pending(self->fd, id, deadline, 2));
	ASSERT_EQ(0, set(self->fd, &id, 0, 3));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(2, ev.cookie);
}

/* The reader has it: SET arms another one. */
TEST_F(set, after_the_event_was_read)
{
	struct hwheel_event ev;
	__u64 id;

	ASSERT_EQ(0, fire_one(self->fd, 1, &id));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(-ENOENT, withdraw(self->fd, id));
	ASSERT_EQ(0, set(self->fd, &id, NEVER, 2));
	EXPECT_NE(ev.id, id);
	EXPECT_EQ(0, withdraw(self->fd, id));
}

TEST_F(set, of_a_cancelled_one_arms)
{
	__u64 id, first;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	first = id;
	ASSERT_EQ(0, cancel(self->fd, id));
	ASSERT_EQ(0, set(self->fd, &id, NEVER, 2));
	EXPECT_NE(first, id);
	EXPECT_EQ(0, cancel(self->fd, id));
}

TEST_F(set, of_another_file)
{
	int other = open_device(O_NONBLOCK);
	__u64 far = round_up_8(now_ns() + 3600 * SEC), mine[2], id;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm_many(self->fd, 2, far, mine));
	id = mine[1];
	EXPECT_EQ(-ENOENT, withdraw(other, id));
	ASSERT_EQ(0, set(other, &id, 0, COOKIE));
	ASSERT_EQ(1, readable(other, WAIT_MS));
	EXPECT_EQ(0, check_pending(self->fd, mine[0], far, 0));
	EXPECT_EQ(0, check_pending(self->fd, mine[1], far, 1));
	EXPECT_EQ(0, close(other));
}

/* Each place of the file is taken: SET needs none for what has one. */
TEST_F(set, in_a_full_file)
{
	const struct hwheel_config one = { .max_timeouts = 1, .clock = CLOCK_MONOTONIC };
	int fd = open_configured(O_NONBLOCK, &one);
	__u64 id = 0, none = 0, fired;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set(fd, &id, NEVER, 1));
	EXPECT_EQ(-ENOSPC, set(fd, &none, NEVER, 2));
	EXPECT_EQ(0, none);
	ASSERT_EQ(0, set(fd, &id, 0, 1));
	ASSERT_EQ(1, readable(fd, WAIT_MS));
	EXPECT_EQ(-ENOSPC, set(fd, &none, NEVER, 2));
	fired = id;
	ASSERT_EQ(0, set(fd, &id, NEVER, 3));
	EXPECT_NE(fired, id);
	EXPECT_EQ(-ENOSPC, arm(fd, NEVER, 0, NULL));
	ASSERT_EQ(0, set(fd, &id, 0, 3));
	ASSERT_EQ(1, readable(fd, WAIT_MS));
	/* WITHDRAW makes room at once. */
	ASSERT_EQ(0, withdraw(fd, id));
	ASSERT_EQ(0, arm(fd, NEVER, 0, &id));
	/* And so it does when the worker has to look at it before. */
	ASSERT_EQ(0, withdraw(fd, id));
	EXPECT_EQ(0, arm(fd, NEVER, 0, NULL));
	EXPECT_EQ(0, close(fd));
}

/* What SET does not do leaves the event where it was. */
TEST_F(set, failing)
{
	const struct hwheel_config simple = {
		.tick_ns = MSEC, .slots = 64, .levels = 1, .kind = HWHEEL_KIND_SIMPLE,
		.clock = CLOCK_MONOTONIC,
	};
	int fd = open_configured(O_NONBLOCK, &simple);
	struct hwheel_event ev;
	__u64 id, first, none = 7;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fire_one(fd, 1, &id));
	first = id;
	EXPECT_EQ(-ERANGE, set(fd, &id, NEVER, 2));
	EXPECT_EQ(-ERANGE, set(fd, &none, NEVER, 2));
	EXPECT_EQ(first, id);
	EXPECT_EQ(7, none);
	ASSERT_EQ(0, next_event(fd, &ev));
	EXPECT_EQ(first, ev.id);
	EXPECT_EQ(1, ev.cookie);
	EXPECT_EQ(0, close(fd));
}

TEST_F(set, after_a_stop)
{
	__u64 ids[3], none = 0;
	struct hwheel_event ev[3];

	ASSERT_EQ(0, fire_one(self->fd, 0, &ids[0]));
	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &ids[1]));
	ASSERT_EQ(0, arm(self->fd, NEVER, 2, &ids[2]));
	ASSERT_EQ(2, stop(self->fd));
	EXPECT_EQ(-ESHUTDOWN, set(self->fd, &ids[0], NEVER, 3));
	EXPECT_EQ(-ESHUTDOWN, set(self->fd, &ids[1], NEVER, 3));
	EXPECT_EQ(-ESHUTDOWN, set(self->fd, &none, NEVER, 3));
	/* The events are there as before, until they are withdrawn. */
	EXPECT_EQ(0, withdraw(self->fd, ids[0]));
	EXPECT_EQ(0, withdraw(self->fd, ids[1]));
	ASSERT_EQ(1, read_any(self->fd, CLOCK_MONOTONIC, ev, 3));
	EXPECT_EQ(ids[2], ev[0].id);
	EXPECT_EQ(HWHEEL_EVENT_STOPPED, ev[0].type);
	EXPECT_EQ(0, read_any(self->fd, CLOCK_MONOTONIC, ev, 3));
}

/* The end, with nobody who read an event */
TEST_F(set, all_withdrawn_after_a_stop)
{
	struct hwheel_event ev;
	__u64 ids[2];

	ASSERT_EQ(0, arm_many(self->fd, 2, NEVER, ids));
	ASSERT_EQ(2, stop(self->fd));
	EXPECT_EQ(0, withdraw(self->fd, ids[0]));
	EXPECT_EQ(0, withdraw(self->fd, ids[1]));
	EXPECT_EQ(POLLHUP, poll_all(self->fd) & POLLHUP);
	EXPECT_EQ(0, read_raw(self->fd, &ev, 1));
}

TEST_F(set, withdraw_ends_it_once)
{
	struct hwheel_file_stats stats;
	struct hwheel_event ev;
	__u64 ids[3];

	ASSERT_EQ(0, arm_many(self->fd, 3, 0, ids));
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(0, withdraw(self->fd, ids[1]));
	EXPECT_EQ(-ENOENT, withdraw(self->fd, ids[1]));
	EXPECT_EQ(-ENOENT, refresh(self->fd, ids[1], 0));
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(2, stats.held);
	EXPECT_EQ(2, stats.events);
	EXPECT_EQ(3, stats.expired);
	EXPECT_EQ(0, stats.cancelled);
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_NE(ids[1], ev.id);
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_NE(ids[1], ev.id);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));

	ASSERT_EQ(0, arm(self->fd, NEVER, 0, ids));
	EXPECT_EQ(0, withdraw(self->fd, ids[0]));
	EXPECT_EQ(-ENOENT, cancel(self->fd, ids[0]));
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.cancelled);
}

/* An event that could not be copied is nobody's again. */
TEST_F(set, withdraw_after_a_fault)
{
	struct hwheel_event ev;
	__u64 id;

	ASSERT_EQ(0, fire_one(self->fd, 1, &id));
	EXPECT_EQ(-1, read(self->fd, (void *)-4096L, sizeof(ev)));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, withdraw(self->fd, id));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));
}

/*
 * Batches
 */

static struct hwheel_op to(__u32 op, __u64 id, __u64 time_ns)
{
	return (struct hwheel_op){ .op = op, .id = id, .time_ns = time_ns, .result = POISON32 };
}

TEST_F(set, in_a_batch)
{
	struct hwheel_op ops[6];
	__u64 ids[3];

	ASSERT_EQ(0, fire_one(self->fd, 0, &ids[0]));
	ASSERT_EQ(0, arm_many(self->fd, 2, NEVER, ids + 1));
	ops[0] = to(HWHEEL_OP_SET, ids[0], NEVER);
	ops[1] = to(HWHEEL_OP_SET, ids[1], NEVER);
	ops[2] = to(HWHEEL_OP_CANCEL, ids[2], 0);
	ops[3] = to(HWHEEL_OP_SET, ids[2], NEVER);
	ops[4] = to(HWHEEL_OP_SET, 0, NEVER);
	ops[5] = to(HWHEEL_OP_WITHDRAW, ids[0], 0);
	ASSERT_EQ(6, submit(self->fd, ops, 6));
	EXPECT_EQ(0, ops[0].result);
	EXPECT_NE(ids[0], ops[0].id);
	EXPECT_EQ(0, ops[1].result);
	EXPECT_EQ(ids[1], ops[1].id);
	EXPECT_EQ(0, ops[2].result);
	EXPECT_EQ(0, ops[3].result);
	EXPECT_NE(ids[2], ops[3].id);
	EXPECT_EQ(0, ops[4].result);
	EXPECT_EQ(-ENOENT, ops[5].result);
	EXPECT_EQ(0, cancel(self->fd, ops[0].id));
	EXPECT_EQ(0, cancel(self->fd, ops[1].id));
	EXPECT_EQ(0, cancel(self->fd, ops[3].id));
	EXPECT_EQ(0, cancel(self->fd, ops[4].id));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* Whichever operation comes first gets the last place, or makes it. */
TEST_F(set, last_place_in_a_batch)
{
	const struct hwheel_config two = { .max_timeouts = 2, .clock = CLOCK_MONOTONIC };
	int fd = open_configured(O_NONBLOCK, &two);
	struct hwheel_op ops[3];
	__u64 id;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fire_one(fd, 0, &id));
	ops[0] = to(HWHEEL_OP_SET, 0, NEVER);
	ops[1] = to(HWHEEL_OP_ARM, 0, NEVER);
	ASSERT_EQ(2, submit(fd, ops, 2));
	EXPECT_EQ(0, ops[0].result);
	EXPECT_EQ(-ENOSPC, ops[1].result);
	ops[0] = to(HWHEEL_OP_WITHDRAW, id, 0);
	ops[1] = to(HWHEEL_OP_ARM, 0, NEVER);
	ops[2] = to(HWHEEL_OP_SET, 0, NEVER);
	ASSERT_EQ(3, submit(fd, ops, 3));
	EXPECT_EQ(0, ops[0].result);
	EXPECT_EQ(0, ops[1].result);
	EXPECT_EQ(-ENOSPC, ops[2].result);
	EXPECT_EQ(0, ops[2].id);
	EXPECT_EQ(0, close(fd));
}

/*
 * Beside a reader: what is set or withdrawn gives no event
 */

#define ROUNDS	3000

struct reader {
	int		fd;
	int		stop;
	int		ret;
	unsigned long	nr;
	/* By cookie */
	unsigned char	seen[2 * ROUNDS];
};

static int note(struct reader *r, const struct hwheel_event *ev, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		if (ev[i].cookie >= ARRAY_SIZE(r->seen) || r->seen[ev[i].cookie]++)
			return -EPROTO;
		r->nr++;
	}
	return 0;
}

static void *read_all(void *data)
{
	struct reader *r = data;
	struct hwheel_event ev[8];
	int n;

	while (!r->ret && !__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		n = read_events(r->fd, ev, ARRAY_SIZE(ev));
		if (n == -EAGAIN)
			sched_yield();
		else
			r->ret = n < 0 ? n : note(r, ev, n);
	}
	return NULL;
}

/* Each timeout is withdrawn or has an event; a cookie is of one timeout. */
TEST_F(set, beside_a_reader)
{
	static struct reader r;
	struct hwheel_file_stats stats;
	unsigned long withdrawn = 0, armed = 0;
	pthread_t thread;
	unsigned int i;
	__u64 id = 0, old;
	int ret;

	r.fd = self->fd;
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_all, &r));
	for (i = 0; i < ROUNDS; i++) {
		old = id;
		ASSERT_EQ(0, set(self->fd, &id, 0, 2 * i));
		armed += id != old;
		if (i % 3)
			sched_yield();
		if (i % 2)
			continue;
		ret = withdraw(self->fd, id);
		ASSERT_TRUE(!ret || ret == -ENOENT);
		withdrawn += !ret;
	}
	ASSERT_EQ(0, settle(now_ns()));
	ASSERT_EQ(0, AWAIT(readable(self->fd, 0) == 0));
	__atomic_store_n(&r.stop, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, r.ret);
	ASSERT_EQ(0, get_stats(self->fd, &stats));
	EXPECT_EQ(armed, stats.armed);
	EXPECT_EQ(0, stats.held);
	EXPECT_EQ(0, stats.events);
	/* What SET has withdrawn is the rest. */
	EXPECT_GE(armed, r.nr + withdrawn);
	TH_LOG("%lu armed, %lu read, %lu withdrawn, %lu set again", armed, r.nr, withdrawn,
	       armed - r.nr - withdrawn);
}

TEST_HARNESS_MAIN
