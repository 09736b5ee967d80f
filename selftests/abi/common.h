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
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/*
 * The harness and its macros are not clean at -Wextra: the kernel builds its
 * selftests with -Wall alone.
 */
#pragma GCC diagnostic ignored "-Wclobbered"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "kselftest_harness.h"

#include <linux/capability.h>
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

static inline __u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static inline __u64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* 0 once the condition holds, -ETIMEDOUT if that takes too long */
#define AWAIT(condition)						\
({									\
	__u64 bound_ = now_ns() + WAIT_MS * MSEC;			\
	bool holds_;							\
									\
	while (!(holds_ = (condition)) && now_ns() <= bound_)		\
		poll(NULL, 0, 1);					\
	holds_ ? 0 : -ETIMEDOUT;					\
})

/* Processes: an expression of which a child's status is made, 0 or a negative errno */
#define START_CHILD(expression)						\
({									\
	pid_t child_ = fork();						\
									\
	if (!child_)							\
		_exit(-(expression));					\
	child_;								\
})

/* The value of the child's expression */
static inline int reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

#define IN_CHILD(expression)	reap(START_CHILD(expression))

/* 0 if the child ran until it was killed */
static inline int kill_child(pid_t pid)
{
	int status;

	if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -EPROTO;
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

static inline int set_flags(int fd, __u64 time_ns, __u32 flags, __u64 cookie, __u64 *id)
{
	struct hwheel_op op = { .flags = flags, .id = *id, .cookie = cookie, .time_ns = time_ns };
	int ret = call(fd, HWHEEL_IOC_SET, &op);

	*id = op.id;
	return ret || op.id ? ret : -EPROTO;
}

static inline int set(int fd, __u64 *id, __u64 delay_ns, __u64 cookie)
{
	return set_flags(fd, delay_ns, 0, cookie, id);
}

static inline int set_at(int fd, __u64 *id, __u64 deadline_ns, __u64 cookie)
{
	return set_flags(fd, deadline_ns, HWHEEL_ABSOLUTE, cookie, id);
}

static inline int withdraw(int fd, __u64 id)
{
	struct hwheel_op op = { .id = id };

	return call(fd, HWHEEL_IOC_WITHDRAW, &op);
}

/* 1 if something can be read within @timeout_ms, 0 if not. */
static inline int readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int ret = poll(&pfd, 1, timeout_ms);

	return ret < 0 ? -errno : ret;
}

/* Up to @max events, whatever they are: how many, 0 at the end, or a negative errno. */
static inline int read_raw(int fd, struct hwheel_event *ev, size_t max)
{
	ssize_t got;

	memset(ev, 0x5a, max * sizeof(*ev));
	got = read(fd, ev, max * sizeof(*ev));
	if (got < 0)
		return -errno;
	return got % sizeof(*ev) ? -EPROTO : (int)(got / sizeof(*ev));
}

/* True of each event, on a clock that shows @now */
static inline bool any_event_is_sound(const struct hwheel_event *ev, __u64 now)
{
	if (ev->type == HWHEEL_EVENT_EXPIRED && ev->fired_ns < ev->deadline_ns)
		return false;
	return ev->id && !(ev->deadline_ns & 7) && !ev->reserved && ev->fired_ns <= now &&
	       (ev->type == HWHEEL_EVENT_EXPIRED || ev->type == HWHEEL_EVENT_STOPPED);
}

/* True of a timeout that has expired */
static inline bool event_is_sound(const struct hwheel_event *ev)
{
	return ev->type == HWHEEL_EVENT_EXPIRED && any_event_is_sound(ev, now_ns());
}

/* As read_raw(), of a wheel on that clock */
static inline int read_any(int fd, clockid_t clock, struct hwheel_event *ev, size_t max)
{
	int got = read_raw(fd, ev, max), i;

	for (i = 0; i < got; i++)
		if (!any_event_is_sound(&ev[i], clock_ns(clock)))
			return -EPROTO;
	return got;
}

/* As read_raw(), of timeouts that have expired */
static inline int read_events(int fd, struct hwheel_event *ev, size_t max)
{
	int got = read_raw(fd, ev, max), i;

	for (i = 0; i < got; i++)
		if (!event_is_sound(&ev[i]))
			return -EPROTO;
	return got ?: -EPROTO;
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

/* A new file, or a negative errno */
static inline int open_configured(int flags, const struct hwheel_config *config)
{
	int fd = open_device(flags), ret;

	if (fd < 0)
		return fd;
	ret = configure(fd, config);
	if (!ret)
		return fd;
	close(fd);
	return ret;
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

/* A parameter of the module: as @otherwise if it can't be read. */
static inline __u64 parameter(const char *name, __u64 otherwise)
{
	unsigned long long value;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/hwheel/parameters/%s", name);
	file = fopen(path, "r");
	if (!file)
		return otherwise;
	if (fscanf(file, "%llu", &value) != 1)
		value = otherwise;
	fclose(file);
	return value;
}

/* Lets each account hold so much memory, if the caller may: what it was before, or 0. */
static inline __u64 allow_bytes(__u64 bytes)
{
	FILE *file = fopen("/sys/module/hwheel/parameters/max_user_bytes", "r+");
	unsigned long long before;

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &before) != 1)
		before = 0;
	rewind(file);
	fprintf(file, "%llu", (unsigned long long)bytes);
	fclose(file);
	return before;
}

/* Capabilities, and so this setting, belong to a thread. */
static inline int set_capability(int capability, bool on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const __u32 bit = 1U << capability % 32;
	struct __user_cap_data_struct data[2];
	__u32 *effective = &data[capability / 32].effective;

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*effective = on ? *effective | bit : *effective & ~bit;
	return syscall(SYS_capset, &header, data) ? -errno : 0;
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

/*
 * Waits until the file holds that many timeouts, and that many events of them, or as many
 * as it takes if POISON64. What the worker does to a file can only be waited for so where
 * the file has a wheel of its own, with no other file as a fence.
 */
static inline int await_counts(int fd, __u64 held, __u64 events)
{
	struct hwheel_file_stats stats;
	int ret;

	return AWAIT((ret = get_stats(fd, &stats)) ||
		     ((held == POISON64 || stats.held == held) &&
		      (events == POISON64 || stats.events == events))) ?: ret;
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
