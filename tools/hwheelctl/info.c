// SPDX-License-Identifier: GPL-2.0-only
/* hwheelctl info: what the module can do, and what a wheel is like on which a program begins. */
#include <argp.h>
#include <stdbool.h>

#include "array.h"
#include "command.h"
#include "duration.h"
#include "fail.h"
#include "json.h"
#include "libhwheel.h"
#include "name.h"
#include "option.h"
#include "place.h"

static const struct { __u64 bit; const char *name; } features[] = {
	{ HWHEEL_FEATURE_QUERY,	 "query" },
	{ HWHEEL_FEATURE_SUBMIT, "submit" },
	{ HWHEEL_FEATURE_CONFIG, "config" },
	{ HWHEEL_FEATURE_STOP,	 "stop" },
	{ HWHEEL_FEATURE_STATS,	 "stats" },
	{ HWHEEL_FEATURE_MAP,	 "map" },
	{ HWHEEL_FEATURE_SET,	 "set" },
	{ HWHEEL_FEATURE_WITHDRAW, "withdraw" },
};

#define FEATURES	ARRAY_SIZE(features)

static const char *name_of_place(const struct hwheel_info *info)
{
	return place_is_local(info) ? "process" : "kernel";
}

static void print_limit(const char *name, unsigned long long limit)
{
	if (limit)
		printf("%s%llu\n", name, limit);
	else
		printf("%sno limit\n", name);
}

static void print_text(const struct hwheel_info *info)
{
	char text[DURATION_TEXT];

	printf("place              %s\n", name_of_place(info));
	printf("kind               %s\n", name_of_kind(info->kind));
	printf("tick               %s\n", duration_format(info->tick_ns, text));
	printf("slots              %u x %u level%s\n", info->slots, info->levels,
	       info->levels == 1 ? "" : "s");
	printf("one turn           %s\n", duration_format(info->tick_ns * info->slots, text));
	printf("clock              %s\n", name_of_clock(info->clock));
	print_limit("timeouts per file  ", info->max_timeouts);
	print_limit("pending at a time  ", info->max_pending);
	print_limit("bytes per account  ", info->max_user_bytes);
	printf("batch at most      %u\n", info->max_submit);
	fputs("features          ", stdout);
	for (size_t i = 0; i < FEATURES; i++)
		if (info->features & features[i].bit)
			printf(" %s", features[i].name);
	putchar('\n');
}

static void print_json(const struct hwheel_info *info)
{
	struct json_object *object = json_object_new_object();
	struct json_object *names = json_object_new_array();

	json_add_text(object, "place", name_of_place(info));
	json_add_text(object, "kind", name_of_kind(info->kind));
	json_add_number(object, "tick_ns", info->tick_ns);
	json_add_number(object, "slots", info->slots);
	json_add_number(object, "levels", info->levels);
	json_add_text(object, "clock", name_of_clock(info->clock));
	json_add_number(object, "max_timeouts", info->max_timeouts);
	json_add_number(object, "max_pending", info->max_pending);
	json_add_number(object, "max_user_bytes", info->max_user_bytes);
	json_add_number(object, "max_submit", info->max_submit);
	for (size_t i = 0; i < FEATURES; i++)
		if (info->features & features[i].bit)
			json_object_array_add(names, json_object_new_string(features[i].name));
	json_object_object_add(object, "features", names);
	json_print(object);
}

static int run(bool json)
{
	struct hwheel_info info;
	struct hwheel *wheel;
	int error;

	error = hwheel_open(&wheel, HWHEEL_ANYWHERE);
	if (error)
		return fail_open(error);
	place_say(wheel);
	error = hwheel_info(wheel, &info);
	hwheel_close(wheel);
	if (error)
		return fail("info", error);
	if (json)
		print_json(&info);
	else
		print_text(&info);
	return DONE;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	bool *json = state->input;

	(void)argument;
	if (key != OPTION_JSON)
		return ARGP_ERR_UNKNOWN;
	*json = true;
	return 0;
}

int info_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "json", OPTION_JSON, NULL, 0, "Print JSON", 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Print what the module on this machine can do, and what a default wheel is\n"
		       "like, which the programs of a user share.\n"
		       "\vExamples:\n"
		       "  hwheelctl info\n"
		       "  hwheelctl info --json | jq .tick_ns\n",
	};
	bool json = false;

	argp_parse(&argp, argc, argv, 0, NULL, &json);
	return run(json);
}
