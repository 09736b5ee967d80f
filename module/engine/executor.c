// SPDX-License-Identifier: GPL-2.0-only
/*
 * The executor: runs the expire callbacks of a wheel on a workqueue.
 *
 * The worker hands timeouts over by putting them on a list, and starts a runner for the
 * whole batch. Runners, which are work items, take them from there one by one: so a slow
 * callback holds one runner and none of the others. A runner that leaves something on the
 * list starts another; one that finds nothing ends.
 *
 * A timeout that is handed over is EXPIRED and QUEUED, which keeps others from arming and
 * from freeing it. It gets so, and comes on the list, under the lock, and under the lock
 * it leaves both: so a thread that holds the lock finds it here if its word says so. It leaves when
 * a runner begins to run its callback, or when hwheel_cancel_sync() takes it back, which
 * may be called by the very callback that all the runners are busy with: then it is
 * cancelled, and submitted like any other.
 *
 * A running timeout is entered here before QUEUED is cleared, as on the worker, see callback.h.
 * While the callback of a timeout runs, which may arm it again,
 *  - it is not run by a second runner: it waits in @blocked until the first one is done;
 *  - its release op is not called: the worker leaves it QUEUED to the runner, which
 *    submits it when it is done.
 * A callback may free its timeout and go on. So timeouts are known by address here, as in
 * timer_list, hrtimer and the workqueue: no bit in the timeout could be cleared when the callback
 * returns. A timeout that is then set up at the same address is treated like that, too, until the
 * callback has returned.
 *
 * Models: executor.pml and finish.pml in selftests/models/.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/find.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "callback.h"
#include "debug_objects.h"
#include "executor.h"
#include "limit.h"
#include "state.h"
#include "submit.h"
#include "trace.h"
#include "wheel.h"

/* How many callbacks before others on the workqueue have their turn */
#define RUN_MAX		64

/**
 * struct runner - what runs callbacks, one at a time
 */
struct runner {
	/** @work: The work item on the caller's workqueue. */
	struct work_struct	work;
	/** @instead: The one on the system's workqueue, if the caller's runs in softirq. */
	struct work_struct	instead;
	/** @wheel: The wheel whose callbacks it runs; constant. */
	struct hwheel		*wheel;
	/** @task: The thread, while a callback is under way; read by itself. */
	struct task_struct	*task;
	/**
	 * @timeout: Whose callback is under way, or NULL; read by those who wait, without the
	 * lock.
	 */
	struct hwheel_timeout	*timeout;
	/** @blocked: The same timeout, if it was handed over again meanwhile. */
	struct list_head	blocked;
	/** @owed: The same timeout is to be submitted, to be released. */
	bool			owed;
};

/**
 * struct hwheel_executor - the executor of a wheel
 */
struct hwheel_executor {
	/** @queue: The caller's workqueue. */
	struct workqueue_struct	*queue;
	/**
	 * @in_softirq: @queue turned out to run in softirq and is not used any more; set by
	 * runners.
	 */
	unsigned int		in_softirq;
	/** @lock: Protects all that follows; others read @task and @timeout without. */
	spinlock_t		lock;
	/** @handed: Timeouts whose callbacks are to be run, in turn. */
	struct list_head	handed;
	/** @busy: Runners that are queued or run. */
	DECLARE_BITMAP(busy, HWHEEL_RUNNERS);
	/** @runners: The runners. */
	struct runner		runners[HWHEEL_RUNNERS];
#ifdef CONFIG_LOCKDEP
	/** @key: Of their work items, for lockdep. */
	struct lock_class_key	key;
	/** @instead_key: And of those on the system's workqueue, which do not run in softirq. */
	struct lock_class_key	instead_key;
#endif
};

static struct runner *runner_of(struct hwheel_executor *executor,
				const struct hwheel_timeout *timeout)
{
	unsigned int i;

	lockdep_assert_held(&executor->lock);
	for_each_set_bit(i, executor->busy, HWHEEL_RUNNERS)
		if (executor->runners[i].timeout == timeout)
			return &executor->runners[i];
	return NULL;
}

/* Also in softirq, without the lock */
static void queue_runner(struct runner *runner)
{
	const struct hwheel_executor *executor = runner->wheel->executor;

	if (unlikely(READ_ONCE(executor->in_softirq)))
		schedule_work(&runner->instead);
	else
		queue_work(executor->queue, &runner->work);
}

/* If all are busy, the first to be done takes what there is. */
static void start_another(struct hwheel_executor *executor)
{
	unsigned int i = find_first_zero_bit(executor->busy, HWHEEL_RUNNERS);

	lockdep_assert_held(&executor->lock);
	if (list_empty(&executor->handed) || i >= HWHEEL_RUNNERS)
		return;
	__set_bit(i, executor->busy);
	queue_runner(&executor->runners[i]);
}

/* Takes one off whatever list it is on; its node is the worker's again, unlinked. */
static void unlink_handed(struct hwheel_timeout *timeout)
{
	list_del(&timeout->handed);
	timeout->node = (struct hwheel_node) { };
}

