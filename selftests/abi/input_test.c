// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bad input: one wrong thing per call, all else valid. Each call must fail with
 * its errno, leave the memory it was given alone and change nothing: a timeout
 * that was pending before ("witness") is still pending afterwards and fires as
 * it should, and nothing else does; a file that nothing was done with yet ("fresh") can
 * still be configured.
 */

#include "toggled_memory.h"

#include <sys/mman.h>

#define WITNESS_COOKIE	0x7769746e657373

enum { STOP, KICK, INFO, STATS, CONFIG, MAP, SUBMIT, ARM, REFRESH, QUERY, CANCEL, SET, WITHDRAW };

static const struct command {
	const char	*name;
	unsigned long	cmd;
	__u32		op;
	size_t		size;
} commands[] = {
	[STOP] = { "STOP", HWHEEL_IOC_STOP, 0, 0 },
	[KICK] = { "KICK", HWHEEL_IOC_KICK, 0, 0 },
	[INFO] = { "INFO", HWHEEL_IOC_INFO, 0, sizeof(struct hwheel_info) },
	[STATS] = { "STATS", HWHEEL_IOC_STATS, 0, sizeof(struct hwheel_file_stats) },
	[CONFIG] = { "CONFIG", HWHEEL_IOC_CONFIG, 0, sizeof(struct hwheel_config) },
	[MAP] = { "MAP", HWHEEL_IOC_MAP, 0, sizeof(struct hwheel_map) },
	[SUBMIT] = { "SUBMIT", HWHEEL_IOC_SUBMIT, 0, sizeof(struct hwheel_submit) },
	[ARM] = { "ARM", HWHEEL_IOC_ARM, HWHEEL_OP_ARM, sizeof(struct hwheel_op) },
	[REFRESH] = { "REFRESH", HWHEEL_IOC_REFRESH, HWHEEL_OP_REFRESH, sizeof(struct hwheel_op) },
	[QUERY] = { "QUERY", HWHEEL_IOC_QUERY, HWHEEL_OP_QUERY, sizeof(struct hwheel_op) },
	[CANCEL] = { "CANCEL", HWHEEL_IOC_CANCEL, HWHEEL_OP_CANCEL, sizeof(struct hwheel_op) },
	[SET] = { "SET", HWHEEL_IOC_SET, HWHEEL_OP_SET, sizeof(struct hwheel_op) },
	[WITHDRAW] = { "WITHDRAW", HWHEEL_IOC_WITHDRAW, HWHEEL_OP_WITHDRAW,
		       sizeof(struct hwheel_op) },
	{ }
};

/* The commands that take a pointer, and among them those of a struct hwheel_op */
static const struct command *const pointers = &commands[INFO];
static const struct command *const operations = &commands[ARM];

/* An argument that would do; room for the largest size that a command can name */
union argument {
	struct hwheel_op	op;
	struct hwheel_submit	submit;
	struct hwheel_config	config;
	struct hwheel_map	map;
	char			bytes[1 << _IOC_SIZEBITS];
};

/* How many invalid inputs were tried, by all tests: each is a process of its own. */
static unsigned long *tried;

__attribute__((constructor)) static void start_counting(void)
{
	tried = mmap(NULL, sizeof(*tried), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (tried == MAP_FAILED)
		abort();
}

/* Tests leave by _exit(), so this is the last of all. */
__attribute__((destructor)) static void tell_count(void)
{
	printf("# %lu invalid inputs tried\n", *tried);
}

/* Makes a call that is to fail. */
static int try(int fd, unsigned long cmd, void *arg)
{
	__atomic_add_fetch(tried, 1, __ATOMIC_RELAXED);
	return call(fd, cmd, arg);
}

struct pages {
	size_t	size;
	char	*writable;
	char	*readonly;
	char	*writable_too;
	char	*missing;
};

static int map_pages(struct pages *pages)
{
	size_t size = sysconf(_SC_PAGESIZE);
	char *start = mmap(NULL, 4 * size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		return -errno;
	*pages = (struct pages){ size, start, start + size, start + 2 * size, start + 3 * size };
	if (mprotect(pages->readonly, size, PROT_READ) || munmap(pages->missing, size))
		return -errno;
	return 0;
}

FIXTURE(input)
{
	int			fd;
	int			fresh;
	struct hwheel_info	info;
	__u64			witness;
	/* What a SUBMIT would do: one record that arms, one that makes the witness fire */
	struct hwheel_op	batch[2];
	struct hwheel_op	batch_before[2];
	struct pages		pages;
};

FIXTURE_SETUP(input)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->fresh = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fresh);
	ASSERT_EQ(0, call(self->fresh, HWHEEL_IOC_INFO, &self->info));
	ASSERT_EQ(0, arm(self->fd, NEVER, WITNESS_COOKIE, &self->witness));
	self->batch[0] = (struct hwheel_op){ .op = HWHEEL_OP_ARM, .result = POISON32 };
	self->batch[1] = (struct hwheel_op){
		.op = HWHEEL_OP_REFRESH,
		.result = POISON32,
		.id = self->witness,
	};
	memcpy(self->batch_before, self->batch, sizeof(self->batch));
	ASSERT_EQ(0, map_pages(&self->pages));
}

