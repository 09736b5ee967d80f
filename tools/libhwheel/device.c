// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* A handle of /dev/hwheel that is not mapped: each call is a system call. */
#include <limits.h>
#include <unistd.h>

#include "map.h"

static int device_arm(struct hwheel *wheel, uint32_t flags, uint64_t time_ns, uint64_t cookie,
		      uint64_t *id)
{
	struct hwheel_op op = {
		.op = HWHEEL_OP_ARM, .flags = flags, .cookie = cookie, .time_ns = time_ns,
	};
	int error = wheel_ioctl(wheel, HWHEEL_IOC_ARM, &op);

	if (!error)
		*id = op.id;
	return error;
}

static int device_refresh(struct hwheel *wheel, uint32_t flags, uint64_t id, uint64_t time_ns)
{
	struct hwheel_op op = {
		.op = HWHEEL_OP_REFRESH, .flags = flags, .id = id, .time_ns = time_ns,
	};

	return wheel_ioctl(wheel, HWHEEL_IOC_REFRESH, &op);
}

static int device_set(struct hwheel *wheel, uint32_t flags, uint64_t *id, uint64_t time_ns,
		      uint64_t cookie)
{
	struct hwheel_op op = {
		.op = HWHEEL_OP_SET, .flags = flags, .id = *id, .cookie = cookie,
		.time_ns = time_ns,
	};
	int error = wheel_ioctl(wheel, HWHEEL_IOC_SET, &op);

	if (!error)
		*id = op.id;
	return error;
}

static int device_end(struct hwheel *wheel, uint64_t id, bool or_event)
{
	struct hwheel_op op = { .id = id };

	return wheel_ioctl(wheel, or_event ? HWHEEL_IOC_WITHDRAW : HWHEEL_IOC_CANCEL, &op);
}

static int device_query(struct hwheel *wheel, uint64_t id, uint64_t *left_ns, uint64_t *cookie)
{
	struct hwheel_op op = { .op = HWHEEL_OP_QUERY, .id = id };
	int state = wheel_ioctl(wheel, HWHEEL_IOC_QUERY, &op);

	if (state < 0)
		return state;
	if (left_ns)
		*left_ns = op.time_ns;
	if (cookie)
		*cookie = op.cookie;
	return state;
}

static int device_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	const size_t most = INT_MAX / sizeof(*events);
	ssize_t bytes;

	if (count > most)
		count = most;
	bytes = read(wheel->fd, events, count * sizeof(*events));
	return bytes < 0 ? -errno : (int)(bytes / (ssize_t)sizeof(*events));
}

/* A call may do less than all. What it did is counted, so the next one begins behind it. */
static int device_submit(struct hwheel *wheel, struct hwheel_op *ops, unsigned int nr)
{
	unsigned int done = 0;
	int ret;

	while (done < nr) {
		const struct hwheel_submit submit = {
			.ops = (uintptr_t)(ops + done), .nr = nr - done,
		};

		ret = wheel_ioctl(wheel, HWHEEL_IOC_SUBMIT, &submit);
		if (ret <= 0)
			return done ? (int)done : ret;
		done += (unsigned int)ret;
	}
	return (int)done;
}

/* In a child after fork(): the timeouts are the parent's. */
static bool is_parents(const struct hwheel *wheel)
{
	return wheel->map && !wheel->map->header;
}

int device_configure(struct hwheel *wheel, const struct hwheel_config *config)
{
	int error = is_parents(wheel) ? -EBADF : wheel_ioctl(wheel, HWHEEL_IOC_CONFIG, config);

	if (!error && config->kind != HWHEEL_KIND_DEFAULT)
		wheel->clock = config->clock;
	return error;
}

int device_info(const struct hwheel *wheel, struct hwheel_info *info)
{
	return wheel_ioctl(wheel, HWHEEL_IOC_INFO, info);
}

int device_stats(const struct hwheel *wheel, struct hwheel_file_stats *stats)
{
	return wheel_ioctl(wheel, HWHEEL_IOC_STATS, stats);
}

int device_stop(struct hwheel *wheel)
{
	return is_parents(wheel) ? -EBADF : wheel_ioctl(wheel, HWHEEL_IOC_STOP, NULL);
}

static void device_close(struct hwheel *wheel)
{
	(void)wheel;
}

const struct place device_place = {
	.arm		= device_arm,
	.refresh	= device_refresh,
	.set		= device_set,
	.end		= device_end,
	.query		= device_query,
	.next_events	= device_next_events,
	.submit		= device_submit,
	.configure	= device_configure,
	.map		= map_make,
	.info		= device_info,
	.stats		= device_stats,
	.stop		= device_stop,
	.close		= device_close,
};
