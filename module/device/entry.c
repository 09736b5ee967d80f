// SPDX-License-Identifier: GPL-2.0-only
/*
 * The entries of a file: the limit of how many there are, and the operations on them.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hwheel.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include <uapi/linux/hwheel.h>

#include "engine/submit.h"
#include "engine/wheel.h"
#include "entry.h"
#include "file.h"
#include "file_trace.h"
#include "publish.h"

/*
 * The wheel, readers and lookups do not refer to the entry any more. The caller calls
 * hwheel_file_publish_end() when it has given the lock back.
 */
void hwheel_entry_drop_locked(struct hwheel_entry *entry)
{
	struct hwheel_file *file = entry->file;

	lockdep_assert_held(&file->table.lock);
	hwheel_table_put(&file->table, entry);
	WRITE_ONCE(file->counts.held, file->counts.held - 1);
}

/* Others may have added some, or have stopped the file, before we had @file->lock. */
static bool needs_entries(struct hwheel_file *file)
{
	bool needs;

	lockdep_assert_held(&file->lock);
	spin_lock(&file->table.lock);
	needs = !file->table.free && !file->stopped;
	spin_unlock(&file->table.lock);
	return needs;
}

static int grow_locked(struct hwheel_file *file)
{
	u64 before = file->bytes, bytes = hwheel_table_growth(&file->table, file->max);
	struct hwheel_entry model = { .file = file }, *entries;
	struct hwheel *wheel;
	int err;

	lockdep_assert_held(&file->lock);
	if (!bytes)
		return 0;
	err = hwheel_file_charge(file, bytes);
	if (err)
		return err;
	wheel = hwheel_file_take_wheel(file);
	err = PTR_ERR_OR_ZERO(wheel);
	if (err)
		goto uncharge;
	hwheel_timeout_init(&model.timeout, wheel, &hwheel_publish_ops);
	entries = hwheel_table_make(&file->table, &model);
	if (!entries) {
		err = -ENOMEM;
		goto drop_wheel;
	}
	hwheel_file_keep_wheel(file, wheel);
	hwheel_table_add(&file->table, file->max, entries);
	return 0;

drop_wheel:
	hwheel_file_drop_wheel(file);
uncharge:
	hwheel_file_uncharge_to(file, before);
	return err;
}

/* More entries to use, unless there are as many as may be. */
static int entry_grow(struct hwheel_file *file)
{
	int err = 0;

	if (mutex_lock_killable(&file->lock))
		return -EINTR;
	if (file->mapping)
		err = -EOPNOTSUPP;
	else if (needs_entries(file))
		err = grow_locked(file);
	mutex_unlock(&file->lock);
	return err;
}

/* Does the wheel refer to timeouts that are not pending any more? */
static bool owes_room_locked(const struct hwheel_file *file)
{
	lockdep_assert_held(&file->table.lock);
	return !file->table.free && !file->stopped &&
	       file->enqueued != file->counts.pending;
}

/* If so, the worker's next pass is the one to make room. */
static bool owes_room(struct hwheel_file *file)
{
	bool owes;

	spin_lock(&file->table.lock);
	owes = owes_room_locked(file);
	spin_unlock(&file->table.lock);
	if (owes)
		hwheel_submit_kick(file->wheel);
	return owes;
}

/* Waits for the worker to unreference timeouts that were cancelled. */
static int await_room(struct hwheel_file *file)
{
	int err;

	if (mutex_lock_killable(&file->await_lock))
		return -EINTR;
	err = wait_event_killable(file->unreferenced, !owes_room(file));
	mutex_unlock(&file->await_lock);
	return err ? -EINTR : 0;
}

static int make_room_locked(struct hwheel_file *file)
	__must_hold(&file->table.lock)
{
	unsigned int max = READ_ONCE(file->max);
	bool full = hwheel_table_size(&file->table, max) == max;
	int err;

	if (full && !owes_room_locked(file))
		return -ENOSPC;
	spin_unlock(&file->table.lock);
	err = full ? await_room(file) : entry_grow(file);
	spin_lock(&file->table.lock);
	return err;
}

static struct hwheel_entry *entry_take(struct hwheel_file *file)
{
	struct hwheel_entry *entry = hwheel_table_take(&file->table);

	if (entry)
		WRITE_ONCE(file->counts.held, file->counts.held + 1);
	return entry;
}

