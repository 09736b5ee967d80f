// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping a wheel hands every timeout that is still pending back to the caller, exactly
 * once, and loses none to an arm that races with it:
 *
 *  1. HWHEEL_STOPPING is set: arms that see it fail. The worker finishes its pass and exits,
 *     and the stopper takes its place as the slots' one writer.
 *  2. The slots are emptied. A pending timeout that is not QUEUED is handed back; a
 *     QUEUED one is only unlinked, as it is, or is about to be, on a list. From here on
 *     nothing pending is without QUEUED, so cancel and refresh add nothing any more.
 *  3. A grace period: the submissions that had begun before are through, the others
 *     see HWHEEL_STOPPING.
 *  4. The lists are drained: what is pending is handed back, the rest released.
 *
 * A cancel that comes first takes its timeout out of this, a later one returns false.
 * No lock is held across the callbacks, which may stop another wheel; a second stop waits
 * for the first one's completion.
 *
 * Models: halt.pml and work.pml in selftests/models/.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/export.h>
#include <linux/hwheel.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "bandwidth.h"
#include "callback.h"
#include "limit.h"
#include "pass_work.h"
#include "state.h"
#include "submit.h"
#include "wheel.h"
#include "worker.h"

/**
 * struct hwheel_stop - a stop under way
 * @wheel:    the wheel
 * @handback: called for each timeout that was pending, or NULL
 * @data:     for @handback
 * @count:    timeouts handed back so far
 * @deferred: one was submitted again, as it came up in its own callback
 */
struct hwheel_stop {
	struct hwheel	*wheel;
	void		(*handback)(struct hwheel_timeout *timeout, void *data);
	void		*data;
	s64		count;
	bool		deferred;
};

/*
 * Ends a timeout and tells its owner. When it is not QUEUED any more its owner,
 * unless told, may free it: so the op is read before.
 */
static void hand_back(struct hwheel_stop *stop, struct hwheel_timeout *timeout,
		      u64 queued)
{
	hwheel_callback_t *release = timeout->ops->release;
	struct hwheel *wheel = stop->wheel;
	enum hwheel_state state;

	hwheel_assert_owner(wheel);
	hwheel_slots_unlink(&wheel->slots, &timeout->node);
	hwheel_callback_begin(wheel, timeout);
	state = hwheel_word_state(hwheel_timeout_end(timeout, queued));
	if (state == HWHEEL_PENDING) {
		local_inc(&wheel->counts.handed_back);
		hwheel_limit_end(wheel);
		stop->count++;
	}
	if (state == HWHEEL_PENDING && stop->handback)
		stop->handback(timeout, stop->data);
	else if (release &&
		 (state == HWHEEL_PENDING || state == HWHEEL_CANCELLED))
		hwheel_callback_call(wheel, release, timeout);
	hwheel_callback_end(wheel);
	hwheel_wake_waiters(wheel);
	cond_resched();
}

/*
 * A callback that drains may come upon its own timeout, which an arm that began before the stop has
 * armed meanwhile: as in worker_defers(), that is left to a drain that is not in it.
 */
static void hand_back_queued(struct hwheel_stop *stop)
{
	unsigned int words = hwheel_submit_words();
	struct hwheel *wheel = stop->wheel;
	struct hwheel_timeout *timeout;
	unsigned long turn = 0;

	while (hwheel_submit_more(wheel, &words, &turn)) {
		timeout = hwheel_submit_pop(wheel, &turn);
		if (wheel->depth && hwheel_callback_running(wheel, timeout)) {
			hwheel_submit_return(wheel, timeout);
			stop->deferred = true;
			continue;
		}
		hand_back(stop, timeout, HWHEEL_QUEUED);
		turn = 0;
	}
}

static void hand_back_all(struct hwheel_stop *stop)
{
	struct hwheel_slots *slots = &stop->wheel->slots;
	struct hwheel_node *node;

	while ((node = hwheel_slots_pop_any(slots)))
		hand_back(stop, container_of(node, struct hwheel_timeout, node),
			  0);

	/* Pairs with the read sections of submission, see the top. */
	synchronize_rcu();
	do {
		stop->deferred = false;
		hand_back_queued(stop);
	} while (stop->deferred);
}

static void stop_wheel(struct hwheel *wheel, struct hwheel_stop *stop)
{
	WRITE_ONCE(wheel->special, wheel->special | HWHEEL_STOPPING);
	hwheel_worker_stop(wheel);

	WRITE_ONCE(wheel->owner, current);
	hwheel_bandwidth_give_back(wheel);
	/* The clock that was read before is the worker's. */
	hwheel_clock_read(wheel);
	wheel->stop = stop;
	hand_back_all(stop);
	while (!hwheel_pass_work_run(wheel))
		cond_resched();
	/* Nothing is enqueued any more, though the wheel may be kept for long. */
	hwheel_slots_free(&wheel->slots);
	WRITE_ONCE(wheel->owner, NULL);
	wheel->stop = NULL;
	put_task_struct(wheel->worker);
	complete_all(&wheel->stopped);
}

/* For an owner who can't wait for itself, in a callback. */
void hwheel_drain_here(struct hwheel *wheel)
{
	if (wheel->stop)
		hand_back_queued(wheel->stop);
	else
		hwheel_worker_drain(wheel);
}

/**
 * hwheel_stop - stop a wheel for good
 * @wheel:    the wheel
 * @handback: called for each timeout that is still pending, which then is
 *            cancelled, belongs to the caller again and may be freed at once, also
 *            by the callback; NULL to have the release op called instead, for
 *            those that have one
 * @data:     passed to @handback
 *
 * On return nothing is pending, no callback runs, none will, and every release that
 * was owed has been made. Arming fails from now on with -ESHUTDOWN; an arm that races
 * with this either fails so or is handed back. A second stop waits for the first and
 * hands back nothing.
 *
 * A work that was handed over is not pending, and is not waited for: its function runs, unless
 * its owner cancels it.
 *
 * Context: process; may sleep. @handback runs in the same context.
 * Return: how many timeouts were handed back, -EDEADLK when called from a callback
 * of the wheel's own, @handback included, or -EPERM for hwheel_system().
 */
s64 hwheel_stop(struct hwheel *wheel,
		void (*handback)(struct hwheel_timeout *timeout, void *data),
		void *data)
{
	struct hwheel_stop stop = {
		.wheel = wheel, .handback = handback, .data = data,
	};

	if (wheel->system)
		return -EPERM;
	if (hwheel_is_owner(wheel))
		return -EDEADLK;
	hwheel_callbacks_awaited(wheel);
	if (!atomic_xchg(&wheel->stopping, 1))
		stop_wheel(wheel, &stop);
	else
		wait_for_completion(&wheel->stopped);
	return stop.count;
}
EXPORT_SYMBOL_GPL(hwheel_stop);
