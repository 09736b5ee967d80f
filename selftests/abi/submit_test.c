// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT: batches. Each operation does what its own ioctl would do, in order; an
 * operation that could not be done, and all that came after it, did not happen.
 */

#include "toggled_memory.h"
#include "userfault.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#define MAX	HWHEEL_SUBMIT_MAX

FIXTURE(submit)
{
	int fd;
};

FIXTURE_SETUP(submit)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(submit)
{
	EXPECT_EQ(0, close(self->fd));
}

/* Records that would succeed */

static struct hwheel_op record(__u32 op, __u64 id, __u64 cookie, __u64 time_ns)
{
	return (struct hwheel_op){
		.op = op,
		.result = POISON32,
		.id = id,
		.cookie = cookie,
		.time_ns = time_ns,
	};
}

static struct hwheel_op to_arm(__u64 delay_ns, __u64 cookie)
{
	return record(HWHEEL_OP_ARM, 0, cookie, delay_ns);
}

static struct hwheel_op to_arm_at(__u64 deadline_ns, __u64 cookie)
{
	struct hwheel_op op = to_arm(deadline_ns, cookie);

	op.flags = HWHEEL_ABSOLUTE;
	return op;
}

static struct hwheel_op to_refresh(__u64 id, __u64 delay_ns)
{
	return record(HWHEEL_OP_REFRESH, id, 0, delay_ns);
}

static struct hwheel_op to_cancel(__u64 id)
{
	return record(HWHEEL_OP_CANCEL, id, 0, 0);
}

/* Of the deadline, not of the time left: that one can be foretold. */
static struct hwheel_op to_query(__u64 id)
{
	struct hwheel_op op = record(HWHEEL_OP_QUERY, id, 0, 0);

	op.flags = HWHEEL_ABSOLUTE;
	return op;
}

static bool same(const struct hwheel_op *a, const struct hwheel_op *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Whether @op, done as @after tells, has no other fields changed than those it sets. */
static bool is_done(struct hwheel_op op, const struct hwheel_op *after)
{
	op.result = after->result;
	/* If the id was there before ARM failed it stays. */
	if (op.op == HWHEEL_OP_ARM && (!op.result || op.result == -ERANGE)) {
		if (!after->id || after->id == op.id)
			return false;
		op.id = after->id;
	}
	/* That of SET is another one if it has armed. */
	if (op.op == HWHEEL_OP_SET && !op.result) {
		if (!after->id)
			return false;
		op.id = after->id;
	}
	if (op.op == HWHEEL_OP_QUERY && op.result > 0) {
		op.cookie = after->cookie;
		op.time_ns = after->time_ns;
	}
	return after->result != POISON32 && same(&op, after);
}

/* Whether the first @done were done and the others are as they were. */
static bool are_done(const struct hwheel_op *before, const struct hwheel_op *after,
		     int nr, int done)
{
	int i;

	for (i = 0; i < nr; i++)
		if (i < done ? !is_done(before[i], &after[i]) : !same(&before[i], &after[i]))
			return false;
	return true;
}

/* As submit(), and looks at all the records. */
static int submit_checked(int fd, struct hwheel_op *ops, int nr)
{
	static struct hwheel_op before[MAX];
	int done;

	memcpy(before, ops, nr * sizeof(*ops));
	done = submit(fd, ops, nr);
	return are_done(before, ops, nr, done) ? done : -EPROTO;
}

/* How many of the results are @result. */
static int count_results(const struct hwheel_op *ops, int nr, int result)
{
	int i, n = 0;

	for (i = 0; i < nr; i++)
		n += ops[i].result == result;
	return n;
}

/* @nr timeouts of @delay_ns each, with cookies from 0. */
static void to_arm_many(struct hwheel_op *ops, int nr, __u64 delay_ns)
{
	int i;

	for (i = 0; i < nr; i++)
		ops[i] = to_arm(delay_ns, i);
}

/* Each record that has armed becomes one that cancels. */
static void to_cancel_all(struct hwheel_op *ops, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		ops[i] = to_cancel(ops[i].id);
}

static __s64 held(int fd)
{
	struct hwheel_file_stats stats;

	return get_stats(fd, &stats) ?: (__s64)stats.held;
}

/* True of an id that was never armed, though it may have been one for a moment */
static bool is_unknown(int fd, __u64 id)
{
	struct hwheel_op op;

	return cancel(fd, id) == -ENOENT && refresh(fd, id, 0) == -ENOENT &&
	       query(fd, id, 0, &op) == -ENOENT;
}

TEST_F(submit, arms_and_fires)
{
	struct hwheel_op op = to_arm(0, 0x1122334455667788);
	struct hwheel_event ev;

	ASSERT_EQ(1, submit_checked(self->fd, &op, 1));
	ASSERT_EQ(0, op.result);
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(op.id, ev.id);
	EXPECT_EQ(0x1122334455667788, ev.cookie);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* One timeout through all it can go through: what comes first is done first. */
TEST_F(submit, in_order)
{
	__u64 first = round_up_8(now_ns() + 3600 * SEC), second = first + 3600 * SEC, id;
	struct hwheel_op ops[8];

	ASSERT_EQ(0, arm_at(self->fd, first, 5, &id));
	ops[0] = to_query(id);
	ops[1] = to_refresh(id, second);
	ops[1].flags = HWHEEL_ABSOLUTE;
	ops[2] = to_query(id);
	ops[3] = to_cancel(id);
	ops[4] = to_query(id);
	ops[5] = to_refresh(id, 0);
	ops[6] = to_cancel(id);
	ops[7] = to_arm_at(second, 6);
	ASSERT_EQ(8, submit_checked(self->fd, ops, 8));
	EXPECT_EQ(HWHEEL_STATE_PENDING, ops[0].result);
	EXPECT_EQ(first, ops[0].time_ns);
	EXPECT_EQ(0, ops[1].result);
	EXPECT_EQ(HWHEEL_STATE_PENDING, ops[2].result);
	EXPECT_EQ(5, ops[2].cookie);
	EXPECT_EQ(second, ops[2].time_ns);
	EXPECT_EQ(0, ops[3].result);
	EXPECT_EQ(-ENOENT, ops[4].result);
	EXPECT_EQ(-ENOENT, ops[5].result);
	EXPECT_EQ(-ENOENT, ops[6].result);
	EXPECT_EQ(0, ops[7].result);
	EXPECT_NE(id, ops[7].id);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(1, held(self->fd));
}

/* Many, over three batches: half of them cancelled, the others made to fire. */
TEST_F(submit, many_in_three_batches)
{
	static struct hwheel_op armed[MAX], ops[MAX];
	static unsigned int seen[MAX];
	int i;

	to_arm_many(armed, MAX, NEVER);
	ASSERT_EQ(MAX, submit_checked(self->fd, armed, MAX));
	ASSERT_EQ(MAX, count_results(armed, MAX, 0));
	for (i = 0; i < MAX; i++)
		ops[i] = i & 1 ? to_cancel(armed[i].id) : to_refresh(armed[i].id, 3600 * SEC);
	ASSERT_EQ(MAX, submit_checked(self->fd, ops, MAX));
	ASSERT_EQ(MAX, count_results(ops, MAX, 0));
	for (i = 0; i < MAX; i++)
		ops[i] = to_refresh(armed[i].id, 0);
	ASSERT_EQ(MAX, submit_checked(self->fd, ops, MAX));
	for (i = 0; i < MAX; i++)
		ASSERT_EQ(i & 1 ? -ENOENT : 0, ops[i].result);

	ASSERT_EQ(0, collect(self->fd, seen, MAX, MAX / 2));
	for (i = 0; i < MAX; i++)
		ASSERT_EQ(!(i & 1), seen[i]);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, held(self->fd));
}

static const int sizes[] = { 0, 1, 2, 63, 64, 65, 127, 128, 129, 1000, MAX - 1, MAX };

TEST_F(submit, sizes)
{
	static struct hwheel_op ops[MAX + 1];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		static unsigned int seen[MAX];
		const int nr = sizes[i];

		memset(seen, 0, sizeof(seen));
		memset(ops, 0x5a, sizeof(ops));
		to_arm_many(ops, nr, 0);
		ASSERT_EQ(nr, submit_checked(self->fd, ops, nr));
		ASSERT_EQ(nr, count_results(ops, nr, 0));
		EXPECT_EQ(POISON32, ops[nr].op);
		ASSERT_EQ(0, collect(self->fd, seen, MAX, nr));
		EXPECT_TRUE(each_once(seen, nr));
		EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
		EXPECT_EQ(0, held(self->fd));
	}
}

