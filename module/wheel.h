/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_WHEEL_H
#define _HWHEEL_WHEEL_H

#include <linux/bitops.h>
#include <linux/hwheel.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>

#include "fraction.h"
#include "slots.h"
#include "stats.h"
#include "timeout.h"

/* How deep callbacks may nest: those that cancel_sync others whose release does so */
#define HWHEEL_MAX_DEPTH	8

#define HWHEEL_CREATOR_MAX	64

/* hwheel.special, beside HWHEEL_SIMPLE */
#define HWHEEL_STOPPING		0x100
#define HWHEEL_LIMITED		0x200

/* With these an arm has more to do than to arm. */
#define HWHEEL_ARM_SPECIAL	(HWHEEL_SIMPLE | HWHEEL_STOPPING | HWHEEL_LIMITED)

struct dentry;
struct hwheel_executor;
struct hwheel_stop;

/**
 * struct hwheel_cpu - what a CPU needs to arm, refresh and cancel; one cache line
 * @queue:     timeouts with news for the worker, latest first. Added to by this CPU,
 *             also from interrupts; taken as a whole by the worker.
 * @armed:     timeouts armed here, ever; this and the rest are this CPU's own
 * @cancelled: those cancelled here: [0] while QUEUED, [1] while not
 * @refreshed: those refreshed here: [0] to a later deadline, [1] to an earlier one
 */
struct hwheel_cpu {
	struct llist_head	queue;
	unsigned long		armed;
	unsigned long		cancelled[2];
	unsigned long		refreshed[2];
} ____cacheline_aligned_in_smp;

/**
 * struct hwheel - a wheel
 * @epoch:       edge 0, in ns on @clock; a multiple of 8
 * @tick:        ns between two edges; a multiple of 8
 * @turn:        0, or ns from now beyond which no deadline is accepted
 * @max_pending: 0 or the limit of @pending
 * @clock:       CLOCK_MONOTONIC or CLOCK_BOOTTIME
 * @special:     what calls have to look at: HWHEEL_SIMPLE refuses deadlines beyond a turn,
 *               HWHEEL_LIMITED that there is a @max_pending, HWHEEL_STOPPING refuses all
 *               arms; the latter is set by stop, under @stop_lock
 * @plain:       relative times are just added to CLOCK_MONOTONIC: nothing is refused
 * @asks:        there was a timeout whose owner is asked when it is due; set by anyone
 * @cpu:         submission queues and counters
 * @executor:    where callbacks run, or NULL: on the worker
 * @worker:      its thread; referenced until the last submitter is through
 * @pending:     timeouts pending, if @max_pending; changed by everybody
 * @deep:        the worker sleeps, or is about to, beyond the next edge, so that
 *               submitters have to wake it; set by the worker, cleared by the
 *               worker or by the submitter that wakes it
 * @urgent:      somebody waits for the next pass; set by anyone, cleared by the worker
 * @waiters:     those who wait in hwheel_cancel_sync()
 * @closers_lock: protects @closers and the opening of timeouts
 * @closers:     who is in hwheel_cancel_sync(), and with which timeout
 * @owner:       the thread that alone may write what follows: the worker, then who
 *               stops the wheel, then nobody
 * @edge_zero:   the first deadline that is due at edge 0 and not before, in their units;
 *               may be below 0
 * @edge_inverse: 1 over the tick, see hwheel_set_edges()
 * @edge_shift:  its scale
 * @slots:       where timeouts wait
 * @batch:       what remains of a list that was taken from a queue
 * @batch_cpu:   which queue that was
 * @reached:     edge that the pass under way goes up to
 * @due:         time of that edge
 * @due_word:    and as no less than the state word of what is due then
 * @expiring:    it looks at what is due
 * @planned:     edge for which the next pass is to begin, or HWHEEL_NO_EDGE
 * @now:         the clock as last read
 * @now_word:    and as no less than the state word of what is due now
 * @jiffies:     jiffies before that
 * @lateness_scale: constant, see stats.h
 * @counts:      what was counted
 * @running:     timeouts whose callbacks are under way, outermost first; read by
 *               those who wait
 * @depth:       how many
 * @stop:        the stop under way
 * @stop_lock:   held while stopping; protects @stopped
 * @stopped:     the worker is gone and nothing is pending
 * @overlong:    callbacks that held the worker for too long
 * @contained:   callbacks that did not leave the CPU as they found it
 * @recalled:    timeouts taken back from the executor
 * @users:       who created it, and who looks after what a module left behind
 * @registered:  in the registry, under its lock
 * @module:      who created it, until that was unloaded; under the registry's lock
 * @creator:     the function that did
 * @name:        in messages and debugfs
 * @id:          unique among all wheels since hwheel was loaded
 * @file:        in debugfs
 * @callbacks:   held by callbacks and taken by who waits for them, so that lockdep
 *               finds those who wait with a lock that callbacks take
 * @key:         of @callbacks
 *
 * Up to @worker, @edge_zero to @edge_shift, and from @creator on all is constant once the
 * wheel is created, but for @special and @asks.
 */
struct hwheel {
	u64			epoch;
	u64			tick;
	u64			turn;
	u64			max_pending;
	clockid_t		clock;
	unsigned int		special;
	bool			plain;
	bool			asks;
	struct hwheel_cpu __percpu *cpu;
	struct hwheel_executor	*executor;
	struct task_struct	*worker;

	atomic64_t		pending ____cacheline_aligned_in_smp;

	unsigned int		deep ____cacheline_aligned_in_smp;
	unsigned int		urgent;
	wait_queue_head_t	waiters;
	/* protects closers and the opening of timeouts */
	spinlock_t		closers_lock;
	struct list_head	closers;