/* May drop the lock, to sleep. */
static noinline struct hwheel_entry *add_slowly(struct hwheel_file *file)
{
	struct hwheel_entry *entry;
	int err;

	while (!file->stopped) {
		entry = entry_take(file);
		if (entry)
			return entry;
		err = make_room_locked(file);
		if (err)
			return ERR_PTR(err);
	}
	return ERR_PTR(-ESHUTDOWN);
}

/*
 * Gives out an idle timeout with an id, to be armed or dropped. Returns ERR_PTR if there
 * can't be one: -ENOMEM, -ENOSPC, -ESHUTDOWN, -EINTR when killed. May drop the lock of
 * @file->table, to sleep.
 */
struct hwheel_entry *hwheel_entry_add(struct hwheel_file *file)
{
	struct hwheel_entry *entry;

	lockdep_assert_held(&file->table.lock);
	entry = likely(!file->stopped) ? entry_take(file) : NULL;
	return likely(entry) ? entry : add_slowly(file);
}

/* @entry is known to neither the wheel nor a reader. */
void hwheel_entry_drop(struct hwheel_entry *entry)
{
	struct hwheel_file *file = entry->file;

	spin_lock(&file->table.lock);
	hwheel_entry_drop_locked(entry);
	spin_unlock(&file->table.lock);
	hwheel_file_publish_end(file);
}

/*
 * Operations, under the lock of @file->table, so that several can be done in one go. Each has a
 * body that traces, which is no part of the other one: the entry would occupy a register across
 * the engine's call.
 */

static __always_inline int do_arm_at(struct hwheel_entry *entry, u64 deadline_ns, bool traced)
{
	struct hwheel_file *file = entry->file;
	int err = -ESHUTDOWN;

	lockdep_assert_held(&file->table.lock);
	if (!file->stopped)
		err = hwheel_arm_at(&entry->timeout, deadline_ns);
	if (err)
		return err;
	if (traced)
		trace_file_arm(entry);
	file->counts.pending++;
	file->counts.armed++;
	WRITE_ONCE(file->enqueued, file->enqueued + 1);
	return 0;
}

static noinline int arm_at_traced(struct hwheel_entry *entry, u64 deadline_ns)
{
	return do_arm_at(entry, deadline_ns, true);
}

static __always_inline int arm_at(struct hwheel_entry *entry, u64 deadline_ns)
{
	if (trace_file_arm_enabled())
		return arm_at_traced(entry, deadline_ns);
	return do_arm_at(entry, deadline_ns, false);
}

/* Drops the entry when it can't be armed. */
int hwheel_entry_arm_at(struct hwheel_entry *entry, u64 deadline_ns)
{
	int err = arm_at(entry, deadline_ns);

	if (unlikely(err))
		hwheel_entry_drop_locked(entry);
	return err;
}

/*
 * The caller has times on the clock of @wheel. If the timeout is on another one, the file was
 * configured meanwhile, and when the caller looked there was no timeout. Those that are free, or
 * whose ARM is not through yet, are idle: they are not pending, and state_of() knows none.
 */
static inline struct hwheel_entry *find_on(struct hwheel_file *file,
					   const struct hwheel *wheel, u64 id)
{
	struct hwheel_entry *entry = hwheel_table_find(&file->table, id);

	if (!entry)
		return NULL;
	return hwheel_of(&entry->timeout) == wheel ? entry : NULL;
}

static __always_inline int do_refresh_at(struct hwheel_file *file, struct hwheel *wheel, u64 id,
					 u64 deadline_ns, bool traced)
{
	struct hwheel_entry *entry = find_on(file, wheel, id);
	int err;

	if (!entry)
		return -ENOENT;
	err = hwheel_refresh_at(&entry->timeout, deadline_ns);
	if (err)
		return err;
	if (traced)
		trace_file_refresh(entry);
	file->counts.refreshed++;
	return 0;
}

static noinline int refresh_at_traced(struct hwheel_file *file, struct hwheel *wheel, u64 id,
				      u64 deadline_ns)
{
	return do_refresh_at(file, wheel, id, deadline_ns, true);
}

int hwheel_entry_refresh_at(struct hwheel_file *file, struct hwheel *wheel, u64 id,
			    u64 deadline_ns)
{
	if (trace_file_refresh_enabled())
		return refresh_at_traced(file, wheel, id, deadline_ns);
	return do_refresh_at(file, wheel, id, deadline_ns, false);
}

static __always_inline int do_cancel(struct hwheel_file *file, u64 id, bool traced)
{
	struct hwheel_entry *entry = hwheel_table_find(&file->table, id);

	if (!entry || !hwheel_cancel(&entry->timeout))
		return -ENOENT;
	if (traced)
		trace_file_cancel(entry);
	file->counts.pending--;
	file->counts.cancelled++;
	return 0;
}

