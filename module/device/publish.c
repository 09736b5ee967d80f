// SPDX-License-Identifier: GPL-2.0-only
/*
 * Publishing what ended: timeouts that expired become events, those that were cancelled are
 * dropped, and readers are woken.
 *
 * The worker takes the lock at the end of a pass, for all that ended in it: what expires or is
 * released before that is noted on lists of the worker's own.
 */
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "engine/pass_work.h"
#include "engine/wheel.h"
#include "file.h"
#include "file_trace.h"
#include "publish.h"
#include "waiters.h"

/* How many timeouts are dropped in one go, with the lock held */
#define BATCH		64

/*
 * On the worker, as entry_release(): the entry is noted for the end of the pass, and till
 * then the file counts it as pending, or as cancelled.
 */
static void entry_expire(struct hwheel_timeout *timeout)
{
	struct hwheel_entry *entry = hwheel_entry_of(timeout);
	struct hwheel_file *file = entry->file;

	entry->fired_ns = timeout->wheel->now;
	/* Pairs with has_event() in entry.c, which may look before the pass is published. */
	WRITE_ONCE(entry->pass, file->pass);
	trace_file_expire(entry);
	list_add_tail(&entry->event, &file->expired);
	file->nr_expired++;
	hwheel_pass_work_add(timeout->wheel, &file->settle);
}

/* The wheel unreferences an entry that was cancelled or stopped. */
static void entry_release(struct hwheel_timeout *timeout)
{
	struct hwheel_entry *entry = hwheel_entry_of(timeout);
	struct hwheel_file *file = entry->file;

	entry->next = file->released;
	file->released = entry;
	hwheel_pass_work_add(timeout->wheel, &file->settle);
}

/**
 * struct settled - what a turn of publishing has done
 * @entries: entries that the wheel does not refer to now
 * @stopped: those of them that a stop had cancelled
 * @events:  those that became events
 */
struct settled {
	unsigned int	entries;
	unsigned int	stopped;
	unsigned int	events;
};

/* Those that were withdrawn in this pass become no events. Returns how many. */
static unsigned int drop_withdrawn_locked(struct hwheel_file *file)
{
	struct hwheel_entry *entry, *next;
	unsigned int n = 0;

	list_for_each_entry_safe(entry, next, &file->expired, event) {
		if (!entry->withdrawn)
			continue;
		list_del(&entry->event);
		hwheel_table_put(&file->table, entry);
		n++;
	}
	file->withdrawn -= n;
	return n;
}

/* Makes events of all that expired. */
static void queue_expired_locked(struct hwheel_file *file, struct settled *settled)
{
	unsigned int n = file->nr_expired, dropped = 0;

	if (unlikely(file->withdrawn))
		dropped = drop_withdrawn_locked(file);
	list_splice_tail_init(&file->expired, &file->events);
	file->nr_expired = 0;
	file->counts.pending -= n;
	file->counts.expired += n;
	WRITE_ONCE(file->counts.held, file->counts.held - dropped);
	settled->entries += n;
	settled->events += n - dropped;
}

/* Drops some that were released, or makes events of those that stop has cancelled. */
static void drop_released_locked(struct hwheel_file *file, struct settled *settled)
{
	unsigned int n, events = settled->events;
	struct hwheel_entry *entry;

	for (n = 0; n < BATCH && (entry = file->released); n++) {
		file->released = entry->next;
		settled->stopped += entry->stopped;
		if (unlikely(entry->stopped) && !entry->withdrawn) {
			entry->pass = file->pass;
			list_add_tail(&entry->event, &file->events);
			settled->events++;
		} else {
			file->withdrawn -= entry->withdrawn;
			hwheel_table_put(&file->table, entry);
		}
	}
	settled->entries += n;
	WRITE_ONCE(file->counts.held, file->counts.held - (n - (settled->events - events)));
}

/*
 * The wheel has unreferenced what is settled, and readers know. A thread that waits for that
 * frees the file once it has the lock, so the wake-up is under it; it is one thread at most.
 */
static void publish_unreference(struct hwheel_file *file)
{
	spin_lock(&file->table.lock);
	WRITE_ONCE(file->enqueued, file->enqueued - file->settled);
	WRITE_ONCE(file->stopping, file->stopping - file->settled_stopped);
	file->settled = 0;
	file->settled_stopped = 0;
	/* The barrier pairs with prepare_to_wait() in wait_event(). */
	if (wq_has_sleeper(&file->unreferenced))
		wake_up(&file->unreferenced);
	spin_unlock(&file->table.lock);
}

/* Threads are woken without the lock; the file stays as long as the entries are enqueued. */
static void wake_readers(struct hwheel_file *file)
{
	if (file->unwoken)
		hwheel_waiters_wake(&file->wait, file->unwoken);
	file->unwoken = 0;
	if (unlikely(hwheel_file_at_end(file)))
		hwheel_waiters_end(&file->wait);
}

/*
 * On the worker, at the end of a pass. The worker wakes readers at once for timeouts that expired.
 * For those that STOP has ended it first works off @released, so that it wakes readers once, and
 * not after each part.
 */
static bool publish_settle(struct hwheel_pass_work *work)
{
	struct hwheel_file *file = container_of(work, struct hwheel_file, settle);
	struct settled settled = { };
	unsigned int expired;
	bool all;

	spin_lock(&file->table.lock);
	queue_expired_locked(file, &settled);
	expired = settled.events;
	drop_released_locked(file, &settled);
	file->counts.events += settled.events;
	file->settled += settled.entries;
	file->settled_stopped += settled.stopped;
	file->unwoken += settled.events;
	/* From now on the events of this pass can be taken back. */
	file->pass++;
	all = !file->released;
	spin_unlock(&file->table.lock);

	if (expired || all)
		wake_readers(file);
	publish_unreference(file);
	return all;
}

const struct hwheel_timeout_ops hwheel_publish_ops = {
	.expire		= entry_expire,
	.release	= entry_release,
};

void hwheel_publish_init(struct hwheel_file *file)
{
	hwheel_pass_work_init(&file->settle, publish_settle);
}
