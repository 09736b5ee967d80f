// SPDX-License-Identifier: GPL-2.0-only
/*
 * mapped_life: arms mapped timeouts, of which some are cancelled, some expire and the others are
 * stopped. It waits for the worker after each step, so the worker acts on a record exactly
 * once for each push: trace_test.sh knows how many tracepoints that makes.
 */
#include "../abi/map.h"

enum { N = 120, CANCELLED = 50, EXPIRING = 20 };

static int await_all_filed(const struct map *m)
{
	__u32 i;
	int ret = 0;

	for (i = 0; !ret && i < N; i++)
		ret = map_await_filed(m, i);
	return ret;
}

FIXTURE(mapped_life)
{
	struct map map;
};

FIXTURE_SETUP(mapped_life)
{
	ASSERT_EQ(0, map_open_shared(&self->map, N, 1));
}

FIXTURE_TEARDOWN(mapped_life)
{
	ASSERT_EQ(0, map_close(&self->map));
}

TEST_F(mapped_life, of_each_kind)
{
	unsigned int seen[N] = { 0 };
	struct map *m = &self->map;
	__u32 i;

	ASSERT_EQ(0, map_arm_many(m, N, HWHEEL_MAP_NEVER));
	ASSERT_EQ(0, await_all_filed(m));
	for (i = 0; i < CANCELLED; i++)
		ASSERT_EQ(0, map_cancel(m, 0, i));
	ASSERT_EQ(0, await_all_filed(m));
	for (i = CANCELLED; i < CANCELLED + EXPIRING; i++)
		ASSERT_EQ(0, map_refresh(m, 0, i, 0));
	ASSERT_EQ(0, map_collect(m, seen, N, EXPIRING));
	ASSERT_EQ(0, await_all_filed(m));
	ASSERT_EQ(N - CANCELLED - EXPIRING, stop(m->fd));
}

TEST_HARNESS_MAIN
