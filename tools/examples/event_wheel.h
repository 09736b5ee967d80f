/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * A wheel inside a libevent loop: any number of timeouts for one event, which is not added while
 * nothing is pending, so that the loop ends.
 *
 * libevent calls nothing when it wakes up, and keeps its monotonic time to itself. So each of the
 * program's callbacks that arms a timeout calls event_wheel_update() first, which reads the clock:
 * delays count from there. It also takes the event out of the loop once the last timeout was
 * cancelled. Without it the loop wakes up once more, and ends then.
 *
 * Callbacks get &event_wheel.wheel, the first member, and may do all but close the wheel.
 */
#ifndef EVENT_WHEEL_H
#define EVENT_WHEEL_H

#include <time.h>
#include <event2/event.h>
#include <event2/event_struct.h>

#include "hwheel_local.h"

#define EVENT_WHEEL_SEC	1000000000U	/* ns */

struct event_wheel {
	struct hwheel_local	wheel;
	struct event		timer;
};

static inline uint64_t event_wheel_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * EVENT_WHEEL_SEC + (uint64_t)now.tv_nsec;
}

static inline void event_wheel_update(struct event_wheel *event)
{
	hwheel_local_update(&event->wheel, event_wheel_now());
	hwheel_local_is_empty(&event->wheel);
}

/* Rounded up to a microsecond. With a time_t of 32 bits a farther time rings early, and again. */
static inline void event_wheel_alarm(struct hwheel_local *wheel, uint64_t at_ns)
{
	struct event_wheel *event = (struct event_wheel *)wheel;
	uint64_t now = event_wheel_now(), us = at_ns > now ? (at_ns - now + 999) / 1000 : 0;
	const uint64_t farthest = INT32_MAX * UINT64_C(1000000);
	struct timeval delay;

	if (us > farthest)
		us = farthest;
	delay.tv_sec = (time_t)(us / 1000000);
	delay.tv_usec = (suseconds_t)(us % 1000000);

	if (at_ns == HWHEEL_LOCAL_NEVER)
		evtimer_del(&event->timer);
	else
		evtimer_add(&event->timer, &delay);
}

/* libevent's time is coarse, and old within a callback: the event comes early then, and again. */
static inline void event_wheel_ring(evutil_socket_t fd, short events, void *data)
{
	struct event_wheel *event = (struct event_wheel *)data;

	(void)fd;
	(void)events;
	hwheel_local_run(&event->wheel, event_wheel_now());
	if (!evtimer_pending(&event->timer, NULL))
		event_wheel_alarm(&event->wheel, hwheel_local_next(&event->wheel));
}

/*
 * tick_ns: how late a timeout may be beside libevent's time, of 4 ms as a rule, or finer with
 * EVENT_BASE_FLAG_PRECISE_TIMER
 */
static inline void event_wheel_init(struct event_wheel *event, struct event_base *base,
				    uint64_t tick_ns)
{
	evtimer_assign(&event->timer, base, event_wheel_ring, event);
	hwheel_local_init(&event->wheel, tick_ns, event_wheel_now());
	hwheel_local_set_alarm(&event->wheel, event_wheel_alarm);
}

/* Ends all timeouts. */
static inline void event_wheel_close(struct event_wheel *event)
{
	hwheel_local_fini(&event->wheel);
	evtimer_del(&event->timer);
}

#endif /* EVENT_WHEEL_H */
