// SPDX-License-Identifier: GPL-2.0-only
/*
 * Submission: arm, refresh and cancel, and the per-CPU lists that carry their
 * news to the worker.
 *
 * The queues hold timeouts, not commands: the state word says what is to be done,
 * and the worker acts on the latest state it finds. A timeout is on one list
 * at most (QUEUED), so arm on one CPU and cancel on another need no order between
 * their lists, and cancelling what is still queued costs one compare-and-exchange.
 *
 * Each CPU has several lists, and the address of a timeout chooses one of them. A list in memory
 * that no cache holds costs a latency for each link. The worker takes all lists of a CPU and acts
 * on them in turns: while it acts on the first timeout of one list, those of the others arrive.
 * Together they have one state:
 *
 *	         push onto an empty list, mark
 *	empty ----------------------------------> dirty
 *	  ^                                         |  clear the mark,
 *	  |   last one popped                       v  then take each list
 *	  +-------------------------------------- taken
 *
 * While they are taken, submitters make the CPU dirty again.
 *
 * A submitter that finds a list of its CPU empty marks the CPU in wheel->dirty, and then wakes the
 * worker if that sleeps deeply. The worker visits marked CPUs only: it clears the mark, then takes
 * the lists. A list that is not empty has a mark, or the submitter that found it empty is about to
 * mark its CPU, with preemption off, or the worker, which is awake, is about to mark or to take it.
 * So a submitter that adds to such a list, perhaps in an interrupt before the mark, has nothing
 * else to do. A mark outlives its CPU: the worker visits CPUs that went offline, too.
 *
 * Each submission is one RCU-sched read section (preemption off) from the look at
 * wheel->special to the wake-up, for two reasons: others who find QUEUED set rely
 * on the add to follow at once, and hwheel_stop() waits for a grace period after
 * which no add can be under way any more. A refresh to a later deadline submits nothing.
 *
 * Models: life.pml, lists.pml, sleep.pml, halt.pml and source.pml in selftests/models/.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "callback.h"
#include "debug_objects.h"
#include "edge.h"
#include "limit.h"
#include "state.h"
#include "submit.h"
#include "trace.h"
#include "wheel.h"

/* As llist_add(), which is a function call on older kernels. Returns whether it was empty. */
static __always_inline bool push(struct llist_head *queue, struct llist_node *node)
{
	struct llist_node *first = READ_ONCE(queue->first);

	do
		node->next = first;
	while (!try_cmpxchg(&queue->first, &first, node));
	return !first;
}

/*
 * After a full barrier between the mark, or the push of a source, and the look at idle. It pairs
 * with the one of set_current_state() in worker_sleep(), between setting idle and the look at the
 * marks: either the worker sees the mark or we see idle. The task state's own barriers order the
 * wake-up, so the exchange need not; it makes one submitter wake the worker, not all.
 */
static __always_inline void wake_idle(struct hwheel *wheel)
{
	if (READ_ONCE(wheel->idle) && xchg_relaxed(&wheel->idle, 0))
		wake_up_process(wheel->worker);
}

/*
 * Hands a timeout to the worker. From the push on it may expire and be freed by its
 * callback, so it is not touched again. The push comes before the mark, which pairs with
 * take_marks(): a worker that takes the mark finds what was added.
 */
static __always_inline void submit(struct hwheel *wheel,
				   struct hwheel_cpu __percpu *cpu,
				   struct hwheel_timeout *timeout)
{
	struct llist_node *node = &timeout->queue;

	if (likely(!push(&this_cpu_ptr(cpu)->queues[hwheel_submit_queue_of(node)], node)))
		return;
	set_bit(smp_processor_id(), wheel->dirty);
	/* See wake_idle(). */
	smp_mb__after_atomic();
	wake_idle(wheel);
}

/* What a wheel without rounds has to refuse */

static bool is_too_long(const struct hwheel *wheel, u64 delay)
{
	return wheel->revolution && delay > wheel->revolution;
}

