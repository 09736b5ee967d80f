// SPDX-License-Identifier: GPL-2.0-only
/*
 * What userspace is told about a file and its wheel: INFO, STATS and /proc/PID/fdinfo.
 */
#include <linux/build_bug.h>
#include <linux/hwheel.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include <uapi/linux/hwheel.h>

#include "info.h"
#include "set.h"
#include "wheel.h"

#define FEATURES	(HWHEEL_FEATURE_QUERY | HWHEEL_FEATURE_SUBMIT |	\
			 HWHEEL_FEATURE_CONFIG | HWHEEL_FEATURE_STOP |	\
			 HWHEEL_FEATURE_STATS |	\
			 (HWHEEL_SHARED_WORKS ? HWHEEL_FEATURE_MMAP : 0))

static const u32 kinds[] = {
	[HWHEEL_IS_SIMPLE]	 = HWHEEL_KIND_SIMPLE,
	[HWHEEL_IS_HASHED]	 = HWHEEL_KIND_HASHED,
	[HWHEEL_IS_HIERARCHICAL] = HWHEEL_KIND_HIERARCHICAL,
};

void hwheel_info_get(const struct hwheel_set *set, struct hwheel_info *info)
{
	const struct hwheel *wheel = hwheel_set_wheel(set);

	*info = (struct hwheel_info) {
		.features	= FEATURES,
		.tick_ns	= wheel->tick,
		.max_timeouts	= READ_ONCE(set->max),
		.max_pending	= wheel->max_pending,
		.slots		= wheel->slots.mask + 1,
		.levels		= wheel->slots.levels,
		.kind		= kinds[hwheel_kind(wheel)],
		.clock		= wheel->clock,
		.max_submit	= HWHEEL_SUBMIT_MAX,
		.own_wheel	= wheel != set->shared_wheel,
	};
}

static void tell_set(struct hwheel_set *set, struct hwheel_statistics *stats)
{
	struct hwheel_set_counts counts;

	hwheel_set_get_counts(set, &counts);
	*stats = (struct hwheel_statistics) {
		.held		= counts.held,
		.pending	= counts.pending,
		.events		= counts.events,
		.armed		= counts.armed,
		.refreshed	= counts.refreshed,
		.cancelled	= counts.cancelled,
		.expired	= counts.expired,
		.stopped	= counts.stopped,
	};
}

static void tell_wheel(const struct hwheel *wheel,
		       struct hwheel_statistics *stats)
{
	struct hwheel_stats of;

	hwheel_get_stats(wheel, &of);
	stats->wheel_pending		= of.pending;
	stats->wheel_armed		= of.armed;
	stats->wheel_refreshed_later	= of.refreshed_later;
	stats->wheel_refreshed_earlier	= of.refreshed_earlier;
	stats->wheel_cancelled_queued	= of.cancelled_queued;
	stats->wheel_cancelled_filed	= of.cancelled_filed;
	stats->wheel_expired		= of.expired;
	stats->wheel_passes		= of.passes;
	stats->wheel_visited		= of.visited;
	stats->wheel_moved		= of.moved;
	stats->wheel_wakeups		= of.wakeups;
	stats->wheel_drained		= of.drained;
	stats->wheel_drained_max	= of.drained_max;
	stats->wheel_lag		= of.lag;
	stats->wheel_lag_max		= of.lag_max;
	static_assert(sizeof(stats->wheel_lateness) == sizeof(of.lateness));
	memcpy(stats->wheel_lateness, of.lateness, sizeof(of.lateness));
}

void hwheel_info_statistics(struct hwheel_set *set,
			    struct hwheel_statistics *stats)
{
	tell_set(set, stats);
	tell_wheel(hwheel_set_wheel(set), stats);
}

void hwheel_info_show(struct hwheel_set *set, struct seq_file *m)
{
	const struct hwheel *wheel = hwheel_set_wheel(set);
	struct hwheel_set_counts counts;

	hwheel_set_get_counts(set, &counts);
	seq_printf(m, "wheel:\t%u\n", wheel->id);
	seq_printf(m, "clockid:\t%d\n", wheel->clock);
	seq_printf(m, "tick_ns:\t%llu\n", wheel->tick);
	seq_printf(m, "max_timeouts:\t%u\n", READ_ONCE(set->max));
	seq_printf(m, "pending:\t%lu\n", counts.pending);
	seq_printf(m, "events:\t%lu\n", counts.events);
	seq_printf(m, "stopped:\t%d\n", READ_ONCE(set->stopped));
}
