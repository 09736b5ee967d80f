/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_WORK_H
#define _HWHEEL_WORK_H

#include <linux/hwheel.h>

#include "state.h"
#include "wheel.h"

/* What hwheel_work_recall() returns, beside 0 and 1: it is in no list, and QUEUED is set. */
#define HWHEEL_WORK_TO_RELEASE	2

/* [1] calls the work's release op. */
extern const struct hwheel_timeout_ops hwheel_work_ops[2];

static inline bool hwheel_is_work(const struct hwheel_timeout *timeout)
{
	return timeout->ops == &hwheel_work_ops[0] || timeout->ops == &hwheel_work_ops[1];
}

static inline struct hwheel_work *hwheel_work_of(const struct hwheel_timeout *timeout)
{
	return container_of(timeout, struct hwheel_work, timeout);
}

/* The word while no thread claims it, which none does for long */
static inline u64 hwheel_work_word(const struct hwheel_timeout *timeout)
{
	u64 word;

	while (hwheel_word_is_claimed(word = atomic64_read_acquire(&timeout->word)))
		cpu_relax();
	return word;
}

bool hwheel_work_hand_over(struct hwheel *wheel, struct hwheel_timeout *timeout, s64 *word);
int hwheel_work_recall(struct hwheel_timeout *timeout);

#endif /* _HWHEEL_WORK_H */
