// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheelctl export: all timeouts that hwheeld keeps, as lines of JSON, once each. One that is
 * restarted meanwhile is listed again, and its last line counts. So lines wait in a file without a
 * name until all are there, and nothing is printed if anything fails.
 */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "command.h"
#include "daemon.h"
#include "date.h"
#include "fail.h"

#define NO_LINE		(-1)

struct exported {
	size_t line;			/* in offsets */
	char key[];
};

struct export {
	const char *socket;
	const char *queue;		/* NULL: all */
	FILE *lines;
	off_t end;			/* of all lines */
	off_t *offsets;			/* of lines; NO_LINE: a later one has the key */
	size_t count;
	void *keys;			/* by tsearch() */
};

static int compare(const void *one, const void *other)
{
	return strcmp(((const struct exported *)one)->key, ((const struct exported *)other)->key);
}

/* The line that comes next is the one of its key. */
static void note_line(struct export *export, const char *key)
{
	size_t size = strlen(key) + 1;
	struct exported *exported = malloc(sizeof(*exported) + size);
	struct exported **found;

	if (!(export->count & (export->count + 1)))
		export->offsets = reallocarray(export->offsets, 2 * (export->count + 1),
					       sizeof(*export->offsets));
	if (!exported || !export->offsets)
		abort();
	memcpy(exported->key, key, size);
	found = tsearch(exported, &export->keys, compare);
	if (!found)
		abort();
	if (*found != exported) {
		export->offsets[(*found)->line] = NO_LINE;
		free(exported);
	}
	(*found)->line = export->count;
	export->offsets[export->count++] = export->end;
}

/*
 * The rest of a delay counts from now, by this machine's clock, as the daemon's time may be another
 * one: the rest was read before, and cut to microseconds.
 */
static void write_deadline(struct json_object *line, struct json_object *timeout)
{
	double left = json_object_get_double(json_object_object_get(timeout, "remaining"));
	char text[DATE_TEXT];

	if (!strcmp(json_text_of(timeout, "kind"), "delay") && left > 0)
		json_add_text(line, "deadline",
			      date_format(date_now() + (__u64)(left * 1e9) + 2000, text));
	else
		json_add_member_of(line, "deadline", timeout);
}

static bool is_timeout(struct json_object *timeout)
{
	static const struct {
		const char *name;
		enum json_type type;
	} members[] = {
		{ "key", json_type_string }, { "queue", json_type_string },
		{ "kind", json_type_string }, { "state", json_type_string },
		{ "deadline", json_type_string }, { "payload", json_type_string },
		{ "remaining", json_type_double }, { "deliveries", json_type_int },
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!json_object_is_type(json_object_object_get(timeout, members[i].name),
					 members[i].type))
			return false;
	return true;
}

static void write_line(struct export *export, struct json_object *timeout)
{
	static const char *const names[] = {
		"key", "queue", "kind", "state", "deliveries", "payload"
	};
	struct json_object *line = json_object_new_object();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_add_member_of(line, names[i], timeout);
	write_deadline(line, timeout);
	note_line(export, json_text_of(timeout, "key"));
	export->end += fprintf(export->lines, "%s\n",
			       json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN |
							      JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(line);
}

/* Fills in where the next page begins, to be freed, or NULL. */
static int write_page(struct export *export, struct json_object *page, char **next)
{
	struct json_object *array, *after;

	*next = NULL;
	if (!json_object_object_get_ex(page, "timeouts", &array) ||
	    !json_object_is_type(array, json_type_array)) {
		fputs("hwheelctl: export: the answer has no timeouts\n", stderr);
		return FAILED;
	}
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		if (!is_timeout(json_object_array_get_idx(array, i))) {
			fputs("hwheelctl: export: the answer has what is no timeout\n", stderr);
			return FAILED;
		}
		write_line(export, json_object_array_get_idx(array, i));
	}
	if (ferror(export->lines) || fflush(export->lines))
		return fail("a temporary file", -errno);
	if (json_object_object_get_ex(page, "next", &after))
		*next = strdup(json_object_get_string(after));
	return DONE;
}

static int ask_page(struct export *export, char **after)
{
	struct daemon_answer answer;
	char *path, *next = NULL;
	int status;

	if (asprintf(&path, "/timeouts?limit=1000&payload=1%s%s%s%s",
		     export->queue ? "&queue=" : "", export->queue ?: "",
		     *after ? "&after=" : "", *after ?: "") < 0)
		abort();
	status = daemon_ask(export->socket, "GET", path, NULL, NULL, NULL, &answer);
	free(path);
	if (status)
		return status;
	status = daemon_judge("export", &answer) ?: write_page(export, answer.body, &next);
	daemon_free(&answer);
	free(*after);
	*after = next;
	return status;
}

static int print_lines(struct export *export)
{
	char *line = NULL;
	size_t room = 0;

	for (size_t i = 0; i < export->count; i++) {
		if (export->offsets[i] == NO_LINE)
			continue;
		if (fseeko(export->lines, export->offsets[i], SEEK_SET) ||
		    getline(&line, &room, export->lines) < 0)
			return fail("a temporary file", -errno);
		fputs(line, stdout);
	}
	free(line);
	return DONE;
}

/* Nothing else goes into the path as it is. */
static bool is_queue(const char *name)
{
	size_t i = 0;

	while (name[i] && (isalnum((unsigned char)name[i]) || strchr("._-", name[i])))
		i++;
	return i && !name[i];
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct export *export = state->input;

	switch (key) {
	case 's':
		export->socket = argument;
		return 0;
	case 'q':
		if (!is_queue(argument))
			argp_error(state, "--queue %s: no name of a queue", argument);
		export->queue = argument;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: no argument is needed", argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int export_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "queue", 'q', "QUEUE", 0, "Only timeouts in this queue", 0 },
		{ "socket", 's', "PATH", 0, "Where hwheeld listens, not " DAEMON_SOCKET, 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Print all timeouts that hwheeld keeps, with payloads, each as a line of\n"
		       "JSON, for `hwheelctl import'. Nothing is printed if it fails.\n"
		       "\vExamples:\n"
		       "  hwheelctl export >timeouts\n"
		       "  hwheelctl export | hwheelctl import --socket /run/other/socket\n",
	};
	struct export export = { .socket = DAEMON_SOCKET };
	char *after = NULL;
	int status;

	argp_parse(&argp, argc, argv, 0, NULL, &export);
	export.lines = tmpfile();
	if (!export.lines)
		return fail("a temporary file", -errno);
	do {
		status = ask_page(&export, &after);
	} while (!status && after);
	status = status ?: print_lines(&export);
	fclose(export.lines);
	return status;
}
