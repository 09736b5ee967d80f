// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancelling until the object may be freed.
 *
 * The timeout is closed: cancelled if it was pending, and nobody can arm it, so it can
 * only come to rest. It is at rest when its word is neither pending nor QUEUED (no list
 * refers to it) and it is not among the running ones (no callback does). The word is
 * read first, see callback.h. Several may wait for one timeout: it stays closed until
 * the last of them opens it, and for good if one of them shuts it down.
 *
 * In a callback on the worker nobody else would drain the queues, so the caller does. A work that
 * was handed over is taken back from its workqueue; if its function has begun, the caller waits for
 * that, too. As nobody can arm a closed work, no run comes after that one.
 *
 * Models: life.pml, timeout.pml, again.pml, work.pml and sleep.pml in selftests/models/.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "callback.h"
#include "debug_objects.h"
#include "state.h"
#include "submit.h"
#include "wheel.h"
#include "work.h"

/**
 * struct closer - a thread in hwheel_cancel_sync() or hwheel_shutdown_sync()
 * @timeout:   with this one
 * @shuts:     it is in the latter
 * @prevented: it prevented the callback
 * @releases:  the thread, while it calls the release op itself; under the lock of closers
 * @node:      in @wheel->closers, by the timeout's address
 */
struct closer {
	struct hwheel_timeout	*timeout;
	bool			shuts;
	bool			prevented;
	struct task_struct	*releases;
	struct rb_node		node;
};

static int compare(const void *timeout, const struct rb_node *node)
{
	const void *other = rb_entry(node, struct closer, node)->timeout;

	return timeout < other ? -1 : timeout > other;
}

static bool is_before(struct rb_node *a, const struct rb_node *b)
{
	return compare(rb_entry(a, struct closer, node)->timeout, b) < 0;
}

static void begin_closing(struct closer *closer)
{
	struct hwheel *wheel = closer->timeout->wheel;

	spin_lock(&wheel->closers_lock);
	rb_add(&closer->node, &wheel->closers, is_before);
	spin_unlock(&wheel->closers_lock);
}

static bool closes(const struct rb_node *node, const struct hwheel_timeout *timeout)
{
	return node && !compare(timeout, node);
}

/*
 * The last one opens the timeout, unless one of them has shut it down; those who close one are
 * neighbours. A timeout that can't expire stays closed, as hwheel_timeout_init() left it.
 */
static void end_closing(struct closer *closer)
{
	struct hwheel_timeout *timeout = closer->timeout;
	struct hwheel *wheel = timeout->wheel;

	spin_lock(&wheel->closers_lock);
	if (closer->shuts)
		hwheel_word_shut(&timeout->word);
	else if (!closes(rb_prev(&closer->node), timeout) &&
		 !closes(rb_next(&closer->node), timeout) && timeout->ops->expire &&
		 !hwheel_word_is_shut(atomic64_read(&timeout->word)))
		hwheel_word_open(&timeout->word);
	rb_erase(&closer->node, &wheel->closers);
	spin_unlock(&wheel->closers_lock);
}

/* A work that has expired in between is left to wait_for_function(). */
static bool is_settled(const struct hwheel_timeout *timeout)
{
	u64 word = hwheel_work_word(timeout);

	return (hwheel_word_settled(word) || hwheel_word_is_handed(word)) &&
	       !hwheel_callback_await(timeout->wheel, timeout);
}

/*
 * Would a pass of the worker bring the caller any further? While a callback of the timeout is
 * under way it would not, as the caller waits for that anyway, and is woken when it returns.
 */
static bool needs_pass(const struct hwheel_timeout *timeout)
{
	u64 word = hwheel_work_word(timeout);

	return word & HWHEEL_QUEUED && !hwheel_word_is_handed(word) &&
	       !hwheel_callback_await(timeout->wheel, timeout);
}

static void note_releasing(struct closer *closer, struct task_struct *task)
{
	struct hwheel *wheel = closer->timeout->wheel;

	spin_lock(&wheel->closers_lock);
	closer->releases = task;
	spin_unlock(&wheel->closers_lock);
}

/*
 * On a wheel that is being stopped nobody else releases a work that was taken back. Others wait
 * until QUEUED is clear.
 */
static void release_here(struct closer *closer)
{
	struct hwheel_timeout *timeout = closer->timeout;
	struct hwheel *wheel = timeout->wheel;

	note_releasing(closer, current);
	if (timeout->ops->release)
		hwheel_callback_call(wheel, timeout->ops->release, timeout);
	note_releasing(closer, NULL);
	hwheel_debug_unreference(timeout);
	while (!hwheel_word_acted(&timeout->word, atomic64_read(&timeout->word)))
		cpu_relax();
	hwheel_wake_waiters(wheel);
}

static void recall(struct closer *closer)
{
	int recalled = hwheel_work_recall(closer->timeout);

	closer->prevented |= recalled;
	if (recalled == HWHEEL_WORK_TO_RELEASE)
		release_here(closer);
}

/* Also has the worker look again, if it still has to act on the timeout. */
static bool close_and_look(struct closer *closer)
{
	struct hwheel_timeout *timeout = closer->timeout;

	hwheel_word_close(&timeout->word);
	closer->prevented |= hwheel_cancel(timeout);
	recall(closer);
	if (needs_pass(timeout))
		hwheel_submit_kick(timeout->wheel);
	return is_settled(timeout);
}

