// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* One operation on one time-out. */
#include "wheel.h"

static int arm(struct hwheel *wheel, uint32_t flags, uint64_t time_ns, uint64_t cookie,
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

	return wheel_ioctl(wheel, HWHEEL_IOC_REFRESH, &op);
}

int hwheel_refresh(struct hwheel *wheel, uint64_t id, uint64_t delay_ns)
{
	int result = hwheel__store_delay(wheel, id, delay_ns);

	return result <= 0 ? result : refresh(wheel, 0, id, delay_ns);
}

int hwheel_refresh_at(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	int result = hwheel__store(wheel, id, deadline_ns);

	return result <= 0 ? result : refresh(wheel, HWHEEL_ABSOLUTE, id, deadline_ns);
}

int hwheel_cancel(struct hwheel *wheel, uint64_t id)
{
	struct hwheel_op op = { .op = HWHEEL_OP_CANCEL, .id = id };

	return wheel_ioctl(wheel, HWHEEL_IOC_CANCEL, &op);
}

int hwheel_query(struct hwheel *wheel, uint64_t id, uint64_t *left_ns, uint64_t *cookie)
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
