/* SPDX-License-Identifier: GPL-2.0-only */
/* The file that an operation is tried on. */
#ifndef _HWHEEL_FAULT_STATE_H
#define _HWHEEL_FAULT_STATE_H

#include "../abi/map.h"

#define BATCH		40
#define EVENTS		3
#define PAGES		16
#define RECORDS		(PAGES * 4096 / sizeof(struct hwheel_map_record))

/**
 * struct state - of one try
 * @fd:     a file, or -1
 * @id:     of a timeout of it that never fires
 * @map:    its mapped timeouts; without a base they are not mapped
 * @ops:    those of a batch
 * @ev:     events that were read
 */
struct state {
	int				fd;
	__u64				id;
	struct map			map;
	struct hwheel_op		ops[BATCH];
	struct hwheel_event		ev[2 * EVENTS];
};

static inline int open_file(struct state *state)
{
	state->fd = open_device(O_NONBLOCK);
	state->map = (struct map){ .fd = state->fd, .clock = CLOCK_MONOTONIC };
	return state->fd < 0 ? state->fd : 0;
}

/* With a timeout that is pending */
static inline int open_pending(struct state *state)
{
	return open_file(state) ?: arm(state->fd, NEVER, 1, &state->id);
}

/* It can be armed, and that is all there is to read. */
static inline int judge_usable(struct state *state, int ret)
{
	struct hwheel_event ev;

	return arm(state->fd, 0, 2, NULL) ?: next_event(state->fd, &ev) ?:
	       ev.cookie == 2 ? 0 : -EPROTO;
}

static inline bool counts_are(struct state *state, __u64 pending, __u64 armed)
{
	struct hwheel_file_stats stats;

	return !get_stats(state->fd, &stats) && stats.pending == pending &&
	       stats.armed == armed;
}

static inline void clean_up(struct state *state)
{
	if (state->map.base)
		map_unmap(&state->map);
	if (state->fd >= 0)
		close(state->fd);
}

#endif /* _HWHEEL_FAULT_STATE_H */
