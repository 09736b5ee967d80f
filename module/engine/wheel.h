/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_WHEEL_H
#define _HWHEEL_WHEEL_H

#include <linux/completion.h>
#include <linux/hwheel.h>
#include <linux/jiffies.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "slots.h"
#include "state.h"
#include "stats.h"

/* How deep callbacks may nest: those that cancel_sync others whose release does so */
#define HWHEEL_MAX_DEPTH	8

#define HWHEEL_CREATOR_MAX	64

/* Submission lists of a CPU, a power of two; with 1 nothing is prefetched */
#ifndef HWHEEL_LISTS
#define HWHEEL_LISTS		8
#endif

/* hwheel.special, beside HWHEEL_SIMPLE */
#define HWHEEL_STOPPING		0x100
#define HWHEEL_LIMITED		0x200

/* hwheel_params.flags, beside those of the header: the callbacks are the device's. */
#define HWHEEL_OWN		0x400
/* It is hwheel_system(). */
#define HWHEEL_SYSTEM		0x800

/* For how long a part of a pass may go on, in jiffies, so that others have their turn */
#define HWHEEL_PART_MAX		msecs_to_jiffies(10)

/* With these an arm has more to do than to arm. */
#define HWHEEL_ARM_SPECIAL	(HWHEEL_SIMPLE | HWHEEL_STOPPING | HWHEEL_LIMITED)

struct dentry;
struct hwheel_bandwidth;
struct hwheel_stop;
struct hwheel_sweep;

/**
 * struct hwheel_cpu - what a CPU needs to arm, refresh and cancel; two cache lines
 * @queues:    timeouts with news for the worker, latest first, by their addresses. Added to by
 *             this CPU, also from interrupts; each taken as a whole by the worker.
 * @armed:     timeouts armed here, ever; this and the rest are this CPU's own
 * @cancelled: those cancelled here: [0] while QUEUED, [1] while not
 * @refreshed: those refreshed here: [0] to a later deadline, [1] to an earlier one
 */
struct hwheel_cpu {
	struct llist_head	queues[HWHEEL_LISTS];
	unsigned long		armed;
	unsigned long		cancelled[2];
	unsigned long		refreshed[2];
} ____cacheline_aligned_in_smp;

/**
 * struct hwheel_source_counts - what one source, or all sources of a wheel, have counted
 * @filed:   timeouts that are in the source's slots now
 * @drained: submissions that were taken, ever
 * @expired: timeouts that expired
 * @stopped: timeouts that were ended by stopping the source
 */
struct hwheel_source_counts {
	u64	filed;
	u64	drained;
	u64	expired;
	u64	stopped;
};

/**
 * struct hwheel - a wheel
 *
 * The fields are grouped by who writes them. A group begins on a cache line of its own, unless
 * those who use it do so seldom.
 */
struct hwheel {
	/*
	 * Read by all, two lines. Constant once the wheel is created, but for @special, which stop
	 * changes, @asks and @jiffies_offset.
	 */
	struct_group(setup,

	/** @epoch: Edge 0, in ns on @clock; a multiple of @tick. */
	u64			epoch;
	/** @tick: Nanoseconds between two edges; a multiple of 8. */
	u64			tick;
	/** @revolution: 0, or ns from now beyond which no deadline is accepted. */
	u64			revolution;
	/** @move_ns: For how long a pass may move timeouts to lower levels. */
	u64			move_ns;
	/** @max_pending: 0 or the limit of @pending. */
	u64			max_pending;
	/** @clock: CLOCK_MONOTONIC or CLOCK_BOOTTIME. */
	clockid_t		clock;
	/**
	 * @special: Flags for calls: HWHEEL_SIMPLE refuses deadlines beyond a
	 * revolution, HWHEEL_LIMITED that there is a @max_pending, HWHEEL_STOPPING refuses all
	 * arms; the latter is set by stop.
	 */
	unsigned int		special;
	/** @plain: Relative times are just added to CLOCK_MONOTONIC: nothing is refused. */
	bool			plain;
	/** @asks: There was a timeout with a due op, or a work; set by anyone. */
	bool			asks;
	/** @own: HWHEEL_OWN. */
	bool			own;
	/** @system: HWHEEL_SYSTEM: nobody may stop it, until hwheel is unloaded. */
	bool			system;
	/** @cpu: Submission queues and counters. */
	struct hwheel_cpu __percpu *cpu;
	/** @worker: Its thread; referenced until the last submitter is through. */
	struct task_struct	*worker;
	/**
	 * @jiffies_offset: @offset, or with HWHEEL_OFFSET_OLD if callers have to read the
	 * clock: from when the worker goes to sleep deeply until its next pass, and always
	 * unless @clock is CLOCK_MONOTONIC. Set by the owner.
	 */
	atomic64_t		jiffies_offset;
	);

