// SPDX-License-Identifier: GPL-2.0-only
/*
 * Setting up a timeout, and ending one without its owner.
 *
 * The wheel knows by address whose callbacks are under way. To set up a timeout does not change
 * that: a callback may free its timeout, and another CPU may already wait for the callback.
 *
 * Models: halt.pml in selftests/models/.
 */
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/hwheel.h>

#include "debug_objects.h"
#include "state.h"
#include "wheel.h"

/**
 * hwheel_timeout_init - set up a timeout, which then is idle
 * @timeout: in the caller's object; not in use
 * @wheel:   the wheel it will be armed on, always this one
 * @ops:     what to do with it; must stay valid as long as the timeout
 *
 * With CONFIG_DEBUG_OBJECTS the kernel names a timeout that is set up again while the wheel
 * refers to it, and with CONFIG_DEBUG_OBJECTS_FREE one whose memory is freed then.
 *
 * If @ops has no expire op, the kernel warns, and arming the timeout returns -EINVAL.
 *
 * A callback may free its timeout before it returns. To the wheel, a timeout that anybody sets
 * up at the same address before the callback returns is still the one whose callback runs: see
 * struct hwheel_timeout_ops.
 *
 * Context: any; nobody else uses the timeout yet.
 */
void hwheel_timeout_init(struct hwheel_timeout *timeout, struct hwheel *wheel,
			 const struct hwheel_timeout_ops *ops)
{
	hwheel_debug_init(timeout);
	*timeout = (struct hwheel_timeout) {
		.word = ATOMIC64_INIT(HWHEEL_IDLE), .wheel = wheel, .ops = ops,
	};
	if (WARN_ONCE(!ops->expire, "wheel %s: a timeout without an expire op, by %pS\n",
		      wheel->name, __builtin_return_address(0)))
		atomic64_set(&timeout->word, HWHEEL_IDLE | HWHEEL_CLOSED);
	if (ops->due && !READ_ONCE(wheel->asks))
		WRITE_ONCE(wheel->asks, true);
}
EXPORT_SYMBOL_GPL(hwheel_timeout_init);

/*
 * Ends a timeout, unless its QUEUED bit is not @queued. Returns the word that it had,
 * or one that says idle.
 */
u64 hwheel_timeout_end(struct hwheel_timeout *timeout, u64 queued)
{
	s64 old = atomic64_read_acquire(&timeout->word);
	u64 new;

	hwheel_debug_unreference(timeout);
	do {
		if ((old & HWHEEL_QUEUED) != queued) {
			hwheel_debug_reference(timeout);
			return HWHEEL_IDLE;
		}
		new = old & ~(u64)HWHEEL_QUEUED;
		if (hwheel_word_state(old) == HWHEEL_PENDING)
			new |= HWHEEL_CANCELLED;
	} while (!atomic64_try_cmpxchg(&timeout->word, &old, new));

	return old;
}