/* 0 if its wheel and its limits are those it came with. */
static int check_fresh_info(int fd, const struct hwheel_info *before)
{
	struct hwheel_info info;
	int ret = call(fd, HWHEEL_IOC_INFO, &info);

	return ret ?: memcmp(&info, before, sizeof(info)) ? -EPROTO : 0;
}

/* 0 if CONFIG is yet to come, too. */
static int check_fresh(int fd, const struct hwheel_info *before)
{
	struct hwheel_config config = { .kind = HWHEEL_KIND_SIMPLE, .clock = CLOCK_MONOTONIC };

	return check_fresh_info(fd, before) ?: call(fd, HWHEEL_IOC_CONFIG, &config);
}

/* Nothing fired so far, and the witness still does what it is told. */
static int check_witness(int fd, __u64 witness)
{
	struct hwheel_event ev;
	__u64 deadline;
	int ret;

	ret = stays_quiet(fd, now_ns());
	if (ret)
		return ret;
	deadline = round_up_8(now_ns() + MSEC);
	ret = refresh_at(fd, witness, deadline);
	if (!ret)
		ret = next_event(fd, &ev);
	if (ret)
		return ret;
	if (ev.id != witness || ev.cookie != WITNESS_COOKIE || ev.deadline_ns != deadline)
		return -EPROTO;
	return stays_quiet(fd, now_ns());
}

FIXTURE_TEARDOWN(input)
{
	if (self->witness)
		EXPECT_EQ(0, check_witness(self->fd, self->witness));
	EXPECT_EQ(0, memcmp(self->batch_before, self->batch, sizeof(self->batch)));
	EXPECT_EQ(0, check_fresh(self->fresh, &self->info));
	EXPECT_EQ(0, munmap(self->pages.writable, 3 * self->pages.size));
	EXPECT_EQ(0, close(self->fresh));
	EXPECT_EQ(0, close(self->fd));
}

/*
 * An operation that would succeed: it arms another timeout that fires at once, or
 * makes the witness fire at once, or asks for it, or cancels it.
 */
static struct hwheel_op valid_op(const struct command *c, __u64 witness)
{
	struct hwheel_op op = {
		.result = POISON32,
		.id = c->op == HWHEEL_OP_ARM ? 0 : witness,
		.cookie = c->op == HWHEEL_OP_ARM,
	};

	return op;
}

/* What a command would take, on the file that file_of() says */
static void make_valid(union argument *arg, const struct command *c,
		       const FIXTURE_DATA(input) * self)
{
	memset(arg, 0, sizeof(*arg));
	if (c->op)
		arg->op = valid_op(c, self->witness);
	else if (c->cmd == HWHEEL_IOC_SUBMIT)
		arg->submit = (struct hwheel_submit){ .ops = (uintptr_t)self->batch, .nr = 2 };
	else if (c->cmd == HWHEEL_IOC_CONFIG)
		arg->config = (struct hwheel_config){
			.tick_ns = MSEC, .max_timeouts = 1,
			.kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
		};
	else if (c->cmd == HWHEEL_IOC_MAP)
		arg->map = (struct hwheel_map){ .records = 1, .lists = 1 };
}

/* CONFIG and MAP would fail anyway on a file that has a timeout. */
static int file_of(const struct command *c, const FIXTURE_DATA(input) * self)
{
	return c == &commands[CONFIG] || c == &commands[MAP] ? self->fresh : self->fd;
}

/* Makes the call, which must not touch the operation. */
static int call_bad(int fd, unsigned long cmd, struct hwheel_op *op)
{
	struct hwheel_op before = *op;
	int ret = try(fd, cmd, op);

	return memcmp(&before, op, sizeof(before)) ? -EPROTO : ret;
}