	struct task_struct	*owner ____cacheline_aligned_in_smp;
	u64			edge_zero;
	u64			edge_inverse;
	unsigned int		edge_shift;
	struct hwheel_slots	slots;
	struct llist_node	*batch;
	unsigned int		batch_cpu;
	u64			reached;
	u64			due;
	u64			due_word;
	bool			expiring;
	u64			planned;
	u64			now;
	u64			now_word;
	unsigned long		jiffies;
	u64			lateness_scale;
	struct hwheel_timeout	*running[HWHEEL_MAX_DEPTH];
	unsigned int		depth;
	struct hwheel_stop	*stop;
	struct hwheel_counts	counts;

	/* held while stopping; protects stopped */
	struct mutex		stop_lock;
	bool			stopped;
	atomic_long_t		overlong;
	atomic_long_t		contained;
	atomic_long_t		recalled;

	refcount_t		users;
	struct list_head	registered;
	struct module		*module;
	char			creator[HWHEEL_CREATOR_MAX];
	char			name[HWHEEL_NAME_MAX];
	unsigned int		id;
	struct dentry		*file;
#ifdef CONFIG_LOCKDEP
	struct lockdep_map	callbacks;
	struct lock_class_key	key;
#endif
};

/* For what only the owner may do: nobody else can be the current task. */
static inline bool hwheel_is_owner(const struct hwheel *wheel)
{
	return READ_ONCE(wheel->owner) == current;
}

static inline void hwheel_assert_owner(const struct hwheel *wheel)
{
	lockdep_assert(hwheel_is_owner(wheel));
}

enum hwheel_kind {
	HWHEEL_IS_SIMPLE, HWHEEL_IS_HASHED, HWHEEL_IS_HIERARCHICAL,
};

static inline enum hwheel_kind hwheel_kind(const struct hwheel *wheel)
{
	if (wheel->turn)
		return HWHEEL_IS_SIMPLE;
	return wheel->slots.levels > 1 ? HWHEEL_IS_HIERARCHICAL :
					 HWHEEL_IS_HASHED;
}

static inline u64 hwheel_now(const struct hwheel *wheel)
{
	if (unlikely(wheel->clock == CLOCK_BOOTTIME))
		return ktime_get_boottime_ns();
	return ktime_get_ns();
}

static inline u64 hwheel_deadline_from(u64 now, u64 delay_ns)
{
	u64 deadline;

	return check_add_overflow(now, delay_ns, &deadline) ? U64_MAX : deadline;
}

/* A time this far from now */
static inline u64 hwheel_deadline_in(const struct hwheel *wheel, u64 delay_ns)
{
	return hwheel_deadline_from(hwheel_now(wheel), delay_ns);
}

/*
 * Dividing by the tick is dear, so it is done by multiplying. All is in units of deadlines
 * here: less than 2^61 of them from @edge_zero, ticks of less than 2^l. The inverse is less
 * than 1 too much, as a fraction of 2^(63 + l), so the product is less than 2^61 x 2^l: not
 * enough to reach the next whole number. This is the division by invariant integers of
 * T. Granlund and P. L. Montgomery, 1994.
 */
static inline void hwheel_set_edges(struct hwheel *wheel, u64 epoch, u64 tick)
{
	u64 units = tick / HWHEEL_DEADLINE_UNIT;
	unsigned int bits = fls64(units - 1);

	wheel->epoch = epoch;
	wheel->tick = tick;
	wheel->edge_zero = epoch / HWHEEL_DEADLINE_UNIT - (units - 1);
	wheel->edge_inverse = hwheel_fraction(BIT_ULL(bits), units) + 1;
	wheel->edge_shift = bits - 1;
}

/* The last edge that is not after a time, which is not before the epoch */
static inline u64 hwheel_edge_reached(const struct hwheel *wheel, u64 ns)
{
	return div64_u64(ns - wheel->epoch, wheel->tick);
}

/* The first edge that is not before a deadline, as it is stored */
static inline u64 hwheel_edge_due(const struct hwheel *wheel, u64 deadline)
{
	s64 since = deadline / HWHEEL_DEADLINE_UNIT - wheel->edge_zero;

	if (unlikely(since < 0))
		return 0;
	return mul_u64_u64_shr(since, wheel->edge_inverse, 64) >>
	       wheel->edge_shift;
}

/* Edges of deadlines that mean never may lie just beyond what a clock can show */
static inline u64 hwheel_edge_time(const struct hwheel *wheel, u64 edge)
{
	return min_t(u64, wheel->epoch + edge * wheel->tick, KTIME_MAX);
}

/* Counted before others can see the timeout pending. */
static inline bool hwheel_pending_begin(struct hwheel *wheel)
{
	if (wheel->max_pending &&
	    !atomic64_add_unless(&wheel->pending, 1, wheel->max_pending))
		return false;
	this_cpu_inc(wheel->cpu->armed);
	return true;
}

/* Whoever ends a timeout counts how; the exact count is kept only for the limit. */
static inline void hwheel_pending_end(struct hwheel *wheel)
{
	if (wheel->max_pending)
		atomic64_dec(&wheel->pending);
}

/* It could not be armed after all. */
static inline void hwheel_pending_undo(struct hwheel *wheel)
{
	this_cpu_dec(wheel->cpu->armed);
	hwheel_pending_end(wheel);
}

void hwheel_drain_here(struct hwheel *wheel);
void hwheel_put(struct hwheel *wheel);

#endif /* _HWHEEL_WHEEL_H */