static bool is_too_far(const struct hwheel *wheel, u64 deadline)
{
	return wheel->revolution &&
	       deadline > hwheel_deadline_store(hwheel_deadline_in(wheel,
								   wheel->revolution));
}

/* The result of an operation in one read section, see the top */
#define read_section(operation)						\
({									\
	int __err;							\
									\
	rcu_read_lock_sched();						\
	__err = (operation);						\
	rcu_read_unlock_sched();					\
	__err;								\
})

/*
 * The quick forms do what nearly all calls need, and call nothing but what wakes the worker, so
 * that the compiler saves no register. Each returns -EAGAIN, and has changed nothing, where there
 * is something to trace, to refuse or to limit, or the word is an unusual one: do_set() does all.
 */

static __always_inline int quick_arm(struct hwheel_timeout *timeout, u64 deadline)
{
	struct hwheel *wheel = timeout->wheel;
	struct hwheel_cpu __percpu *cpu = wheel->cpu;
	s64 word = atomic64_read(&timeout->word);

	if (trace_timeout_arm_enabled() ||
	    unlikely(READ_ONCE(wheel->special) & HWHEEL_ARM_SPECIAL) || !hwheel_word_is_free(word))
		return -EAGAIN;
	this_cpu_inc(cpu->armed);
	if (unlikely(!hwheel_word_arm(&timeout->word, &word, deadline))) {
		this_cpu_dec(cpu->armed);
		return -EAGAIN;
	}
	hwheel_debug_reference(timeout);
	submit(wheel, cpu, timeout);
	return 0;
}

/*
 * For a timeout that is filed, and for the same deadline or a later one: it submits nothing, and
 * needs no section. It takes no deadline that has to be clamped: none that looks negative, as it is
 * or rounded up.
 */
static __always_inline int quick_refresh(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	u64 deadline = ALIGN(deadline_ns, HWHEEL_DEADLINE_UNIT);
	u64 new = hwheel_word(deadline, HWHEEL_PENDING);
	struct hwheel *wheel = timeout->wheel;
	s64 word;

	if (trace_timeout_refresh_enabled() || unlikely(wheel->revolution))
		return -EAGAIN;
	word = atomic64_read(&timeout->word);
	if (!hwheel_word_is_enqueued(word) || new < (u64)word ||
	    (s64)(deadline_ns | deadline) < 0 ||
	    !atomic64_try_cmpxchg_release(&timeout->word, &word, new))
		return -EAGAIN;
	this_cpu_inc(wheel->cpu->refreshed[false]);
	return 0;
}

enum setting { ARM, MOD, REDUCE, REFRESH };

/* Returns what a mod from this word returns, or why it is refused. */
static int admit(const struct hwheel_timeout *timeout, u64 word, u64 deadline, enum setting setting)
{
	const struct hwheel *wheel = timeout->wheel;
	int held = hwheel_word_held(word);

	if (is_too_far(wheel, deadline))
		return -ERANGE;
	if (setting == REFRESH)
		return hwheel_word_state(word) == HWHEEL_PENDING ? HWHEEL_WAS_PENDING : -ENOENT;
	if (READ_ONCE(wheel->special) & HWHEEL_STOPPING || hwheel_word_is_shut(word))
		return -ESHUTDOWN;
	if (setting == ARM && !hwheel_word_may_arm(word, timeout->ops->release))
		held = -EBUSY;
	return held < 0 && !timeout->ops->expire ? -EINVAL : held;
}

/*
 * Arms from a word that is not pending; -EAGAIN if it is another one meanwhile, now in @word, or
 * -EDQUOT. See limit.h for the latter, which another thread's arm of this timeout is no reason for.
 */
