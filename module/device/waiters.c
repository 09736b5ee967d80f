// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waking those who wait for a file's events.
 *
 * A program decides how many entries the wait queue of its file has: one poll() may enter
 * the file as often as RLIMIT_NOFILE allows, and a walk of such a queue takes as long as
 * the program likes. The worker wakes for all files on its wheel, so it looks at no more
 * than HWHEEL_WAITERS_MAX entries of a file, nor than HWHEEL_ACCOUNT_WAITERS of all files of a
 * user in a jiffy. If there are more it leaves them to a work item of the file, which looks
 * at all of them, WALK_MAX at a time, with a turn for the other files in between. The work
 * items of all users run one after another, and those of one user may have a lot to do: so
 * each user has a budget of its own, and only a user that exceeds it waits for work items.
 *
 * An entry may be an epoll instance with a queue of its own, whose length nobody can see. So
 * a walk is bounded in time as well: it ends before the next entry. If entries took the
 * worker or a work item long, the work items do all the waking of that user for a while. A
 * stall remains: nothing bounds the time that one entry takes, with interrupts off. Such an
 * entry holds up the worker once in that while, or once more when the user has closed all its
 * files in between; and it holds up the work items each time that its file has events. Many
 * entries of a jiffy or less use up the budget as soon as a jiffy begins meanwhile.
 *
 * An entry of the work item's own, the cursor, keeps its place in the queue while the
 * queue's lock is free. A thread that wakes the cursor wakes nobody. The entries are woken as
 * __wake_up() does: up to so many of the exclusive ones, which stand behind the others.
 *
 * Model: reap.pml in selftests/models/.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "account.h"
#include "waiters.h"

/* How many entries a work item looks at in one go, with interrupts off */
#define WALK_MAX	512

/* How long after the first entry the worker and a work item begin with another one, in ns */
#define WAKE_NS		(100 * NSEC_PER_USEC)
#define WALK_NS		NSEC_PER_MSEC

/* How many work items run at a time, for all files, as no cgroup pays for them */
#define WALKERS		1

static struct workqueue_struct *walkers;

int hwheel_waiters_create_queue(void)
{
	walkers = alloc_workqueue("hwheel", WQ_UNBOUND, WALKERS);
	return walkers ? 0 : -ENOMEM;
}

void hwheel_waiters_destroy_queue(void)
{
	destroy_workqueue(walkers);
}

/* Returns whether that was an exclusive waiter. An entry may leave the queue when woken. */
static bool waiters_wake(struct wait_queue_entry *entry, void *key)
{
	bool exclusive = entry->flags & WQ_FLAG_EXCLUSIVE;

	return entry->func(entry, TASK_NORMAL, 0, key) > 0 && exclusive;
}

/**
 * struct walk - a part of a queue to be looked at
 * @from:      the first entry to look at, then the one where to go on; NULL: that was all
 * @max:       how many at most, then how many less
 * @ns:        for how long the caller begins with yet another entry
 * @events:    how many exclusive ones to wake, then how many less
 * @since:     when the caller began, in jiffies
 * @preempted: how often the scheduler had preempted the caller then
 */
struct walk {
	struct list_head	*from;
	unsigned int		max;
	u64			ns;
	unsigned int		events;
	unsigned long		since;
	unsigned long		preempted;
};

/* Before the lock is taken, and before the first entry */
static void walk_begin(struct walk *walk)
{
	walk->preempted = READ_ONCE(current->nivcsw);
	walk->since = jiffies;
}

/*
 * How many jiffies have begun during the walk; 0 if others ran in between. The caller has
 * interrupts on again: with interrupts off jiffies may stand still.
 */
static unsigned long walk_jiffies(const struct walk *walk)
{
	unsigned long passed = jiffies - walk->since;

	return READ_ONCE(current->nivcsw) == walk->preempted ? passed : 0;
}

/* Either there was no time for all entries, or they took more than a jiffy. */
static bool walk_took_long(const struct walk *walk)
{
	return (walk->from && walk->max) || walk_jiffies(walk) > 1;
}

/* The caller begins with no entry after that. One that waits alone costs no look at the clock. */
static u64 walk_deadline(const struct hwheel_waiters *waiters, const struct walk *walk)
{
	if (list_is_last(walk->from, &waiters->queue.head))
		return U64_MAX;
	return ktime_get_mono_fast_ns() + walk->ns;
}

/* Until the part is looked at; at the end of events all are woken. */
static void wake_some(struct hwheel_waiters *waiters, struct walk *walk)
{
	void *key = READ_ONCE(waiters->ended) ?
		    NULL : poll_to_key(EPOLLIN | EPOLLRDNORM);
	struct wait_queue_entry *entry = NULL;
	u64 deadline = walk_deadline(waiters, walk);

	lockdep_assert_held(&waiters->queue.lock);
	while (walk->from != &waiters->queue.head) {
		if (!walk->max || (entry && ktime_get_mono_fast_ns() > deadline))
			return;
		walk->max--;
		entry = list_entry(walk->from, struct wait_queue_entry, entry);
		walk->from = walk->from->next;
		if (waiters_wake(entry, key) && key && !--walk->events)
			break;
	}
	walk->from = NULL;
}

