// SPDX-License-Identifier: GPL-2.0-only
/* hwheelctl: look at the hwheel module and try it from a shell. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "libhwheel.h"

enum { DONE = 0, FAILED = 1, MISUSED = 2 };	/* exit codes; also in help_text */

static const char help_text[] =
"Usage: hwheelctl info\n"
"       hwheelctl arm DURATION [--cookie N]\n"
"\n"
"  info   print what the hwheel module on this machine can do\n"
"  arm    register one time-out, wait for it, print how late it came\n"
"\n"
"DURATION is a number with a unit: 10ns, 100us, 250ms, 1.5s, 2m, 1h.\n"
"\n"
"  -c, --cookie N   number that the event brings back (default 0)\n"
"  -h, --help       print this\n"
"  -V, --version    print the version\n"
"\n"
"Exit code: 0 done, 1 it failed, 2 wrong usage.\n";

static const struct option options[] = {
	{ "cookie",  required_argument, NULL, 'c' },
	{ "help",    no_argument,       NULL, 'h' },
	{ "version", no_argument,       NULL, 'V' },
	{ }
};

struct request {
	uint64_t cookie;
	bool has_cookie;
	char **words;	/* what is not an option: the command and its arguments */
	int count;
};

static int see_help(void)
{
	fputs("Try: hwheelctl --help\n", stderr);
	return MISUSED;
}

static int misused(const char *what, const char *wrong)
{
	fprintf(stderr, "hwheelctl: %s: %s\n", what, wrong);
	return see_help();
}

static int failed(const char *what, int error)
{
	fprintf(stderr, "hwheelctl: %s: %s\n", what, strerror(-error));
	return FAILED;
}

/* Says why there is no handle, and the command that mends it */
static int open_failed(int error)
{
	switch (-error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		fprintf(stderr,
			"hwheelctl: no %s: the module is not loaded. Load it with\n"
			"  sudo modprobe hwheel\n"
			"or, from a build that is not installed, sudo insmod PATH/hwheel.ko\n",
			HWHEEL_DEVICE);
		return FAILED;
	case EACCES:
	case EPERM:
		fprintf(stderr,
			"hwheelctl: %s is not open to you. Use sudo, or open it to your group with\n"
			"  sudo chgrp \"$(id -gn)\" %s && sudo chmod g+rw %s\n",
			HWHEEL_DEVICE, HWHEEL_DEVICE, HWHEEL_DEVICE);
		return FAILED;
	}
	return failed(HWHEEL_DEVICE, error);
}

static void print_limit(const char *name, unsigned long long limit)
{
	if (limit)
		printf("%s%llu\n", name, limit);
	else
		printf("%sno limit\n", name);
}

static const char *kind_name(unsigned int kind)
{
	switch (kind) {
	case HWHEEL_KIND_SIMPLE:
		return "simple";
	case HWHEEL_KIND_HASHED:
		return "hashed";
	case HWHEEL_KIND_HIERARCHICAL:
		return "hierarchical";
	default:
		return "unknown to this hwheelctl";
	}
}

static void print_info(const struct hwheel_info *info)
{
	char text[DURATION_TEXT];

	printf("kind               %s\n", kind_name(info->kind));
	printf("tick               %s\n", duration_format(info->tick_ns, text));
	printf("slots              %u x %u level%s\n", info->slots, info->levels,
	       info->levels == 1 ? "" : "s");
	printf("one turn           %s\n", duration_format(info->tick_ns * info->slots, text));
	print_limit("time-outs per file ", info->max_timeouts);
	print_limit("pending at a time  ", info->max_pending);
	printf("features           %#llx\n", info->features);
}

static int run_info(struct hwheel *wheel)
{
	struct hwheel_info info;
	int error = hwheel_info(wheel, &info);

	if (error)
		return failed("info", error);
	print_info(&info);
	return DONE;
}

static void print_event(const struct hwheel_event *event, uint64_t tick_ns)
{
	uint64_t late_ns = event->fired_ns - event->deadline_ns;

	printf("cookie %llu expired %.1f us after its deadline (%.3f ticks)\n", event->cookie,
	       late_ns / 1e3, (double)late_ns / tick_ns);
}

static int run_arm(struct hwheel *wheel, uint64_t delay_ns, uint64_t cookie)
{
	struct hwheel_event event;
	struct hwheel_info info;
	uint64_t id;
	int ret;

	ret = hwheel_info(wheel, &info);
	if (ret)
		return failed("info", ret);
	ret = hwheel_arm(wheel, delay_ns, cookie, &id);
	if (ret)
		return failed("arm", ret);
	do {
		ret = hwheel_next_events(wheel, &event, 1);
	} while (ret == -EINTR);
	if (ret != 1)
		return failed("wait", ret ? ret : -EPIPE);
	print_event(&event, info.tick_ns);
	return DONE;
}

static int parse_number(const char *text, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 0);
	return *text < '0' || *text > '9' || *end || errno ? -EINVAL : 0;
}

/* Returns -1 to go on, else the exit code */
static int parse_options(int argc, char **argv, struct request *request)
{
	int option;

	while ((option = getopt_long(argc, argv, "c:hV", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			if (parse_number(optarg, &request->cookie))
				return misused(optarg, "not a cookie: a number below 2^64");
			request->has_cookie = true;
			break;
		case 'h':
			fputs(help_text, stdout);
			return DONE;
		case 'V':
			puts("hwheelctl " HWHEEL_VERSION);
			return DONE;
		default:
			return see_help();	/* getopt_long() has said what is wrong */
		}
	}
	request->words = argv + optind;
	request->count = argc - optind;
	return -1;
}

static int main_info(const struct request *request)
{
	struct hwheel *wheel;
	int ret;

	if (request->count != 1 || request->has_cookie)
		return misused("info", "takes neither arguments nor options");
	ret = hwheel_open(&wheel, 0);
	if (ret)
		return open_failed(ret);
	ret = run_info(wheel);
	hwheel_close(wheel);
	return ret;
}

static int main_arm(const struct request *request)
{
	struct hwheel *wheel;
	const char *wrong;
	uint64_t delay_ns;
	int ret;

	if (request->count != 2)
		return misused("arm", "takes one duration, such as 250ms");
	wrong = duration_parse(request->words[1], &delay_ns);
	if (wrong)
		return misused(request->words[1], wrong);
	ret = hwheel_open(&wheel, 0);
	if (ret)
		return open_failed(ret);
	ret = run_arm(wheel, delay_ns, request->cookie);
	hwheel_close(wheel);
	return ret;
}

int main(int argc, char **argv)
{
	struct request request = { 0 };
	int ret = parse_options(argc, argv, &request);

	if (ret >= 0)
		return ret;
	if (!request.count)
		return misused("no command", "there are info and arm");
	if (!strcmp(request.words[0], "info"))
		return main_info(&request);
	if (!strcmp(request.words[0], "arm"))
		return main_arm(&request);
	return misused(request.words[0], "not a command; there are info and arm");
}