/* Nothing is asked for, so nowhere is as good a place as any. */
TEST_F(submit, none)
{
	struct hwheel_op op = to_arm(0, 1), before = op;

	EXPECT_EQ(0, submit(self->fd, &op, 0));
	EXPECT_EQ(0, submit(self->fd, NULL, 0));
	EXPECT_TRUE(same(&before, &op));
	EXPECT_EQ(0, held(self->fd));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(submit, too_many)
{
	static const __u32 sizes[] = {
		MAX + 1, MAX + 64, 2 * MAX, 1U << 16, 1U << 31, INT32_MAX, UINT32_MAX - 1,
		UINT32_MAX,
		/* So many records that the sum of their sizes wraps to few */
		UINT32_MAX / 40 + 1, UINT32_MAX / 40 + 2,
	};
	static struct hwheel_op ops[2 * MAX], before[2 * MAX];
	size_t i;

	to_arm_many(ops, 2 * MAX, 0);
	memcpy(before, ops, sizeof(ops));
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_EQ(-EINVAL, submit(self->fd, ops, sizes[i])) {
			TH_LOG("%u records", sizes[i]);
		}
	EXPECT_TRUE(are_done(before, ops, 2 * MAX, 0));
	EXPECT_EQ(0, held(self->fd));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* The batch is an input: it may be where nothing can be written. */
TEST_F(submit, header_is_not_written)
{
	struct hwheel_op op = to_arm(0, 1);
	const struct hwheel_submit batch = { .ops = (uintptr_t)&op, .nr = 1 };
	const size_t size = sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int seen[2] = { 1 };

	ASSERT_NE(MAP_FAILED, page);
	memcpy(page, &batch, sizeof(batch));
	ASSERT_EQ(0, mprotect(page, size, PROT_READ));
	ASSERT_EQ(1, call(self->fd, HWHEEL_IOC_SUBMIT, page));
	EXPECT_EQ(0, memcmp(page, &batch, sizeof(batch)));
	ASSERT_EQ(0, collect(self->fd, seen, 2, 1));
	EXPECT_TRUE(each_once(seen, 2));
	EXPECT_EQ(0, munmap(page, size));
}

/* A batch whose records are written over itself: it was read before. */
TEST_F(submit, header_is_read_once)
{
	union {
		struct hwheel_submit batch;
		struct hwheel_op ops[3];
	} both = { .ops = { { 0 }, to_arm(0, 0), to_arm(0, 1) } };
	unsigned int seen[2] = { 0 };

	both.batch = (struct hwheel_submit){ .ops = (uintptr_t)&both, .nr = 3 };
	ASSERT_EQ(3, call(self->fd, HWHEEL_IOC_SUBMIT, &both));
	EXPECT_EQ(-EINVAL, both.ops[0].result);
	EXPECT_EQ(0, both.ops[1].result);
	EXPECT_EQ(0, both.ops[2].result);
	ASSERT_EQ(0, collect(self->fd, seen, 2, 2));
	EXPECT_TRUE(each_once(seen, 2));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/*
 * A batch or one by one, that makes no difference
 */

#define TWINS	300

static __u32 next_random(__u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static const unsigned long commands[] = {
	[HWHEEL_OP_ARM]     = HWHEEL_IOC_ARM,
	[HWHEEL_OP_REFRESH] = HWHEEL_IOC_REFRESH,
	[HWHEEL_OP_CANCEL]  = HWHEEL_IOC_CANCEL,
	[HWHEEL_OP_QUERY]   = HWHEEL_IOC_QUERY,
	[HWHEEL_OP_SET]	    = HWHEEL_IOC_SET,
	[HWHEEL_OP_WITHDRAW] = HWHEEL_IOC_WITHDRAW,
};

/* Any operation on one of the @n ids, good or bad; nothing in it will expire. */
static struct hwheel_op random_op(__u32 *random, const __u64 *ids, size_t n, __u64 far)
{
	__u32 flags = next_random(random) % 8, op = 1 + next_random(random) % 6;
	bool ends = op == HWHEEL_OP_CANCEL || op == HWHEEL_OP_WITHDRAW;
	__u64 id = ids[next_random(random) % n];
	struct hwheel_op some = record(op, op == HWHEEL_OP_ARM ? 0 : id, 0, 0);

	/* One flag that there is not, and half of the rest with the one that there is */
	some.flags = !flags ? 2 : ends ? 0 : flags & HWHEEL_ABSOLUTE;
	if (op == HWHEEL_OP_QUERY)
		some.flags |= HWHEEL_ABSOLUTE;
	else if (!ends)
		some.time_ns = some.flags == HWHEEL_ABSOLUTE ? far + next_random(random) : NEVER;
	/* Some have a cookie that they must not have. */
	if (op == HWHEEL_OP_ARM || next_random(random) % 10 == 0)
		some.cookie = next_random(random);
	some.reserved = next_random(random) % 10 == 0;
	return some;
}

/* One by one, as a batch would */
static void do_singly(int fd, struct hwheel_op *ops, int nr)
{
	int i, ret;

	for (i = 0; i < nr; i++) {
		ret = call(fd, commands[ops[i].op], &ops[i]);
		ops[i].result = ops[i].result == POISON32 ? ret : -EPROTO;
	}
}

/* Some that are pending, some expired, some cancelled, some read, and nonsense */
static int make_some(int fd, __u64 *ids)
{
	struct hwheel_event ev[10];
	int ret;

	ids[0] = 0;
	ids[1] = UINT64_MAX;
	ret = arm_many(fd, 10, 0, ids + 2) ?: settle(now_ns());
	if (!ret && read_events(fd, ev, 10) != 10)
		ret = -EPROTO;
	return ret ?: arm_many(fd, 10, 0, ids + 12) ?: settle(now_ns()) ?:
	       arm_many(fd, 50, NEVER, ids + 22) ?: cancel_many(fd, ids + 22, 10) ?:
	       settle(now_ns());
}

/* Which of the ids it is; 0 if none of them */
static size_t name_of(__u64 id, const __u64 *ids, size_t n)
{
	while (n && ids[--n] != id)
		;
	return n;
}

TEST_F(submit, same_as_one_by_one)
{
	static struct hwheel_op batch[TWINS], singles[TWINS];
	__u64 mine[72], theirs[72], far = round_up_8(now_ns() + 3600 * SEC);
	int twin = open_device(O_NONBLOCK), i, round;
	struct hwheel_file_stats a, b;
	__u32 random = 7;

	ASSERT_LE(0, twin);
	ASSERT_EQ(0, make_some(self->fd, mine));
	ASSERT_EQ(0, make_some(twin, theirs));
	for (round = 0; round < 10; round++) {
		for (i = 0; i < TWINS; i++) {
			batch[i] = random_op(&random, mine, ARRAY_SIZE(mine), far);
			singles[i] = batch[i];
			singles[i].id = theirs[name_of(batch[i].id, mine, ARRAY_SIZE(mine))];
		}
		ASSERT_EQ(TWINS, submit_checked(self->fd, batch, TWINS));
		do_singly(twin, singles, TWINS);
		for (i = 0; i < TWINS; i++) {
			ASSERT_EQ(singles[i].result, batch[i].result) {
				TH_LOG("record %d, operation %u", i, batch[i].op);
			}
			if ((batch[i].op == HWHEEL_OP_ARM || batch[i].op == HWHEEL_OP_SET) &&
			    !batch[i].result) {
				/* From now on one of those that things are done to */
				mine[i % 50 + 22] = batch[i].id;
				theirs[i % 50 + 22] = singles[i].id;
			}
			singles[i].id = batch[i].id;
			ASSERT_TRUE(same(&singles[i], &batch[i]));
		}
	}
	ASSERT_EQ(0, settle(now_ns()));
	ASSERT_EQ(0, get_stats(self->fd, &a));
	ASSERT_EQ(0, get_stats(twin, &b));
	EXPECT_EQ(0, memcmp(&a, &b, offsetof(struct hwheel_file_stats, wheel_pending)));
	EXPECT_LT(0, a.refreshed);
	EXPECT_LT(0, a.cancelled);
	EXPECT_EQ(0, close(twin));
}

/*
 * Bad records among good ones
 */

#define BAD_EVERY	3

static const struct hwheel_op bad_ops[] = {
	{ .op = 0 },
	{ .op = 7 },
	{ .op = 64 },
	{ .op = 0x101 },
	{ .op = 0x80000001 },
	{ .op = UINT32_MAX },
	{ .op = HWHEEL_OP_ARM, .flags = 2 },
	{ .op = HWHEEL_OP_ARM, .flags = HWHEEL_ABSOLUTE | 0x80000000 },
	{ .op = HWHEEL_OP_REFRESH, .flags = 2 },
	{ .op = HWHEEL_OP_REFRESH, .flags = 0x80000000 },
	{ .op = HWHEEL_OP_CANCEL, .flags = HWHEEL_ABSOLUTE },
	{ .op = HWHEEL_OP_CANCEL, .flags = 2 },
	{ .op = HWHEEL_OP_QUERY, .flags = 2 },
	{ .op = HWHEEL_OP_SET, .flags = 2 },
	{ .op = HWHEEL_OP_WITHDRAW, .flags = HWHEEL_ABSOLUTE },
	{ .op = HWHEEL_OP_ARM, .reserved = 1 },
	{ .op = HWHEEL_OP_REFRESH, .reserved = 0x80000000 },
	{ .op = HWHEEL_OP_CANCEL, .reserved = UINT32_MAX },
	{ .op = HWHEEL_OP_QUERY, .reserved = 1 },
	{ .op = HWHEEL_OP_SET, .reserved = 1 },
	{ .op = HWHEEL_OP_WITHDRAW, .reserved = 1 },
};

static struct hwheel_op bad_op(size_t i, __u64 id)
{
	struct hwheel_op op = bad_ops[i % ARRAY_SIZE(bad_ops)];

	op.result = POISON32;
	op.id = op.op == HWHEEL_OP_ARM ? 0 : id;
	return op;
}

TEST_F(submit, bad_among_good)
{
	enum { NR = 3 * ARRAY_SIZE(bad_ops) * BAD_EVERY };
	unsigned int seen[NR + 1] = { 0 };
	struct hwheel_op ops[NR];
	__u64 witness;
	int i;

	ASSERT_EQ(0, arm(self->fd, NEVER, NR, &witness));
	for (i = 0; i < NR; i++)
		ops[i] = i % BAD_EVERY ? to_arm(0, i) : bad_op(i / BAD_EVERY, witness);
	ASSERT_EQ(NR, submit_checked(self->fd, ops, NR));
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(i % BAD_EVERY ? 0 : -EINVAL, ops[i].result) {
			TH_LOG("record %d", i);
		}
		seen[i] = !(i % BAD_EVERY);
	}
	ASSERT_EQ(0, collect(self->fd, seen, NR, NR - NR / BAD_EVERY));
	EXPECT_TRUE(each_once(seen, NR));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, cancel(self->fd, witness));
}

TEST_F(submit, nothing_but_bad)
{
	struct hwheel_op ops[ARRAY_SIZE(bad_ops)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = bad_op(i, 0);
	ASSERT_EQ(ARRAY_SIZE(ops), submit_checked(self->fd, ops, ARRAY_SIZE(ops)));
	EXPECT_EQ(ARRAY_SIZE(ops), count_results(ops, ARRAY_SIZE(ops), -EINVAL));
	EXPECT_EQ(0, held(self->fd));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* Nobody can know the id of what is armed later in the batch. If it is guessed: */
TEST_F(submit, guessed_ids)
{
	struct hwheel_op ops[8];
	__u64 id;
	int i;

	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	id++;
	ops[0] = to_cancel(id);
	ops[1] = to_refresh(id, 0);
	ops[2] = to_query(id);
	ops[3] = to_arm(NEVER, 2);
	ops[4] = to_query(id);
	ops[5] = to_refresh(id, 3600 * SEC);
	ops[6] = to_cancel(id);
	ops[7] = to_cancel(id);
	ASSERT_EQ(8, submit_checked(self->fd, ops, 8));
	if (ops[3].id != id)
		SKIP(return, "ids are not given out in turn");
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ENOENT, ops[i].result);
	EXPECT_EQ(0, ops[3].result);
	EXPECT_EQ(HWHEEL_STATE_PENDING, ops[4].result);
	EXPECT_EQ(2, ops[4].cookie);
	EXPECT_EQ(0, ops[5].result);
	EXPECT_EQ(0, ops[6].result);
	EXPECT_EQ(-ENOENT, ops[7].result);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(submit, ids_of_another_file)
{
	int other = open_device(O_NONBLOCK);
	struct hwheel_op ops[3];
	__u64 id;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm(self->fd, NEVER, 1, &id));
	ops[0] = to_refresh(id, 0);
	ops[1] = to_cancel(id);
	ops[2] = to_query(id);
	ASSERT_EQ(3, submit_checked(other, ops, 3));
	EXPECT_EQ(3, count_results(ops, 3, -ENOENT));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, cancel(self->fd, id));
	EXPECT_EQ(0, close(other));
}

/*
 * Faults: memory that ends, or cannot be written, in the middle of the array
 */

#define NR	130

/*
 * A batch that makes something of every record: arms a timeout that fires, makes a
 * witness fire or cancels it. Each witness is pending for ever, and its cookie is that
 * of the record, those of the timeouts armed come after them.
 */
struct trial {
	int			fd;
	struct hwheel_op	ops[NR];
	__u64			witness[NR];
};

static int prepare_trial(struct trial *trial)
{
	int i;

	trial->fd = open_device(O_NONBLOCK);
	for (i = 0; i < NR; i++)
		trial->ops[i] = to_arm(NEVER, i);
	if (submit(trial->fd, trial->ops, NR) != NR || count_results(trial->ops, NR, 0) != NR)
		return -EPROTO;
	for (i = 0; i < NR; i++) {
		trial->witness[i] = trial->ops[i].id;
		trial->ops[i] = i % 3 == 0 ? to_arm(0, NR + i) :
				i % 3 == 1 ? to_refresh(trial->witness[i], 0) :
				to_cancel(trial->witness[i]);
	}
	return 0;
}

/* Of the first @done records those of @kind */
static int count_kind(int kind, int done)
{
	return (done + 2 - kind) / 3;
}

/* The records that were done made an event each, but for those that cancelled. */
static int check_events(const struct trial *trial, int done)
{
	unsigned int seen[2 * NR] = { 0 };
	int i, n = count_kind(0, done) + count_kind(1, done);
	int ret = collect(trial->fd, seen, 2 * NR, n) ?: stays_quiet(trial->fd, now_ns());

	for (i = 0; !ret && i < 2 * NR; i++)
		if (seen[i] != (i % NR < done && i / NR == (i % NR % 3 == 0) && i % 3 != 2))
			ret = -EPROTO;
	return ret;
}

/* Witnesses are gone if something was done with them, else as before. */
static int check_witnesses(const struct trial *trial, int done)
{
	struct hwheel_op ops[NR];
	int i;

	for (i = 0; i < NR; i++)
		ops[i] = to_query(trial->witness[i]);
	if (submit_checked(trial->fd, ops, NR) != NR)
		return -EPROTO;
	for (i = 0; i < NR; i++)
		if (ops[i].result != (i < done && i % 3 ? -ENOENT : HWHEEL_STATE_PENDING))
			return -EPROTO;
	return 0;
}

static int check_counts(const struct trial *trial, int done)
{
	__u64 left = NR - count_kind(1, done) - count_kind(2, done);
	struct hwheel_file_stats stats;
	int ret = get_stats(trial->fd, &stats);

	if (ret)
		return ret;
	if (stats.armed != NR + count_kind(0, done) || stats.refreshed != count_kind(1, done) ||
	    stats.cancelled != count_kind(2, done) || stats.pending != left ||
	    stats.held != left || stats.events)
		return -EPROTO;
	return 0;
}

/* 0 if the first @done records of the batch were done and nothing else happened. */
static int check_trial(const struct trial *trial, int done)
{
	return check_events(trial, done) ?: check_witnesses(trial, done) ?:
	       check_counts(trial, done);
}

/* Pages that can be written, enough for a batch, and one in the middle */
struct pages {
	size_t	size;
	char	*first;
	char	*middle;
	char	*last;
};

static int map_pages(struct pages *pages)
{
	size_t size = sysconf(_SC_PAGESIZE);
	char *start = mmap(NULL, 4 * size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*pages = (struct pages){ size, start, start + size, start + 2 * size };
	return start == MAP_FAILED ? -errno : 0;
}

/* Submits the batch from @at, with the middle page protected; the answer, and its effect. */
static int try_at(const struct pages *pages, char *at, int protection, int done)
{
	static struct hwheel_op after[NR];
	struct trial trial;
	int ret;

	ret = prepare_trial(&trial);
	if (ret)
		return ret;
	memcpy(at, trial.ops, sizeof(trial.ops));
	ret = mprotect(pages->middle, pages->size, protection) ? -errno : 0;
	if (!ret && submit(trial.fd, (void *)at, NR) != (done ?: -EFAULT))
		ret = -EPROTO;
	mprotect(pages->middle, pages->size, PROT_READ | PROT_WRITE);
	memcpy(after, at, sizeof(after));
	/* SUBMIT tells what it did; the record that can't be written may be there in part. */
	if (!ret && !are_done(trial.ops, after, done, done))
		ret = -EPROTO;
	if (!ret && !are_done(trial.ops + done + 1, after + done + 1, NR - done - 1, 0))
		ret = -EPROTO;
	ret = ret ?: check_trial(&trial, done);
	close(trial.fd);
	return ret;
}

TEST_F(submit, trial_without_fault)
{
	struct pages pages;

	ASSERT_EQ(0, map_pages(&pages));
	EXPECT_EQ(0, try_at(&pages, pages.first, PROT_READ | PROT_WRITE, NR));
}

static const int protections[] = { PROT_NONE, PROT_READ };

/* The fault between two records, and at several bytes of one */
TEST_F(submit, array_that_ends)
{
	static const size_t records[] = { 0, 1, 2, 63, 64, 65, 100 };
	static const size_t bytes[] = { 0, 1, 7, 8, 11, 16, 20, 24, 32, 39 };
	struct pages pages;
	size_t i, j, k;

	ASSERT_EQ(0, map_pages(&pages));
	for (i = 0; i < ARRAY_SIZE(records); i++) {
		for (j = 0; j < ARRAY_SIZE(bytes); j++) {
			size_t there = records[i] * sizeof(struct hwheel_op) + bytes[j];

			for (k = 0; k < ARRAY_SIZE(protections); k++)
				EXPECT_EQ(0, try_at(&pages, pages.middle - there, protections[k],
						    records[i])) {
					TH_LOG("%zu and %zu bytes, %d", records[i], bytes[j],
					       protections[k]);
				}
		}
	}
}

/*
 * Only the end of the first record is good, and all after it. So many of its bytes are bad
 * where something goes wrong, else 0.
 */
static size_t try_beginnings(int protection)
{
	static const size_t bytes[] = { 1, 2, 16, 17, 21, 25, 40 };
	struct pages pages;
	size_t i;

	if (map_pages(&pages))
		return -1;
	for (i = 0; i < ARRAY_SIZE(bytes); i++)
		if (try_at(&pages, pages.last - bytes[i], protection, 0))
			return bytes[i];
	return 0;
}

TEST_F(submit, array_that_begins_missing)
{
	if (kernel_reads_protected())
		SKIP(return, "this kernel reads what is protected");
	EXPECT_EQ(0, try_beginnings(PROT_NONE));
}

TEST_F(submit, array_that_begins_read_only)
{
	EXPECT_EQ(0, try_beginnings(PROT_READ));
}

/* How many sizes of a batch at @at do not fault */
static int count_not_faulting(int fd, __u64 at)
{
	static const int sizes[] = { 1, 2, 64, 65, MAX };
	struct hwheel_submit batch = { .ops = at };
	int n = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		batch.nr = sizes[i];
		n += call(fd, HWHEEL_IOC_SUBMIT, &batch) != -EFAULT;
	}
	return n;
}

/* Not mapped at all, and what no process may touch */
TEST_F(submit, array_nowhere)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	char *missing = mmap(NULL, 64 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const __u64 bad[] = {
		0, 1, (uintptr_t)missing, (uintptr_t)missing + 1,
		1ULL << 47, (1ULL << 47) - 40, 1ULL << 63, 0xffff888000000000,
		0xffffffff81000000, -4096ULL, -40ULL, -39ULL, -1ULL,
	};
	const __u64 *at;

	ASSERT_NE(MAP_FAILED, missing);
	for (at = bad; at < bad + ARRAY_SIZE(bad); at++)
		EXPECT_EQ(0, count_not_faulting(self->fd, *at)) {
			TH_LOG("at %#llx", *at);
		}
	EXPECT_EQ(0, held(self->fd));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, munmap(missing, 64 * size));
}

/* An id whose operation was not armed, told or not, belongs to no timeout. */
TEST_F(submit, ids_of_what_faulted)
{
	struct pages pages;
	struct hwheel_op *ops;
	__u64 id, i;

	ASSERT_EQ(0, map_pages(&pages));
	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &id));
	/* Of the third record all but the last byte can be written. */
	ops = (void *)(pages.middle - 3 * sizeof(*ops) + 1);
	for (i = 0; i < 20; i++) {
		struct hwheel_op op = to_arm(0, i);

		memcpy(&ops[i], &op, sizeof(op));
	}
	ASSERT_EQ(0, mprotect(pages.middle, pages.size, PROT_READ));
	ASSERT_EQ(2, submit(self->fd, ops, 20));
	for (i = 3; i < 20; i++)
		EXPECT_TRUE(is_unknown(self->fd, id + i));
	EXPECT_TRUE(is_unknown(self->fd, POISON64));
	memcpy(&id, (char *)&ops[2] + offsetof(struct hwheel_op, id), sizeof(id));
	EXPECT_TRUE(is_unknown(self->fd, id));
	EXPECT_EQ(3, held(self->fd));
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(3, held(self->fd));
}

