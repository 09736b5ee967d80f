/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * DOC: hwheel
 *
 * A hashed wheel timer for very many, mostly cancelled, mostly short timeouts.
 * All times are nanoseconds, but for that of hwheel_mod_jiffies().
 *
 * A wheel has a tick. A timeout fires on the first edge (multiple of the tick)
 * that is not before its deadline: never early, and late by less than one tick
 * plus the wake-up latency of the wheel's worker.
 * No order is promised among timeouts that expire at one edge.
 *
 * The caller embeds struct hwheel_timeout in its own object; nothing is
 * allocated per timeout. arm, refresh, cancel and the queries may be called from
 * any context but NMI and callers that hold scheduler locks; they neither sleep
 * nor take a lock, but for that of a work's queue, and that of atomic64_t on 32-bit
 * machines that have none.
 * hwheel_cancel_sync() sleeps, until the object may be freed.
 * Every arm has exactly one outcome: the expire callback ran, one of the cancels
 * said that it prevented that, or hwheel_stop() handed the timeout back.
 *
 * What stands for the calls of timer_list and delayed_work:
 *
 *	timer_setup()			hwheel_timeout_init()
 *	add_timer()			hwheel_arm(), hwheel_arm_at()
 *	mod_timer()			hwheel_mod_jiffies(), hwheel_mod(), hwheel_mod_at()
 *	mod_timer_pending()		hwheel_refresh(), hwheel_refresh_at()
 *	timer_reduce()			hwheel_reduce_at()
 *	timer_pending()			hwheel_is_pending()
 *	timer_delete()			hwheel_cancel(), and a release op
 *	timer_delete_sync()		hwheel_cancel_sync()
 *	timer_shutdown_sync()		hwheel_shutdown_sync()
 *	INIT_DELAYED_WORK()		hwheel_work_init()
 *	queue_delayed_work()		hwheel_work_arm()
 *	mod_delayed_work()		hwheel_work_mod(), hwheel_work_mod_jiffies()
 *	cancel_delayed_work()		hwheel_work_cancel()
 *	cancel_delayed_work_sync()	hwheel_work_cancel_sync()
 *	flush_delayed_work()		hwheel_work_flush()
 *
 * hwheel_mod(), and "if (timer_delete()) put()", for owners that count references:
 *
 *	static void session_drop(struct hwheel_timeout *timeout)
 *	{
 *		session_put(container_of(timeout, struct session, retry));
 *	}
 *
 *	static const struct hwheel_timeout_ops session_ops = {
 *		.expire = session_drop, .release = session_drop,
 *	};
 *
 *	static void session_retry(struct session *session, u64 delay_ns)
 *	{
 *		refcount_inc(&session->refs);
 *		if (hwheel_mod(&session->retry, delay_ns) != HWHEEL_NOT_HELD)
 *			session_put(session);
 *	}
 *
 *	static void session_stop(struct session *session)
 *	{
 *		hwheel_cancel(&session->retry);
 *	}
 */
#ifndef _LINUX_HWHEEL_H
#define _LINUX_HWHEEL_H

#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/time.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct cpumask;
struct hwheel;
struct hwheel_timeout;

#define HWHEEL_DEFAULT_TICK_NS	(100ULL * NSEC_PER_MSEC)
#define HWHEEL_MIN_TICK_NS	(50 * NSEC_PER_USEC)
#define HWHEEL_DEFAULT_SLOTS	512
#define HWHEEL_MAX_SLOTS	1048576
#define HWHEEL_MAX_LEVELS	8
#define HWHEEL_NAME_MAX		32

/* hwheel_params.flags */
#define HWHEEL_SIMPLE		0x1
#define HWHEEL_ACCOUNT		0x2
#define HWHEEL_BOOTTIME		0x4

