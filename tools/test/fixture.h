/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A handle on each place: by system calls, in memory that is shared with the kernel, and in the
 * process itself. -v local leaves the last one, which needs no module.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "kselftest_harness.h"
#include "libhwheel.h"

#define MSEC	1000000ULL
#define HOUR	(3600000 * MSEC)
#define MANY	1000

FIXTURE(place) {
	struct hwheel *wheel;
	struct hwheel_batch *batch;
};

FIXTURE_VARIANT(place) {
	int (*open)(struct hwheel **wheel, unsigned int flags);
	size_t mapped;		/* room, or 0 */
	uint64_t unit_ns;	/* of deadlines */
};

FIXTURE_VARIANT_ADD(place, by_calls) {
	.open = hwheel_open, .unit_ns = 8,
};

FIXTURE_VARIANT_ADD(place, mapped) {
	.open = hwheel_open, .mapped = MANY, .unit_ns = 1024,
};

FIXTURE_VARIANT_ADD(place, local) {
	.open = hwheel_open_local, .unit_ns = 1,
};

static inline bool is_local(const struct _fixture_variant_place *place)
{
	return place->open == hwheel_open_local;
}

/* @config: or NULL */
static inline int open_place(const struct _fixture_variant_place *place, unsigned int flags,
			     const struct hwheel_config *config, struct hwheel **wheel)
{
	size_t room = place->mapped;
	int error = place->open(wheel, flags);

	if (!error && config)
		error = hwheel_configure(*wheel, config);
	if (config && config->max_timeouts && room > config->max_timeouts)
		room = config->max_timeouts;
	if (!error && room)
		error = hwheel_map(*wheel, room);
	return error;
}

FIXTURE_SETUP(place)
{
	ASSERT_EQ(0, open_place(variant, HWHEEL_NONBLOCK, NULL, &self->wheel));
	ASSERT_EQ(0, hwheel_batch_new(&self->batch, MANY));
}

FIXTURE_TEARDOWN(place)
{
	hwheel_batch_free(self->batch);
	EXPECT_EQ(0, hwheel_close(self->wheel));
}

static inline void await_event(struct hwheel *wheel)
{
	struct pollfd poll_fd = { .fd = hwheel_fd(wheel), .events = POLLIN };

	poll(&poll_fd, 1, -1);
}

/*
 * Waits until @n events can be read. A query has EXPIRED before that: the worker publishes the
 * events of a pass together at its end.
 */
static inline void await_events(struct hwheel *wheel, uint64_t n)
{
	struct hwheel_file_stats stats;

	do {
		await_event(wheel);
	} while (!hwheel_stats(wheel, &stats) && stats.events < n);
}

/* Waits until there is one: a test that hangs ends with the harness's timeout. */
static inline int next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	int n;

	while ((n = hwheel_next_events(wheel, events, count)) == -EAGAIN)
		await_event(wheel);
	return n;
}

static inline struct hwheel_event next_event(struct hwheel *wheel)
{
	struct hwheel_event event = { 0 };

	next_events(wheel, &event, 1);
	return event;
}

#endif /* FIXTURE_H */
