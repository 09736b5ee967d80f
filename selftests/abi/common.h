/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of /dev/hwheel share.
 *
 * Helpers return 0 (or a count) or a negative errno, so that one comparison
 * tells success from each failure. -EPROTO is theirs alone: the call succeeded
 * or failed as it said, but what it left in memory breaks the contract.
 *
 * No test needs exact timing. A test waits with poll() for what must happen, and WAIT_MS
 * only bounds a failure; settle() proves that something does not happen.
 */
#ifndef _HWHEEL_SELFTESTS_COMMON_H
#define _HWHEEL_SELFTESTS_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

/*
 * The harness and its macros are not clean at -Wextra: the kernel builds its
 * selftests with -Wall alone.
 */
#pragma GCC diagnostic ignored "-Wclobbered"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "kselftest_harness.h"

#include <linux/hwheel.h>

/*
 * The limit ends a test that hangs. To arm a million timeouts took seven minutes in a user-mode
 * kernel that saves a stack with each object of KASAN and of the debug objects.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	900

#define DEVICE		"/dev/hwheel"
#define WAIT_MS		30000

#define MSEC		1000000ULL
#define SEC		(1000 * MSEC)
#define NEVER		UINT64_MAX

#define POISON32	0x5a5a5a5a
#define POISON64	0x5a5a5a5a5a5a5a5aULL

static inline __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

/* The resolution of a deadline. */
static inline __u64 round_up_8(__u64 ns)
{
	return (ns + 7) & ~7ULL;
}

static inline int open_device(int flags)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

/* A user-mode kernel reads where its programs must not: it knows no such fault. */
static inline bool kernel_reads_protected(void)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ends[2];
	bool reads;

	if (page == MAP_FAILED || pipe(ends))
		return false;
	*page = 1;
	reads = !mprotect(page, size, PROT_NONE) && write(ends[1], page, 1) == 1;
	munmap(page, size);
	close(ends[0]);
	close(ends[1]);
	return reads;
}

static inline int call(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret == -1 ? -errno : ret;
}

static inline int arm_flags(int fd, __u64 time_ns, __u32 flags, __u64 cookie, __u64 *id)
{
	struct hwheel_op op = {
		.flags = flags,
		.cookie = cookie,
		.time_ns = time_ns,
	};
	int ret = call(fd, HWHEEL_IOC_ARM, &op);

	if (ret)
		return ret;
	if (id)
		*id = op.id;
	return op.id ? 0 : -EPROTO;
}

static inline int arm(int fd, __u64 delay_ns, __u64 cookie, __u64 *id)
{
	return arm_flags(fd, delay_ns, 0, cookie, id);
}

static inline int arm_at(int fd, __u64 deadline_ns, __u64 cookie, __u64 *id)
{
	return arm_flags(fd, deadline_ns, HWHEEL_ABSOLUTE, cookie, id);
}

static inline int refresh(int fd, __u64 id, __u64 delay_ns)
{
	struct hwheel_op op = { .id = id, .time_ns = delay_ns };

	return call(fd, HWHEEL_IOC_REFRESH, &op);
}

static inline int refresh_at(int fd, __u64 id, __u64 deadline_ns)
{
	struct hwheel_op op = {
		.flags = HWHEEL_ABSOLUTE,
		.id = id,
		.time_ns = deadline_ns,
	};

	return call(fd, HWHEEL_IOC_REFRESH, &op);
}

static inline int cancel(int fd, __u64 id)
{
	struct hwheel_op op = { .id = id };

	return call(fd, HWHEEL_IOC_CANCEL, &op);
}

/* 1 if something can be read within @timeout_ms, 0 if not. */
static inline int readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int ret = poll(&pfd, 1, timeout_ms);

	return ret < 0 ? -errno : ret;
}

/* True of every event, whatever it is of. */
static inline bool event_is_sound(const struct hwheel_event *ev)
{
	return ev->id && !(ev->deadline_ns & 7) && ev->fired_ns >= ev->deadline_ns &&
	       ev->fired_ns <= now_ns() && ev->type == HWHEEL_EVENT_EXPIRED && !ev->reserved;
}