/* The same as a batch: only the result is told. */
static int submit_bad(int fd, const struct command *c, struct hwheel_op op)
{
	struct hwheel_op want;
	int ret;

	op.op = op.op ?: c->op;
	want = op;
	__atomic_add_fetch(tried, 1, __ATOMIC_RELAXED);
	ret = submit(fd, &op, 1);
	want.result = op.result;
	if (ret != 1 || memcmp(&want, &op, sizeof(op)))
		return -EPROTO;
	return op.result;
}

/* By itself and in a batch */
static int call_bad_both(int fd, const struct command *c, struct hwheel_op *op)
{
	int ret = call_bad(fd, c->cmd, op);

	return submit_bad(fd, c, *op) == ret ? ret : -EPROTO;
}

/* What a command returns for a timeout that is pending */
static int success_of(const struct command *c)
{
	return c->op == HWHEEL_OP_QUERY ? HWHEEL_STATE_PENDING : 0;
}

/* An operation that has a timeout of its own, and leaves it pending or ends it */
static int make_good(int fd, const struct command *c, struct hwheel_op *op)
{
	bool arms = c->op == HWHEEL_OP_ARM, sets = c->op == HWHEEL_OP_SET;

	*op = (struct hwheel_op){
		.cookie = arms || sets ? POISON64 : 0,
		.time_ns = arms || sets || c->op == HWHEEL_OP_REFRESH ? NEVER : 0,
	};
	return arms ? 0 : arm(fd, NEVER, POISON64, &op->id);
}

/* Makes the call, which must set the id, if it is ARM, or what QUERY tells, alone. */
static int call_good(int fd, unsigned long cmd, struct hwheel_op *op)
{
	struct hwheel_op want = *op;
	int ret;

	op->result = POISON32;
	want.result = POISON32;
	ret = call(fd, cmd, op);
	if (cmd == HWHEEL_IOC_ARM)
		want.id = op->id;
	if (cmd == HWHEEL_IOC_QUERY) {
		want.cookie = op->cookie;
		want.time_ns = op->time_ns;
	}
	return memcmp(&want, op, sizeof(want)) ? -EPROTO : ret;
}

/*
 * A processor that cannot exchange 64 bits has no MAP, nor has one whose cache aliases. None of the
 * kernels that the tests run on is for such a processor, so nothing tests the answer EOPNOTSUPP
 * there; a simple wheel gives the same answer, which map_ioctl_test expects.
 */
static __u32 features_of_machine(__u32 features)
{
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_8
	return HWHEEL_FEATURE_MAP;
#else
	return features & HWHEEL_FEATURE_MAP;
#endif
}

TEST_F(input, info_fills_everything)
{
	struct hwheel_info info, again;
	size_t i;

	memset(&info, 0xff, sizeof(info));
	memset(&again, 0x5a, sizeof(again));
	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_INFO, &info));
	EXPECT_EQ(HWHEEL_FEATURE_QUERY | HWHEEL_FEATURE_SUBMIT | HWHEEL_FEATURE_CONFIG |
		  HWHEEL_FEATURE_STOP | HWHEEL_FEATURE_STATS | HWHEEL_FEATURE_SET |
		  HWHEEL_FEATURE_WITHDRAW | features_of_machine(info.features),
		  info.features);
	EXPECT_LE(50000, info.tick_ns);
	EXPECT_EQ(0, info.tick_ns % 8);
	EXPECT_LE(1, info.max_timeouts);
	EXPECT_GE(16777216, info.max_timeouts);
	EXPECT_GE(INT64_MAX, info.max_pending);
	EXPECT_LE(1, info.slots);
	EXPECT_GE(1048576, info.slots);
	EXPECT_EQ(0, info.slots & (info.slots - 1));
	EXPECT_EQ(1, info.levels);
	EXPECT_EQ(HWHEEL_KIND_HASHED, info.kind);
	EXPECT_EQ(CLOCK_MONOTONIC, info.clock);
	EXPECT_EQ(HWHEEL_SUBMIT_MAX, info.max_submit);
	EXPECT_EQ(0, info.own_wheel);
	EXPECT_EQ(parameter("max_user_bytes", info.max_user_bytes), info.max_user_bytes);
	EXPECT_LT(0, info.max_user_bytes);
	for (i = 0; i < ARRAY_SIZE(info.reserved); i++)
		EXPECT_EQ(0, info.reserved[i]);

	/* What it tells does not depend on what the file holds. */
	ASSERT_EQ(0, arm(self->fd, NEVER, 0, NULL));
	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_INFO, &again));
	EXPECT_EQ(0, memcmp(&info, &again, sizeof(info)));
}

