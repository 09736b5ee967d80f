// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancelling until the object may be freed.
 *
 * The timeout is closed: cancelled if it was pending, and nobody can arm it, so it can
 * only come to rest. It is at rest when its word is neither pending nor QUEUED (no list
 * refers to it) and it is not among the running ones (no callback does). The word is
 * read first, see callback.h. Closing is done anew whenever we look, as another
 * hwheel_cancel_sync() may have opened the timeout meanwhile.
 *
 * In a callback of the wheel's own nobody else would drain the queues, so we do.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/wait.h>

#include "callback.h"
#include "queue.h"
#include "timeout.h"
#include "wheel.h"

static bool close_and_look(struct hwheel_timeout *timeout, bool *prevented)
{
	if (hwheel_queue_close(timeout))
		*prevented = true;
	return hwheel_word_settled(atomic64_read_acquire(&timeout->word)) &&
	       !hwheel_callback_running(timeout->wheel, timeout);
}

static int cancel_here(struct hwheel_timeout *timeout)
{
	struct hwheel *wheel = timeout->wheel;
	bool prevented = false;

	if (hwheel_callback_running(wheel, timeout) ||
	    wheel->depth == HWHEEL_MAX_DEPTH) {
		pr_warn_once("cancel_sync in a callback would wait for itself: %ps\n",
			     timeout->ops->expire);
		return -EDEADLK;
	}
	while (!close_and_look(timeout, &prevented)) {
		hwheel_drain_here(wheel);
		cond_resched();
	}
	hwheel_word_open(&timeout->word);
	return prevented;
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
 * it was called from the timeout's own callback (or from callbacks nested too deeply),
 * with which nothing changed; warned once.
 */
int hwheel_cancel_sync(struct hwheel_timeout *timeout)
{
	struct hwheel *wheel = timeout->wheel;
	bool prevented = false;

	might_sleep();
	if (hwheel_is_owner(wheel))
		return cancel_here(timeout);
	hwheel_callbacks_awaited(wheel);
	wait_event(wheel->waiters, close_and_look(timeout, &prevented));
	hwheel_word_open(&timeout->word);
	return prevented;
}
EXPORT_SYMBOL_GPL(hwheel_cancel_sync);