/* Faults take no places: a file that they hit for long is as empty as before. */
TEST_F(submit, faults_hold_nothing)
{
	static struct hwheel_op ops[MAX];
	struct pages pages;
	int i;

	ASSERT_EQ(0, map_pages(&pages));
	to_arm_many(ops, NR, 0);
	memcpy(pages.middle, ops, 100 * sizeof(*ops));
	ASSERT_EQ(0, mprotect(pages.middle, pages.size, PROT_READ));
	for (i = 0; i < 2000; i++)
		ASSERT_EQ(-EFAULT, submit(self->fd, (void *)pages.middle, 100));
	EXPECT_EQ(0, held(self->fd));
	for (i = 0; i < max_timeouts(self->fd) / MAX; i++) {
		to_arm_many(ops, MAX, NEVER);
		ASSERT_EQ(MAX, submit(self->fd, ops, MAX));
		ASSERT_EQ(MAX, count_results(ops, MAX, 0));
	}
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

#define ACROSS	100
#define CALLS	300

/*
 * Batches of which the second half is on the page that changes. Of all their cookies, @seen
 * is 0 where it was done, else 1: how many that are, and of how many batches all.
 */
static int arm_across(int fd, const struct toggled_memory *memory, unsigned int *seen,
		      int *whole)
{
	const size_t begin = memory->size - ACROSS / 2 * sizeof(struct hwheel_op);
	struct hwheel_op *ops = (void *)(memory->in + begin);
	int sum = 0, round, done, i;

	for (round = 0; round < CALLS; round++) {
		for (i = 0; i < ACROSS; i++)
			ops[i] = to_arm(0, ACROSS * round + i);
		done = submit(fd, (void *)(memory->out + begin), ACROSS);
		if (done < ACROSS / 2 || done > ACROSS)
			return -EPROTO;
		sum += done;
		*whole += done == ACROSS;
		for (i = 0; i < ACROSS; i++)
			*seen++ = i >= done;
	}
	return sum;
}

/* What the call says was done, that and nothing else was done. */
TEST_F(submit, memory_changes)
{
	static unsigned int seen[CALLS * ACROSS];
	int calls = 0, whole = 0, sum;
	struct toggled_memory memory;

	ASSERT_EQ(0, start_toggling(&memory));
	do {
		sum = arm_across(self->fd, &memory, seen, &whole);
		ASSERT_LE(0, sum);
		ASSERT_EQ(0, collect(self->fd, seen, ARRAY_SIZE(seen), sum));
		ASSERT_TRUE(each_once(seen, ARRAY_SIZE(seen)));
		calls += CALLS;
	} while (goes_on_toggling(&memory, whole, calls - whole));
	ASSERT_EQ(0, stop_toggling(&memory));
	EXPECT_LT(0, whole);
	EXPECT_GT(calls, whole);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, held(self->fd));
	TH_LOG("%d of %d did not fault", whole, calls);
}

