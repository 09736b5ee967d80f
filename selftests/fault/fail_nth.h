/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes the N-th allocation or copy of this thread fail, and traces where it was. The kernel
 * does not log allocations that may fail, so what decides on failures is traced, with the
 * stack.
 */
#ifndef _HWHEEL_FAULT_FAIL_NTH_H
#define _HWHEEL_FAULT_FAIL_NTH_H

#include "../abi/common.h"

#include <sys/mount.h>

#define DEBUGFS		"/sys/kernel/debug/"
#define TRACING		"/sys/kernel/tracing/"
#define PROBES		TRACING "events/hwheel_fail/"

static inline int put_to(int fd, const char *value)
{
	return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

/* Sets a file of the kernel's; 0 or a negative errno. */
static inline int put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = put_to(fd, value);
	close(fd);
	return ret;
}

static int nth_fd = -1;

/* The N-th allocation or copy of this thread is to fail; 0: none any more. */
static inline void fail_nth(unsigned int n)
{
	char number[16];
	int len = snprintf(number, sizeof(number), "%u", n);

	/* Turning it off may be what fails, which turns it off. */
	if (write(nth_fd, number, len) != len && n)
		abort();
}

/* Has it? If it counts down as we look, or we are what fails, it has not. */
static inline bool has_failed(void)
{
	char left[16] = "";
	ssize_t got = pread(nth_fd, left, sizeof(left) - 1, 0);

	fail_nth(0);
	return got > 0 && !atoi(left);
}

static inline void clear_trace(void)
{
	int fd = open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		abort();
	close(fd);
}

static inline void begin_to_fail(unsigned int n)
{
	clear_trace();
	fail_nth(n);
}

static inline int trace_failures(void)
{
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (!access(PROBES, F_OK))
		return 0;
	/* With the offset it tells of the module. */
	return put(TRACING "options/sym-offset", "1") ?:
	       put(TRACING "kprobe_events",
		   "r:hwheel_fail/any should_fail_ex failed=$retval:u8\n"
		   "r:hwheel_fail/copy should_fail_usercopy failed=$retval:u8\n"
		   "p:hwheel_fail/text set_memory_rox start=$arg1:x64 pages=$arg2:u32\n"
		   "p:hwheel_fail/init do_one_initcall\n") ?:
	       put(PROBES "any/trigger", "stacktrace if failed == 1") ?:
	       put(PROBES "copy/filter", "failed == 1") ?:
	       put(PROBES "copy/enable", "1") ?:
	       put(PROBES "text/enable", "1") ?:
	       put(PROBES "init/enable", "1");
}

/*
 * Switches off the filters that keep most allocations from failing. The kernel warns of some that
 * fail, with a stack, which on the console would look like a complaint.
 */
static inline int prepare_faults(void)
{
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		return -errno;
	return put("/proc/sys/kernel/printk", "5 7") ?:
	       put(DEBUGFS "failslab/ignore-gfp-wait", "N") ?:
	       put(DEBUGFS "failslab/verbose", "0") ?:
	       put(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N") ?:
	       put(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N") ?:
	       put(DEBUGFS "fail_page_alloc/min-order", "0") ?:
	       put(DEBUGFS "fail_page_alloc/verbose", "0") ?:
	       put(DEBUGFS "fail_usercopy/verbose", "0") ?:
	       trace_failures();
}

#endif /* _HWHEEL_FAULT_FAIL_NTH_H */
