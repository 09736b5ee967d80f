/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wheels on this machine, and what they have counted so far: as debugfs tells, which is
 * for root.
 */
#ifndef WHEELS_H
#define WHEELS_H

#include <stddef.h>
#include <linux/types.h>

#include "json.h"
#include "libhwheel.h"

#define WHEELS_FOLDER	"/sys/kernel/debug/hwheel"

/* One wheel at one time; counters as explained in wheel_counters */
struct wheel {
	char file[256];		/* NAME-ID; its name here */
	char kind[16];
	char clock[16];
	char creator[96];
	__u64 id;
	__u64 tick_ns;
	__u64 slots;
	__u64 levels;
	__u64 pending;
	__u64 armed;
	__u64 refreshed_later;
	__u64 refreshed_earlier;
	__u64 cancelled_queued;
	__u64 cancelled_filed;
	__u64 expired;
	__u64 handed_back;
	__u64 passes;
	__u64 visited;
	__u64 moved;
	__u64 wakeups;
	__u64 drained;
	__u64 drained_max;
	__u64 lag;
	__u64 lag_max;
	__u64 overlong;
	__u64 contained;
	__u64 mapped_pending;
	__u64 mapped_drained;
	__u64 mapped_expired;
	__u64 mapped_stopped;
	__u64 lateness[HWHEEL_LATENESS_BINS];
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

static inline __u64 *wheel_value(struct wheel *wheel, const struct wheel_counter *counter)
{
	return (__u64 *)((char *)wheel + counter->offset);
}

struct wheels {
	struct wheel *all;	/* by id */
	size_t count;
};

/*
 * Reads them into what was zeroed or read before. @choice: NAME-ID, NAME or ID of those to
 * be read, or NULL. 0 or a negative errno; -ENOENT also if there is no such wheel.
 */
int wheels_read(struct wheels *wheels, const char *choice);
void wheels_free(struct wheels *wheels);

/* Says why they could not be read, and returns the exit code. */
int wheels_fail(const char *choice, int error);

/* Of both sorts of files, as far as the wheel knows */
static inline __u64 wheel_pending(const struct wheel *wheel)
{
	return wheel->pending + wheel->mapped_pending;
}

const struct wheel *wheels_find(const struct wheels *wheels, __u64 id);

/* What happened on a wheel since @before, which may be NULL */
struct wheel wheel_since(const struct wheel *wheel, const struct wheel *before);

/* Adds what @other counted */
void wheel_add(struct wheel *sum, const struct wheel *other);

struct json_object *wheel_json(struct wheel *wheel);

#endif /* WHEELS_H */