/**
 * struct hwheel_params - what hwheel_create() needs to know; zero means default
 * @name:        of the worker thread, which shows as "hwheel/<name>", and of the wheel
 *               in messages and debugfs; copied, up to HWHEEL_NAME_MAX - 1 characters.
 *               Default: "wheel".
 * @tick_ns:     time between two edges in ns, rounded up to a multiple of 8;
 *               raised to HWHEEL_MIN_TICK_NS with a warning. Default: 100 ms.
 * @slots:       slots of each level, rounded up to a power of two, at most
 *               HWHEEL_MAX_SLOTS. More slots cost memory (3 pointers and 9 bytes), fewer
 *               make timeouts share one, which costs a look at each of them
 *               when one is due. Default: 512.
 * @levels:      1 to HWHEEL_MAX_LEVELS. On one level, a timeout that is more than a revolution
 *               (@slots x @tick_ns) away waits in its slot for as many rounds: the
 *               hashed wheel. A slot of each further level spans half a revolution of the
 *               level below, to which its timeouts move down: the hierarchical wheel, for
 *               many far deadlines. A full slot is moved in parts, before it is due, so
 *               both expire to the tick, as long as a slot has no more timeouts than the
 *               worker can move in half of the time that the slot spans. Levels that no
 *               deadline can reach are left out, and all but one if each has fewer than
 *               four slots. Default: 1.
 * @turn_ns:     the longest usual delay in ns, in place of @slots and @levels, which must be 0
 *               then (-EINVAL). The wheel gets as many slots as @turn_ns has ticks, rounded
 *               up to a power of two. If these are more than 16,384, it gets as many levels of
 *               4,096 slots as it takes to reach @turn_ns. With HWHEEL_SIMPLE it has one level,
 *               of up to HWHEEL_MAX_SLOTS (-EINVAL). Default: @slots and @levels count.
 * @flags:       HWHEEL_SIMPLE, for one level and no rounds: deadlines more than a revolution
 *               away are refused (-ERANGE). HWHEEL_ACCOUNT charges the wheel's memory to
 *               the caller's memory cgroup; if that is at its limit create fails, and
 *               nobody is killed. HWHEEL_BOOTTIME: all times are of CLOCK_BOOTTIME, which
 *               counts time in suspend, and not of CLOCK_MONOTONIC. There is no field for
 *               a clock, as CLOCK_REALTIME, whose number is 0, would pass for its default:
 *               no wheel runs on a clock that can be set. Default: none of them.
 * @max_pending: how many timeouts may be pending at a time; a limit costs an
 *               atomic operation on a shared cache line for each arm and end.
 *               Default: no limit.
 * @nice:        niceness of the worker, -20 to 19. Default: 0.
 * @rt_priority: 1 to 99: the worker runs under SCHED_FIFO with this priority; @nice must
 *               be 0 then. Default: it does not.
 * @cpus:        CPUs on which the worker may run; copied. One of them at least must be
 *               online. (Later the kernel may change that, as for any thread.)
 *               Default: those that the kernel lets kthreads run on.
 */
struct hwheel_params {
	const char	*name;
	u64		tick_ns;
	unsigned int	slots;
	unsigned int	levels;
	u64		turn_ns;
	u64		max_pending;
	unsigned int	flags;
	int		nice;
	int		rt_priority;
	const struct cpumask	*cpus;
};

/**
 * struct hwheel_timeout_ops - what a timeout's owner does with it
 * @expire:  the timeout expired. Runs in process context on the wheel's worker, where it delays
 *           the other timeouts of the wheel: what is slow or sleeps belongs into a struct
 *           hwheel_work. It may arm the timeout again, and may free it: the wheel does not refer to
 *           it any more, nor after the callback returned. After it has freed the
 *           timeout it may go on, but until it returns the wheel takes a timeout that
 *           is set up at the same address for the one that was freed. Such a timeout
 *           can be armed, refreshed and cancelled at once; its callbacks run after this
 *           one has returned; hwheel_cancel_sync() of it waits for that, or returns
 *           -EDEADLK in this callback itself. So a callback that has freed its timeout
 *           should not wait for another that was set up later, nor for whoever does.
 * @release: optional. A timeout that was cancelled is on no list of the wheel any
 *           more: it may be freed, or armed again. Runs on the worker, or on the
 *           thread that stops the wheel, in process context, in the worker's next
 *           pass, at most one tick and at most 100 ms away unless callbacks hold the worker;
 *           not while another callback of the same timeout runs, which may have armed it.
 *           From the cancel until this is called the timeout can't be armed (-EBUSY), but
 *           hwheel_mod() takes it back, and then this is not called; while it runs, anybody
 *           may arm the timeout. Not called for one that expired, nor for one that
 *           hwheel_stop() gave to its handback callback.
 * @due:     optional. The timeout is due, and expires unless this gives it a later deadline
 *           with hwheel_refresh_at(). So whoever has the object can refresh the timeout by
 *           storing a time in it, without a call; a store that comes after this look
 *           comes too late. Runs on the worker, once each time that the timeout comes up,
 *           before @expire, and also if it is cancelled at that moment. It must not
 *           sleep, and with this timeout it must do nothing else.
 */
struct hwheel_timeout_ops {
	void (*expire)(struct hwheel_timeout *timeout);
	void (*release)(struct hwheel_timeout *timeout);
	void (*due)(struct hwheel_timeout *timeout);
};

