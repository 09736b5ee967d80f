// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* One operation on one timeout, by an ioctl; mapped.c has those of a wheel that is mapped. */
#include "map.h"

int op_arm(struct hwheel *wheel, uint32_t flags, uint64_t time_ns, uint64_t cookie,
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

int op_refresh(struct hwheel *wheel, uint32_t flags, uint64_t id, uint64_t time_ns)
{
	struct hwheel_op op = {
		.op = HWHEEL_OP_REFRESH, .flags = flags, .id = id, .time_ns = time_ns,
	};

	return wheel_ioctl(wheel, HWHEEL_IOC_REFRESH, &op);
}

int op_set(struct hwheel *wheel, uint32_t flags, uint64_t *id, uint64_t time_ns, uint64_t cookie)
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

/* CANCEL or WITHDRAW */
int op_end(struct hwheel *wheel, unsigned long command, uint64_t id)
{
	struct hwheel_op op = { .id = id };

	return wheel_ioctl(wheel, command, &op);
}

int hwheel_arm(struct hwheel *wheel, uint64_t delay_ns, uint64_t cookie, uint64_t *id)
{
	if (wheel->map)
		return hwheel_arm_at(wheel, deadline_after(hwheel_now(wheel), delay_ns), cookie,
				     id);
	return op_arm(wheel, 0, delay_ns, cookie, id);
}

int hwheel_refresh(struct hwheel *wheel, uint64_t id, uint64_t delay_ns)
{
	if (wheel->map)
		return hwheel_refresh_at(wheel, id, deadline_after(hwheel_now(wheel), delay_ns));
	return op_refresh(wheel, 0, id, delay_ns);
}

int hwheel_set(struct hwheel *wheel, uint64_t *id, uint64_t delay_ns, uint64_t cookie)
{
	if (wheel->map)
		return hwheel_set_at(wheel, id, deadline_after(hwheel_now(wheel), delay_ns),
				     cookie);
	return op_set(wheel, 0, id, delay_ns, cookie);
}

int hwheel_query(struct hwheel *wheel, uint64_t id, uint64_t *left_ns, uint64_t *cookie)
{
	struct hwheel_op op = { .op = HWHEEL_OP_QUERY, .id = id };
	int state;

	if (wheel->map)
		return mapped_query(wheel, id, left_ns, cookie);
	state = wheel_ioctl(wheel, HWHEEL_IOC_QUERY, &op);
	if (state < 0)
		return state;
	if (left_ns)
		*left_ns = op.time_ns;
	if (cookie)
		*cookie = op.cookie;
	return state;
}
