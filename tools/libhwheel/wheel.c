// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* A handle: opened, configured, looked at, stopped, closed. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "map.h"

static int open_device(unsigned int flags)
{
	int mode = O_RDWR | O_CLOEXEC;

	if (flags & HWHEEL_NONBLOCK)
		mode |= O_NONBLOCK;
	return open(HWHEEL_DEVICE, mode);
}

int hwheel_open(struct hwheel **wheel, unsigned int flags)
{
	struct hwheel *new;
	int error;

	if (flags & ~HWHEEL_NONBLOCK)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	/* That of the default wheel, on which each file begins */
	new->clock = CLOCK_MONOTONIC;
	new->slot = LAST_SLOT;
	new->waits = !(flags & HWHEEL_NONBLOCK);
	new->fd = open_device(flags);
	if (new->fd < 0) {
		error = -errno;
		free(new);
		return error;
	}
	*wheel = new;
	return 0;
}

/* Any other file takes a command that it does not know for an error of its own. */
static int ask(int fd, struct hwheel_info *info)
{
	if (!ioctl(fd, HWHEEL_IOC_INFO, info))
		return 0;
	return errno == EBADF ? -EBADF : -ENOTTY;
}

int hwheel_open_fd(struct hwheel **wheel, int fd)
{
	struct hwheel_info info;
	struct hwheel *new;
	int error = ask(fd, &info);

	if (error)
		return error;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->fd = fd;
	new->clock = info.clock;
	new->slot = LAST_SLOT;
	new->waits = !(fcntl(fd, F_GETFL) & O_NONBLOCK);
	*wheel = new;
	return 0;
}

int hwheel_close(struct hwheel *wheel)
{
	int error = 0;

	if (!wheel)
		return 0;
	map_close(wheel);
	if (close(wheel->fd))
		error = -errno;
	free(wheel);
	return error;
}

int hwheel_fd(const struct hwheel *wheel)
{
	return wheel->fd;
}

/* In a child after fork(): the timeouts are the parent's. */
static bool is_parents(const struct hwheel *wheel)
{
	return wheel->map && !wheel->map->header;
}

int hwheel_configure(struct hwheel *wheel, const struct hwheel_config *config)
{
	int error = is_parents(wheel) ? -EBADF : wheel_ioctl(wheel, HWHEEL_IOC_CONFIG, config);

	if (!error && config->kind != HWHEEL_KIND_DEFAULT)
		wheel->clock = config->clock;
	return error;
}

int hwheel_info(const struct hwheel *wheel, struct hwheel_info *info)
{
	return wheel_ioctl(wheel, HWHEEL_IOC_INFO, info);
}

int hwheel_stats(const struct hwheel *wheel, struct hwheel_file_stats *stats)
{
	return wheel_ioctl(wheel, HWHEEL_IOC_STATS, stats);
}

int hwheel_stop(struct hwheel *wheel)
{
	return is_parents(wheel) ? -EBADF : wheel_ioctl(wheel, HWHEEL_IOC_STOP, NULL);
}

uint64_t hwheel_now(const struct hwheel *wheel)
{
	struct timespec now;

	clock_gettime(wheel->clock, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}
