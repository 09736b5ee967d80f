// SPDX-License-Identifier: GPL-2.0-only
/*
 * In place of libhwheel, where there is no module: a heap and a timerfd. hwheeld_heap, which is
 * linked with it, is for tests that need no wheel, for debuggers, and for measuring what does not
 * depend on the wheel. There is room for as many timeouts as hwheeld asks for, or for those that
 * the variable HEAP_ROOM tells.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../../hwheeld/heap.h"
#include "../../hwheeld/now.h"
#include "libhwheel.h"

struct timeout {
	struct heap_entry by_time;	/* first */
	uint64_t cookie;
};

struct hwheel {
	struct heap heap;
	uint64_t tick_ns;
	size_t room;
	int timer;
	uint64_t set_ns;		/* when the timer rings; 0: never */
};

int hwheel_open(struct hwheel **wheel, unsigned int flags)
{
	(void)flags;
	*wheel = calloc(1, sizeof(**wheel));
	if (!*wheel)
		return -ENOMEM;
	(*wheel)->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return (*wheel)->timer < 0 ? -errno : 0;
}

int hwheel_configure(struct hwheel *wheel, const struct hwheel_config *config)
{
	const char *room = getenv("HEAP_ROOM");

	wheel->tick_ns = config->tick_ns;
	wheel->room = room ? strtoul(room, NULL, 10) : config->max_timeouts;
	return 0;
}

int hwheel_map(struct hwheel *wheel, size_t count)
{
	(void)wheel;
	(void)count;
	return 0;
}

int hwheel_info(const struct hwheel *wheel, struct hwheel_info *info)
{
	*info = (struct hwheel_info) { .tick_ns = wheel->tick_ns };
	return 0;
}

int hwheel_close(struct hwheel *wheel)
{
	while (wheel->heap.count)
		free(wheel->heap.entries[--wheel->heap.count]);
	free(wheel->heap.entries);
	close(wheel->timer);
	free(wheel);
	return 0;
}

int hwheel_fd(const struct hwheel *wheel)
{
	return wheel->timer;
}

/* A timer that rings too early costs less than setting it for each timeout that goes away. */
static void set_timer(struct hwheel *wheel)
{
	const struct heap_entry *first = heap_first(&wheel->heap);
	uint64_t at_ns = first ? first->at_ns ?: 1 : 0;
	struct itimerspec when = {
		.it_value = { (time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S) },
	};

	if (!at_ns || (wheel->set_ns && wheel->set_ns <= at_ns))
		return;
	wheel->set_ns = at_ns;
	timerfd_settime(wheel->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int hwheel_arm_at(struct hwheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	struct timeout *timeout;

	if (wheel->heap.count >= wheel->room)
		return -ENOSPC;
	timeout = calloc(1, sizeof(*timeout));
	if (!timeout)
		return -ENOMEM;
	timeout->by_time.at_ns = deadline_ns;
	timeout->cookie = cookie;
	*id = (uintptr_t)timeout;
	heap_add(&wheel->heap, &timeout->by_time);
	set_timer(wheel);
	return 0;
}

/* The caller knows of each timeout whose event it has read. */
int hwheel_refresh_at(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	struct timeout *timeout = (struct timeout *)(uintptr_t)id;

	heap_move(&wheel->heap, &timeout->by_time, deadline_ns);
	set_timer(wheel);
	return 0;
}

int hwheel_cancel(struct hwheel *wheel, uint64_t id)
{
	struct timeout *timeout = (struct timeout *)(uintptr_t)id;

	heap_remove(&wheel->heap, &timeout->by_time);
	free(timeout);
	return 0;
}

static void take(struct hwheel *wheel, struct hwheel_event *event)
{
	struct timeout *timeout = (struct timeout *)heap_first(&wheel->heap);

	*event = (struct hwheel_event) {
		.id = (uintptr_t)timeout, .cookie = timeout->cookie,
		.deadline_ns = timeout->by_time.at_ns, .type = HWHEEL_EVENT_EXPIRED,
	};
	hwheel_cancel(wheel, event->id);
}

int hwheel_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	uint64_t now = now_clock_ns(CLOCK_BOOTTIME), expirations;
	const struct heap_entry *first;
	size_t taken = 0;

	if (read(wheel->timer, &expirations, sizeof(expirations)) > 0)
		wheel->set_ns = 0;
	while (taken < count && (first = heap_first(&wheel->heap)) && first->at_ns <= now)
		take(wheel, &events[taken++]);
	set_timer(wheel);
	return taken ? (int)taken : -EAGAIN;
}
