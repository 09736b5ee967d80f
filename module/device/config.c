// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wheels of a file's own, and what a file may ask for.
 *
 * Each has a thread, which no cgroup is charged for: so an account may have so many, whoever
 * asks. Their memory is charged to the caller's cgroup and to the account. A wheel has its place
 * from CONFIG until its file is stopped or closed: a wheel that was stopped has neither thread nor
 * slots.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hwheel.h>
#include <linux/kernel.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/time.h>

#include <uapi/linux/hwheel.h>

#include "account.h"
#include "config.h"
#include "engine/gfp.h"
#include "engine/wheel.h"
#include "file.h"

#define DEFAULT_LEVELS	3

/* Private wheels of an account */
static unsigned int max_wheels;

void hwheel_config_init(unsigned int max)
{
	max_wheels = max;
}

/*
 * Whether the kind has room for what is chosen. On the default wheel nothing can be, and where
 * @turn_ns is given, neither slots nor levels.
 */
static bool config_is_kind(const struct hwheel_config *config)
{
	switch (config->kind) {
	case HWHEEL_KIND_DEFAULT:
		return !config->tick_ns && !config->slots && !config->levels && !config->flags &&
		       !config->turn_ns && config->clock == CLOCK_MONOTONIC;
	case HWHEEL_KIND_HASHED:
	case HWHEEL_KIND_SIMPLE:
		return config->levels <= 1 &&
		       (!config->turn_ns || (!config->slots && !config->levels));
	case HWHEEL_KIND_HIERARCHICAL:
		return config->levels != 1 && config->levels <= HWHEEL_MAX_LEVELS &&
		       !config->turn_ns;
	default:
		return false;
	}
}

static bool is_tick(u64 tick_ns)
{
	return !tick_ns || (tick_ns >= HWHEEL_MIN_TICK_NS &&
			    tick_ns <= HWHEEL_MAX_TICK_NS);
}

static int config_check(const struct hwheel_config *config, unsigned int max_timeouts)
{
	if (config->flags & ~(HWHEEL_CONFIG_NICE | HWHEEL_CONFIG_CPUS) ||
	    memchr_inv(config->reserved, 0, sizeof(config->reserved)) ||
	    !is_tick(config->tick_ns) || !config_is_kind(config) ||
	    (config->clock != CLOCK_MONOTONIC && config->clock != CLOCK_BOOTTIME) ||
	    config->slots > HWHEEL_MAX_SLOTS || config->max_timeouts > HWHEEL_FILE_MAX)
		return -EINVAL;
	if (config->max_timeouts > max_timeouts && !capable(CAP_SYS_RESOURCE))
		return -EPERM;
	return 0;
}

/* The new wheel takes from the default one all that CONFIG leaves at 0. */
static int config_params(const struct hwheel_config *config, struct hwheel_params *params)
{
	const struct hwheel_params *defaults = hwheel_account_params();

	*params = (struct hwheel_params) {
		.tick_ns = config->tick_ns ?: defaults->tick_ns,
		.slots	 = config->slots,
		.levels	 = config->levels,
		.turn_ns = config->turn_ns,
		.flags	 = HWHEEL_ACCOUNT | HWHEEL_OWN,
	};
	if (!config->turn_ns && !config->slots)
		params->slots = defaults->slots;
	if (config->kind == HWHEEL_KIND_HIERARCHICAL && !config->levels)
		params->levels = DEFAULT_LEVELS;
	if (config->kind == HWHEEL_KIND_SIMPLE)
		params->flags |= HWHEEL_SIMPLE;
	if (config->clock == CLOCK_BOOTTIME)
		params->flags |= HWHEEL_BOOTTIME;
	/* What the caller has it may have. */
	if (config->flags & HWHEEL_CONFIG_NICE)
		params->nice = task_nice(current);
	return hwheel_params_complete(params);
}

/* It is the caller's alone: whether its worker is bounded depends on the caller's own rights. */
static struct hwheel *config_create(struct hwheel_account *account,
				    const struct hwheel_config *config,
				    struct hwheel_params *params)
{
	char name[HWHEEL_NAME_MAX];
	struct hwheel *wheel;
	unsigned long flags;
	cpumask_var_t cpus;

	if (!alloc_cpumask_var(&cpus, HWHEEL_GFP_USER))
		return ERR_PTR(-ENOMEM);
	/* The lock under which others may change them */
	raw_spin_lock_irqsave(&current->pi_lock, flags);
	cpumask_copy(cpus, current->cpus_ptr);
	raw_spin_unlock_irqrestore(&current->pi_lock, flags);
	if (config->flags & HWHEEL_CONFIG_CPUS)
		params->cpus = cpus;
	snprintf(name, sizeof(name), "p%d", task_tgid_nr(current));
	params->name = name;
	wheel = hwheel_account_made(account, hwheel_create(params), capable(CAP_SYS_NICE));
	free_cpumask_var(cpus);
	return wheel;
}

/* The file is closed. */
void hwheel_config_destroy(struct hwheel_file *file)
{
	if (hwheel_file_has_own_wheel(file))
		hwheel_destroy(file->wheel);
	if (file->slot_bytes)
		hwheel_account_remove_wheel(file->account, file->slot_bytes);
	if (file->account_wheel)
		hwheel_account_leave_wheel(file->account);
}

static int config_may_set(struct hwheel_file *file)
{
	int err;

	if (mutex_lock_killable(&file->lock))
		return -EINTR;
	err = hwheel_file_may_configure(file);
	mutex_unlock(&file->lock);
	return err;
}

/* Without a @wheel only the limit changes. */
static int config_set(struct hwheel_file *file, struct hwheel *wheel, u64 slot_bytes,
		      u64 bytes, unsigned int max_timeouts)
{
	int err;

	if (mutex_lock_killable(&file->lock))
		return -EINTR;
	err = hwheel_file_may_configure(file);
	if (!err) {
		file->slot_bytes = slot_bytes;
		file->bytes += bytes;
		hwheel_file_configure(file, wheel, max_timeouts ?: file->max);
	}
	mutex_unlock(&file->lock);
	return err;
}

static int config_make(struct hwheel_file *file, const struct hwheel_config *config)
{
	u64 slot_bytes, bytes = hwheel_wheel_bytes();
	struct hwheel_params params;
	struct hwheel *wheel;
	int err;

	err = config_params(config, &params);
	if (err)
		return err;
	slot_bytes = hwheel_slots_bytes(params.slots, params.levels);
	err = hwheel_account_add_wheel(file->account, max_wheels, slot_bytes + bytes);
	if (err)
		return err;
	wheel = config_create(file->account, config, &params);
	err = PTR_ERR_OR_ZERO(wheel);
	if (err)
		goto remove;
	err = config_set(file, wheel, slot_bytes, bytes, config->max_timeouts);
	if (!err)
		return 0;
	hwheel_destroy(wheel);
remove:
	hwheel_account_remove_wheel(file->account, slot_bytes + bytes);
	return err;
}

/*
 * More than @max_timeouts are for the privileged. The wheel is created without the lock, so that
 * no call on the file waits for the registry's lock and the start of a thread.
 */
int hwheel_config_apply(struct hwheel_file *file, const struct hwheel_config *config,
			unsigned int max_timeouts)
{
	int err = config_check(config, max_timeouts) ?: config_may_set(file);

	if (err)
		return err;
	if (config->kind == HWHEEL_KIND_DEFAULT)
		return config_set(file, NULL, 0, 0, config->max_timeouts);
	return config_make(file, config);
}
