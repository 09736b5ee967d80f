// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "job.h"
#include "must.h"

#define LINGER_TICKS	3
#define DEFAULT_SEED	20240229

static void help(const char *name)
{
	printf("usage: %s FOLDER [SEED]\n"
	       "A part of the demonstration of make run. It leaves records of all that happens to\n"
	       "its timeouts in FOLDER, which must exist. SEED is that of the random numbers.\n",
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

void job_start(struct job *job, const char *name, const struct job_order *order)
{
	struct hwheel_info info;

	*job = (struct job){ .name = name };
	must(hwheel_open(&job->wheel, HWHEEL_NONBLOCK), HWHEEL_DEVICE);
	job_map(job->wheel, JOB_TIMEOUTS);
	must(hwheel_info(job->wheel, &info), "info");
	job->tick_ns = info.tick_ns;
	job->epoll = must_sys(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
	job_watch(job, hwheel_fd(job->wheel), JOB_WHEEL);
	record_open(&job->record, order->folder, name);
	record_line(&job->record, "seed", order->seed);
	record_line(&job->record, "tick", job->tick_ns);
}

void job_finish(struct job *job)
{
	printf("%s: %lu armed, %lu cancelled, %lu fired\n", job->name, job->armed,
	       job->cancelled, job->fired);
	record_close(&job->record);
	close(job->epoll);
	must(hwheel_close(job->wheel), "close");
}

uint64_t job_arm(struct job *job, uint64_t delay_ns, uint64_t cookie)
{
	uint64_t clock = clock_ns();
	uint64_t id;

	must(hwheel_arm(job->wheel, delay_ns, cookie, &id), "arm");
	record_arm(&job->record, id, cookie, clock, delay_ns);
	job->armed++;
	return id;
}

int job_cancel(struct job *job, uint64_t id)
{
	int result = hwheel_cancel(job->wheel, id);

	record_cancel(&job->record, id, result, clock_ns());
	job->cancelled += !result;
	return result;
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

		for (int i = 0; i < count; i++) {
			record_event(&job->record, &events[i], clock);
			if (seen)
				seen(&events[i], data);
		}
		job->fired += count;
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
