// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timeouts of one open file: their ids, their events, their limit.
 *
 * A timeout is in its set from the allocation of its id until nothing refers to it:
 *
 *	added -> armed -> expired   -> its event was read        -> dropped
 *		       -> cancelled -> the wheel released it     -> dropped
 *	added -> could not be armed                              -> dropped
 *
 * The limit counts all of these, so memory is bounded whatever userspace does, and an
 * expired timeout itself is the queued event, so no event can fail to be stored. Ids
 * are found in the xarray under its lock; as timeouts leave it under the same lock, one
 * that was found stays in place while the lock is held.
 *
 * Indexes are allocated in a cycle, and each new turn of it begins a generation: ids
 * only ever grow, so a stale one can be told from one that never was, and never
 * names another timeout. When the generations are used up no more can be added.
 *
 * When the file is closed, what expired is dropped and what is pending is cancelled.
 * Closing does not wait: whoever drops the last timeout frees the set.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "set.h"
#include "wheel.h"

/* A cgroup at its limit gets -ENOMEM, not a dead process. */
#define GFP_SET		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL)

static struct kmem_cache *entry_cache;

int hwheel_set_init(void)
{
	entry_cache = kmem_cache_create("hwheel_entry",
					sizeof(struct hwheel_entry), 0,
					SLAB_HWCACHE_ALIGN | SLAB_ACCOUNT,
					NULL);
	return entry_cache ? 0 : -ENOMEM;
}

void hwheel_set_exit(void)
{
	kmem_cache_destroy(entry_cache);
}

struct hwheel_set *hwheel_set_create(struct hwheel *wheel, unsigned int max)
{
	struct hwheel_set *set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);

	if (!set)
		return ERR_PTR(-ENOMEM);
	set->wheel = wheel;
	set->max = max;
	mutex_init(&set->alloc_lock);
	xa_init_flags(&set->ids, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	set->generation = 1;
	INIT_LIST_HEAD(&set->events);
	set->users = 1;
	init_waitqueue_head(&set->wait);
	return set;
}

static u32 index_of(u64 id)
{
	return lower_32_bits(id);
}

/* Returns whether this was the last user, who then frees the set when unlocked. */
static bool put_locked(struct hwheel_set *set)
{
	lockdep_assert_held(&set->ids.xa_lock);
	return --set->users == 0;
}

static bool drop_locked(struct hwheel_entry *entry)
{
	struct hwheel_set *set = entry->set;

	__xa_erase(&set->ids, index_of(entry->id));
	kmem_cache_free(entry_cache, entry);
	return put_locked(set);
}

static void unlock_and_free(struct hwheel_set *set, bool last)
	__releases(&set->ids.xa_lock)
{
	xa_unlock(&set->ids);
	if (last)
		kfree(set);
}

/* On the worker: the entry becomes an event, unless nobody can read it any more. */
static void entry_expire(struct hwheel_timeout *timeout)
{
	struct hwheel_entry *entry =
		container_of(timeout, struct hwheel_entry, timeout);
	struct hwheel_set *set = entry->set;
	bool last = false;

	entry->fired_ns = hwheel_now(set->wheel);
	xa_lock(&set->ids);
	if (set->closed) {
		last = drop_locked(entry);
	} else {
		list_add_tail(&entry->event, &set->events);
		/* Under the lock, as a close after it may free the set. */
		wake_up_interruptible_poll(&set->wait, EPOLLIN | EPOLLRDNORM);
	}
	unlock_and_free(set, last);
}

/* On the worker: the wheel lets go of an entry that was cancelled. */
static void entry_release(struct hwheel_timeout *timeout)
{
	hwheel_set_drop(container_of(timeout, struct hwheel_entry, timeout));
}

static const struct hwheel_timeout_ops entry_ops = {
	.expire		= entry_expire,
	.release	= entry_release,
};

/*
 * The xarray may drop its lock to allocate memory, with which two could find indexes
 * in an order that would make ids go back: hence alloc_lock.
 */
static int add_id(struct hwheel_set *set, struct hwheel_entry *entry)
{
	u32 index;
	int err;

	lockdep_assert_held(&set->alloc_lock);
	lockdep_assert_held(&set->ids.xa_lock);
	if (set->generation == U32_MAX)
		return -ENOSPC;
	err = __xa_alloc_cyclic(&set->ids, &index, entry,
				XA_LIMIT(0, set->max - 1), &set->next, GFP_SET);
	if (err < 0)
		return err == -EBUSY ? -ENOSPC : err;
	set->generation += err;
	entry->id = set->generation << 32 | index;
	set->users++;
	return 0;
}

