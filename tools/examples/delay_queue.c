// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A delay queue whose deliveries are limited: each job waits for its own delay, and at most N jobs
 * are delivered in any INTERVAL, in the order in which they became due.
 *
 * Two kinds of timeouts share a wheel, told apart by their cookies: a job points to itself, and a
 * permit, which comes back an INTERVAL after its delivery, is 0. As no timeout is early, no job is
 * delivered before its delay, and no INTERVAL has N + 1 deliveries.
 *
 *   delay_queue N MILLISECONDS <LINES          each line: MILLISECONDS TEXT
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libhwheel.h"

#define BATCH	64

struct job {
	struct job *next;
	char *text;
};

static struct hwheel *wheel;
static struct job *first, **end = &first;	/* jobs that are due */
static uint64_t interval_ns;
static unsigned long permits, waiting;

static void must(int result, const char *what)
{
	if (result < 0)
		errx(1, "%s: %s", what, strerror(-result));
}

static void add_job(const char *line)
{
	struct job *job = calloc(1, sizeof(*job));
	char *text = NULL;
	uint64_t delay_ms = strtoull(line, &text, 10), id;

	if (!job || text == line || *text != ' ')
		errx(2, "not MILLISECONDS TEXT: %s", line);
	job->text = strdup(text + 1);
	if (!job->text)
		err(1, "strdup");
	must(hwheel_arm(wheel, delay_ms * 1000000, (uintptr_t)job, &id), "arm");
	waiting++;
}

static void add_jobs(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin))
		add_job(line);
}

/* Stands for the call that the limit is for. The time is told, so that the limit can be checked. */
static void deliver(void)
{
	struct job *job = first;
	uint64_t id;

	first = job->next;
	if (!first)
		end = &first;
	printf("%llu %s", (unsigned long long)hwheel_now(wheel), job->text);
	fflush(stdout);
	must(hwheel_arm(wheel, interval_ns, 0, &id), "arm");
	permits--;
	waiting--;
	free(job->text);
	free(job);
}

static void take_event(const struct hwheel_event *event)
{
	struct job *job = (void *)(uintptr_t)event->cookie;

	if (!job) {
		permits++;
		return;
	}
	job->next = NULL;
	*end = job;
	end = &job->next;
}

static void take_events(void)
{
	struct hwheel_event events[BATCH];
	int count = hwheel_next_events(wheel, events, BATCH);

	must(count, "events");
	for (int i = 0; i < count; i++)
		take_event(&events[i]);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: %s N MILLISECONDS <LINES", argv[0]);
	permits = strtoul(argv[1], NULL, 10);
	interval_ns = strtoull(argv[2], NULL, 10) * 1000000;
	if (!permits)
		errx(2, "N is at least 1");
	must(hwheel_open(&wheel, HWHEEL_ANYWHERE), HWHEEL_DEVICE);
	add_jobs();
	while (waiting) {
		while (first && permits)
			deliver();
		if (waiting)
			take_events();
	}
	return hwheel_close(wheel) ? 1 : 0;
}
