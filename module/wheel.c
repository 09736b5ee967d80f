// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a wheel: create, stop, destroy.
 *
 * Stopping hands every timeout that is still pending back to the caller, exactly
 * once, and loses none to an arm that races with it:
 *
 *  1. HWHEEL_STOPPING is set: arms that see it fail. The worker finishes its pass and exits,
 *     and the stopper takes its place as the slots' one writer. The executor runs what
 *     it was given.
 *  2. The slots are emptied. What is pending and not QUEUED is handed back; what is
 *     QUEUED is only unlinked, as it is, or is about to be, on a list. From here on
 *     nothing pending is without QUEUED, so cancel and refresh add nothing any more.
 *  3. A grace period: the submissions that had begun before are through, the others
 *     see HWHEEL_STOPPING.
 *  4. The lists are drained: what is pending is handed back, the rest released.
 *
 * A cancel that comes first takes its timeout out of this, a later one returns false.
 *
 * Models: halt.pml and finish.pml in selftests/model/.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "callback.h"
#include "executor.h"
#include "gfp.h"
#include "queue.h"
#include "registry.h"
#include "timeout.h"
#include "wheel.h"
#include "worker.h"

#define HWHEEL_DEFAULT_NAME	"wheel"

#define HWHEEL_FLAGS		(HWHEEL_SIMPLE | HWHEEL_ACCOUNT)

static_assert(!((HWHEEL_STOPPING | HWHEEL_LIMITED) & HWHEEL_FLAGS));

static gfp_t gfp_of(const struct hwheel_params *params)
{
	return params->flags & HWHEEL_ACCOUNT ? HWHEEL_GFP_USER : GFP_KERNEL;
}

static u64 tick_of(const struct hwheel_params *params)
{
	u64 tick = params->tick_ns ?: HWHEEL_DEFAULT_TICK_NS;

	if (tick < HWHEEL_MIN_TICK_NS) {
		pr_warn("wheel %s: tick of %llu ns is too short, using %lu ns\n",
			params->name ?: HWHEEL_DEFAULT_NAME, tick,
			HWHEEL_MIN_TICK_NS);
		tick = HWHEEL_MIN_TICK_NS;
	}
	return tick;
}

/* What can't be right on any machine; the rest is found when the worker is placed. */
static bool is_place(const struct hwheel_params *params)
{
	if (params->nice < MIN_NICE || params->nice > MAX_NICE)
		return false;
	if (params->rt_priority < 0 || params->rt_priority >= MAX_RT_PRIO)
		return false;
	return !params->nice || !params->rt_priority;
}

static bool is_kind(const struct hwheel_params *params)
{
	if (params->levels > HWHEEL_MAX_LEVELS || params->flags & ~HWHEEL_FLAGS)
		return false;
	return !(params->flags & HWHEEL_SIMPLE) || params->levels <= 1;
}

/* Without those whose slots would be longer than the clock's range */
static unsigned int levels_of(const struct hwheel *wheel,
			      const struct hwheel_params *params,
			      unsigned int slots)
{
	u64 edges = div64_u64(HWHEEL_NEVER, wheel->tick);
	unsigned int levels = 1;

	while (levels < params->levels && (edges >>= ilog2(slots)))
		levels++;
	return levels;
}

/* The tick times the slots has to fit into a clock. */
static int configure_slots(struct hwheel *wheel,
			   const struct hwheel_params *params)
{
	unsigned int slots = params->slots ?: HWHEEL_DEFAULT_SLOTS;
	u64 tick = tick_of(params);

	if (slots > HWHEEL_MAX_SLOTS || !is_kind(params))
		return -EINVAL;
	slots = roundup_pow_of_two(slots);
	if (tick > HWHEEL_NEVER || round_up(tick, HWHEEL_DEADLINE_UNIT) >
				   div_u64(S64_MAX, slots))
		return -EINVAL;

	wheel->tick = round_up(tick, HWHEEL_DEADLINE_UNIT);
	wheel->special = params->flags & HWHEEL_SIMPLE;
	wheel->turn = wheel->special ? wheel->tick * slots : 0;
	return hwheel_slots_init(&wheel->slots, slots,
				 levels_of(wheel, params, slots),
				 gfp_of(params));
}