static int arm_from(struct hwheel_timeout *timeout, s64 *word, u64 deadline)
{
	struct hwheel *wheel = timeout->wheel;
	s64 old = *word;
	bool admitted, armed = false;
	unsigned long flags;

	if (!wheel->max_pending)
		return hwheel_word_arm(&timeout->word, word, deadline) ? 0 : -EAGAIN;
	local_irq_save(flags);
	admitted = hwheel_limit_begin(wheel);
	if (admitted) {
		armed = hwheel_word_arm(&timeout->word, word, deadline);
		hwheel_limit_decide(wheel, armed);
	}
	local_irq_restore(flags);
	if (admitted)
		return armed ? 0 : -EAGAIN;
	/* Pairs with hwheel_limit_decide(). */
	smp_rmb();
	*word = atomic64_read(&timeout->word);
	return *word == old ? -EDQUOT : -EAGAIN;
}

/*
 * Arms a timeout, or moves a pending one. Returns as hwheel_mod_at(), and -ENOENT for a refresh.
 * Behind the exchange the timeout is touched only if this set QUEUED, and has to add it.
 */
static int do_set(struct hwheel_timeout *timeout, u64 deadline, enum setting setting)
{
	struct hwheel *wheel = timeout->wheel;
	struct hwheel_cpu __percpu *cpu = wheel->cpu;
	s64 word = atomic64_read(&timeout->word);
	bool earlier;
	int held, err;

	do {
		held = admit(timeout, word, deadline, setting);
		earlier = deadline < hwheel_word_deadline(word);
		if (held < 0 || (held == HWHEEL_WAS_PENDING && setting == REDUCE && !earlier))
			return held;
		if (held == HWHEEL_WAS_PENDING) {
			err = hwheel_word_move(&timeout->word, &word, deadline) ? 0 : -EAGAIN;
			continue;
		}
		this_cpu_inc(cpu->armed);
		err = arm_from(timeout, &word, deadline);
		if (err)
			this_cpu_dec(cpu->armed);
	} while (err == -EAGAIN);
	if (err)
		return err;

	if (held == HWHEEL_WAS_PENDING) {
		this_cpu_inc(cpu->refreshed[earlier]);
		trace_timeout_refresh(wheel, timeout, deadline, earlier);
		if (!earlier)
			return held;
	} else {
		trace_timeout_arm(wheel, timeout, deadline);
	}
	if (word & HWHEEL_QUEUED)
		return held;
	if (held == HWHEEL_NOT_HELD)
		hwheel_debug_reference(timeout);
	submit(wheel, cpu, timeout);
	return held;
}

/* To store a deadline that is stored already changes nothing. */
static noinline int set_in_full(struct hwheel_timeout *timeout, u64 deadline_ns,
				enum setting setting)
{
	return read_section(do_set(timeout, hwheel_deadline_store(deadline_ns), setting));
}

static noinline int arm_in_full(struct hwheel_timeout *timeout, u64 deadline)
{
	return min(set_in_full(timeout, deadline, ARM), 0);
}

static __always_inline int arm_at(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	u64 deadline = hwheel_deadline_store(deadline_ns);
	int err = read_section(quick_arm(timeout, deadline));

	return unlikely(err) ? arm_in_full(timeout, deadline) : 0;
}

static noinline int mod_in_full(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	if (likely(!read_section(quick_arm(timeout, hwheel_deadline_store(deadline_ns)))))
		return HWHEEL_NOT_HELD;
	return set_in_full(timeout, deadline_ns, MOD);
}

static __always_inline int mod_at(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	if (likely(!quick_refresh(timeout, deadline_ns)))
		return HWHEEL_WAS_PENDING;
	return mod_in_full(timeout, deadline_ns);
}

static noinline int refresh_in_full(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	return min(set_in_full(timeout, deadline_ns, REFRESH), 0);
}

static __always_inline int refresh_at(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	return likely(!quick_refresh(timeout, deadline_ns)) ? 0 :
	       refresh_in_full(timeout, deadline_ns);
}

/*
 * From a pending word, @queued or not; false if it is another one meanwhile, now in @word. If the
 * timeout was queued, the worker may have released it by now, so it is not touched.
 */