/* The module does so many at a time: first it writes what is known before, then the rest. */
#define CHUNK	16

/**
 * struct late - a batch that is held up
 * @fd:   of its file
 * @ids:  of timeouts of that
 * @ops:  two chunks: the first one has an answer in its first record
 * @done: what the call returns
 */
struct late {
	int			fd;
	__u64			ids[2 * CHUNK];
	struct hwheel_op	*ops;
	int			done;
};

static int prepare_late(struct late *late)
{
	int ret = arm_many(late->fd, 2 * CHUNK, NEVER, late->ids), i;

	for (i = 0; i < 2 * CHUNK; i++)
		late->ops[i] = to_refresh(late->ids[i], 3600 * SEC);
	late->ops[0] = to_query(late->ids[0]);
	return ret;
}

static void *submit_late(void *data)
{
	struct late *late = data;

	late->done = submit(late->fd, late->ops, 2 * CHUNK);
	return NULL;
}

static bool is_refreshed(int fd, __u64 id)
{
	struct hwheel_op op;

	return query(fd, id, 0, &op) == HWHEEL_STATE_PENDING && op.time_ns <= 3600 * SEC;
}

/*
 * A chunk that is held up where half of it is written, and meanwhile the other half stops
 * being writable: its answer can't be told any more, but it is done, and no other after it.
 */