	/* Written by all: a line for wheels with a limit */

	/** @pending: Places of the limit that are taken, if @max_pending; see limit.h. */
	atomic64_t		pending ____cacheline_aligned_in_smp;

	/* Of threads that kick, and of threads that wait: a line, and what more the locks take */
	struct_group(waiting,

	/** @urgent: Somebody waits for the next pass; set by anyone, cleared by the worker. */
	unsigned int		urgent ____cacheline_aligned_in_smp;
	/** @source_queue: Sources that were kicked; added to by anyone, taken by the worker. */
	struct llist_head	source_queue;
	/**
	 * @awaited: A thread waits for a callback that is under way; set by such threads, cleared
	 * by the owner when a callback has ended.
	 */
	unsigned int		awaited;
	/** @waiters: The threads that wait in hwheel_cancel_sync(). */
	wait_queue_head_t	waiters;
	/** @closers_lock: Protects @closers and the opening of timeouts. */
	spinlock_t		closers_lock;
	/** @closers: Those who are in hwheel_cancel_sync(), by timeout. */
	struct rb_root		closers;
	);

	/*
	 * The owner's; but @edge_zero to @edge_shift and @lateness_scale are constant, and threads
	 * that wait read @running. A drain uses the first lines, an expiry those from @now on.
	 */
	struct_group(owned,

	/**
	 * @owner: The thread that alone may write what follows: the worker, then the thread that
	 * stops the wheel, then nobody.
	 */
	struct task_struct	*owner ____cacheline_aligned_in_smp;
	/**
	 * @edge_zero: The first deadline that is due at edge 0 and not before, in their units;
	 * may be below 0.
	 */
	u64			edge_zero;
	/** @edge_inverse: 1 over the tick, see hwheel_edge_init(). */
	u64			edge_inverse;
	/** @edge_shift: Its scale. */
	unsigned int		edge_shift;
	/** @slots: Where timeouts wait. */
	struct hwheel_slots	slots;
	/** @taken: Rests of the lists taken from a CPU's queues, none empty. */
	struct llist_node	*taken[HWHEEL_LISTS];
	/** @lists: Number of lists in @taken. */
	unsigned int		lists;
	/** @marked: Marks taken with them, of CPUs whose queues are not taken yet. */
	unsigned long		marked;
	/** @word: Which word of @dirty that was. */
	unsigned int		word;
	/** @words: How many words of @dirty the drain under way has not taken yet. */
	unsigned int		words;
	/** @first: First edge that the drain under way may enqueue for. */
	u64			first;
	/** @reached: Edge that the pass under way expires up to. */
	u64			reached;
	/** @due: Time of @reached. */
	u64			due;
	/** @due_word: @due as no less than the state word of what is due then. */
	u64			due_word;
	/** @kicked: Somebody has kicked it, and nothing was drained since. */
	bool			kicked;
	/**
	 * @more_comes: Something was submitted before the end of lingering the last time, after
	 * passes that only drained [0], and after passes that looked at a due slot [1].
	 */
	bool			more_comes[2];
	/** @expects: The entry of @more_comes for the present sleep, or NULL. */
	bool			*expects;
	/** @lingers: The present sleep is not deep. */
	bool			lingers;
	/** @linger_end: End of lingering, in ns, also in deep sleep. */
	u64			linger_end;
	/** @planned: Edge for which the next pass is to begin, or HWHEEL_NO_EDGE. */
	u64			planned;
	/** @now: The clock as last read. */
	u64			now;
	/** @now_word: @now as no less than the state word of what is due now. */
	u64			now_word;
	/** @jiffies: Jiffies just before @now was read. */
	unsigned long		jiffies;
	/** @offset: When jiffies would have been 0, in ns on CLOCK_MONOTONIC; see edge.h. */
	u64			offset;
	/** @preempted: How often the owner had been preempted before @now was read. */
	unsigned long		preempted;
	/** @lateness_scale: Constant, see stats.h. */
	u64			lateness_scale;
	/**
	 * @running: Timeouts whose callbacks are under way, outermost first; read by those who
	 * wait.
	 */
	struct hwheel_timeout	*running[HWHEEL_MAX_DEPTH];
	/** @depth: How many of them there are. */
	unsigned int		depth;
	/** @pass_work: Work to be done at the end of the pass. */
	struct list_head	pass_work;
	/** @sources: Those that are active, in turn. */
	struct list_head	sources;
	/** @bandwidth: CPU time that the worker shares with others, or NULL; set once. */
	struct hwheel_bandwidth	*bandwidth;
	/** @ran: CPU time of the worker up to which it has paid, in ns. */
	u64			ran;
	/** @place: Time that it has paid for and not run yet, in ns. */
	u64			place;
	/** @stop: The stop under way. */
	struct hwheel_stop	*stop;
	/** @sweep: The sweep under way, or NULL. */
	struct hwheel_sweep	*sweep;
	);