/* Sets what the parameters say. */
static int configure(struct hwheel *wheel, const struct hwheel_params *params)
{
	if (!is_place(params))
		return -EINVAL;

	wheel->clock = params->clock ?: CLOCK_MONOTONIC;
	if (wheel->clock != CLOCK_MONOTONIC && wheel->clock != CLOCK_BOOTTIME)
		return -EINVAL;
	wheel->lateness_scale = hwheel_lateness_scale(wheel->tick);
	hwheel_set_edges(wheel, round_down(hwheel_now(wheel), HWHEEL_DEADLINE_UNIT),
			 wheel->tick);
	wheel->plain = !wheel->turn && wheel->clock == CLOCK_MONOTONIC;
	wheel->max_pending = params->max_pending;
	if (params->max_pending)
		wheel->special |= HWHEEL_LIMITED;
	strscpy(wheel->name, params->name ?: HWHEEL_DEFAULT_NAME,
		sizeof(wheel->name));
	return 0;
}

#ifdef CONFIG_LOCKDEP
/* A class for each wheel, as callbacks of one may wait for those of another. */
static void init_lockdep(struct hwheel *wheel)
{
	lockdep_register_key(&wheel->key);
	lockdep_init_map(&wheel->callbacks, "hwheel_callbacks", &wheel->key, 0);
}

static void forget_lockdep(struct hwheel *wheel)
{
	lockdep_unregister_key(&wheel->key);
}
#else
static void init_lockdep(struct hwheel *wheel)
{
}

static void forget_lockdep(struct hwheel *wheel)
{
}
#endif

static void free_wheel(struct hwheel *wheel)
{
	hwheel_executor_free(wheel);
	forget_lockdep(wheel);
	hwheel_slots_free(&wheel->slots);
	free_percpu(wheel->cpu);
	kfree(wheel);
}

/* Frees a wheel that is stopped, when nobody refers to it any more. */
void hwheel_put(struct hwheel *wheel)
{
	if (refcount_dec_and_test(&wheel->users))
		free_wheel(wheel);
}

static int populate(struct hwheel *wheel, const struct hwheel_params *params)
{
	int err = 0;

	refcount_set(&wheel->users, 1);
	mutex_init(&wheel->stop_lock);
	init_waitqueue_head(&wheel->waiters);
	spin_lock_init(&wheel->closers_lock);
	INIT_LIST_HEAD(&wheel->closers);
	wheel->batch_cpu = -1;
	wheel->planned = HWHEEL_NO_EDGE;
	wheel->cpu = alloc_percpu_gfp(struct hwheel_cpu, gfp_of(params));
	if (!wheel->cpu)
		return -ENOMEM;
	if (params->executor)
		err = hwheel_executor_create(wheel, params->executor);
	return err ?: hwheel_worker_start(wheel, params);
}

/* hwheel_create() is described in the header. */
struct hwheel *__hwheel_create(const struct hwheel_params *params,
			       struct module *owner, const char *creator)
{
	struct hwheel *wheel;
	int err;

	wheel = kzalloc(sizeof(*wheel), gfp_of(params));
	if (!wheel)
		return ERR_PTR(-ENOMEM);
	init_lockdep(wheel);
	err = configure_slots(wheel, params) ?: configure(wheel, params) ?:
	      populate(wheel, params);
	if (err) {
		free_wheel(wheel);
		return ERR_PTR(err);
	}
	hwheel_registry_add(wheel, owner, creator);
	return wheel;
}
EXPORT_SYMBOL_GPL(__hwheel_create);

/**
 * struct hwheel_stop - a stop under way
 * @wheel:    the wheel
 * @handback: who wants the timeouts, or NULL
 * @data:     for @handback
 * @count:    timeouts handed back so far
 */
struct hwheel_stop {
	struct hwheel	*wheel;
	void		(*handback)(struct hwheel_timeout *timeout, void *data);
	void		*data;
	s64		count;
};

/*
 * Ends a timeout, unless its QUEUED bit is not @queued. Returns the word that it had,
 * or one that says idle.
 */
