// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system wheel, for kernel callers who need neither a tick nor a worker of their own.
 *
 * hwheel's init function makes it, or fails: a module that uses hwheel is loaded after that. Where
 * hwheel is built in, an early initcall makes it, so that all later initcalls may use it. Without
 * the memory for it at that time the kernel panics, as it does without that of system_wq.
 */
#include <linux/cache.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/hwheel.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>

#include "system.h"
#include "wheel.h"

/* NULL until it is made: modules may be unloaded before, see module_notifier.c. */
static struct hwheel *system_wheel __ro_after_init;

/**
 * hwheel_system - the wheel for all of the kernel
 *
 * For callers who need neither a tick nor a worker of their own, as system_wq is for work items:
 * tick 10 ms, CLOCK_MONOTONIC, 4,096 slots on one level, no limit. No program's timeouts are on it.
 * All its callbacks share one worker, which a slow one holds up: the log names that. They must not
 * wait for a module to be loaded or unloaded, as unloading waits for the worker. The wheel costs no
 * wake-up as long as nothing is pending.
 *
 * It is there as long as hwheel is loaded; where hwheel is built in, from core_initcall() on.
 * hwheel_stop() of it returns -EPERM, and hwheel_destroy() warns and does nothing.
 *
 * A module cancels its timeouts with hwheel_cancel_sync() before it is unloaded. The log names a
 * module that leaves some pending here, told by ops or callbacks that lie in it. They are cancelled
 * without a callback before the module's code goes. If its exit function has freed one of them, the
 * wheel uses freed memory until then.
 *
 * Context: any.
 * Return: the wheel, never NULL.
 */
struct hwheel *hwheel_system(void)
{
	return READ_ONCE(system_wheel);
}
EXPORT_SYMBOL_GPL(hwheel_system);

static int __init system_create(void)
{
	const struct hwheel_params params = {
		.name		= "system",
		.tick_ns	= 10 * NSEC_PER_MSEC,
		.slots		= 4096,
		.flags		= HWHEEL_SYSTEM,
	};
	struct hwheel *wheel = hwheel_create(&params);

	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	/* Pairs with the dependency of those who use it. */
	smp_store_release(&system_wheel, wheel);
	return 0;
}

#ifdef MODULE

int __init hwheel_system_init(void)
{
	return system_create();
}

#else

static int __init hwheel_system_init_early(void)
{
	if (system_create())
		panic("hwheel: no memory for the system wheel\n");
	return 0;
}
early_initcall(hwheel_system_init_early);

/* The wheel was made before there was a registry. */
int __init hwheel_system_init(void)
{
	hwheel_show(system_wheel, THIS_MODULE, __func__);
	return 0;
}

#endif

/* Retires the wheel first, as the registry counts by the flag. */
void hwheel_system_exit(void)
{
	struct hwheel *wheel = system_wheel;

	if (!wheel)
		return;
	hwheel_retire(wheel);
	wheel->system = false;
	hwheel_destroy(wheel);
}
