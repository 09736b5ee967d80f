// SPDX-License-Identifier: GPL-2.0-only
/* Three timeouts of 500 ms, 1 s and 1.5 s; the second is cancelled. */
#include <stdio.h>

#include "clock.h"
#include "job.h"

#define TIMEOUTS	3
#define CANCELLED	1

static const uint64_t delays[TIMEOUTS] = { 500 * MSEC, 1000 * MSEC, 1500 * MSEC };

static void print_event(const struct hwheel_event *event, void *data)
{
	uint64_t late_ns = event->fired_ns - event->deadline_ns;
	const struct job *job = data;

	printf("first: %4llu ms: event, %llu us after its deadline (%.2f ticks)\n",
	       delays[event->cookie] / MSEC, late_ns / 1000ULL,
	       (double)late_ns / job->tick_ns);
}

static void wait_for_events(struct job *job)
{
	struct epoll_event event;

	while (job_open(job) > 0 && epoll_wait(job->epoll, &event, 1, JOB_PATIENCE))
		job_take_events(job, print_event, job);
}

int main(int argc, char **argv)
{
	struct job_order order = job_order(argc, argv);
	struct job job;

	job_start(&job, "first", &order, TIMEOUTS);
	for (int i = 0; i < TIMEOUTS; i++)
		job_arm(&job, delays[i], i);
	/* At once: later a machine that stalls could be too late for it */
	if (job_cancel(&job, CANCELLED))
		printf("first: %4llu ms: cancelled\n", delays[CANCELLED] / MSEC);
	wait_for_events(&job);
	job_linger(&job);
	return job_finish(&job, TIMEOUTS,
			  "\"events\": { \"expected\": %u, \"seen\": %u, \"early\": %u },\n",
			  job.armed - job.cancelled, job.fired, job.early);
}
