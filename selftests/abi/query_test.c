// SPDX-License-Identifier: GPL-2.0-only
/* QUERY: what became of a timeout, how much time it has left, and that asking is harmless. */

#include "common.h"

#include <pthread.h>
#include <sys/mman.h>

#define COOKIE	0x1122334455667788

FIXTURE(query)
{
	int fd;
};

FIXTURE_SETUP(query)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(query)
{
	EXPECT_EQ(0, close(self->fd));
}

/* Whether the call wrote nothing into what query() has made. */
static bool is_untouched(const struct hwheel_op *op)
{
	return op->result == POISON32 && !op->reserved && !op->cookie && !op->time_ns;
}

/* Returns 0 if the id is unknown and the call wrote nothing. */
static int check_unknown(int fd, __u64 id)
{
	struct hwheel_op op;
	__u32 flags;
	int ret;

	for (flags = 0; flags <= HWHEEL_ABSOLUTE; flags++) {
		ret = query(fd, id, flags, &op);
		if (ret != -ENOENT || op.id != id || op.flags != flags || !is_untouched(&op))
			return -EPROTO;
	}
	return 0;
}

/* 0 if it is in @state, and what is told of it is right. */
static int check_state(int fd, __u64 id, int state, __u64 cookie, __u64 deadline)
{
	struct hwheel_op op;

	if (query(fd, id, HWHEEL_ABSOLUTE, &op) != state)
		return -EPROTO;
	if (op.op || op.flags != HWHEEL_ABSOLUTE || op.reserved || op.id != id)
		return -EPROTO;
	/* A single operation's result is what the ioctl returns. */
	if (op.result != POISON32)
		return -EPROTO;
	return op.cookie == cookie && op.time_ns == deadline ? 0 : -EPROTO;
}

/* 0 if there is as much time left as it should be. */
static int check_left(int fd, __u64 id, int state, __u64 deadline)
{
	__u64 before = now_ns(), after;
	struct hwheel_op op;

	if (query(fd, id, 0, &op) != state || op.result != POISON32 || op.flags)
		return -EPROTO;
	after = now_ns();
	if (op.time_ns > (deadline > before ? deadline - before : 0))
		return -ERANGE;
	return op.time_ns >= (deadline > after ? deadline - after : 0) ? 0 : -ERANGE;
}

TEST_F(query, pending)
{
	__u64 deadline = now_ns() + 3600 * SEC, id;

	ASSERT_EQ(0, arm_at(self->fd, deadline, COOKIE, &id));
	deadline = round_up_8(deadline);
	EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_PENDING, COOKIE, deadline));
	EXPECT_EQ(0, check_left(self->fd, id, HWHEEL_STATE_PENDING, deadline));
	/* Also when the worker knows it. */
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_PENDING, COOKIE, deadline));
	EXPECT_EQ(0, check_left(self->fd, id, HWHEEL_STATE_PENDING, deadline));
}

TEST_F(query, armed_with_a_delay)
{
	__u64 before = now_ns(), after, id;
	struct hwheel_op op;

	ASSERT_EQ(0, arm(self->fd, 3600 * SEC + 1, COOKIE, &id));
	after = now_ns();
	ASSERT_EQ(HWHEEL_STATE_PENDING, query(self->fd, id, HWHEEL_ABSOLUTE, &op));
	EXPECT_EQ(0, op.time_ns % 8);
	EXPECT_LE(round_up_8(before + 3600 * SEC + 1), op.time_ns);
	EXPECT_GE(round_up_8(after + 3600 * SEC + 1), op.time_ns);
	EXPECT_EQ(0, check_left(self->fd, id, HWHEEL_STATE_PENDING, op.time_ns));
}

TEST_F(query, deadline_is_rounded_up_to_8)
{
	__u64 base = round_up_8(now_ns() + 3600 * SEC), id;
	int i;

	for (i = 0; i < 17; i++) {
		ASSERT_EQ(0, arm_at(self->fd, base + i, i, &id));
		EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_PENDING, i,
					 round_up_8(base + i)));
	}
}

TEST_F(query, any_cookie_comes_back)
{
	static const __u64 cookies[] = { 0, 1, UINT32_MAX, 1ULL << 32, 1ULL << 63, UINT64_MAX };
	__u64 deadline = round_up_8(now_ns() + 3600 * SEC), id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cookies); i++) {
		ASSERT_EQ(0, arm_at(self->fd, deadline, cookies[i], &id));
		EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_PENDING, cookies[i],
					 deadline));
	}
}

