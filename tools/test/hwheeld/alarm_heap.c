// SPDX-License-Identifier: GPL-2.0-only
/*
 * In place of alarm.c, where there is no module: a heap and a timerfd. hwheeld_heap, which is
 * linked with it, is for tests that need no wheel, for debuggers, and for measuring what does not
 * depend on the wheel.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../../hwheeld/alarm.h"
#include "../../hwheeld/now.h"

struct alarm {
	uint64_t at_ns;
	size_t index;
	struct alarm **place;
	void (*ring)(void *owner, uint64_t at_ns);
	void *owner;
};

static struct alarm **heap;
static size_t count, room;
static int timer = -1;
static uint64_t set_ns;

int alarm_open(uint64_t tick_ns, uint64_t most)
{
	(void)tick_ns;
	(void)most;
	timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return timer < 0 ? -errno : 0;
}

void alarm_close(void)
{
	close(timer);
}

uint64_t alarm_tick_ns(void)
{
	return 0;
}

int alarm_fd(void)
{
	return timer;
}

static void put(struct alarm *alarm, size_t index)
{
	heap[index] = alarm;
	alarm->index = index;
}

static void up(struct alarm *alarm)
{
	size_t i = alarm->index;

	for (; i && heap[(i - 1) / 2]->at_ns > alarm->at_ns; i = (i - 1) / 2)
		put(heap[(i - 1) / 2], i);
	put(alarm, i);
}

static void down(struct alarm *alarm)
{
	size_t i = alarm->index, child;

	while ((child = 2 * i + 1) < count) {
		if (child + 1 < count && heap[child + 1]->at_ns < heap[child]->at_ns)
			child++;
		if (heap[child]->at_ns >= alarm->at_ns)
			break;
		put(heap[child], i);
		i = child;
	}
	put(alarm, i);
}

/* A timer that rings too early costs less than setting it for each alarm that goes away. */
static void set_timer(void)
{
	uint64_t at_ns = count ? now_on_boottime(heap[0]->at_ns) ?: 1 : 0;
	struct itimerspec when = {
		.it_value = { (time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S) },
	};

	if (!at_ns || (set_ns && set_ns <= at_ns))
		return;
	set_ns = at_ns;
	timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void drop(struct alarm *alarm)
{
	struct alarm *last = heap[--count];

	if (last != alarm) {
		put(last, alarm->index);
		up(last);
		down(last);
	}
	*alarm->place = NULL;
}

void alarm_reap(void)
{
	uint64_t now = now_ns(), expirations;

	if (read(timer, &expirations, sizeof(expirations)) > 0)
		set_ns = 0;
	while (count && heap[0]->at_ns <= now) {
		struct alarm *alarm = heap[0];

		drop(alarm);
		alarm->ring(alarm->owner, alarm->at_ns);
		free(alarm);
	}
	set_timer();
}

bool alarm_has_ended(void)
{
	return false;
}

static struct alarm *make(struct alarm **place)
{
	struct alarm *alarm = calloc(1, sizeof(*alarm));

	if (count == room) {
		room = room ? 2 * room : 1024;
		heap = realloc(heap, room * sizeof(struct alarm *));
	}
	if (!alarm || !heap)
		abort();
	put(alarm, count++);
	alarm->place = place;
	*place = alarm;
	return alarm;
}

int alarm_set(struct alarm **place, uint64_t at_ns, void (*ring)(void *, uint64_t), void *owner)
{
	struct alarm *alarm = *place ?: make(place);

	alarm->at_ns = at_ns;
	alarm->ring = ring;
	alarm->owner = owner;
	up(alarm);
	down(alarm);
	set_timer();
	return 0;
}

void alarm_clear(struct alarm **place)
{
	struct alarm *alarm = *place;

	if (!alarm)
		return;
	drop(alarm);
	free(alarm);
	set_timer();
}
