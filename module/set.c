// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timeouts of one open file: their ids, their life, their limit.
 *
 * A timeout is in its set from when it is given an id until nothing refers to it:
 *
 *	added -> armed -> expired   -> its event was read        -> dropped
 *		       -> cancelled -> the wheel released it     -> dropped
 *		       -> stopped   -> the wheel released it     -> event as above
 *	added -> could not be armed                              -> dropped
 *
 * The limit counts all of these, so memory is bounded whatever userspace does, and an
 * expired timeout itself is the queued event, so no event can fail to be stored. Ids
 * are found in the table under its lock; as timeouts leave it under the same lock, one
 * that was found stays what it is while the lock is held. Who guesses an id that was not
 * told yet, be it of a free entry, finds it idle: then it is not there.
 *
 * A set that was stopped arms nothing any more, and when it holds nothing any more its
 * events are at their end. Stopping goes in batches, each of which the worker gets rid of
 * before the next one: otherwise it would have to fight for the lock, and with it all files
 * on its wheel. Closing the file is stopping it and dropping the events.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <uapi/linux/hwheel.h>

#include "deadline.h"
#include "gfp.h"
#include "queue.h"
#include "set.h"
#include "wheel.h"

/* How many timeouts are looked at in one go, with the lock held */
#define BATCH	1024

struct hwheel_set *hwheel_set_create(struct hwheel *wheel, unsigned int max)
{
	struct hwheel_set *set = kzalloc(sizeof(*set), HWHEEL_GFP_USER);

	if (!set)
		return ERR_PTR(-ENOMEM);
	set->wheel = wheel;
	set->shared_wheel = wheel;
	set->max = max;
	hwheel_deadline_init(set);
	mutex_init(&set->lock);
	hwheel_table_init(&set->table);
	INIT_LIST_HEAD(&set->events);
	init_waitqueue_head(&set->wait);
	init_waitqueue_head(&set->let_go);
	return set;
}

/* Nothing was settled yet: there was no timeout. */
static bool is_new(const struct hwheel_set *set)
{
	return set->wheel == set->shared_wheel && !set->shared.pages &&
	       !set->table.nr;
}

/* Under @set->lock, as the next one. Returns 0, -ESHUTDOWN or -EBUSY. */
int hwheel_set_may_configure(const struct hwheel_set *set)
{
	lockdep_assert_held(&set->lock);
	if (set->stopped)
		return -ESHUTDOWN;
	return is_new(set) ? 0 : -EBUSY;
}

/* @own_wheel may be NULL. */
void hwheel_set_configure(struct hwheel_set *set, struct hwheel *own_wheel,
			  unsigned int max)
{
	lockdep_assert_held(&set->lock);
	WRITE_ONCE(set->max, max);
	if (!own_wheel)
		return;
	/* Pairs with the acquire in hwheel_set_wheel(). */
	smp_store_release(&set->wheel, own_wheel);
}

/* Everybody, also of those who wait exclusively: nobody will wake the next one. */
static void wake_up_at_end(struct hwheel_set *set)
{
	if (hwheel_set_at_end(set))
		wake_up_all(&set->wait);
}

/* The wheel, readers and lookups do not refer to the entry any more. */
void hwheel_set_drop_locked(struct hwheel_entry *entry)
{
	struct hwheel_set *set = entry->set;

	lockdep_assert_held(&set->table.lock);
	hwheel_table_put(&set->table, entry);
	WRITE_ONCE(set->counts.held, set->counts.held - 1);
	wake_up_at_end(set);
}

/* After an event was queued: wakes who waits for it, if anybody does. */
void hwheel_set_wake(struct hwheel_set *set)
{
	/* Pairs with prepare_to_wait() in wait_event(), and with hwheel_event_poll(). */
	if (wq_has_sleeper(&set->wait))
		wake_up_poll(&set->wait, EPOLLIN | EPOLLRDNORM);
}

static void queue_event_locked(struct hwheel_entry *entry)
{
	struct hwheel_set *set = entry->set;

	list_add_tail(&entry->event, &set->events);
	set->counts.events++;
	hwheel_set_wake(set);
}

/*
 * The wheel has let go of an entry. Who waits for that frees the set when he gets the
 * lock, so the wake-up is under it.
 */
