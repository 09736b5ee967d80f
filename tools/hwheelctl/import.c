// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheelctl import: puts the timeouts of lines that hwheelctl export has printed. It only creates:
 * one that is there stays as it is, so that an import which was interrupted can be repeated.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "command.h"
#include "daemon.h"
#include "date.h"
#include "fail.h"
#include "strict_json.h"

/* A line has so many bytes at most: a payload of 64 KiB in which all is escaped, and a key */
#define LINE_ROOM	(512U << 10)

/* A request has so many timeouts, and bytes of lines beyond a single one. */
#define BATCH_LINES	500
#define BATCH_BYTES	(256U << 10)

#define STATUS_CREATED	201
#define STATUS_IS_THERE	412

static const char there[] = "there is such a timeout";

struct line {
	unsigned long long number;	/* from 1 */
	struct json_object *timeout;
};

struct import {
	const char *socket;
	char text[LINE_ROOM + 1];
	unsigned long long number;	/* of the line that was read last */
	struct line lines[BATCH_LINES];
	size_t count;
	size_t bytes;
	__u64 created;
	__u64 there;
};

/* Reading a line */

static bool is_text(struct json_object *value)
{
	return json_object_is_type(value, json_type_string) &&
	       strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

static bool is_one_of(struct json_object *value, const char *const *words, size_t count)
{
	size_t i = 0;

	while (i < count && is_text(value) && strcmp(json_object_get_string(value), words[i]))
		i++;
	return is_text(value) && i < count;
}

/* Returns NULL, or what is wrong. */
static const char *check_member(const char *name, struct json_object *value)
{
	static const char *const kinds[] = { "delay", "deadline" };
	static const char *const states[] = { "pending", "due", "leased" };
	__u64 ns;

	if (!strcmp(name, "key"))
		return is_text(value) ? NULL : "key: a text without zeros is expected";
	if (!strcmp(name, "queue"))
		return is_text(value) ? NULL : "queue: a text without zeros is expected";
	if (!strcmp(name, "payload"))
		return json_object_is_type(value, json_type_string) ? NULL :
		       "payload: a text is expected";
	if (!strcmp(name, "kind"))
		return is_one_of(value, kinds, ARRAY_SIZE(kinds)) ? NULL :
		       "kind: delay or deadline is expected";
	if (!strcmp(name, "state"))
		return is_one_of(value, states, ARRAY_SIZE(states)) ? NULL :
		       "state: pending, due or leased is expected";
	if (!strcmp(name, "deadline"))
		return is_text(value) && date_parse(json_object_get_string(value), &ns) ? NULL :
		       "deadline: a date is expected, such as 2026-12-24T18:00:00.000Z";
	if (!strcmp(name, "deliveries"))
		return json_object_is_type(value, json_type_int) &&
		       json_object_get_int64(value) >= 0 ? NULL :
		       "deliveries: a whole number is expected";
	return "an unknown member";
}

static const char *check_timeout(struct json_object *timeout)
{
	static const char *const needed[] = { "key", "queue", "kind", "deadline", "payload" };
	const char *wrong;

	if (!json_object_is_type(timeout, json_type_object))
		return "a JSON object is expected";
	json_object_object_foreach(timeout, name, value) {
		wrong = check_member(name, value);
		if (wrong)
			return wrong;
	}
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!json_object_object_get_ex(timeout, needed[i], NULL))
			return "key, queue, kind, deadline and payload are expected";
	return NULL;
}

/* Takes the line that is in text, of @length bytes. Returns NULL, or what is wrong. */
static const char *take_line(struct import *import, size_t length)
{
	struct json_object *timeout = NULL;
	const char *wrong = NULL, *name;
	size_t name_length;

	import->text[length] = '\0';
	if (length == LINE_ROOM)
		wrong = "the line is too long";
	else if (memchr(import->text, '\0', length))
		wrong = "the line has a zero byte";
	else
		timeout = strict_json(import->text, length);
	if (!wrong)
		wrong = timeout ? strict_json_mistake(import->text, &name, &name_length) :
			"this is not JSON";
	wrong = wrong ?: check_timeout(timeout);
	if (wrong) {
		json_object_put(timeout);
		return wrong;
	}
	import->lines[import->count++] = (struct line) { import->number, timeout };
	import->bytes += length;
	return NULL;
}

/* Reads up to LINE_ROOM bytes of a line. Returns false at the end. */
static bool read_line(struct import *import, size_t *length)
{
	int byte = getchar_unlocked();

	if (byte == EOF)
		return false;
	for (*length = 0; byte != EOF && byte != '\n' && *length < LINE_ROOM; ++*length) {
		import->text[*length] = (char)byte;
		byte = getchar_unlocked();
	}
	import->number++;
	return true;
}

/* Putting lines */

/* A delay counts from now: the daemon reads it later. */
static struct json_object *wish_json(const struct line *line)
{
	static const char *const names[] = { "key", "queue", "payload" };
	struct json_object *wish = json_object_new_object();
	__u64 at = 0, now = date_now();
	char delay[32];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_add_member_of(wish, names[i], line->timeout);
	if (!strcmp(json_text_of(line->timeout, "kind"), "deadline")) {
		json_add_member_of(wish, "deadline", line->timeout);
		return wish;
	}
	date_parse(json_text_of(line->timeout, "deadline"), &at);
	snprintf(delay, sizeof(delay), "%lluns", (unsigned long long)(at > now ? at - now : 0));
	json_add_text(wish, "delay", delay);
	return wish;
}

