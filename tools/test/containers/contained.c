// SPDX-License-Identifier: GPL-2.0-only
/*
 * The containers of containers_test.sh run this program:
 *
 *   contained deadline [mapped]     Arms an absolute deadline on the clock that the process sees.
 *   contained fill COUNT [mapped]   Arms so many timeouts, in as many files as that takes, says
 *                                   how far it came, and keeps them until it is killed.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "libhwheel.h"

#define MS	1000000ull
#define HOUR	(3600 * 1000 * MS)

/* A deadline is rounded up to a multiple of 8 ns of the wheel's clock, a mapped one of this. */
#define UNIT_NS	1024

static struct hwheel *open_wheel(void)
{
	struct hwheel *wheel;
	int error = hwheel_open(&wheel, 0);

	if (error)
		errx(1, "open: %s", strerror(-error));
	return wheel;
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static bool is_right(const struct hwheel_event *event, uint64_t deadline_ns)
{
	return event->deadline_ns >= deadline_ns && event->deadline_ns < deadline_ns + UNIT_NS &&
	       event->fired_ns >= event->deadline_ns && event->fired_ns <= clock_ns();
}

/* Prints the deadline in whole seconds, for the machine outside to compare with its own clock. */
static int meet_deadline(bool mapped)
{
	struct hwheel *wheel = open_wheel();
	struct hwheel_event event;
	uint64_t deadline_ns, id;
	int error = mapped ? hwheel_map(wheel, 1) : 0;

	deadline_ns = clock_ns() + 50 * MS;
	if (!error)
		error = hwheel_arm_at(wheel, deadline_ns, 0, &id);
	if (error)
		errx(1, "arm: %s", strerror(-error));
	if (hwheel_next_events(wheel, &event, 1) != 1 || !is_right(&event, deadline_ns))
		errx(1, "deadline %llu for %llu, fired %llu", event.deadline_ns,
		     (unsigned long long)deadline_ns, event.fired_ns);
	printf("%llu\n", event.deadline_ns / (1000 * MS));
	return 0;
}

/* Until the file is full, @left are armed, or there is no memory */
static int fill_file(bool mapped, unsigned long *left)
{
	struct hwheel *wheel = open_wheel();
	struct hwheel_info info;
	uint64_t id;
	int error = hwheel_info(wheel, &info);

	if (!error && mapped)
		error = hwheel_map(wheel, info.max_timeouts);
	for (__u64 i = 0; !error && i < info.max_timeouts && *left; i++) {
		error = hwheel_arm(wheel, HOUR, 0, &id);
		if (!error)
			--*left;
	}
	return error;
}

/* The program has all its pages before, as a page fault could find no memory, either. */
static int fill(unsigned long count, bool mapped)
{
	unsigned long left = 1;
	int error = fill_file(mapped, &left);

	puts("begins");
	fflush(stdout);
	if (error || mlockall(MCL_CURRENT))
		err(1, "first");
	for (left = count; left && !error;)
		error = fill_file(mapped, &left);
	printf("armed %lu: %s\n", count - left, strerror(-error));
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	bool mapped = !strcmp(argv[argc - 1], "mapped");

	if (argc >= 2 && !strcmp(argv[1], "deadline"))
		return meet_deadline(mapped);
	if (argc >= 3 && !strcmp(argv[1], "fill"))
		return fill(strtoul(argv[2], NULL, 10), mapped);
	errx(2, "deadline or fill?");
}