static void let_go_locked(struct hwheel_set *set)
{
	lockdep_assert_held(&set->table.lock);
	WRITE_ONCE(set->filed, set->filed - 1);
	if (set->stopped && (!set->filed || !set->stopping))
		wake_up(&set->let_go);
}

/* Most files share no deadlines. If they are about to, hwheel_set_tell_all() comes later. */

static void tell(struct hwheel_entry *entry)
{
	if (READ_ONCE(entry->set->shared.pages))
		hwheel_deadline_tell(entry);
}

static void tell_end(struct hwheel_entry *entry)
{
	if (READ_ONCE(entry->set->shared.pages))
		hwheel_deadline_tell_end(entry);
}

/* On the worker: the entry becomes an event. */
static void entry_expire(struct hwheel_timeout *timeout)
{
	struct hwheel_entry *entry = hwheel_entry_of(timeout);
	struct hwheel_set *set = entry->set;

	entry->fired_ns = hwheel_now(timeout->wheel);
	spin_lock(&set->table.lock);
	set->counts.pending--;
	set->counts.expired++;
	tell_end(entry);
	queue_event_locked(entry);
	let_go_locked(set);
	spin_unlock(&set->table.lock);
}

/* On the worker: the wheel lets go of an entry that was cancelled or stopped. */
static void entry_release(struct hwheel_timeout *timeout)
{
	struct hwheel_entry *entry = hwheel_entry_of(timeout);
	struct hwheel_set *set = entry->set;

	spin_lock(&set->table.lock);
	if (entry->stopped) {
		WRITE_ONCE(set->stopping, set->stopping - 1);
		queue_event_locked(entry);
	} else {
		hwheel_set_drop_locked(entry);
	}
	let_go_locked(set);
	spin_unlock(&set->table.lock);
}

static const struct hwheel_timeout_ops entry_ops = {
	.expire		= entry_expire,
	.release	= entry_release,
	.due		= hwheel_deadline_due,
};

/* Others may have added some, or have stopped the set, before we had @set->lock. */
static bool needs_entries(struct hwheel_set *set)
{
	bool needs;

	lockdep_assert_held(&set->lock);
	spin_lock(&set->table.lock);
	needs = !set->table.free && !set->stopped;
	spin_unlock(&set->table.lock);
	return needs;
}

/* More entries to use, unless there are as many as may be. */
static int grow(struct hwheel_set *set)
{
	struct hwheel_entry model = { .set = set };
	int err = 0;

	if (mutex_lock_killable(&set->lock))
		return -EINTR;
	hwheel_timeout_init(&model.timeout, set->wheel, &entry_ops);
	if (needs_entries(set))
		err = hwheel_table_grow(&set->table, set->max, &model);
	mutex_unlock(&set->lock);
	return err;
}

static int grow_locked(struct hwheel_set *set)
{
	unsigned int max = READ_ONCE(set->max);
	int err;

	if (hwheel_table_size(&set->table, max) == max)
		return -ENOSPC;
	spin_unlock(&set->table.lock);
	err = grow(set);
	spin_lock(&set->table.lock);
	return err;
}

/*
 * Gives out an idle timeout with an id, to be armed or dropped. Returns ERR_PTR if there
 * can't be one: -ENOMEM, -ENOSPC, -ESHUTDOWN, -EINTR when killed. May drop the lock of
 * @set->table, to sleep.
 */
struct hwheel_entry *hwheel_set_add(struct hwheel_set *set)
{
	struct hwheel_entry *entry;
	int err;

	lockdep_assert_held(&set->table.lock);
	while (!set->stopped) {
		entry = hwheel_table_take(&set->table);
		if (entry) {
			WRITE_ONCE(set->counts.held, set->counts.held + 1);
			return entry;
		}
		err = grow_locked(set);
		if (err)
			return ERR_PTR(err);
	}
	return ERR_PTR(-ESHUTDOWN);
}

/* @entry is known to neither the wheel nor a reader. */
void hwheel_set_drop(struct hwheel_entry *entry)
{
	struct hwheel_set *set = entry->set;

	spin_lock(&set->table.lock);
	hwheel_set_drop_locked(entry);
	spin_unlock(&set->table.lock);
}

/*
 * Operations, under the lock of @set->table, so that several can be done in one go.
 */

