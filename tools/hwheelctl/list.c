// SPDX-License-Identifier: GPL-2.0-only
/* hwheelctl list: the wheels that there are, and who has files of the device open. */
#include <argp.h>
#include <stdbool.h>
#include <string.h>

#include "command.h"
#include "duration.h"
#include "durable.h"
#include "fail.h"
#include "files.h"
#include "option.h"
#include "wheels.h"

struct request {
	bool files;
	bool timeouts;
	const char *socket;
	bool json;
};

static void print_wheels(const struct wheels *wheels)
{
	char text[DURATION_TEXT];

	printf("%-12s %-12s %8s %7s %9s  %s\n", "WHEEL", "KIND", "TICK", "SLOTS", "PENDING",
	       "MADE BY");
	for (size_t i = 0; i < wheels->count; i++) {
		const struct wheel *wheel = &wheels->all[i];

		printf("%-12s %-12s %8s %7llu %9llu  %s\n", wheel->file,
		       wheel->kind, duration_format(wheel->tick_ns, text), wheel->slots,
		       wheel_pending(wheel), wheel->creator);
	}
}

static void print_files(const struct files *files)
{
	printf("%-16s %7s %4s %6s %-6s %10s %10s %10s\n", "COMMAND", "PID", "FD", "WHEEL",
	       "SORT", "PENDING", "EVENTS", "AT MOST");
	for (size_t i = 0; i < files->count; i++) {
		const struct open_file *file = &files->all[i];

		printf("%-16s %7d %4d %6llu %-6s %10llu %10llu %10llu\n",
		       file->command, file->pid, file->fd, file->wheel,
		       file->mapped ? "mapped" : "calls", file->pending, file->events,
		       file->max_timeouts);
	}
}

static struct json_object *file_json(const struct open_file *file)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "command", file->command);
	json_add_number(object, "pid", (__u64)file->pid);
	json_add_number(object, "fd", (__u64)file->fd);
	json_add_number(object, "wheel_id", file->wheel);
	json_object_object_add(object, "mapped", json_object_new_boolean(file->mapped));
	json_add_number(object, "pending", file->pending);
	json_add_number(object, "events", file->events);
	json_add_number(object, "max_timeouts", file->max_timeouts);
	return object;
}

static struct json_object *array_of_wheels(const struct wheels *wheels)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < wheels->count; i++)
		json_object_array_add(array, wheel_json(&wheels->all[i]));
	return array;
}

static struct json_object *array_of_files(const struct files *files)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < files->count; i++)
		json_object_array_add(array, file_json(&files->all[i]));
	return array;
}

static void print_json(const char *name, struct json_object *array)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, name, array);
	json_print(object);
}

static int list_wheels(bool json)
{
	struct wheels wheels = { 0 };
	int error = wheels_read(&wheels, NULL);

	if (error)
		return wheels_fail(NULL, error);
	if (json)
		print_json("wheels", array_of_wheels(&wheels));
	else
		print_wheels(&wheels);
	wheels_free(&wheels);
	return DONE;
}

static int list_files(bool json)
{
	struct files files = { 0 };
	int error = files_read(&files);

	if (error)
		return fail("/proc", error);
	if (json)
		print_json("files", array_of_files(&files));
	else
		print_files(&files);
	files_free(&files);
	return DONE;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case 'f':
		request->files = true;
		return 0;
	case 't':
		request->timeouts = true;
		return 0;
	case 's':
		request->socket = argument;
		return 0;
	case OPTION_JSON:
		request->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int list_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "files", 'f', NULL, 0,
		  "Not the wheels: the open files of the device, each with its process", 0 },
		{ "timeouts", 't', NULL, 0,
		  "Not the wheels: the durable timeouts that hwheeld keeps, as lines of JSON", 0 },
		{ "socket", 's', "PATH", 0, "For --timeouts: where hwheeld listens", 0 },
		{ "json", OPTION_JSON, NULL, 0, "Print JSON", 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "List the wheels that there are: the one that the device's files share,\n"
		       "those that files have of their own, and those of other modules. For root\n"
		       "alone; `--files' shows anyone the files of one's own processes.\n"
		       "\vExamples:\n"
		       "  sudo hwheelctl list\n"
		       "  sudo hwheelctl list --files\n"
		       "  hwheelctl list --timeouts\n"
		       "  sudo hwheelctl list --json | jq -r '.wheels[].wheel'\n",
	};
	struct request request = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &request);
	if (request.timeouts)
		return durable_list(request.socket);
	return request.files ? list_files(request.json) : list_wheels(request.json);
}
