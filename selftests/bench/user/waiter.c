// SPDX-License-Identifier: GPL-2.0-only
/* Programs that wait for timeouts, each as one would be written. */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <linux/hwheel.h>

#include "heap.h"
#include "hwheel.h"
#include "library.h"
#include "waiter.h"

#define OTHER_FILES	100

/* hwheel: armed in batches, read in batches */

static void arm_batch(const __u64 *deadlines, unsigned int first, unsigned int nr)
{
	struct hwheel_op ops[BATCH];
	struct hwheel_submit batch = { .ops = (uintptr_t)ops, .nr = nr };
	unsigned int i;

	for (i = 0; i < nr; i++)
		ops[i] = (struct hwheel_op){
			.op = HWHEEL_OP_ARM,
			.flags = HWHEEL_ABSOLUTE,
			.cookie = first + i,
			.time_ns = deadlines[first + i],
		};
	must(ioctl(device_fd(), HWHEEL_IOC_SUBMIT, &batch) == (int)nr, "SUBMIT");
	for (i = 0; i < nr; i++)
		if (ops[i].result)
			errx(1, "an operation of SUBMIT: %d", ops[i].result);
}

static void arm_in_batches(const __u64 *deadlines, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i += BATCH)
		arm_batch(deadlines, i, batch_of(n - i));
}

static unsigned int read_events(struct expiry *expiries)
{
	struct hwheel_event events[BATCH];
	long size = read(device_fd(), events, sizeof(events));
	unsigned int nr = size / sizeof(*events), i;
	__u64 now = now_ns();

	must(size > 0, "read");
	for (i = 0; i < nr; i++)
		expiries[i] = (struct expiry){ events[i].cookie, events[i].fired_ns, now };
	return nr;
}

const struct waiter hwheel_waiter = {
	.name	= "hwheel",
	.open	= device_open_tick,
	.arm	= arm_in_batches,
	.wait	= read_events,
	.close	= device_close,
};

/* libhwheel: armed in memory, taken in batches after poll() */

static void arm_mapped(const __u64 *deadlines, unsigned int n)
{
	unsigned int i;
	unsigned long id;

	for (i = 0; i < n; i++)
		must(!hwheel_arm_at(library_handle(), deadlines[i], i, &id), "arm");
}

static unsigned int take_mapped(struct expiry *expiries)
{
	struct pollfd file = { .fd = hwheel_fd(library_handle()), .events = POLLIN };
	struct hwheel_event events[BATCH];
	int nr, i;
	__u64 now;

	while ((nr = hwheel_next_events(library_handle(), events, BATCH)) == -EAGAIN)
		must(poll(&file, 1, -1) == 1, "poll");
	must(nr > 0, "events");
	now = now_ns();
	for (i = 0; i < nr; i++)
		expiries[i] = (struct expiry){ events[i].cookie, events[i].fired_ns, now };
	return nr;
}

const struct waiter library_waiter = {
	.name	= "mapped",
	.open	= library_open,
	.arm	= arm_mapped,
	.wait	= take_mapped,
	.close	= library_close,
};

/* timerfd: one each, and epoll tells which have expired */

static int epoll;
static int *fds;

static void add_timer(unsigned int number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = number };

	fds[number] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	must(fds[number] >= 0, "timerfd_create");
	must(!epoll_ctl(epoll, EPOLL_CTL_ADD, fds[number], &event), "epoll_ctl");
}

static void open_timers(unsigned int n, __u64 tick_ns)
{
	struct rlimit limit = { n + OTHER_FILES, n + OTHER_FILES };
	unsigned int i;

	(void)tick_ns;
	must(!setrlimit(RLIMIT_NOFILE, &limit), "RLIMIT_NOFILE");
	epoll = epoll_create1(EPOLL_CLOEXEC);
	must(epoll >= 0, "epoll_create1");
	fds = zeros(n, sizeof(*fds));
	for (i = 0; i < n; i++)
		add_timer(i);
}

static void set_timers(const __u64 *deadlines, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct itimerspec at = itimerspec_of(deadlines[i]);

		must(!timerfd_settime(fds[i], TFD_TIMER_ABSTIME, &at, NULL),
		     "timerfd_settime");
	}
}

static unsigned int wait_for_timers(struct expiry *expiries)
{
	struct epoll_event events[BATCH];
	int nr = epoll_wait(epoll, events, BATCH, -1), i;
	__u64 expirations;

	must(nr > 0, "epoll_wait");
	for (i = 0; i < nr; i++) {
		unsigned int number = events[i].data.u32;

		must(read(fds[number], &expirations, sizeof(expirations)) > 0, "read");
		expiries[i] = (struct expiry){ number, 0, now_ns() };
	}
	return nr;
}

static void close_timers(void)
{
	must(!close_range(3, ~0U, 0), "close_range");
	free(fds);
}

const struct waiter timerfd_waiter = {
	.name	= "timerfd",
	.open	= open_timers,
	.arm	= set_timers,
	.wait	= wait_for_timers,
	.close	= close_timers,
};

/* A heap behind a timerfd */

static void open_heap(unsigned int n, __u64 tick_ns)
{
	(void)tick_ns;
	heap_open(n);
}

static void push_all(const __u64 *deadlines, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		heap_push(i, deadlines[i]);
	heap_set_timer();
}

static unsigned int pop_due(struct expiry *expiries)
{
	__u64 expirations, now;
	unsigned int nr;

	must(read(heap_fd(), &expirations, sizeof(expirations)) > 0, "read");
	now = now_ns();
	for (nr = 0; nr < BATCH && heap_pop(now, &expiries[nr].number); nr++) {
		expiries[nr].fired = 0;
		expiries[nr].seen = now;
	}
	heap_set_timer();
	return nr;
}

const struct waiter heap_waiter = {
	.name	= "heap",
	.open	= open_heap,
	.arm	= push_all,
	.wait	= pop_due,
	.close	= heap_close,
};
