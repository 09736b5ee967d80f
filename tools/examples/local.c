// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A wheel inside the program, without the module: says each line of its input again, and ends once
 * there was none for so many milliseconds.
 * usage: local MILLISECONDS
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "hwheel_local.h"

#define TICK_NS	1000000U	/* how late it may be */

static struct hwheel_local wheel;
static struct hwheel_local_timeout idle;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void on_idle(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	(void)of;
	(void)timeout;
	puts("idle");
	exit(0);
}

int main(int argc, char **argv)
{
	uint64_t delay_ns = argc == 2 ? strtoull(argv[1], NULL, 0) * 1000000U : 0;
	struct pollfd input = { .fd = 0, .events = POLLIN };
	char text[256];
	ssize_t size;

	if (!delay_ns) {
		fprintf(stderr, "usage: local MILLISECONDS\n");
		return 2;
	}
	setbuf(stdout, NULL);
	hwheel_local_init(&wheel, TICK_NS, now_ns());
	hwheel_local_timeout_init(&idle, on_idle);
	hwheel_local_set(&wheel, &idle, delay_ns);
	while (poll(&input, 1, hwheel_local_wait_ms(&wheel, now_ns())) >= 0) {
		hwheel_local_update(&wheel, now_ns());
		if (input.revents) {
			size = read(0, text, sizeof(text));
			if (size <= 0)
				return 0;
			fwrite(text, 1, (size_t)size, stdout);
			hwheel_local_set(&wheel, &idle, delay_ns);
		}
		hwheel_local_run(&wheel, now_ns());
	}
	perror("poll");
	return 1;
}
