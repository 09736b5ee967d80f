// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "../../examples/event_wheel.h"
#include "loop.h"

static struct event_wheel wheel;
static struct event_base *base;
static void (*on_readable)(void);

static struct hwheel_local *open_loop(void)
{
	base = event_base_new();
	if (!base)
		abort();
	event_wheel_init(&wheel, base, LOOP_TICK);
	return &wheel.wheel;
}

static void update(void)
{
	event_wheel_update(&wheel);
}

static void set(struct hwheel_local_timeout *timeout, uint64_t delay_ns)
{
	hwheel_local_set(&wheel.wheel, timeout, delay_ns);
}

static void call(evutil_socket_t fd, short events, void *data)
{
	(void)fd;
	(void)events;
	(void)data;
	update();
	on_readable();
}

static void watch(int fd, void (*readable)(void))
{
	on_readable = readable;
	if (event_base_once(base, fd, EV_READ, call, NULL, NULL))
		abort();
}

static void run(void)
{
	if (event_base_dispatch(base) < 0)
		abort();
}

static void close_loop(void)
{
	event_wheel_close(&wheel);
	run();
	event_base_free(base);
}

const struct loop loop_of_event = { open_loop, update, set, watch, run, close_loop };
