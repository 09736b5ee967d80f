// SPDX-License-Identifier: GPL-2.0-only
/* hwheelctl watch: what happens to timeouts, as it happens, from the module's tracepoints. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "clock.h"
#include "command.h"
#include "duration.h"
#include "fail.h"
#include "json.h"
#include "option.h"
#include "process.h"
#include "trace.h"
#include "wheels.h"

#define TRACEFS		"/sys/kernel/tracing"
#define LOOK_NS		100000000	/* what happens is shown that late */
#define MAX_PID		4194304		/* of Linux */

static const char *const words[TRACE_EVENTS] = {
	"armed", "refreshed", "cancelled", "expired", "stopped", "taken", "ended",
};

struct request {
	unsigned int events;	/* mask of numbers */
	int pid;		/* 0: all processes */
	const char *wheel;	/* NULL: all wheels */
	__u64 count;		/* 0: for ever */
	__u64 time_ns;		/* 0: for ever */
	bool json;
};

/* The request, and how many lines are left */
struct view {
	const struct request *request;
	__u64 left;
	__u64 start_ns;
};

/* The signal that came, or 0 */
static int over;

static void end(int signal)
{
	__atomic_store_n(&over, signal, __ATOMIC_RELAXED);
}

/* --- what is shown --- */

static long long late_ns(const struct happening *happening)
{
	return (long long)(happening->time_ns - happening->deadline_ns);
}

/* The kernel's idle threads have no entry in /proc. */
static void name_thread(int pid, char name[PROCESS_NAME])
{
	if (!process_name(pid, name))
		snprintf(name, PROCESS_NAME, "%s", pid ? "ended" : "idle");
}

static void print_deadline(const struct happening *happening)
{
	long long late = late_ns(happening);
	char text[DURATION_TEXT];

	if (!happening->deadline_ns)
		return;
	duration_format((__u64)(late < 0 ? -late : late) / 1000 * 1000, text);
	if (late < 0)
		printf("due in %s", text);
	else
		printf("%s after its deadline", text);
}

/* Of a file: its id, cookie and process; of kernel code: its address and the thread */
static void print_text(const struct happening *happening)
{
	char name[PROCESS_NAME], who[PROCESS_NAME + 12];

	name_thread(happening->thread, name);
	snprintf(who, sizeof(who), "%s-%d", happening->owner ? happening->owner_name : name,
		 happening->owner ?: happening->thread);
	printf("%9llu.%06llu %-9s ", (unsigned long long)(happening->time_ns / SEC),
	       (unsigned long long)(happening->time_ns % SEC / 1000), words[happening->event]);
	if (happening->owner)
		printf("%-16llu cookie %-10llu ", (unsigned long long)happening->timeout,
		       (unsigned long long)happening->cookie);
	else
		printf("%-34llx ", (unsigned long long)happening->timeout);
	printf("wheel %-3u %-18s ", happening->wheel, who);
	print_deadline(happening);
	putchar('\n');
	fflush(stdout);
}

static void add_file(struct json_object *object, const struct happening *happening)
{
	json_add_number(object, "id", happening->timeout);
	json_add_number(object, "cookie", happening->cookie);
	json_add_text(object, "owner", happening->owner_name);
	json_add_number(object, "owner_pid", (__u64)happening->owner);
}

static void print_json(const struct happening *happening)
{
	struct json_object *object = json_object_new_object();
	char address[24], name[PROCESS_NAME];

	name_thread(happening->thread, name);
	snprintf(address, sizeof(address), "%llx", (unsigned long long)happening->timeout);
	json_add_number(object, "time_us", happening->time_ns / 1000);
	json_add_text(object, "event", trace_event_name(happening->event));
	json_add_number(object, "wheel_id", happening->wheel);
	if (happening->owner)
		add_file(object, happening);
	else
		json_add_text(object, "timeout", address);
	json_add_text(object, "command", name);
	json_add_number(object, "pid", (__u64)happening->thread);
	if (happening->deadline_ns) {
		json_add_number(object, "deadline_ns", happening->deadline_ns);
		json_object_object_add(object, "late_us",
				       json_object_new_int64(late_ns(happening) / 1000));
	}
	json_print(object);
}

static bool is_over(const struct request *request, __u64 start_ns)
{
	return __atomic_load_n(&over, __ATOMIC_RELAXED) ||
	       (request->time_ns && clock_ns() - start_ns >= request->time_ns);
}

