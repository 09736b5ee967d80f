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
#include <unistd.h>

#include "clock/alarm.h"
#include "clock/heap.h"
#include "clock/now.h"
#include "libhwheel.h"
#include "memory.h"
#include "say.h"

#define ALARM_EVENTS	256
#define ALARM_SLOTS	256
#define ALARM_LEVELS	4

/* Room at first; libhwheel makes more */
#define ALARM_FIRST	16384

/* While alarms wait beside the wheel, it is asked for room so often. */
#define ALARM_RETRY_NS	NS_PER_S

/* Nothing more is said of a full wheel for so long. */
#define ALARM_QUIET_NS	(60 * NS_PER_S)

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

static struct {
	struct hwheel *wheel;
	uint64_t tick_ns;
	struct alarm *ended, **ended_end;
	struct heap beside;		/* the wheel */
	uint64_t retry_ns, quiet_ns;	/* until then, on CLOCK_BOOTTIME */
} alarms = { .ended_end = &alarms.ended };

static int alarm_fail(const char *what, int error)
{
	say(LOG_ERR, "%s: %s", what, strerror(-error));
	return error;
}

static int alarm_configure(uint64_t tick, uint64_t count)
{
	struct hwheel_config config = {
		.tick_ns = tick, .max_timeouts = count, .slots = ALARM_SLOTS,
		.levels = ALARM_LEVELS, .kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_BOOTTIME,
	};
	struct hwheel_info info;
	int error = hwheel_configure(alarms.wheel, &config) ?:
		    hwheel_map(alarms.wheel, count < ALARM_FIRST ? count : ALARM_FIRST) ?:
		    hwheel_info(alarms.wheel, &info);

	if (error)
		return error;
	alarms.tick_ns = info.tick_ns;
	if (info.features & HWHEEL_FEATURE_LOCAL)
		say(LOG_NOTICE, "the wheel is in hwheeld, as " HWHEEL_DEVICE " cannot be opened");
	return 0;
}

/* A small machine has no room for the memory of so many: then fewer, and the others beside them. */
int alarm_open(uint64_t tick, uint64_t count)
{
	int error;

	for (;; count /= 2) {
		error = hwheel_open(&alarms.wheel, HWHEEL_NONBLOCK | HWHEEL_ANYWHERE);
		if (error)
			return alarm_fail(HWHEEL_DEVICE, error);
		error = alarm_configure(tick, count);
		if (!error)
			return 0;
		hwheel_close(alarms.wheel);
		if (error != -ENOSPC || count < ALARM_FIRST)
			return alarm_fail("no wheel of its own", error);
	}
}

void alarm_close(void)
{
	hwheel_close(alarms.wheel);
	free(alarms.beside.entries);
	alarms.beside = (struct heap) { 0 };
}

uint64_t alarm_tick_ns(void)
{
	return alarms.tick_ns;
}

int alarm_fd(void)
{
	return hwheel_fd(alarms.wheel);
}

static void alarm_end(struct alarm *alarm, uint64_t boot_ns)
{
	alarm->state = ENDED;
	alarm->by_time.at_ns = boot_ns;
	alarm->next = NULL;
	*alarms.ended_end = alarm;
	alarms.ended_end = &alarm->next;
}

/* Reads the events that there are. Returns false if there were none. */
static bool alarm_collect(void)
{
	struct hwheel_event events[ALARM_EVENTS];
	bool found = false;
	int count;

	do {
		count = hwheel_next_events(alarms.wheel, events, ALARM_EVENTS);
		for (int i = 0; i < count; i++)
			alarm_end((struct alarm *)(uintptr_t)events[i].cookie,
				  events[i].deadline_ns);
		found |= count > 0;
	} while (count == ALARM_EVENTS);
	if (count < 0 && count != -EAGAIN && count != -EINTR) {
		alarm_fail("the wheel", count);
		_exit(1);
	}
	return found;
}

