// SPDX-License-Identifier: GPL-2.0-only
/*
 * Setting up a timeout.
 *
 * The wheel knows by address whose callbacks are under way. A callback may free its timeout
 * and go on, and what it allocates then may come to be at the same address: that is another
 * one, of which no callback is under way, which only that callback can tell.
 */
#include <linux/export.h>
#include <linux/hwheel.h>
#include <linux/preempt.h>

#include "callback.h"
#include "executor.h"
#include "timeout.h"
#include "wheel.h"

static void forget(struct hwheel *wheel, const struct hwheel_timeout *timeout)
{
	if (hwheel_is_owner(wheel))
		hwheel_callback_forget(wheel, timeout);
	else
		hwheel_executor_forget(wheel, timeout);
}

/**
 * hwheel_timeout_init - set up a timeout, which then is idle
 * @timeout: in the caller's object; not in use
 * @wheel:   the wheel it will be armed on, always this one
 * @ops:     what to do with it; must stay valid as long as the timeout
 *
 * In memory that a callback of this wheel freed before it returned, it is a timeout like any
 * other to that callback, if it was set up there. To others, until that has returned, it is
 * one whose callback is under way: which hwheel_cancel_sync() waits for.
 *
 * Context: any; nobody else uses the timeout yet.
 */
void hwheel_timeout_init(struct hwheel_timeout *timeout, struct hwheel *wheel,
			 const struct hwheel_timeout_ops *ops)
{
	*timeout = (struct hwheel_timeout) {
		.word = ATOMIC64_INIT(HWHEEL_IDLE), .wheel = wheel, .ops = ops,
	};
	if (ops->due && !READ_ONCE(wheel->asks))
		WRITE_ONCE(wheel->asks, true);
	if (in_task())
		forget(wheel, timeout);
}
EXPORT_SYMBOL_GPL(hwheel_timeout_init);