/* Later, earlier and later again: the last refresh counts. */
TEST_F(query, refreshed)
{
	__u64 deadline = round_up_8(now_ns() + 3600 * SEC), id;
	static const int hours[] = { 2, 1, 5, 3, 4 };
	size_t i;

	ASSERT_EQ(0, arm_at(self->fd, deadline, COOKIE, &id));
	for (i = 0; i < ARRAY_SIZE(hours); i++) {
		__u64 other = deadline + hours[i] * 3600 * SEC;

		ASSERT_EQ(0, refresh_at(self->fd, id, other));
		EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_PENDING, COOKIE, other));
		EXPECT_EQ(0, check_left(self->fd, id, HWHEEL_STATE_PENDING, other));
	}
	/* A refused refresh changes nothing. */
	EXPECT_EQ(-ENOENT, refresh_at(self->fd, id + 1, deadline));
	EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_PENDING, COOKIE,
				 deadline + 4 * 3600 * SEC));
}

/* "Never" is a deadline too: as far away as can be, and the same each time. */
TEST_F(query, never)
{
	struct hwheel_op op, again;
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, NEVER, COOKIE, &id));
	ASSERT_EQ(HWHEEL_STATE_PENDING, query(self->fd, id, HWHEEL_ABSOLUTE, &op));
	EXPECT_EQ(0, op.time_ns % 8);
	EXPECT_LT(1ULL << 62, op.time_ns);
	EXPECT_EQ(0, check_left(self->fd, id, HWHEEL_STATE_PENDING, op.time_ns));
	ASSERT_EQ(0, refresh_at(self->fd, id, op.time_ns));
	ASSERT_EQ(HWHEEL_STATE_PENDING, query(self->fd, id, HWHEEL_ABSOLUTE, &again));
	EXPECT_EQ(op.time_ns, again.time_ns);
}

TEST_F(query, expired)
{
	struct hwheel_event ev;
	__u64 id;
	int i;

	ASSERT_EQ(0, arm_at(self->fd, 12345, COOKIE, &id));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_EXPIRED, COOKIE, 12352));
		EXPECT_EQ(0, check_left(self->fd, id, HWHEEL_STATE_EXPIRED, 12352));
	}
	/* The event is there as before. */
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(id, ev.id);
	EXPECT_EQ(12352, ev.deadline_ns);
	EXPECT_EQ(0, check_unknown(self->fd, id));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, check_unknown(self->fd, id));
}

/* An event that could not be read is still there. */
TEST_F(query, expired_and_not_read)
{
	struct hwheel_event ev;
	__u64 id;

	ASSERT_EQ(0, arm_at(self->fd, 8, COOKIE, &id));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	EXPECT_EQ(-1, read(self->fd, (void *)-4096L, sizeof(ev)));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_EXPIRED, COOKIE, 8));
	ASSERT_EQ(0, next_event(self->fd, &ev));
	EXPECT_EQ(0, check_unknown(self->fd, id));
}

TEST_F(query, cancelled_ones_are_unknown_at_once)
{
	__u64 id;
	int i;

	/* Many, as a pass of the worker may come between CANCEL and QUERY. */
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, arm(self->fd, 3600 * SEC, COOKIE, &id));
		ASSERT_EQ(0, cancel(self->fd, id));
		ASSERT_EQ(0, check_unknown(self->fd, id));
	}
	/* The answer is the same once the worker has released them. */
	ASSERT_EQ(0, settle(now_ns()));
	EXPECT_EQ(0, check_unknown(self->fd, id));
}

TEST_F(query, stopped)
{
	__u64 deadline = round_up_8(now_ns() + 3600 * SEC), id, expired;
	struct hwheel_event ev[2];
	int i;

	ASSERT_EQ(0, arm_at(self->fd, deadline, COOKIE, &id));
	ASSERT_EQ(0, arm_at(self->fd, 8, 1, &expired));
	ASSERT_EQ(1, readable(self->fd, WAIT_MS));
	ASSERT_EQ(1, call(self->fd, HWHEEL_IOC_STOP, NULL));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_STOPPED, COOKIE, deadline));
		EXPECT_EQ(0, check_left(self->fd, id, HWHEEL_STATE_STOPPED, deadline));
		EXPECT_EQ(0, check_state(self->fd, expired, HWHEEL_STATE_EXPIRED, 1, 8));
	}
	ASSERT_EQ(sizeof(ev), read(self->fd, ev, sizeof(ev)));
	EXPECT_EQ(0, check_unknown(self->fd, id));
	EXPECT_EQ(0, check_unknown(self->fd, expired));
}

static const __u64 nonsense[] = {
	0, 1, 2, 3, 0xffff, UINT32_MAX, 1ULL << 32, (1ULL << 32) + 1, INT64_MAX,
	1ULL << 63, UINT64_MAX - 1, UINT64_MAX, 0x123456789abcdef0,
};

TEST_F(query, never_issued)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nonsense); i++)
		EXPECT_EQ(0, check_unknown(self->fd, nonsense[i]));
}

