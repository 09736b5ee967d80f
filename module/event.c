// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events on their way to userspace. They are the timeouts themselves, in the order in
 * which they ended; a reader takes some, copies them out and drops them, or puts those
 * back to the front that it could not copy. So none is lost and none is read twice.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include <uapi/linux/hwheel.h>

#include "deadline.h"
#include "event.h"
#include "set.h"

/* How many events are copied out in one go */
#define READ_BATCH	64

/* Lockless; the caller has a barrier, or looks again under the lock. */
static bool has_events(const struct hwheel_set *set)
{
	return !list_empty_careful(&set->events);
}

__poll_t hwheel_event_poll(const struct hwheel_set *set)
{
	__poll_t events = has_events(set) ? EPOLLIN | EPOLLRDNORM : 0;

	return hwheel_set_at_end(set) ? EPOLLHUP : events;
}

/* Moves up to @max events to @events, where they are the caller's alone. */
static void take_events(struct hwheel_set *set, struct list_head *events,
			size_t max)
{
	spin_lock(&set->table.lock);
	while (max-- && !list_empty(&set->events))
		list_move_tail(set->events.next, events);
	spin_unlock(&set->table.lock);
}

/* Gives back what could not be read; it is first in turn again. */
static void return_events(struct hwheel_set *set, struct list_head *events)
{
	spin_lock(&set->table.lock);
	list_splice(events, &set->events);
	wake_up_poll(&set->wait, EPOLLIN | EPOLLRDNORM);
	spin_unlock(&set->table.lock);
}

static void drop_events(struct hwheel_set *set, struct list_head *events)
{
	struct hwheel_entry *entry, *next;

	spin_lock(&set->table.lock);
	list_for_each_entry_safe(entry, next, events, event) {
		set->counts.events--;
		hwheel_set_drop_locked(entry);
	}
	spin_unlock(&set->table.lock);
}

/* Copies the event whole or not at all. */
static bool copy_event(const struct hwheel_entry *entry, struct iov_iter *to)
{
	const struct hwheel *wheel = hwheel_of(&entry->timeout);
	u64 deadline = hwheel_deadline(&entry->timeout);
	struct hwheel_event event = {
		.id		= entry->id,
		.cookie		= entry->cookie,
		.deadline_ns	= hwheel_time_to_user(entry->set, wheel,
						      deadline),
		.fired_ns	= hwheel_time_to_user(entry->set, wheel,
						      entry->fired_ns),
		.type		= entry->stopped ? HWHEEL_EVENT_STOPPED :
						   HWHEEL_EVENT_EXPIRED,
	};
	size_t copied = copy_to_iter(&event, sizeof(event), to);

	if (copied == sizeof(event))
		return true;
	iov_iter_revert(to, copied);
	return false;
}

/* Copies out up to a batch of events; what faults stays queued. */
static ssize_t read_batch(struct hwheel_set *set, struct iov_iter *to)
{
	size_t fit = iov_iter_count(to) / sizeof(struct hwheel_event), n = 0;
	struct hwheel_entry *entry;
	LIST_HEAD(copied);
	LIST_HEAD(taken);

	take_events(set, &taken, min_t(size_t, fit, READ_BATCH));
	while ((entry = list_first_entry_or_null(&taken, struct hwheel_entry,
						 event))) {
		if (!copy_event(entry, to))
			break;
		list_move_tail(&entry->event, &copied);
		n++;
	}
	if (!list_empty(&copied))
		drop_events(set, &copied);
	if (list_empty(&taken))
		return n * sizeof(struct hwheel_event);
	return_events(set, &taken);
	return n ? n * sizeof(struct hwheel_event) : -EFAULT;
}

/* Copies out all the events that there are and fit, or those until a signal. */
static ssize_t read_events(struct hwheel_set *set, struct iov_iter *to)
{
	ssize_t batch, sum = 0;

	while (iov_iter_count(to) >= sizeof(struct hwheel_event)) {
		batch = read_batch(set, to);
		if (batch <= 0)
			return sum ?: batch;
		sum += batch;
		if (signal_pending(current))
			break;
		cond_resched();
	}
	return sum;
}

/* As read(); waits for the first event unless @nowait. */
ssize_t hwheel_event_read(struct hwheel_set *set, struct iov_iter *to,
			  bool nowait)
{
	ssize_t n;

	if (iov_iter_count(to) < sizeof(struct hwheel_event))
		return -EINVAL;
	while (!(n = read_events(set, to))) {
		if (hwheel_set_at_end(set))
			return 0;
		if (nowait)
			return -EAGAIN;
		/* An event wakes one reader, the end all. */
		n = wait_event_interruptible_exclusive(set->wait,
						       has_events(set) ||
						       hwheel_set_at_end(set));
		if (n)
			break;
	}
	return n;
}