/* Returns an idle timeout with an id of its own, or ERR_PTR: -ENOMEM, -ENOSPC. */
struct hwheel_entry *hwheel_set_add(struct hwheel_set *set, u64 cookie)
{
	struct hwheel_entry *entry = kmem_cache_zalloc(entry_cache, GFP_SET);
	int err;

	if (!entry)
		return ERR_PTR(-ENOMEM);
	hwheel_timeout_init(&entry->timeout, set->wheel, &entry_ops);
	entry->cookie = cookie;
	entry->set = set;
	INIT_LIST_HEAD(&entry->event);

	mutex_lock(&set->alloc_lock);
	xa_lock(&set->ids);
	err = add_id(set, entry);
	xa_unlock(&set->ids);
	mutex_unlock(&set->alloc_lock);
	if (!err)
		return entry;
	kmem_cache_free(entry_cache, entry);
	return ERR_PTR(err);
}

/* @entry is known to neither the wheel nor a reader. */
void hwheel_set_drop(struct hwheel_entry *entry)
{
	struct hwheel_set *set = entry->set;

	xa_lock(&set->ids);
	unlock_and_free(set, drop_locked(entry));
}

static struct hwheel_entry *find_locked(struct hwheel_set *set, u64 id)
{
	struct hwheel_entry *entry = xa_load(&set->ids, index_of(id));

	lockdep_assert_held(&set->ids.xa_lock);
	return entry && entry->id == id ? entry : NULL;
}

/* Ids grow: those below the next one were given to a timeout at some time. */
static bool was_issued_locked(const struct hwheel_set *set, u64 id)
{
	return upper_32_bits(id) && index_of(id) < set->max &&
	       id < (set->generation << 32 | set->next);
}

int hwheel_set_refresh_at(struct hwheel_set *set, u64 id, u64 deadline_ns)
{
	struct hwheel_entry *entry;
	int err = -ENOENT;

	xa_lock(&set->ids);
	entry = find_locked(set, id);
	if (entry)
		err = hwheel_refresh_at(&entry->timeout, deadline_ns);
	xa_unlock(&set->ids);
	return err;
}

static int cancel_locked(struct hwheel_set *set, u64 id)
{
	struct hwheel_entry *entry = find_locked(set, id);

	if (!entry)
		return was_issued_locked(set, id) ? -EALREADY : -ENOENT;
	if (hwheel_cancel(&entry->timeout))
		return 0;
	if (hwheel_is_expired(&entry->timeout) ||
	    hwheel_is_cancelled(&entry->timeout))
		return -EALREADY;
	return -ENOENT;		/* a guess: its ARM is not through yet */
}

int hwheel_set_cancel(struct hwheel_set *set, u64 id)
{
	int err;

	xa_lock(&set->ids);
	err = cancel_locked(set, id);
	xa_unlock(&set->ids);
	return err;
}

/* Lockless; the caller has a barrier, or looks again under the lock. */
bool hwheel_set_has_events(struct hwheel_set *set)
{
	return !list_empty_careful(&set->events);
}

/* Moves up to @max events to @events, where they are the caller's alone. */
void hwheel_set_take_events(struct hwheel_set *set, struct list_head *events,
			    size_t max)
{
	xa_lock(&set->ids);
	while (max-- && !list_empty(&set->events))
		list_move_tail(set->events.next, events);
	xa_unlock(&set->ids);
}

/* Gives back what could not be read; it is first in turn again. */
void hwheel_set_return_events(struct hwheel_set *set, struct list_head *events)
{
	xa_lock(&set->ids);
	list_splice(events, &set->events);
	wake_up_interruptible_poll(&set->wait, EPOLLIN | EPOLLRDNORM);
	xa_unlock(&set->ids);
}

void hwheel_set_drop_events(struct hwheel_set *set, struct list_head *events)
{
	struct hwheel_entry *entry, *next;

	xa_lock(&set->ids);
	list_for_each_entry_safe(entry, next, events, event)
		drop_locked(entry);
	xa_unlock(&set->ids);
}

/*
 * An entry that is neither pending nor an event is in the hands of the worker, which
 * finds the set closed or releases a cancelled one.
 */
static void close_locked(struct hwheel_entry *entry)
{
	if (!list_empty(&entry->event))
		drop_locked(entry);
	else
		hwheel_cancel(&entry->timeout);
}

/* The file is gone. Also frees the set, now or when the worker is through with it. */
void hwheel_set_close(struct hwheel_set *set)
{
	struct hwheel_entry *entry;
	unsigned long index;

	xa_lock(&set->ids);
	set->closed = true;
	xa_for_each(&set->ids, index, entry) {
		close_locked(entry);
		if (need_resched()) {
			xa_unlock(&set->ids);
			cond_resched();
			xa_lock(&set->ids);
		}
	}
	unlock_and_free(set, put_locked(set));
}
