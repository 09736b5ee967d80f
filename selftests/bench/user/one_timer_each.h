/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The steps of a facility that has a timer of the kernel's for each timeout, and sets it
 * with a system call. The file that includes this one defines three functions before:
 *
 *	create()	makes timers
 *	set_timer()	sets one
 *	end()		deletes timers
 *
 * The loops are in a header so that set_timer() is inlined into each: a call through a
 * pointer would be counted as a part of what the facility takes.
 */
#ifndef _USER_BENCH_ONE_TIMER_EACH_H
#define _USER_BENCH_ONE_TIMER_EACH_H

#include "facility.h"

static void refresh(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct itimerspec in = itimerspec_of(2 * delays[which[i]]);

		set_timer(which[i], &in);
	}
}

static void arm(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	create(which, nr);
	for (i = 0; i < nr; i++) {
		struct itimerspec in = itimerspec_of(delays[which[i]]);

		set_timer(which[i], &in);
	}
}

static void live(const unsigned int *which, unsigned int nr)
{
	arm(which, nr);
	end(which, nr);
}

static const struct step steps[] = {
	{ "user.refresh", ANY, refresh },
	{ "user.cancel", ANY, end },
	{ "user.arm", SAME, arm },
	{ "user.life_arm_cancel", MORE, live },
	{ }
};

#endif /* _USER_BENCH_ONE_TIMER_EACH_H */