/* Drops the entry when it can't be armed. */
int hwheel_set_arm_at(struct hwheel_entry *entry, u64 deadline_ns)
{
	struct hwheel_set *set = entry->set;
	int err = -ESHUTDOWN;

	lockdep_assert_held(&set->table.lock);
	if (!set->stopped)
		err = hwheel_arm_at(&entry->timeout, deadline_ns);
	if (err) {
		hwheel_set_drop_locked(entry);
		return err;
	}
	tell(entry);
	set->counts.pending++;
	set->counts.armed++;
	WRITE_ONCE(set->filed, set->filed + 1);
	return 0;
}

/* Not those that are free, or whose ARM is not through yet */
static struct hwheel_entry *find_locked(struct hwheel_set *set, u64 id)
{
	struct hwheel_entry *entry = hwheel_table_find(&set->table, id);

	if (!entry || hwheel_timeout_state(&entry->timeout) == HWHEEL_IDLE)
		return NULL;
	return entry;
}

/*
 * The caller has times on the clock of @wheel. If the timeout is on another one, the set
 * was configured meanwhile, and when the caller looked there was no timeout.
 */
static struct hwheel_entry *find_on(struct hwheel_set *set,
				    const struct hwheel *wheel, u64 id)
{
	struct hwheel_entry *entry = find_locked(set, id);

	return entry && hwheel_of(&entry->timeout) == wheel ? entry : NULL;
}

int hwheel_set_refresh_at(struct hwheel_set *set, struct hwheel *wheel, u64 id,
			  u64 deadline_ns)
{
	struct hwheel_entry *entry = find_on(set, wheel, id);
	int err;

	if (!entry)
		return -ENOENT;
	err = hwheel_refresh_at(&entry->timeout, deadline_ns);
	if (err)
		return err;
	tell(entry);
	set->counts.refreshed++;
	return 0;
}

int hwheel_set_cancel(struct hwheel_set *set, u64 id)
{
	struct hwheel_entry *entry = find_locked(set, id);

	if (!entry)
		return hwheel_table_had(&set->table, id) ? -EALREADY : -ENOENT;
	if (!hwheel_cancel(&entry->timeout))
		return -EALREADY;
	tell_end(entry);
	set->counts.pending--;
	set->counts.cancelled++;
	return 0;
}

static const int states[] = {
	[HWHEEL_PENDING]	= HWHEEL_STATE_PENDING,
	[HWHEEL_CANCELLED]	= HWHEEL_STATE_CANCELLED,
	[HWHEEL_EXPIRED]	= HWHEEL_STATE_EXPIRED,
};

/* Returns HWHEEL_STATE_* or -ENOENT. */
int hwheel_set_query(struct hwheel_set *set, struct hwheel *wheel, u64 id,
		     u64 *cookie, u64 *deadline_ns)
{
	struct hwheel_entry *entry = find_on(set, wheel, id);

	if (!entry)
		return -ENOENT;
	*cookie = entry->cookie;
	*deadline_ns = hwheel_deadline_effective(entry);
	if (entry->stopped)
		return HWHEEL_STATE_STOPPED;
	return states[hwheel_timeout_state(&entry->timeout)];
}

void hwheel_set_get_counts(struct hwheel_set *set,
			   struct hwheel_set_counts *counts)
{
	spin_lock(&set->table.lock);
	*counts = set->counts;
	spin_unlock(&set->table.lock);
}

/*
 * The entries from *@index on, also those that are free; false if these were all. In
 * parts, as there may be millions.
 */
static bool for_some(struct hwheel_set *set, u32 *index,
		     void (*act)(struct hwheel_entry *entry, u64 now))
{
	u32 size = hwheel_table_size(&set->table, set->max);
	u32 end = min_t(u32, size, *index + BATCH);
	u64 now = hwheel_now(set->wheel);

	lockdep_assert_held(&set->lock);
	spin_lock(&set->table.lock);
	for (; *index < end; ++*index)
		act(hwheel_table_at(&set->table, *index), now);
	spin_unlock(&set->table.lock);
	return end < size;
}

/*
 * A word for a timeout that had none when it was armed. Who has a larger mapping, by mremap(),
 * and stores in it before this returns, may have stored nothing.
 */
