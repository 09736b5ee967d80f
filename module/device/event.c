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

#include "entry.h"
#include "event.h"
#include "file.h"
#include "mapped_file.h"
#include "timens.h"

/* How many events are copied out in one go: they are on the stack. */
#define READ_BATCH	16

/**
 * struct batch - events in a reader's hands
 * @entries: in the order in which they ended
 * @events:  as they are to be read
 */
struct batch {
	struct hwheel_entry	*entries[READ_BATCH];
	struct hwheel_event	events[READ_BATCH];
};

/* Lockless. A reader that finds events looks again under the lock; poll() promises none. */
static bool has_events(const struct hwheel_file *file)
{
	/*
	 * One word, which list functions write under the lock, without WRITE_ONCE() in
	 * list_cut_position(). Whatever value it has had will do: a thread that finds none has
	 * had a barrier that pairs with wq_has_sleeper() in hwheel_waiters_wake(), and will be
	 * woken.
	 */
	return data_race(!list_empty(&file->events));
}

/* The caller may have been added to @file->wait just now. */
__poll_t hwheel_event_poll(const struct hwheel_file *file)
{
	__poll_t events;

	/* Pairs with wq_has_sleeper() in hwheel_waiters_wake(): we see the event, or it sees us. */
	smp_mb();
	if (hwheel_file_mapping(file))
		return hwheel_mapped_file_poll(file);
	events = has_events(file) ? EPOLLIN | EPOLLRDNORM : 0;
	return hwheel_file_at_end(file) ? EPOLLHUP : events;
}

/* Up to @max events, which from now on are the caller's alone; returns how many. */
static unsigned int take_events(struct hwheel_file *file, struct hwheel_entry **entries,
				unsigned int max)
{
	struct hwheel_entry *entry;
	unsigned int n = 0;
	LIST_HEAD(taken);

	spin_lock(&file->table.lock);
	list_for_each_entry(entry, &file->events, event) {
		if (n == max)
			break;
		entry->taken = true;
		entries[n++] = entry;
	}
	if (n)
		list_cut_position(&taken, &file->events, &entries[n - 1]->event);
	spin_unlock(&file->table.lock);
	return n;
}

static void drop_events(struct hwheel_file *file, struct hwheel_entry **entries,
			unsigned int nr)
{
	unsigned int i;

	spin_lock(&file->table.lock);
	for (i = 0; i < nr; i++)
		hwheel_entry_drop_locked(entries[i]);
	file->counts.events -= nr;
	spin_unlock(&file->table.lock);
	hwheel_file_publish_end(file);
}

/*
 * Puts events that could not be copied back, first in turn. Each wakes another reader, if others
 * wait for one.
 */
static void return_events(struct hwheel_file *file, struct hwheel_entry **entries,
			  unsigned int nr)
{
	unsigned int i = nr;

	spin_lock(&file->table.lock);
	while (i--) {
		entries[i]->taken = false;
		list_add(&entries[i]->event, &file->events);
	}
	spin_unlock(&file->table.lock);
	hwheel_waiters_wake(&file->wait, nr);
}

static struct hwheel_event event_of(const struct hwheel_entry *entry)
{
	const struct hwheel_timens *timens = &entry->file->timens;
	const struct hwheel *wheel = hwheel_of(&entry->timeout);
	u64 deadline = hwheel_deadline(&entry->timeout);

	return (struct hwheel_event) {
		.id		= entry->id,
		.cookie		= entry->cookie,
		.deadline_ns	= hwheel_timens_to_user(timens, wheel, deadline),
		.fired_ns	= hwheel_timens_to_user(timens, wheel,
							entry->fired_ns),
		.type		= entry->stopped ? HWHEEL_EVENT_STOPPED :
						   HWHEEL_EVENT_EXPIRED,
	};
}

/* Returns how many were copied, each whole or not at all. */
static unsigned int copy_events(const struct hwheel_event *events,
				unsigned int nr, struct iov_iter *to)
{
	size_t copied = copy_to_iter(events, nr * sizeof(*events), to);

	iov_iter_revert(to, copied % sizeof(*events));
	return copied / sizeof(*events);
}

/* Copies out up to a batch of events; what faults stays queued. */
static ssize_t read_batch(struct hwheel_file *file, struct batch *batch,
			  struct iov_iter *to)
{
	size_t fit = iov_iter_count(to) / sizeof(struct hwheel_event);
	unsigned int taken, copied, i;

	taken = take_events(file, batch->entries, min_t(size_t, fit, READ_BATCH));
	if (!taken)
		return 0;
	for (i = 0; i < taken; i++)
		batch->events[i] = event_of(batch->entries[i]);
	copied = copy_events(batch->events, taken, to);
	drop_events(file, batch->entries, copied);
	if (copied < taken)
		return_events(file, batch->entries + copied, taken - copied);
	return copied ? copied * sizeof(struct hwheel_event) : -EFAULT;
}

/* Copies out all the events that there are and fit, or those until a signal. */
static ssize_t read_events(struct hwheel_file *file, struct iov_iter *to)
{
	ssize_t bytes, sum = 0;
	struct batch batch;

	while (iov_iter_count(to) >= sizeof(struct hwheel_event)) {
		bytes = read_batch(file, &batch, to);
		if (bytes <= 0)
			return sum ?: bytes;
		sum += bytes;
		if (signal_pending(current))
			break;
		cond_resched();
	}
	return sum;
}

/* As read(); waits for the first event unless @nowait. */
ssize_t hwheel_event_read(struct hwheel_file *file, struct iov_iter *to,
			  bool nowait)
{
	ssize_t n;

	if (iov_iter_count(to) < sizeof(struct hwheel_event))
		return -EINVAL;
	while (!(n = read_events(file, to))) {
		if (hwheel_file_mapping(file))
			return -EOPNOTSUPP;
		if (hwheel_file_at_end(file))
			return 0;
		if (nowait)
			return -EAGAIN;
		/* An event wakes one reader; the end, and the first MAP of the file, all. */
		n = wait_event_interruptible_exclusive(file->wait, has_events(file) ||
						       hwheel_file_at_end(file) ||
						       hwheel_file_mapping(file));
		if (n)
			break;
	}
	return n;
}
