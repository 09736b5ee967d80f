// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping a file's timeouts, with STOP or as the file is closed.
 *
 * A file that was stopped arms nothing any more, and when it holds nothing any more its
 * events are at their end. Stopping goes in batches, each of which the worker gets rid of
 * before the next one: otherwise it would have to fight for the lock, and with it all files
 * on its wheel. Closing the file is stopping it and dropping the events.
 */
#include <linux/errno.h>
#include <linux/hwheel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "account.h"
#include "engine/submit.h"
#include "engine/wheel.h"
#include "entry.h"
#include "file.h"
#include "file_stop.h"
#include "file_trace.h"
#include "mapped_file.h"

/* How many events are dropped in one go, with the lock held */
#define DROP_BATCH	64

/* After how many that were stopped the worker has to get rid of them */
#define STOP_BATCH	1024

static void stop_locked(struct hwheel_entry *entry, u64 now)
{
	struct hwheel_file *file = entry->file;

	if (!hwheel_cancel(&entry->timeout))
		return;
	trace_file_stop(entry);
	entry->stopped = true;
	entry->fired_ns = now;
	file->counts.pending--;
	file->counts.stopped++;
	WRITE_ONCE(file->stopping, file->stopping + 1);
}

/* Under @file->lock as well, so that no CONFIG comes after it. */
static void set_stopped(struct hwheel_file *file)
{
	lockdep_assert_held(&file->lock);
	spin_lock(&file->table.lock);
	WRITE_ONCE(file->stopped, true);
	spin_unlock(&file->table.lock);
}

/* The worker has nothing that is stopped, or if @all nothing at all. */
static bool is_unreferenced(const struct hwheel_file *file, bool all)
{
	return !READ_ONCE(file->stopping) && !(all && READ_ONCE(file->enqueued));
}

/* Stops up to STOP_BATCH; false if these were all. */
static bool stop_some(struct hwheel_file *file, u32 *index)
{
	u32 end = *index + STOP_BATCH;
	bool more;

	do {
		more = hwheel_file_walk(file, index, stop_locked);
		cond_resched();
	} while (more && *index < end);
	return more;
}

static int await_worker(struct hwheel_file *file, bool all, bool killable)
{
	if (!is_unreferenced(file, all))
		hwheel_submit_kick(file->wheel);
	if (killable)
		return wait_event_killable(file->unreferenced, is_unreferenced(file, all));
	wait_event(file->unreferenced, is_unreferenced(file, all));
	return 0;
}

/*
 * Makes events of all that is pending, and waits until they are there and the wheel
 * refers to nothing of the file any more. The file is marked as stopped.
 */
static int stop_all(struct hwheel_file *file, bool killable)
{
	u32 index = 0;
	bool more;

	lockdep_assert_held(&file->await_lock);
	hwheel_file_publish_end(file);
	if (!file->wheel)
		return 0;
	do {
		more = stop_some(file, &index);
		if (await_worker(file, !more, killable))
			return -EINTR;
	} while (more);
	return 0;
}

static long stop_killable(struct hwheel_file *file)
{
	lockdep_assert_held(&file->await_lock);
	if (mutex_lock_killable(&file->lock))
		return -EINTR;
	set_stopped(file);
	mutex_unlock(&file->lock);
	return file->mapping ? hwheel_mapped_file_stop(file) : stop_all(file, true);
}

/*
 * A file of which nothing is pending needs no wheel any more: STOP stops the file's own wheel,
 * and another wheel may have its place.
 */
static void give_back_wheel(struct hwheel_file *file)
{
	lockdep_assert_held(&file->await_lock);
	if (!file->slot_bytes)
		return;
	hwheel_stop(file->wheel, NULL, NULL);
	hwheel_retire(file->wheel);
	hwheel_account_remove_wheel(file->account, file->slot_bytes);
	file->slot_bytes = 0;
}

/*
 * Returns how many were pending, or -EINTR when killed. A second STOP waits for the first one
 * until the wheel's place is free.
 */
long hwheel_file_stop(struct hwheel_file *file)
{
	unsigned long before;
	long ret;

	if (mutex_lock_killable(&file->await_lock))
		return -EINTR;
	before = file->counts.stopped;
	ret = stop_killable(file) ?: file->counts.stopped - before;
	if (ret >= 0)
		give_back_wheel(file);
	mutex_unlock(&file->await_lock);
	return ret;
}

/*
 * Drops some of what nobody will read. The lock also waits for the worker, who may be about
 * to leave publish_unreference().
 */
static bool drop_some(struct hwheel_file *file)
{
	struct hwheel_entry *entry;
	unsigned int n = 0;

	spin_lock(&file->table.lock);
	while (n++ < DROP_BATCH &&
	       (entry = list_first_entry_or_null(&file->events,
						 struct hwheel_entry, event))) {
		list_del(&entry->event);
		hwheel_entry_drop_locked(entry);
	}
	spin_unlock(&file->table.lock);
	return n > DROP_BATCH;
}

/* The file is gone: nothing is pending any more, nor does the wheel refer to the file. */
void hwheel_file_end(struct hwheel_file *file)
{
	mutex_lock(&file->await_lock);
	mutex_lock(&file->lock);
	set_stopped(file);
	mutex_unlock(&file->lock);
	if (file->mapping)
		hwheel_mapped_file_end(file);
	else
		stop_all(file, false);
	mutex_unlock(&file->await_lock);
	while (drop_some(file))
		cond_resched();
	WARN_ON_ONCE(file->counts.held);
}