static void close_and_wait(struct closer *closer)
{
	struct hwheel *wheel = closer->timeout->wheel;

	if (!hwheel_is_owner(wheel)) {
		hwheel_callbacks_awaited(wheel);
		wait_event(wheel->waiters, close_and_look(closer));
		return;
	}
	while (!close_and_look(closer)) {
		hwheel_drain_here(wheel);
		cond_resched();
	}
}

/*
 * Waits for the function of a work, and returns true; false if the work is not at rest: meanwhile
 * another thread may have taken it back, and submitted it. A closed work that is at rest is not
 * handed over, so cancel_work_sync() cancels nothing; but unlike flush_work() it may wait from
 * whatever workqueue. The function may itself wait for the queues to be drained, which only the
 * worker can do; so there the caller waits a jiffy at a time.
 */
static bool wait_for_function(struct closer *closer)
{
	struct hwheel_timeout *timeout = closer->timeout;
	struct hwheel *wheel = timeout->wheel;

	recall(closer);
	if (!hwheel_word_settled(hwheel_work_word(timeout)))
		return false;
	if (!hwheel_is_owner(wheel)) {
		cancel_work_sync(&hwheel_work_of(timeout)->work);
		return true;
	}
	while (work_busy(&hwheel_work_of(timeout)->work)) {
		hwheel_drain_here(wheel);
		schedule_timeout_uninterruptible(1);
	}
	return true;
}

/* Does this thread call the release op of the timeout for a wait of its own? */
static bool releases(const struct hwheel_timeout *timeout)
{
	struct hwheel *wheel = timeout->wheel;
	struct rb_node *node;
	bool found = false;

	spin_lock(&wheel->closers_lock);
	rb_for_each(node, timeout, &wheel->closers, compare)
		found |= rb_entry(node, struct closer, node)->releases == current;
	spin_unlock(&wheel->closers_lock);
	return found;
}

static bool is_own_callback(struct hwheel_timeout *timeout)
{
	const struct hwheel *wheel = timeout->wheel;

	if (hwheel_is_owner(wheel) && hwheel_callback_running(wheel, timeout))
		return true;
	return hwheel_is_work(timeout) &&
	       (current_work() == &hwheel_work_of(timeout)->work || releases(timeout));
}

/* What the log names */
static const void *function_of(struct hwheel_timeout *timeout)
{
	if (hwheel_is_work(timeout))
		return hwheel_work_of(timeout)->work.func;
	return timeout->ops->expire;
}

/* In a callback: would the timeout, or a drain, have to wait for what runs now? */
static bool would_deadlock(struct hwheel_timeout *timeout)
{
	const struct hwheel *wheel = timeout->wheel;

	if (is_own_callback(timeout)) {
		pr_warn_once("cancel_sync in the timeout's own callback: %ps\n",
			     function_of(timeout));
		return true;
	}
	if (hwheel_is_owner(wheel) && wheel->depth == HWHEEL_MAX_DEPTH) {
		pr_warn_once("cancel_sync in callbacks nested too deeply: %ps\n",
			     function_of(timeout));
		return true;
	}
	return false;
}

static int close_until_settled(struct hwheel_timeout *timeout, bool shuts)
{
	struct closer closer = { .timeout = timeout, .shuts = shuts };

	might_sleep();
	if (would_deadlock(timeout))
		return -EDEADLK;
	begin_closing(&closer);
	do
		close_and_wait(&closer);
	while (hwheel_is_work(timeout) && !wait_for_function(&closer));
	end_closing(&closer);
	return closer.prevented;
}

/**
 * hwheel_cancel_sync - cancel a timeout and wait until it may be freed
 * @timeout: in any state
 *
 * On return no list of the wheel refers to the timeout and none of its callbacks runs
 * (its release op has returned, if it was owed one), and what they wrote is seen by the
 * caller. Until then nobody can arm it: -EBUSY, also in its own callback. It may be freed
 * if nobody else can arm it after that. The worker is woken at once; the wait is for the
 * callbacks that are under way, not for a tick.
 *
 * Works at any time, also while the wheel is stopped and after that, and from the
 * callback of another timeout of the same wheel.
 *
 * The caller must not hold a lock that a callback of this wheel takes, and the release
 * op must not free the timeout.
 *
 * Context: process; may sleep.
 * Return: 1 if it prevented the callback, 0 if there was nothing to prevent, -EDEADLK if
 * it was called from the timeout's own callback, or from callbacks that cancel_sync
 * others whose release ops do so, eight deep; with which nothing changed. Warned once.
 * Each level takes half a KiB of the worker's stack, and what the callbacks take.
 */
int hwheel_cancel_sync(struct hwheel_timeout *timeout)
{
	return close_until_settled(timeout, false);
}
EXPORT_SYMBOL_GPL(hwheel_cancel_sync);

/**
 * hwheel_shutdown_sync - end a timeout that others may still arm
 * @timeout: in any state
 *
 * As hwheel_cancel_sync(), for an object that is torn down: from the return on every arm, mod and
 * reduce fails with -ESHUTDOWN, until hwheel_timeout_init(). A hwheel_cancel_sync() that ends later
 * does not change that. The timeout is idle then, and may be freed if nobody uses it after that.
 *
 * Context: process; may sleep. As for hwheel_cancel_sync().
 * Return: as hwheel_cancel_sync().
 */
int hwheel_shutdown_sync(struct hwheel_timeout *timeout)
{
	return close_until_settled(timeout, true);
}
EXPORT_SYMBOL_GPL(hwheel_shutdown_sync);
