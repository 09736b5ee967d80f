// SPDX-License-Identifier: GPL-2.0-only
/*
 * Works: timeouts whose function runs on a workqueue, as that of a delayed_work.
 *
 * When a work expires, the worker hands it over: the word becomes EXPIRED with QUEUED, and the work
 * item is queued. The function runs straight from the workqueue, which leaves the word as it is:
 * from that moment on hwheel touches the object only on behalf of a caller. So QUEUED says that the
 * work was handed over, and the work item's own PENDING bit says whether its function is still to
 * begin. No two runs overlap, because the workqueue does not run an item on two threads.
 *
 * A thread that arms, moves or cancels such a work claims the word (IDLE with QUEUED) with
 * interrupts off, so that others may spin until it has looked at the work item. Then
 *  - the function has begun: the word becomes EXPIRED without QUEUED, as after any expiry;
 *  - or hwheel_work_cancel() and hwheel_cancel_sync() take the item from the workqueue, and submit
 *    the timeout as a cancelled one, so that the worker calls its release op;
 *  - or hwheel_work_mod() takes it, and submits the timeout as a pending one, which is due again;
 *  - or the claim changes nothing.
 *
 * The worker exchanges the word before it queues the item, for the function may free the work. It
 * has interrupts off meanwhile, and is entered as the one that calls this timeout's callback: the
 * thread that has claimed the word waits until it is not. Then a clear PENDING bit means that the
 * function has begun.
 *
 * On a wheel that is being stopped, whose lists may have been drained for good, only
 * hwheel_cancel_sync() takes a work back, and calls its release op itself, see there.
 *
 * Models: work.pml and flush.pml in selftests/models/.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/hwheel.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "callback.h"
#include "debug_objects.h"
#include "limit.h"
#include "state.h"
#include "submit.h"
#include "trace.h"
#include "wheel.h"
#include "work.h"

/* What the word of a claimed work becomes */
#define WAITS		(HWHEEL_EXPIRED | HWHEEL_QUEUED)
#define REPENDS		(HWHEEL_PENDING | HWHEEL_QUEUED)
#define RECALLED	(HWHEEL_CANCELLED | HWHEEL_QUEUED)

/* From here on the function may run, and free the work. */
static void work_expire(struct hwheel_timeout *timeout)
{
	struct hwheel_work *work = hwheel_work_of(timeout);

	queue_work(work->queue, &work->work);
}

static void work_release(struct hwheel_timeout *timeout)
{
	struct hwheel_work *work = hwheel_work_of(timeout);

	work->release(work);
}

const struct hwheel_timeout_ops hwheel_work_ops[2] = {
	{ .expire = work_expire },
	{ .expire = work_expire, .release = work_release },
};

/**
 * hwheel_work_hand_over - expire a work, and leave its function to the workqueue
 * @wheel:   of the caller, who is its worker, in a batch of callbacks
 * @timeout: of a work; popped from the slots, on no list
 * @word:    the word that it was found to be due from
 *
 * Return: false if the word is another one meanwhile, which is read into @word.
 */
bool hwheel_work_hand_over(struct hwheel *wheel, struct hwheel_timeout *timeout, s64 *word)
{
	const void *function = hwheel_work_of(timeout)->work.func;
	unsigned long flags;
	bool expired;

	local_irq_save(flags);
	hwheel_batch_next(wheel, timeout);
	hwheel_debug_unreference(timeout);
	expired = hwheel_word_hand_over(&timeout->word, word);
	if (expired) {
		hwheel_limit_end(wheel);
		trace_timeout_expire_entry(wheel, timeout, function, *word);
		work_expire(timeout);
		trace_timeout_expire_exit(wheel, timeout);
	} else {
		hwheel_debug_reference(timeout);
	}
	/* Pairs with claim(). */
	hwheel_batch_next(wheel, NULL);
	local_irq_restore(flags);
	return expired;
}

/* With interrupts off. False if the work is not handed over. Returns the word that it claimed. */
static bool claim(struct hwheel_timeout *timeout, s64 *word)
{
	do {
		*word = hwheel_work_word(timeout);
		if (!hwheel_word_is_handed(*word))
			return false;
	} while (!hwheel_word_claim(&timeout->word, word));
	/* Pairs with hwheel_work_hand_over(): on return its work item is queued. */
	while (smp_load_acquire(&timeout->wheel->running[0]) == timeout)
		cpu_relax();
	return true;
}