/* The cursor is not to be woken. */
static int wake_nobody(struct wait_queue_entry *entry, unsigned int mode,
		       int flags, void *key)
{
	return 0;
}

/* False if the last walk, which was under way when this one was asked for, has done it. */
static bool begin_walk(struct hwheel_waiters *waiters)
{
	/* Pairs with leave_to_work(): if that was for the end, the end is seen. */
	waiters->left = atomic_xchg(&waiters->owed, 0);
	if (!waiters->left)
		return false;
	list_add(&waiters->cursor.entry, &waiters->queue.head);
	return true;
}

/* Looks at some, and returns whether to go on later. */
static bool walk_on(struct hwheel_waiters *waiters, struct walk *walk)
{
	struct list_head *cursor = &waiters->cursor.entry;

	if (list_empty(cursor) && !begin_walk(waiters))
		return false;
	walk->from = cursor->next;
	walk->events = waiters->left;
	wake_some(waiters, walk);
	waiters->left = walk->events;
	if (walk->from)
		list_move_tail(cursor, walk->from);
	else
		list_del_init(cursor);
	return walk->from || atomic_read(&waiters->owed);
}

static void waiters_work(struct work_struct *work)
{
	struct hwheel_waiters *waiters =
		container_of(work, struct hwheel_waiters, work);
	struct walk walk = { .max = WALK_MAX, .ns = WALK_NS };
	unsigned long flags;
	bool more;

	walk_begin(&walk);
	spin_lock_irqsave(&waiters->queue.lock, flags);
	more = walk_on(waiters, &walk);
	spin_unlock_irqrestore(&waiters->queue.lock, flags);
	if (walk_took_long(&walk))
		hwheel_account_was_slow(waiters->account);
	if (more)
		queue_work(walkers, work);
}

void hwheel_waiters_init(struct hwheel_waiters *waiters, struct hwheel_account *account)
{
	waiters->account = account;
	init_waitqueue_head(&waiters->queue);
	INIT_WORK(&waiters->work, waiters_work);
	init_waitqueue_func_entry(&waiters->cursor, wake_nobody);
	INIT_LIST_HEAD(&waiters->cursor.entry);
}

/* Nobody waits any more, nor wakes. May sleep. */
void hwheel_waiters_exit(struct hwheel_waiters *waiters)
{
	cancel_work_sync(&waiters->work);
}

static void leave_to_work(struct hwheel_waiters *waiters, unsigned int events)
{
	/* Pairs with begin_walk(). */
	atomic_fetch_add_release(events, &waiters->owed);
	queue_work(walkers, &waiters->work);
}

/* The caller leaves to the work item what it may not look at itself. */
static void wake_first(struct hwheel_waiters *waiters, struct walk *walk)
{
	unsigned long flags;

	walk_begin(walk);
	spin_lock_irqsave(&waiters->queue.lock, flags);
	walk->from = waiters->queue.head.next;
	wake_some(waiters, walk);
	spin_unlock_irqrestore(&waiters->queue.lock, flags);

	if (walk->from)
		leave_to_work(waiters, walk->events);
	if (walk_took_long(walk))
		hwheel_account_was_slow(waiters->account);
}

/**
 * hwheel_waiters_wake - wake those who wait for events, if anybody does
 * @waiters: of the file
 * @events:  how many events were queued; more than 0
 *
 * The events are there already: the barrier in wq_has_sleeper() pairs with the one of
 * prepare_to_wait() in wait_event(), and with the one in hwheel_event_poll().
 *
 * Context: process; holds the queue's lock for HWHEEL_WAITERS_MAX entries at most.
 */
void hwheel_waiters_wake(struct hwheel_waiters *waiters, unsigned int events)
{
	struct hwheel_account *account = waiters->account;
	struct walk walk = { .ns = WAKE_NS, .events = events };
	unsigned int max;

	if (!wq_has_sleeper(&waiters->queue))
		return;
	max = min(hwheel_account_waiters_left(account), HWHEEL_WAITERS_MAX);
	if (!max || hwheel_account_is_slow(account)) {
		leave_to_work(waiters, events);
		return;
	}
	walk.max = max;
	wake_first(waiters, &walk);
	/*
	 * Entries that take less than a jiffy each may take long together: so a user has no more of
	 * a jiffy that begins while the worker looks.
	 */
	hwheel_account_looked(account,
			      walk_jiffies(&walk) ? HWHEEL_ACCOUNT_WAITERS : max - walk.max);
}

/* No event will come any more: wakes everybody, each time that it is called. */
void hwheel_waiters_end(struct hwheel_waiters *waiters)
{
	WRITE_ONCE(waiters->ended, true);
	hwheel_waiters_wake(waiters, 1);
}