static bool is_known(unsigned int nr)
{
	const struct command *c;

	for (c = commands; c->name; c++)
		if (_IOC_NR(c->cmd) == nr)
			return true;
	return false;
}

TEST_F(input, unknown_number)
{
	static const size_t sizes[] = {
		0, 4, 8, sizeof(struct hwheel_submit), sizeof(struct hwheel_op),
		sizeof(struct hwheel_info), sizeof(struct hwheel_file_stats),
	};
	struct hwheel_op op = valid_op(operations, self->witness);
	unsigned int nr, dir, i;
	unsigned long cmd;

	for (nr = 0; nr < 0x100; nr++) {
		for (dir = 0; dir < 4 && !is_known(nr); dir++) {
			for (i = 0; i < ARRAY_SIZE(sizes); i++) {
				cmd = _IOC(dir, HWHEEL_IOC_MAGIC, nr, sizes[i]);
				EXPECT_EQ(-ENOTTY, call_bad(self->fd, cmd, &op)) {
					TH_LOG("command %#lx", cmd);
				}
			}
		}
	}
}

TEST_F(input, unknown_magic)
{
	static union argument arg, before;
	const struct command *c;
	unsigned int magic;
	unsigned long cmd;

	for (c = commands; c->name; c++) {
		make_valid(&before, c, self);
		for (magic = 0; magic < 0x100; magic++) {
			if (magic == HWHEEL_IOC_MAGIC)
				continue;
			cmd = _IOC(_IOC_DIR(c->cmd), magic, _IOC_NR(c->cmd), c->size);
			memcpy(&arg, &before, c->size);
			EXPECT_EQ(-ENOTTY, try(file_of(c, self), cmd, &arg)) {
				TH_LOG("%s as magic %#x", c->name, magic);
			}
			EXPECT_EQ(0, memcmp(&before, &arg, c->size));
		}
	}
}

static unsigned long with_size(const struct command *c, unsigned int dir, size_t size)
{
	return _IOC(dir, HWHEEL_IOC_MAGIC, _IOC_NR(c->cmd), size);
}

TEST_F(input, wrong_size_or_direction)
{
	static union argument arg, before;
	const struct command *c;
	unsigned int dir;
	size_t size;

	for (c = commands; c->name; c++) {
		make_valid(&before, c, self);
		for (dir = 0; dir < 4; dir++) {
			for (size = 0; size < sizeof(arg); size += size < 256 ? 1 : 1009) {
				if (with_size(c, dir, size) == c->cmd)
					continue;
				memcpy(&arg, &before, 512);
				EXPECT_EQ(-ENOTTY, try(file_of(c, self), with_size(c, dir, size),
						       &arg)) {
					TH_LOG("%s, direction %u, size %zu", c->name, dir, size);
				}
				EXPECT_EQ(0, memcmp(&before, &arg, 512));
			}
		}
	}
}

TEST_F(input, success_writes_outputs_only)
{
	const struct command *c;
	struct hwheel_op op;

	for (c = operations; c->name; c++) {
		ASSERT_EQ(0, make_good(self->fd, c, &op));
		EXPECT_EQ(success_of(c), call_good(self->fd, c->cmd, &op)) {
			TH_LOG("%s", c->name);
		}
	}
}

TEST_F(input, own_name_or_none)
{
	const struct command *c;
	int named;

	for (named = 0; named < 2; named++) {
		for (c = operations; c->name; c++) {
			struct hwheel_op op;

			ASSERT_EQ(0, make_good(self->fd, c, &op));
			op.op = named ? c->op : 0;
			ASSERT_EQ(success_of(c), call(self->fd, c->cmd, &op)) {
				TH_LOG("%s", c->name);
			}
		}
	}
}

TEST_F(input, name_of_another_operation)
{
	const struct command *c, *other;

	for (c = operations; c->name; c++) {
		for (other = operations; other->name; other++) {
			struct hwheel_op op = valid_op(c, self->witness);

			if (other == c)
				continue;
			op.op = other->op;
			EXPECT_EQ(-EINVAL, call_bad(self->fd, c->cmd, &op)) {
				TH_LOG("%s as %s", c->name, other->name);
			}
		}
	}
}

