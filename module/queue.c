// SPDX-License-Identifier: GPL-2.0-only
/*
 * Submission: arm, refresh and cancel, and the per-CPU lists that carry their
 * news to the worker.
 *
 * What is queued are timeouts, not commands: the state word says what is to be
 * done, and the worker acts on the latest state it finds. A timeout is on one list
 * at most (QUEUED), so arm on one CPU and cancel on another need no order between
 * their lists, and cancelling what is still queued costs one compare-and-exchange.
 *
 * Each submission is one RCU-sched read section (preemption off) from the look at
 * wheel->barred to the wake-up, for two reasons: others who find QUEUED set rely
 * on the add to follow at once, and hwheel_stop() waits for a grace period after
 * which no add can be under way any more.
 */
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/llist.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "callback.h"
#include "queue.h"
#include "timeout.h"
#include "trace.h"
#include "wheel.h"

/*
 * Hands a timeout to the worker. From the add on it may expire and be freed by its
 * callback, so it is not touched again.
 *
 * llist_add() is a full barrier between the add and the look at deep. It pairs with
 * the one of set_current_state() in worker_sleep(), between setting deep and the
 * look at the lists: either the worker sees the timeout or we see deep. The task
 * state's own barriers order the wake-up, so the exchange need not; it makes one
 * submitter wake the worker, not all.
 */
static void submit(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	llist_add(&timeout->queue, &this_cpu_ptr(wheel->cpu)->queue);
	if (READ_ONCE(wheel->deep) && xchg_relaxed(&wheel->deep, 0))
		wake_up_process(wheel->worker);
}

static int submit_if(struct hwheel *wheel, struct hwheel_timeout *timeout,
		     int changed)
{
	if (changed <= 0)
		return changed;
	submit(wheel, timeout);
	return 0;
}

/*
 * Is a release op being called? QUEUED is clear already, but the arm must not come
 * before the call, unless it is the release op that arms. The word was read with acquire,
 * which pairs with the worker's exchange of it, before which the timeout was entered as
 * running.
 */
static bool in_release(const struct hwheel *wheel,
		       const struct hwheel_timeout *timeout, u64 word)
{
	return timeout->ops->release &&
	       hwheel_word_state(word) == HWHEEL_CANCELLED &&
	       !(in_task() && hwheel_is_owner(wheel)) &&
	       hwheel_callback_running(wheel, timeout);
}

/* What a wheel without rounds has to refuse */

static bool is_too_long(const struct hwheel *wheel, u64 delay)
{
	return wheel->turn && delay > wheel->turn;
}

static bool is_too_far(const struct hwheel *wheel, u64 deadline)
{
	return wheel->turn &&
	       deadline > hwheel_deadline_store(hwheel_deadline_in(wheel,
								   wheel->turn));
}

/*
 * The operations, each in two copies: a slow one for when its tracepoint is on or the
 * wheel refuses something, so that the other need not keep registers for calls that it
 * does not make.
 */

static int arm_slow(struct hwheel_timeout *timeout, u64 deadline);

static __always_inline int arm(struct hwheel_timeout *timeout, u64 deadline,
			       const bool slow)
{
	struct hwheel *wheel = timeout->wheel;
	bool has_release = timeout->ops->release;
	s64 word = atomic64_read_acquire(&timeout->word);

	if (slow && is_too_far(wheel, deadline))
		return -ERANGE;
	if (slow && READ_ONCE(wheel->barred) & HWHEEL_STOPPING)
		return -ESHUTDOWN;
	if (unlikely(!hwheel_word_may_arm(word, has_release)))
		return -EBUSY;
	if (!slow && has_release && hwheel_word_state(word) == HWHEEL_CANCELLED)
		return arm_slow(timeout, deadline);
	if (slow && in_release(wheel, timeout, word))
		return -EBUSY;
	if (unlikely(!hwheel_pending_begin(wheel)))
		return -EAGAIN;
	if (unlikely(!hwheel_word_arm(&timeout->word, &word, deadline))) {
		hwheel_pending_undo(wheel);
		return arm_slow(timeout, deadline);
	}

	if (slow)
		trace_timeout_arm(wheel, timeout, deadline);
	if (!(word & HWHEEL_QUEUED))
		submit(wheel, timeout);
	return 0;
}

static noinline int arm_slow(struct hwheel_timeout *timeout, u64 deadline)
{
	return arm(timeout, deadline, true);
}

static __always_inline int refresh(struct hwheel_timeout *timeout, u64 deadline,
				   const bool slow)
{
	struct hwheel *wheel = timeout->wheel;
	bool earlier;
	int changed;

	if (slow && is_too_far(wheel, deadline))
		return -ERANGE;
	changed = hwheel_word_refresh(&timeout->word, deadline, &earlier);
	if (changed < 0)
		return changed;
	this_cpu_inc(wheel->cpu->refreshed[earlier]);
	if (slow)
		trace_timeout_refresh(wheel, timeout, deadline, earlier);
	return submit_if(wheel, timeout, changed);
}

