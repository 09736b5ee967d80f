// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A handle: opened, closed, and calls that it passes on to its place. mapped.c has those with a
 * fast path for mapped timeouts: hwheel_arm_at(), _refresh_at(), _set_at() and _cancel().
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "map.h"

struct hwheel *wheel_new(const struct place *place, unsigned int flags)
{
	struct hwheel *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	/* That of the default wheel, on which each file begins */
	new->clock = CLOCK_MONOTONIC;
	new->slot = LAST_SLOT;
	new->waits = !(flags & HWHEEL_NONBLOCK);
	new->place = place;
	return new;
}

static int open_device(struct hwheel **wheel, unsigned int flags)
{
	struct hwheel *new = wheel_new(&device_place, flags);
	int mode = O_RDWR | O_CLOEXEC, error;

	if (!new)
		return -ENOMEM;
	if (flags & HWHEEL_NONBLOCK)
		mode |= O_NONBLOCK;
	new->fd = open(HWHEEL_DEVICE, mode);
	if (new->fd < 0) {
		error = -errno;
		free(new);
		return error;
	}
	*wheel = new;
	return 0;
}

/* Is there no device for this program? Other errors are about the program itself. */
static bool is_missing(int error)
{
	return error == -ENOENT || error == -ENXIO || error == -ENODEV || error == -EACCES ||
	       error == -EPERM;
}

int hwheel_open(struct hwheel **wheel, unsigned int flags)
{
	int error;

	if (flags & ~(HWHEEL_NONBLOCK | HWHEEL_ANYWHERE))
		return -EINVAL;
	error = open_device(wheel, flags);
	if (flags & HWHEEL_ANYWHERE && is_missing(error))
		return hwheel_open_local(wheel, flags & ~HWHEEL_ANYWHERE);
	return error;
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
	new = wheel_new(&device_place, fcntl(fd, F_GETFL) & O_NONBLOCK ? HWHEEL_NONBLOCK : 0);
	if (!new)
		return -ENOMEM;
	new->fd = fd;
	new->clock = info.clock;
	*wheel = new;
	return 0;
}

int hwheel_close(struct hwheel *wheel)
{
	int error = 0;

	if (!wheel)
		return 0;
	wheel->place->close(wheel);
	if (close(wheel->fd))
		error = -errno;
	free(wheel);
	return error;
}

int hwheel_fd(const struct hwheel *wheel)
{
	return wheel->fd;
}

uint64_t hwheel_now(const struct hwheel *wheel)
{
	struct timespec now;

	clock_gettime(wheel->clock, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int hwheel_configure(struct hwheel *wheel, const struct hwheel_config *config)
{
	return wheel->place->configure(wheel, config);
}

int hwheel_map(struct hwheel *wheel, size_t count)
{
	return wheel->place->map(wheel, count);
}

int hwheel_info(const struct hwheel *wheel, struct hwheel_info *info)
{
	return wheel->place->info(wheel, info);
}

int hwheel_stats(const struct hwheel *wheel, struct hwheel_file_stats *stats)
{
	return wheel->place->stats(wheel, stats);
}

int hwheel_stop(struct hwheel *wheel)
{
	return wheel->place->stop(wheel);
}

int hwheel_arm(struct hwheel *wheel, uint64_t delay_ns, uint64_t cookie, uint64_t *id)
{
	return wheel->place->arm(wheel, 0, delay_ns, cookie, id);
}

int hwheel_refresh(struct hwheel *wheel, uint64_t id, uint64_t delay_ns)
{
	return wheel->place->refresh(wheel, 0, id, delay_ns);
}

int hwheel_set(struct hwheel *wheel, uint64_t *id, uint64_t delay_ns, uint64_t cookie)
{
	return wheel->place->set(wheel, 0, id, delay_ns, cookie);
}

int hwheel_withdraw(struct hwheel *wheel, uint64_t id)
{
	return wheel->place->end(wheel, id, true);
}

int hwheel_query(struct hwheel *wheel, uint64_t id, uint64_t *left_ns, uint64_t *cookie)
{
	return wheel->place->query(wheel, id, left_ns, cookie);
}

int hwheel_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	return wheel->place->next_events(wheel, events, count);
}
