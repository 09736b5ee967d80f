// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapped timeouts: an arm that has to wake the worker, system calls, the cost of files that only
 * wait on a wheel that others use, and the worst lateness on a hierarchical wheel.
 *
 * The run time of the worker is what the scheduler accounts to it, in ns, which are instructions in
 * a machine that counts them.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "library.h"
#include "thread.h"

#define N		100000U
#define PAIRS		1000000U
#define REPEATS		10
#define TICK		(10 * MSEC)
#define PARKED		100

/* In ticks: until the first of many deadlines on a hierarchical wheel, and until the last one */
#define LEAD		1000
#define SPAN		2000

/* Until the worker has done all, and sleeps until something comes */
#define QUIET_NS	(20 * TICK)

static unsigned long calls;

/* The linker passes those of libhwheel here (--wrap=ioctl). */
int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
	calls++;
	return syscall(SYS_ioctl, fd, request, argument);
}

static unsigned long arm(struct hwheel *handle, __u64 deadline, __u64 cookie)
{
	unsigned long id;

	must(!hwheel_arm_at(handle, deadline, cookie, &id), "arm");
	return id;
}

static void cancel(struct hwheel *handle, unsigned long id)
{
	must(!hwheel_cancel(handle, id), "cancel");
}

/* One at a time, on a quiet wheel, and cancelled in the same way */
static void measure_isolated(struct hwheel *handle, __u64 far)
{
	int worker = thread_of_worker(), i;
	__u64 own = 0, workers = 0, before;
	unsigned long id;

	for (i = 0; i < REPEATS; i++) {
		sleep_ns(QUIET_NS);
		before = thread_run_time(worker);
		own -= own_run_time();
		id = arm(handle, far, 0);
		own += own_run_time();
		sleep_ns(QUIET_NS);
		workers += thread_run_time(worker) - before;
		cancel(handle, id);
	}
	report("mapped.isolated_push", "program", 1, "instructions", (double)own / REPEATS);
	report("mapped.isolated_push", "worker", 1, "instructions", (double)workers / REPEATS);
	sleep_ns(QUIET_NS);
}

static void measure_calls(struct hwheel *handle, __u64 far)
{
	unsigned int i;

	calls = 0;
	for (i = 0; i < PAIRS; i++)
		cancel(handle, arm(handle, far + i, 0));
	report("mapped.system_calls", "mapped", PAIRS, "calls", calls);
}

/* On the default wheel */
static void park_some(int nr)
{
	struct hwheel *handle;

	while (nr--) {
		must(!hwheel_open(&handle, 0) && !hwheel_map(handle, 1), "map");
		cancel(handle, arm(handle, now_ns() + FAR, 0));
	}
}

/* What a timeout that expires by itself takes the default wheel's worker, pass and all */
static double expiry_of_one(int worker)
{
	struct hwheel_event event;
	__u64 before, sum = 0;
	struct hwheel *handle;
	unsigned long id;
	int i;

	must(!hwheel_open(&handle, 0), "open");
	for (i = 0; i < REPEATS; i++) {
		must(!hwheel_arm(handle, QUIET_NS, 0, &id), "arm");
		sleep_ns(QUIET_NS / 2);
		before = thread_run_time(worker);
		sleep_ns(QUIET_NS);
		sum += thread_run_time(worker) - before;
		must(hwheel_next_events(handle, &event, 1) == 1, "event");
	}
	must(!hwheel_close(handle), "close");
	return (double)sum / REPEATS;
}

static void measure_parked(void)
{
	int worker = thread_of_default();
	double without = expiry_of_one(worker);

	park_some(PARKED);
	sleep_ns(QUIET_NS);
	report("mapped.pass", "worker", 0, "instructions", without);
	report("mapped.pass", "worker", PARKED, "instructions", expiry_of_one(worker));
}

/* As selftests/bench/kernel/lateness.c, by the time at which the wheel fired them */
static void measure_lateness(void)
{
	const struct hwheel_config config = {
		.tick_ns = MSEC, .max_timeouts = N, .slots = 512, .levels = 2,
		.kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_MONOTONIC,
	};
	__u64 first, late, worst = 0;
	struct hwheel_event event;
	unsigned int nr_late = 0, i;
	struct hwheel *handle;

	must(!hwheel_open(&handle, HWHEEL_NONBLOCK), "open");
	must(!hwheel_configure(handle, &config) && !hwheel_map(handle, N), "map");
	srandom(1);
	first = now_ns() + LEAD * MSEC;
	for (i = 0; i < N; i++)
		arm(handle, first + (double)random() / RAND_MAX * SPAN * MSEC, i);
	sleep_ns(2 * (LEAD + SPAN) * MSEC);
	for (i = 0; i < N; i++) {
		must(hwheel_next_events(handle, &event, 1) == 1, "event");
		late = event.fired_ns - event.deadline_ns;
		worst = late > worst ? late : worst;
		nr_late += late > 2 * MSEC;
	}
	report("hierarchical.1ms_2x512_worst", "mapped", N, "ticks", (double)worst / MSEC);
	report("hierarchical.1ms_2x512_late", "mapped", N, "count", nr_late);
	report("hierarchical.1ms_2x512_worker", "mapped", N, "instructions",
	       (double)thread_run_time(thread_of_worker()) / N);
	must(!hwheel_close(handle), "close");
}

void bench_mapped(void)
{
	__u64 far = now_ns() + FAR;

	library_open(N, TICK);
	/* The first arm makes the list of free timeouts. */
	cancel(library_handle(), arm(library_handle(), far, 0));
	measure_isolated(library_handle(), far);
	measure_calls(library_handle(), far);
	library_close();
	measure_lateness();
	measure_parked();
}
