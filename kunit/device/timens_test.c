// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times on the clocks of a time namespace.
 */
#include <linux/limits.h>

#include "../sim.h"
#include "device/timens.h"
#include "engine/state.h"

/* @user: the caller's time; @ours: that on the kernel's clock; @back: @ours as a caller's again */
static const struct offset_case {
	s64	offset;
	u64	user;
	u64	ours;
	u64	back;
} offset_cases[] = {
	{ 0, 0, 0, 0 },
	{ 0, 1234, 1234, 1234 },
	{ 0, HWHEEL_NEVER, HWHEEL_NEVER, HWHEEL_NEVER },
	{ 1000, 0, 0, 1000 },
	{ 1000, 999, 0, 1000 },
	{ 1000, 1000, 0, 1000 },
	{ 1000, 1001, 1, 1001 },
	{ 1000, U64_MAX, U64_MAX - 1000, U64_MAX },
	{ S64_MAX, S64_MAX, 0, S64_MAX },
	{ -1000, 0, 1000, 0 },
	{ -1000, 1, 1001, 1 },
	{ -1000, U64_MAX, HWHEEL_NEVER + 1000, HWHEEL_NEVER },
	{ -S64_MAX, U64_MAX, HWHEEL_NEVER + S64_MAX, HWHEEL_NEVER },
};

static void times_of_others_are_shifted_and_never_wrap(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_timens timens = {};
	const struct offset_case *c;

	for (c = offset_cases; c < offset_cases + ARRAY_SIZE(offset_cases); c++) {
		timens.monotonic = c->offset;
		KUNIT_EXPECT_EQ(test, c->ours,
				hwheel_timens_from_user(&timens, wheel, c->user));
		KUNIT_EXPECT_EQ(test, c->back,
				hwheel_timens_to_user(&timens, wheel, c->ours));
	}
}

static void our_past_is_not_before_their_zero(struct kunit *test)
{
	struct hwheel_timens timens = { .monotonic = -1000 };

	KUNIT_EXPECT_EQ(test, hwheel_timens_to_user(&timens, sim_wheel(test), 999), 0);
}

static void each_clock_has_its_offset(struct kunit *test)
{
	struct hwheel *boot = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .flags = HWHEEL_BOOTTIME,
	});
	struct hwheel_timens timens = { .monotonic = 1000, .boottime = 70 };
	struct hwheel *wheel = sim_wheel(test);

	KUNIT_EXPECT_EQ(test, hwheel_timens_to_user(&timens, wheel, 1), 1001);
	KUNIT_EXPECT_EQ(test, hwheel_timens_to_user(&timens, boot, 1), 71);
	KUNIT_EXPECT_EQ(test, hwheel_timens_from_user(&timens, boot, 1071), 1001);
}

static struct kunit_case timens_cases[] = {
	KUNIT_CASE(times_of_others_are_shifted_and_never_wrap),
	KUNIT_CASE(our_past_is_not_before_their_zero),
	KUNIT_CASE(each_clock_has_its_offset),
	{}
};

static struct kunit_suite timens_suite = {
	.name		= "hwheel_timens",
	.suite_init	= test_wait_for_timers,
	.test_cases	= timens_cases,
};

kunit_test_suite(timens_suite);
