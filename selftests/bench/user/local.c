// SPDX-License-Identifier: GPL-2.0-only
/* The wheel inside the program, hwheel_local.h, behind its timerfd. */
#include <poll.h>
#include <stdlib.h>

#include "hwheel_local.h"
#include "peer.h"

static struct hwheel_local wheel;
static struct hwheel_local_timeout *timeouts;
static int fd;

static void expire(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	(void)of;
	(void)timeout;
}

static void open_peer(unsigned int room, __u64 tick_ns)
{
	unsigned int i;

	timeouts = zeros(room, sizeof(*timeouts));
	for (i = 0; i < room; i++)
		hwheel_local_timeout_init(&timeouts[i], expire);
	hwheel_local_init(&wheel, tick_ns, now_ns());
	fd = hwheel_local_fd(&wheel, CLOCK_MONOTONIC);
	must(fd >= 0, "timerfd_create");
}

static void arm(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	struct hwheel_local_timeout *const timeout = timeouts;
	size_t i, end = first + nr;

	for (i = first; i < end; i++)
		hwheel_local_arm_at(&wheel, &timeout[i], deadlines[i]);
}

static void refresh(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	struct hwheel_local_timeout *const timeout = timeouts;
	size_t i, end = first + nr;

	for (i = first; i < end; i++)
		hwheel_local_set_at(&wheel, &timeout[i], deadlines[i]);
}

static void cancel(unsigned int first, unsigned int nr)
{
	struct hwheel_local_timeout *const timeout = timeouts;
	size_t i, end = first + nr;

	for (i = first; i < end; i++)
		hwheel_local_cancel(&timeout[i]);
}

static unsigned int take(void)
{
	return hwheel_local_run(&wheel, now_ns());
}

static void move(const unsigned int *which, unsigned int nr, __u64 deadline)
{
	struct hwheel_local_timeout *const timeout = timeouts;
	unsigned int i;

	for (i = 0; i < nr; i++)
		hwheel_local_set_at(&wheel, &timeout[which[i]], deadline);
}

/* As a loop has it: it wakes up to file timeouts again, too. */
static void turn(void)
{
	hwheel_local_run(&wheel, now_ns());
}

int local_fd(void)
{
	return fd;
}

static void block(void)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };

	while (must(poll(&file, 1, -1) == 1, "poll"), !take())
		;
}

static void close_peer(void)
{
	hwheel_local_fini(&wheel);
	free(timeouts);
}

const struct peer local_peer = {
	.name		= "local",
	.open		= open_peer,
	.arm		= arm,
	.refresh	= refresh,
	.cancel		= cancel,
	.take		= take,
	.move		= move,
	.turn		= turn,
	.block		= block,
	.close		= close_peer,
};
