// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "job.h"
#include "must.h"

#define LINGER_TICKS	3
#define DEFAULT_SEED	20240229
#define SHOWN		5	/* problems that are printed */

static void help(const char *name)
{
	printf("usage: %s FOLDER [SEED]\n"
	       "A part of the demonstration of make run. It prints what happens to its timeouts, and\n"
	       "leaves the figures in FOLDER, which must exist. SEED is that of the random numbers.\n",
	       name);
	exit(0);
}

struct job_order job_order(int argc, char **argv)
{
	struct job_order order = { .seed = DEFAULT_SEED };

	if (argc == 2 && !strcmp(argv[1], "--help"))
		help(argv[0]);
	if (argc < 2 || argc > 3)
		errx(2, "usage: %s FOLDER [SEED]", argv[0]);
	order.folder = argv[1];
	if (argc == 3)
		order.seed = strtoull(argv[2], NULL, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	return order;
}

void job_watch(struct job *job, int fd, uint32_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = data };

	must_sys(epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

void job_map(struct hwheel *wheel, size_t count)
{
	int error = hwheel_map(wheel, count);

	if (error != -EOPNOTSUPP)
		must(error, "map");
}

void job_start(struct job *job, const char *name, const struct job_order *order,
	       unsigned int cookies)
{
	struct hwheel_info info;

	*job = (struct job){ .name = name, .order = order, .cookies = cookies };
	job->timeouts = calloc(cookies, sizeof(*job->timeouts));
	job->late = calloc(cookies, sizeof(*job->late));
	if (!job->timeouts || !job->late)
		err(1, "calloc");
	must(hwheel_open(&job->wheel, HWHEEL_NONBLOCK | HWHEEL_ANYWHERE), HWHEEL_DEVICE);
	job_map(job->wheel, JOB_TIMEOUTS);
	must(hwheel_info(job->wheel, &info), "info");
	job->tick_ns = info.tick_ns;
	job->epoll = must_sys(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
	job_watch(job, hwheel_fd(job->wheel), JOB_WHEEL);
}

void job_wrong(struct job *job, const char *what, uint64_t which)
{
	if (job->wrong++ < SHOWN)
		printf("FAIL %s: %s: %llu\n", job->name, what, (unsigned long long)which);
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

void job_lateness(struct job *job, double ticks[3])
{
	static const unsigned int percents[3] = { 50, 99, 100 };

	memset(ticks, 0, 3 * sizeof(*ticks));
	qsort(job->late, job->fired, sizeof(*job->late), compare);
	for (int i = 0; i < 3 && job->fired; i++) {
		unsigned int rank = ((uint64_t)job->fired * percents[i] + 99) / 100;

		ticks[i] = (double)job->late[rank - 1] / job->tick_ns;
	}
	printf("%s: late by p50 %.2f, p99 %.2f, max %.2f ticks of %.0f ms\n", job->name, ticks[0],
	       ticks[1], ticks[2], (double)job->tick_ns / MSEC);
}

static void write_json(const struct job *job, const char *format, va_list values)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.json", job->order->folder, job->name);
	file = fopen(path, "we");
	if (!file)
		err(1, "%s", path);
	vfprintf(file, format, values);
	if (ferror(file) | fclose(file))
		err(1, "%s", path);
}

int job_finish(struct job *job, unsigned int expected, const char *format, ...)
{
	va_list values;

	if (job->armed != expected)
		job_wrong(job, "another number of timeouts was armed", job->armed);
	if (job_open(job))
		job_wrong(job, "timeouts are lost", job_open(job));
	if (job->refused)
		printf("%s: %u were to be cancelled or refreshed, but this machine was too late\n",
		       job->name, job->refused);
	printf("%s: %u armed, %u cancelled, %u fired, %u early: %s\n", job->name, job->armed,
	       job->cancelled, job->fired, job->early, job->wrong ? "FAIL" : "as it should be");
	va_start(values, format);
	write_json(job, format, values);
	va_end(values);
	close(job->epoll);
	must(hwheel_close(job->wheel), "close");
	return !!job->wrong;
}

void job_arm(struct job *job, uint64_t delay_ns, uint32_t cookie)
{
	struct job_timeout *timeout = &job->timeouts[cookie];

	timeout->due = clock_ns() + delay_ns;
	must(hwheel_arm(job->wheel, delay_ns, cookie, &timeout->id), "arm");
	job->armed++;
}

/* Looks at what a call returned that names a timeout which may have expired. */
static bool took_effect(struct job *job, const struct job_timeout *timeout, int result)
{
	if (result == -ENOENT) {
		job->refused++;
		if (clock_ns() < timeout->due)
			job_wrong(job, "said to have expired before its deadline", timeout->id);
		return false;
	}
	must(result, "cancel or refresh");
	if (timeout->cancelled || timeout->fired)
		job_wrong(job, "cancelled or refreshed, but it had ended before", timeout->id);
	return true;
}

bool job_refresh(struct job *job, uint64_t delay_ns, uint32_t cookie)
{
	struct job_timeout *timeout = &job->timeouts[cookie];
	uint64_t due = clock_ns() + delay_ns;

	if (!took_effect(job, timeout, hwheel_refresh(job->wheel, timeout->id, delay_ns)))
		return false;
	timeout->due = due;
	return true;
}

bool job_cancel(struct job *job, uint32_t cookie)
{
	struct job_timeout *timeout = &job->timeouts[cookie];

	if (!took_effect(job, timeout, hwheel_cancel(job->wheel, timeout->id)))
		return false;
	timeout->cancelled = true;
	job->cancelled++;
	return true;
}

/* Notes an event that was read at @clock. Returns false if it is for no timeout that is pending. */
static bool note_event(struct job *job, const struct hwheel_event *event, uint64_t clock)
{
	struct job_timeout *timeout = &job->timeouts[event->cookie % job->cookies];

	if (event->cookie >= job->cookies || event->id != timeout->id ||
	    event->type != HWHEEL_EVENT_EXPIRED) {
		job_wrong(job, "an event for an unknown timeout", event->id);
		return false;
	}
	if (timeout->cancelled || timeout->fired) {
		job_wrong(job, "a second outcome of one timeout", event->id);
		return false;
	}
	if (event->fired_ns < timeout->due || event->fired_ns < event->deadline_ns) {
		job->early++;
		job_wrong(job, "early", event->id);
	} else if (event->deadline_ns < timeout->due || event->fired_ns > clock) {
		job_wrong(job, "an event with another time", event->id);
	}
	timeout->fired = event->fired_ns;
	job->late[job->fired++] = event->fired_ns - timeout->due;
	return true;
}

void job_take_events(struct job *job, void (*seen)(const struct hwheel_event *, void *),
		     void *data)
{
	struct hwheel_event events[JOB_READ];
	int count;

	do {
		count = hwheel_next_events(job->wheel, events, JOB_READ);
		if (count == -EAGAIN)
			return;
		must(count, "read");

		uint64_t clock = clock_ns();

		for (int i = 0; i < count; i++)
			if (note_event(job, &events[i], clock) && seen)
				seen(&events[i], data);
	} while (count == JOB_READ);
}

void job_linger(struct job *job)
{
	uint64_t end = clock_ns() + LINGER_TICKS * job->tick_ns;
	struct epoll_event event;
	uint64_t now;

	while ((now = clock_ns()) < end) {
		epoll_wait(job->epoll, &event, 1, (end - now) / MSEC + 1);
		job_take_events(job, NULL, NULL);
	}
}