TEST_F(submit, answer_that_faults)
{
	int uffd = open_userfaultfd(), i;
	struct late late = { .fd = self->fd };
	struct pages pages;
	pthread_t thread;

	if (uffd < 0)
		SKIP(return, "no userfaultfd, or not for us");
	ASSERT_EQ(0, map_pages(&pages));
	late.ops = (void *)(pages.middle - CHUNK / 2 * sizeof(*late.ops));
	ASSERT_EQ(0, prepare_late(&late));
	ASSERT_EQ(0, hold_up(uffd, pages.middle));
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_late, &late));
	ASSERT_EQ(0, await_writer(uffd));
	ASSERT_EQ(0, mprotect(pages.first, pages.size, PROT_READ));
	ASSERT_EQ(0, let_go_on(uffd, pages.middle));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(CHUNK, late.done);
	EXPECT_EQ(0, late.ops[0].result);
	EXPECT_EQ(0, late.ops[0].cookie);
	for (i = 0; i < 2 * CHUNK; i++) {
		EXPECT_EQ(i && i < CHUNK, is_refreshed(self->fd, late.ids[i])) {
			TH_LOG("record %d", i);
		}
	}
	EXPECT_EQ(0, close(uffd));
}

/*
 * Limits
 */

TEST_F(submit, full_file)
{
	struct hwheel_config config = { .max_timeouts = 100, .clock = CLOCK_MONOTONIC };
	struct hwheel_op ops[150];
	int i;

	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_CONFIG, &config));
	to_arm_many(ops, 150, NEVER);
	ASSERT_EQ(150, submit_checked(self->fd, ops, 150));
	EXPECT_EQ(100, count_results(ops, 100, 0));
	EXPECT_EQ(50, count_results(ops + 100, 50, -ENOSPC));
	EXPECT_EQ(100, held(self->fd));

	/* Operations that need no place go on. */
	for (i = 0; i < 100; i += 2) {
		ops[100 + i / 2] = to_arm(0, i);
		ops[i + 1] = to_cancel(ops[i + 1].id);
		ops[i] = to_refresh(ops[i].id, 0);
	}
	ASSERT_EQ(150, submit_checked(self->fd, ops, 150));
	EXPECT_EQ(100, count_results(ops, 100, 0));
	ASSERT_EQ(0, settle(now_ns()));

	/* Cancelled ones have made room, expired and unread ones have not. */
	to_arm_many(ops, 150, NEVER);
	ASSERT_EQ(150, submit_checked(self->fd, ops, 150));
	EXPECT_EQ(150, count_results(ops, 150, 0) + count_results(ops, 150, -ENOSPC));
	EXPECT_EQ(100, held(self->fd));
	EXPECT_EQ(-ENOSPC, arm(self->fd, 0, 0, NULL));
}