	/* Counted by the owner, read by anyone; the last two with atomic operations */
	struct_group(statistics,

	/** @counts: The wheel's counters. */
	struct hwheel_counts	counts;
	/** @sourced: The counts of all sources; read by anyone. */
	struct hwheel_source_counts	sourced;
	/** @overlong: Callbacks that held the worker for too long. */
	atomic_long_t		overlong;
	/** @contained: Callbacks that did not leave the CPU as they found it. */
	atomic_long_t		contained;
	);

	/* Of those who stop the wheel, and of admin/ */
	struct_group(admin,

	/** @stopping: The first stop has begun. */
	atomic_t		stopping;
	/** @stopped: The first stop is through: the worker is gone and nothing is pending. */
	struct completion	stopped;
	/**
	 * @users: References: of the creator, and of the code that stops what a module left
	 * behind.
	 */
	refcount_t		users;
	/** @registered: Link in the registry, under its lock. */
	struct list_head	registered;
	/**
	 * @module: The module that created it, until that is unloaded; under the registry's
	 * lock.
	 */
	struct module		*module;
	/** @creator: The function that created it; constant, as are @name and @id. */
	char			creator[HWHEEL_CREATOR_MAX];
	/** @name: As messages and debugfs show it. */
	char			name[HWHEEL_NAME_MAX];
	/** @id: Unique among all wheels since hwheel was loaded. */
	unsigned int		id;
	/** @file: Its file in debugfs. */
	struct dentry		*file;
	/** @add_file: Adds @file, if @own. */
	struct work_struct	add_file;
	);

#ifdef CONFIG_LOCKDEP
	/**
	 * @callbacks: Held by callbacks and taken by a thread that waits for them, so that lockdep
	 * finds those who wait with a lock that callbacks take.
	 */
	struct lockdep_map	callbacks;
	/** @key: Class of @callbacks. */
	struct lock_class_key	key;
#endif

	/* Of submitters that found their CPU's queue empty; side by side, as they use both */

	/**
	 * @idle: The worker sleeps, or is about to, beyond the next edge, so that submitters have
	 * to wake it; set by the worker, cleared by the worker or by the submitter that wakes it.
	 */
	unsigned int		idle ____cacheline_aligned_in_smp;
	/**
	 * @dirty: A bit per CPU: one of its queues is not empty; set by a submitter on that CPU
	 * after it added to an empty queue, taken by the worker before it takes the queues.
	 */
	unsigned long		dirty[];
};

static inline bool hwheel_is_long(unsigned long since)
{
	return time_after(jiffies, since + HWHEEL_PART_MAX);
}

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
	if (wheel->revolution)
		return HWHEEL_IS_SIMPLE;
	return wheel->slots.levels > 1 ? HWHEEL_IS_HIERARCHICAL :
					 HWHEEL_IS_HASHED;
}

/**
 * struct hwheel_observer - keeps a list of the wheels that there are
 *
 * Both may sleep.
 */
struct hwheel_observer {
	/** @created: Called in hwheel_create() of @owner, in its function @creator. */
	void	(*created)(struct hwheel *wheel, struct module *owner,
			   const char *creator);
	/**
	 * @retired: The wheel is stopped and is not to be seen any more. Called again for a
	 * wheel that was retired before it is destroyed.
	 */
	void	(*retired)(struct hwheel *wheel);
};

int hwheel_params_complete(struct hwheel_params *params);
u64 hwheel_wheel_bytes(void);
void hwheel_observe(const struct hwheel_observer *observer);
void hwheel_show(struct hwheel *wheel, struct module *owner, const char *creator);
void hwheel_retire(struct hwheel *wheel);

u64 hwheel_timeout_end(struct hwheel_timeout *timeout, u64 queued);
void hwheel_drain_here(struct hwheel *wheel);
void hwheel_put(struct hwheel *wheel);

#endif /* _HWHEEL_WHEEL_H */