TEST_F(input, name_of_no_operation)
{
	static const __u32 masks[] = { 0x100, 0x10000, 0x80000000, 0xffffff00 };
	const struct command *c;
	struct hwheel_op op;
	size_t i;

	for (c = operations; c->name; c++) {
		op = valid_op(c, self->witness);
		for (i = HWHEEL_OP_WITHDRAW + 1; i < 0x80; i++) {
			op.op = i;
			EXPECT_EQ(-EINVAL, call_bad_both(self->fd, c, &op));
		}
		for (i = 0; i < ARRAY_SIZE(masks); i++) {
			op.op = c->op | masks[i];
			EXPECT_EQ(-EINVAL, call_bad_both(self->fd, c, &op));
			op.op = masks[i];
			EXPECT_EQ(-EINVAL, call_bad_both(self->fd, c, &op));
		}
		op.op = UINT32_MAX;
		EXPECT_EQ(-EINVAL, call_bad_both(self->fd, c, &op));
	}
}

static __u32 known_flags(const struct command *c)
{
	return c->op == HWHEEL_OP_CANCEL || c->op == HWHEEL_OP_WITHDRAW ? 0 : HWHEEL_ABSOLUTE;
}

TEST_F(input, unknown_flags)
{
	const struct command *c;
	unsigned int bit;

	for (c = operations; c->name; c++) {
		for (bit = 0; bit < 32; bit++) {
			struct hwheel_op op = valid_op(c, self->witness);

			if (known_flags(c) & 1U << bit)
				continue;
			op.flags = 1U << bit;
			EXPECT_EQ(-EINVAL, call_bad_both(self->fd, c, &op)) {
				TH_LOG("%s, bit %u", c->name, bit);
			}
			/* A known one beside it makes it no better. */
			op.flags |= known_flags(c);
			EXPECT_EQ(-EINVAL, call_bad_both(self->fd, c, &op)) {
				TH_LOG("%s, bit %u", c->name, bit);
			}
		}
	}
}

TEST_F(input, reserved_nonzero)
{
	const struct command *c;
	unsigned int bit;

	for (c = operations; c->name; c++) {
		for (bit = 0; bit < 32; bit++) {
			struct hwheel_op op = valid_op(c, self->witness);

			op.reserved = 1U << bit;
			EXPECT_EQ(-EINVAL, call_bad_both(self->fd, c, &op)) {
				TH_LOG("%s, bit %u", c->name, bit);
			}
		}
	}
}

/* The other fields that must be 0, where they are, but for some bits */
static const struct {
	const struct command	*c;
	size_t			at;
	__u32			known;
} zeros[] = {
	{ &commands[CONFIG], offsetof(struct hwheel_config, flags),
	  HWHEEL_CONFIG_NICE | HWHEEL_CONFIG_CPUS },
	{ &commands[CONFIG], offsetof(struct hwheel_config, reserved), 0 },
	{ &commands[CONFIG], offsetof(struct hwheel_config, reserved[8]), 0 },
	{ &commands[MAP],    offsetof(struct hwheel_map, flags), 0 },
	{ &commands[MAP],    offsetof(struct hwheel_map, reserved), 0 },
	{ &commands[SUBMIT], offsetof(struct hwheel_submit, reserved), 0 },
};

TEST_F(input, other_reserved_nonzero)
{
	static union argument arg, before;
	__u32 value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(zeros); i++) {
		for (value = 1; value; value <<= 1) {
			const struct command *c = zeros[i].c;

			if (value & zeros[i].known)
				continue;
			make_valid(&before, c, self);
			memcpy(before.bytes + zeros[i].at, &value, sizeof(value));
			memcpy(&arg, &before, c->size);
			EXPECT_EQ(-EINVAL, try(file_of(c, self), c->cmd, &arg)) {
				TH_LOG("%s, %#x at %zu", c->name, value, zeros[i].at);
			}
			EXPECT_EQ(0, memcmp(&before, &arg, c->size));
		}
	}
}

/* The inputs of 64 bits that an operation has no use for */
static const struct {
	const struct command	*c;
	size_t			at;
} unused[] = {
	{ &commands[ARM],     offsetof(struct hwheel_op, id) },
	{ &commands[REFRESH], offsetof(struct hwheel_op, cookie) },
	{ &commands[QUERY],   offsetof(struct hwheel_op, cookie) },
	{ &commands[QUERY],   offsetof(struct hwheel_op, time_ns) },
	{ &commands[CANCEL],  offsetof(struct hwheel_op, cookie) },
	{ &commands[CANCEL],  offsetof(struct hwheel_op, time_ns) },
	{ &commands[WITHDRAW], offsetof(struct hwheel_op, cookie) },
	{ &commands[WITHDRAW], offsetof(struct hwheel_op, time_ns) },
};