/* Returns 0 or a negative errno. */
static int alarm_arm(struct alarm *alarm)
{
	uint64_t at_ns = alarm->by_time.at_ns;
	int error = hwheel_arm_at(alarms.wheel, at_ns, (uintptr_t)alarm, &alarm->id);

	if (error && alarm_collect())
		error = hwheel_arm_at(alarms.wheel, at_ns, (uintptr_t)alarm, &alarm->id);
	if (!error)
		alarm->state = ON_WHEEL;
	return error;
}

/* Beside the wheel */

static struct alarm *alarm_first_beside(void)
{
	return (struct alarm *)heap_first(&alarms.beside);
}

static void alarm_wait_beside(struct alarm *alarm, int error)
{
	uint64_t now = now_clock_ns(CLOCK_BOOTTIME);

	if (now >= alarms.quiet_ns) {
		say(LOG_WARNING, "no room on the wheel: %s; timeouts wait beside it",
		    strerror(-error));
		alarms.quiet_ns = now + ALARM_QUIET_NS;
	}
	/* Others that find no room must not put it off. */
	if (!alarms.beside.count)
		alarms.retry_ns = now + ALARM_RETRY_NS;
	alarm->state = BESIDE;
	heap_add(&alarms.beside, &alarm->by_time);
}

/* Due alarms end; the wheel is offered the others from time to time. */
static void alarm_look_beside(void)
{
	uint64_t now = now_clock_ns(CLOCK_BOOTTIME);
	struct alarm *alarm;

	while ((alarm = alarm_first_beside()) && alarm->by_time.at_ns <= now) {
		heap_remove(&alarms.beside, &alarm->by_time);
		alarm_end(alarm, alarm->by_time.at_ns);
	}
	if (!alarm || now < alarms.retry_ns)
		return;
	for (; alarm && !alarm_arm(alarm); alarm = alarm_first_beside())
		heap_remove(&alarms.beside, &alarm->by_time);
	alarms.retry_ns = now + ALARM_RETRY_NS;
}

size_t alarm_beside(void)
{
	return alarms.beside.count;
}

int alarm_wait_ms(void)
{
	uint64_t now, until;

	if (alarms.ended)
		return 0;
	if (!alarms.beside.count)
		return -1;
	now = now_clock_ns(CLOCK_BOOTTIME);
	until = alarm_first_beside()->by_time.at_ns;
	until = until < alarms.retry_ns ? until : alarms.retry_ns;
	return until > now ? (int)((until - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

void alarm_reap(void)
{
	struct alarm *alarm;

	alarm_collect();
	if (alarms.beside.count)
		alarm_look_beside();
	while ((alarm = alarms.ended)) {
		alarms.ended = alarm->next;
		if (!alarms.ended)
			alarms.ended_end = &alarms.ended;
		if (alarm->place) {
			*alarm->place = NULL;
			alarm->ring(alarm->owner, now_from_boottime(alarm->by_time.at_ns));
		}
		free(alarm);
	}
}

/* An alarm whose event is on the way cannot be moved. */
static bool alarm_move(struct alarm *alarm, uint64_t boot_ns)
{
	if (alarm->state == BESIDE)
		heap_move(&alarms.beside, &alarm->by_time, boot_ns);
	return alarm->state == BESIDE ||
	       (alarm->state == ON_WHEEL && !hwheel_refresh_at(alarms.wheel, alarm->id, boot_ns));
}

static void alarm_set_new(struct alarm **place, uint64_t boot_ns)
{
	struct alarm *alarm = memory_get(1, sizeof(*alarm));
	int error;

	if (*place)
		(*place)->place = NULL;
	alarm->by_time.at_ns = boot_ns;
	alarm->place = place;
	*place = alarm;
	error = alarm_arm(alarm);
	if (error)
		alarm_wait_beside(alarm, error);
}

void alarm_set(struct alarm **place, uint64_t at_ns, void (*ring)(void *, uint64_t),
	       void *owner)
{
	uint64_t boot_ns = now_on_boottime(at_ns);

	if (!*place || !alarm_move(*place, boot_ns))
		alarm_set_new(place, boot_ns);
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
		heap_remove(&alarms.beside, &alarm->by_time);
	if (alarm->state == BESIDE ||
	    (alarm->state == ON_WHEEL && !hwheel_cancel(alarms.wheel, alarm->id)))
		free(alarm);
}