/* Up to @max events: how many, or a negative errno. */
static inline int read_events(int fd, struct hwheel_event *ev, size_t max)
{
	ssize_t got, i;

	memset(ev, 0x5a, max * sizeof(*ev));
	got = read(fd, ev, max * sizeof(*ev));
	if (got < 0)
		return -errno;
	if (!got || got % sizeof(*ev))
		return -EPROTO;
	got /= sizeof(*ev);
	for (i = 0; i < got; i++)
		if (!event_is_sound(&ev[i]))
			return -EPROTO;
	return got;
}

/* Waits for one event. */
static inline int next_event(int fd, struct hwheel_event *ev)
{
	int ret = readable(fd, WAIT_MS);

	if (ret <= 0)
		return ret ?: -ETIMEDOUT;
	ret = read_events(fd, ev, 1);
	return ret < 0 ? ret : 0;
}

/* Waits for @n events and counts each in @seen, whose index is the cookie. */
static inline int collect(int fd, unsigned int *seen, size_t size, size_t n)
{
	struct hwheel_event ev[64];
	int got, i;

	while (n) {
		got = readable(fd, WAIT_MS);
		if (got <= 0)
			return got ?: -ETIMEDOUT;
		got = read_events(fd, ev, n < 64 ? n : 64);
		if (got < 0)
			return got;
		for (i = 0; i < got; i++) {
			if (ev[i].cookie >= size)
				return -EPROTO;
			seen[ev[i].cookie]++;
		}
		n -= got;
	}
	return 0;
}

/*
 * Returns when all that was armed before the call and is due by @deadline_ns has
 * been reported. A timeout of a file of our own on the same wheel, due then, is
 * the fence. No order holds among what expires at one edge, and what was still
 * in a submission queue while the first one fired may share the edge of the
 * second: three, one after another.
 */
static inline int settle(__u64 deadline_ns)
{
	int fd = open_device(O_NONBLOCK);
	struct hwheel_event ev;
	int ret, i;

	if (fd < 0)
		return fd;
	for (i = 0; i < 3; i++) {
		ret = i ? arm(fd, 0, i, NULL) : arm_at(fd, deadline_ns, i, NULL);
		if (!ret)
			ret = next_event(fd, &ev);
		if (ret)
			break;
	}
	close(fd);
	return ret;
}

/* 0 if no event comes of what was to fire by @deadline_ns. */
static inline int stays_quiet(int fd, __u64 deadline_ns)
{
	struct hwheel_event ev;
	int ret = settle(deadline_ns);

	if (ret)
		return ret;
	ret = read_events(fd, &ev, 1);
	return ret == -EAGAIN ? 0 : -EEXIST;
}

/*
 * Arms although the file is full of cancelled timeouts: the worker lets go of
 * them within a tick, so wait for one and try again.
 */
static inline int arm_patiently(int fd, __u64 delay_ns, __u64 cookie, __u64 *id)
{
	__u64 bound = now_ns() + WAIT_MS * MSEC;
	int ret;

	while ((ret = arm(fd, delay_ns, cookie, id)) == -ENOSPC && now_ns() < bound)
		if (settle(now_ns()))
			break;
	return ret;
}

/* @n timeouts at @deadline_ns with cookies from 0; their ids if @ids is not NULL. */
static inline int arm_many(int fd, size_t n, __u64 deadline_ns, __u64 *ids)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < n; i++)
		ret = arm_at(fd, deadline_ns, i, ids ? &ids[i] : NULL);
	return ret;
}

/* @n timeouts with cookies from 0 that all have expired and wait to be read. */
static inline int fire(int fd, size_t n)
{
	return arm_many(fd, n, 0, NULL) ?: settle(now_ns());
}

static inline int cancel_many(int fd, const __u64 *ids, size_t n)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < n; i++)
		ret = cancel(fd, ids[i]);
	return ret;
}

/* Whether each of @n was seen exactly once. */
static inline bool each_once(const unsigned int *seen, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (seen[i] != 1)
			return false;
	return true;
}

/* Arms timeouts that never fire until that fails: how many, the errno in @err. */
static inline __u64 fill(int fd, __u64 limit, int *err)
{
	__u64 n = 0;

	while (n <= limit && !(*err = arm(fd, NEVER, n, NULL)))
		n++;
	return n;
}

static inline __u64 max_timeouts(int fd)
{
	struct hwheel_info info;

	return call(fd, HWHEEL_IOC_INFO, &info) ? 0 : info.max_timeouts;
}

