/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * A wheel inside a libuv loop: any number of timeouts for one uv_timer_t and one uv_prepare_t.
 * Both are inactive while nothing is pending, so that the loop ends as it does with uv_timer_t's.
 *
 * The wheel's time is the loop's, which libuv reads once in a turn and cuts to a millisecond; the
 * clock that it reads may itself be a millisecond old. So a delay counts from 2 ms later, and no
 * timeout is early. A callback that takes long calls uv_update_time() before it sets a timeout, as
 * it would before uv_timer_start().
 *
 * Callbacks get &uv_wheel.wheel, the first member, and may do all but close the wheel.
 */
#ifndef UV_WHEEL_H
#define UV_WHEEL_H

#include <uv.h>

#include "hwheel_local.h"

#define UV_WHEEL_MS	1000000U	/* ns */

struct uv_wheel {
	struct hwheel_local	wheel;
	uv_timer_t		timer;
	uv_prepare_t		prepare;
	uv_close_cb		closed;
};

static inline void uv_wheel_ring(uv_timer_t *timer)
{
	struct uv_wheel *uv = (struct uv_wheel *)timer->data;

	hwheel_local_run(&uv->wheel, uv_now(timer->loop) * UV_WHEEL_MS);
}

/* In each turn. The alarm hears of it when the last timeout was cancelled. */
static inline void uv_wheel_look(uv_prepare_t *prepare)
{
	struct uv_wheel *uv = (struct uv_wheel *)prepare->data;

	hwheel_local_is_empty(&uv->wheel);
}

/* By the loop's own time the timer rings at @at_ns or after it, never before. */
static inline void uv_wheel_alarm(struct hwheel_local *wheel, uint64_t at_ns)
{
	struct uv_wheel *uv = (struct uv_wheel *)wheel;
	uint64_t now = uv_now(uv->timer.loop), at = at_ns / UV_WHEEL_MS + !!(at_ns % UV_WHEEL_MS);

	if (at_ns == HWHEEL_LOCAL_NEVER) {
		uv_timer_stop(&uv->timer);
		uv_prepare_stop(&uv->prepare);
		return;
	}
	uv_timer_start(&uv->timer, uv_wheel_ring, at > now ? at - now : 0, 0);
	uv_prepare_start(&uv->prepare, uv_wheel_look);
}

/* tick_ns: how late a timeout may be beside the loop's millisecond */
static inline void uv_wheel_init(struct uv_wheel *uv, uv_loop_t *loop, uint64_t tick_ns)
{
	uv_timer_init(loop, &uv->timer);
	uv_prepare_init(loop, &uv->prepare);
	uv->timer.data = uv;
	uv->prepare.data = uv;
	hwheel_local_init(&uv->wheel, tick_ns, uv_now(loop) * UV_WHEEL_MS);
	hwheel_local_set_alarm(&uv->wheel, uv_wheel_alarm);
}

/* Delays count from the loop's time. Before each call of hwheel_local.h that has a delay */
static inline void uv_wheel_update(struct uv_wheel *uv)
{
	hwheel_local_update(&uv->wheel, (uv_now(uv->timer.loop) + 2) * UV_WHEEL_MS);
}

/* As hwheel_local_set(): moves or arms. */
static inline bool uv_wheel_set(struct uv_wheel *uv, struct hwheel_local_timeout *timeout,
				uint64_t delay_ns)
{
	uv_wheel_update(uv);
	return hwheel_local_set(&uv->wheel, timeout, delay_ns);
}

/* libuv says nothing of the order in which handles that are closed together end. */
static inline void uv_wheel_close_last(uv_handle_t *timer)
{
	struct uv_wheel *uv = (struct uv_wheel *)timer->data;

	uv_close((uv_handle_t *)&uv->prepare, uv->closed);
}

/* Ends all timeouts. The loop refers to *uv until it calls closed() for uv->prepare. */
static inline void uv_wheel_close(struct uv_wheel *uv, uv_close_cb closed)
{
	hwheel_local_fini(&uv->wheel);
	uv->closed = closed;
	uv_close((uv_handle_t *)&uv->timer, uv_wheel_close_last);
}

#endif /* UV_WHEEL_H */
