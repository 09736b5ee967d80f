// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheelctl watch: what happens to timeouts, as it happens, from the module's tracepoints.
 *
 * They are recorded in an instance of tracefs of this program's own, so that it disturbs no
 * other tracing. Its clock is that of wheels on CLOCK_MONOTONIC, to the microsecond.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "command.h"
#include "duration.h"
#include "fail.h"
#include "json.h"
#include "option.h"
#include "process.h"

#define TRACEFS		"/sys/kernel/tracing"
#define TRACEFS_OLD	"/sys/kernel/debug/tracing"

static const struct event {
	const char *name;	/* for --events */
	const char *trace;	/* the tracepoint */
	const char *text;
} events[] = {
	{ "arm",     "timeout_arm",	     "armed" },
	{ "refresh", "timeout_refresh",	     "refreshed" },
	{ "cancel",  "timeout_cancel",	     "cancelled" },
	{ "expire",  "timeout_expire_entry", "expired" },
	{ "take",    "mapped_act",	     "taken" },
	{ "end",     "mapped_end",	     "ended" },
};

#define EVENTS	ARRAY_SIZE(events)

struct request {
	unsigned int events;	/* mask of indices */
	__u64 count;		/* 0: for ever */
	__u64 time_ns;		/* 0: for ever */
	bool json;
};

/* One line of the trace */
struct happening {
	const struct event *event;
	__u64 time_us;
	__u64 deadline_ns;	/* 0: there is none */
	int pid;
	char command[PROCESS_NAME];
	char timeout[24];
};

#define LOOK_MS		100	/* the kernel tells of what there is once half a buffer is full */

/* The signal that came, or 0 */
static int over;

static void end(int signal)
{
	__atomic_store_n(&over, signal, __ATOMIC_RELAXED);
}

/* --- the instance --- */

static char instance[128];

static const char *tracefs(void)
{
	return access(TRACEFS "/instances", F_OK) ? TRACEFS_OLD : TRACEFS;
}

