// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cookie of a mapped timeout is its struct alarm. An alarm that was cleared while its event is
 * on the way has no owner any more, and is freed with the event.
 *
 * Alarms that have ended take room on the wheel until their events are read. If there is no room
 * for another one, they are read at once, and ring later: the caller that sets one is in the
 * midst of something. An alarm that still finds no room waits in a heap beside the wheel: it rings
 * from there in its time, or gets room that others leave, the earliest one first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock/alarm.h"
#include "clock/heap.h"
#include "clock/now.h"
#include "libhwheel.h"
#include "memory.h"
#include "say.h"

#define EVENTS	256
#define SLOTS	256
#define LEVELS	4

/* Room at first; libhwheel makes more */
#define FIRST	16384

/* While alarms wait beside the wheel, it is asked for room so often. */
#define RETRY_NS	NS_PER_S

/* Nothing more is said of a full wheel for so long. */
#define QUIET_NS	(60 * NS_PER_S)

enum alarm_state { ON_WHEEL, BESIDE, ENDED };

struct alarm {
	struct heap_entry by_time;	/* first; on CLOCK_BOOTTIME, not of a refreshed one */
	enum alarm_state state;
	uint64_t id;			/* on the wheel */
	struct alarm **place;		/* of its owner; NULL: cleared */
	void (*ring)(void *owner, uint64_t at_ns);
	void *owner;
	struct alarm *next;		/* that has ended */
};

static struct alarm *ended, **ended_end = &ended;
static struct heap beside;
static uint64_t retry_ns, quiet_ns;	/* until then, on CLOCK_BOOTTIME */
static struct hwheel *wheel;
static uint64_t tick_ns;

static int fail(const char *what, int error)
{
	say(LOG_ERR, "%s: %s", what, strerror(-error));
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

	if (error)
		return error;
	tick_ns = info.tick_ns;
	if (info.features & HWHEEL_FEATURE_LOCAL)
		say(LOG_NOTICE, "the wheel is in hwheeld, as " HWHEEL_DEVICE " cannot be opened");
	return 0;
}

/* A small machine has no room for the memory of so many: then fewer, and the others beside them. */
int alarm_open(uint64_t tick, uint64_t count)
{
	int error;

	for (;; count /= 2) {
		error = hwheel_open(&wheel, HWHEEL_NONBLOCK | HWHEEL_ANYWHERE);
		if (error)
			return fail(HWHEEL_DEVICE, error);
		error = configure(tick, count);
		if (!error)
			return 0;
		hwheel_close(wheel);
		if (error != -ENOSPC || count < FIRST)
			return fail("no wheel of its own", error);
	}
}

void alarm_close(void)
{
	hwheel_close(wheel);
	free(beside.entries);
	beside = (struct heap) { 0 };
}

uint64_t alarm_tick_ns(void)
{
	return tick_ns;
}

int alarm_fd(void)
{
	return hwheel_fd(wheel);
}

static void ring(struct alarm *alarm)
{
	if (alarm->place) {
		*alarm->place = NULL;
		alarm->ring(alarm->owner, now_from_boottime(alarm->by_time.at_ns));
	}
	free(alarm);
}

static void end(struct alarm *alarm, uint64_t boot_ns)
{
	alarm->state = ENDED;
	alarm->by_time.at_ns = boot_ns;
	alarm->next = NULL;
	*ended_end = alarm;
	ended_end = &alarm->next;
}

/* Reads the events that there are. Returns false if there were none. */
static bool collect(void)
{
	struct hwheel_event events[EVENTS];
	bool found = false;
	int count;

	do {
		count = hwheel_next_events(wheel, events, EVENTS);
		for (int i = 0; i < count; i++)
			end((struct alarm *)(uintptr_t)events[i].cookie, events[i].deadline_ns);
		found |= count > 0;
	} while (count == EVENTS);
	if (count < 0 && count != -EAGAIN && count != -EINTR) {
		fail("the wheel", count);
		abort();
	}
	return found;
}

