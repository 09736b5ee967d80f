// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* libhwheel: the one place where userspace speaks the ioctls of /dev/hwheel. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libhwheel.h"

/* Never written after hwheel_open(): that is why no call needs a lock */
struct hwheel {
	int fd;
};

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
	new = malloc(sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->fd = open_device(flags);
	if (new->fd < 0) {
		error = -errno;
		free(new);
		return error;
	}
	*wheel = new;
	return 0;
}

int hwheel_close(struct hwheel *wheel)
{
	int error = 0;

	if (!wheel)
		return 0;
	if (close(wheel->fd))
		error = -errno;
	free(wheel);
	return error;
}

int hwheel_fd(const struct hwheel *wheel)
{
	return wheel->fd;
}

static int device_ioctl(const struct hwheel *wheel, unsigned long command, void *argument)
{
	return ioctl(wheel->fd, command, argument) < 0 ? -errno : 0;
}

int hwheel_info(const struct hwheel *wheel, struct hwheel_info *info)
{
	return device_ioctl(wheel, HWHEEL_IOC_INFO, info);
}

static int arm(struct hwheel *wheel, uint32_t flags, uint64_t time_ns, uint64_t cookie,
	       uint64_t *id)
{
	struct hwheel_op op = {
		.op = HWHEEL_OP_ARM, .flags = flags, .cookie = cookie, .time_ns = time_ns,
	};
	int error = device_ioctl(wheel, HWHEEL_IOC_ARM, &op);

	if (!error)
		*id = op.id;
	return error;
}

int hwheel_arm(struct hwheel *wheel, uint64_t delay_ns, uint64_t cookie, uint64_t *id)
{
	return arm(wheel, 0, delay_ns, cookie, id);
}

int hwheel_arm_at(struct hwheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	return arm(wheel, HWHEEL_ABSOLUTE, deadline_ns, cookie, id);
}

static int refresh(struct hwheel *wheel, uint32_t flags, uint64_t id, uint64_t time_ns)
{
	struct hwheel_op op = {
		.op = HWHEEL_OP_REFRESH, .flags = flags, .id = id, .time_ns = time_ns,
	};

	return device_ioctl(wheel, HWHEEL_IOC_REFRESH, &op);
}

int hwheel_refresh(struct hwheel *wheel, uint64_t id, uint64_t delay_ns)
{
	return refresh(wheel, 0, id, delay_ns);
}

int hwheel_refresh_at(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	return refresh(wheel, HWHEEL_ABSOLUTE, id, deadline_ns);
}

int hwheel_cancel(struct hwheel *wheel, uint64_t id)
{
	struct hwheel_op op = { .op = HWHEEL_OP_CANCEL, .id = id };

	return device_ioctl(wheel, HWHEEL_IOC_CANCEL, &op);
}

int hwheel_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	const size_t most = INT_MAX / sizeof(*events);
	ssize_t bytes;

	if (count > most)
		count = most;
	bytes = read(wheel->fd, events, count * sizeof(*events));
	return bytes < 0 ? -errno : (int)(bytes / (ssize_t)sizeof(*events));
}
