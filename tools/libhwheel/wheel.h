/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/* What a handle is, to the library's own files. */
#ifndef WHEEL_H
#define WHEEL_H

#include <errno.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <time.h>

#include "libhwheel.h"

struct local;
struct map;

#define ATTRIBUTE(...)	__attribute__((__VA_ARGS__))

/* Not on a fast path, for which the compiler keeps the registers */
#define SLOW		ATTRIBUTE(noinline, cold)

/**
 * struct place - where a handle's wheel is: the functions of libhwheel.h on it
 * @arm, @refresh, @set: @flags: HWHEEL_ABSOLUTE: the time is a deadline; 0: a delay
 * @end:    cancels a timeout; with @or_event, withdraws its event otherwise
 * @submit: does the operations of a batch in their order, and returns how many
 * @close:  frees what the place keeps, but for the descriptor
 */
struct place {
	int (*arm)(struct hwheel *wheel, uint32_t flags, uint64_t time_ns, uint64_t cookie,
		   uint64_t *id);
	int (*refresh)(struct hwheel *wheel, uint32_t flags, uint64_t id, uint64_t time_ns);
	int (*set)(struct hwheel *wheel, uint32_t flags, uint64_t *id, uint64_t time_ns,
		   uint64_t cookie);
	int (*end)(struct hwheel *wheel, uint64_t id, bool or_event);
	int (*query)(struct hwheel *wheel, uint64_t id, uint64_t *left_ns, uint64_t *cookie);
	int (*next_events)(struct hwheel *wheel, struct hwheel_event *events, size_t count);
	int (*submit)(struct hwheel *wheel, struct hwheel_op *ops, unsigned int nr);
	int (*configure)(struct hwheel *wheel, const struct hwheel_config *config);
	int (*map)(struct hwheel *wheel, size_t count);
	int (*info)(const struct hwheel *wheel, struct hwheel_info *info);
	int (*stats)(const struct hwheel *wheel, struct hwheel_file_stats *stats);
	int (*stop)(struct hwheel *wheel);
	void (*close)(struct hwheel *wheel);
};

/* By system calls; in memory shared with the kernel, after hwheel_map(); in the process itself */
extern const struct place device_place, mapped_place, local_place;

/*
 * hwheel_configure() and the first hwheel_map() write it before others use it: so no call needs a
 * lock.
 */
struct hwheel {
	int fd;
	clockid_t clock;	/* of the deadlines */
	bool waits;		/* for events: the descriptor blocks */
	const struct place *place;
	struct hwheel_map layout;	/* as the first hwheel_map() had it made */
	struct map *map;	/* of mapped timeouts, or NULL */
	struct local *local;	/* of a wheel in the process, or NULL */
	unsigned int slot;	/* of each thread, in bytes */
};

/* What the ioctl returns, or a negative errno */
static inline int wheel_ioctl(const struct hwheel *wheel, unsigned long command,
			      const void *argument)
{
	int ret = ioctl(wheel->fd, command, argument);

	return ret < 0 ? -errno : ret;
}

/* A time beyond the clock's range means never. */
static inline uint64_t deadline_after(uint64_t now, uint64_t delay_ns)
{
	uint64_t deadline;

	return __builtin_add_overflow(now, delay_ns, &deadline) ? UINT64_MAX : deadline;
}

/* wheel.c: a handle without a descriptor, or NULL; @flags: as for hwheel_open() */
struct hwheel *wheel_new(const struct place *place, unsigned int flags);

/* device.c: as these are for a mapped handle, too */
int device_configure(struct hwheel *wheel, const struct hwheel_config *config);
int device_info(const struct hwheel *wheel, struct hwheel_info *info);
int device_stats(const struct hwheel *wheel, struct hwheel_file_stats *stats);
int device_stop(struct hwheel *wheel);

/* batch.c: each operation by itself, where that takes no system call */
int batch_perform(struct hwheel *wheel, struct hwheel_op *ops, unsigned int nr);

/* map.c: makes a handle of the device a mapped one, or its map larger. */
int map_make(struct hwheel *wheel, size_t count);

#endif /* WHEEL_H */
