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

/* Of the system wheel */
static inline int act_debugfs(struct state *state)
{
	return get(DEBUGFS "hwheel/system-1");
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
 * Nothing but the call: a look at an event asks for the time, and where that is a system call,
 * its copy would be made to fail.
 */
static inline int act_read(struct state *state)
{
	ssize_t got = read(state->fd, state->ev, EVENTS * sizeof(*state->ev));

	if (got < 0)
		return -errno;
	return got % sizeof(*state->ev) ? -EPROTO : got / sizeof(*state->ev);
}

/* Unread events can still be read, and none twice. */
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

static inline int act_map(struct state *state)
{
	return map_make(state->fd, RECORDS, 2, &state->map.layout);
}

/* A mapped file goes on, also with the record that was made last. */
static inline int judge_mapped(struct state *state, int ret)
{
	__u32 last = state->map.layout.records - 1;
	__u64 deadline = map_now(&state->map) + MSEC;

	return map_arm(&state->map, 0, 0, deadline) ?: map_expect(&state->map, 0, deadline) ?:
	       map_arm(&state->map, 1, last, deadline) ?:
	       map_expect(&state->map, last, deadline);
}

static inline bool held_are(struct state *state, __u64 held)
{
	struct hwheel_file_stats stats;

	return !get_stats(state->fd, &stats) && stats.held == held;
}

/* Nothing was made: the file can be configured, as a new one. */
static inline bool is_new(struct state *state)
{
	const struct hwheel_config config = { .clock = CLOCK_MONOTONIC };

	return held_are(state, 0) && !configure(state->fd, &config);
}

/* A call that can't tell the layout has made all or nothing. It can be called again. */
static inline int judge_map(struct state *state, int ret)
{
	int err = 0;

	if (ret && !is_new(state) && !(ret == -EFAULT && held_are(state, RECORDS)))
		return -EPROTO;
	if (ret)
		err = act_map(state);
	return err ?: map_memory(&state->map) ?: judge_mapped(state, 0);
}

static inline int open_mapped(struct state *state)
{
	return open_file(state) ?: act_map(state);
}

static inline int act_map_more(struct state *state)
{
	struct hwheel_map layout;
	int ret = map_make(state->fd, RECORDS, 0, &layout);

	if (!ret)
		state->map.layout = layout;
	return ret;
}

/* After a failure the records from before go on, and there can be more. */
static inline int judge_map_more(struct state *state, int ret)
{
	int err = 0;

	if (ret && !held_are(state, RECORDS) &&
	    !(ret == -EFAULT && held_are(state, 2 * RECORDS)))
		return -EPROTO;
	if (ret)
		err = act_map_more(state);
	return err ?: map_memory(&state->map) ?: judge_mapped(state, 0);
}

static inline int act_mmap(struct state *state)
{
	return map_memory(&state->map);
}

/* If it failed, it can be called again. */
static inline int judge_mmap(struct state *state, int ret)
{
	int err = ret ? act_mmap(state) : 0;

	return err ?: judge_mapped(state, 0);
}

/* Where nothing else is, so that there are no page tables yet */
#define FAR		((void *)0x50000000UL)

static inline int prepare_fault(struct state *state)
{
	int ret = open_mapped(state);
	void *base;

	if (ret)
		return ret;
	base = mmap(FAR, state->map.layout.size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED_NOREPLACE, state->fd, 0);
	if (base != FAR)
		return -EFAULT;
	map_place(&state->map, base);
	return 0;
}

/* The kernel tries again as long as it takes. */
static inline int act_fault(struct state *state)
{
	unsigned int i;

	for (i = 0; i < RECORDS; i += RECORDS / PAGES)
		state->map.records[i].cookie = i;
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
	return open_file(state) ?: configure(state->fd, &configs[1]) ?:
	       arm(state->fd, NEVER, 1, NULL) ?: arm(state->fd, 0, 2, NULL) ?:
	       await_events(state->fd, 1);
}

static inline int prepare_close_mapped(struct state *state)
{
	struct map *map = &state->map;

	return open_file(state) ?: configure(state->fd, &configs[1]) ?: act_map(state) ?:
	       act_mmap(state) ?: map_arm(map, 0, 1, NEVER) ?: map_arm(map, 0, 2, 0) ?:
	       map_await_unread(map, 1);
}

static inline int act_close(struct state *state)
{
	int fd = state->fd;

	if (state->map.base)
		map_unmap(&state->map);
	state->map.base = NULL;
	state->fd = -1;
	return close(fd) ? -errno : 0;
}

static inline int judge_close(struct state *state, int ret)
{
	return open_file(state) ?: judge_usable(state, ret);
}

#endif /* _HWHEEL_FAULT_FILE_OPERATIONS_H */
