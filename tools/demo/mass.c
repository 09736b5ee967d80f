// SPDX-License-Identifier: GPL-2.0-only
/*
 * 100,000 timeouts, armed one after the other over 2 s with delays of up to 2 s.
 * 90 % are cancelled, each at a random moment before its deadline; the others
 * fire. (On a machine that cannot keep up a cancel may come too late: that one
 * fires as well.)
 */
#include <stdio.h>
#include <stdlib.h>

#include "chance.h"
#include "clock.h"
#include "job.h"

#define TIMEOUTS	100000
#define CANCELS		90000
#define ACTIONS		(TIMEOUTS + CANCELS)
#define SPAN		(2 * SEC)
#define LONGEST		(2 * SEC)
#define BATCH		512	/* actions between two looks at the events */

/* Arm or cancel timeout number @number, @when ns after the start */
struct action {
	uint64_t when;
	uint32_t number;
	uint32_t cancel;
};

static struct action plan[ACTIONS];
static uint64_t delays[TIMEOUTS];
static bool doomed[TIMEOUTS];

static int compare(const void *left, const void *right)
{
	const struct action *a = left, *b = right;

	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	return (int)a->cancel - (int)b->cancel;	/* armed before it is cancelled */
}

static void make_plan(uint64_t seed)
{
	struct action *next = plan;

	chance_pick(&seed, doomed, TIMEOUTS, CANCELS);
	for (uint32_t i = 0; i < TIMEOUTS; i++) {
		uint64_t when = i * (SPAN / TIMEOUTS);

		delays[i] = 1 + chance(&seed, LONGEST);
		*next++ = (struct action){ when, i, false };
		if (doomed[i])
			*next++ = (struct action){ when + chance(&seed, delays[i]), i, true };
	}
	qsort(plan, ACTIONS, sizeof(*plan), compare);
}

static void act(struct job *job, const struct action *action)
{
	if (action->cancel)
		job_cancel(job, action->number);
	else
		job_arm(job, delays[action->number], action->number);
}

/* Does what is due, a batch at most; returns what comes next */
static unsigned int act_due(struct job *job, unsigned int next, uint64_t start)
{
	unsigned int end = next + BATCH < ACTIONS ? next + BATCH : ACTIONS;
	uint64_t now = clock_ns() - start;

	while (next < end && plan[next].when <= now)
		act(job, &plan[next++]);
	return next;
}

static void print_progress(const struct job *job)
{
	static uint64_t next;
	uint64_t now = clock_ns();

	if (now < next)
		return;
	next = now + SEC;
	printf("mass: %u armed, %u cancelled, %u fired\n", job->armed, job->cancelled, job->fired);
}

static void run(struct job *job)
{
	uint64_t start = clock_ns();
	struct epoll_event event;
	unsigned int next = 0;

	while (next < ACTIONS || job_open(job) > 0) {
		int patience = next < ACTIONS ? 1 : JOB_PATIENCE;

		next = act_due(job, next, start);
		if (!epoll_wait(job->epoll, &event, 1, patience) && patience == JOB_PATIENCE)
			return;
		job_take_events(job, NULL, NULL);
		print_progress(job);
	}
}

int main(int argc, char **argv)
{
	struct job_order order = job_order(argc, argv);
	double ticks[3];
	struct job job;

	job_start(&job, "mass", &order, TIMEOUTS);
	printf("mass: seed %llu\n", (unsigned long long)order.seed);
	make_plan(order.seed);
	run(&job);
	job_linger(&job);
	job_lateness(&job, ticks);
	if (job.cancelled + job.refused != CANCELS)
		job_wrong(&job, "another number of cancels", job.cancelled + job.refused);
	return job_finish(&job, TIMEOUTS,
			  "\"mass\": { \"armed\": %u, \"cancelled\": %u, \"fired\": %u, \"early\": %u,\n"
			  "\"lateness_ticks\": { \"p50\": %.3f, \"p99\": %.3f, \"max\": %.3f } },\n",
			  job.armed, job.cancelled, job.fired, job.early, ticks[0], ticks[1],
			  ticks[2]);
}