/* Returns 0 or a negative errno. */
static int arm(struct alarm *alarm)
{
	uint64_t at_ns = alarm->by_time.at_ns;
	int error = hwheel_arm_at(wheel, at_ns, (uintptr_t)alarm, &alarm->id);

	if (error && collect())
		error = hwheel_arm_at(wheel, at_ns, (uintptr_t)alarm, &alarm->id);
	if (!error)
		alarm->state = ON_WHEEL;
	return error;
}

/* Beside the wheel */

static struct alarm *first_beside(void)
{
	return (struct alarm *)heap_first(&beside);
}

static void wait_beside(struct alarm *alarm, int error)
{
	uint64_t now = now_clock_ns(CLOCK_BOOTTIME);

	if (now >= quiet_ns) {
		say(LOG_WARNING, "no room on the wheel: %s; timeouts wait beside it",
		    strerror(-error));
		quiet_ns = now + QUIET_NS;
	}
	/* Others that find no room must not put it off. */
	if (!beside.count)
		retry_ns = now + RETRY_NS;
	alarm->state = BESIDE;
	heap_add(&beside, &alarm->by_time);
}

static void end_those_beside(uint64_t now)
{
	struct alarm *alarm;

	while ((alarm = first_beside()) && alarm->by_time.at_ns <= now) {
		heap_remove(&beside, &alarm->by_time);
		end(alarm, alarm->by_time.at_ns);
	}
}

static void move_to_wheel(uint64_t now)
{
	struct alarm *alarm;

	while ((alarm = first_beside()) && !arm(alarm))
		heap_remove(&beside, &alarm->by_time);
	retry_ns = now + RETRY_NS;
}

static void look_beside(void)
{
	uint64_t now = now_clock_ns(CLOCK_BOOTTIME);

	if (!beside.count)
		return;
	end_those_beside(now);
	if (now >= retry_ns)
		move_to_wheel(now);
}

size_t alarm_beside(void)
{
	return beside.count;
}

int alarm_wait_ms(void)
{
	uint64_t now, until;

	if (ended)
		return 0;
	if (!beside.count)
		return -1;
	now = now_clock_ns(CLOCK_BOOTTIME);
	until = first_beside()->by_time.at_ns;
	until = until < retry_ns ? until : retry_ns;
	return until > now ? (int)((until - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

void alarm_reap(void)
{
	struct alarm *alarm;

	collect();
	look_beside();
	while ((alarm = ended)) {
		ended = alarm->next;
		if (!ended)
			ended_end = &ended;
		ring(alarm);
	}
}

/* An alarm whose event is on the way cannot be moved. */
static bool move(struct alarm *alarm, uint64_t boot_ns)
{
	if (alarm->state == BESIDE)
		heap_move(&beside, &alarm->by_time, boot_ns);
	return alarm->state == BESIDE ||
	       (alarm->state == ON_WHEEL && !hwheel_refresh_at(wheel, alarm->id, boot_ns));
}

static void set_new(struct alarm **place, uint64_t boot_ns)
{
	struct alarm *alarm = memory_get(1, sizeof(*alarm));
	int error;

	if (*place)
		(*place)->place = NULL;
	alarm->by_time.at_ns = boot_ns;
	alarm->place = place;
	*place = alarm;
	error = arm(alarm);
	if (error)
		wait_beside(alarm, error);
}

void alarm_set(struct alarm **place, uint64_t at_ns, void (*ring)(void *, uint64_t), void *owner)
{
	uint64_t boot_ns = now_on_boottime(at_ns);

	if (!*place || !move(*place, boot_ns))
		set_new(place, boot_ns);
	(*place)->ring = ring;
	(*place)->owner = owner;
}

void alarm_clear(struct alarm **place)
{
	struct alarm *alarm = *place;

	if (!alarm)
		return;
	*place = NULL;
	alarm->place = NULL;
	if (alarm->state == BESIDE)
		heap_remove(&beside, &alarm->by_time);
	if (alarm->state == BESIDE ||
	    (alarm->state == ON_WHEEL && !hwheel_cancel(wheel, alarm->id)))
		free(alarm);
}
