// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheelctl put, cancel, take, ack and status: timeouts that hwheeld keeps. What it tells is
 * printed as JSON, one object in a line, so that no key and no payload does anything to a terminal.
 */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "daemon.h"
#include "durable.h"
#include "fail.h"
#include "option.h"

/* Bytes that are read from stdin: more than the daemon takes */
#define PAYLOAD_ROOM	1048576

struct request {
	const char *socket;
	const char *name;		/* a key, queue or token */
	const char *delay;
	const char *deadline;
	const char *queue;
	const char *payload;
	const char *max;
	const char *wait;
	const char *lease;
	bool create;
	bool ack;
	int status;			/* of what is done while arguments are read */
};

#define SOCKET_OPTION \
	{ "socket", 's', "PATH", 0, "Where hwheeld listens, not " DAEMON_SOCKET, 0 }

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case 's':
		request->socket = argument;
		break;
	case 'd':
		request->delay = argument;
		break;
	case 'D':
		request->deadline = argument;
		break;
	case 'q':
		request->queue = argument;
		break;
	case 'p':
		request->payload = argument;
		break;
	case 'm':
		request->max = argument;
		break;
	case 'w':
		request->wait = argument;
		break;
	case 'l':
		request->lease = argument;
		break;
	case 'n':
		request->create = true;
		break;
	case 'a':
		request->ack = true;
		break;
	case ARGP_KEY_ARG:
		if (request->name)
			argp_error(state, "%s: one argument is enough", argument);
		request->name = argument;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static struct request read_request(const struct argp *argp, int argc, char **argv)
{
	struct request request = { .socket = DAEMON_SOCKET };

	argp_parse(argp, argc, argv, 0, NULL, &request);
	return request;
}

static void misuse(const struct argp *argp, char *name, const char *why)
{
	fprintf(stderr, "%s: %s\n", name, why);
	argp_help(argp, stderr, ARGP_HELP_SEE, name);
	exit(MISUSED);
}

static void print_answer(const struct daemon_answer *answer)
{
	if (answer->body)
		json_print(json_object_get(answer->body));
}

static int ask(const char *socket, const char *method, const char *path, const char *text)
{
	struct daemon_answer answer;
	int status = daemon_ask(socket, method, path, text, NULL, NULL, &answer);

	if (status)
		return status;
	status = daemon_judge(text ?: path, &answer);
	if (!status)
		print_answer(&answer);
	daemon_free(&answer);
	return status;
}

/* put */

static struct json_object *payload_json(const char *text)
{
	char *read;
	size_t length;
	struct json_object *json;

	if (strcmp(text, "-"))
		return json_object_new_string(text);
	read = malloc(PAYLOAD_ROOM);
	if (!read)
		abort();
	length = fread(read, 1, PAYLOAD_ROOM, stdin);
	json = json_object_new_string_len(read, (int)length);
	free(read);
	return json;
}

static struct json_object *wish_json(const struct request *request)
{
	struct json_object *wish = json_object_new_object();

	if (request->delay)
		json_add_text(wish, "delay", request->delay);
	if (request->deadline)
		json_add_text(wish, "deadline", request->deadline);
	if (request->queue)
		json_add_text(wish, "queue", request->queue);
	if (request->payload)
		json_object_object_add(wish, "payload", payload_json(request->payload));
	return wish;
}

static int put(const struct request *request)
{
	struct daemon_answer answer;
	int status = daemon_ask(request->socket, "PUT", "/timeouts/", request->name,
				request->create ? "If-None-Match: *\r\n" : NULL,
				wish_json(request), &answer);

	if (status)
		return status;
	status = daemon_judge("put", &answer);
	if (!status)
		print_answer(&answer);
	daemon_free(&answer);
	return status;
}

int put_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "delay", 'd', "DURATION", 0, "Due so much later: 30m; or in seconds", 0 },
		{ "deadline", 'D', "DATE", 0, "Due at this time: 2026-12-24T18:00:00Z", 0 },
		{ "queue", 'q', "QUEUE", 0, "The queue, not `default'", 0 },
		{ "payload", 'p', "TEXT", 0, "What comes with it; -: from stdin", 0 },
		{ "new", 'n', NULL, 0, "Fail if there is such a timeout", 0 },
		SOCKET_OPTION,
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "KEY",
		.doc = "Create a timeout that hwheeld keeps, or restart it.\n"
		       "\vExamples:\n"
		       "  hwheelctl put order-1 --delay 30m --payload 'not paid'\n"
		       "  hwheelctl put job-7 --deadline 2026-12-24T18:00:00Z --queue jobs\n",
	};
	struct request request = read_request(&argp, argc, argv);

	if (!request.name || !*request.name)
		misuse(&argp, argv[0], "a key is needed");
	if (!request.delay == !request.deadline)
		misuse(&argp, argv[0], "either --delay or --deadline is needed");
	return put(&request);
}

/* cancel, ack */

static int end_main(int argc, char **argv, const struct argp *argp, const char *path,
		    const char *what)
{
	struct request request = read_request(argp, argc, argv);

	if (!request.name || !*request.name)
		misuse(argp, argv[0], what);
	return ask(request.socket, "DELETE", path, request.name);
}

int cancel_main(int argc, char **argv)
{
	static const struct argp_option options[] = { SOCKET_OPTION, { } };
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "KEY",
		.doc = "Cancel a timeout that hwheeld keeps: nobody gets it any more.\n"
		       "\vExamples:\n"
		       "  hwheelctl cancel order-1\n",
	};

	return end_main(argc, argv, &argp, "/timeouts/", "a key is needed");
}