/* The next in turn that no runner is busy with */
static struct hwheel_timeout *take_handed(struct hwheel_executor *executor)
{
	struct hwheel_timeout *timeout;
	struct runner *runner;

	while ((timeout = list_first_entry_or_null(&executor->handed,
						   struct hwheel_timeout,
						   handed))) {
		runner = runner_of(executor, timeout);
		if (!runner) {
			unlink_handed(timeout);
			return timeout;
		}
		list_move_tail(&timeout->handed, &runner->blocked);
	}
	return NULL;
}

/* Returns the next timeout, with the word that it had when it was handed over. */
static struct hwheel_timeout *begin_next(struct runner *runner, u64 *word)
{
	struct hwheel_executor *executor = runner->wheel->executor;
	struct hwheel_timeout *timeout;

	spin_lock(&executor->lock);
	timeout = take_handed(executor);
	if (timeout) {
		WRITE_ONCE(runner->task, current);
		/* Pairs with hwheel_executor_runs(). */
		smp_store_release(&runner->timeout, timeout);
		hwheel_debug_unreference(timeout);
		*word = hwheel_word_begin(&timeout->word);
		start_another(executor);
	} else {
		__clear_bit(runner - executor->runners, executor->busy);
	}
	spin_unlock(&executor->lock);
	return timeout;
}

/* The timeout is not there any more, unless something is owed to it. */
static void executor_end(struct runner *runner, struct hwheel_timeout *timeout)
{
	struct hwheel_executor *executor = runner->wheel->executor;

	spin_lock(&executor->lock);
	list_splice_init(&runner->blocked, &executor->handed);
	if (runner->owed)
		hwheel_submit_return(runner->wheel, timeout);
	runner->owed = false;
	WRITE_ONCE(runner->task, NULL);
	/* Pairs with hwheel_executor_runs(). */
	smp_store_release(&runner->timeout, NULL);
	spin_unlock(&executor->lock);
}

/* False if there was nothing to run: then the runner is not busy any more. */
static bool run_next(struct runner *runner)
{
	struct hwheel *wheel = runner->wheel;
	struct hwheel_timeout *timeout;
	hwheel_callback_t *callback;
	u64 word;

	timeout = begin_next(runner, &word);
	if (!timeout)
		return false;
	callback = timeout->ops->expire;
	trace_timeout_expire_entry(wheel, timeout, callback, word);
	lock_map_acquire_read(&wheel->callbacks);
	hwheel_callback_call_here(wheel, callback, timeout);
	lock_map_release(&wheel->callbacks);
	trace_timeout_expire_exit(wheel, timeout);
	executor_end(runner, timeout);
	return true;
}

static void run_some(struct runner *runner)
{
	struct hwheel *wheel = runner->wheel;
	unsigned int n;

	for (n = 0; n < RUN_MAX; n++) {
		bool ran = run_next(runner);

		hwheel_wake_waiters(wheel);
		if (!ran)
			return;
		cond_resched();
	}
	queue_runner(runner);
}

/*
 * The wheel is freed only after the work items have been flushed. In softirq neither may callbacks
 * sleep, nor the lock be taken; that a workqueue runs there shows only here.
 */
static void executor_run(struct work_struct *work)
{
	struct runner *runner = container_of(work, struct runner, work);
	struct hwheel *wheel = runner->wheel;

	if (likely(in_task())) {
		run_some(runner);
		return;
	}
	if (!xchg(&wheel->executor->in_softirq, 1))
		pr_warn("wheel %s: its executor runs in softirq, so the system's workqueue replaces it\n",
			wheel->name);
	queue_runner(runner);
}

static void run_instead(struct work_struct *work)
{
	run_some(container_of(work, struct runner, instead));
}

/**
 * hwheel_executor_hand_over - expire a timeout, and leave its callback to the executor
 * @wheel:   with an executor
 * @timeout: popped from the slots, on no list
 * @word:    the word that it was found to be due from
 *
 * Return: false if the word is another one meanwhile, which is read into @word.
 */
bool hwheel_executor_hand_over(struct hwheel *wheel,
			       struct hwheel_timeout *timeout, s64 *word)
{
	struct hwheel_executor *executor = wheel->executor;
	bool expired;

	spin_lock(&executor->lock);
	expired = hwheel_word_hand_over(&timeout->word, word);
	if (expired) {
		hwheel_limit_end(wheel);
		list_add_tail(&timeout->handed, &executor->handed);
	}
	spin_unlock(&executor->lock);
	return expired;
}

/* Has a runner take what was handed over. */
void hwheel_executor_start(struct hwheel *wheel)
{
	struct hwheel_executor *executor = wheel->executor;

	if (!executor)
		return;
	spin_lock(&executor->lock);
	start_another(executor);
	spin_unlock(&executor->lock);
}

