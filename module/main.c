// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters, and the order in which things come up and go down.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hwheel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "admin/debugfs.h"
#include "admin/module_notifier.h"
#include "admin/registry.h"
#include "device/account.h"
#include "device/chardev.h"
#include "device/config.h"
#include "device/file.h"
#include "engine/system.h"
#include "engine/wheel.h"

static unsigned long long tick_ns = 10 * NSEC_PER_MSEC;
module_param(tick_ns, ullong, 0444);
MODULE_PARM_DESC(tick_ns,
		 "Tick of a default wheel in ns, 50000 to 3600000000000 (default 10000000)");

static unsigned long long slots = 4096;
module_param(slots, ullong, 0444);
MODULE_PARM_DESC(slots,
		 "Slots of a default wheel, 1 to 1048576, rounded up to a power of two (default 4096)");

static unsigned long long levels = 1;
module_param(levels, ullong, 0444);
MODULE_PARM_DESC(levels,
		 "Levels of a default wheel, 1 to 8: more than one for many far deadlines (default 1)");

static unsigned long long max_timeouts = 65536;
module_param(max_timeouts, ullong, 0444);
MODULE_PARM_DESC(max_timeouts,
		 "Timeouts that an open file may hold, 1 to 16777216 (default 65536)");

static unsigned long long max_user_wheels = 16;
module_param(max_user_wheels, ullong, 0444);
MODULE_PARM_DESC(max_user_wheels,
		 "Private wheels that an account may have, 0 to 65536 (default 16)");

module_param_named(max_user_bytes, hwheel_account_max_bytes, ullong, 0644);
MODULE_PARM_DESC(max_user_bytes,
		 "Bytes that an account may hold (default 0 when loaded: 1/25 of low memory)");

static unsigned long long max_pending;
module_param(max_pending, ullong, 0444);
MODULE_PARM_DESC(max_pending,
		 "Timeouts that may be pending on a default wheel, 0 for no limit (default 0)");

static unsigned long long worker_percent = 50;
module_param(worker_percent, ullong, 0444);
MODULE_PARM_DESC(worker_percent,
		 "CPU time of all workers of an account, in percent of one CPU, 1 to 1000000, beyond a burst of 100 ms (default 50)");

static const struct range_check {
	const char			*name;
	const unsigned long long	*value;
	unsigned long long		min;
	unsigned long long		max;
} checks[] = {
	{ "tick_ns",	  &tick_ns,	 HWHEEL_MIN_TICK_NS, HWHEEL_MAX_TICK_NS },
	{ "slots",	  &slots,	 1,		     HWHEEL_MAX_SLOTS },
	{ "levels",	  &levels,	 1,		     HWHEEL_MAX_LEVELS },
	{ "max_timeouts", &max_timeouts, 1,		     HWHEEL_FILE_MAX },
	{ "max_user_wheels", &max_user_wheels, 0,	     65536 },
	{ "max_pending",  &max_pending,	 0,		     S64_MAX },
	{ "worker_percent", &worker_percent, 1,		     1000000 },
};

static int check_parameters(void)
{
	const struct range_check *check;

	for (check = checks; check < checks + ARRAY_SIZE(checks); check++) {
		if (*check->value >= check->min && *check->value <= check->max)
			continue;
		pr_err("%s=%llu is out of range %llu..%llu\n", check->name,
		       *check->value, check->min, check->max);
		return -EINVAL;
	}
	return 0;
}

static int __init hwheel_init(void)
{
	struct hwheel_params params = {
		.max_pending	= max_pending,
		.tick_ns	= tick_ns,
		.slots		= slots,
		.levels		= levels,
	};
	int err;

	err = check_parameters() ?: hwheel_module_notifier_init();
	if (err)
		return err;
	err = hwheel_debugfs_init();
	hwheel_registry_init();
	err = err ?: hwheel_system_init();
	if (err)
		goto exit_debugfs;
	err = hwheel_account_init(&params, worker_percent);
	if (err)
		goto exit_debugfs;
	hwheel_config_init(max_user_wheels);
	err = hwheel_chardev_init(max_timeouts);
	if (err)
		goto exit_account;
	return 0;

exit_account:
	hwheel_account_exit();
exit_debugfs:
	/* The system wheel and those of other built-in code go on, and stay registered. */
	if (IS_BUILTIN(CONFIG_HWHEEL))
		return err;
	hwheel_module_notifier_exit();
	hwheel_system_exit();
	hwheel_debugfs_exit();
	return err;
}
module_init(hwheel_init);

static void __exit hwheel_exit(void)
{
	hwheel_chardev_exit();
	hwheel_account_exit();
	hwheel_module_notifier_exit();
	hwheel_system_exit();
	hwheel_registry_exit();
	hwheel_debugfs_exit();
}
module_exit(hwheel_exit);

MODULE_DESCRIPTION("Hashed wheel timer for very many, mostly cancelled timeouts");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