/* Neither neighbours of an id nor any of its bits flipped are another name of it. */
TEST_F(query, id_almost_right)
{
	__u64 id;
	int bit;

	ASSERT_EQ(0, arm(self->fd, NEVER, COOKIE, &id));
	EXPECT_EQ(0, check_unknown(self->fd, id + 1));
	EXPECT_EQ(0, check_unknown(self->fd, id - 1));
	for (bit = 0; bit < 64; bit++) {
		EXPECT_EQ(0, check_unknown(self->fd, id ^ 1ULL << bit)) {
			TH_LOG("bit %d of id %#llx", bit, id);
		}
	}
}

TEST_F(query, id_of_another_file)
{
	int other = open_device(O_NONBLOCK);
	__u64 far = round_up_8(now_ns() + 3600 * SEC), mine, theirs;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm_at(self->fd, far, 1, &mine));
	EXPECT_EQ(0, check_unknown(other, mine));
	/* If both have the same name for theirs, each is told of its own. */
	ASSERT_EQ(0, arm_at(other, 8, 2, &theirs));
	ASSERT_EQ(1, readable(other, WAIT_MS));
	EXPECT_EQ(0, check_state(other, theirs, HWHEEL_STATE_EXPIRED, 2, 8));
	EXPECT_EQ(0, check_state(self->fd, mine, HWHEEL_STATE_PENDING, 1, far));
	EXPECT_EQ(0, close(other));
}

/* A refused call tells nothing and changes nothing. */
TEST_F(query, refused_flags)
{
	__u64 deadline = round_up_8(now_ns() + 3600 * SEC), id;
	struct hwheel_op op;
	int bit;

	ASSERT_EQ(0, arm_at(self->fd, deadline, COOKIE, &id));
	for (bit = 0; bit < 32; bit++) {
		if (HWHEEL_ABSOLUTE & 1U << bit)
			continue;
		EXPECT_EQ(-EINVAL, query(self->fd, id, 1U << bit, &op));
		EXPECT_TRUE(is_untouched(&op));
		EXPECT_EQ(-EINVAL, query(self->fd, id, 1U << bit | HWHEEL_ABSOLUTE, &op));
		EXPECT_TRUE(is_untouched(&op));
	}
	EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_PENDING, COOKIE, deadline));
}

TEST_F(query, refused_fields)
{
	__u64 deadline = round_up_8(now_ns() + 3600 * SEC), id;
	int i;

	ASSERT_EQ(0, arm_at(self->fd, deadline, COOKIE, &id));
	for (i = 0; i < 64; i++) {
		struct hwheel_op op = { .id = id, .result = POISON32 }, before;

		if (i < 32)
			op.reserved = 1U << i;
		else
			op.op = HWHEEL_OP_QUERY ^ 1U << (i - 32);
		/* No name at all is as good as the right one. */
		if (!op.op && !op.reserved)
			continue;
		before = op;
		EXPECT_EQ(-EINVAL, call(self->fd, HWHEEL_IOC_QUERY, &op)) {
			TH_LOG("bit %d", i);
		}
		EXPECT_EQ(0, memcmp(&before, &op, sizeof(op)));
	}
	EXPECT_EQ(0, check_state(self->fd, id, HWHEEL_STATE_PENDING, COOKIE, deadline));
}

/*
 * Pointers. A record lies across two pages, of which one cannot be written or is not
 * there.
 */

#define OUTPUTS	offsetof(struct hwheel_op, cookie)
#define SIZE	sizeof(struct hwheel_op)

FIXTURE(query_memory)
{
	int	fd;
	size_t	page;
	char	*border;
	__u64	id;
	__u64	deadline;
};

FIXTURE_SETUP(query_memory)
{
	char *pages;

	self->page = sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, pages);
	self->border = pages + self->page;
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->deadline = round_up_8(now_ns() + 3600 * SEC);
	ASSERT_EQ(0, arm_at(self->fd, self->deadline, COOKIE, &self->id));
}

/* QUERY changes nothing, whatever it asks. */
FIXTURE_TEARDOWN(query_memory)
{
	EXPECT_EQ(0, check_state(self->fd, self->id, HWHEEL_STATE_PENDING, COOKIE,
				 self->deadline));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
	EXPECT_EQ(0, munmap(self->border - self->page, 2 * self->page));
	EXPECT_EQ(0, close(self->fd));
}

/* Asks for @id, the record's first @there bytes before the border, with @page protected. */
static int query_across(int fd, char *border, size_t there, __u64 id, char *page, int protection)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	const struct hwheel_op op = { .id = id };
	int ret;

	memcpy(border - there, &op, sizeof(op));
	if (mprotect(page, size, protection))
		return -errno;
	ret = call(fd, HWHEEL_IOC_QUERY, border - there);
	return mprotect(page, size, PROT_READ | PROT_WRITE) ? -errno : ret;
}

