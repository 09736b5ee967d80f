// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cookie of a mapped timeout is its struct alarm. An alarm that was cleared while its event is
 * on the way has no owner any more, and is freed with the event.
 *
 * Alarms that have ended take room on the wheel until their events are read. If there is no room
 * for another one, they are read at once, and ring later: the caller that sets one is in the
 * midst of something.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alarm.h"
#include "libhwheel.h"
#include "now.h"
#include "say.h"

#define EVENTS	256
#define SLOTS	256
#define LEVELS	4

/* Room at first; libhwheel makes more */
#define FIRST	16384

struct alarm {
	uint64_t id;
	struct alarm **place;		/* of its owner; NULL: cleared */
	void (*ring)(void *owner, uint64_t at_ns);
	void *owner;
	struct alarm *next;		/* that has ended */
	uint64_t ended_ns;
	bool has_ended;			/* the wheel does not know it */
};

static struct alarm *ended, **ended_end = &ended;
static struct hwheel *wheel;
static uint64_t tick_ns;

static int fail(const char *what, int error)
{
	say(LOG_ERR, "%s: %s%s", what, strerror(-error), error == -ENOENT ?
	    " (the hwheel module is not loaded: modprobe hwheel)" : "");
	return error;
}

static int configure(uint64_t tick, uint64_t count)
{
	struct hwheel_config config = {
		.tick_ns = tick, .max_timeouts = count, .slots = SLOTS, .levels = LEVELS,
		.kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_BOOTTIME,
	};
	struct hwheel_info info;
	int error = hwheel_configure(wheel, &config) ?:
		    hwheel_map(wheel, count < FIRST ? count : FIRST) ?:
		    hwheel_info(wheel, &info);

	if (!error)
		tick_ns = info.tick_ns;
	return error;
}

int alarm_open(uint64_t tick, uint64_t count)
{
	int error = hwheel_open(&wheel, HWHEEL_NONBLOCK);

	if (error)
		return fail(HWHEEL_DEVICE, error);
	error = configure(tick, count);
	if (!error)
		return 0;
	hwheel_close(wheel);
	return fail("no wheel of its own", error);
}

void alarm_close(void)
{
	hwheel_close(wheel);
}

uint64_t alarm_tick_ns(void)
{
	return tick_ns;
}

int alarm_fd(void)
{
	return hwheel_fd(wheel);
}

static void ring(struct alarm *alarm, uint64_t at_ns)
{
	if (alarm->place) {
		*alarm->place = NULL;
		alarm->ring(alarm->owner, at_ns);
	}
	free(alarm);
}

/* Reads the events that there are. Returns false if there were none. */
static bool collect(void)
{
	struct hwheel_event events[EVENTS];
	bool found = false;
	int count;

	do {
		count = hwheel_next_events(wheel, events, EVENTS);
		for (int i = 0; i < count; i++) {
			struct alarm *alarm = (struct alarm *)(uintptr_t)events[i].cookie;

			alarm->ended_ns = now_from_boottime(events[i].deadline_ns);
			alarm->has_ended = true;
			alarm->next = NULL;
			*ended_end = alarm;
			ended_end = &alarm->next;
			found = true;
		}
	} while (count == EVENTS);
	if (count < 0 && count != -EAGAIN && count != -EINTR) {
		fail("the wheel", count);
		abort();
	}
	return found;
}

bool alarm_has_ended(void)
{
	return ended;
}

void alarm_reap(void)
{
	struct alarm *alarm;

	collect();
	while ((alarm = ended)) {
		ended = alarm->next;
		if (!ended)
			ended_end = &ended;
		ring(alarm, alarm->ended_ns);
	}
}

static int arm(struct alarm **place, uint64_t at_ns, void (*ring)(void *, uint64_t), void *owner)
{
	struct alarm *alarm = malloc(sizeof(*alarm));
	int error;

	if (!alarm)
		return -ENOMEM;
	*alarm = (struct alarm) { .place = place, .ring = ring, .owner = owner };
	error = hwheel_arm_at(wheel, now_on_boottime(at_ns), (uintptr_t)alarm, &alarm->id);
	if (error == -ENOSPC && collect())
		error = hwheel_arm_at(wheel, now_on_boottime(at_ns), (uintptr_t)alarm, &alarm->id);
	if (error)
		free(alarm);
	else
		*place = alarm;
	return error;
}

int alarm_set(struct alarm **place, uint64_t at_ns, void (*ring)(void *, uint64_t), void *owner)
{
	struct alarm *alarm = *place;

	if (alarm && !alarm->has_ended &&
	    !hwheel_refresh_at(wheel, alarm->id, now_on_boottime(at_ns))) {
		alarm->ring = ring;
		alarm->owner = owner;
		return 0;
	}
	if (alarm) {
		alarm->place = NULL;
		*place = NULL;
	}
	return arm(place, at_ns, ring, owner);
}

void alarm_clear(struct alarm **place)
{
	struct alarm *alarm = *place;

	if (!alarm)
		return;
	*place = NULL;
	alarm->place = NULL;
	if (!alarm->has_ended && !hwheel_cancel(wheel, alarm->id))
		free(alarm);
}
