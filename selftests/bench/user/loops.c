// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event loops libuv and libevent, with a timer for each timeout. Timers of libuv are in a heap,
 * and those of libevent in a queue for 30 s (event_base_init_common_timeout()) or in a heap.
 */
#include <stdlib.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <uv.h>

#include "peer.h"

/* Timeouts of common.c */
#define DELAY_SEC	30

static unsigned int expired;

/* libuv */

static uv_loop_t uv;
static uv_timer_t *uv_timers;

static void on_uv(uv_timer_t *timer)
{
	(void)timer;
	expired++;
}

static void uv_peer_open(unsigned int room, __u64 tick_ns)
{
	unsigned int i;

	(void)tick_ns;
	uv_timers = zeros(room, sizeof(*uv_timers));
	must(!uv_loop_init(&uv), "uv_loop_init");
	for (i = 0; i < room; i++)
		must(!uv_timer_init(&uv, &uv_timers[i]), "uv_timer_init");
}

/* The loop reads the clock once in a turn. */
static __u64 uv_delay(__u64 deadline, __u64 now)
{
	return (deadline - now + MSEC - 1) / MSEC;
}

static void uv_peer_arm(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	unsigned int i;
	__u64 now;

	uv_update_time(&uv);
	now = now_ns();
	for (i = first; i < first + nr; i++)
		must(!uv_timer_start(&uv_timers[i], on_uv, uv_delay(deadlines[i], now), 0),
		     "uv_timer_start");
}

static void uv_peer_move(const unsigned int *which, unsigned int nr, __u64 deadline)
{
	__u64 delay;
	unsigned int i;
	int error = 0;

	uv_update_time(&uv);
	delay = uv_delay(deadline, now_ns());
	for (i = 0; i < nr; i++)
		error |= uv_timer_start(&uv_timers[which[i]], on_uv, delay, 0);
	must(!error, "uv_timer_start");
}

static void uv_peer_cancel(unsigned int first, unsigned int nr)
{
	unsigned int i;
	int error = 0;

	for (i = first; i < first + nr; i++)
		error |= uv_timer_stop(&uv_timers[i]);
	must(!error, "uv_timer_stop");
}

static unsigned int uv_peer_take(void)
{
	expired = 0;
	uv_run(&uv, UV_RUN_NOWAIT);
	return expired;
}

static void uv_peer_block(void)
{
	for (expired = 0; !expired;)
		uv_run(&uv, UV_RUN_ONCE);
}

static void uv_peer_close(void)
{
	free(uv_timers);
}

const struct peer libuv_peer = {
	.name		= "libuv",
	.open		= uv_peer_open,
	.arm		= uv_peer_arm,
	.refresh	= uv_peer_arm,
	.cancel		= uv_peer_cancel,
	.take		= uv_peer_take,
	.move		= uv_peer_move,
	.block		= uv_peer_block,
	.close		= uv_peer_close,
};

/* libevent */

static struct event_base *base;
static struct event *events;
static const struct timeval *common;

static void on_event(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	expired++;
}

static void event_peer_open(unsigned int room, __u64 tick_ns)
{
	const struct timeval delay = { .tv_sec = DELAY_SEC };
	unsigned int i;

	(void)tick_ns;
	base = event_base_new();
	must(base, "event_base_new");
	common = event_base_init_common_timeout(base, &delay);
	must(common, "event_base_init_common_timeout");
	events = zeros(room, sizeof(*events));
	for (i = 0; i < room; i++)
		must(!evtimer_assign(&events[i], base, on_event, NULL), "evtimer_assign");
}

static void event_peer_arm(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	__u64 now = now_ns(), delay;
	struct timeval tv;
	unsigned int i;

	for (i = first; i < first + nr; i++) {
		delay = deadlines[i] - now;
		tv = (struct timeval){ delay / SEC, delay % SEC / 1000 };
		must(!event_add(&events[i], &tv), "event_add");
	}
}

static void event_peer_move(const unsigned int *which, unsigned int nr, __u64 deadline)
{
	unsigned int i;
	int error = 0;

	(void)deadline;
	for (i = 0; i < nr; i++)
		error |= event_add(&events[which[i]], common);
	must(!error, "event_add");
}

static void call(evutil_socket_t fd, short what, void *body)
{
	(void)fd;
	(void)what;
	((void (*)(void))body)();
}

/* In a turn of the loop its clock is read once. */
static void event_peer_inside(void (*body)(void))
{
	static const struct timeval at_once;

	must(!event_base_once(base, -1, EV_TIMEOUT, call, body, &at_once), "event_base_once");
	must(!event_base_loop(base, EVLOOP_ONCE), "event_base_loop");
}

static void event_peer_cancel(unsigned int first, unsigned int nr)
{
	unsigned int i;
	int error = 0;

	for (i = first; i < first + nr; i++)
		error |= event_del(&events[i]);
	must(!error, "event_del");
}

static unsigned int event_peer_take(void)
{
	expired = 0;
	must(!event_base_loop(base, EVLOOP_NONBLOCK), "event_base_loop");
	return expired;
}

static void event_peer_block(void)
{
	for (expired = 0; !expired;)
		must(!event_base_loop(base, EVLOOP_ONCE), "event_base_loop");
}

static void event_peer_close(void)
{
	free(events);
}

const struct peer libevent_peer = {
	.name		= "libevent",
	.open		= event_peer_open,
	.arm		= event_peer_arm,
	.refresh	= event_peer_arm,
	.cancel		= event_peer_cancel,
	.take		= event_peer_take,
	.move		= event_peer_move,
	.inside		= event_peer_inside,
	.block		= event_peer_block,
	.close		= event_peer_close,
};
