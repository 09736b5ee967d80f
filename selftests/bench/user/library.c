// SPDX-License-Identifier: GPL-2.0-only
/* Timeouts by libhwheel: mapped ones, and those of a wheel in the process. */
#include <poll.h>
#include <stdlib.h>

#include "library.h"
#include "peer.h"

/* Longer than a measurement, so that nothing of what the worker does is in the results */
#define TICK	(100 * MSEC)

static struct hwheel *handle;
static unsigned long *ids;
static unsigned int wanted;

static void open_at(int (*place)(struct hwheel **, unsigned int), unsigned int room,
		    const struct hwheel_config *config)
{
	ids = handles(room, sizeof(*ids));
	must(!place(&handle, HWHEEL_NONBLOCK), "open");
	must(!hwheel_configure(handle, config), "configure");
	wanted = room;
}

static void open_configured(unsigned int room, const struct hwheel_config *config)
{
	open_at(hwheel_open, room, config);
}

static void open_unmapped(unsigned int room, __u64 tick_ns)
{
	const struct hwheel_config config = own_wheel(room + 2 * BATCH, tick_ns);

	open_configured(room, &config);
}

static void map(void)
{
	must(!hwheel_map(handle, wanted), "map");
}

void library_open(unsigned int room, __u64 tick_ns)
{
	open_unmapped(room, tick_ns);
	map();
}

struct hwheel *library_handle(void)
{
	return handle;
}

void library_close(void)
{
	must(!hwheel_close(handle), "close");
	free(ids);
}

/* As a facility */

static void open_slow(unsigned int room)
{
	open_unmapped(room, TICK);
}

/* Wakes the worker, which lingers then. */
static void settle(void)
{
	unsigned long id;

	must(!hwheel_arm(handle, FAR, 0, &id) && !hwheel_cancel(handle, id), "arm");
	sleep_ns(MSEC);
}

static void arm_which(const unsigned int *which, unsigned int nr)
{
	__u64 now = now_ns();
	unsigned int i;
	int error = 0;

	for (i = 0; i < nr; i++)
		error |= hwheel_arm_at(handle, now + delays[which[i]], 0, &ids[which[i]]);
	must(!error, "arm");
}

static void refresh_which(const unsigned int *which, unsigned int nr)
{
	__u64 now = now_ns();
	unsigned int i;
	int error = 0;

	for (i = 0; i < nr; i++)
		error |= hwheel_refresh_at(handle, ids[which[i]], now + 2 * delays[which[i]]);
	must(!error, "refresh");
}

static void cancel_which(const unsigned int *which, unsigned int nr)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < nr; i++)
		error |= hwheel_cancel(handle, ids[which[i]]);
	must(!error, "cancel");
}

static void live_which(const unsigned int *which, unsigned int nr)
{
	arm_which(which, nr);
	cancel_which(which, nr);
}

static const struct step steps[] = {
	{ "user.refresh", ANY, refresh_which },
	{ "user.cancel", ANY, cancel_which },
	{ "user.arm", SAME, arm_which },
	{ "user.life_arm_cancel", MORE, live_which },
	{ }
};

const struct facility library = {
	.name	= "mapped",
	.open	= open_slow,
	.begin	= map,
	.arm	= arm_which,
	.settle	= settle,
	.close	= library_close,
	.steps	= steps,
};

/* As a peer */

static void arm(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	struct hwheel *wheel = handle;
	unsigned long *const id = ids;
	size_t i, end = first + nr;
	int error = 0;

	for (i = first; i < end; i++)
		error |= hwheel_arm_at(wheel, deadlines[i], 0, &id[i]);
	must(!error, "arm");
}

static void refresh(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	struct hwheel *wheel = handle;
	unsigned long *const id = ids;
	size_t i, end = first + nr;
	int error = 0;

	for (i = first; i < end; i++)
		error |= hwheel_refresh_at(wheel, id[i], deadlines[i]);
	must(!error, "refresh");
}

