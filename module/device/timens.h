/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_TIMENS_H
#define _HWHEEL_TIMENS_H

#include <linux/types.h>

struct hwheel;

/**
 * struct hwheel_timens - how much more the clocks of a time namespace show than ours, in ns
 * @monotonic: CLOCK_MONOTONIC
 * @boottime:  CLOCK_BOOTTIME
 */
struct hwheel_timens {
	s64	monotonic;
	s64	boottime;
};

void hwheel_timens_init(struct hwheel_timens *timens);
s64 hwheel_timens_offset(const struct hwheel_timens *timens, const struct hwheel *wheel);
u64 hwheel_timens_to_user(const struct hwheel_timens *timens,
			  const struct hwheel *wheel, u64 ns);
u64 hwheel_timens_from_user(const struct hwheel_timens *timens,
			    const struct hwheel *wheel, u64 ns);

#endif /* _HWHEEL_TIMENS_H */
