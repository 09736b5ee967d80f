/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_EXECUTOR_H
#define _HWHEEL_EXECUTOR_H

#include "wheel.h"

int hwheel_executor_create(struct hwheel *wheel, struct workqueue_struct *queue,
			   gfp_t gfp);
void hwheel_executor_free(struct hwheel *wheel);

bool hwheel_executor_hand_over(struct hwheel *wheel,
			       struct hwheel_timeout *timeout, s64 *word);
void hwheel_executor_start(struct hwheel *wheel);
bool hwheel_executor_defer(struct hwheel *wheel, struct hwheel_timeout *timeout);

bool hwheel_executor_recall(struct hwheel *wheel,
			    struct hwheel_timeout *timeout);
bool hwheel_executor_runs(const struct hwheel *wheel,
			  const struct hwheel_timeout *timeout);
bool hwheel_executor_calls(const struct hwheel *wheel);
bool hwheel_executor_calls_for(const struct hwheel *wheel,
			       const struct hwheel_timeout *timeout);
bool hwheel_executor_is_idle(struct hwheel *wheel);

/* Has the release op to wait for a callback? Then the timeout is submitted after it. */
static inline bool hwheel_executor_defers(struct hwheel *wheel,
					  struct hwheel_timeout *timeout)
{
	return wheel->executor && hwheel_executor_defer(wheel, timeout);
}

#endif /* _HWHEEL_EXECUTOR_H */
