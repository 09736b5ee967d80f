/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wheels on this machine, and what they have counted so far: those in debugfs, which is
 * for root, or else the one that the device's files share.
 */
#ifndef WHEELS_H
#define WHEELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "libhwheel.h"

#define WHEELS_FOLDER	"/sys/kernel/debug/hwheel"

/* One wheel at one time; counters as explained in wheel_counters */
struct wheel {
	char file[256];		/* NAME-ID; its name here */
	char kind[16];
	char clock[16];
	char creator[96];
	uint64_t id;
	uint64_t tick_ns;
	uint64_t slots;
	uint64_t levels;
	uint64_t pending;
	uint64_t armed;
	uint64_t refreshed_later;
	uint64_t refreshed_earlier;
	uint64_t cancelled_queued;
	uint64_t cancelled_filed;
	uint64_t expired;
	uint64_t handed_back;
	uint64_t passes;
	uint64_t visited;
	uint64_t moved;
	uint64_t wakeups;
	uint64_t drained;
	uint64_t drained_max;
	uint64_t lag;
	uint64_t lag_max;
	uint64_t overlong;
	uint64_t contained;
	uint64_t lateness[HWHEEL_LATENESS_BINS];
};

/* How figures of two times or of two wheels are put together */
enum counter_sort {
	COUNTER_RISES,		/* differences and sums */
	COUNTER_NOW,		/* the later one, and sums */
	COUNTER_MOST,		/* the later one, and the larger */
};

struct wheel_counter {
	const char *name;	/* in debugfs and in JSON */
	size_t offset;		/* in struct wheel */
	enum counter_sort sort;
	const char *meaning;
};

extern const struct wheel_counter wheel_counters[];
extern const size_t wheel_counters_count;

static inline uint64_t *wheel_value(struct wheel *wheel, const struct wheel_counter *counter)
{
	return (uint64_t *)((char *)wheel + counter->offset);
}

struct wheels {
	struct wheel *all;	/* by id */
	size_t count;
	bool shared_only;	/* from the device: there may be others */
};

/*
 * Reads them into what was zeroed or read before. @choice: NAME-ID, NAME or ID of those to
 * be read, or NULL. wheels_read_all() takes nothing but debugfs. 0 or a negative errno;
 * -ENOENT also if there is no such wheel.
 */
int wheels_read_all(struct wheels *wheels, const char *choice);
int wheels_read(struct wheels *wheels, const char *choice);
void wheels_free(struct wheels *wheels);

/* Says why they could not be read, and returns the exit code. */
int wheels_fail(const char *choice, int error);

const struct wheel *wheels_find(const struct wheels *wheels, uint64_t id);

/* What happened on a wheel since @before, which may be NULL */
struct wheel wheel_since(const struct wheel *wheel, const struct wheel *before);

/* Adds what @other counted */
void wheel_add(struct wheel *sum, const struct wheel *other);

struct json_object *wheel_json(struct wheel *wheel);

#endif /* WHEELS_H */