static void tell_locked(struct hwheel_entry *entry, u64 now)
{
	if (hwheel_is_pending(&entry->timeout))
		tell(entry);
}

/* Those whose index is not below @first */
void hwheel_set_tell_all(struct hwheel_set *set, u32 first)
{
	while (for_some(set, &first, tell_locked))
		cond_resched();
}

static int grow_shared(struct hwheel_set *set, unsigned long pages)
{
	unsigned long first = set->shared.nr * HWHEEL_SHARED_PER_PAGE;
	int err;

	err = hwheel_shared_grow(&set->shared, pages, set->max);
	if (set->shared.nr * HWHEEL_SHARED_PER_PAGE > first)
		hwheel_set_tell_all(set, first);
	return err;
}

/* A private mapping would swallow the stores. */
int hwheel_set_map(struct hwheel_set *set, struct vm_area_struct *vma)
{
	int err;

	if (!HWHEEL_SHARED_WORKS)
		return -EOPNOTSUPP;
	/* Not VM_SHARED, which a mapping of a file that can't be written does not have. */
	if (!(vma->vm_flags & VM_MAYSHARE) || vma->vm_pgoff)
		return -EINVAL;
	if (mutex_lock_killable(&set->lock))
		return -EINTR;
	err = grow_shared(set, vma_pages(vma));
	mutex_unlock(&set->lock);
	if (!err)
		hwheel_shared_map(&set->shared, vma);
	return err;
}

static void stop_locked(struct hwheel_entry *entry, u64 now)
{
	struct hwheel_set *set = entry->set;

	if (!hwheel_cancel(&entry->timeout))
		return;
	tell_end(entry);
	entry->stopped = true;
	entry->fired_ns = now;
	set->counts.pending--;
	set->counts.stopped++;
	set->stopping++;
}

static void set_stopped(struct hwheel_set *set)
{
	spin_lock(&set->table.lock);
	WRITE_ONCE(set->stopped, true);
	wake_up_at_end(set);
	spin_unlock(&set->table.lock);
}

/* The worker has nothing that is stopped, or if @all nothing at all. */
static bool has_let_go(const struct hwheel_set *set, bool all)
{
	return !READ_ONCE(set->stopping) && !(all && READ_ONCE(set->filed));
}

/*
 * Makes events of all that is pending, and waits until they are there and the wheel
 * refers to nothing of the set any more. Returns -EINTR when killed, if @killable.
 */
static int stop_all(struct hwheel_set *set, bool killable)
{
	u32 index = 0;
	bool more;

	lockdep_assert_held(&set->lock);
	set_stopped(set);
	do {
		more = for_some(set, &index, stop_locked);
		if (!has_let_go(set, !more))
			hwheel_queue_hurry(set->wheel);
		if (!killable)
			wait_event(set->let_go, has_let_go(set, !more));
		else if (wait_event_killable(set->let_go, has_let_go(set, !more)))
			return -EINTR;
		cond_resched();
	} while (more);
	return 0;
}

/* Returns how many were pending, or -EINTR when killed. */
long hwheel_set_stop(struct hwheel_set *set)
{
	unsigned long before;
	long ret;

	if (mutex_lock_killable(&set->lock))
		return -EINTR;
	before = set->counts.stopped;
	ret = stop_all(set, true) ?: set->counts.stopped - before;
	mutex_unlock(&set->lock);
	return ret;
}

/* Drops some of what nobody will read. The lock also waits for the worker to be out. */
static bool drop_some(struct hwheel_set *set)
{
	struct hwheel_entry *entry;
	unsigned int n = 0;

	spin_lock(&set->table.lock);
	while (n++ < BATCH &&
	       (entry = list_first_entry_or_null(&set->events,
						 struct hwheel_entry, event))) {
		list_del(&entry->event);
		hwheel_set_drop_locked(entry);
	}
	spin_unlock(&set->table.lock);
	return n > BATCH;
}

/* The file is gone, and then the set. */
void hwheel_set_close(struct hwheel_set *set)
{
	mutex_lock(&set->lock);
	stop_all(set, false);
	mutex_unlock(&set->lock);
	while (drop_some(set))
		cond_resched();
	WARN_ON_ONCE(set->counts.held);
	hwheel_table_free(&set->table);
	hwheel_shared_free(&set->shared);
	kfree(set);
}