static noinline int cancel_traced(struct hwheel_file *file, u64 id)
{
	return do_cancel(file, id, true);
}

int hwheel_entry_cancel(struct hwheel_file *file, u64 id)
{
	if (trace_file_cancel_enabled())
		return cancel_traced(file, id);
	return do_cancel(file, id, false);
}

/*
 * Is the entry an event in @file->events? Those of a pass come there when the worker publishes it,
 * under the lock. The worker writes the pass into the entry before that without the lock: a reader
 * sees 0 then, or the pass that is not over.
 */
static bool has_event(const struct hwheel_entry *entry)
{
	u32 pass = READ_ONCE(entry->pass);

	lockdep_assert_held(&entry->file->table.lock);
	return pass && pass != entry->file->pass && !entry->taken;
}

/* The worker may still refer to a cancelled timeout, but for the program it has ended. */
static int state_of(const struct hwheel_entry *entry)
{
	static const int states[] = {
		[HWHEEL_IDLE]		= -ENOENT,
		[HWHEEL_PENDING]	= HWHEEL_STATE_PENDING,
		[HWHEEL_CANCELLED]	= -ENOENT,
		[HWHEEL_EXPIRED]	= HWHEEL_STATE_EXPIRED,
	};

	lockdep_assert_held(&entry->file->table.lock);
	if (entry->withdrawn)
		return -ENOENT;
	if (entry->stopped)
		return HWHEEL_STATE_STOPPED;
	return states[hwheel_timeout_state(&entry->timeout)];
}

/* Returns HWHEEL_STATE_*, or -ENOENT, with which nothing is written. */
int hwheel_entry_query(struct hwheel_file *file, struct hwheel *wheel, u64 id,
		       u64 *cookie, u64 *deadline_ns)
{
	struct hwheel_entry *entry = find_on(file, wheel, id);
	int state = entry ? state_of(entry) : -ENOENT;

	if (state < 0)
		return state;
	*cookie = entry->cookie;
	*deadline_ns = hwheel_deadline(&entry->timeout);
	return state;
}

/*
 * Ends what is pending, or an event that no reader has. One of a pass that is not published is on a
 * list of the worker's: it is marked, and the worker drops it when it publishes the pass.
 */
int hwheel_entry_withdraw(struct hwheel_file *file, u64 id)
{
	struct hwheel_entry *entry = hwheel_table_find(&file->table, id);

	if (!hwheel_entry_cancel(file, id))
		return 0;
	if (!entry || state_of(entry) < 0 || entry->taken)
		return -ENOENT;
	if (has_event(entry)) {
		list_del(&entry->event);
		file->counts.events--;
		hwheel_entry_drop_locked(entry);
	} else {
		entry->withdrawn = true;
		file->withdrawn++;
	}
	return 0;
}

/* Arms an event again, in its place and with the next id. If that fails, the event stays. */
static int rearm_at(struct hwheel_entry *entry, u64 cookie, u64 deadline_ns)
{
	struct list_head *before = entry->event.prev;
	u64 old_cookie = entry->cookie;
	u32 pass = entry->pass;
	int err;

	/* The worker may expire it at once. */
	list_del(&entry->event);
	entry->id += HWHEEL_TABLE_GENERATION;
	entry->cookie = cookie;
	entry->pass = 0;
	err = arm_at(entry, deadline_ns);
	if (err) {
		entry->id -= HWHEEL_TABLE_GENERATION;
		entry->cookie = old_cookie;
		entry->pass = pass;
		list_add(&entry->event, before);
		return err;
	}
	entry->file->counts.events--;
	return 0;
}

/*
 * Moves what is pending, or arms what is an event. Returns -ENOENT if the id names neither, or the
 * entry has no next id: then SET needs another entry.
 */
int hwheel_entry_set_at(struct hwheel_file *file, struct hwheel *wheel, u64 *id, u64 cookie,
			u64 deadline_ns)
{
	int err = hwheel_entry_refresh_at(file, wheel, *id, deadline_ns);
	struct hwheel_entry *entry;

	if (err != -ENOENT)
		return err;
	entry = find_on(file, wheel, *id);
	if (!entry || !has_event(entry) || entry->withdrawn || upper_32_bits(*id) == U32_MAX)
		return -ENOENT;
	err = rearm_at(entry, cookie, deadline_ns);
	if (!err)
		*id = entry->id;
	return err;
}
