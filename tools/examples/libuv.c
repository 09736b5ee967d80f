// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Timeouts in a libuv loop: as many as one likes, for one handle of libuv.
 *
 * libuv keeps its own timers in a heap. Here uv_poll waits for the wheel's descriptor beside all
 * else that the loop does, and each event calls a function.
 *
 *   libuv COUNT MILLISECONDS
 *
 * arms COUNT requests with deadlines from now up to MILLISECONDS, of which every other one is
 * answered in time, as the loop's own timer stands for.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "libhwheel.h"

#define BATCH	64

struct request {
	void (*expire)(struct request *request);
	uint64_t id;
};

static struct hwheel *wheel;
static uv_poll_t poll_handle;
static uv_timer_t answer_timer;
static struct request *requests;
static size_t count, left, answered, expired;

static void must(int result, const char *what)
{
	if (result < 0)
		errx(1, "%s: %s", what, strerror(-result));
}

/* With no handle left the loop ends. */
static void end_one(void)
{
	if (--left)
		return;
	uv_close((uv_handle_t *)&poll_handle, NULL);
	uv_close((uv_handle_t *)&answer_timer, NULL);
}

static void request_expired(struct request *request)
{
	request->id = 0;
	expired++;
	end_one();
}

static void on_events(uv_poll_t *handle, int status, int mask)
{
	struct hwheel_event events[BATCH];
	int n;

	(void)handle;
	(void)mask;
	must(status, "uv_poll");
	n = hwheel_next_events(wheel, events, BATCH);
	if (n == -EAGAIN)
		return;
	must(n, "events");
	for (int i = 0; i < n; i++) {
		struct request *request = (void *)(uintptr_t)events[i].cookie;

		request->expire(request);
	}
}

/* The answers to every other request come. One that comes too late finds no timeout. */
static void on_answers(uv_timer_t *timer)
{
	(void)timer;
	for (size_t i = 0; i < count; i += 2) {
		if (hwheel_cancel(wheel, requests[i].id))
			continue;
		answered++;
		end_one();
	}
}

static void send_requests(uint64_t longest_ns)
{
	requests = calloc(count, sizeof(*requests));
	if (!requests)
		err(1, "calloc");
	for (size_t i = 0; i < count; i++) {
		requests[i].expire = request_expired;
		must(hwheel_arm(wheel, longest_ns / count * (i + 1), (uintptr_t)&requests[i],
				&requests[i].id), "arm");
	}
	left = count;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	uint64_t longest_ms;

	if (argc != 3)
		errx(2, "usage: %s COUNT MILLISECONDS", argv[0]);
	count = strtoul(argv[1], NULL, 10);
	longest_ms = strtoull(argv[2], NULL, 10);
	if (!count)
		errx(2, "COUNT is at least 1");
	must(hwheel_open(&wheel, HWHEEL_NONBLOCK | HWHEEL_ANYWHERE), HWHEEL_DEVICE);
	must(uv_poll_init(loop, &poll_handle, hwheel_fd(wheel)), "uv_poll_init");
	must(uv_poll_start(&poll_handle, UV_READABLE, on_events), "uv_poll_start");
	must(uv_timer_init(loop, &answer_timer), "uv_timer_init");
	must(uv_timer_start(&answer_timer, on_answers, longest_ms / 2, 0), "uv_timer_start");
	send_requests(longest_ms * 1000000);
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%zu answered, %zu expired, %zu in all\n", answered, expired, count);
	free(requests);
	return hwheel_close(wheel) ? 1 : 0;
}