/* A place between bad records and beyond the limit is not lost. */
TEST_F(submit, last_place)
{
	struct hwheel_config config = { .max_timeouts = 1, .clock = CLOCK_MONOTONIC };
	struct hwheel_op ops[4] = { bad_op(0, 0), bad_op(6, 0), to_arm(0, 0), to_arm(0, 1) };
	struct hwheel_event ev;

	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_CONFIG, &config));
	ASSERT_EQ(4, submit_checked(self->fd, ops, 4));
	EXPECT_EQ(-EINVAL, ops[0].result);
	EXPECT_EQ(-EINVAL, ops[1].result);
	EXPECT_EQ(0, ops[2].result);
	EXPECT_EQ(-ENOSPC, ops[3].result);
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(ops[2].id, ev.id);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, held(self->fd));
}

/* A turn of 1.6 s: what is farther away is refused, record by record. */
TEST_F(submit, simple_wheel)
{
	struct hwheel_config config = {
		.tick_ns = 100 * MSEC,
		.slots = 16,
		.kind = HWHEEL_KIND_SIMPLE,
		.clock = CLOCK_MONOTONIC,
	};
	unsigned int seen[6] = { 0, 1, 0, 1, 0, 0 };
	struct hwheel_op ops[6];
	struct hwheel_event ev;
	__u64 id;

	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_CONFIG, &config));
	ASSERT_EQ(0, arm(self->fd, SEC, 5, &id));
	ops[0] = to_arm(0, 0);
	ops[1] = to_arm(3600 * SEC, 1);
	ops[2] = to_arm_at(now_ns(), 2);
	ops[3] = to_arm_at(NEVER, 3);
	ops[4] = to_refresh(id, NEVER);
	ops[5] = to_arm(0, 4);
	ASSERT_EQ(6, submit_checked(self->fd, ops, 6));
	EXPECT_EQ(0, ops[0].result);
	EXPECT_EQ(-ERANGE, ops[1].result);
	EXPECT_EQ(0, ops[2].result);
	EXPECT_EQ(-ERANGE, ops[3].result);
	/* It stays pending, unless the machine stalled and it has expired. */
	EXPECT_TRUE(ops[4].result == -ERANGE || ops[4].result == -ENOENT);
	EXPECT_EQ(0, ops[5].result);
	EXPECT_TRUE(is_unknown(self->fd, ops[1].id));
	EXPECT_TRUE(is_unknown(self->fd, ops[3].id));
	ASSERT_EQ(0, collect(self->fd, seen, 6, 4));
	EXPECT_TRUE(each_once(seen, 6));
	EXPECT_EQ(0, held(self->fd));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &ev, 1));
}