/**
 * struct hwheel_node - a timeout as the wheel's slots see it
 * @link: in the list of a slot; the worker's own
 * @slot: which one; the worker's own
 */
struct hwheel_node {
	struct hlist_node	link;
	unsigned int		slot;
};

/**
 * struct hwheel_timeout - one timeout, to be embedded in the caller's object
 * @queue: link in a submission list; belongs to whoever set QUEUED until it was
 *         added, then to the worker until that clears QUEUED
 * @word:  deadline, state and two bits (module/engine/state.h): changed by anyone, with
 *         one atomic operation
 * @node:  link in a slot; the worker's own
 * @wheel: constant after hwheel_timeout_init()
 * @ops:   constant after hwheel_timeout_init()
 *
 * All fields are private to the wheel; hwheel_timeout_init() sets them up.
 */
struct hwheel_timeout {
	struct llist_node			queue;
	atomic64_t				word;
	struct hwheel_node			node;
	struct hwheel				*wheel;
	const struct hwheel_timeout_ops		*ops;
};

/**
 * struct hwheel_work - a timeout whose function runs on a workqueue
 * @timeout: when; its state can be queried, and it can be refreshed
 * @work:    what is queued when it expires
 * @queue:   the workqueue; constant
 * @release: the release op, or NULL; constant
 *
 * What delayed_work is to a timer. All fields are private to hwheel; hwheel_work_init() sets them
 * up. A work is armed, moved and cancelled with the functions whose names begin with hwheel_work_;
 * hwheel_is_pending() and the other queries, hwheel_refresh() and hwheel_refresh_at() take its
 * @timeout.
 *
 * From its expiry until its function begins, a work is handed over: hwheel_is_expired() is true,
 * but for moments in which another thread looks whether the function has begun, and arming it fails
 * with -EBUSY. From the moment the function begins, hwheel does not touch the
 * work: the function may free it, and may arm it. No two runs of one work overlap.
 */
struct hwheel_work {
	struct hwheel_timeout	timeout;
	struct work_struct	work;
	struct workqueue_struct	*queue;
	void			(*release)(struct hwheel_work *work);
};

/* The work that a function was called for */
static inline struct hwheel_work *to_hwheel_work(struct work_struct *work)
{
	return container_of(work, struct hwheel_work, work);
}

/*
 * Low bits of hwheel_timeout.word, private to the wheel. The state that is looked for most
 * often is zero, which costs the least to test; so a zeroed word is not an idle one.
 */
enum hwheel_state {
	HWHEEL_PENDING,
	HWHEEL_EXPIRED,		/* the callback is to run, runs or ran */
	HWHEEL_CANCELLED,	/* before it expired, or handed back */
	HWHEEL_IDLE,		/* never armed, or shut down */
};

#define HWHEEL_STATE_MASK	3

/* What hwheel_mod() returns: the wheel did not hold the timeout, or did so in one of two states. */
#define HWHEEL_NOT_HELD		0
#define HWHEEL_WAS_PENDING	1
#define HWHEEL_WAS_CANCELLED	2

/* How much finer than a tick the histogram of lateness begins; a power of two */
#define HWHEEL_LATENESS_FINEST	256
#define HWHEEL_LATENESS_BINS	16

/**
 * struct hwheel_stats - what happened on a wheel since it was created
 * @pending:           timeouts pending now
 * @armed:             arms that succeeded
 * @refreshed_later:   refreshes to a later or the same deadline
 * @refreshed_earlier: refreshes to an earlier deadline
 * @cancelled_queued:  cancels before the worker knew of the timeout's latest state
 * @cancelled_filed:   cancels that the worker has to unlink from a slot
 * @expired:           timeouts that expired, with works that were taken back before their function
 *                     began
 * @handed_back:       timeouts ended by hwheel_stop(), or left on hwheel_system() by a module that
 *                     was unloaded
 * @passes:            passes of the worker
 * @visited:           slots that had come up, and were looked through
 * @moved:             timeouts that were not due, and filed again: for another round, on a
 *                     lower level, also before their slot has come up, or for a deadline that
 *                     they were given meanwhile
 * @wakeups:           how often the worker slept, and woke up
 * @drained:           timeouts taken from submission queues
 * @drained_max:       the most of them in one pass
 * @lag:               edges that passed before the worker was up for them
 * @lag_max:           the most of them at a time
 * @overlong:          callbacks that held the worker for longer than a tick (and a jiffy, the
 *                     accuracy of this), during which the scheduler did not preempt it
 * @contained:         callbacks that returned with another preempt count, which was put right
 * @lateness:          timeouts by how late they expired or were handed over, in ticks:
 *                     [0] less than 1/256, [n] less than 2^(n-8), [15] all others. From
 *                     [9] on it is more than a tick: the worker was late, or the deadline
 *                     past when it was set. Accurate to a jiffy.
 *
 * hwheelctl stats, its exporter and tests of the module read all of them; @passes and @drained are
 * for these alone. hwheel_pending() reads @armed and all that ends a timeout, STATS of the device
 * @pending, @armed, @expired, @lag and @lateness. hwheelctl top shows those but @handed_back, and
 * the refreshes, @moved, @wakeups, @drained_max and @lag_max. The alerts of doc/monitoring.md look
 * at @lag, @overlong and @contained, and the worker looks at @visited after each pass.
 *
 * On 32-bit machines all but @pending wrap at 2^32.
 */