static __always_inline bool cancel_from(struct hwheel *wheel,
					struct hwheel_timeout *timeout, s64 *word,
					bool queued, bool full)
{
	struct hwheel_cpu __percpu *cpu = wheel->cpu;

	if (!hwheel_word_cancel_from(&timeout->word, word, queued))
		return false;
	this_cpu_inc(cpu->cancelled[!queued]);
	hwheel_limit_end(wheel);
	if (full)
		trace_timeout_cancel(wheel, timeout, queued);
	if (!queued)
		submit(wheel, cpu, timeout);
	return true;
}

static __always_inline int do_cancel(struct hwheel_timeout *timeout, bool full)
{
	struct hwheel *wheel = timeout->wheel;
	s64 word = atomic64_read(&timeout->word);
	bool done;

	if (!full && trace_timeout_cancel_enabled())
		return -EAGAIN;
	do {
		if (hwheel_word_state(word) != HWHEEL_PENDING)
			return -ENOENT;
		/* Twice, as @queued is a constant in each. */
		if (word & HWHEEL_QUEUED)
			done = cancel_from(wheel, timeout, &word, true, full);
		else
			done = cancel_from(wheel, timeout, &word, false, full);
	} while (full && !done);

	return done ? 0 : -EAGAIN;
}

static noinline bool cancel(struct hwheel_timeout *timeout)
{
	return !read_section(do_cancel(timeout, true));
}

/* By relative times, on a wheel that is not plain */

static noinline int arm_in(struct hwheel_timeout *timeout, u64 delay_ns)
{
	if (is_too_long(timeout->wheel, delay_ns))
		return -ERANGE;
	return arm_at(timeout, hwheel_deadline_in(timeout->wheel, delay_ns));
}

static noinline int mod_in(struct hwheel_timeout *timeout, u64 delay_ns)
{
	if (is_too_long(timeout->wheel, delay_ns))
		return -ERANGE;
	return mod_at(timeout, hwheel_deadline_in(timeout->wheel, delay_ns));
}

static noinline int refresh_in(struct hwheel_timeout *timeout, u64 delay_ns)
{
	if (is_too_long(timeout->wheel, delay_ns))
		return -ERANGE;
	return refresh_at(timeout, hwheel_deadline_in(timeout->wheel, delay_ns));
}

/* By jiffies */

/* Delays up to this many need no clamping; one comparison refuses those in the past, too. */
#define QUICK_JIFFIES	((unsigned long)INT_MAX)

/* Farther away than any deadline that can be stored, in jiffies */
#define FAR_JIFFIES	(S64_MAX / TICK_NSEC)

/*
 * When jiffies reach a value. The time of the present jiffy is below 2^63 ns, unless the offset is
 * HWHEEL_OFFSET_OLD: ticks may have been lost while the worker slept. A worker that was woken
 * replaces it when it reads the clock; a caller that comes before that reads the clock, too,
 * although idle is clear.
 */
static u64 jiffies_deadline(const struct hwheel *wheel, unsigned long expires)
{
	u64 now = get_jiffies_64();
	s64 delay = (long)(expires - (unsigned long)now);
	u64 offset = atomic64_read(&wheel->jiffies_offset), begun;

	begun = offset + now * TICK_NSEC;
	if (begun & HWHEEL_OFFSET_OLD) {
		offset = hwheel_offset_raise(offset ^ HWHEEL_OFFSET_OLD,
					     ktime_get_ns() - now * TICK_NSEC);
		begun = offset + now * TICK_NSEC;
	}
	delay = clamp_t(s64, delay, -FAR_JIFFIES, FAR_JIFFIES) * TICK_NSEC;
	return delay < 0 && (u64)-delay > begun ? 0 : begun + delay;
}

static noinline int mod_jiffies_in_full(struct hwheel_timeout *timeout, unsigned long expires)
{
	if (timeout->wheel->clock != CLOCK_MONOTONIC)
		return -EINVAL;
	return mod_in_full(timeout, jiffies_deadline(timeout->wheel, expires));
}

