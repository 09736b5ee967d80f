// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "duration.h"
#include "fail.h"
#include "files.h"
#include "state.h"
#include "wheels.h"

#define BINS_OF_A_TICK	9	/* of the histogram: these are below one tick */

static void print_module(void)
{
	char version[64];

	module_version(version, sizeof(version));
	printf("module: hwheel %s\n", version);
}

static void print_number(const char *name, __u64 number)
{
	printf("  %s: %llu\n", name, (unsigned long long)number);
}

/* Mapped timeouts are not in the histogram. */
static void print_lateness(const struct wheel *wheel)
{
	__u64 below = 0, all = 0;

	for (size_t i = 0; i < HWHEEL_LATENESS_BINS; i++) {
		all += wheel->lateness[i];
		if (i < BINS_OF_A_TICK)
			below += wheel->lateness[i];
	}
	if (all)
		printf("  late by less than a tick: %llu of %llu\n", (unsigned long long)below,
		       (unsigned long long)all);
}

static void print_wheel(const struct wheel *wheel)
{
	char tick[DURATION_TEXT];

	printf("\nwheel: %s\n", wheel->file);
	printf("  made by: %s\n", wheel->creator);
	printf("  kind: %s, tick %s, %llu slots\n", wheel->kind,
	       duration_format(wheel->tick_ns, tick), (unsigned long long)wheel->slots);
	print_number("pending", wheel_pending(wheel));
	print_number("armed", wheel->armed);
	print_number("taken from mapped memory", wheel->mapped_drained);
	print_number("cancelled", wheel->cancelled_queued + wheel->cancelled_filed);
	print_number("expired", wheel->expired + wheel->mapped_expired);
	print_lateness(wheel);
}

/* Anybody may see that there are wheels, but only root what is on them. */
static int print_wheels(void)
{
	struct wheels wheels = { 0 };
	int error = wheels_read(&wheels, NULL);

	if (error == -EACCES || error == -EPERM) {
		puts("\nwheels: for root alone (sudo hwheelctl)");
		return DONE;
	}
	if (error)
		return wheels_fail(NULL, error);
	for (size_t i = 0; i < wheels.count; i++)
		print_wheel(&wheels.all[i]);
	wheels_free(&wheels);
	return DONE;
}

static void print_file(const struct open_file *file)
{
	printf("\nfile: %d of %s (%d)\n", file->fd, file->command, file->pid);
	print_number("wheel", file->wheel);
	printf("  timeouts: %s, at most %llu\n", file->mapped ? "mapped" : "by system calls",
	       (unsigned long long)file->max_timeouts);
	print_number("pending", file->pending);
	print_number("events to be read", file->events);
}

static int print_files(void)
{
	struct files files = { 0 };
	int error = files_read(&files);

	if (error)
		return fail("/proc", error);
	for (size_t i = 0; i < files.count; i++)
		print_file(&files.all[i]);
	files_free(&files);
	return DONE;
}

int state_show(void)
{
	if (!module_loaded())
		return fail_open(-ENOENT);
	print_module();
	return print_wheels() ?: print_files();
}
