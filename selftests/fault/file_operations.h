/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on a file, as timeout_operations.h has those on timeouts. */
#ifndef _HWHEEL_FAULT_FILE_OPERATIONS_H
#define _HWHEEL_FAULT_FILE_OPERATIONS_H

#include "fail_nth.h"
#include "timeout_operations.h"

static inline int act_open(struct state *state)
{
	return open_file(state);
}

static inline int judge_open(struct state *state, int ret)
{
	return ret ? open_file(state) ?: judge_usable(state, 0) : judge_usable(state, 0);
}

static inline int act_info(struct state *state)
{
	struct hwheel_info info;

	return call(state->fd, HWHEEL_IOC_INFO, &info);
}

static inline int act_stats(struct state *state)
{
	struct hwheel_file_stats stats;

	return call(state->fd, HWHEEL_IOC_STATS, &stats);
}

/* Reads a file of the kernel's. */
static inline int get(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;
	char text[4096];

	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static inline int act_fdinfo(struct state *state)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", state->fd);
	return get(path);
}

/* Of the first wheel that the module made */
static inline int act_debugfs(struct state *state)
{
	return get(DEBUGFS "hwheel/dev-1");
}

static const struct hwheel_config configs[] = {
	{ .tick_ns = MSEC, .slots = 16, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC },
	{ .tick_ns = MSEC, .slots = 16, .levels = 3, .kind = HWHEEL_KIND_HIERARCHICAL,
	  .clock = CLOCK_MONOTONIC },
	{ .tick_ns = MSEC, .slots = 1 << 14, .kind = HWHEEL_KIND_HASHED,
	  .clock = CLOCK_MONOTONIC },
};

static inline int act_config(struct state *state)
{
	return configure(state->fd, &configs[0]);
}

static inline int act_config_levels(struct state *state)
{
	return configure(state->fd, &configs[1]);
}

static inline int act_config_large(struct state *state)
{
	return configure(state->fd, &configs[2]);
}

/* If it failed, it can be called again. */
static inline int judge_config(struct state *state, int ret)
{
	struct hwheel_info info;
	int err = get_info(state->fd, &info);

	if (err || info.own_wheel != !ret)
		return err ?: -EPROTO;
	if (ret)
		err = act_config(state);
	return err ?: judge_usable(state, 0);
}

static inline int prepare_read(struct state *state)
{
	return open_pending(state) ?: fire(state->fd, EVENTS);
}

/*
 * Nothing but the call: who looks at an event asks for the time, and where that is a system
 * call, its copy would be made to fail.
 */
static inline int act_read(struct state *state)
{
	ssize_t got = read(state->fd, state->ev, EVENTS * sizeof(*state->ev));

	if (got < 0)
		return -errno;
	return got % sizeof(*state->ev) ? -EPROTO : got / sizeof(*state->ev);
}

/* What was not read can still be read, and nothing twice. */
static inline int judge_read(struct state *state, int ret)
{
	unsigned int seen[EVENTS] = { 0 };
	int got = ret > 0 ? ret : 0, i;

	if (got < EVENTS && read_events(state->fd, &state->ev[got], EVENTS) != EVENTS - got)
		return -EPROTO;
	for (i = 0; i < EVENTS; i++)
		if (event_is_sound(&state->ev[i]) && state->ev[i].cookie < EVENTS)
			seen[state->ev[i].cookie]++;
	if (!each_once(seen, EVENTS) || !counts_are(state, 1, 1 + EVENTS))
		return -EPROTO;
	return judge_usable(state, 0);
}

static inline int act_mmap(struct state *state)
{
	state->words = map_words(state->fd, PAGES * page_size());
	return state->words ? 0 : -errno;
}

/* If it failed, it can be called again; what is mapped then tells the deadline. */
static inline int judge_mmap(struct state *state, int ret)
{
	int err = ret ? act_mmap(state) : 0;

	if (err)
		return err;
	if (deadline_of(state->fd, state->id) != load(state->words, state->id))
		return -EPROTO;
	return judge_pending(state, 0);
}

/* Where nothing else is, so that there are no page tables yet */
#define FAR		((void *)0x50000000UL)

static inline int prepare_fault(struct state *state)
{
	int ret = open_pending(state);

	if (ret)
		return ret;
	state->words = mmap(FAR, PAGES * page_size(), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED_NOREPLACE, state->fd, 0);
	return state->words == FAR ? 0 : -EFAULT;
}

/* The kernel tries again as long as it takes. */
static inline int act_fault(struct state *state)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		state->words[i * page_size() / sizeof(__u64) + 7] = 0;
	return 0;
}

static inline int act_stop(struct state *state)
{
	return stop(state->fd);
}

static inline int judge_stop(struct state *state, int ret)
{
	return ret == 1 && read_any(state->fd, CLOCK_MONOTONIC, state->ev, 3) == 1 &&
	       state->ev[0].type == HWHEEL_EVENT_STOPPED &&
	       read(state->fd, state->ev, sizeof(state->ev)) == 0 ? 0 : -EPROTO;
}

/* Of every kind there is something to be let go of. */
static inline int prepare_close(struct state *state)
{
	return open_file(state) ?: configure(state->fd, &configs[1]) ?: act_mmap(state) ?:
	       arm(state->fd, NEVER, 1, NULL) ?: arm(state->fd, 0, 2, NULL) ?:
	       await_events(state->fd, 1);
}

static inline int act_close(struct state *state)
{
	int fd = state->fd;

	munmap(state->words, PAGES * page_size());
	state->words = NULL;
	state->fd = -1;
	return close(fd) ? -errno : 0;
}

static inline int judge_close(struct state *state, int ret)
{
	return open_file(state) ?: judge_usable(state, ret);
}

#endif /* _HWHEEL_FAULT_FILE_OPERATIONS_H */