TEST_F(submit, after_stop)
{
	__u64 expired, pending, cancelled, never = 12345;
	struct hwheel_event ev[2];
	struct hwheel_op ops[10];

	ASSERT_EQ(0, arm(self->fd, 0, 1, &expired));
	ASSERT_EQ(0, arm(self->fd, NEVER, 2, &pending));
	ASSERT_EQ(0, arm(self->fd, NEVER, 3, &cancelled));
	ASSERT_EQ(0, cancel(self->fd, cancelled));
	ASSERT_EQ(0, settle(now_ns()));
	ASSERT_EQ(1, call(self->fd, HWHEEL_IOC_STOP, NULL));
	ops[0] = to_arm(0, 4);
	ops[1] = to_refresh(pending, 0);
	ops[2] = to_cancel(pending);
	ops[3] = to_query(pending);
	ops[4] = to_query(expired);
	ops[5] = to_cancel(expired);
	ops[6] = to_cancel(cancelled);
	ops[7] = to_cancel(never);
	ops[8] = bad_op(0, 0);
	ops[9] = to_arm_at(0, 5);
	ASSERT_EQ(10, submit_checked(self->fd, ops, 10));
	EXPECT_EQ(-ESHUTDOWN, ops[0].result);
	EXPECT_EQ(-ENOENT, ops[1].result);
	EXPECT_EQ(-ENOENT, ops[2].result);
	EXPECT_EQ(HWHEEL_STATE_STOPPED, ops[3].result);
	EXPECT_EQ(2, ops[3].cookie);
	EXPECT_EQ(HWHEEL_STATE_EXPIRED, ops[4].result);
	EXPECT_EQ(1, ops[4].cookie);
	EXPECT_EQ(-ENOENT, ops[5].result);
	EXPECT_EQ(-ENOENT, ops[6].result);
	EXPECT_EQ(-ENOENT, ops[7].result);
	EXPECT_EQ(-EINVAL, ops[8].result);
	EXPECT_EQ(-ESHUTDOWN, ops[9].result);
	EXPECT_EQ(0, submit(self->fd, ops, 0));
	EXPECT_EQ(2, held(self->fd));

	/* They were events all the time; once read they are gone. */
	ASSERT_EQ(sizeof(ev), read(self->fd, ev, sizeof(ev)));
	ops[0] = to_query(expired);
	ops[1] = to_query(pending);
	ops[2] = to_cancel(pending);
	ops[3] = to_arm(0, 6);
	ASSERT_EQ(4, submit_checked(self->fd, ops, 4));
	EXPECT_EQ(-ENOENT, ops[0].result);
	EXPECT_EQ(-ENOENT, ops[1].result);
	EXPECT_EQ(-ENOENT, ops[2].result);
	EXPECT_EQ(-ESHUTDOWN, ops[3].result);
	EXPECT_EQ(0, read(self->fd, ev, sizeof(ev)));
}

/*
 * Time
 */

/* Relative and absolute ones side by side: each is due when it was said to be. */
TEST_F(submit, never_early)
{
	__u64 before = now_ns(), after;
	struct hwheel_op ops[200];
	struct hwheel_event ev;
	int i;

	for (i = 0; i < 200; i++)
		ops[i] = i & 1 ? to_arm_at(before + i * MSEC + i, i) : to_arm(i * MSEC + i, i);
	ASSERT_EQ(200, submit_checked(self->fd, ops, 200));
	after = now_ns();
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, next_event(self->fd, &ev));
		ASSERT_GT(200, ev.cookie);
		EXPECT_EQ(ops[ev.cookie].id, ev.id);
		EXPECT_LE(round_up_8(before + ev.cookie * MSEC + ev.cookie), ev.deadline_ns);
		/* No two bounds for an absolute one: it is exact. */
		EXPECT_GE(round_up_8(ops[ev.cookie].time_ns + (ev.cookie & 1 ? 0 : after)),
			  ev.deadline_ns);
		EXPECT_GE(now_ns(), ev.deadline_ns);
	}
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* Equal delays are equal deadlines, whatever lies between them in the batch. */
TEST_F(submit, one_time)
{
	static struct hwheel_op ops[MAX];
	__u64 id, deadline, before, after;
	int i;

	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &id));
	for (i = 0; i < MAX; i++)
		ops[i] = i % 7 ? to_arm(3600 * SEC, i) : to_refresh(id, 3600 * SEC);
	before = now_ns();
	ASSERT_EQ(MAX, submit_checked(self->fd, ops, MAX));
	after = now_ns();
	for (i = 0; i < MAX; i++)
		ops[i] = to_query(ops[i].id);
	ASSERT_EQ(MAX, submit_checked(self->fd, ops, MAX));
	deadline = ops[0].time_ns;
	EXPECT_LE(round_up_8(before + 3600 * SEC), deadline);
	EXPECT_GE(round_up_8(after + 3600 * SEC), deadline);
	for (i = 0; i < MAX; i++)
		ASSERT_EQ(deadline, ops[i].time_ns);
}