static u64 end_timeout(struct hwheel_timeout *timeout, u64 queued)
{
	s64 old = atomic64_read_acquire(&timeout->word);
	u64 new;

	do {
		if ((old & HWHEEL_QUEUED) != queued)
			return HWHEEL_IDLE;
		new = old & ~(u64)HWHEEL_QUEUED;
		if (hwheel_word_state(old) == HWHEEL_PENDING)
			new |= HWHEEL_CANCELLED;
	} while (!atomic64_try_cmpxchg(&timeout->word, &old, new));

	return old;
}

/*
 * Ends a timeout and tells its owner. When it is not QUEUED any more the owner may
 * free it, unless he is told: so the op is read before.
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
	state = hwheel_word_state(end_timeout(timeout, queued));
	if (state == HWHEEL_PENDING) {
		local_inc(&wheel->counts.handed_back);
		hwheel_pending_end(wheel);
		stop->count++;
	}
	if (state == HWHEEL_PENDING && stop->handback)
		stop->handback(timeout, stop->data);
	else if (release &&
		 (state == HWHEEL_PENDING || state == HWHEEL_CANCELLED))
		hwheel_callback_call(wheel, release, timeout);
	hwheel_callback_end(wheel);
	cond_resched();
}

static void hand_back_queued(struct hwheel_stop *stop)
{
	unsigned int lists = num_possible_cpus();
	struct hwheel_timeout *timeout;

	while ((timeout = hwheel_queue_pop(stop->wheel, &lists)))
		hand_back(stop, timeout, HWHEEL_QUEUED);
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
	hand_back_queued(stop);
}

/*
 * What was handed over is run. Its callbacks may wait for the queues to be drained, which
 * now is up to us. When the executor is idle it stays so, as nothing expires any more.
 */
static void finish_executor(struct hwheel *wheel)
{
	while (!hwheel_executor_is_idle(wheel)) {
		hwheel_worker_drain(wheel);
		wait_event_timeout(wheel->waiters,
				   hwheel_executor_is_idle(wheel), 1);
	}
}

static void stop_wheel(struct hwheel *wheel, struct hwheel_stop *stop)
{
	WRITE_ONCE(wheel->special, wheel->special | HWHEEL_STOPPING);
	hwheel_worker_stop(wheel);

	WRITE_ONCE(wheel->owner, current);
	finish_executor(wheel);
	wheel->stop = stop;
	hand_back_all(stop);
	WRITE_ONCE(wheel->owner, NULL);
	wheel->stop = NULL;
	put_task_struct(wheel->worker);
	wheel->stopped = true;
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
 * With an executor it waits for the callbacks that were handed over. These must not wait
 * for another timeout to expire, nor may the caller be a work item that keeps them from
 * running, such as another one on the same ordered workqueue.
 *
 * Context: process; may sleep. @handback runs in the same context.
 * Return: how many timeouts were handed back, or -EDEADLK when called from a callback
 * of the wheel's own, @handback included.
 */
s64 hwheel_stop(struct hwheel *wheel,
		void (*handback)(struct hwheel_timeout *timeout, void *data),
		void *data)
{
	struct hwheel_stop stop = {
		.wheel = wheel, .handback = handback, .data = data,
	};

	if (hwheel_is_owner(wheel) || hwheel_executor_calls(wheel))
		return -EDEADLK;
	hwheel_callbacks_awaited(wheel);
	mutex_lock(&wheel->stop_lock);
	if (!wheel->stopped)
		stop_wheel(wheel, &stop);
	mutex_unlock(&wheel->stop_lock);
	return stop.count;
}
EXPORT_SYMBOL_GPL(hwheel_stop);

/**
 * hwheel_destroy - stop a wheel if need be, and free it
 * @wheel: the wheel; nobody else uses it any more, nor time-outs set up for it
 *
 * As hwheel_stop() without a handback callback: time-outs that are pending and have no
 * release op end without anybody being told.
 *
 * Context: process; may sleep. Not from the wheel's own callbacks.
 */
void hwheel_destroy(struct hwheel *wheel)
{
	if (WARN_ON(hwheel_stop(wheel, NULL, NULL) == -EDEADLK))
		return;
	hwheel_registry_remove(wheel);
	hwheel_put(wheel);
}
EXPORT_SYMBOL_GPL(hwheel_destroy);