/* There may always be more to show, so it is not only over when there is nothing. */
static bool show(const struct happening *happening, void *data)
{
	struct view *view = data;

	if (view->request->json)
		print_json(happening);
	else
		print_text(happening);
	return --view->left && !is_over(view->request, view->start_ns);
}

static int follow(const struct request *request)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct view view = {
		.request = request, .left = request->count ?: UINT64_MAX, .start_ns = clock_ns(),
	};
	long long lost;

	while (view.left && !is_over(request, view.start_ns)) {
		lost = trace_read(show, &view);
		if (lost < 0)
			return (int)lost;
		if (lost)
			fprintf(stderr, "hwheelctl: too fast: %lld were lost\n", lost);
		if (view.left && !is_over(request, view.start_ns))
			nanosleep(&pause, NULL);
	}
	return 0;
}

/* One that comes just before poll() waits no longer than that. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = end };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
}

/* Writes which numbers the wheels of that name have, as tracefs wants it. */
static int find_wheels(const char *choice, char *text, size_t size)
{
	struct wheels wheels = { 0 };
	int error = wheels_read(&wheels, choice);
	size_t length = 0;

	if (error)
		return wheels_fail(choice, error);
	for (size_t i = 0; i < wheels.count && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%swheel_id == %llu",
					   i ? " || " : "", (unsigned long long)wheels.all[i].id);
	wheels_free(&wheels);
	return length < size ? DONE : fail(choice, -E2BIG);
}

static int record(const struct request *request, const char *wheels)
{
	const struct trace_filter filter = {
		.events = request->events, .pid = request->pid, .wheels = wheels,
	};
	int error = trace_begin(&filter);

	if (!error) {
		fputs("hwheelctl: watching; Ctrl-C ends it\n", stderr);
		error = follow(request);
	}
	trace_end();
	if (error == -ENOTSUP)
		return fail_module_differs(trace_missing());
	return error ? fail_kernel_file(TRACEFS "/instances", "tracefs", TRACEFS, error) : DONE;
}

static int run(const struct request *request)
{
	char wheels[2048];
	int ret;

	if (!module_loaded())
		return fail_kernel_file(TRACEFS, "tracefs", TRACEFS, -ENOENT);
	ret = request->wheel ? find_wheels(request->wheel, wheels, sizeof(wheels)) : DONE;
	if (ret)
		return ret;
	catch_signals();
	ret = record(request, request->wheel ? wheels : NULL);
	/* The program that reads the output has had enough. */
	if (over == SIGPIPE)
		clearerr(stdout);
	return ret;
}

static unsigned int parse_events(struct argp_state *state, char *list)
{
	unsigned int mask = 0;
	int event;

	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		event = trace_event_named(name);
		if (event < 0)
			argp_error(state, "%s: not an event of those in the help", name);
		else
			mask |= 1U << event;
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
	case 'p':
		request->pid = (int)option_number_up_to(state, key, argument, MAX_PID);
		if (!request->pid)
			argp_error(state, "--pid: 0 is no process");
		return 0;
	case 'w':
		request->wheel = argument;
		return 0;
	case 'n':
		request->count = option_number(state, key, argument);
		return 0;
	case 't':
		request->time_ns = option_duration(state, key, argument);
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
		  "Which ones, with commas: arm, refresh, cancel, expire, stop, take, end (default: all)",
		  0 },
		{ "pid", 'p', "PID", 0, "Of timeouts of this process", 0 },
		{ "wheel", 'w', "WHEEL", 0, "On this wheel, a name or number from `list'", 0 },
		{ "count", 'n', "N", 0, "End after N of them", 0 },
		{ "time", 't', "DURATION", 0, "End after that", 0 },
		{ "json", OPTION_JSON, NULL, 0, "Print JSON, a line for each", 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Print what happens to timeouts on all wheels, as it happens: when, what,\n"
		       "to which timeout, with its cookie, its wheel and the process that has the\n"
		       "file, and what the deadline is. For root alone. Programs arm and cancel\n"
		       "mapped timeouts without the kernel: these are taken note of by a wheel's\n"
		       "worker, and ended. Of timeouts of kernel code the address is shown.\n"
		       "\vExamples:\n"
		       "  sudo hwheelctl watch\n"
		       "  sudo hwheelctl watch --events expire --time 10s\n"
		       "  sudo hwheelctl watch --pid 1234 --wheel dev\n"
		       "  sudo hwheelctl watch --json --count 100 | jq .late_us\n",
	};
	struct request request = { .events = (1U << TRACE_EVENTS) - 1 };

	argp_parse(&argp, argc, argv, 0, NULL, &request);
	return run(&request);
}
