// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/hwheel.h>
#include <tracefs.h>

#include "trace.h"

#define SYSTEM	"hwheel"

/* Each event has a tracepoint of the device's, and one of what kernel code has armed. */
static const struct event {
	const char *name;
	const char *device;
	const char *kernel;
} events[TRACE_EVENTS] = {
	{ "arm",     "file_arm",     "timeout_arm" },
	{ "refresh", "file_refresh", "timeout_refresh" },
	{ "cancel",  "file_cancel",  "timeout_cancel" },
	{ "expire",  "file_expire",  "timeout_expire_entry" },
	{ "stop",    "file_stop",    NULL },
	{ "take",    "mapped_act",   NULL },
	{ "end",     "mapped_end",   NULL },
};

static struct {
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	trace_show show;
	void *data;
	long long lost;
	const char *missing;
} trace;

int trace_event_named(const char *name)
{
	for (int i = 0; i < TRACE_EVENTS; i++)
		if (!strcmp(events[i].name, name))
			return i;
	return -1;
}

const char *trace_event_name(unsigned int event)
{
	return events[event].name;
}

/* --- the instance --- */

/* Of a tracepoint: is it the device's, and only for a process or for wheels? */
static void filter_text(const struct trace_filter *filter, bool device, char *text, size_t size)
{
	int length = snprintf(text, size, "%s", device ? "wheel_id > 0" : "own == 0");

	if (filter->pid)
		length += snprintf(text + length, size - length, " && %s == %d",
				   device ? "owner" : "common_pid", filter->pid);
	if (filter->wheels)
		snprintf(text + length, size - length, " && (%s)", filter->wheels);
}

const char *trace_missing(void)
{
	return trace.missing;
}

static int miss(const char *tracepoint)
{
	trace.missing = tracepoint;
	return -ENOTSUP;
}

static int enable(const char *tracepoint, const struct trace_filter *filter, bool device)
{
	char text[4096];

	if (!tracepoint)
		return 0;
	filter_text(filter, device, text, sizeof(text));
	if (!tracefs_event_file_exists(trace.instance, SYSTEM, tracepoint, "filter"))
		return miss(tracepoint);
	/* The kernel refuses a filter of a field that the tracepoint has not. */
	if (tracefs_event_file_write(trace.instance, SYSTEM, tracepoint, "filter", text) < 0)
		return errno == EINVAL ? miss(tracepoint) : -errno ?: -ENOENT;
	if (tracefs_event_enable(trace.instance, SYSTEM, tracepoint))
		return -errno ?: -ENOENT;
	return 0;
}

static int enable_all(const struct trace_filter *filter)
{
	int error = 0;

	for (unsigned int i = 0; i < TRACE_EVENTS && !error; i++)
		if (filter->events & 1U << i)
			error = enable(events[i].device, filter, true) ?:
				enable(events[i].kernel, filter, false);
	return error;
}

int trace_begin(const struct trace_filter *filter)
{
	static const char *const systems[] = { SYSTEM, NULL };
	char name[32];

	tracefs_set_loglevel(TEP_LOG_NONE);
	/* The library would mount it, which is for the administrator to decide. */
	if (tracefs_tracing_dir_is_mounted(false, NULL) <= 0)
		return -ENOENT;
	snprintf(name, sizeof(name), "hwheelctl-%d", getpid());
	errno = 0;
	trace.instance = tracefs_instance_create(name);
	if (!trace.instance)
		return errno ? -errno : -ENOENT;
	if (tracefs_instance_file_write(trace.instance, "trace_clock", "mono") < 0)
		return errno ? -errno : -EIO;
	trace.tep = tracefs_local_events_system(NULL, systems);
	if (!trace.tep)
		return errno ? -errno : -ENOENT;
	return enable_all(filter);
}

/* Takes what is recorded with it. Events that are enabled keep the module from being unloaded. */
void trace_end(void)
{
	if (!trace.instance)
		return;
	tracefs_event_disable(trace.instance, SYSTEM, NULL);
	tracefs_instance_destroy(trace.instance);
	tracefs_instance_free(trace.instance);
	tep_free(trace.tep);
	trace.instance = NULL;
	trace.tep = NULL;
}

/* --- what is recorded --- */

static __u64 field(struct tep_event *event, struct tep_record *record, const char *name)
{
	unsigned long long value = 0;

	tep_get_field_val(NULL, event, name, record, &value, 0);
	return value;
}

static void name_owner(struct tep_event *event, struct tep_record *record, char *name)
{
	int length = 0;
	const char *found = tep_get_field_raw(NULL, event, "owner_name", record, &length, 0);

	snprintf(name, PROCESS_NAME, "%.*s", found ? length : 0, found ?: "");
	process_clean(name);
}

/* A number that the library makes of a record: its generation, and where it is, in bytes */
static __u64 id_of_record(__u32 generation, __u32 index)
{
	const __u32 size = sizeof(struct hwheel_map_record);
	const __u32 halves[] = { generation, (index + 1) * size };
	__u64 id;

	memcpy(&id, halves, sizeof(id));
	return id;
}

static __u64 timeout_of(struct tep_event *event, struct tep_record *record)
{
	if (tep_find_field(event, "id"))
		return field(event, record, "id");
	if (tep_find_field(event, "index"))
		return id_of_record((__u32)field(event, record, "generation"),
				    (__u32)field(event, record, "index"));
	return field(event, record, "timeout");
}

static int number_of(const char *tracepoint)
{
	for (int i = 0; i < TRACE_EVENTS; i++)
		if (!strcmp(events[i].device, tracepoint) ||
		    (events[i].kernel && !strcmp(events[i].kernel, tracepoint)))
			return i;
	return -1;
}

static int take(struct tep_event *event, struct tep_record *record, int cpu, void *data)
{
	int number = number_of(event->name);
	struct happening happening;

	(void)cpu;
	(void)data;
	if (record->missed_events)
		trace.lost += record->missed_events > 0 ? record->missed_events : 1;
	if (number < 0)
		return 0;
	happening = (struct happening) {
		.event = (unsigned int)number,
		.time_ns = record->ts,
		.deadline_ns = field(event, record, "deadline"),
		.thread = tep_data_pid(trace.tep, record),
		.owner = (int)field(event, record, "owner"),
		.wheel = (unsigned int)field(event, record, "wheel_id"),
		.timeout = timeout_of(event, record),
		.cookie = field(event, record, "cookie"),
	};
	name_owner(event, record, happening.owner_name);
	return !trace.show(&happening, trace.data);
}

long long trace_read(trace_show show, void *data)
{
	trace.show = show;
	trace.data = data;
	trace.lost = 0;
	errno = 0;
	if (tracefs_iterate_raw_events(trace.tep, trace.instance, NULL, 0, take, NULL) < 0)
		return errno && errno != EINTR && errno != EAGAIN ? -errno : trace.lost;
	return trace.lost;
}
