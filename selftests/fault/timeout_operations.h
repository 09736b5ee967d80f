/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations on timeouts: what comes before a call, the call, and how the file must be after
 * it, whether the call failed or not.
 */
#ifndef _HWHEEL_FAULT_TIMEOUT_OPERATIONS_H
#define _HWHEEL_FAULT_TIMEOUT_OPERATIONS_H

#include "state.h"

static inline int act_arm(struct state *state)
{
	return arm(state->fd, NEVER, 3, NULL);
}

static inline int judge_arm(struct state *state, int ret)
{
	unsigned int armed = 1 + !ret;

	if (!counts_are(state, armed, armed))
		return -EPROTO;
	return await_held(state->fd, armed) ?: judge_usable(state, 0);
}

/* The file has no memory for timeouts before. */
static inline int judge_first_arm(struct state *state, int ret)
{
	return counts_are(state, !ret, !ret) ? judge_usable(state, 0) : -EPROTO;
}

/* What a file has room for at first: with one more there must be more room. */
#define ROOM		(16 * 32)

static inline int prepare_full(struct state *state)
{
	return open_pending(state) ?: arm_batches(state->fd, ROOM - 1) == ROOM - 1 ? 0 : -ENOSPC;
}

/* Those from before are still there. */
static inline int judge_wider(struct state *state, int ret)
{
	unsigned int armed = ROOM + !ret;
	struct hwheel_op op;

	if (!counts_are(state, armed, armed) || await_held(state->fd, armed))
		return -EPROTO;
	if (query(state->fd, state->id, 0, &op) != HWHEEL_STATE_PENDING || op.cookie != 1)
		return -EPROTO;
	return judge_usable(state, 0);
}

static inline int act_refresh(struct state *state)
{
	return refresh(state->fd, state->id, 3600 * SEC);
}

static inline int judge_refresh(struct state *state, int ret)
{
	struct hwheel_op op;

	if (query(state->fd, state->id, 0, &op) != HWHEEL_STATE_PENDING)
		return -EPROTO;
	return (op.time_ns <= 3600 * SEC) == !ret ? judge_usable(state, 0) : -EPROTO;
}

static inline int act_cancel(struct state *state)
{
	return cancel(state->fd, state->id);
}

static inline int judge_cancel(struct state *state, int ret)
{
	if (!counts_are(state, !!ret, 1))
		return -EPROTO;
	return await_held(state->fd, !!ret) ?: judge_usable(state, 0);
}

static inline int act_query(struct state *state)
{
	struct hwheel_op op;

	return query(state->fd, state->id, 0, &op);
}

static inline int judge_pending(struct state *state, int ret)
{
	return counts_are(state, 1, 1) ? judge_usable(state, 0) : -EPROTO;
}

static inline int act_submit(struct state *state)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		state->ops[i] = (struct hwheel_op){
			.op = HWHEEL_OP_ARM,
			.time_ns = NEVER,
			.cookie = i,
		};
	return submit(state->fd, state->ops, BATCH);
}

/* Those that are done tell whether they are armed, or that there was no memory. */
static inline int judge_submit(struct state *state, int ret)
{
	unsigned int armed = 1;
	int i;

	for (i = 0; i < ret; i++) {
		if (state->ops[i].result && state->ops[i].result != -ENOMEM)
			return -EPROTO;
		armed += !state->ops[i].result;
	}
	if (!counts_are(state, armed, armed))
		return -EPROTO;
	return await_held(state->fd, armed) ?: judge_usable(state, 0);
}

#endif /* _HWHEEL_FAULT_TIMEOUT_OPERATIONS_H */
