// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "../../examples/ev_wheel.h"
#include "loop.h"

static struct ev_wheel wheel;
static struct ev_loop *loop;
static ev_io io;
static void (*on_readable)(void);

static struct hwheel_local *open_loop(void)
{
	loop = ev_loop_new(EVFLAG_AUTO);
	if (!loop)
		abort();
	ev_wheel_init(&wheel, loop, LOOP_TICK);
	return &wheel.wheel;
}

static void update(void)
{
	ev_wheel_update(&wheel);
}

static void set(struct hwheel_local_timeout *timeout, uint64_t delay_ns)
{
	hwheel_local_set(&wheel.wheel, timeout, delay_ns);
}

static void call(struct ev_loop *of, ev_io *watcher, int events)
{
	(void)events;
	ev_io_stop(of, watcher);
	on_readable();
}

static void watch(int fd, void (*readable)(void))
{
	on_readable = readable;
	ev_io_init(&io, call, fd, EV_READ);
	ev_set_priority(&io, 1);
	ev_io_start(loop, &io);
}

static void run(void)
{
	ev_run(loop, 0);
}

static void close_loop(void)
{
	ev_wheel_close(&wheel);
	run();
	ev_loop_destroy(loop);
}

const struct loop loop_of_ev = { open_loop, update, set, watch, run, close_loop };
