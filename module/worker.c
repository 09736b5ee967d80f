// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worker: one thread that alone writes the slots.
 *
 * A pass reads the clock, drains the submission queues, and expires what is due up to
 * the edge that was reached; a late worker catches up all missed edges in one pass. The
 * clock comes first: what is submitted later than that is not due at that edge, so the
 * drain may miss it. Drain and expiry are bounded: a pass that did not get through is
 * followed at once by another.
 *
 * Then it sleeps, in one of two depths. After a pass that drained something, more is
 * likely to come, so the worker lingers until the next edge: submitters need not wake
 * it, and all they submit within a tick is drained at once. After an empty pass it
 * sleeps to its next occupied edge. If that lies beyond the next edge, it publishes
 * this deep sleep, and who submits something wakes it. Who waits in
 * hwheel_cancel_sync() wakes it from either.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "callback.h"
#include "queue.h"
#include "timeout.h"
#include "wheel.h"
#include "worker.h"

/* How much of a kind is done in one pass, and in a row without cond_resched() */
#define DRAIN_MAX	100000
#define EXPIRE_MAX	10000
#define RESCHED_EVERY	256

/* How often in one pass to act on a timeout that changes all the time */
#define ACT_MAX		3

static struct hwheel_timeout *timeout_of(struct hwheel_node *node)
{
	return container_of(node, struct hwheel_timeout, node);
}

/*
 * A callback that drains the queues must not bring back itself, armed for the past, at
 * each of the edges that a late worker catches up: it comes after those.
 */
static void file(struct hwheel *wheel, struct hwheel_timeout *timeout, u64 word)
{
	u64 edge = hwheel_edge_due(wheel, hwheel_word_deadline(word));

	if (wheel->depth)
		edge = max(edge, wheel->reached + 1);
	hwheel_slots_file(&wheel->slots, &timeout->node, edge);
}

/* It is still QUEUED, so it is ours to add. */
static void requeue(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	llist_add(&timeout->queue, &raw_cpu_ptr(wheel->cpu)->queue);
}

/*
 * Brings the slots up to a queued timeout's state. Once QUEUED is cleared on one that
 * is not pending, the wheel does not refer to it any more and others may free it,
 * unless a release is owed. False if the state changed meanwhile.
 */
static bool act(struct hwheel *wheel, struct hwheel_timeout *timeout, s64 *word)
{
	void (*release)(struct hwheel_timeout *) = timeout->ops->release;
	bool acted;

	hwheel_slots_unlink(&wheel->slots, &timeout->node);
	if (hwheel_word_state(*word) == HWHEEL_PENDING)
		file(wheel, timeout, *word);
	if (!release || hwheel_word_state(*word) != HWHEEL_CANCELLED)
		return hwheel_word_acted(&timeout->word, word);

	hwheel_callback_begin(wheel, timeout);
	acted = hwheel_word_acted(&timeout->word, word);
	if (acted)
		release(timeout);
	hwheel_callback_end(wheel);
	return acted;
}

/* One that changes all the time is left to a later pass. */
static void act_on_latest(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	s64 word = atomic64_read_acquire(&timeout->word);
	int tries;

	for (tries = 0; tries < ACT_MAX; tries++)
		if (act(wheel, timeout, &word))
			return;
	requeue(wheel, timeout);
}

/*
 * Returns how many timeouts were acted on: DRAIN_MAX if there may be more. The exchange
 * comes before the look at the lists: who set urgent had added to one.
 */
unsigned int hwheel_worker_drain(struct hwheel *wheel)
{
	unsigned int lists = num_possible_cpus(), n;
	struct hwheel_timeout *timeout;

	if (READ_ONCE(wheel->urgent))
		xchg(&wheel->urgent, 0);
	for (n = 0; n < DRAIN_MAX; n++) {
		timeout = hwheel_queue_pop(wheel, &lists);
		if (!timeout)
			break;
		act_on_latest(wheel, timeout);
		if (n % RESCHED_EVERY == RESCHED_EVERY - 1)
			cond_resched();
	}
	if (n)
		hwheel_wake_waiters(wheel);
	return n;
}

/* While QUEUED is clear, what was filed is pending. */
static bool is_due(u64 word, u64 edge_time)
{
	return !(word & HWHEEL_QUEUED) &&
	       hwheel_word_deadline(word) <= edge_time;
}

