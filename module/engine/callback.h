/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which callbacks are under way, for those who wait until a timeout may be freed.
 *
 * A timeout is entered as running before the transition after which nothing else
 * would show that the wheel still refers to it: from pending to expired, or QUEUED
 * to not QUEUED if a release op follows. Those transitions are fully ordered, so a
 * thread that reads the word after it (acquire) and then looks here finds the timeout until
 * its callback has returned. Entering and leaving are releases, the look is an acquire: a
 * thread that does not find it any more sees what the callback wrote.
 *
 * A callback that calls hwheel_cancel_sync() drains the queues itself, which runs
 * release ops inside it: hence a stack. All is written by the owner of the slots.
 *
 * Models: life.pml, timeout.pml and sleep.pml in selftests/models/.
 */
#ifndef _HWHEEL_CALLBACK_H
#define _HWHEEL_CALLBACK_H

#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "edge.h"
#include "wheel.h"

typedef void hwheel_callback_t(struct hwheel_timeout *timeout);

void hwheel_callback_contain(struct hwheel *wheel, hwheel_callback_t *callback);
void hwheel_callback_took(struct hwheel *wheel, hwheel_callback_t *callback);

static inline void hwheel_callback_begin(struct hwheel *wheel,
					 struct hwheel_timeout *timeout)
{
	lock_map_acquire_read(&wheel->callbacks);
	/* Pairs with hwheel_callback_running(). */
	smp_store_release(&wheel->running[wheel->depth++], timeout);
}

/*
 * The threads in hwheel_cancel_sync() wait for a drain, until their timeout is not QUEUED, and then
 * for its callback. The expire callbacks of other timeouts do not wake them.
 *
 * Wakes them behind a drain. The barrier in wq_has_sleeper() is between what was settled and the
 * look for waiters; it pairs with the one of prepare_to_wait() in wait_event(), between queueing
 * and looking at what is waited for.
 */
static inline void hwheel_wake_waiters(struct hwheel *wheel)
{
	if (wq_has_sleeper(&wheel->waiters))
		wake_up_all(&wheel->waiters);
}

/*
 * Wakes them when a callback has ended that one of them waits for. A thread that finds its
 * timeout's callback under way sets @awaited, and then looks once more. A full barrier between the
 * end of the callback and the look at @awaited pairs with the one in hwheel_await().
 * @awaited is cleared before the wake-up, which takes the lock of the queue: a thread that sets it
 * before it is cleared is on the queue by then.
 */
static __always_inline void hwheel_wake_awaiting(struct hwheel *wheel)
{
	if (unlikely(READ_ONCE(wheel->awaited))) {
		WRITE_ONCE(wheel->awaited, 0);
		wake_up_all(&wheel->waiters);
	}
}

static inline void hwheel_callback_end(struct hwheel *wheel)
{
	/* Pairs with hwheel_callback_running(). */
	smp_store_release(&wheel->running[--wheel->depth], NULL);
	lock_map_release(&wheel->callbacks);
	/* See hwheel_wake_awaiting(). */
	smp_mb();
	hwheel_wake_awaiting(wheel);
}

/*
 * A batch of callbacks, also of due ops, each of which is entered in place of the one before it. So
 * an entry may outlast its callback, while timeouts are moved or handed over, up to the end of the
 * batch, which must not be far. Threads that wait for a callback are woken when the next one's
 * word was exchanged, or at the end: the exchange is the full barrier between entering that
 * one and the look at @awaited.
 */
static inline void hwheel_batch_begin(struct hwheel *wheel)
{
	lock_map_acquire_read(&wheel->callbacks);
	wheel->depth = 1;
}

static __always_inline void hwheel_batch_next(struct hwheel *wheel,
					      struct hwheel_timeout *timeout)
{
	/* Pairs with hwheel_callback_running(). */
	smp_store_release(&wheel->running[0], timeout);
}

static __always_inline void hwheel_batch_exchanged(struct hwheel *wheel)
{
	if (IS_ENABLED(CONFIG_GENERIC_ATOMIC64)) {
		/* The exchange takes a lock there, and need not be a barrier. */
		smp_mb();
	}
	/* The barrier was the exchange, see above. */
	hwheel_wake_awaiting(wheel);
}

static inline void hwheel_batch_end(struct hwheel *wheel)
{
	wheel->depth = 0;
	/* Pairs with hwheel_callback_running(). */
	smp_store_release(&wheel->running[0], NULL);
	lock_map_release(&wheel->callbacks);
	/* See hwheel_wake_awaiting(). */
	smp_mb();
	hwheel_wake_awaiting(wheel);
}

/* Tells lockdep that the caller may wait for callbacks. */
static inline void hwheel_callbacks_awaited(struct hwheel *wheel)
{
	lock_map_acquire(&wheel->callbacks);
	lock_map_release(&wheel->callbacks);
}

static inline bool hwheel_callback_running(const struct hwheel *wheel,
					   const struct hwheel_timeout *timeout)
{
	unsigned int i;

	for (i = 0; i < HWHEEL_MAX_DEPTH; i++) {
		/* Pairs with hwheel_callback_begin() and hwheel_callback_end(). */
		if (smp_load_acquire(&wheel->running[i]) == timeout)
			return true;
	}
	return false;
}

/* For a thread on the queue of waiters, before it looks once more at what it waits for. */
static inline void hwheel_await(struct hwheel *wheel)
{
	WRITE_ONCE(wheel->awaited, 1);
	/* See hwheel_wake_awaiting(). */
	smp_mb();
}

/*
 * As hwheel_callback_running(), for a thread on the queue of waiters: if this returns true, the end
 * of the callback wakes it.
 */
static inline bool hwheel_callback_await(struct hwheel *wheel,
					 const struct hwheel_timeout *timeout)
{
	if (!hwheel_callback_running(wheel, timeout))
		return false;
	hwheel_await(wheel);
	return hwheel_callback_running(wheel, timeout);
}

/* Called by the worker, or the thread that stops a wheel, with preemption on. */
static __always_inline void hwheel_callback_call(struct hwheel *wheel,
						 hwheel_callback_t *callback,
						 struct hwheel_timeout *timeout)
{
	callback(timeout);
	if (unlikely(preempt_count()))
		hwheel_callback_contain(wheel, callback);
}

static inline void hwheel_clock_read(struct hwheel *wheel)
{
	/* The scheduler counts in it whenever it preempts us. */
	wheel->preempted = READ_ONCE(current->nivcsw);
	wheel->jiffies = jiffies;
	wheel->now = hwheel_now(wheel);
	wheel->now_word = hwheel_word(wheel->now, HWHEEL_FLAGS_MASK);
}

static inline bool hwheel_clock_is_old(const struct hwheel *wheel)
{
	unsigned long now = jiffies;

	return unlikely(now != wheel->jiffies);
}

/* Reading the clock is dear, so it is right to a jiffy. */
static inline void hwheel_clock_follow(struct hwheel *wheel)
{
	if (hwheel_clock_is_old(wheel))
		hwheel_clock_read(wheel);
}

/*
 * As hwheel_callback_call(), on the worker, which others wait for. As long as jiffies
 * stand still the callback took less than one. Returns whether they do.
 */
static inline bool hwheel_callback_call_timed(struct hwheel *wheel,
					      hwheel_callback_t *callback,
					      struct hwheel_timeout *timeout)
{
	hwheel_callback_call(wheel, callback, timeout);
	if (!hwheel_clock_is_old(wheel))
		return true;
	hwheel_callback_took(wheel, callback);
	return false;
}

#endif /* _HWHEEL_CALLBACK_H */