static void set(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	struct hwheel *wheel = handle;
	unsigned long *const id = ids;
	size_t i, end = first + nr;
	int error = 0;

	for (i = first; i < end; i++)
		error |= hwheel_set_at(wheel, &id[i], deadlines[i], 0);
	must(!error, "set");
}

static void cancel(unsigned int first, unsigned int nr)
{
	struct hwheel *wheel = handle;
	unsigned long *const id = ids;
	size_t i, end = first + nr;
	int error = 0;

	for (i = first; i < end; i++)
		error |= hwheel_cancel(wheel, id[i]);
	must(!error, "cancel");
}

static unsigned int take(void)
{
	struct hwheel_event events[BATCH];
	int n, sum = 0;

	while ((n = hwheel_next_events(handle, events, BATCH)) > 0)
		sum += n;
	return sum;
}

/* The worker has a timeout of the program's expire at an edge. */
static void wait_for_tick(void)
{
	struct pollfd file = { .fd = hwheel_fd(handle), .events = POLLIN };
	struct hwheel_event event;
	unsigned long id;

	must(!hwheel_arm_at(handle, 0, 0, &id), "arm");
	must(poll(&file, 1, -1) == 1, "poll");
	must(hwheel_next_events(handle, &event, 1) == 1, "event");
}

static void move(const unsigned int *which, unsigned int nr, __u64 deadline)
{
	struct hwheel *wheel = handle;
	unsigned long *const id = ids;
	unsigned int i;
	int error = 0;

	for (i = 0; i < nr; i++)
		error |= hwheel_refresh_at(wheel, id[which[i]], deadline);
	must(!error, "refresh");
}

static void block(void)
{
	struct pollfd file = { .fd = hwheel_fd(handle), .events = POLLIN };
	struct hwheel_event event;

	must(poll(&file, 1, -1) == 1, "poll");
	must(hwheel_next_events(handle, &event, 1) == 1, "event");
}

static void open_shared(unsigned int room, __u64 tick_ns)
{
	const struct hwheel_config config = {
		.max_timeouts = room, .kind = HWHEEL_KIND_DEFAULT, .clock = CLOCK_MONOTONIC,
	};

	(void)tick_ns;
	open_configured(room, &config);
	map();
}

static void open_slots(unsigned int room, __u64 tick_ns)
{
	struct hwheel_config config = own_wheel(room, tick_ns);

	config.slots = 4096;
	open_configured(room, &config);
	map();
}

static void open_levels(unsigned int room, __u64 tick_ns)
{
	struct hwheel_config config = own_wheel(room, tick_ns);

	config.kind = HWHEEL_KIND_HIERARCHICAL;
	config.slots = 512;
	config.levels = 2;
	open_configured(room, &config);
	map();
}

static void open_in_process(unsigned int room, __u64 tick_ns)
{
	const struct hwheel_config config = own_wheel(room, tick_ns);

	open_at(hwheel_open_local, room, &config);
}

#define MAPPED_PEER(label, opens)	\
{					\
	.name		= label,	\
	.has_worker	= true,		\
	.open		= opens,	\
	.arm		= arm,		\
	.move		= move,		\
	.block		= block,	\
	.close		= library_close,	\
}

const struct peer slots_peer = MAPPED_PEER("10ms_4096", open_slots);
const struct peer levels_peer = MAPPED_PEER("10ms_2x512", open_levels);

const struct peer shared_peer = {
	.name		= "hwheel",
	.has_worker	= true,
	.shared		= true,
	.open		= open_shared,
	.arm		= arm,
	.move		= move,
	.block		= block,
	.close		= library_close,
};

const struct peer library_peer = {
	.name		= "hwheel",
	.has_worker	= true,
	.open		= library_open,
	.arm		= arm,
	.refresh	= refresh,
	.set		= set,
	.cancel		= cancel,
	.take		= take,
	.wait		= wait_for_tick,
	.close		= library_close,
};

const struct peer process_peer = {
	.name		= "open_local",
	.open		= open_in_process,
	.arm		= arm,
	.refresh	= refresh,
	.set		= set,
	.cancel		= cancel,
	.take		= take,
	.close		= library_close,
};