static struct json_object *batch_json(const struct line *lines, size_t count)
{
	struct json_object *array = json_object_new_array(), *batch = json_object_new_object();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, wish_json(&lines[i]));
	json_object_object_add(batch, "timeouts", array);
	return batch;
}

static void print_there(const struct line *line)
{
	struct json_object *object = json_object_new_object();

	json_add_member_of(object, "key", line->timeout);
	json_add_number(object, "line", line->number);
	json_add_text(object, "error", there);
	json_print(object);
}

/* Counts or prints the result of a line. Returns an exit code. */
static int note_result(struct import *import, const struct line *line, struct json_object *result)
{
	int status = json_object_get_int(json_object_object_get(result, "status"));
	struct json_object *error = NULL;

	if (status == STATUS_CREATED) {
		import->created++;
		return DONE;
	}
	if (status == STATUS_IS_THERE) {
		import->there++;
		print_there(line);
		return DONE;
	}
	json_object_object_get_ex(result, "error", &error);
	fprintf(stderr, "hwheelctl: line %llu: %s (%d)\n", line->number,
		error ? json_object_get_string(error) : "no reason is given", status);
	return FAILED;
}

static int note_results(struct import *import, const struct line *lines, size_t count,
			struct json_object *body)
{
	struct json_object *array = NULL;
	int status = DONE;

	if (!json_object_object_get_ex(body, "results", &array) ||
	    !json_object_is_type(array, json_type_array) ||
	    json_object_array_length(array) != count) {
		fputs("hwheelctl: import: the answer has other results\n", stderr);
		return FAILED;
	}
	for (size_t i = 0; i < count; i++) {
		int one = note_result(import, &lines[i], json_object_array_get_idx(array, i));

		status = status ?: one;
	}
	return status;
}

static int fail_lines(const struct line *lines, size_t count, const struct daemon_answer *answer)
{
	char what[64];

	if (count == 1)
		snprintf(what, sizeof(what), "line %llu", lines->number);
	else
		snprintf(what, sizeof(what), "lines %llu to %llu", lines->number,
			 lines[count - 1].number);
	return daemon_judge(what, answer);
}

/*
 * The daemon refuses a batch as a whole, also one with two lines of a key: its halves are put one
 * after the other, down to the line that is wrong. All lines before that one are put.
 */
static int put_lines(struct import *import, const struct line *lines, size_t count)
{
	struct daemon_answer answer;
	size_t half = count / 2;
	int status = daemon_ask(import->socket, "POST", "/timeouts", NULL,
				"If-None-Match: *\r\n", batch_json(lines, count), &answer);
	bool divides = !status && half && (answer.status == 400 || answer.status == 413);

	if (status) {
		fprintf(stderr, "hwheelctl: lines %llu to %llu may have been put\n",
			lines->number, lines[count - 1].number);
		return status;
	}
	if (!divides)
		status = fail_lines(lines, count, &answer) ?:
			 note_results(import, lines, count, answer.body);
	daemon_free(&answer);
	if (divides)
		status = put_lines(import, lines, half) ?:
			 put_lines(import, lines + half, count - half);
	return status;
}

static int put_batch(struct import *import)
{
	int status = import->count ? put_lines(import, import->lines, import->count) : DONE;

	while (import->count)
		json_object_put(import->lines[--import->count].timeout);
	import->bytes = 0;
	return status;
}

static int put_all(struct import *import)
{
	const char *wrong = NULL;
	int status = DONE;
	size_t length;

	while (!status && !wrong && read_line(import, &length)) {
		wrong = take_line(import, length);
		if (wrong || import->count == BATCH_LINES || import->bytes > BATCH_BYTES)
			status = put_batch(import);
	}
	if (ferror(stdin))
		status = fail("standard input", -errno);
	if (wrong)
		fprintf(stderr, "hwheelctl: line %llu: %s\n", import->number, wrong);
	if (wrong && !status)
		status = FAILED;
	return status ?: put_batch(import);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct import *import = state->input;

	switch (key) {
	case 's':
		import->socket = argument;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: no argument is needed: timeouts come from standard input",
			   argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int import_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "socket", 's', "PATH", 0, "Where hwheeld listens, not " DAEMON_SOCKET, 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Create the timeouts that `hwheelctl export' has printed, from stdin. A\n"
		       "timeout that is there stays as it is, and is printed: an import may be\n"
		       "repeated. It ends at the first line that is wrong.\n"
		       "\vExamples:\n"
		       "  hwheelctl import <timeouts\n"
		       "  ssh other hwheelctl export | hwheelctl import\n",
	};
	static struct import import = { .socket = DAEMON_SOCKET };
	struct json_object *object = json_object_new_object();
	int status;

	argp_parse(&argp, argc, argv, 0, NULL, &import);
	status = put_all(&import);
	json_add_number(object, "created", import.created);
	json_add_number(object, "there", import.there);
	json_print(object);
	return status;
}