/* May the item be taken from the workqueue, so that the word becomes @new? Takes a place for it. */
static int may_take(const struct hwheel_timeout *timeout, u64 word, u64 new)
{
	if (new == WAITS || (new == REPENDS && word & HWHEEL_CLOSED))
		return -EBUSY;
	return new == RECALLED || hwheel_limit_reserve(timeout->wheel, 1) ? 0 : -EDQUOT;
}

/*
 * Looks at a work that may be handed over. If its function has not begun, takes it back from the
 * workqueue, so that the word becomes @new, and submits it. On a wheel that is being stopped only a
 * caller with @releases takes it back, and has to release it: nobody else would. Interrupts are off
 * from the look at HWHEEL_STOPPING to the push: a read section, see submit.c.
 *
 * Return: 1 if it took the work back, 0 if it was not handed over or its function has begun, or why
 * it may not be taken back: -EBUSY or -EDQUOT. HWHEEL_WORK_TO_RELEASE: the caller has to release
 * it.
 */
static int take_back(struct hwheel_work *work, u64 new, bool releases)
{
	struct hwheel_timeout *timeout = &work->timeout;
	struct hwheel *wheel = timeout->wheel;
	unsigned long flags;
	bool stopping;
	int taken = 0;
	s64 word;

	if (likely(!hwheel_word_is_out(atomic64_read(&timeout->word))))
		return 0;
	local_irq_save(flags);
	if (!claim(timeout, &word))
		goto out;
	stopping = READ_ONCE(wheel->special) & HWHEEL_STOPPING;
	taken = stopping && !releases ? -EBUSY : may_take(timeout, word, new);
	if (taken) {
		if (!work_pending(&work->work))
			taken = 0;
		hwheel_word_unclaim(&timeout->word, taken ? WAITS : HWHEEL_EXPIRED);
		goto out;
	}
	taken = cancel_work(&work->work);
	if (taken && new == REPENDS)
		this_cpu_inc(wheel->cpu->armed);
	else if (new == REPENDS)
		hwheel_limit_unreserve(wheel, 1);
	if (taken)
		hwheel_debug_reference(timeout);
	hwheel_word_unclaim(&timeout->word, taken ? new : HWHEEL_EXPIRED);
	if (taken && stopping)
		taken = HWHEEL_WORK_TO_RELEASE;
	else if (taken)
		hwheel_submit_return(wheel, timeout);
out:
	local_irq_restore(flags);
	return taken;
}

/* For hwheel_cancel_sync(), which has closed the timeout. Returns as take_back(), but no error. */
int hwheel_work_recall(struct hwheel_timeout *timeout)
{
	return hwheel_is_work(timeout) ? take_back(hwheel_work_of(timeout), RECALLED, true) : 0;
}

/* hwheel_work_init() is described in the header. */
void __hwheel_work_init(struct hwheel_work *work, struct hwheel *wheel,
			struct workqueue_struct *queue, work_func_t func,
			void (*release)(struct hwheel_work *work))
{
	static const struct hwheel_timeout_ops no_ops;

	work->queue = queue;
	work->release = release;
	hwheel_timeout_init(&work->timeout, wheel, &hwheel_work_ops[!!release]);
	if (WARN_ONCE(!queue || !func, "wheel %s: a work without a function or a queue, by %pS\n",
		      wheel->name, __builtin_return_address(0))) {
		work->timeout.ops = &no_ops;
		atomic64_set(&work->timeout.word, HWHEEL_IDLE | HWHEEL_CLOSED);
	}
	if (!READ_ONCE(wheel->asks))
		WRITE_ONCE(wheel->asks, true);
}
EXPORT_SYMBOL_GPL(__hwheel_work_init);

/**
 * hwheel_work_arm - make a work pending
 * @work:     idle, expired or cancelled; its function may run
 * @delay_ns: from now, in ns; 0 means the next edge
 *
 * As hwheel_arm(). If the function still runs when the work expires again, the workqueue runs it
 * again after that.
 *
 * Context: any but NMI and under scheduler locks.
 * Return: as hwheel_arm_at(); -EBUSY also from expiry until the function begins.
 */
int hwheel_work_arm(struct hwheel_work *work, u64 delay_ns)
{
	int err;

	do {
		take_back(work, WAITS, false);
		err = hwheel_arm(&work->timeout, delay_ns);
		/* It may have met a claim. */
	} while (err == -EBUSY && hwheel_word_may_arm(hwheel_work_word(&work->timeout),
						      work->release));
	return err;
}
EXPORT_SYMBOL_GPL(hwheel_work_arm);

/*
 * The result of a mod of a work, which is taken back first. It is made again if it only met a
 * claim, or a work that was handed over meanwhile.
 */