int ack_main(int argc, char **argv)
{
	static const struct argp_option options[] = { SOCKET_OPTION, { } };
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "TOKEN",
		.doc = "Acknowledge a timeout that was taken: it does not come again.\n"
		       "\vExamples:\n"
		       "  hwheelctl ack 0123456789abcdef0123456789abcdef\n",
	};

	return end_main(argc, argv, &argp, "/leases/", "a token is needed");
}

/* take */

static int ack_one(const char *socket, struct json_object *timeout)
{
	struct json_object *token;

	if (!json_object_object_get_ex(timeout, "token", &token))
		return FAILED;
	return ask(socket, "DELETE", "/leases/", json_object_get_string(token));
}

/* A timeout that was not printed, or in part only, comes again to somebody else. */
static bool is_printed(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	fprintf(stderr, "hwheelctl: standard output: %m: not acknowledged\n");
	return false;
}

/* Each is printed before it is acknowledged. */
static int print_taken(const struct request *request, const struct daemon_answer *answer)
{
	struct json_object *array, *timeout;
	int status = DONE;

	if (!json_object_object_get_ex(answer->body, "timeouts", &array))
		return FAILED;
	for (size_t i = 0; i < json_object_array_length(array) && !status; i++) {
		timeout = json_object_array_get_idx(array, i);
		json_print(json_object_get(timeout));
		if (!is_printed())
			status = FAILED;
		else if (request->ack)
			status = ack_one(request->socket, timeout);
	}
	return status;
}

/* Values come from the command line: none may change what the rest of the path says. */
static void add_parameter(FILE *stream, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(stream, "%s=", name);
	for (; *value; value++)
		fprintf(stream, strchr("0123456789.smhnu", *value) ? "%c" : "%%%02X",
			(unsigned char)*value);
	putc('&', stream);
}

static char *take_path(const struct request *request)
{
	const char *name = request->name ?: "default";
	char *path = NULL;
	size_t size;
	FILE *stream = open_memstream(&path, &size);

	if (!stream)
		abort();
	fputs("/queues/", stream);
	for (; *name; name++)
		fprintf(stream, *name > ' ' && *name < 127 && !strchr("/?%#", *name) ? "%c" :
			"%%%02X", (unsigned char)*name);
	fputs("/take?", stream);
	add_parameter(stream, "max", request->max);
	add_parameter(stream, "wait", request->wait);
	add_parameter(stream, "lease", request->lease);
	fclose(stream);
	return path;
}

int take_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "max", 'm', "N", 0, "So many at most, not 1", 0 },
		{ "wait", 'w', "DURATION", 0, "Wait so long for the first one", 0 },
		{ "lease", 'l', "DURATION", 0, "Have them for so long", 0 },
		{ "ack", 'a', NULL, 0, "Acknowledge each one once it is printed", 0 },
		SOCKET_OPTION,
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "[QUEUE]",
		.doc = "Take timeouts that are due, and print each as a line of JSON.\n"
		       "\vExamples:\n"
		       "  hwheelctl take --wait 60s\n"
		       "  hwheelctl take jobs --max 100 --ack | jq -r .payload\n",
	};
	struct request request = read_request(&argp, argc, argv);
	char *path = take_path(&request);
	struct daemon_answer answer;
	int status = daemon_ask(request.socket, "POST", path, NULL, NULL, NULL, &answer);

	free(path);
	if (status)
		return status;
	status = daemon_judge("take", &answer) ?: print_taken(&request, &answer);
	daemon_free(&answer);
	return status;
}

/* status, list --timeouts */

int status_main(int argc, char **argv)
{
	static const struct argp_option options[] = { SOCKET_OPTION, { } };
	const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Print how hwheeld is, its nodes and its queues, as lines of JSON.\n"
		       "\vExamples:\n"
		       "  hwheelctl status\n"
		       "  hwheelctl status | jq -r .state\n",
	};
	struct request request = read_request(&argp, argc, argv);

	if (request.name)
		misuse(&argp, argv[0], "no argument is needed");
	return ask(request.socket, "GET", "/health", NULL) ?:
	       ask(request.socket, "GET", "/cluster", NULL) ?:
	       ask(request.socket, "GET", "/queues", NULL);
}

/* Prints a page, and returns where the next one begins, or NULL. */
static char *print_page(struct json_object *page)
{
	struct json_object *array, *next;

	if (!json_object_object_get_ex(page, "timeouts", &array))
		return NULL;
	for (size_t i = 0; i < json_object_array_length(array); i++)
		json_print(json_object_get(json_object_array_get_idx(array, i)));
	if (!json_object_object_get_ex(page, "next", &next))
		return NULL;
	return strdup(json_object_get_string(next));
}

int durable_list(const char *socket)
{
	const char *path = "/timeouts?limit=1000";
	struct daemon_answer answer;
	char *after = NULL, *next;
	int status;

	socket = socket ?: DAEMON_SOCKET;
	do {
		status = daemon_ask(socket, "GET", path, after, NULL, NULL, &answer);
		if (status)
			break;
		status = daemon_judge("list", &answer);
		next = status ? NULL : print_page(answer.body);
		daemon_free(&answer);
		free(after);
		after = next;
		path = "/timeouts?limit=1000&after=";
	} while (after);
	free(after);
	return status;
}