/* How much time is left is counted from that one time as well. */
TEST_F(submit, time_left)
{
	struct hwheel_op ops[3];
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &id));
	ops[0] = to_refresh(id, 3600 * SEC);
	ops[1] = to_query(id);
	ops[2] = to_query(id);
	ops[2].flags = 0;
	ASSERT_EQ(3, submit_checked(self->fd, ops, 3));
	/* Rounded up to what a deadline can be */
	EXPECT_LE(3600 * SEC, ops[2].time_ns);
	EXPECT_GT(3600 * SEC + 8, ops[2].time_ns);
	EXPECT_EQ(HWHEEL_STATE_PENDING, ops[2].result);
}

/*
 * Signals and threads
 */

struct pelter {
	pthread_t	target;
	pthread_t	thread;
	int		stop;
};

static void ignore(int signal)
{
}

static void *pelt(void *data)
{
	struct pelter *pelter = data;

	while (!__atomic_load_n(&pelter->stop, __ATOMIC_ACQUIRE)) {
		pthread_kill(pelter->target, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

static int start_pelting(struct pelter *pelter)
{
	struct sigaction action = { .sa_handler = ignore };

	pelter->target = pthread_self();
	pelter->stop = 0;
	return sigaction(SIGUSR1, &action, NULL) ?:
	       pthread_create(&pelter->thread, NULL, pelt, pelter);
}

static int stop_pelting(struct pelter *pelter)
{
	__atomic_store_n(&pelter->stop, 1, __ATOMIC_RELEASE);
	return pthread_join(pelter->thread, NULL);
}

/* Signals that come all the time end no call early: each batch is one call. */
TEST_F(submit, signals)
{
	static struct hwheel_op ops[MAX];
	static unsigned int seen[MAX];
	int round;

	for (round = 0; round < 20; round++) {
		struct pelter pelter;

		memset(seen, 0, sizeof(seen));
		to_arm_many(ops, MAX, round & 1 ? NEVER : 0);
		ASSERT_EQ(0, start_pelting(&pelter));
		ASSERT_EQ(MAX, submit_checked(self->fd, ops, MAX));
		ASSERT_EQ(MAX, count_results(ops, MAX, 0));
		if (round & 1) {
			to_cancel_all(ops, MAX);
			ASSERT_EQ(MAX, submit_checked(self->fd, ops, MAX));
			ASSERT_EQ(MAX, count_results(ops, MAX, 0));
		}
		ASSERT_EQ(0, stop_pelting(&pelter));
		if (!(round & 1)) {
			ASSERT_EQ(0, collect(self->fd, seen, MAX, MAX));
			ASSERT_TRUE(each_once(seen, MAX));
		}
		ASSERT_EQ(0, stays_quiet(self->fd, now_ns()));
		ASSERT_EQ(0, held(self->fd));
	}
}

#define BATCHES		2000
#define BATCH		512

/* As a profiler has it: system calls are to go on after it. */
static int start_timer(int hz)
{
	struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	struct itimerval timer = {
		.it_interval.tv_usec = 1000000 / hz, .it_value.tv_usec = 1000000 / hz,
	};

	return sigaction(SIGALRM, &action, NULL) ?: setitimer(ITIMER_REAL, &timer, NULL);
}

static int stop_timer(void)
{
	struct itimerval timer = { 0 };

	return setitimer(ITIMER_REAL, &timer, NULL);
}

TEST_F(submit, profiling_timer)
{
	struct hwheel_op ops[BATCH];
	int i, j, cut = 0;

	ASSERT_EQ(0, start_timer(250));
	for (i = 0; i < BATCHES; i++) {
		for (j = 0; j < BATCH; j++)
			ops[j] = to_cancel(UINT64_MAX);
		cut += submit(self->fd, ops, BATCH) != BATCH;
	}
	ASSERT_EQ(0, stop_timer());
	EXPECT_EQ(0, cut) {
		TH_LOG("%d of %d batches were cut short", cut, BATCHES);
	}
}

/* One that comes before the first record does not end it: a call gets somewhere. */
TEST_F(submit, signals_at_the_beginning)
{
	struct hwheel_op op;
	struct pelter pelter;
	int i;

	ASSERT_EQ(0, start_pelting(&pelter));
	for (i = 0; i < 20000; i++) {
		op = to_cancel(UINT64_MAX);
		ASSERT_EQ(1, submit_checked(self->fd, &op, 1));
		ASSERT_EQ(-ENOENT, op.result);
	}
	ASSERT_EQ(0, stop_pelting(&pelter));
}

#define THREADS		4
#define EACH		8192

struct submitter {
	pthread_t		thread;
	int			fd;
	__u64			cookie;
	int			ret;
	struct hwheel_op	ops[256];
};

/* Arms, cancels every second one and makes the rest fire, in a batch each. */
static int submit_some(struct submitter *s, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		s->ops[i] = to_arm(NEVER, s->cookie++);
	if (submit(s->fd, s->ops, nr) != nr || count_results(s->ops, nr, 0) != nr)
		return -EPROTO;
	for (i = 0; i < nr; i++)
		s->ops[i] = i & 1 ? to_cancel(s->ops[i].id) : to_refresh(s->ops[i].id, 0);
	if (submit(s->fd, s->ops, nr) != nr || count_results(s->ops, nr, 0) != nr)
		return -EPROTO;
	return 0;
}

static void *submit_much(void *data)
{
	struct submitter *s = data;
	int i;

	for (i = 0; !s->ret && i < EACH; i += ARRAY_SIZE(s->ops))
		s->ret = submit_some(s, ARRAY_SIZE(s->ops));
	return NULL;
}

TEST_F(submit, threads)
{
	static unsigned int seen[THREADS * EACH];
	static struct submitter submitters[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		submitters[i].fd = self->fd;
		submitters[i].cookie = i * EACH;
		ASSERT_EQ(0, pthread_create(&submitters[i].thread, NULL, submit_much,
					    &submitters[i]));
	}
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(submitters[i].thread, NULL));
		EXPECT_EQ(0, submitters[i].ret);
	}
	ASSERT_EQ(0, collect(self->fd, seen, ARRAY_SIZE(seen), ARRAY_SIZE(seen) / 2));
	for (i = 0; i < ARRAY_SIZE(seen); i++)
		ASSERT_EQ(!(i & 1), seen[i]);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, held(self->fd));
}

TEST_HARNESS_MAIN