#define mod_work(work, mod)							\
({										\
	struct hwheel_work *__work = (work);					\
	int __held;								\
										\
	do {									\
		__held = take_back(__work, REPENDS, false);			\
		if (__held == -EDQUOT)						\
			break;							\
		__held = (mod);							\
	} while (__held == -EBUSY &&						\
		 !(atomic64_read(&__work->timeout.word) & HWHEEL_CLOSED));	\
	__held;									\
})

/**
 * hwheel_work_mod - arm a work, or move its deadline, whichever is needed
 * @work:     in any state
 * @delay_ns: from now, in ns; 0 means the next edge
 *
 * What mod_delayed_work() is to a delayed work: as hwheel_mod(). A work that has expired, and whose
 * function has not begun, is taken back from the workqueue: it was pending then.
 *
 * Context: any but NMI and under scheduler locks. Takes the workqueue's lock if the work has
 * expired.
 * Return: as hwheel_mod_at(); -EBUSY only during hwheel_work_cancel_sync().
 */
int hwheel_work_mod(struct hwheel_work *work, u64 delay_ns)
{
	return mod_work(work, hwheel_mod(&work->timeout, delay_ns));
}
EXPORT_SYMBOL_GPL(hwheel_work_mod);

/**
 * hwheel_work_mod_jiffies - arm a work, or move its deadline, to a time in jiffies
 * @work:    in any state; its wheel is not HWHEEL_BOOTTIME
 * @expires: as for hwheel_mod_jiffies()
 *
 * As hwheel_work_mod().
 *
 * Context: any but NMI and under scheduler locks. Takes the workqueue's lock if the work has
 * expired.
 * Return: as hwheel_mod_jiffies(); -EBUSY only during hwheel_work_cancel_sync().
 */
int hwheel_work_mod_jiffies(struct hwheel_work *work, unsigned long expires)
{
	return mod_work(work, hwheel_mod_jiffies(&work->timeout, expires));
}
EXPORT_SYMBOL_GPL(hwheel_work_mod_jiffies);

/**
 * hwheel_work_cancel - end a work before its function begins
 * @work: in any state
 *
 * As hwheel_cancel(), and takes a work that has expired back from the workqueue, unless its
 * function has begun or the wheel is being stopped. Then the release op comes from the worker.
 *
 * Context: any but NMI and under scheduler locks. Takes the workqueue's lock if the work has
 * expired.
 * Return: true if it prevented the function, false if there was nothing to prevent.
 */
bool hwheel_work_cancel(struct hwheel_work *work)
{
	struct hwheel_timeout *timeout = &work->timeout;
	int taken;

	/* Another thread may have it pending or handed over again between the two looks. */
	do {
		if (hwheel_cancel(timeout))
			return true;
		taken = take_back(work, RECALLED, false);
	} while (!taken && (hwheel_is_pending(timeout) ||
			    hwheel_word_is_out(atomic64_read(&timeout->word))));
	return taken > 0;
}
EXPORT_SYMBOL_GPL(hwheel_work_cancel);

static bool is_due_at_once(const struct hwheel_timeout *timeout)
{
	return hwheel_is_pending(timeout) && !hwheel_deadline(timeout);
}

/* For a thread on the queue of waiters: the end of the batch in which it expires wakes it. */
static bool has_expired(const struct hwheel_timeout *timeout)
{
	if (!is_due_at_once(timeout))
		return true;
	hwheel_await(timeout->wheel);
	return !is_due_at_once(timeout);
}

/**
 * hwheel_work_flush - have a work expire, and wait for its function
 * @work: in any state
 *
 * What flush_delayed_work() is to a delayed work. A pending work expires at the next edge; then
 * this waits for the last run that was begun, or was to begin, before. If others arm and move the
 * work meanwhile, it may be pending again on return.
 *
 * Context: process; may sleep. Not in the function itself, nor in a callback of the wheel, which
 * would wait for itself.
 * Return: true if it waited for the function, false if there was nothing to wait for.
 */
bool hwheel_work_flush(struct hwheel_work *work)
{
	struct hwheel_timeout *timeout = &work->timeout;
	struct hwheel *wheel = timeout->wheel;

	might_sleep();
	if (WARN_ON_ONCE(hwheel_is_owner(wheel)))
		return false;
	hwheel_callbacks_awaited(wheel);
	if (!hwheel_refresh_at(timeout, 0)) {
		hwheel_submit_kick(wheel);
		wait_event(wheel->waiters, has_expired(timeout));
	}
	/* A claim waits for a worker that is handing it over, so that the item is queued. */
	take_back(work, WAITS, false);
	return flush_work(&work->work);
}
EXPORT_SYMBOL_GPL(hwheel_work_flush);