/*
 * A delay this short adds no more than months, so a deadline has HWHEEL_OFFSET_OLD if, and only if,
 * the offset has: quick_refresh() does not take it then.
 */
static __always_inline int mod_jiffies(struct hwheel_timeout *timeout, unsigned long expires)
{
	u64 now = get_jiffies_64();
	unsigned long delay = expires - (unsigned long)now;
	u64 deadline = atomic64_read(&timeout->wheel->jiffies_offset) + (now + delay) * TICK_NSEC;

	if (unlikely(delay > QUICK_JIFFIES))
		return mod_jiffies_in_full(timeout, expires);
	if (likely(!quick_refresh(timeout, deadline)))
		return HWHEEL_WAS_PENDING;
	if (unlikely(deadline & HWHEEL_OFFSET_OLD))
		return mod_jiffies_in_full(timeout, expires);
	return mod_in_full(timeout, deadline);
}

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
 * callback. A timeout whose release op is owed can't be armed until that is called; from then
 * on it can, also by the op itself: the release is that of the earlier arm.
 * Lock-free and without a look at the clock, but for one on a wheel that is
 * HWHEEL_SIMPLE. With max_pending an arm that finds the last place in doubt waits, with
 * interrupts off, until the arm on another CPU that has taken it is decided. Of several errors
 * the one that stands first here is returned: -ERANGE, -ESHUTDOWN, -EINVAL, -EBUSY, -EDQUOT.
 *
 * Context: any but NMI and under scheduler locks (it may wake the worker).
 * Return: 0, or an error with which nothing changed: -EBUSY (it is pending, is being
 * waited for by hwheel_cancel_sync(), or is owed its release op), -EDQUOT (as many as
 * hwheel_params.max_pending are pending), -ERANGE (more than a revolution away, on a wheel that is
 * HWHEEL_SIMPLE), -ESHUTDOWN (the wheel was stopped, or the timeout was shut down; until
 * hwheel_shutdown_sync() returns it is -EBUSY), -EINVAL (it has no expire op).
 */
int hwheel_arm_at(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	return arm_at(timeout, deadline_ns);
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
	if (unlikely(!timeout->wheel->plain))
		return arm_in(timeout, delay_ns);
	return arm_at(timeout, hwheel_deadline_from(ktime_get_ns(), delay_ns));
}
EXPORT_SYMBOL_GPL(hwheel_arm);

/**
 * hwheel_mod_at - arm a timeout, or move its deadline, whichever is needed
 * @timeout:     in any state
 * @deadline_ns: as for hwheel_arm_at()
 *
 * What mod_timer() is to a timer. To a later deadline this is one atomic operation on the timeout
 * itself, as hwheel_refresh_at(); all else goes through the submission queue. A timeout that was
 * cancelled and is still held goes on being held: the release that was owed does not come.
 *
 * What the caller wrote before is seen by the callback.
 *
 * An owner that counts references has a release op. It takes a reference before the call, for the
 * wheel, and drops it again unless this returns HWHEEL_NOT_HELD, also after an error. The wheel's
 * reference is then dropped in the expire op, in the release op, or when the timeout is handed
 * back. Other threads may mod and cancel meanwhile, and the release op may be called or run.
 *
 * Lock-free and without a look at the clock, but for one on a wheel that is HWHEEL_SIMPLE.
 * With max_pending, as hwheel_arm_at().
 *
 * Context: any but NMI and under scheduler locks.
 * Return: did the wheel hold the timeout? HWHEEL_NOT_HELD (0), HWHEEL_WAS_PENDING or
 * HWHEEL_WAS_CANCELLED; or an error with which nothing changed: -ERANGE, -ESHUTDOWN, -EINVAL or
 * -EDQUOT, as hwheel_arm_at(), or -EBUSY (it is being waited for by hwheel_cancel_sync()).
 */
int hwheel_mod_at(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	return mod_at(timeout, deadline_ns);
}
EXPORT_SYMBOL_GPL(hwheel_mod_at);

