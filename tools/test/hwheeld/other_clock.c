// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded: the wall clock of the process is ahead by CLOCK_AHEAD seconds, which
 * may be negative, and CLOCK_BOOTTIME by BOOT_AHEAD, as on another machine. Its other clocks stay
 * as they are, and so do its timers. (ZooKeeper's servers elect no leader with
 * libfaketime, which changes how long threads wait as well.)
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(clockid_t clock)
{
	const char *name = clock == CLOCK_REALTIME ? "CLOCK_AHEAD" :
			   clock == CLOCK_BOOTTIME ? "BOOT_AHEAD" : "";
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int error = (int)syscall(SYS_clock_gettime, clock, time);

	if (!error)
		time->tv_sec += ahead(clock);
	return error;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	struct timespec exact;
	int error = clock_gettime(CLOCK_REALTIME, &exact);

	(void)zone;
	time->tv_sec = exact.tv_sec;
	time->tv_usec = exact.tv_nsec / 1000;
	return error;
}
