// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wheels of a file's own, and what a file may ask for.
 *
 * Each has a thread, which no cgroup is charged for: so there is a limit to how many there
 * are. Their memory is the caller's.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hwheel.h>
#include <linux/kernel.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/time.h>

#include <uapi/linux/hwheel.h>

#include "private.h"
#include "set.h"
#include "wheel.h"

#define DEFAULT_LEVELS	3

static unsigned int max_wheels;
static atomic_t nr_wheels;

void hwheel_private_init(unsigned int max)
{
	max_wheels = max;
}

static bool is_kind(const struct hwheel_config *config)
{
	switch (config->kind) {
	case 0:
		return config->levels <= HWHEEL_MAX_LEVELS;
	case HWHEEL_KIND_HASHED:
	case HWHEEL_KIND_SIMPLE:
		return config->levels <= 1;
	case HWHEEL_KIND_HIERARCHICAL:
		return config->levels != 1 &&
		       config->levels <= HWHEEL_MAX_LEVELS;
	default:
		return false;
	}
}

static bool is_tick(u64 tick_ns)
{
	return !tick_ns || (tick_ns >= HWHEEL_MIN_TICK_NS &&
			    tick_ns <= HWHEEL_MAX_TICK_NS);
}

static bool is_clock(u32 clock)
{
	return !clock || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME;
}

static int check(const struct hwheel_config *config, unsigned int max_timeouts)
{
	if (config->flags || config->reserved || !is_tick(config->tick_ns) ||
	    !is_clock(config->clock) || !is_kind(config) ||
	    config->slots > HWHEEL_MAX_SLOTS ||
	    config->max_timeouts > HWHEEL_SET_MAX)
		return -EINVAL;
	if (config->max_timeouts > max_timeouts && !capable(CAP_SYS_RESOURCE))
		return -EPERM;
	return 0;
}

static unsigned int levels_of(const struct hwheel_config *config)
{
	if (config->kind == HWHEEL_KIND_HIERARCHICAL && !config->levels)
		return DEFAULT_LEVELS;
	return config->levels;
}

static struct hwheel *create(const struct hwheel_config *config,
			     const struct hwheel *shared)
{
	char name[HWHEEL_NAME_MAX];
	struct hwheel_params params = {
		.name	 = name,
		.tick_ns = config->tick_ns ?: shared->tick,
		.slots	 = config->slots ?: shared->slots.mask + 1,
		.levels	 = levels_of(config),
		.clock	 = config->clock,
		.flags	 = HWHEEL_ACCOUNT,
	};

	if (config->kind == HWHEEL_KIND_SIMPLE)
		params.flags |= HWHEEL_SIMPLE;
	snprintf(name, sizeof(name), "p%d", task_tgid_nr(current));
	return hwheel_create(&params);
}

/* What is not asked for is as it is with the @shared one. */
static struct hwheel *create_if_allowed(const struct hwheel_config *config,
					const struct hwheel *shared)
{
	struct hwheel *wheel;

	if (!atomic_add_unless(&nr_wheels, 1, max_wheels))
		return ERR_PTR(-ENOSPC);
	wheel = create(config, shared);
	if (IS_ERR(wheel))
		atomic_dec(&nr_wheels);
	return wheel;
}

void hwheel_private_destroy(struct hwheel *wheel)
{
	hwheel_destroy(wheel);
	atomic_dec(&nr_wheels);
}

static bool wants_wheel(const struct hwheel_config *config)
{
	return config->tick_ns || config->slots || config->levels ||
	       config->kind || config->clock;
}

static int may_configure(struct hwheel_set *set)
{
	int err;

	if (mutex_lock_killable(&set->lock))
		return -EINTR;
	err = hwheel_set_may_configure(set);
	mutex_unlock(&set->lock);
	return err;
}

/* @wheel may be NULL. */
static int configure(struct hwheel_set *set, struct hwheel *wheel,
		     unsigned int max_timeouts)
{
	int err;

	if (mutex_lock_killable(&set->lock))
		return -EINTR;
	err = hwheel_set_may_configure(set);
	if (!err)
		hwheel_set_configure(set, wheel, max_timeouts ?: set->max);
	mutex_unlock(&set->lock);
	return err;
}

/*
 * More than @max_timeouts are for the privileged. The wheel is created without the lock:
 * mmap() takes it within mmap_lock, and the registry's lock and the start of a thread are
 * not to depend on that.
 */
int hwheel_private_configure(struct hwheel_set *set,
			     const struct hwheel_config *config,
			     unsigned int max_timeouts)
{
	int err = check(config, max_timeouts) ?: may_configure(set);
	struct hwheel *wheel = NULL;

	if (err)
		return err;
	if (wants_wheel(config))
		wheel = create_if_allowed(config, set->shared_wheel);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	err = configure(set, wheel, config->max_timeouts);
	if (err && wheel)
		hwheel_private_destroy(wheel);
	return err;
}