TEST_F(input, unused_nonzero)
{
	__u64 value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unused); i++) {
		for (value = 1; value; value <<= 1) {
			struct hwheel_op op = valid_op(unused[i].c, self->witness);

			memcpy((char *)&op + unused[i].at, &value, sizeof(value));
			EXPECT_EQ(-EINVAL, call_bad_both(self->fd, unused[i].c, &op)) {
				TH_LOG("%s, %#llx at %zu", unused[i].c->name, value, unused[i].at);
			}
		}
	}
}

/* ARM does not take the id of a pending one, either: it makes no other of it. */
TEST_F(input, arm_with_an_id)
{
	struct hwheel_op op = { .id = self->witness };

	EXPECT_EQ(-EINVAL, call_bad_both(self->fd, operations, &op));
}

/* A result is an output: what is there before is not looked at. */
TEST_F(input, result_is_not_read)
{
	struct hwheel_op op = { .op = HWHEEL_OP_QUERY, .id = self->witness, .result = -EINVAL };

	EXPECT_EQ(HWHEEL_STATE_PENDING, call(self->fd, HWHEEL_IOC_QUERY, &op));
	EXPECT_EQ(-EINVAL, op.result);
	op.cookie = 0;
	op.time_ns = 0;
	EXPECT_EQ(1, submit(self->fd, &op, 1));
	EXPECT_EQ(HWHEEL_STATE_PENDING, op.result);
}

/* The file of another open(), as a descriptor's mode is that of its file */
TEST_F(input, read_only_descriptor)
{
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	static union argument arg, before;
	const struct command *c;
	struct hwheel_event ev;
	int want;

	ASSERT_LE(0, fd);
	for (c = commands; c->name; c++) {
		make_valid(&before, c, self);
		memcpy(&arg, &before, c->size);
		want = c->cmd == HWHEEL_IOC_QUERY ? -ENOENT :
		       c->cmd == HWHEEL_IOC_INFO || c->cmd == HWHEEL_IOC_STATS ? 0 : -EBADF;
		EXPECT_EQ(want, try(fd, c->cmd, &arg)) {
			TH_LOG("%s", c->name);
		}
		if (want)
			EXPECT_EQ(0, memcmp(&before, &arg, c->size));
		/* A wrong argument makes no difference. */
		if (want == -EBADF)
			EXPECT_EQ(-EBADF, try(fd, c->cmd, NULL));
	}
	EXPECT_EQ(-ENOTTY, try(fd, _IO(HWHEEL_IOC_MAGIC, 0x7f), NULL));
	/* It was not stopped: there will be events, as far as is known. */
	EXPECT_EQ(-EAGAIN, read_events(fd, &ev, 1));
	EXPECT_EQ(0, check_fresh_info(fd, &self->info));
	EXPECT_EQ(0, close(fd));
}

/* And one that is open for nothing but writing does all but read(). */
TEST_F(input, write_only_descriptor)
{
	int fd = open(DEVICE, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	struct hwheel_event ev;
	struct hwheel_op op;
	__u64 id;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm(fd, NEVER, 0, &id));
	EXPECT_EQ(0, refresh(fd, id, SEC));
	EXPECT_EQ(HWHEEL_STATE_PENDING, query(fd, id, 0, &op));
	EXPECT_EQ(0, cancel(fd, id));
	EXPECT_EQ(-EBADF, read_events(fd, &ev, 1));
	EXPECT_EQ(0, stop(fd));
	EXPECT_EQ(0, close(fd));
}

TEST_F(input, failed_operation_writes_nothing)
{
	struct hwheel_op op = { .result = POISON32, .id = UINT64_MAX };

	EXPECT_EQ(-ENOENT, call_bad(self->fd, HWHEEL_IOC_REFRESH, &op));
	EXPECT_EQ(-ENOENT, call_bad(self->fd, HWHEEL_IOC_CANCEL, &op));
	EXPECT_EQ(-ENOENT, call_bad(self->fd, HWHEEL_IOC_QUERY, &op));
	EXPECT_EQ(-ENOENT, call_bad(self->fd, HWHEEL_IOC_WITHDRAW, &op));
}

