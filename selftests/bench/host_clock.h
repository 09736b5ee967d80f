/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HOST_CLOCK_H
#define _HOST_CLOCK_H

#include <linux/time.h>
#include <linux/time_types.h>
#include <linux/types.h>
#include <linux/unistd.h>

/*
 * The time, in ns, that this CPU of a user-mode kernel has run: it is a thread of the
 * host, which others may keep from running. System calls made by the kernel are the host's.
 */
static inline u64 host_cpu_time(void)
{
	struct __kernel_timespec time;
	long err = __NR_clock_gettime;

	asm volatile("syscall" : "+a" (err)
		     : "D" (CLOCK_THREAD_CPUTIME_ID), "S" (&time)
		     : "rcx", "r11", "memory");
	return err ? 0 : time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

/* Has the host run this CPU of a user-mode kernel on one of its own only. */
static inline void host_stay_on(unsigned int cpu)
{
	unsigned long mask = 1UL << cpu;
	long err = __NR_sched_setaffinity;

	asm volatile("syscall" : "+a" (err)
		     : "D" (0), "S" (sizeof(mask)), "d" (&mask)
		     : "rcx", "r11", "memory");
}

#endif /* _HOST_CLOCK_H */
