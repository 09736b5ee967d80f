// SPDX-License-Identifier: GPL-2.0-only
/* hwheelctl stats: all that wheels have counted, and how late timeouts expired. */
#include <argp.h>
#include <stdbool.h>

#include "command.h"
#include "duration.h"
#include "fail.h"
#include "histogram.h"
#include "openmetrics.h"
#include "option.h"
#include "wheels.h"

struct request {
	const char *choice;
	bool json;
	bool openmetrics;
};

static void print_wheel(struct wheel *wheel)
{
	char text[DURATION_TEXT];

	printf("%s: %s wheel, tick %s, %llu slots, made by %s\n", wheel->file, wheel->kind,
	       duration_format(wheel->tick_ns, text), wheel->slots, wheel->creator);
	for (size_t i = 0; i < wheel_counters_count; i++)
		printf("  %-17s %14llu  %s\n", wheel_counters[i].name,
		       *wheel_value(wheel, &wheel_counters[i]), wheel_counters[i].meaning);
	puts("  How late those that expired were, in ticks, without mapped ones:");
	histogram_print(stdout, wheel->lateness);
}

static void print_json(const struct wheels *wheels)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < wheels->count; i++)
		json_object_array_add(array, wheel_json(&wheels->all[i]));
	json_object_object_add(object, "wheels", array);
	json_print(object);
}

static int run(const struct request *request)
{
	struct wheels wheels = { 0 };
	int error = wheels_read(&wheels, request->choice);

	if (error)
		return wheels_fail(request->choice, error);
	if (request->openmetrics)
		openmetrics_print(stdout, &wheels);
	else if (request->json)
		print_json(&wheels);
	else
		for (size_t i = 0; i < wheels.count; i++)
			print_wheel(&wheels.all[i]);
	wheels_free(&wheels);
	return DONE;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case OPTION_JSON:
		request->json = true;
		return 0;
	case OPTION_OPENMETRICS:
		request->openmetrics = true;
		return 0;
	case ARGP_KEY_ARG:
		request->choice = option_wheel(state, argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int stats_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "json", OPTION_JSON, NULL, 0, "Print JSON", 0 },
		{ "openmetrics", OPTION_OPENMETRICS, NULL, 0, "Print OpenMetrics, for Prometheus",
		  0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "[WHEEL]",
		.doc = "Print all that wheels have counted since they were made, and a histogram\n"
		       "of how late timeouts expired. WHEEL is a name or number from `hwheelctl\n"
		       "list'; without it, all.\n"
		       "\vExamples:\n"
		       "  sudo hwheelctl stats\n"
		       "  sudo hwheelctl stats u0-2\n"
		       "  sudo hwheelctl stats --json | jq '.wheels[] | .pending'\n"
		       "  sudo hwheelctl stats --openmetrics >hwheel.prom\n",
	};
	struct request request = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &request);
	return run(&request);
}
