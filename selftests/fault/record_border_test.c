// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that ends within a record, before each of its fields in turn: the call tells so,
 * and leaves the file as it must be. Fields of a record are copied without calls that could
 * be made to fail.
 */

#include "timeout_operations.h"

#define SIZE		sizeof(struct hwheel_op)
#define END_OF(field)	(offsetof(struct hwheel_op, field) + sizeof(__u64))

/* Ends after the first two of three pages; the third one is protected from the module. */
FIXTURE(border)
{
	struct state	state;
	char		*pages;
	char		*border;
	unsigned int	failed;
};

/**
 * struct records - what is in the way of the border
 * @name:   of the operation
 * @code:   its ioctl; 0: a batch
 * @op:     what is asked for
 * @own:    it is asked for the timeout that is there
 * @nr:     so many records
 * @output: where its last output ends in a record, 0 if it has none
 * @judge:  0 if the file is as it must be after a call that returned @ret
 */
struct records {
	const char		*name;
	unsigned int		code;
	struct hwheel_op	op;
	bool			own;
	unsigned int		nr;
	size_t			output;
	int			(*judge)(struct state *state, int ret);
};

FIXTURE_VARIANT(border)
{
	struct records	records;
};

FIXTURE_VARIANT_ADD(border, arm)
{
	.records = {
		.name = "arm",
		.code = HWHEEL_IOC_ARM,
		.op = { .time_ns = NEVER, .cookie = 3 },
		.nr = 1,
		.output = END_OF(id),
		.judge = judge_arm,
	},
};

FIXTURE_VARIANT_ADD(border, refresh)
{
	.records = {
		.name = "refresh",
		.code = HWHEEL_IOC_REFRESH,
		.own = true,
		.op = { .time_ns = 3600 * SEC },
		.nr = 1,
		.judge = judge_refresh,
	},
};

FIXTURE_VARIANT_ADD(border, cancel)
{
	.records = {
		.name = "cancel",
		.code = HWHEEL_IOC_CANCEL,
		.own = true,
		.nr = 1,
		.judge = judge_cancel,
	},
};

FIXTURE_VARIANT_ADD(border, query)
{
	.records = {
		.name = "query",
		.code = HWHEEL_IOC_QUERY,
		.own = true,
		.nr = 1,
		.output = END_OF(time_ns),
		.judge = judge_pending,
	},
};

FIXTURE_VARIANT_ADD(border, submit)
{
	.records = {
		.name = "submit",
		.op = { .op = HWHEEL_OP_ARM, .time_ns = NEVER },
		.nr = BATCH,
		.output = SIZE,
		.judge = judge_submit,
	},
};

FIXTURE_SETUP(border)
{
	const size_t size = page_size();

	self->state.fd = -1;
	self->pages = mmap(NULL, 3 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	ASSERT_NE(MAP_FAILED, self->pages);
	self->border = self->pages + 2 * size;
}

FIXTURE_TEARDOWN(border)
{
	clean_up(&self->state);
	munmap(self->pages, 3 * page_size());
}

/* Their first @there bytes are before the border. */
static int call_across(struct state *state, const struct records *records, char *border,
		       size_t there, int protection)
{
	struct hwheel_op *ops = (struct hwheel_op *)(border - there);
	unsigned int i;
	int ret;

	for (i = 0; i < records->nr; i++) {
		ops[i] = records->op;
		ops[i].id = records->own ? state->id : 0;
	}
	if (mprotect(border, page_size(), protection))
		return -errno;
	ret = records->code ? call(state->fd, records->code, ops) :
			      submit(state->fd, ops, records->nr);
	if (mprotect(border, page_size(), PROT_READ | PROT_WRITE))
		return -errno;
	memcpy(state->ops, ops, records->nr * SIZE);
	return ret;
}

/* What the call has to return where so many bytes are there, or not negative. */
static int expected(const struct records *records, size_t there, int protection)
{
	if (!records->code && there >= SIZE)
		return there / SIZE;
	return protection == PROT_NONE || there < records->output ? -EFAULT : 0;
}

TEST_F(border, in_turn)
{
	const struct records *records = &variant->records;
	struct state *state = &self->state;
	size_t end = records->nr * SIZE, there, turn;
	int protection, ret, right;

	/* There the kernel does not see that memory ends where there should be none. */
	turn = kernel_reads_protected() ? end : 0;
	for (; turn < 2 * end; turn += sizeof(__u64)) {
		there = turn % end;
		protection = turn < end ? PROT_NONE : PROT_READ;
		ASSERT_EQ(0, open_pending(state));
		ret = call_across(state, records, self->border, there, protection);
		right = expected(records, there, protection);
		self->failed += !!right;
		ASSERT_TRUE(right ? ret == right : ret >= 0) {
			TH_LOG("%zu bytes there, protection %d: %d", there, protection, ret);
		}
		ASSERT_EQ(0, records->judge(state, ret)) {
			TH_LOG("%zu bytes there, protection %d", there, protection);
		}
		clean_up(state);
		*state = (struct state){ .fd = -1 };
	}
	TH_LOG("%s: memory ended %u times where it was needed; operations=%u", records->name,
	       self->failed, self->failed);
}

TEST_HARNESS_MAIN
