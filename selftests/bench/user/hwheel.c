// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timeouts of /dev/hwheel: by one ioctl each, and in batches.
 *
 * On a wheel of their own. Its worker is about to linger through a tick that is longer than
 * a measurement, as it does while there is something to do: so nothing of what it does is
 * in the results, nor is that it has to be woken.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/hwheel.h>

#include "hwheel.h"

#define TICK	(100 * MSEC)

static int device;
static __u64 *ids;
static struct hwheel_op ops[BATCH];
static struct hwheel_event events[BATCH];

/* Those that were cancelled count until the worker has let go of them. */
void device_open_tick(unsigned int room, __u64 tick_ns)
{
	const struct hwheel_config config = own_wheel(room + 2 * BATCH, tick_ns);

	ids = handles(room, sizeof(*ids));
	device = open("/dev/hwheel", O_RDWR | O_CLOEXEC);
	must(device >= 0, "open");
	must(!ioctl(device, HWHEEL_IOC_CONFIG, &config), "CONFIG");
}

static void device_open(unsigned int room)
{
	device_open_tick(room, TICK);
}

int device_fd(void)
{
	return device;
}

void device_close(void)
{
	must(!close(device), "close");
	free(ids);
}

/* Has the worker pass, after which it lingers. */
static void wake_worker(void)
{
	struct hwheel_op arm = { .time_ns = FAR }, cancel = { 0 };

	must(!ioctl(device, HWHEEL_IOC_ARM, &arm), "ARM");
	cancel.id = arm.id;
	must(!ioctl(device, HWHEEL_IOC_CANCEL, &cancel), "CANCEL");
	sleep_ns(MSEC);
}

static void arm_each(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct hwheel_op op = { .time_ns = delays[which[i]] };

		must(!ioctl(device, HWHEEL_IOC_ARM, &op), "ARM");
		ids[which[i]] = op.id;
	}
}

static void refresh_each(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct hwheel_op op = { .id = ids[which[i]], .time_ns = 2 * delays[which[i]] };

		must(!ioctl(device, HWHEEL_IOC_REFRESH, &op), "REFRESH");
	}
}

static void cancel_each(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct hwheel_op op = { .id = ids[which[i]] };

		must(!ioctl(device, HWHEEL_IOC_CANCEL, &op), "CANCEL");
	}
}

static void live_each(const unsigned int *which, unsigned int nr)
{
	arm_each(which, nr);
	cancel_each(which, nr);
}

static void submit(unsigned int nr)
{
	struct hwheel_submit batch = { .ops = (uintptr_t)ops, .nr = nr };
	unsigned int i;

	must(ioctl(device, HWHEEL_IOC_SUBMIT, &batch) == (int)nr, "SUBMIT");
	for (i = 0; i < nr; i++)
		if (ops[i].result)
			errx(1, "an operation of SUBMIT: %d", ops[i].result);
}

void device_arm(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		ops[i] = (struct hwheel_op){
			.op = HWHEEL_OP_ARM,
			.time_ns = delays[which[i]],
		};
	submit(nr);
	for (i = 0; i < nr; i++)
		ids[which[i]] = ops[i].id;
}

static void refresh(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		ops[i] = (struct hwheel_op){
			.op = HWHEEL_OP_REFRESH,
			.id = ids[which[i]],
			.time_ns = 2 * delays[which[i]],
		};
	submit(nr);
}

void device_cancel(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		ops[i] = (struct hwheel_op){
			.op = HWHEEL_OP_CANCEL,
			.id = ids[which[i]],
		};
	submit(nr);
}

static void live(const unsigned int *which, unsigned int nr)
{
	device_arm(which, nr);
	device_cancel(which, nr);
}

/* They expire at the next edge. */
void device_arm_due(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	(void)which;
	for (i = 0; i < nr; i++)
		ops[i] = (struct hwheel_op){ .op = HWHEEL_OP_ARM };
	submit(nr);
}

void device_read(const unsigned int *which, unsigned int nr)
{
	long size = nr * sizeof(*events);

	(void)which;
	must(read(device, events, size) == size, "read");
}

static const struct step steps[] = {
	{ "user.refresh", ANY, refresh_each },
	{ "user.cancel", ANY, cancel_each },
	{ "user.arm", SAME, arm_each },
	{ "user.submit_refresh", ANY, refresh },
	{ "user.submit_cancel", ANY, device_cancel },
	{ "user.submit_arm", SAME, device_arm },
	{ "user.life_arm_cancel_single", MORE, live_each },
	{ "user.life_arm_cancel", MORE, live },
	{ NULL, MORE, device_arm_due },
	{ "user.read", MORE, device_read },
	{ }
};

static const struct step newest_steps[] = {
	{ "user.cancel_newest_first", NEWEST, device_cancel },
	{ NULL, NEWEST_AGAIN, device_arm },
	{ }
};

const struct facility hwheel = {
	.name		= "hwheel",
	.open		= device_open,
	.arm		= device_arm,
	.settle		= wake_worker,
	.close		= device_close,
	.steps		= steps,
	.newest_steps	= newest_steps,
};