struct hwheel_stats {
	u64 pending;
	u64 armed;
	u64 refreshed_later;
	u64 refreshed_earlier;
	u64 cancelled_queued;
	u64 cancelled_filed;
	u64 expired;
	u64 handed_back;
	u64 passes;
	u64 visited;
	u64 moved;
	u64 wakeups;
	u64 drained;
	u64 drained_max;
	u64 lag;
	u64 lag_max;
	u64 overlong;
	u64 contained;
	u64 lateness[HWHEEL_LATENESS_BINS];
};

/**
 * hwheel_create - make a wheel
 * @params: struct hwheel_params *, what the wheel is to be like; not referred to after the
 *          call, so a compound literal will do
 *
 * Edge 0 is now, rounded down to a multiple of the tick, so wheels with the same tick share timer
 * interrupts. The worker starts and sleeps until the first arm; an empty wheel
 * does not wake up, but for a few times after its last timeout ended if its levels have
 * 65,536 slots or more together (32,768 on 32-bit machines). The calling module is recorded:
 * should it be unloaded before the wheel is destroyed, the log says so and names this
 * caller, and the wheel is stopped.
 *
 * Context: process; may sleep.
 * Return: the wheel, to be given to hwheel_destroy() in the end, or ERR_PTR:
 * -EINVAL (flags, more than HWHEEL_MAX_SLOTS slots or HWHEEL_MAX_LEVELS levels,
 * HWHEEL_SIMPLE with more than one level, the tick times the slots exceeds 2^63 ns, or a
 * niceness, priority or CPUs that there are not), -ENOMEM, -EAGAIN (there may be no more
 * threads), or -EINTR (the caller was killed meanwhile).
 */
#define hwheel_create(params...)	__hwheel_create(params, THIS_MODULE, __func__)

struct hwheel *__hwheel_create(const struct hwheel_params *params,
			       struct module *owner, const char *creator);
s64 hwheel_stop(struct hwheel *wheel,
		void (*handback)(struct hwheel_timeout *timeout, void *data),
		void *data);
void hwheel_destroy(struct hwheel *wheel);
struct hwheel *hwheel_system(void);
u64 hwheel_pending(const struct hwheel *wheel);
void hwheel_get_stats(const struct hwheel *wheel, struct hwheel_stats *stats);

void hwheel_timeout_init(struct hwheel_timeout *timeout, struct hwheel *wheel,
			 const struct hwheel_timeout_ops *ops);
int hwheel_arm(struct hwheel_timeout *timeout, u64 delay_ns);
int hwheel_arm_at(struct hwheel_timeout *timeout, u64 deadline_ns);
int hwheel_mod(struct hwheel_timeout *timeout, u64 delay_ns);
int hwheel_mod_at(struct hwheel_timeout *timeout, u64 deadline_ns);
int hwheel_mod_jiffies(struct hwheel_timeout *timeout, unsigned long expires);
int hwheel_reduce_at(struct hwheel_timeout *timeout, u64 deadline_ns);
int hwheel_refresh(struct hwheel_timeout *timeout, u64 delay_ns);
int hwheel_refresh_at(struct hwheel_timeout *timeout, u64 deadline_ns);
bool hwheel_cancel(struct hwheel_timeout *timeout);
int hwheel_cancel_sync(struct hwheel_timeout *timeout);
int hwheel_shutdown_sync(struct hwheel_timeout *timeout);

