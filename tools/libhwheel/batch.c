// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* Batches: many operations, one system call. */
#include <stdlib.h>

#include "map.h"

/* One thread's at a time */
struct hwheel_batch {
	unsigned int count;
	unsigned int capacity;
	struct hwheel_op ops[];
};

int hwheel_batch_new(struct hwheel_batch **batch, size_t capacity)
{
	struct hwheel_batch *new;

	if (!capacity || capacity > HWHEEL_SUBMIT_MAX)
		return -EINVAL;
	new = malloc(sizeof(*new) + capacity * sizeof(new->ops[0]));
	if (!new)
		return -ENOMEM;
	new->count = 0;
	new->capacity = (unsigned int)capacity;
	*batch = new;
	return 0;
}

void hwheel_batch_free(struct hwheel_batch *batch)
{
	free(batch);
}

void hwheel_batch_clear(struct hwheel_batch *batch)
{
	batch->count = 0;
}

size_t hwheel_batch_count(const struct hwheel_batch *batch)
{
	return batch->count;
}

static int add(struct hwheel_batch *batch, struct hwheel_op op)
{
	if (batch->count == batch->capacity)
		return -ENOSPC;
	op.result = -ECANCELED;
	batch->ops[batch->count] = op;
	return (int)batch->count++;
}

int hwheel_batch_set(struct hwheel_batch *batch, uint64_t id, uint64_t delay_ns, uint64_t cookie)
{
	return add(batch, (struct hwheel_op){
		.op = HWHEEL_OP_SET, .id = id, .time_ns = delay_ns, .cookie = cookie,
	});
}

int hwheel_batch_set_at(struct hwheel_batch *batch, uint64_t id, uint64_t deadline_ns,
			uint64_t cookie)
{
	return add(batch, (struct hwheel_op){
		.op = HWHEEL_OP_SET, .flags = HWHEEL_ABSOLUTE, .id = id,
		.time_ns = deadline_ns, .cookie = cookie,
	});
}

int hwheel_batch_arm(struct hwheel_batch *batch, uint64_t delay_ns, uint64_t cookie)
{
	return add(batch, (struct hwheel_op){
		.op = HWHEEL_OP_ARM, .time_ns = delay_ns, .cookie = cookie,
	});
}

int hwheel_batch_arm_at(struct hwheel_batch *batch, uint64_t deadline_ns, uint64_t cookie)
{
	return add(batch, (struct hwheel_op){
		.op = HWHEEL_OP_ARM, .flags = HWHEEL_ABSOLUTE, .time_ns = deadline_ns,
		.cookie = cookie,
	});
}

int hwheel_batch_refresh(struct hwheel_batch *batch, uint64_t id, uint64_t delay_ns)
{
	return add(batch, (struct hwheel_op){
		.op = HWHEEL_OP_REFRESH, .id = id, .time_ns = delay_ns,
	});
}

int hwheel_batch_refresh_at(struct hwheel_batch *batch, uint64_t id, uint64_t deadline_ns)
{
	return add(batch, (struct hwheel_op){
		.op = HWHEEL_OP_REFRESH, .flags = HWHEEL_ABSOLUTE, .id = id,
		.time_ns = deadline_ns,
	});
}

int hwheel_batch_cancel(struct hwheel_batch *batch, uint64_t id)
{
	return add(batch, (struct hwheel_op){ .op = HWHEEL_OP_CANCEL, .id = id });
}

int hwheel_batch_withdraw(struct hwheel_batch *batch, uint64_t id)
{
	return add(batch, (struct hwheel_op){ .op = HWHEEL_OP_WITHDRAW, .id = id });
}

/* What an earlier submission has left is no input: the id of a timeout that was armed is. */
static void reset(struct hwheel_batch *batch)
{
	for (unsigned int i = 0; i < batch->count; i++) {
		struct hwheel_op *op = &batch->ops[i];

		op->result = -ECANCELED;
		if (op->op == HWHEEL_OP_ARM)
			op->id = 0;
	}
}

static int perform(struct hwheel *wheel, struct hwheel_op *op, uint64_t now)
{
	uint64_t deadline = op->flags & HWHEEL_ABSOLUTE ? op->time_ns :
							  deadline_after(now, op->time_ns);
	uint64_t id;

	switch (op->op) {
	case HWHEEL_OP_ARM:
		op->result = hwheel_arm_at(wheel, deadline, op->cookie, &id);
		if (!op->result)
			op->id = id;
		break;
	case HWHEEL_OP_REFRESH:
		op->result = hwheel_refresh_at(wheel, op->id, deadline);
		break;
	case HWHEEL_OP_SET:
		id = op->id;
		op->result = hwheel_set_at(wheel, &id, deadline, op->cookie);
		op->id = id;
		break;
	case HWHEEL_OP_WITHDRAW:
		op->result = hwheel_withdraw(wheel, op->id);
		break;
	default:
		op->result = hwheel_cancel(wheel, op->id);
	}
	if (op->result != -EBADF)
		return 0;
	op->result = -ECANCELED;
	return -EBADF;
}

/* All delays count from one time. The only error concerns all. */
int batch_perform(struct hwheel *wheel, struct hwheel_op *ops, unsigned int nr)
{
	uint64_t now = hwheel_now(wheel);
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++)
		error = perform(wheel, &ops[i], now);
	return error ?: (int)nr;
}

int hwheel_submit(struct hwheel *wheel, struct hwheel_batch *batch)
{
	reset(batch);
	return wheel->place->submit(wheel, batch->ops, batch->count);
}

int hwheel_batch_result(const struct hwheel_batch *batch, size_t index)
{
	return index < batch->count ? batch->ops[index].result : -EINVAL;
}

uint64_t hwheel_batch_id(const struct hwheel_batch *batch, size_t index)
{
	return index < batch->count ? batch->ops[index].id : 0;
}
