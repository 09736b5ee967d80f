// SPDX-License-Identifier: GPL-2.0-only
/*
 * A POSIX timer for each timeout, with a signal that is blocked. (With SIGEV_NONE the
 * kernel does not start a timer at all: that would be to measure less.)
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "facility.h"

static timer_t *timers;
static unsigned int nr_timers;

static void posix_open(unsigned int room)
{
	struct rlimit limit = { room, room };
	sigset_t signals;

	must(!setrlimit(RLIMIT_SIGPENDING, &limit), "RLIMIT_SIGPENDING");
	sigemptyset(&signals);
	sigaddset(&signals, SIGRTMIN);
	must(!sigprocmask(SIG_BLOCK, &signals, NULL), "sigprocmask");
	timers = handles(room, sizeof(*timers));
	nr_timers = 0;
}

static void create(const unsigned int *which, unsigned int nr)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		event.sigev_value.sival_int = which[i];
		must(!timer_create(CLOCK_MONOTONIC, &event, &timers[which[i]]),
		     "timer_create");
	}
}

static inline void set_timer(unsigned int i, const struct itimerspec *in)
{
	must(!timer_settime(timers[i], 0, in, NULL), "timer_settime");
}

static void end(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		must(!timer_delete(timers[which[i]]), "timer_delete");
}

#include "one_timer_each.h"

static void fill(const unsigned int *which, unsigned int nr)
{
	arm(which, nr);
	nr_timers += nr;
}

/* Which are pending now are those that it was filled with. */
static void posix_close(void)
{
	unsigned int i;

	for (i = 0; i < nr_timers; i++)
		end(&i, 1);
	free(timers);
}

const struct facility posix = {
	.name	= "posix",
	.open	= posix_open,
	.arm	= fill,
	.close	= posix_close,
	.steps	= steps,
};
