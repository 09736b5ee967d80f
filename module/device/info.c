// SPDX-License-Identifier: GPL-2.0-only
/*
 * What userspace is told about a file and its wheel: INFO, STATS and /proc/PID/fdinfo.
 */
#include <linux/build_bug.h>
#include <linux/hwheel.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include <uapi/linux/hwheel.h>

#include "account.h"
#include "engine/wheel.h"
#include "file.h"
#include "info.h"
#include "mapped/mapping.h"

#define FEATURES	(HWHEEL_FEATURE_QUERY | HWHEEL_FEATURE_SUBMIT |	\
			 HWHEEL_FEATURE_CONFIG | HWHEEL_FEATURE_STOP |	\
			 HWHEEL_FEATURE_STATS | HWHEEL_FEATURE_SET |	\
			 HWHEEL_FEATURE_WITHDRAW |	\
			 (hwheel_mmap_works() ? HWHEEL_FEATURE_MAP : 0))

static const u32 kinds[] = {
	[HWHEEL_IS_SIMPLE]	 = HWHEEL_KIND_SIMPLE,
	[HWHEEL_IS_HASHED]	 = HWHEEL_KIND_HASHED,
	[HWHEEL_IS_HIERARCHICAL] = HWHEEL_KIND_HIERARCHICAL,
};

void hwheel_info_get(const struct hwheel_file *file, struct hwheel_info *info)
{
	const struct hwheel_params *defaults = hwheel_account_params();
	const struct hwheel *wheel = hwheel_file_wheel(file);

	*info = (struct hwheel_info) {
		.features	= FEATURES,
		.tick_ns	= defaults->tick_ns,
		.max_timeouts	= READ_ONCE(file->max),
		.max_pending	= defaults->max_pending,
		.slots		= defaults->slots,
		.levels		= defaults->levels,
		.kind		= defaults->levels > 1 ? HWHEEL_KIND_HIERARCHICAL :
							 HWHEEL_KIND_HASHED,
		.clock		= CLOCK_MONOTONIC,
		.max_submit	= HWHEEL_SUBMIT_MAX,
		.max_user_bytes	= READ_ONCE(hwheel_account_max_bytes),
	};
	if (!wheel)
		return;
	info->tick_ns		= wheel->tick;
	info->max_pending	= wheel->max_pending;
	info->slots		= wheel->slots.mask + 1;
	info->levels		= wheel->slots.levels;
	info->kind		= kinds[hwheel_kind(wheel)];
	info->clock		= wheel->clock;
	info->own_wheel		= hwheel_file_has_own_wheel(file);
}

/*
 * The worker counts what programs submit, and sees nothing else of the records. Each count is exact
 * at some time; on 32 bits not while it passes a multiple of 2^32.
 */
static void get_mapped_counts(const struct hwheel_mapping *map,
			      struct hwheel_file_counts *counts)
{
	const struct hwheel_source_counts *of = &map->source.counts;

	*counts = (struct hwheel_file_counts) {
		.held		= READ_ONCE(map->memory.nr),
		.pending	= READ_ONCE(of->filed),
		.events		= hwheel_mapping_unread(map),
		.armed		= READ_ONCE(of->drained),
		.expired	= READ_ONCE(of->expired),
		.stopped	= READ_ONCE(of->stopped),
	};
}

static void get_counts(struct hwheel_file *file, struct hwheel_file_counts *counts)
{
	const struct hwheel_mapping *map = hwheel_file_mapping(file);

	if (map)
		get_mapped_counts(map, counts);
	else
		hwheel_file_get_counts(file, counts);
}

static void fill_file(struct hwheel_file *file, struct hwheel_file_stats *stats)
{
	const struct hwheel_bandwidth *bandwidth = &file->account->bandwidth;
	struct hwheel_file_counts counts;

	get_counts(file, &counts);
	*stats = (struct hwheel_file_stats) {
		.held		= counts.held,
		.pending	= counts.pending,
		.events		= counts.events,
		.armed		= counts.armed,
		.refreshed	= counts.refreshed,
		.cancelled	= counts.cancelled,
		.expired	= counts.expired,
		.stopped	= counts.stopped,
		.account_bytes	= hwheel_account_bytes(file->account),
		.account_throttled	= atomic64_read(&bandwidth->throttled),
		.account_throttled_ns	= atomic64_read(&bandwidth->throttled_ns),
	};
}

static void fill_wheel(const struct hwheel *wheel,
		       struct hwheel_file_stats *stats)
{
	struct hwheel_stats of;

	hwheel_get_stats(wheel, &of);
	stats->wheel		= 1;
	stats->wheel_pending	= of.pending;
	stats->wheel_armed	= of.armed;
	stats->wheel_expired	= of.expired;
	stats->wheel_lag	= of.lag;
	static_assert(sizeof(stats->wheel_lateness) == sizeof(of.lateness));
	memcpy(stats->wheel_lateness, of.lateness, sizeof(of.lateness));
}

void hwheel_info_stats(struct hwheel_file *file, struct hwheel_file_stats *stats)
{
	const struct hwheel *wheel = hwheel_file_wheel(file);

	fill_file(file, stats);
	if (wheel)
		fill_wheel(wheel, stats);
}

void hwheel_info_show(struct hwheel_file *file, struct seq_file *m)
{
	const struct hwheel *wheel = hwheel_file_wheel(file);
	struct hwheel_file_counts counts;
	struct hwheel_info info;

	hwheel_info_get(file, &info);
	get_counts(file, &counts);
	seq_printf(m, "wheel:\t%u\n", wheel ? wheel->id : 0);
	seq_printf(m, "clockid:\t%d\n", info.clock);
	seq_printf(m, "tick_ns:\t%llu\n", info.tick_ns);
	seq_printf(m, "mapped:\t%d\n", !!hwheel_file_mapping(file));
	seq_printf(m, "max_timeouts:\t%u\n", READ_ONCE(file->max));
	seq_printf(m, "pending:\t%lu\n", counts.pending);
	seq_printf(m, "events:\t%lu\n", counts.events);
	seq_printf(m, "stopped:\t%d\n", READ_ONCE(file->stopped));
	seq_printf(m, "account_bytes:\t%llu\n", hwheel_account_bytes(file->account));
	seq_printf(m, "account_throttled_ns:\t%llu\n",
		   (u64)atomic64_read(&file->account->bandwidth.throttled_ns));
}