TEST_F(query_memory, end_missing)
{
	size_t there;

	for (there = 0; there < SIZE; there++)
		EXPECT_EQ(-EFAULT, query_across(self->fd, self->border, there, self->id,
						self->border, PROT_NONE)) {
			TH_LOG("ends after %zu bytes", there);
		}
}

TEST_F(query_memory, beginning_missing)
{
	size_t there;

	if (kernel_reads_protected())
		SKIP(return, "this kernel reads what is protected");
	for (there = 1; there <= SIZE; there++)
		EXPECT_EQ(-EFAULT, query_across(self->fd, self->border, there, self->id,
						self->border - self->page, PROT_NONE)) {
			TH_LOG("begins after %zu bytes", there);
		}
}

/* Not all of the outputs can be written. */
TEST_F(query_memory, read_only)
{
	size_t there;

	for (there = 0; there < SIZE; there++)
		EXPECT_EQ(-EFAULT, query_across(self->fd, self->border, there, self->id,
						self->border, PROT_READ)) {
			TH_LOG("ends after %zu bytes", there);
		}
	for (there = OUTPUTS + 1; there <= SIZE; there++)
		EXPECT_EQ(-EFAULT, query_across(self->fd, self->border, there, self->id,
						self->border - self->page, PROT_READ)) {
			TH_LOG("begins after %zu bytes", there);
		}
}

/* It is enough if the outputs can be, and if there are none nothing needs to be. */
TEST_F(query_memory, read_only_where_nothing_is_written)
{
	size_t there;

	for (there = 0; there <= OUTPUTS; there++)
		EXPECT_EQ(HWHEEL_STATE_PENDING,
			  query_across(self->fd, self->border, there, self->id,
				       self->border - self->page, PROT_READ)) {
			TH_LOG("begins after %zu bytes", there);
		}
	for (there = 0; there <= SIZE; there++)
		EXPECT_EQ(-ENOENT, query_across(self->fd, self->border, there, 0, self->border,
						PROT_READ)) {
			TH_LOG("ends after %zu bytes", there);
		}
}

/*
 * Asking while things happen
 */

/* A program that asks until it has expired never learns so before it is due. */
TEST_F(query, until_it_expires)
{
	__u64 bound = now_ns() + WAIT_MS * MSEC, deadline, id;
	struct hwheel_event ev;
	struct hwheel_op op;
	int i, state;

	for (i = 0; i < 20; i++) {
		deadline = round_up_8(now_ns() + i * MSEC);
		ASSERT_EQ(0, arm_at(self->fd, deadline, COOKIE, &id));
		do {
			state = query(self->fd, id, HWHEEL_ABSOLUTE, &op);
			ASSERT_EQ(deadline, op.time_ns);
			ASSERT_GT(bound, now_ns());
		} while (state == HWHEEL_STATE_PENDING);
		ASSERT_LE(deadline, now_ns());
		ASSERT_EQ(HWHEEL_STATE_EXPIRED, state);
		ASSERT_EQ(0, next_event(self->fd, &ev));
		ASSERT_EQ(id, ev.id);
		ASSERT_EQ(0, check_unknown(self->fd, id));
	}
}

struct refresher {
	int	fd;
	int	stop;
	__u64	id;
	__u64	deadlines[2];
	int	ret;
};

static void *refresh_back_and_forth(void *data)
{
	struct refresher *r = data;
	unsigned int i;

	for (i = 0; !r->ret && !__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE); i++)
		r->ret = refresh_at(r->fd, r->id, r->deadlines[i & 1]);
	return NULL;
}

/* Two deadlines that differ in every part: it is told one of them, never a bit of each. */
TEST_F(query, while_refreshed)
{
	struct refresher r = {
		.fd = self->fd,
		.deadlines = { 0x5555555555555558, 0x2aaaaaaaaaaaaaa8 },
	};
	int i, seen[2] = { 0 };
	struct hwheel_op op;
	pthread_t thread;

	ASSERT_EQ(0, arm_at(self->fd, r.deadlines[0], COOKIE, &r.id));
	ASSERT_EQ(0, pthread_create(&thread, NULL, refresh_back_and_forth, &r));
	for (i = 0; i < 20000; i++) {
		ASSERT_EQ(HWHEEL_STATE_PENDING, query(self->fd, r.id, HWHEEL_ABSOLUTE, &op));
		ASSERT_TRUE(op.time_ns == r.deadlines[0] || op.time_ns == r.deadlines[1]);
		ASSERT_EQ(COOKIE, op.cookie);
		seen[op.time_ns == r.deadlines[1]]++;
	}
	__atomic_store_n(&r.stop, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, r.ret);
	TH_LOG("%d and %d times", seen[0], seen[1]);
}

TEST_HARNESS_MAIN