TEST_F(input, bad_pointers)
{
	char *const bad[] = {
		NULL,
		(char *)1,
		self->pages.missing,
		self->pages.missing + 1,
		(char *)(uintptr_t)((1ULL << 47) - 4096),
		(char *)(uintptr_t)((1ULL << 47) - 8),
		(char *)(uintptr_t)(1ULL << 47),
		(char *)(uintptr_t)(1ULL << 63),
		(char *)(uintptr_t)0xffff888000000000ULL,
		(char *)(uintptr_t)0xffffffff81000000ULL,
		(char *)-4096UL,
		(char *)-8UL,
		(char *)-1UL,
	};
	const struct command *c;
	size_t i;

	for (c = pointers; c->name; c++) {
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			EXPECT_EQ(-EFAULT, try(file_of(c, self), c->cmd, bad[i])) {
				TH_LOG("%s at %p", c->name, bad[i]);
			}
		}
	}
}

/* Whatever the byte is at which the record ends. */
TEST_F(input, crossing_into_nothing)
{
	const struct command *c;
	union argument arg;
	size_t there;

	for (c = pointers; c->name; c++) {
		make_valid(&arg, c, self);
		for (there = 1; there < c->size; there++) {
			char *at = self->pages.missing - there;

			memcpy(at, &arg, there);
			EXPECT_EQ(-EFAULT, try(file_of(c, self), c->cmd, at)) {
				TH_LOG("%s after %zu bytes", c->name, there);
			}
		}
	}
}

/* Puts an argument where the device cannot write a part of it. */
static int place(struct pages *pages, char *at, const void *arg, size_t size)
{
	if (mprotect(pages->readonly, pages->size, PROT_READ | PROT_WRITE))
		return -errno;
	memcpy(at, arg, size);
	return mprotect(pages->readonly, pages->size, PROT_READ) ? -errno : 0;
}

/* The commands with outputs, and where those begin and end */
static const struct output {
	const struct command	*c;
	size_t			begin;
	size_t			end;
} outputs[] = {
	{ &commands[INFO],  0, sizeof(struct hwheel_info) },
	{ &commands[STATS], 0, sizeof(struct hwheel_file_stats) },
	{ &commands[MAP],   0, sizeof(struct hwheel_map) },
	{ &commands[ARM],   offsetof(struct hwheel_op, id), offsetof(struct hwheel_op, cookie) },
	{ &commands[SET],   offsetof(struct hwheel_op, id), offsetof(struct hwheel_op, cookie) },
	{ &commands[QUERY], offsetof(struct hwheel_op, cookie), sizeof(struct hwheel_op) },
};

TEST_F(input, read_only_for_outputs)
{
	static union argument arg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(outputs); i++) {
		const struct command *c = outputs[i].c;

		make_valid(&arg, c, self);
		ASSERT_EQ(0, place(&self->pages, self->pages.readonly, &arg, c->size));
		EXPECT_EQ(-EFAULT, try(file_of(c, self), c->cmd, self->pages.readonly)) {
			TH_LOG("%s", c->name);
		}
		EXPECT_EQ(0, memcmp(&arg, self->pages.readonly, c->size));
	}
}

TEST_F(input, read_only_for_inputs)
{
	struct hwheel_op op = { .time_ns = NEVER };

	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_ARM, &op));
	ASSERT_EQ(0, place(&self->pages, self->pages.readonly, &op, sizeof(op)));
	EXPECT_EQ(0, call(self->fd, HWHEEL_IOC_REFRESH, self->pages.readonly));
	op.time_ns = 0;
	ASSERT_EQ(0, place(&self->pages, self->pages.readonly, &op, sizeof(op)));
	EXPECT_EQ(0, call(self->fd, HWHEEL_IOC_CANCEL, self->pages.readonly));
	EXPECT_EQ(0, memcmp(&op, self->pages.readonly, sizeof(op)));
}

TEST_F(input, read_only_config)
{
	struct hwheel_config config = { .clock = CLOCK_MONOTONIC };
	struct pages *pages = &self->pages;
	int other = open_device(0);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, mprotect(pages->readonly, pages->size, PROT_READ | PROT_WRITE));
	memcpy(pages->readonly, &config, sizeof(config));
	ASSERT_EQ(0, mprotect(pages->readonly, pages->size, PROT_READ));
	EXPECT_EQ(0, call(other, HWHEEL_IOC_CONFIG, pages->readonly));
	EXPECT_EQ(0, memcmp(&config, pages->readonly, sizeof(config)));
	EXPECT_EQ(0, close(other));
}

