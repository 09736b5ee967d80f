// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "fail.h"
#include "wheels.h"

#define COUNTER(field, sort, meaning)	{ #field, offsetof(struct wheel, field), sort, meaning }

const struct wheel_counter wheel_counters[] = {
	COUNTER(pending,	   COUNTER_NOW,	  "timeouts pending now"),
	COUNTER(armed,		   COUNTER_RISES, "timeouts armed"),
	COUNTER(refreshed_later,   COUNTER_RISES, "refreshes to a later deadline"),
	COUNTER(refreshed_earlier, COUNTER_RISES, "refreshes to an earlier deadline"),
	COUNTER(cancelled_queued,  COUNTER_RISES, "cancelled before the worker knew of them"),
	COUNTER(cancelled_filed,   COUNTER_RISES, "cancelled after that"),
	COUNTER(expired,	   COUNTER_RISES, "timeouts expired"),
	COUNTER(handed_back,	   COUNTER_RISES, "ended by stopping the wheel"),
	COUNTER(passes,		   COUNTER_RISES, "passes of the worker"),
	COUNTER(visited,	   COUNTER_RISES, "slots that it looked through"),
	COUNTER(moved,		   COUNTER_RISES, "timeouts that it filed again"),
	COUNTER(wakeups,	   COUNTER_RISES, "how often it woke up"),
	COUNTER(drained,	   COUNTER_RISES, "submissions that it worked off"),
	COUNTER(drained_max,	   COUNTER_MOST,  "the most of them at a time"),
	COUNTER(lag,		   COUNTER_RISES, "ticks that it was late for"),
	COUNTER(lag_max,	   COUNTER_MOST,  "the most of them at a time"),
	COUNTER(overlong,	   COUNTER_RISES, "callbacks that took longer than a tick"),
	COUNTER(contained,	   COUNTER_RISES, "callbacks whose bad return was put right"),
	COUNTER(mapped_pending,	   COUNTER_NOW,	  "mapped timeouts that the worker has filed"),
	COUNTER(mapped_drained,	   COUNTER_RISES, "records that it took from mapped memory"),
	COUNTER(mapped_expired,	   COUNTER_RISES, "mapped timeouts expired"),
	COUNTER(mapped_stopped,	   COUNTER_RISES, "mapped timeouts ended by stopping the file"),
};

const size_t wheel_counters_count = ARRAY_SIZE(wheel_counters);

static void parse_lateness(struct wheel *wheel, const char *text)
{
	char *end;

	for (size_t i = 0; i < HWHEEL_LATENESS_BINS; i++) {
		wheel->lateness[i] = strtoull(text, &end, 10);
		text = end;
	}
}

static void parse_counter(struct wheel *wheel, const char *name, const char *text)
{
	for (size_t i = 0; i < wheel_counters_count; i++)
		if (!strcmp(wheel_counters[i].name, name))
			*wheel_value(wheel, &wheel_counters[i]) = strtoull(text, NULL, 10);
}

#define COPY(field, text)	snprintf(field, sizeof(field), "%s", text)

/* Names that are not known belong to a newer module. */
static void parse_line(struct wheel *wheel, const char *name, const char *text)
{
	if (!strcmp(name, "kind"))
		COPY(wheel->kind, text);
	else if (!strcmp(name, "clock"))
		COPY(wheel->clock, text);
	else if (!strcmp(name, "creator"))
		COPY(wheel->creator, text);
	else if (!strcmp(name, "tick_ns"))
		wheel->tick_ns = strtoull(text, NULL, 10);
	else if (!strcmp(name, "slots"))
		wheel->slots = strtoull(text, NULL, 10);
	else if (!strcmp(name, "levels"))
		wheel->levels = strtoull(text, NULL, 10);
	else if (!strcmp(name, "lateness"))
		parse_lateness(wheel, text);
	else
		parse_counter(wheel, name, text);
}

/* Each line is a name and a value, and there is a kind. */
static int parse_file(struct wheel *wheel, FILE *stream)
{
	char *line = NULL, *space;
	size_t size = 0;

	while (getline(&line, &size, stream) > 0) {
		line[strcspn(line, "\n")] = '\0';
		space = strchr(line, ' ');
		if (!space)
			continue;
		*space = '\0';
		parse_line(wheel, line, space + 1);
	}
	free(line);
	return *wheel->kind ? 0 : -ENOENT;
}

static int read_file(struct wheel *wheel, const char *file)
{
	const char *dash = strrchr(file, '-');
	char path[512];
	FILE *stream;
	int error;

	*wheel = (struct wheel){ .id = dash ? strtoull(dash + 1, NULL, 10) : 0 };
	COPY(wheel->file, file);
	snprintf(path, sizeof(path), WHEELS_FOLDER "/%s", file);
	stream = fopen(path, "r");
	if (!stream)
		return -errno;
	error = parse_file(wheel, stream);
	fclose(stream);
	return error;
}

