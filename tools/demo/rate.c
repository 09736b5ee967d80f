// SPDX-License-Identifier: GPL-2.0-only
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "job.h"
#include "libhwheel.h"
#include "must.h"
#include "rate.h"
#include "record.h"

#define TIMEOUTS	500	/* not more than a process may have files */
#define REFRESHES	(200 * TIMEOUTS)
#define DELAY		(60 * SEC)

static uint64_t time_hwheel(void)
{
	static uint64_t ids[TIMEOUTS];
	struct hwheel *wheel;
	uint64_t begin, end;

	must(hwheel_open(&wheel, 0), "open");
	job_map(wheel, TIMEOUTS);
	for (int i = 0; i < TIMEOUTS; i++)
		must(hwheel_arm(wheel, DELAY, 0, &ids[i]), "arm");
	begin = clock_ns();
	for (int i = 0; i < REFRESHES; i++)
		must(hwheel_refresh_at(wheel, ids[i % TIMEOUTS], begin + DELAY + i), "refresh");
	end = clock_ns();
	must(hwheel_close(wheel), "close");
	return end - begin;
}

static uint64_t time_timerfd(void)
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
	return end - begin;
}

void rate_measure(struct record *record)
{
	record_line(record, "refreshes", REFRESHES, time_hwheel());
	record_line(record, "settimes", REFRESHES, time_timerfd());
}
