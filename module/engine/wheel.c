// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a wheel: create and destroy; stop.c has what comes between.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "edge.h"
#include "gfp.h"
#include "state.h"
#include "wheel.h"
#include "worker.h"

#define HWHEEL_DEFAULT_NAME	"wheel"

#define HWHEEL_FLAGS		(HWHEEL_SIMPLE | HWHEEL_ACCOUNT | HWHEEL_BOOTTIME | HWHEEL_OWN | \
				 HWHEEL_SYSTEM)

/* See wheel_choose_slots(). */
#define TURN_BITS		14
#define TURN_LEVEL_BITS		12

static_assert(!((HWHEEL_STOPPING | HWHEEL_LIMITED) & HWHEEL_FLAGS));

/* As struct hwheel has it */
static_assert(sizeof_field(struct hwheel, setup) <= 128);
static_assert(!IS_ENABLED(CONFIG_SMP) ||
	      (offsetof(struct hwheel, waiting) % SMP_CACHE_BYTES == 0 &&
	       offsetof(struct hwheel, owned) % SMP_CACHE_BYTES == 0));
static_assert(offsetof(struct hwheel, owned) < offsetof(struct hwheel, statistics) &&
	      offsetof(struct hwheel, statistics) < offsetof(struct hwheel, admin));

/* hwheel_init() sets it; built-in code may create wheels before that, or meanwhile. */
static const struct hwheel_observer *observer;

void hwheel_observe(const struct hwheel_observer *new)
{
	/* Pairs with the acquire in observer_now(). */
	smp_store_release(&observer, new);
}

static const struct hwheel_observer *observer_now(void)
{
	/* Pairs with the release in hwheel_observe(): what the observer uses is ready. */
	return smp_load_acquire(&observer);
}

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

/* Refuses places that no machine has; placing the worker finds the others. */
static bool is_place(const struct hwheel_params *params)
{
	if (params->nice < MIN_NICE || params->nice > MAX_NICE)
		return false;
	if (params->rt_priority < 0 || params->rt_priority >= MAX_RT_PRIO)
		return false;
	return !params->nice || !params->rt_priority;
}

static bool wheel_is_kind(const struct hwheel_params *params)
{
	if (params->levels > HWHEEL_MAX_LEVELS || params->flags & ~HWHEEL_FLAGS)
		return false;
	if (params->turn_ns && (params->slots || params->levels))
		return false;
	return !(params->flags & HWHEEL_SIMPLE) || params->levels <= 1;
}

/*
 * Without those whose slots would be longer than the clock's range, or no longer than those of
 * the level below
 */
static unsigned int wheel_levels_of(u64 tick, unsigned int most, unsigned int slots)
{
	u64 edges = div64_u64(HWHEEL_NEVER, tick);
	unsigned int levels = 1;

	while (slots > 2 && levels < most && (edges >>= ilog2(slots / 2)))
		levels++;
	return levels;
}

/*
 * Chooses slots and levels that reach as far as @turn_ns: one level of up to 2^TURN_BITS slots, or
 * levels of 2^TURN_LEVEL_BITS. With each level the reach grows by half the slots of a level.
 */
static void wheel_choose_slots(const struct hwheel_params *params, u64 tick,
			       unsigned int *slots, unsigned int *levels)
{
	unsigned int bits = fls64(div64_u64(params->turn_ns - 1, tick));

	if (bits > TURN_BITS && !(params->flags & HWHEEL_SIMPLE)) {
		*levels = 1 + DIV_ROUND_UP(bits - TURN_LEVEL_BITS, TURN_LEVEL_BITS - 1);
		bits = TURN_LEVEL_BITS;
	}
	*slots = bits < 32 ? 1U << bits : U32_MAX;
}

/*
 * Replaces tick, slots and levels by those that a wheel of these parameters has. The tick times the
 * slots has to fit into a clock.
 */
int hwheel_params_complete(struct hwheel_params *params)
{
	unsigned int slots = params->slots ?: HWHEEL_DEFAULT_SLOTS, levels = params->levels;
	u64 tick = tick_of(params);

	if (tick > HWHEEL_NEVER || !wheel_is_kind(params))
		return -EINVAL;
	tick = round_up(tick, HWHEEL_DEADLINE_UNIT);
	if (params->turn_ns)
		wheel_choose_slots(params, tick, &slots, &levels);
	if (slots > HWHEEL_MAX_SLOTS)
		return -EINVAL;
	slots = roundup_pow_of_two(slots);
	if (tick > div_u64(S64_MAX, slots))
		return -EINVAL;
	params->tick_ns = tick;
	params->slots = slots;
	params->levels = wheel_levels_of(tick, levels, slots);
	params->turn_ns = 0;
	return 0;
}

static int wheel_configure_slots(struct hwheel *wheel,
				 const struct hwheel_params *params)
{
	struct hwheel_params shape = *params;
	int err = hwheel_params_complete(&shape);

	if (err)
		return err;
	wheel->tick = shape.tick_ns;
	wheel->special = params->flags & HWHEEL_SIMPLE;
	wheel->revolution = wheel->special ? wheel->tick * shape.slots : 0;
	wheel->move_ns = min_t(u64, wheel->tick / 2, 10 * NSEC_PER_MSEC);
	return hwheel_slots_init(&wheel->slots, shape.slots, shape.levels,
				 hwheel_move_rate(wheel->move_ns),
				 gfp_of(params));
}