static bool expire(struct hwheel *wheel, struct hwheel_timeout *timeout,
		   s64 *word)
{
	bool expired;

	hwheel_callback_begin(wheel, timeout);
	expired = hwheel_word_expire(&timeout->word, word);
	if (expired) {
		hwheel_pending_end(wheel);
		timeout->ops->expire(timeout);
	}
	hwheel_callback_end(wheel);
	return expired;
}

/*
 * Looks at a timeout that was popped from the due list. It is on no list now, but
 * perhaps a submission queue: then the next drain acts on it. One that has expired may
 * be freed by its callback.
 */
static void expire_if_due(struct hwheel *wheel, struct hwheel_timeout *timeout,
			  u64 edge_time)
{
	s64 word = atomic64_read_acquire(&timeout->word);

	while (is_due(word, edge_time))
		if (expire(wheel, timeout, &word))
			return;
	if (!(word & HWHEEL_QUEUED))
		file(wheel, timeout, word);
}

static struct hwheel_timeout *next_due(struct hwheel *wheel, u64 edge)
{
	struct hwheel_node *node;

	while (!(node = hwheel_slots_pop_due(&wheel->slots)))
		if (!hwheel_slots_advance(&wheel->slots, edge))
			return NULL;
	return timeout_of(node);
}

/* Returns whether it got through to the edge that this pass has reached. */
static bool expire_due(struct hwheel *wheel)
{
	struct hwheel_timeout *timeout;
	unsigned int n;

	for (n = 0; n < EXPIRE_MAX; n++) {
		timeout = next_due(wheel, wheel->reached);
		if (!timeout)
			return true;
		expire_if_due(wheel, timeout,
			      hwheel_edge_time(wheel, wheel->slots.cursor));
		if (n % RESCHED_EVERY == RESCHED_EVERY - 1)
			cond_resched();
	}
	return false;
}

static void sleep_until(struct hwheel *wheel, u64 edge)
{
	ktime_t until = hwheel_edge_time(wheel, edge);

	if (edge == HWHEEL_NO_EDGE)
		schedule();
	else
		schedule_hrtimeout_range_clock(&until, 0, HRTIMER_MODE_ABS,
					       wheel->clock);
}

/*
 * Setting deep, then set_current_state() with its full barrier, then the look at the
 * lists pairs with submit(): either we see what was added, or the submitter sees deep
 * and wakes us. A submitter that took deep away is about to wake us, or did already:
 * if it did so for something that we drained before, going to sleep without deep would
 * leave the next one unnoticed.
 *
 * Somebody who waits in hwheel_cancel_sync() while nothing is to be done waits for a
 * timeout that is about to be added: whoever adds it has to wake us, as in deep sleep.
 */
static void worker_sleep(struct hwheel *wheel, bool linger)
{
	u64 soon = wheel->slots.cursor + 1;
	u64 edge = linger ? soon : hwheel_slots_next(&wheel->slots);
	bool deep = edge > soon || wq_has_sleeper(&wheel->waiters);

	if (deep)
		WRITE_ONCE(wheel->deep, 1);
	set_current_state(TASK_IDLE);
	if (!kthread_should_stop() && !READ_ONCE(wheel->urgent) &&
	    (!deep || (READ_ONCE(wheel->deep) && hwheel_queue_empty(wheel))))
		sleep_until(wheel, edge);
	__set_current_state(TASK_RUNNING);
	if (deep)
		WRITE_ONCE(wheel->deep, 0);
}

static int worker_run(void *data)
{
	struct hwheel *wheel = data;

	while (!kthread_should_stop()) {
		unsigned int drained;
		bool through;

		wheel->reached = hwheel_edge_reached(wheel, hwheel_now(wheel));
		drained = hwheel_worker_drain(wheel);
		through = expire_due(wheel);
		if (through && !wheel->batch && drained < DRAIN_MAX)
			worker_sleep(wheel, drained);
		else
			cond_resched();
	}
	return 0;
}

int hwheel_worker_start(struct hwheel *wheel, const char *name)
{
	struct task_struct *task;

	task = kthread_create(worker_run, wheel, "hwheel/%s", name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	wheel->worker = get_task_struct(task);
	wheel->owner = task;
	wake_up_process(task);
	return 0;
}

/*
 * On return the worker has finished its batch and is gone. Its task_struct is still
 * referenced, as submitters may be about to wake it.
 */
void hwheel_worker_stop(struct hwheel *wheel)
{
	kthread_stop(wheel->worker);
}