/* A queued timeout, which stays so: whose release op has to wait for its callback */
bool hwheel_executor_defer(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	struct hwheel_executor *executor = wheel->executor;
	struct runner *runner;

	spin_lock(&executor->lock);
	runner = runner_of(executor, timeout);
	if (runner)
		runner->owed = true;
	spin_unlock(&executor->lock);
	return runner;
}

/*
 * Takes a closed timeout back, if it was handed over and its callback was not begun. It
 * is submitted before it can be missed here: the stopper looks here first.
 */
bool hwheel_executor_recall(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	struct hwheel_executor *executor = wheel->executor;
	bool handed;

	if (!executor || !hwheel_word_is_handed(atomic64_read(&timeout->word)))
		return false;
	spin_lock(&executor->lock);
	handed = hwheel_word_is_handed(atomic64_read(&timeout->word));
	if (handed) {
		unlink_handed(timeout);
		hwheel_submit_recall(wheel, timeout);
		atomic_long_inc(&wheel->recalled);
	}
	spin_unlock(&executor->lock);
	return handed;
}

/* Is its callback under way? Right for a caller that has read before that the word is settled. */
bool hwheel_executor_runs(const struct hwheel *wheel,
			  const struct hwheel_timeout *timeout)
{
	const struct hwheel_executor *executor = wheel->executor;
	unsigned int i;

	if (!executor)
		return false;
	for (i = 0; i < HWHEEL_RUNNERS; i++) {
		/* Pairs with begin_next() and executor_end(). */
		if (smp_load_acquire(&executor->runners[i].timeout) == timeout)
			return true;
	}
	return false;
}

/* The runner in whose callback we are, or NULL */
static struct runner *own_runner(const struct hwheel *wheel)
{
	struct hwheel_executor *executor = wheel->executor;
	unsigned int i;

	if (!executor)
		return NULL;
	for (i = 0; i < HWHEEL_RUNNERS; i++)
		if (READ_ONCE(executor->runners[i].task) == current)
			return &executor->runners[i];
	return NULL;
}

/* Are we in a callback that the executor runs? */
bool hwheel_executor_calls(const struct hwheel *wheel)
{
	return own_runner(wheel);
}

/* And in that of this timeout? */
bool hwheel_executor_calls_for(const struct hwheel *wheel,
			       const struct hwheel_timeout *timeout)
{
	const struct runner *runner = own_runner(wheel);

	return runner && runner->timeout == timeout;
}

bool hwheel_executor_is_idle(struct hwheel *wheel)
{
	struct hwheel_executor *executor = wheel->executor;
	bool idle;

	if (!executor)
		return true;
	spin_lock(&executor->lock);
	idle = list_empty(&executor->handed) &&
	       bitmap_empty(executor->busy, HWHEEL_RUNNERS);
	spin_unlock(&executor->lock);
	return idle;
}

#ifdef CONFIG_LOCKDEP
/* A class for each executor, as callbacks on one may wait for the runners of another. */
static void executor_init_lockdep(struct hwheel_executor *executor)
{
	unsigned int i;

	lockdep_register_key(&executor->key);
	lockdep_register_key(&executor->instead_key);
	for (i = 0; i < HWHEEL_RUNNERS; i++) {
		lockdep_init_map(&executor->runners[i].work.lockdep_map,
				 "hwheel_runner", &executor->key, 0);
		lockdep_init_map(&executor->runners[i].instead.lockdep_map,
				 "hwheel_runner_instead", &executor->instead_key, 0);
	}
}

static void executor_exit_lockdep(struct hwheel_executor *executor)
{
	lockdep_unregister_key(&executor->instead_key);
	lockdep_unregister_key(&executor->key);
}
#else
static void executor_init_lockdep(struct hwheel_executor *executor)
{
}

static void executor_exit_lockdep(struct hwheel_executor *executor)
{
}
#endif

int hwheel_executor_create(struct hwheel *wheel, struct workqueue_struct *queue,
			   gfp_t gfp)
{
	struct hwheel_executor *executor = kzalloc(sizeof(*executor), gfp);
	unsigned int i;

	if (!executor)
		return -ENOMEM;
	executor->queue = queue;
	spin_lock_init(&executor->lock);
	INIT_LIST_HEAD(&executor->handed);
	for (i = 0; i < HWHEEL_RUNNERS; i++) {
		struct runner *runner = &executor->runners[i];

		INIT_WORK(&runner->work, executor_run);
		INIT_WORK(&runner->instead, run_instead);
		INIT_LIST_HEAD(&runner->blocked);
		runner->wheel = wheel;
	}
	executor_init_lockdep(executor);
	wheel->executor = executor;
	return 0;
}

/* It is idle; the last work items may still be about to end. */
void hwheel_executor_free(struct hwheel *wheel)
{
	struct hwheel_executor *executor = wheel->executor;
	unsigned int i;

	if (!executor)
		return;
	for (i = 0; i < HWHEEL_RUNNERS; i++) {
		flush_work(&executor->runners[i].work);
		flush_work(&executor->runners[i].instead);
	}
	executor_exit_lockdep(executor);
	kfree(executor);
}
