// SPDX-License-Identifier: GPL-2.0-only
/* hwheelctl arm: timeouts with these delays, and how late each came. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "command.h"
#include "duration.h"
#include "fail.h"
#include "json.h"
#include "libhwheel.h"
#include "option.h"
#include "place.h"

struct request {
	__u64 *delays;	/* ns */
	size_t count;
	__u64 cookie;	/* of the first one */
	__u64 tick_ns;	/* of a wheel of its own; 0: the shared one */
	bool json;
};

static void print_event(const struct hwheel_event *event, const struct hwheel_info *info,
			bool json)
{
	__u64 late_ns = event->fired_ns - event->deadline_ns;
	struct json_object *object;

	if (!json) {
		printf("cookie %llu expired %.1f us after its deadline (%.3f ticks)\n",
		       event->cookie, late_ns / 1e3, (double)late_ns / info->tick_ns);
		fflush(stdout);
		return;
	}
	object = json_object_new_object();
	json_add_number(object, "id", event->id);
	json_add_number(object, "cookie", event->cookie);
	json_add_number(object, "deadline_ns", event->deadline_ns);
	json_add_number(object, "fired_ns", event->fired_ns);
	json_add_number(object, "late_ns", late_ns);
	json_print(object);
}

static int arm_all(struct hwheel *wheel, const struct request *request)
{
	uint64_t id;
	int error;

	for (size_t i = 0; i < request->count; i++) {
		error = hwheel_arm(wheel, request->delays[i], request->cookie + i, &id);
		if (error)
			return fail_arm(wheel, "arm", error);
	}
	return DONE;
}

static int wait_for_all(struct hwheel *wheel, const struct request *request)
{
	struct hwheel_event event;
	struct hwheel_info info;
	int ret = hwheel_info(wheel, &info);

	if (ret)
		return fail("info", ret);
	for (size_t left = request->count; left; left--) {
		do {
			ret = hwheel_next_events(wheel, &event, 1);
		} while (ret == -EINTR);
		if (ret != 1)
			return fail("wait", ret ? ret : -EPIPE);
		print_event(&event, &info, request->json);
	}
	return DONE;
}

static int configure(struct hwheel *wheel, __u64 tick_ns)
{
	const struct hwheel_config config = {
		.tick_ns = tick_ns, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	int error = tick_ns ? hwheel_configure(wheel, &config) : 0;

	return error ? fail_configure("a wheel with this tick", error) : DONE;
}

static int run(const struct request *request)
{
	struct hwheel *wheel;
	int ret;

	ret = hwheel_open(&wheel, HWHEEL_ANYWHERE);
	if (ret)
		return fail_open(ret);
	place_say(wheel);
	ret = configure(wheel, request->tick_ns);
	if (!ret)
		ret = arm_all(wheel, request);
	if (!ret)
		ret = wait_for_all(wheel, request);
	hwheel_close(wheel);
	return ret;
}

static void add_delay(struct request *request, __u64 delay_ns)
{
	request->delays = reallocarray(request->delays, request->count + 1, sizeof(__u64));
	if (!request->delays)
		abort();
	request->delays[request->count++] = delay_ns;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case 'c':
		request->cookie = option_number(state, key, argument);
		return 0;
	case OPTION_TICK:
		request->tick_ns = option_duration(state, key, argument);
		return 0;
	case OPTION_JSON:
		request->json = true;
		return 0;
	case ARGP_KEY_ARG:
		add_delay(request, option_duration(state, key, argument));
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a duration is missing, such as 250ms");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int arm_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "cookie", 'c', "N", 0,
		  "Number that the event brings back (default 0); the next ones get N+1, N+2...",
		  0 },
		{ "tick", OPTION_TICK, "DURATION", 0,
		  "On a wheel of its own, with this tick", 0 },
		{ "json", OPTION_JSON, NULL, 0, "Print JSON, a line for each", 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "DURATION...",
		.doc = "Arm a timeout for each DURATION, wait for all of them, and print how\n"
		       "late each came, in the order in which they expire.\n"
		       "\vExamples:\n"
		       "  hwheelctl arm 250ms\n"
		       "  hwheelctl arm 2m --cookie 42\n"
		       "  hwheelctl arm 1s 1.5s 2s --tick 1ms --json\n",
	};
	struct request request = { 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &request);
	ret = run(&request);
	free(request.delays);
	return ret;
}
