/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * A wheel inside a libev loop: any number of timeouts for one ev_timer, one ev_prepare and one
 * ev_check. None of them keeps the loop going while nothing is pending.
 *
 * A delay counts from the last time that the loop woke up: the check comes before all callbacks of
 * lower priority, and reads CLOCK_MONOTONIC, as libev's own ev_now() may be set. A program that
 * arms while the loop does not run, or in a callback that takes long, calls ev_wheel_update()
 * before.
 *
 * Callbacks get &ev_wheel.wheel, the first member, and may do all but close the wheel.
 */
#ifndef EV_WHEEL_H
#define EV_WHEEL_H

#include <time.h>
#include <ev.h>

#include "hwheel_local.h"

#define EV_WHEEL_SEC	1000000000U	/* ns */

struct ev_wheel {
	struct hwheel_local	wheel;
	struct ev_loop		*loop;
	ev_timer		timer;
	ev_prepare		prepare;
	ev_check		check;
};

static inline uint64_t ev_wheel_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * EV_WHEEL_SEC + (uint64_t)now.tv_nsec;
}

static inline void ev_wheel_update(struct ev_wheel *ev)
{
	hwheel_local_update(&ev->wheel, ev_wheel_now());
}

static inline void ev_wheel_alarm(struct hwheel_local *wheel, uint64_t at_ns)
{
	struct ev_wheel *ev = (struct ev_wheel *)wheel;
	uint64_t now;

	ev_timer_stop(ev->loop, &ev->timer);
	if (at_ns == HWHEEL_LOCAL_NEVER)
		return;
	now = ev_wheel_now();
	ev_timer_set(&ev->timer, at_ns > now ? (double)(at_ns - now) / EV_WHEEL_SEC : 0, 0);
	ev_timer_start(ev->loop, &ev->timer);
}

/* libev counts from the loop's time, which may be old: then the timer rings early, and again. */
static inline void ev_wheel_ring(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct ev_wheel *ev = (struct ev_wheel *)timer->data;

	(void)loop;
	(void)events;
	hwheel_local_run(&ev->wheel, ev_wheel_now());
	if (!ev_is_active(timer))
		ev_wheel_alarm(&ev->wheel, hwheel_local_next(&ev->wheel));
}

/* In each turn. The alarm hears of it when the last timeout was cancelled. */
static inline void ev_wheel_look(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	struct ev_wheel *ev = (struct ev_wheel *)prepare->data;

	(void)loop;
	(void)events;
	hwheel_local_is_empty(&ev->wheel);
}

static inline void ev_wheel_wake(struct ev_loop *loop, ev_check *check, int events)
{
	(void)loop;
	(void)events;
	ev_wheel_update((struct ev_wheel *)check->data);
}

/* tick_ns: how late a timeout may be */
static inline void ev_wheel_init(struct ev_wheel *ev, struct ev_loop *loop, uint64_t tick_ns)
{
	ev->loop = loop;
	ev_init(&ev->timer, ev_wheel_ring);
	ev_prepare_init(&ev->prepare, ev_wheel_look);
	ev_check_init(&ev->check, ev_wheel_wake);
	ev_set_priority(&ev->check, EV_MAXPRI);
	ev->timer.data = ev;
	ev->prepare.data = ev;
	ev->check.data = ev;
	ev_prepare_start(loop, &ev->prepare);
	ev_unref(loop);
	ev_check_start(loop, &ev->check);
	ev_unref(loop);
	hwheel_local_init(&ev->wheel, tick_ns, ev_wheel_now());
	hwheel_local_set_alarm(&ev->wheel, ev_wheel_alarm);
}

/* Ends all timeouts. */
static inline void ev_wheel_close(struct ev_wheel *ev)
{
	hwheel_local_fini(&ev->wheel);
	ev_timer_stop(ev->loop, &ev->timer);
	ev_ref(ev->loop);
	ev_check_stop(ev->loop, &ev->check);
	ev_ref(ev->loop);
	ev_prepare_stop(ev->loop, &ev->prepare);
}

#endif /* EV_WHEEL_H */
