/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ending the timeouts of one owner, on a wheel that goes on for others.
 */
#ifndef _HWHEEL_SWEEP_H
#define _HWHEEL_SWEEP_H

#include <linux/types.h>

struct hwheel;
struct hwheel_timeout;

/* Is it one of those to be ended? Called on the worker, and must not sleep. */
typedef bool hwheel_owns_t(const struct hwheel_timeout *timeout, const void *owner);

u64 hwheel_sweep(struct hwheel *wheel, hwheel_owns_t *owns, const void *owner);

/* For the worker */
bool hwheel_sweep_ends(struct hwheel *wheel, struct hwheel_timeout *timeout);

#endif /* _HWHEEL_SWEEP_H */