static noinline int refresh_slow(struct hwheel_timeout *timeout, u64 deadline)
{
	return refresh(timeout, deadline, true);
}

/*
 * @changed is what became of the word; returns whether that was a cancel. If the timeout
 * was QUEUED already, the worker may have released it by now, so it is not touched.
 */
static __always_inline bool cancelled(struct hwheel *wheel,
				      struct hwheel_timeout *timeout,
				      int changed, const bool slow)
{
	if (changed < 0)
		return false;
	this_cpu_inc(wheel->cpu->cancelled[changed]);
	hwheel_pending_end(wheel);
	if (slow)
		trace_timeout_cancel(wheel, timeout, !changed);
	submit_if(wheel, timeout, changed);
	return true;
}

static noinline bool cancelled_slow(struct hwheel *wheel,
				    struct hwheel_timeout *timeout, int changed)
{
	return cancelled(wheel, timeout, changed, true);
}

/**
 * hwheel_timeout_init - set up a timeout, which then is idle
 * @timeout: in the caller's object; not in use
 * @wheel:   the wheel it will be armed on, always this one
 * @ops:     what to do with it; must stay valid as long as the timeout
 *
 * Context: any; nobody else uses the timeout yet.
 */
void hwheel_timeout_init(struct hwheel_timeout *timeout, struct hwheel *wheel,
			 const struct hwheel_timeout_ops *ops)
{
	*timeout = (struct hwheel_timeout) { .wheel = wheel, .ops = ops };
}
EXPORT_SYMBOL_GPL(hwheel_timeout_init);

/**
 * hwheel_arm_at - make a timeout pending, with an absolute deadline
 * @timeout:     idle, expired or cancelled
 * @deadline_ns: in ns on the wheel's clock. One that is past makes the timeout
 *               fire in the worker's next pass, at the next edge at the latest;
 *               one beyond the clock's range (292 years) means never.
 *
 * The caller owns the timeout until it armed it. From then on it must stay in place
 * until its callback was called, its release op was called, hwheel_cancel_sync()
 * returned, or it was handed back. What the caller wrote before is seen by the
 * callback. Lock-free and without a look at the clock, but for one on a wheel that is
 * HWHEEL_SIMPLE. Of several errors the one that stands first here is returned:
 * -ERANGE, -ESHUTDOWN, -EBUSY, -EAGAIN.
 *
 * Context: any but NMI and under scheduler locks (it may wake the worker).
 * Return: 0, or an error with which nothing changed: -EBUSY (it is pending, is being
 * waited for by hwheel_cancel_sync(), has a release op that was not called yet after a
 * cancel, or has expired and waits for the executor to call its callback), -EAGAIN (as
 * many as hwheel_params.max_pending are pending), -ERANGE (more than a turn away, on a
 * wheel that is HWHEEL_SIMPLE), -ESHUTDOWN (the wheel was stopped).
 */
int hwheel_arm_at(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	u64 deadline = hwheel_deadline_store(deadline_ns);
	int err;

	rcu_read_lock_sched();
	if (trace_timeout_arm_enabled() ||
	    unlikely(READ_ONCE(timeout->wheel->barred)))
		err = arm_slow(timeout, deadline);
	else
		err = arm(timeout, deadline, false);
	rcu_read_unlock_sched();
	return err;
}
EXPORT_SYMBOL_GPL(hwheel_arm_at);

/**
 * hwheel_arm - make a timeout pending
 * @timeout:  idle, expired or cancelled
 * @delay_ns: from now, in ns; 0 means the next edge
 *
 * As hwheel_arm_at(), and reads the clock once.
 *
 * Context: any but NMI and under scheduler locks.
 * Return: as hwheel_arm_at().
 */
int hwheel_arm(struct hwheel_timeout *timeout, u64 delay_ns)
{
	if (unlikely(is_too_long(timeout->wheel, delay_ns)))
		return -ERANGE;
	return hwheel_arm_at(timeout, hwheel_deadline_in(timeout->wheel, delay_ns));
}
EXPORT_SYMBOL_GPL(hwheel_arm);

/**
 * hwheel_refresh_at - give a pending timeout another absolute deadline
 * @timeout:     a pending one
 * @deadline_ns: as for hwheel_arm_at()
 *
 * To a later deadline this is one atomic operation on the timeout itself; to an
 * earlier one it goes through the submission queue like an arm. What the caller
 * wrote before is seen by the callback. The caller sees to it that the timeout stays
 * in place: it may expire and be freed by its callback meanwhile.
 *
 * Context: any but NMI and under scheduler locks.
 * Return: 0, or an error with which nothing changed: -ENOENT (it is not pending),
 * -ERANGE (more than a turn away, on a wheel that is HWHEEL_SIMPLE).
 */
