// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded: clocks of the process are ahead of the machine's, by the seconds that
 * the file OTHER_CLOCK has. They may be negative, and change at any time. A program that is ahead
 * on CLOCK_BOOTTIME is as on a machine that booted earlier: timerfds with absolute times, which are
 * taken to be of that clock, follow. A timerfd that waits for a step of the wall clock sees none.
 *
 * etcd's clock is the vDSO's, which Go calls without the C library: a jump is written over it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* The file. Other processes write it. */
struct ahead {
	int64_t wall;
	int64_t boot;
};

static const struct ahead none, *ahead = &none;

static int64_t ahead_on(clockid_t clock)
{
	return clock == CLOCK_REALTIME ? __atomic_load_n(&ahead->wall, __ATOMIC_RELAXED) :
	       clock == CLOCK_BOOTTIME ? __atomic_load_n(&ahead->boot, __ATOMIC_RELAXED) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int error = (int)syscall(GETTIME, clock, time);

	if (!error)
		time->tv_sec += ahead_on(clock);
	return error;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	struct itimerspec when = *new;
	int64_t seconds = ahead_on(CLOCK_BOOTTIME);

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

#ifdef __x86_64__
#define PAGE	4096UL

/* As the vDSO has it: no errno, and little of a stack that is not the C library's */
static long in_place_of_vdso(clockid_t clock, struct timespec *time)
{
	long error;

	__asm__ volatile("syscall" : "=a" (error) : "a" (SYS_clock_gettime), "D" (clock), "S" (time)
			 : "rcx", "r11", "memory");
	if (!error)
		time->tv_sec += ahead_on(clock);
	return error;
}

static int replace_vdso(void)
{
	unsigned char jump[] = { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 };
	long (*target)(clockid_t, struct timespec *) = in_place_of_vdso;
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	char *code = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
	char *page = (char *)((uintptr_t)code & -PAGE);

	if (!code || mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -1;
	memcpy(jump + 2, &target, sizeof(target));
	memcpy(code, jump, sizeof(jump));
	return mprotect(page, 2 * PAGE, PROT_READ | PROT_EXEC);
}
#else
static int replace_vdso(void)
{
	return 0;
}
#endif

static __attribute__((constructor)) void begin(void)
{
	const char *path = getenv("OTHER_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = mmap(NULL, sizeof(none), PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED || replace_vdso()) {
		perror("other_clock");
		_exit(1);
	}
	close(fd);
	ahead = map;
}
