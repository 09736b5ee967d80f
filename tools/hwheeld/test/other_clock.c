// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded: the wall clock of the process is ahead by CLOCK_AHEAD seconds, which
 * may be negative. CLOCK_BOOTTIME is ahead by BOOT_AHEAD seconds, as on a machine that booted
 * earlier, and so are timerfds with absolute times. The other clocks stay as they are.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* The calls that take a time of 64 bits, where another one takes fewer */
#ifdef SYS_clock_gettime64
#define GETTIME	SYS_clock_gettime64
#define SETTIME	SYS_timerfd_settime64
#else
#define GETTIME	SYS_clock_gettime
#define SETTIME	SYS_timerfd_settime
#endif

static long ahead(clockid_t clock)
{
	const char *name = clock == CLOCK_REALTIME ? "CLOCK_AHEAD" :
			   clock == CLOCK_BOOTTIME ? "BOOT_AHEAD" : "";
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int error = (int)syscall(GETTIME, clock, time);

	if (!error)
		time->tv_sec += ahead(clock);
	return error;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	struct itimerspec when = *new;
	long seconds = ahead(CLOCK_BOOTTIME);

	if (flags & TFD_TIMER_ABSTIME && when.it_value.tv_sec > seconds)
		when.it_value.tv_sec -= seconds;
	else if (flags & TFD_TIMER_ABSTIME && when.it_value.tv_sec)
		when.it_value = (struct timespec) { 0, 1 };
	return (int)syscall(SETTIME, fd, flags, &when, old);
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