int hwheel_refresh_at(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	u64 deadline = hwheel_deadline_store(deadline_ns);
	int err;

	rcu_read_lock_sched();
	if (trace_timeout_refresh_enabled() ||
	    unlikely(READ_ONCE(timeout->wheel->barred)))
		err = refresh_slow(timeout, deadline);
	else
		err = refresh(timeout, deadline, false);
	rcu_read_unlock_sched();
	return err;
}
EXPORT_SYMBOL_GPL(hwheel_refresh_at);

/**
 * hwheel_refresh - give a pending timeout another deadline
 * @timeout:  a pending one
 * @delay_ns: from now, in ns; 0 means the next edge
 *
 * As hwheel_refresh_at(), and reads the clock once.
 *
 * Context: any but NMI and under scheduler locks.
 * Return: as hwheel_refresh_at().
 */
int hwheel_refresh(struct hwheel_timeout *timeout, u64 delay_ns)
{
	if (unlikely(is_too_long(timeout->wheel, delay_ns)))
		return -ERANGE;
	return hwheel_refresh_at(timeout,
				 hwheel_deadline_in(timeout->wheel, delay_ns));
}
EXPORT_SYMBOL_GPL(hwheel_refresh);

/**
 * hwheel_cancel - end a timeout before it expires
 * @timeout: in any state
 *
 * After true the callback does not run for this arm, and the timeout may be armed
 * again (with a release op: once that was called). It may not be freed yet: the
 * worker refers to it until its next pass, at most one tick away. The release op
 * tells when that is over, hwheel_cancel_sync() waits for it. What the caller wrote
 * before is seen by the release op. A false says nothing about whether the callback
 * has returned.
 *
 * Context: any but NMI and under scheduler locks; also the timeout's own callback,
 * after it armed the timeout again.
 * Return: true if it prevented the callback, false if there was nothing to prevent.
 */
bool hwheel_cancel(struct hwheel_timeout *timeout)
{
	struct hwheel *wheel = timeout->wheel;
	bool prevented;
	int changed;

	rcu_read_lock_sched();
	changed = hwheel_word_cancel(&timeout->word);
	prevented = trace_timeout_cancel_enabled() ?
		    cancelled_slow(wheel, timeout, changed) :
		    cancelled(wheel, timeout, changed, false);
	rcu_read_unlock_sched();
	return prevented;
}
EXPORT_SYMBOL_GPL(hwheel_cancel);

/* hwheel_cancel() and, until hwheel_word_open(), no more arming. */
bool hwheel_queue_close(struct hwheel_timeout *timeout)
{
	struct hwheel *wheel = timeout->wheel;
	bool prevented;

	rcu_read_lock_sched();
	prevented = cancelled_slow(wheel, timeout,
				   hwheel_word_close(&timeout->word));
	rcu_read_unlock_sched();
	return prevented;
}

/* For who has a timeout that is QUEUED, on no list. */
void hwheel_queue_return(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	rcu_read_lock_sched();
	submit(wheel, timeout);
	rcu_read_unlock_sched();
}

/*
 * Makes the worker's next pass begin at once, also if it lingers. The wake-up has a full
 * barrier between setting urgent and the look at the task's state, which pairs with
 * set_current_state() in worker_sleep(). A wheel that is being stopped drains its queues
 * anyway, and its worker may be gone.
 */
void hwheel_queue_hurry(struct hwheel *wheel)
{
	rcu_read_lock_sched();
	if (!(READ_ONCE(wheel->barred) & HWHEEL_STOPPING)) {
		WRITE_ONCE(wheel->urgent, 1);
		wake_up_process(wheel->worker);
	}
	rcu_read_unlock_sched();
}

static struct llist_head *next_queue(struct hwheel *wheel)
{
	wheel->batch_cpu = cpumask_next(wheel->batch_cpu, cpu_possible_mask);
	if (wheel->batch_cpu >= nr_cpu_ids)
		wheel->batch_cpu = cpumask_first(cpu_possible_mask);
	return &per_cpu_ptr(wheel->cpu, wheel->batch_cpu)->queue;
}

/*
 * The next queued timeout, taking up to *@lists CPUs' lists, each as a whole and
 * in turn from where the last call left off. NULL when they are used up. Taking a
 * list is a full barrier and pairs with llist_add() in submit().
 *
 * The link is read here, before the caller clears QUEUED and others may use it.
 */
struct hwheel_timeout *hwheel_queue_pop(struct hwheel *wheel,
					unsigned int *lists)
{
	struct llist_node *node;

	while (!wheel->batch) {
		struct llist_head *queue;

		if (!*lists)
			return NULL;
		--*lists;
		queue = next_queue(wheel);
		if (!llist_empty(queue))
			wheel->batch = llist_del_all(queue);
	}
	node = wheel->batch;
	wheel->batch = node->next;
	return llist_entry(node, struct hwheel_timeout, queue);
}

bool hwheel_queue_empty(const struct hwheel *wheel)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (!llist_empty(&per_cpu_ptr(wheel->cpu, cpu)->queue))
			return false;
	return true;
}