/**
 * hwheel_mod - arm a timeout, or move its deadline, whichever is needed
 * @timeout:  in any state
 * @delay_ns: from now, in ns; 0 means the next edge
 *
 * As hwheel_mod_at(), and reads the clock once.
 *
 * Context: any but NMI and under scheduler locks.
 * Return: as hwheel_mod_at().
 */
int hwheel_mod(struct hwheel_timeout *timeout, u64 delay_ns)
{
	if (unlikely(!timeout->wheel->plain))
		return mod_in(timeout, delay_ns);
	return mod_at(timeout, hwheel_deadline_from(ktime_get_ns(), delay_ns));
}
EXPORT_SYMBOL_GPL(hwheel_mod);

/**
 * hwheel_mod_jiffies - arm a timeout, or move its deadline, to a time in jiffies
 * @timeout: in any state; its wheel is not HWHEEL_BOOTTIME
 * @expires: as for mod_timer(): the callback does not run before jiffies reached it. A value in the
 *           past makes the timeout fire in the worker's next pass, at the next edge at the latest.
 *           It is compared as (long)(@expires - jiffies), also where jiffies wrap.
 *
 * As hwheel_mod_at(), with the time at which jiffies will reach @expires for the deadline, or up to
 * a jiffy later. Jiffies that lag, and catch up later, do not make the timeout early; those that
 * lose ticks for good after the call do, by as many ticks. As jiffies do not count time in suspend,
 * the deadline does not either.
 *
 * It reads no clock while the worker is awake, or sleeps to the next edge: the worker measures in
 * each pass when jiffies change. The same @expires then never gives an earlier deadline, so moving
 * the timeout twice within a jiffy submits nothing; unless jiffies have caught up on a lag of a
 * jiffy or more meanwhile. While the worker sleeps beyond the next edge, and on a wheel that is
 * HWHEEL_SIMPLE, the call reads the clock once.
 *
 * Context: any but NMI and under scheduler locks.
 * Return: as hwheel_mod_at(); and -EINVAL on a wheel that is HWHEEL_BOOTTIME.
 */
int hwheel_mod_jiffies(struct hwheel_timeout *timeout, unsigned long expires)
{
	return mod_jiffies(timeout, expires);
}
EXPORT_SYMBOL_GPL(hwheel_mod_jiffies);

/**
 * hwheel_reduce_at - have a timeout expire by a deadline
 * @timeout:     in any state
 * @deadline_ns: as for hwheel_arm_at()
 *
 * What timer_reduce() is to a timer: as hwheel_mod_at(), but a pending timeout keeps a deadline
 * that is not later. Such a call changes nothing, so it orders nothing either: the callback may not
 * see what the caller wrote before.
 *
 * Context: any but NMI and under scheduler locks.
 * Return: as hwheel_mod_at(), whether the deadline was moved or not.
 */
int hwheel_reduce_at(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	return set_in_full(timeout, deadline_ns, REDUCE);
}
EXPORT_SYMBOL_GPL(hwheel_reduce_at);

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
 * -ERANGE (more than a revolution away, on a wheel that is HWHEEL_SIMPLE).
 */
int hwheel_refresh_at(struct hwheel_timeout *timeout, u64 deadline_ns)
{
	return refresh_at(timeout, deadline_ns);
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
	if (unlikely(!timeout->wheel->plain))
		return refresh_in(timeout, delay_ns);
	return refresh_at(timeout, hwheel_deadline_from(ktime_get_ns(), delay_ns));
}
EXPORT_SYMBOL_GPL(hwheel_refresh);

/**
 * hwheel_cancel - end a timeout before it expires
 * @timeout: in any state
 *
 * After true the callback does not run for this arm, and the timeout may be armed again (with a
 * release op: from the call of that on; hwheel_mod() may do so at once). It may not be freed yet:
 * the worker refers to it until its next pass, at most one tick and at most 100 ms away. The
 * release op tells when that is over, hwheel_cancel_sync() waits for it. What the caller wrote
 * before is seen by the release op. A false says nothing about whether the callback has returned.
 *
 * Context: any but NMI and under scheduler locks; also the timeout's own callback,
 * after it armed the timeout again.
 * Return: true if it prevented the callback, false if there was nothing to prevent.
 */
