/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/* What a handle is, to the library's own files. */
#ifndef WHEEL_H
#define WHEEL_H

#include <errno.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <time.h>

#include "libhwheel.h"

struct map;

#define ATTRIBUTE(...)	__attribute__((__VA_ARGS__))

/* Not on a fast path, for which the compiler keeps the registers */
#define SLOW		ATTRIBUTE(noinline, cold)

/*
 * hwheel_configure() and the first hwheel_map() write it before others use it: so no call needs a
 * lock.
 */
struct hwheel {
	int fd;
	clockid_t clock;	/* of the deadlines */
	bool waits;		/* for events: the descriptor blocks */
	struct hwheel_map layout;	/* as the first hwheel_map() had it made */
	struct map *map;	/* of mapped timeouts, or NULL */
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

/* Operations of a wheel that is not mapped */
int op_arm(struct hwheel *wheel, uint32_t flags, uint64_t time_ns, uint64_t cookie,
	   uint64_t *id);
int op_refresh(struct hwheel *wheel, uint32_t flags, uint64_t id, uint64_t time_ns);
int op_end(struct hwheel *wheel, unsigned long command, uint64_t id);
int op_set(struct hwheel *wheel, uint32_t flags, uint64_t *id, uint64_t time_ns, uint64_t cookie);

#endif /* WHEEL_H */
