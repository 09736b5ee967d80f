// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times as programs see them: on the clocks of the opener's time namespace.
 */
#include <linux/minmax.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>

#include "engine/state.h"
#include "engine/wheel.h"
#include "timens.h"

#ifdef CONFIG_TIME_NS
/* That of the caller */
void hwheel_timens_init(struct hwheel_timens *timens)
{
	const struct timens_offsets *ours = &current->nsproxy->time_ns->offsets;

	timens->monotonic = timespec64_to_ns(&ours->monotonic);
	timens->boottime = timespec64_to_ns(&ours->boottime);
}
#else
void hwheel_timens_init(struct hwheel_timens *timens)
{
}
#endif

/* Of the wheel's clock */
s64 hwheel_timens_offset(const struct hwheel_timens *timens, const struct hwheel *wheel)
{
	return wheel->clock == CLOCK_BOOTTIME ? timens->boottime : timens->monotonic;
}

/* A time before the clock's zero is as past as zero; nothing wraps. */
u64 hwheel_timens_from_user(const struct hwheel_timens *timens,
			    const struct hwheel *wheel, u64 ns)
{
	s64 offset = hwheel_timens_offset(timens, wheel);

	if (offset > 0)
		return ns - min_t(u64, ns, offset);
	return min(ns, HWHEEL_NEVER) + -offset;
}

u64 hwheel_timens_to_user(const struct hwheel_timens *timens,
			  const struct hwheel *wheel, u64 ns)
{
	s64 offset = hwheel_timens_offset(timens, wheel);

	return offset < 0 ? ns - min_t(u64, ns, -offset) : ns + offset;
}