bool hwheel_cancel(struct hwheel_timeout *timeout)
{
	int err = read_section(do_cancel(timeout, false));
	bool prevented = true;

	if (unlikely(err))
		return err == -EAGAIN && cancel(timeout);
	/* Not the exchange's result, for which the compiler would save a register */
	OPTIMIZER_HIDE_VAR(prevented);
	return prevented;
}
EXPORT_SYMBOL_GPL(hwheel_cancel);

/* Submits a timeout that is QUEUED, and on no list. */
void hwheel_submit_return(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	rcu_read_lock_sched();
	submit(wheel, wheel->cpu, timeout);
	rcu_read_unlock_sched();
}

/*
 * Makes the worker's next pass begin at once, also if it lingers. The wake-up has a full
 * barrier between setting urgent and the look at the task's state, which pairs with
 * set_current_state() in worker_sleep(). A wheel that is being stopped drains its queues
 * anyway, and its worker may be gone.
 */
void hwheel_submit_kick(struct hwheel *wheel)
{
	rcu_read_lock_sched();
	if (!(READ_ONCE(wheel->special) & HWHEEL_STOPPING)) {
		WRITE_ONCE(wheel->urgent, 1);
		wake_up_process(wheel->worker);
	}
	rcu_read_unlock_sched();
}

/* Hands a source to the worker. Kicks are rare, so all CPUs share a list. */
void hwheel_submit_source(struct hwheel *wheel, struct llist_node *node)
{
	rcu_read_lock_sched();
	if (!(READ_ONCE(wheel->special) & HWHEEL_STOPPING)) {
		push(&wheel->source_queue, node);
		wake_idle(wheel);
	}
	rcu_read_unlock_sched();
}

/*
 * Takes the next word with marks, from the last of *@words down. The exchange is a full barrier
 * before the lists are taken: who adds after that finds an empty list, and marks it anew.
 */
static bool take_marks(struct hwheel *wheel, unsigned int *words)
{
	unsigned int left = *words;

	while (left && !READ_ONCE(wheel->dirty[left - 1]))
		left--;
	*words = left;
	if (!left)
		return false;
	*words = wheel->word = left - 1;
	wheel->marked = xchg(&wheel->dirty[wheel->word], 0);
	return true;
}

/*
 * Takes the lists of a CPU that are not empty, and returns their number. Taking acquires what was
 * stored before the push in submit().
 */
static unsigned int take_lists(struct hwheel *wheel, struct hwheel_cpu *cpu)
{
	unsigned int lists = 0, i;

	for (i = 0; i < HWHEEL_LISTS; i++) {
		if (llist_empty(&cpu->queues[i]))
			continue;
		wheel->taken[lists++] = llist_del_all(&cpu->queues[i]);
	}
	return lists;
}

/* Takes the lists of the next CPU that is marked, when the last ones are used up. */
bool hwheel_submit_take(struct hwheel *wheel, unsigned int *words)
{
	unsigned int cpu;

	while (wheel->marked || take_marks(wheel, words)) {
		cpu = wheel->word * BITS_PER_LONG + __ffs(wheel->marked);
		wheel->marked &= wheel->marked - 1;
		wheel->lists = take_lists(wheel, per_cpu_ptr(wheel->cpu, cpu));
		if (likely(wheel->lists))
			return true;
	}
	return false;
}

/* For the worker: is there nothing for another drain? */
bool hwheel_submit_empty(const struct hwheel *wheel)
{
	unsigned int words = hwheel_submit_words();

	while (words)
		if (READ_ONCE(wheel->dirty[--words]))
			return false;
	return !wheel->marked && llist_empty(&wheel->source_queue);
}