static int write_file(const char *name, const char *text)
{
	char path[256];
	int fd, error = 0;

	snprintf(path, sizeof(path), "%s/%s", instance, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

static int start_recording(unsigned int mask)
{
	char name[96];
	int error = write_file("trace_clock", "mono");

	for (size_t i = 0; i < EVENTS && !error; i++) {
		if (!(mask & 1U << i))
			continue;
		snprintf(name, sizeof(name), "events/hwheel/%s/enable", events[i].trace);
		error = write_file(name, "1");
	}
	return error;
}

/* Returns the descriptor of what is recorded from now on */
static int instance_begin(unsigned int mask)
{
	char path[256];
	int fd, error;

	snprintf(instance, sizeof(instance), "%s/instances/hwheelctl-%d", tracefs(), getpid());
	if (mkdir(instance, 0700))
		return -errno;
	error = start_recording(mask);
	if (error)
		return error;
	snprintf(path, sizeof(path), "%s/trace_pipe", instance);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Takes what is recorded with it */
static void instance_end(void)
{
	for (size_t i = 0; i < EVENTS; i++) {
		char name[96];

		snprintf(name, sizeof(name), "events/hwheel/%s/enable", events[i].trace);
		write_file(name, "0");
	}
	rmdir(instance);
}

/* --- lines of it --- */

/* Cuts it at the last ": ", and returns what comes after that, or NULL */
static char *cut_last(char *line)
{
	char *last = NULL;

	for (char *next = line; (next = strstr(next, ": ")); next++)
		last = next;
	if (!last)
		return NULL;
	*last = '\0';
	return last + 2;
}

static const struct event *find_event(const char *trace)
{
	for (size_t i = 0; i < EVENTS; i++)
		if (!strcmp(events[i].trace, trace))
			return &events[i];
	return NULL;
}

/* "  COMMAND-PID  [CPU] ..... SECONDS.MICROSECONDS", where a command may have any name */
static bool parse_head(struct happening *happening, char *head)
{
	char *stamp = strrchr(head, ' ');
	char *cpu, *dash;
	unsigned long long seconds, us;

	if (!stamp || sscanf(stamp, " %llu.%llu", &seconds, &us) != 2)
		return false;
	happening->time_us = seconds * 1000000 + us;
	cpu = strrchr(head, '[');
	if (!cpu)
		return false;
	*cpu = '\0';
	dash = strrchr(head, '-');
	if (!dash)
		return false;
	*dash = '\0';
	happening->pid = atoi(dash + 1);
	snprintf(happening->command, sizeof(happening->command), "%s", head + strspn(head, " "));
	/* The kernel notes names as threads are switched, which may not have happened yet. */
	if (!strcmp(happening->command, "<...>"))
		process_name(happening->pid, happening->command);
	return true;
}

static void parse_field(const char *fields, const char *name, char *value, size_t size)
{
	const char *found = strstr(fields, name);

	*value = '\0';
	if (found)
		snprintf(value, size, "%.*s", (int)strcspn(found + strlen(name), " "),
			 found + strlen(name));
}

/* From its end, as there is a name of anybody's choice at its beginning */
static bool parse_line(struct happening *happening, char *line)
{
	char deadline[24];
	char *fields, *trace;

	line[strcspn(line, "\n")] = '\0';
	process_clean(line);
	fields = cut_last(line);
	trace = fields ? cut_last(line) : NULL;
	if (!trace)
		return false;
	*happening = (struct happening){ .event = find_event(trace) };
	if (!happening->event)
		return false;
	parse_field(fields, "timeout=", happening->timeout, sizeof(happening->timeout));
	if (!*happening->timeout)
		parse_field(fields, "index=", happening->timeout, sizeof(happening->timeout));
	parse_field(fields, "deadline=", deadline, sizeof(deadline));
	happening->deadline_ns = strtoull(deadline, NULL, 10);
	return parse_head(happening, line);
}

/* --- what is shown --- */

/*
 * Time stamps are rounded to microseconds, so that this is up to one too much, and nothing
 * seems to be early that is not.
 */
static long long late_us(const struct happening *happening)
{
	return (long long)(happening->time_us * 1000 + 500 - happening->deadline_ns) / 1000;
}

static void print_deadline(const struct happening *happening)
{
	long long late = late_us(happening);
	char text[DURATION_TEXT];

	if (!happening->deadline_ns)
		return;
	duration_format((__u64)(late < 0 ? -late : late) * 1000, text);
	if (late < 0)
		printf("due in %s", text);
	else
		printf("%s after its deadline", text);
}

static void print_text(const struct happening *happening)
{
	char who[44];

	snprintf(who, sizeof(who), "%s-%d", happening->command, happening->pid);
	printf("%9llu.%06llu %-9s %-16s %-18s ",
	       (unsigned long long)happening->time_us / 1000000,
	       (unsigned long long)happening->time_us % 1000000, happening->event->text,
	       happening->timeout, who);
	print_deadline(happening);
	putchar('\n');
	fflush(stdout);
}

static void print_json(const struct happening *happening)
{
	struct json_object *object = json_object_new_object();

	json_add_number(object, "time_us", happening->time_us);
	json_add_text(object, "event", happening->event->name);
	json_add_text(object, "timeout", happening->timeout);
	json_add_text(object, "command", happening->command);
	json_add_number(object, "pid", (__u64)happening->pid);
	if (happening->deadline_ns) {
		json_add_number(object, "deadline_ns", happening->deadline_ns);
		json_object_object_add(object, "late_us",
				       json_object_new_int64(late_us(happening)));
	}
	json_print(object);
}

/* Returns whether it was one of what is watched */
static bool show_line(char *line, bool json)
{
	struct happening happening;

	if (!strncmp(line, "CPU:", 4))
		fprintf(stderr, "hwheelctl: too fast: %s", line);
	if (!parse_line(&happening, line))
		return false;
	if (json)
		print_json(&happening);
	else
		print_text(&happening);
	return true;
}

static bool is_over(const struct request *request, __u64 start_ns)
{
	return __atomic_load_n(&over, __ATOMIC_RELAXED) ||
	       (request->time_ns && clock_ns() - start_ns >= request->time_ns);
}

/* There may always be more to show, so it is not only over when there is nothing. */
static void follow(FILE *stream, const struct request *request)
{
	struct pollfd poll_fd = { .fd = fileno(stream), .events = POLLIN };
	__u64 left = request->count ?: UINT64_MAX;
	__u64 start_ns = clock_ns();
	char line[512];

	while (left && !is_over(request, start_ns)) {
		if (!fgets(line, sizeof(line), stream)) {
			clearerr(stream);
			poll(&poll_fd, 1, LOOK_MS);
		} else {
			left -= show_line(line, request->json);
		}
	}
}

/* One that comes just before poll() waits no longer than that. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = end };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
}

static int run(const struct request *request)
{
	FILE *stream;
	int fd;

	if (!module_loaded())
		return fail_kernel_file(TRACEFS, "tracefs", TRACEFS, -ENOENT);
	catch_signals();
	fd = instance_begin(request->events);
	if (fd < 0) {
		instance_end();
		return fail_kernel_file(TRACEFS "/instances", "tracefs", TRACEFS, fd);
	}
	stream = fdopen(fd, "r");
	if (!stream)
		abort();
	fputs("hwheelctl: watching; Ctrl-C ends it\n", stderr);
	follow(stream, request);
	fclose(stream);
	instance_end();
	/* The reader has had enough. */
	if (over == SIGPIPE)
		clearerr(stdout);
	return DONE;
}

static unsigned int parse_events(struct argp_state *state, char *list)
{
	unsigned int mask = 0, before;

	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		before = mask;
		for (size_t i = 0; i < EVENTS; i++)
			if (!strcmp(events[i].name, name))
				mask |= 1U << i;
		if (mask == before)
			argp_error(state, "%s: not an event of those in the help", name);
	}
	return mask;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case 'e':
		request->events = parse_events(state, argument);
		return 0;
	case 'n':
		request->count = option_number(state, argument);
		return 0;
	case 't':
		request->time_ns = option_duration(state, argument);
		return 0;
	case OPTION_JSON:
		request->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int watch_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "events", 'e', "LIST", 0,
		  "Which ones, with commas: arm, refresh, cancel, expire, take, end (default: all)",
		  0 },
		{ "count", 'n', "N", 0, "End after N of them", 0 },
		{ "time", 't', "DURATION", 0, "End after that", 0 },
		{ "json", OPTION_JSON, NULL, 0, "Print JSON, a line for each", 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Print what happens to timeouts on all wheels, as it happens: when,\n"
		       "what, to which timeout, by which thread, and what the deadline is. For\n"
		       "root alone. Programs arm and cancel mapped timeouts without the kernel:\n"
		       "these are taken note of by a wheel's worker, and ended.\n"
		       "\vExamples:\n"
		       "  sudo hwheelctl watch\n"
		       "  sudo hwheelctl watch --events expire --time 10s\n"
		       "  sudo hwheelctl watch --json --count 100 | jq .late_us\n",
	};
	struct request request = { .events = (1U << EVENTS) - 1 };

	argp_parse(&argp, argc, argv, 0, NULL, &request);
	return run(&request);
}
