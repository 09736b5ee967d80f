// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "../../examples/uv_wheel.h"
#include "loop.h"

static struct uv_wheel *wheel;
static uv_loop_t loop;
static uv_poll_t poll_handle;
static void (*on_readable)(void);

static struct hwheel_local *open_loop(void)
{
	if (uv_loop_init(&loop))
		abort();
	wheel = malloc(sizeof(*wheel));
	if (!wheel)
		abort();
	uv_wheel_init(wheel, &loop, LOOP_TICK);
	return &wheel->wheel;
}

static void update(void)
{
	uv_update_time(&loop);
}

static void set(struct hwheel_local_timeout *timeout, uint64_t delay_ns)
{
	uv_wheel_set(wheel, timeout, delay_ns);
}

static void call(uv_poll_t *handle, int status, int events)
{
	(void)status;
	(void)events;
	uv_close((uv_handle_t *)handle, NULL);
	on_readable();
}

static void watch(int fd, void (*readable)(void))
{
	on_readable = readable;
	if (uv_poll_init(&loop, &poll_handle, fd) || uv_poll_start(&poll_handle, UV_READABLE, call))
		abort();
}

static void run(void)
{
	uv_run(&loop, UV_RUN_DEFAULT);
}

static void free_wheel(uv_handle_t *handle)
{
	(void)handle;
	memset(wheel, 0xa5, sizeof(*wheel));
	free(wheel);
}

static void close_loop(void)
{
	uv_wheel_close(wheel, free_wheel);
	run();
	if (uv_loop_close(&loop))
		abort();
}

const struct loop loop_of_uv = { open_loop, update, set, watch, run, close_loop };