/* The first bytes can be written, but not all of the outputs. */
TEST_F(input, crossing_into_read_only)
{
	static union argument arg;
	size_t i, there;

	for (i = 0; i < ARRAY_SIZE(outputs); i++) {
		const struct command *c = outputs[i].c;

		make_valid(&arg, c, self);
		for (there = 1; there < outputs[i].end; there++) {
			char *at = self->pages.readonly - there;

			ASSERT_EQ(0, place(&self->pages, at, &arg, c->size));
			EXPECT_EQ(-EFAULT, try(file_of(c, self), c->cmd, at)) {
				TH_LOG("%s after %zu bytes", c->name, there);
			}
		}
	}
}

/* The outputs cannot be written, or not their first bytes, but what follows can. */
TEST_F(input, crossing_out_of_read_only)
{
	static union argument arg;
	size_t i, there;

	for (i = 0; i < ARRAY_SIZE(outputs); i++) {
		const struct command *c = outputs[i].c;

		make_valid(&arg, c, self);
		for (there = outputs[i].begin + 1; there < c->size; there++) {
			char *at = self->pages.writable_too - there;

			ASSERT_EQ(0, place(&self->pages, at, &arg, c->size));
			EXPECT_EQ(-EFAULT, try(file_of(c, self), c->cmd, at)) {
				TH_LOG("%s after %zu bytes", c->name, there);
			}
		}
	}
}

/* Not one place in the file is taken by what could not tell its id. */
TEST_F(input, faulting_arm_holds_nothing)
{
	__u64 limit = max_timeouts(self->fd);
	struct hwheel_op op = valid_op(operations, self->witness);
	char *at = self->pages.readonly;
	int i, err;

	for (i = 0; i < 1000; i++) {
		op.time_ns = i & 1 ? NEVER : 0;
		ASSERT_EQ(0, place(&self->pages, at, &op, sizeof(op)));
		ASSERT_EQ(-EFAULT, try(self->fd, HWHEEL_IOC_ARM, at));
	}
	EXPECT_EQ(limit - 1, fill(self->fd, limit, &err));
	EXPECT_EQ(-ENOSPC, err);
}

/* Even if it fails only because the file is full. */
TEST_F(input, faulting_arm_on_a_full_file)
{
	__u64 limit = max_timeouts(self->fd);
	struct hwheel_op op = valid_op(operations, self->witness);
	int err;

	EXPECT_EQ(limit - 1, fill(self->fd, limit, &err));
	EXPECT_EQ(-ENOSPC, call_bad(self->fd, HWHEEL_IOC_ARM, &op));
	EXPECT_EQ(-EFAULT, try(self->fd, HWHEEL_IOC_ARM, self->pages.missing));
	EXPECT_EQ(0, check_witness(self->fd, self->witness));
	self->witness = 0;
	/* The event of the witness was read: its place is free again. */
	EXPECT_EQ(1, fill(self->fd, limit, &err));
}

/* How many calls succeed; @armed[cookie] tells which. -1 if one failed otherwise. */
static int arm_repeatedly(int fd, struct hwheel_op *in, struct hwheel_op *out,
			  unsigned int *armed, unsigned int n)
{
	unsigned int i;
	int ret, sum = 0;

	for (i = 0; i < n; i++) {
		*in = (struct hwheel_op){ .cookie = i, .result = POISON32 };
		ret = call(fd, HWHEEL_IOC_ARM, out);
		if (ret && ret != -EFAULT)
			return -1;
		armed[i] = !ret;
		sum += !ret;
	}
	return sum;
}

/*
 * Memory that stops being writable in the middle of ARM. The record lies across both
 * pages, and its id is on the one that changes: nothing else is written.
 */
TEST_F(input, arm_while_memory_changes)
{
	const size_t at = self->pages.size - offsetof(struct hwheel_op, id);
	int calls = 0, armed = 0, sum;
	struct toggled_memory memory;

	ASSERT_EQ(0, start_toggling(&memory));
	do {
		unsigned int seen[3000] = { 0 }, expected[3000];

		sum = arm_repeatedly(self->fd, (void *)(memory.in + at),
				     (void *)(memory.out + at), expected, ARRAY_SIZE(seen));
		ASSERT_LE(0, sum);
		ASSERT_EQ(0, collect(self->fd, seen, ARRAY_SIZE(seen), sum));
		ASSERT_EQ(0, memcmp(expected, seen, sizeof(seen)));
		armed += sum;
		calls += ARRAY_SIZE(seen);
	} while (goes_on_toggling(&memory, armed, calls - armed));
	ASSERT_EQ(0, stop_toggling(&memory));
	EXPECT_LT(0, armed);
	EXPECT_GT(calls, armed);
	TH_LOG("%d of %d did not fault", armed, calls);
}

TEST_HARNESS_MAIN
