// SPDX-License-Identifier: GPL-2.0-only
#include <sys/timerfd.h>
#include <unistd.h>

#include "heartbeat.h"
#include "must.h"

#define TIMEOUTS	500	/* not more than a process may have files */
#define REFRESHES	(200 * TIMEOUTS)
#define DELAY		(60 * SEC)

static unsigned int per_second(uint64_t ns)
{
	return REFRESHES * SEC / ns;
}

unsigned int rate_hwheel(void)
{
	static uint64_t ids[TIMEOUTS];
	struct hwheel *wheel;
	uint64_t begin, end;

	must(hwheel_open(&wheel, HWHEEL_ANYWHERE), "open");
	job_map(wheel, TIMEOUTS);
	for (int i = 0; i < TIMEOUTS; i++)
		must(hwheel_arm(wheel, DELAY, 0, &ids[i]), "arm");
	begin = clock_ns();
	for (int i = 0; i < REFRESHES; i++)
		must(hwheel_refresh_at(wheel, ids[i % TIMEOUTS], begin + DELAY + i), "refresh");
	end = clock_ns();
	must(hwheel_close(wheel), "close");
	return per_second(end - begin);
}

unsigned int rate_timerfd(void)
{
	struct itimerspec deadline = { .it_value.tv_sec = (clock_ns() + DELAY) / SEC };
	static int timers[TIMEOUTS];
	uint64_t begin, end;

	for (int i = 0; i < TIMEOUTS; i++)
		timers[i] = must_sys(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC),
				     "timerfd_create");
	begin = clock_ns();
	for (int i = 0; i < REFRESHES; i++) {
		deadline.it_value.tv_nsec = i;
		must_sys(timerfd_settime(timers[i % TIMEOUTS], TFD_TIMER_ABSTIME, &deadline,
					 NULL), "timerfd_settime");
	}
	end = clock_ns();
	for (int i = 0; i < TIMEOUTS; i++)
		close(timers[i]);
	return per_second(end - begin);
}