static inline __u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static inline int get_info(int fd, struct hwheel_info *info)
{
	memset(info, 0x5a, sizeof(*info));
	return call(fd, HWHEEL_IOC_INFO, info);
}

static inline int get_stats(int fd, struct hwheel_file_stats *stats)
{
	memset(stats, 0x5a, sizeof(*stats));
	return call(fd, HWHEEL_IOC_STATS, stats);
}

static inline int configure(int fd, const struct hwheel_config *config)
{
	struct hwheel_config copy = *config;
	int ret = call(fd, HWHEEL_IOC_CONFIG, &copy);

	return memcmp(&copy, config, sizeof(copy)) ? -EPROTO : ret;
}

static inline int stop(int fd)
{
	return call(fd, HWHEEL_IOC_STOP, NULL);
}

/* Does a batch: how many operations were done, or a negative errno. */
static inline int submit(int fd, struct hwheel_op *ops, __u32 nr)
{
	struct hwheel_submit batch = { .ops = (uintptr_t)ops, .nr = nr };

	return call(fd, HWHEEL_IOC_SUBMIT, &batch);
}

/* The state of a timeout; @op has what else is told. */
static inline int query(int fd, __u64 id, __u32 flags, struct hwheel_op *op)
{
	*op = (struct hwheel_op){
		.flags = flags,
		.result = POISON32,
		.id = id,
	};
	return call(fd, HWHEEL_IOC_QUERY, op);
}

/* @n timeouts that never fire, in batches: how many the file took. */
static inline size_t arm_batches(int fd, size_t n)
{
	static struct hwheel_op ops[HWHEEL_SUBMIT_MAX];
	size_t done = 0, part, i;

	while (done < n) {
		part = n - done < HWHEEL_SUBMIT_MAX ? n - done : HWHEEL_SUBMIT_MAX;
		for (i = 0; i < part; i++)
			ops[i] = (struct hwheel_op){
				.op = HWHEEL_OP_ARM,
				.cookie = done + i,
				.time_ns = NEVER,
			};
		if (submit(fd, ops, part) != (int)part)
			break;
		for (i = 0; i < part && !ops[i].result; i++)
			done++;
		if (i < part)
			break;
	}
	return done;
}

/* True of an event of any type, on a clock that shows @now */
static inline bool any_event_is_sound(const struct hwheel_event *ev, __u64 now)
{
	if (ev->type == HWHEEL_EVENT_EXPIRED && ev->fired_ns < ev->deadline_ns)
		return false;
	return ev->id && !(ev->deadline_ns & 7) && !ev->reserved && ev->fired_ns <= now &&
	       (ev->type == HWHEEL_EVENT_EXPIRED || ev->type == HWHEEL_EVENT_STOPPED);
}

/* As read_events(), but of any type and on any clock; 0 at the end of a stopped file. */
static inline int read_any(int fd, clockid_t clock, struct hwheel_event *ev, size_t max)
{
	ssize_t got, i;

	memset(ev, 0x5a, max * sizeof(*ev));
	got = read(fd, ev, max * sizeof(*ev));
	if (got < 0)
		return -errno;
	if (got % sizeof(*ev))
		return -EPROTO;
	got /= sizeof(*ev);
	for (i = 0; i < got; i++)
		if (!any_event_is_sound(&ev[i], clock_ns(clock)))
			return -EPROTO;
	return got;
}

/*
 * Waits until the file holds that many timeouts, and that many events of them, or as many
 * as it takes if POISON64. What the worker does to a file can only be waited for so where
 * the file has a wheel of its own, with no other file as a fence.
 */
static inline int await_counts(int fd, __u64 held, __u64 events)
{
	__u64 bound = now_ns() + WAIT_MS * MSEC;
	struct hwheel_file_stats stats;
	int ret;

	while (!(ret = get_stats(fd, &stats))) {
		if ((held == POISON64 || stats.held == held) &&
		    (events == POISON64 || stats.events == events))
			return 0;
		if (now_ns() >= bound)
			return -ETIMEDOUT;
		poll(NULL, 0, 1);
	}
	return ret;
}

static inline int await_held(int fd, __u64 held)
{
	return await_counts(fd, held, POISON64);
}

static inline int await_events(int fd, __u64 events)
{
	return await_counts(fd, POISON64, events);
}

#endif /* _HWHEEL_SELFTESTS_COMMON_H */
