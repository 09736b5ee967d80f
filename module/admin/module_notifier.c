// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modules that leave wheels behind, or timeouts on the system wheel.
 *
 * A module that is unloaded has run its exit function when we hear of it, and its code is
 * still there: this is the last moment at which the callbacks of a wheel that it forgot
 * can be kept from running into nothing. Such a wheel is named and stopped, but stays in
 * memory until hwheel itself is unloaded, as others might know it: they get -ESHUTDOWN.
 *
 * The exit function may have freed a pending timeout or a work's queue. Then the wheel uses freed
 * memory until it is stopped, and in the stop. The log names it all the same.
 *
 * Timeouts on the system wheel are the module's if they, their ops or functions lie in it.
 * They are ended, and named, at the same moment, and the wheel goes on for others. If the exit
 * function has freed one that is pending, the wheel uses freed memory until then. A work that is
 * handed over is the module's to cancel.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hwheel.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/notifier.h>

#include "engine/sweep.h"
#include "engine/wheel.h"
#include "engine/work.h"
#include "module_notifier.h"
#include "registry.h"

static bool lies_in(const void *pointer, const struct module *module)
{
	return within_module((unsigned long)pointer, module);
}

/* The one place that says whose a timeout is */
static bool is_timeout_of(const struct hwheel_timeout *timeout, const void *module)
{
	const struct hwheel_timeout_ops *ops = timeout->ops;

	if (hwheel_is_work(timeout)) {
		const struct hwheel_work *work = hwheel_work_of(timeout);

		return lies_in(work, module) || lies_in(work->work.func, module) ||
		       lies_in(work->release, module);
	}
	return lies_in(timeout, module) || lies_in(ops, module) || lies_in(ops->expire, module) ||
	       lies_in(ops->release, module) || lies_in(ops->due, module);
}

/* A release may be owed when nothing is pending, so only a wheel that was never used is let off. */
static void end_timeouts_of(const struct module *module)
{
	struct hwheel *wheel = hwheel_system();
	struct hwheel_stats stats;
	u64 ended;

	if (!wheel)
		return;
	hwheel_get_stats(wheel, &stats);
	if (!stats.armed)
		return;
	ended = hwheel_sweep(wheel, is_timeout_of, module);
	if (ended)
		pr_err("module %s is unloaded without cancelling %llu timeouts on the system wheel: ended them\n",
		       module->name, ended);
}

static int module_event(struct notifier_block *nb, unsigned long event,
			void *data)
{
	const struct module *module = data;
	struct hwheel *wheel;

	if (event != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	while ((wheel = hwheel_registry_disown(module))) {
		pr_err("module %s is unloaded without destroying wheel %s (%llu pending, made by %s): stopping it\n",
		       module->name, wheel->name, hwheel_pending(wheel),
		       wheel->creator);
		hwheel_stop(wheel, NULL, NULL);
		hwheel_put(wheel);
	}
	end_timeouts_of(module);
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = module_event };

int hwheel_module_notifier_init(void)
{
	return register_module_notifier(&notifier);
}

void hwheel_module_notifier_exit(void)
{
	unregister_module_notifier(&notifier);
}
