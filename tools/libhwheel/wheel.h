/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/* What a handle is, to the library's own files. */
#ifndef WHEEL_H
#define WHEEL_H

#include <errno.h>
#include <sys/ioctl.h>
#include <time.h>

#include "libhwheel.h"

/*
 * Only hwheel_configure() and hwheel_map() ever write it, before others use it: so no call
 * needs a lock.
 */
struct hwheel {
	int fd;
	clockid_t clock;	/* of the deadlines */
	uint64_t *deadlines;	/* shared with the module, by index; NULL: not mapped */
	size_t size;		/* of that, in bytes */
	uint64_t reach;		/* how far from now a store may be, in ns */
};

/* What the ioctl returns, or a negative errno */
static inline int wheel_ioctl(const struct hwheel *wheel, unsigned long command,
			      const void *argument)
{
	int ret = ioctl(wheel->fd, command, argument);

	return ret < 0 ? -errno : ret;
}

/* With a prefix, as a static library hides nothing */
void hwheel__unmap(struct hwheel *wheel);

/* 0: stored; -ENOENT: it is not pending; 1: this deadline can't be stored */
int hwheel__store(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns);
int hwheel__store_delay(struct hwheel *wheel, uint64_t id, uint64_t delay_ns);

#endif /* WHEEL_H */
