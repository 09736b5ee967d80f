// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A rate-limited delay queue: of the lines that are read, at most N are let through in any
 * INTERVAL; the others wait in line.
 *
 * There are N permits. Each call takes one, which comes back by a timeout an INTERVAL after
 * the call. As no timeout is early, whatever the interval that one looks at, there can't
 * be N + 1 calls in it. A queue like that keeps the limits of somebody else's API.
 *
 *   rate_limit N MILLISECONDS <LINES
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libhwheel.h"

#define EVENTS	64

static struct hwheel *wheel;
static unsigned long permits;

static void must(int result, const char *what)
{
	if (result < 0)
		errx(1, "%s: %s", what, strerror(-result));
}

static void wait_for_permits(void)
{
	struct hwheel_event events[EVENTS];
	int count = hwheel_next_events(wheel, events, EVENTS);

	must(count, "events");
	permits += (unsigned long)count;
}

/* Stands for the call. It prints the time, so that a reader can check the limit. */
static void call(const char *line)
{
	printf("%llu %s", (unsigned long long)hwheel_now(wheel), line);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint64_t interval_ns, id;
	char line[4096];
	int error;

	if (argc != 3)
		errx(2, "usage: %s N MILLISECONDS <LINES", argv[0]);
	permits = strtoul(argv[1], NULL, 10);
	interval_ns = strtoull(argv[2], NULL, 10) * 1000000;
	if (!permits)
		errx(2, "N is at least 1");
	must(hwheel_open(&wheel, HWHEEL_ANYWHERE), HWHEEL_DEVICE);
	/* No system call to arm, where the kernel can do that */
	error = hwheel_map(wheel, permits);
	if (error != -EOPNOTSUPP)
		must(error, "map");
	while (fgets(line, sizeof(line), stdin)) {
		while (!permits)
			wait_for_permits();
		permits--;
		call(line);
		must(hwheel_arm(wheel, interval_ns, 0, &id), "arm");
	}
	return hwheel_close(wheel) ? 1 : 0;
}
