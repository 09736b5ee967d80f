// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lives that timers have.
 */
#include "bench.h"

const struct bench_life bench_lives[BENCH_LIVES] = {
	{
		.name = "arm_cancel_queued",
		.steps = { BENCH_ARM, BENCH_CANCEL_QUEUED, BENCH_DROP },
	}, {
		.name = "arm_at_cancel_queued",
		.steps = { BENCH_ARM_AT, BENCH_CANCEL_QUEUED, BENCH_DROP },
	}, {
		.name = "arm_cancel_filed",
		.steps = { BENCH_ARM, BENCH_DRAIN, BENCH_CANCEL_FILED, BENCH_UNLINK },
	}, {
		.name = "arm_at_cancel_filed",
		.steps = { BENCH_ARM_AT, BENCH_DRAIN, BENCH_CANCEL_FILED, BENCH_UNLINK },
	}, {
		.name = "arm_expire", .brief = true,
		.steps = { BENCH_ARM, BENCH_DRAIN, BENCH_EXPIRE },
	}, {
		.name = "arm_at_expire", .brief = true,
		.steps = { BENCH_ARM_AT, BENCH_DRAIN, BENCH_EXPIRE },
	}, {
		.name = "mod_at_expire", .brief = true,
		.steps = { BENCH_MOD_AT, BENCH_DRAIN, BENCH_EXPIRE },
	}, {
		.name = "mod_jiffies_expire", .brief = true,
		.steps = { BENCH_MOD_JIFFIES, BENCH_DRAIN, BENCH_EXPIRE },
	}, {
		.name = "refresh10_cancel",
		.steps = { BENCH_ARM_AT, BENCH_DRAIN,
			   BENCH_REFRESH_LATER, BENCH_REFRESH_LATER, BENCH_REFRESH_LATER,
			   BENCH_REFRESH_LATER, BENCH_REFRESH_LATER, BENCH_REFRESH_LATER,
			   BENCH_REFRESH_LATER, BENCH_REFRESH_LATER, BENCH_REFRESH_LATER,
			   BENCH_REFRESH_LATER, BENCH_CANCEL_FILED, BENCH_UNLINK },
	}, {
		.steps = { BENCH_ARM_AT, BENCH_DRAIN, BENCH_REFRESH_LATER_IN,
			   BENCH_MOD_LATER, BENCH_MOD_JIFFIES_LATER,
			   BENCH_REFRESH_EARLIER, BENCH_MOVE },
	}, {
		.steps = { BENCH_ARM_LIMITED, BENCH_REFRESH_EARLIER_QUEUED },
	}, {
		.brief = true,
		.steps = { BENCH_ARM_AT, BENCH_DRAIN, BENCH_REFILE },
	},
};
