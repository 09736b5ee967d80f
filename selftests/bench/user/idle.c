// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often the thread that keeps the time wakes up, when there are no timeouts and when
 * the only one is an hour away: hwheel's worker, and that of a program that has a heap
 * behind a timerfd, a wheel of its own that ticks by a timerfd, or hwheel_local.h.
 *
 * Meanwhile nobody does anything, so in a VM whose clock skips idle time it is soon over.
 * The scheduler counts, in the same way for all.
 */
#include <err.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/hwheel.h>

#include "commands.h"
#include "heap.h"
#include "hwheel.h"
#include "hwheel_local.h"
#include "library.h"
#include "thread.h"

#define MINUTES	10
#define TICK	(10 * MSEC)
#define HOUR	(3600 * SEC)

/* Work that was begun is over then. */
#define QUIET_NS	SEC

static __u64 wakeups_of(int thread)
{
	__u64 before;

	sleep_ns(QUIET_NS);
	before = thread_sleeps(thread);
	sleep_ns(MINUTES * 60 * SEC);
	return thread_sleeps(thread) - before;
}

static void report_wakeups(const char *metric, const char *impl, unsigned int n, __u64 wakeups)
{
	report(metric, impl, n, "1/min", (double)wakeups / MINUTES);
}

static void report_worker(const char *metric, const char *impl, unsigned int n)
{
	report_wakeups(metric, impl, n, wakeups_of(thread_of_worker()));
}

/* There has been something, so it is not idle merely because it is new. */
static void idle_hwheel(void)
{
	struct hwheel_op arm = { .time_ns = HOUR }, again = arm, cancel = { 0 };

	device_open_tick(1, TICK);
	must(!ioctl(device_fd(), HWHEEL_IOC_ARM, &arm), "ARM");
	cancel.id = arm.id;
	must(!ioctl(device_fd(), HWHEEL_IOC_CANCEL, &cancel), "CANCEL");
	report_worker("idle.empty", "hwheel", 0);
	must(!ioctl(device_fd(), HWHEEL_IOC_ARM, &again), "ARM");
	report_worker("idle.hour_away", "hwheel", 1);
	device_close();
}

static void idle_mapped(void)
{
	unsigned long id;

	library_open(1, TICK);
	must(!hwheel_arm(library_handle(), HOUR, 0, &id), "arm");
	must(!hwheel_cancel(library_handle(), id), "cancel");
	report_worker("idle.empty", "mapped", 0);
	must(!hwheel_arm(library_handle(), HOUR, 0, &id), "arm");
	report_worker("idle.hour_away", "mapped", 1);
	library_close();
}

/* Of a process that does nothing but wait for @fd */
static __u64 wakeups_for(int fd)
{
	__u64 expirations, wakeups;
	pid_t pid = fork();

	must(pid >= 0, "fork");
	while (!pid)
		must(read(fd, &expirations, sizeof(expirations)) > 0, "read");
	wakeups = wakeups_of(pid);
	must(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid, "kill");
	return wakeups;
}

static void idle_heap(void)
{
	heap_open(1);
	report_wakeups("idle.empty", "heap", 0, wakeups_for(heap_fd()));
	heap_push(0, now_ns() + HOUR);
	heap_set_timer();
	report_wakeups("idle.hour_away", "heap", 1, wakeups_for(heap_fd()));
	heap_close();
}

static void idle_local(unsigned int n)
{
	struct hwheel_local_timeout timeout;
	static struct hwheel_local wheel;
	struct pollfd file = { .events = POLLIN };
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (!pid) {
		hwheel_local_init(&wheel, TICK, now_ns());
		hwheel_local_timeout_init(&timeout, NULL);
		file.fd = hwheel_local_fd(&wheel, CLOCK_MONOTONIC);
		hwheel_local_arm(&wheel, &timeout, HOUR);
		if (!n)
			hwheel_local_cancel(&timeout);
		for (;;) {
			must(poll(&file, 1, -1) == 1, "poll");
			hwheel_local_run(&wheel, now_ns());
		}
	}
	report_wakeups(n ? "idle.hour_away" : "idle.empty", "local", n, wakeups_of(pid));
	must(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid, "kill");
}

/* The wheel ticks whether it has timeouts or not. */
static void idle_ticking_wheel(void)
{
	struct itimerspec ticks = itimerspec_of(TICK);
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	must(fd >= 0, "timerfd_create");
	ticks.it_interval = ticks.it_value;
	must(!timerfd_settime(fd, 0, &ticks, NULL), "timerfd_settime");
	report_wakeups("idle.empty", "userland_wheel", 0, wakeups_for(fd));
	report_wakeups("idle.hour_away", "userland_wheel", 1, wakeups_for(fd));
	must(!close(fd), "close");
}

void bench_idle(void)
{
	idle_hwheel();
	idle_mapped();
	idle_heap();
	idle_local(0);
	idle_local(1);
	idle_ticking_wheel();
}
