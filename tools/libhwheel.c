// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* libhwheel: the one place where userspace speaks the ioctls of /dev/hwheel. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "libhwheel.h"

/* Only hwheel_map() ever writes it, before others use it: so no call needs a lock. */
struct hwheel {
	int fd;
	clockid_t clock;	/* of the deadlines */
	uint64_t *deadlines;	/* shared with the module, by index; NULL: not mapped */
	size_t size;		/* of that, in bytes */
	uint64_t reach;		/* how far from now a store may be, in ns */
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
	new = calloc(1, sizeof(*new));
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
	if (wheel->deadlines)
		munmap(wheel->deadlines, wheel->size);
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

/*
 * The module takes a store for no more than a day or a turn beyond the deadline that it knows
 * of, which is no more than some ticks before now: half of it is always within reach.
 */
static uint64_t reach_of(const struct hwheel_info *info)
{
	uint64_t turn = info->tick_ns * info->slots;

	if (info->kind != HWHEEL_KIND_SIMPLE || turn > HWHEEL_STORE_MAX_NS)
		return HWHEEL_STORE_MAX_NS / 2;
	return info->slots < 8 ? 0 : turn / 2;
}

int hwheel_map(struct hwheel *wheel)
{
	struct hwheel_info info;
	void *deadlines;
	size_t size;
	int error;

	if (wheel->deadlines)
		return 0;
	error = hwheel_info(wheel, &info);
	if (error)
		return error;
	if (!(info.features & HWHEEL_FEATURE_MMAP))
		return -EOPNOTSUPP;
	size = info.max_timeouts * sizeof(uint64_t);
	deadlines = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, wheel->fd, 0);
	if (deadlines == MAP_FAILED)
		return -errno;
	wheel->clock = (clockid_t)info.clock;
	wheel->reach = reach_of(&info);
	wheel->deadlines = deadlines;
	wheel->size = size;
	return 0;
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

/*
 * Stores a deadline: 1 if that can't be done. The module writes 0 when the time-out ends, so
 * that one which has ended is left alone.
 */
static int store(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	uint64_t *word = &wheel->deadlines[HWHEEL_INDEX(id)];
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	do {
		if (!old)
			return -ENOENT;
		if (deadline_ns < old)
			return 1;
	} while (!__atomic_compare_exchange_n(word, &old, deadline_ns, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	return 0;
}

/* Is there a word for it? If so, what time is it? */
static bool can_store(const struct hwheel *wheel, uint64_t id, uint64_t *now)
{
	struct timespec ts;

	if (HWHEEL_INDEX(id) >= wheel->size / sizeof(uint64_t) || !(id >> 32) ||
	    clock_gettime(wheel->clock, &ts))
		return false;
	*now = (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
	return true;
}

int hwheel_refresh(struct hwheel *wheel, uint64_t id, uint64_t delay_ns)
{
	uint64_t now;
	int result = 1;

	if (delay_ns <= wheel->reach && can_store(wheel, id, &now))
		result = store(wheel, id, now + delay_ns);
	return result <= 0 ? result : refresh(wheel, 0, id, delay_ns);
}

int hwheel_refresh_at(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	uint64_t now;
	int result = 1;

	if (can_store(wheel, id, &now) && deadline_ns >= now &&
	    deadline_ns - now <= wheel->reach)
		result = store(wheel, id, deadline_ns);
	return result <= 0 ? result : refresh(wheel, HWHEEL_ABSOLUTE, id, deadline_ns);
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
