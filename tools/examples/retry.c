// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A retry queue with exponential back-off: runs commands, and those that fail again after
 * 100 ms, 200 ms, 400 ms and so on. Each waiting job is one timeout, whose cookie is the
 * job's number: a million of them would cost no more than their memory.
 *
 *   retry COMMAND...
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libhwheel.h"

#define FIRST_MS	100
#define ATTEMPTS	5
#define EVENTS		64

struct job {
	const char *command;
	unsigned int attempts;	/* so far */
};

static struct hwheel *wheel;
static unsigned int waiting, failed;

static void must(int result, const char *what)
{
	if (result < 0)
		errx(1, "%s: %s", what, strerror(-result));
}

static void retry_later(const struct job *job, uint64_t number)
{
	uint64_t delay_ms = (uint64_t)FIRST_MS << (job->attempts - 1);
	uint64_t id;

	must(hwheel_arm(wheel, delay_ms * 1000000, number, &id), "arm");
	waiting++;
	printf("%s: attempt %u failed, next in %llu ms\n", job->command, job->attempts,
	       (unsigned long long)delay_ms);
}

static void run(struct job *job, uint64_t number)
{
	int status = system(job->command);

	job->attempts++;
	if (!status) {
		printf("%s: done, attempt %u\n", job->command, job->attempts);
	} else if (job->attempts < ATTEMPTS) {
		retry_later(job, number);
	} else {
		printf("%s: given up after %u attempts\n", job->command, job->attempts);
		failed++;
	}
}

int main(int argc, char **argv)
{
	struct hwheel_event events[EVENTS];
	struct job *jobs = calloc((size_t)argc, sizeof(*jobs));
	int error;

	if (argc < 2 || !jobs)
		errx(2, "usage: %s COMMAND...", argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(hwheel_open(&wheel, HWHEEL_ANYWHERE), HWHEEL_DEVICE);
	/* No system call to arm, where the kernel can do that */
	error = hwheel_map(wheel, (size_t)argc);
	if (error != -EOPNOTSUPP)
		must(error, "map");
	for (int i = 1; i < argc; i++) {
		jobs[i].command = argv[i];
		run(&jobs[i], (uint64_t)i);
	}
	while (waiting) {
		int count = hwheel_next_events(wheel, events, EVENTS);

		must(count, "events");
		waiting -= (unsigned int)count;
		for (int i = 0; i < count; i++)
			run(&jobs[events[i].cookie], events[i].cookie);
	}
	hwheel_close(wheel);
	free(jobs);
	return failed ? 1 : 0;
}
