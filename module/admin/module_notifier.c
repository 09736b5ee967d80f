// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modules that leave wheels behind.
 *
 * A module that is unloaded has run its exit function when we hear of it, and its code is
 * still there: this is the last moment at which the callbacks of a wheel that it forgot
 * can be kept from running into nothing. Such a wheel is named and stopped, but stays in
 * memory until hwheel itself is unloaded, as others might know it: they get -ESHUTDOWN.
 *
 * The exit function may have freed a pending timeout or a work's queue. Then the wheel uses freed
 * memory until it is stopped, and in the stop. The log names it all the same.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hwheel.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/notifier.h>

#include "engine/wheel.h"
#include "module_notifier.h"
#include "registry.h"

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
