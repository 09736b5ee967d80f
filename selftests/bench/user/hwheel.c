// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time-outs of /dev/hwheel: by one ioctl each, in batches, and by stores.
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
#include <sys/mman.h>
#include <unistd.h>

#include <linux/hwheel.h>

#include "hwheel.h"

#define TICK	(100 * MSEC)

static int device;
static unsigned int max;
static __u64 *ids;
static __u64 *words;
static struct hwheel_op ops[BATCH];
static struct hwheel_event events[BATCH];

/* Those that were cancelled count until the worker has let go of them. */
void hwheel_open_tick(unsigned int room, __u64 tick_ns)
{
	struct hwheel_config config = {
		.tick_ns = tick_ns,
		.max_timeouts = room + 2 * BATCH,
		.kind = HWHEEL_KIND_HASHED,
		.clock = CLOCK_MONOTONIC,
	};

	max = config.max_timeouts;
	ids = handles(room, sizeof(*ids));
	device = open("/dev/hwheel", O_RDWR | O_CLOEXEC);
	must(device >= 0, "open");
	must(!ioctl(device, HWHEEL_IOC_CONFIG, &config), "CONFIG");
}

static void hwheel_open(unsigned int room)
{
	hwheel_open_tick(room, TICK);
}

int hwheel_fd(void)
{
	return device;
}

void hwheel_close(void)
{
	must(!close(device), "close");
	free(ids);
}

static unsigned long map_size(void)
{
	unsigned long page = sysconf(_SC_PAGESIZE);

	return (max * sizeof(*words) + page - 1) / page * page;
}

void hwheel_map(void)
{
	words = mmap(NULL, map_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		     device, 0);
	must(words != MAP_FAILED, "mmap");
}

void hwheel_unmap(void)
{
	must(!munmap(words, map_size()), "munmap");
}

static void open_and_map(unsigned int room)
{
	hwheel_open(room);
	hwheel_map();
}

static void unmap_and_close(void)
{
	hwheel_unmap();
	hwheel_close();
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

void hwheel_arm(const unsigned int *which, unsigned int nr)
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

void hwheel_cancel(const unsigned int *which, unsigned int nr)
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
	hwheel_arm(which, nr);
	hwheel_cancel(which, nr);
}

/* They expire at the next edge. */
void hwheel_arm_due(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	(void)which;
	for (i = 0; i < nr; i++)
		ops[i] = (struct hwheel_op){ .op = HWHEEL_OP_ARM };
	submit(nr);
}

void hwheel_read(const unsigned int *which, unsigned int nr)
{
	long size = nr * sizeof(*events);

	(void)which;
	must(read(device, events, size) == size, "read");
}

/* The caller knows what time it is, and stores deadlines. */
static void store_from(__u64 now, const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		__atomic_store_n(&words[HWHEEL_INDEX(ids[which[i]])], now + delays[which[i]],
				 __ATOMIC_RELAXED);
}

static void store(const unsigned int *which, unsigned int nr)
{
	store_from(2 * FAR, which, nr);
}

/* The caller looks at the clock each time. */
static void store_from_now(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		store_from(now_ns(), &which[i], 1);
}

static const struct step steps[] = {
	{ "user.refresh", ANY, refresh_each },
	{ "user.cancel", ANY, cancel_each },
	{ "user.arm", SAME, arm_each },
	{ "user.submit_refresh", ANY, refresh },
	{ "user.submit_cancel", ANY, hwheel_cancel },
	{ "user.submit_arm", SAME, hwheel_arm },
	{ "user.life_arm_cancel_single", MORE, live_each },
	{ "user.life_arm_cancel", MORE, live },
	{ NULL, MORE, hwheel_arm_due },
	{ "user.read", MORE, hwheel_read },
	{ }
};

static const struct step newest_steps[] = {
	{ "user.cancel_newest_first", NEWEST, hwheel_cancel },
	{ NULL, NEWEST_AGAIN, hwheel_arm },
	{ "user.cancel_newest_first_single", NEWEST, cancel_each },
	{ NULL, NEWEST_AGAIN, hwheel_arm },
	{ }
};

static const struct step mapped_steps[] = {
	{ "user.store", ANY, store },
	{ "user.store_from_now", ANY, store_from_now },
	{ }
};

const struct facility hwheel = {
	.name		= "hwheel",
	.open		= hwheel_open,
	.arm		= hwheel_arm,
	.settle		= wake_worker,
	.close		= hwheel_close,
	.steps		= steps,
	.newest_steps	= newest_steps,
};

const struct facility hwheel_mapped = {
	.name		= "hwheel",
	.open		= open_and_map,
	.arm		= hwheel_arm,
	.close		= unmap_and_close,
	.steps		= mapped_steps,
};
