// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded: the wall clock of the process is ahead by CLOCK_AHEAD seconds, which
 * may be negative. Its other clocks stay as they are. (ZooKeeper's servers elect no leader with
 * libfaketime, which changes how long threads wait as well.)
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
	const char *ahead = getenv("CLOCK_AHEAD");
	int error = (int)syscall(SYS_clock_gettime, clock, time);

	if (!error && clock == CLOCK_REALTIME && ahead)
		time->tv_sec += atol(ahead);
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