/**
 * hwheel_work_init - set up a work, which then is idle
 * @_work:    in the caller's object; not in use
 * @_wheel:   the wheel it will be armed on, always this one
 * @_queue:   the workqueue that runs its function. It must not be drained nor destroyed before the
 *            work was cancelled.
 * @_func:    work_func_t, the function; to_hwheel_work() returns the work that it is called for
 * @_release: void (*)(struct hwheel_work *work), or NULL: as the release op of a timeout. It may
 *            run while the function of an earlier run, which has armed the work again, still runs:
 *            if it frees the work, the function must hold a reference of its own.
 *
 * Without a queue or a function, the kernel warns, and arming the work returns -EINVAL.
 *
 * The owner cancels a work before it destroys the wheel: hwheel_stop() does not wait for works that
 * are handed over.
 *
 * Context: any; nobody else uses the work yet.
 */
#define hwheel_work_init(_work, _wheel, _queue, _func, _release)		\
do {										\
	struct hwheel_work *__work = (_work);					\
	work_func_t __run = (_func);						\
										\
	INIT_WORK(&__work->work, __run);					\
	__hwheel_work_init(__work, (_wheel), (_queue), __run, (_release));	\
} while (0)

void __hwheel_work_init(struct hwheel_work *work, struct hwheel *wheel,
			struct workqueue_struct *queue, work_func_t func,
			void (*release)(struct hwheel_work *work));
int hwheel_work_arm(struct hwheel_work *work, u64 delay_ns);
int hwheel_work_mod(struct hwheel_work *work, u64 delay_ns);
int hwheel_work_mod_jiffies(struct hwheel_work *work, unsigned long expires);
bool hwheel_work_cancel(struct hwheel_work *work);
bool hwheel_work_flush(struct hwheel_work *work);

/**
 * hwheel_work_cancel_sync - cancel a work and wait until it may be freed
 * @work: in any state
 *
 * As hwheel_cancel_sync(), and waits for the function if that has begun. If the wheel is being
 * stopped, or was, and the function has not begun, this calls the release op itself.
 *
 * Context: process; may sleep. The caller must not hold a lock that the function takes.
 * Return: as hwheel_cancel_sync(); -EDEADLK also in the work's own function.
 */
static inline int hwheel_work_cancel_sync(struct hwheel_work *work)
{
	return hwheel_cancel_sync(&work->timeout);
}

/**
 * hwheel_work_shutdown_sync - end a work that others may still arm
 * @work: in any state
 *
 * As hwheel_work_cancel_sync(); from the return on arming and moving the work fail with -ESHUTDOWN,
 * until hwheel_work_init().
 *
 * Context: process; may sleep.
 * Return: as hwheel_work_cancel_sync().
 */
static inline int hwheel_work_shutdown_sync(struct hwheel_work *work)
{
	return hwheel_shutdown_sync(&work->timeout);
}

/* A snapshot: it may be out of date when the caller looks at it. Any context but NMI. */
static inline enum hwheel_state
hwheel_timeout_state(const struct hwheel_timeout *timeout)
{
	return atomic64_read(&timeout->word) & HWHEEL_STATE_MASK;
}

/**
 * hwheel_is_pending - was the timeout armed, and has it not ended yet?
 * @timeout: the timeout
 *
 * Context: any but NMI.
 * Return: a snapshot.
 */
static inline bool hwheel_is_pending(const struct hwheel_timeout *timeout)
{
	return hwheel_timeout_state(timeout) == HWHEEL_PENDING;
}

/**
 * hwheel_is_expired - did the timeout expire?
 * @timeout: the timeout
 *
 * True already before the callback is called, and until the next arm.
 *
 * Context: any but NMI.
 * Return: a snapshot.
 */
static inline bool hwheel_is_expired(const struct hwheel_timeout *timeout)
{
	return hwheel_timeout_state(timeout) == HWHEEL_EXPIRED;
}

/**
 * hwheel_is_cancelled - was the timeout cancelled, or handed back by a stop?
 * @timeout: the timeout
 *
 * Context: any but NMI.
 * Return: a snapshot.
 */
static inline bool hwheel_is_cancelled(const struct hwheel_timeout *timeout)
{
	return hwheel_timeout_state(timeout) == HWHEEL_CANCELLED;
}

/**
 * hwheel_deadline - when is (or was) the timeout due?
 * @timeout: the timeout
 *
 * Context: any but NMI.
 * Return: ns on the wheel's clock as last armed or refreshed, rounded up to 8 ns.
 */
static inline u64 hwheel_deadline(const struct hwheel_timeout *timeout)
{
	return (u64)atomic64_read(&timeout->word) >> 4 << 3;
}

/**
 * hwheel_of - the wheel that a timeout was set up for
 * @timeout: the timeout
 *
 * Context: any.
 * Return: the wheel.
 */
static inline struct hwheel *hwheel_of(const struct hwheel_timeout *timeout)
{
	return timeout->wheel;
}

#endif /* _LINUX_HWHEEL_H */