/* Sets what the parameters say. */
static int wheel_configure(struct hwheel *wheel, const struct hwheel_params *params)
{
	u64 now, past;

	if (!is_place(params))
		return -EINVAL;

	wheel->clock = params->flags & HWHEEL_BOOTTIME ? CLOCK_BOOTTIME :
							 CLOCK_MONOTONIC;
	wheel->lateness_scale = hwheel_lateness_scale(wheel->tick);
	now = hwheel_now(wheel);
	div64_u64_rem(now, wheel->tick, &past);
	hwheel_edge_init(wheel, now - past, wheel->tick);
	wheel->jiffies = jiffies;
	wheel->offset = hwheel_jiffies_offset(ktime_get_ns(), wheel->jiffies);
	hwheel_offset_hide(wheel);
	wheel->plain = !wheel->revolution && wheel->clock == CLOCK_MONOTONIC;
	wheel->own = params->flags & HWHEEL_OWN;
	wheel->system = params->flags & HWHEEL_SYSTEM;
	wheel->max_pending = params->max_pending;
	if (params->max_pending)
		wheel->special |= HWHEEL_LIMITED;
	strscpy(wheel->name, params->name ?: HWHEEL_DEFAULT_NAME,
		sizeof(wheel->name));
	return 0;
}

#ifdef CONFIG_LOCKDEP
/* A class for each wheel, as callbacks of one may wait for those of another. */
static void wheel_init_lockdep(struct hwheel *wheel)
{
	lockdep_register_key(&wheel->key);
	lockdep_init_map(&wheel->callbacks, "hwheel_callbacks", &wheel->key, 0);
}

static void wheel_exit_lockdep(struct hwheel *wheel)
{
	lockdep_unregister_key(&wheel->key);
}
#else
static void wheel_init_lockdep(struct hwheel *wheel)
{
}

static void wheel_exit_lockdep(struct hwheel *wheel)
{
}
#endif

static void free_wheel(struct hwheel *wheel)
{
	wheel_exit_lockdep(wheel);
	hwheel_slots_free(&wheel->slots);
	free_percpu(wheel->cpu);
	kfree(wheel);
}

/* For a wheel that is made, and for one that was made before there was an observer */
void hwheel_show(struct hwheel *wheel, struct module *owner, const char *creator)
{
	const struct hwheel_observer *seen = observer_now();

	if (seen)
		seen->created(wheel, owner, creator);
}

/* For a wheel that is stopped: its owner may keep it, but administrators need not see it. */
void hwheel_retire(struct hwheel *wheel)
{
	const struct hwheel_observer *seen = observer_now();

	if (seen)
		seen->retired(wheel);
}

/* Frees a wheel that is stopped, when nobody refers to it any more. */
void hwheel_put(struct hwheel *wheel)
{
	if (refcount_dec_and_test(&wheel->users))
		free_wheel(wheel);
}

static size_t wheel_size(void)
{
	return struct_size((struct hwheel *)NULL, dirty, BITS_TO_LONGS(nr_cpu_ids));
}

/* The memory of a wheel but for its slots */
u64 hwheel_wheel_bytes(void)
{
	return wheel_size() + (u64)num_possible_cpus() * sizeof(struct hwheel_cpu);
}

static int wheel_populate(struct hwheel *wheel, const struct hwheel_params *params)
{
	refcount_set(&wheel->users, 1);
	init_completion(&wheel->stopped);
	init_waitqueue_head(&wheel->waiters);
	spin_lock_init(&wheel->closers_lock);
	wheel->closers = RB_ROOT;
	INIT_LIST_HEAD(&wheel->pass_work);
	init_llist_head(&wheel->source_queue);
	INIT_LIST_HEAD(&wheel->sources);
	/* No observer sees a wheel that built-in code creates before hwheel_init(). */
	INIT_LIST_HEAD(&wheel->registered);
	wheel->more_comes[false] = true;
	wheel->planned = HWHEEL_NO_EDGE;
	wheel->cpu = alloc_percpu_gfp(struct hwheel_cpu, gfp_of(params));
	if (!wheel->cpu)
		return -ENOMEM;
	return hwheel_worker_start(wheel, params);
}

/* hwheel_create() is described in the header. */
struct hwheel *__hwheel_create(const struct hwheel_params *params,
			       struct module *owner, const char *creator)
{
	struct hwheel *wheel;
	int err;

	/* For hwheel itself */
	if (params->flags & (HWHEEL_OWN | HWHEEL_SYSTEM) && owner != THIS_MODULE)
		return ERR_PTR(-EINVAL);
	wheel = kzalloc(wheel_size(), gfp_of(params));
	if (!wheel)
		return ERR_PTR(-ENOMEM);
	wheel_init_lockdep(wheel);
	err = wheel_configure_slots(wheel, params) ?: wheel_configure(wheel, params) ?:
	      wheel_populate(wheel, params);
	if (err) {
		free_wheel(wheel);
		return ERR_PTR(err);
	}
	hwheel_show(wheel, owner, creator);
	return wheel;
}
EXPORT_SYMBOL_GPL(__hwheel_create);

/**
 * hwheel_destroy - stop a wheel if need be, and free it
 * @wheel: the wheel; nobody else uses it any more, nor timeouts set up for it
 *
 * As hwheel_stop() without a handback callback: timeouts that are pending and have no
 * release op end without anybody being told. Of hwheel_system() it warns, and does nothing.
 *
 * Context: process; may sleep. Not from the wheel's own callbacks.
 */
void hwheel_destroy(struct hwheel *wheel)
{
	s64 err = hwheel_stop(wheel, NULL, NULL);

	if (WARN_ON(err == -EDEADLK) ||
	    WARN_ONCE(err == -EPERM, "the system wheel is destroyed by %pS\n",
		      __builtin_return_address(0)))
		return;
	hwheel_retire(wheel);
	hwheel_put(wheel);
}
EXPORT_SYMBOL_GPL(hwheel_destroy);