/* NAME-ID, NAME or ID */
static bool chosen(const char *file, const char *choice)
{
	const char *dash = strrchr(file, '-');

	if (!choice || !strcmp(file, choice))
		return true;
	if (!dash)
		return false;
	return !strcmp(dash + 1, choice) ||
	       (strlen(choice) == (size_t)(dash - file) && !strncmp(file, choice, dash - file));
}

static void append(struct wheels *wheels, const struct wheel *wheel)
{
	wheels->all = reallocarray(wheels->all, wheels->count + 1, sizeof(*wheel));
	if (!wheels->all)
		abort();
	wheels->all[wheels->count++] = *wheel;
}

static int by_id(const void *left, const void *right)
{
	const struct wheel *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

/* A wheel that went away while it was read is none. */
int wheels_read(struct wheels *wheels, const char *choice)
{
	DIR *folder = opendir(WHEELS_FOLDER);
	struct dirent *entry;
	struct wheel wheel;

	if (!folder)
		return -errno;
	wheels->count = 0;
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.' && chosen(entry->d_name, choice) &&
		    !read_file(&wheel, entry->d_name))
			append(wheels, &wheel);
	closedir(folder);
	if (!wheels->count)
		return -ENOENT;
	qsort(wheels->all, wheels->count, sizeof(wheel), by_id);
	return 0;
}

void wheels_free(struct wheels *wheels)
{
	free(wheels->all);
	*wheels = (struct wheels){ 0 };
}

/* Is the folder there, but not the wheel? */
static bool no_such_wheel(const char *choice, int error)
{
	DIR *folder = choice && error == -ENOENT ? opendir(WHEELS_FOLDER) : NULL;

	if (folder)
		closedir(folder);
	return folder;
}

int wheels_fail(const char *choice, int error)
{
	if (!no_such_wheel(choice, error))
		return fail_kernel_file(WHEELS_FOLDER, "debugfs", "/sys/kernel/debug", error);
	fprintf(stderr, "hwheelctl: there is no wheel %s. See those that there are with\n"
			"  sudo hwheelctl list\n", choice);
	return FAILED;
}

/* --- several of them --- */

const struct wheel *wheels_find(const struct wheels *wheels, __u64 id)
{
	for (size_t i = 0; i < wheels->count; i++)
		if (wheels->all[i].id == id)
			return &wheels->all[i];
	return NULL;
}

/* Counters wrap on 32-bit kernels: a moment's difference then is much too large, once. */
struct wheel wheel_since(const struct wheel *wheel, const struct wheel *before)
{
	struct wheel since = *wheel;
	struct wheel old = { 0 };

	if (before)
		old = *before;
	for (size_t i = 0; i < wheel_counters_count; i++)
		if (wheel_counters[i].sort == COUNTER_RISES)
			*wheel_value(&since, &wheel_counters[i]) -=
				*wheel_value(&old, &wheel_counters[i]);
	for (size_t i = 0; i < HWHEEL_LATENESS_BINS; i++)
		since.lateness[i] -= old.lateness[i];
	return since;
}

void wheel_add(struct wheel *sum, const struct wheel *other)
{
	struct wheel copy = *other;

	for (size_t i = 0; i < wheel_counters_count; i++) {
		__u64 *to = wheel_value(sum, &wheel_counters[i]);
		__u64 value = *wheel_value(&copy, &wheel_counters[i]);

		if (wheel_counters[i].sort != COUNTER_MOST)
			*to += value;
		else if (value > *to)
			*to = value;
	}
	for (size_t i = 0; i < HWHEEL_LATENESS_BINS; i++)
		sum->lateness[i] += copy.lateness[i];
}

struct json_object *wheel_json(struct wheel *wheel)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "wheel", wheel->file);
	json_add_number(object, "id", wheel->id);
	json_add_text(object, "kind", wheel->kind);
	json_add_text(object, "clock", wheel->clock);
	json_add_text(object, "creator", wheel->creator);
	json_add_number(object, "tick_ns", wheel->tick_ns);
	json_add_number(object, "slots", wheel->slots);
	json_add_number(object, "levels", wheel->levels);
	for (size_t i = 0; i < wheel_counters_count; i++)
		json_add_number(object, wheel_counters[i].name,
				*wheel_value(wheel, &wheel_counters[i]));
	json_add_numbers(object, "lateness", wheel->lateness, HWHEEL_LATENESS_BINS);
	return object;
}
