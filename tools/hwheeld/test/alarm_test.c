// SPDX-License-Identifier: GPL-2.0-only
/* Alarms on a wheel that has room for two; without the module it is in the process. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "kselftest_harness.h"

#include "clock/alarm.h"
#include "clock/now.h"

#define ROOM	2
#define ALARMS	1000

static struct alarm *alarms[ALARMS];
static uint64_t due[ALARMS];
static int rung[ALARMS], order[ALARMS], rings, early;

static void ring(void *owner, uint64_t at_ns)
{
	long i = (long)(intptr_t)owner;

	early += now_ns() < due[i] || at_ns < due[i];
	rung[i]++;
	order[rings++ % ALARMS] = (int)i;
}

static void set_at(int i, uint64_t at_ns)
{
	due[i] = at_ns;
	alarm_set(&alarms[i], at_ns, ring, (void *)(intptr_t)i);
}

static void set(int i, uint64_t delay_ns)
{
	set_at(i, now_ns() + delay_ns);
}

/* As the loop of the daemon */
static void wait_for(int count)
{
	struct pollfd wheel = { .fd = alarm_fd(), .events = POLLIN };

	while (rings < count) {
		poll(&wheel, 1, alarm_wait_ms());
		alarm_reap();
	}
}

FIXTURE(alarm)
{
	char unused;
};

FIXTURE_SETUP(alarm)
{
	(void)self;
	ASSERT_EQ(0, alarm_open(NS_PER_MS, ROOM));
}

FIXTURE_TEARDOWN(alarm)
{
	(void)self;
	for (int i = 0; i < ALARMS; i++)
		alarm_clear(&alarms[i]);
	alarm_reap();
	EXPECT_EQ(0, alarm_beside());
	EXPECT_EQ(-1, alarm_wait_ms());
	EXPECT_EQ(0, early);
	alarm_close();
}

TEST_F(alarm, those_without_room_ring_in_time)
{
	uint64_t now = now_ns();

	set(0, 3600 * NS_PER_S);
	set(1, 3600 * NS_PER_S);
	EXPECT_EQ(0, alarm_beside());
	for (int i = 2; i < ALARMS; i++)
		set_at(i, now + (uint64_t)(ALARMS - i) * NS_PER_MS / 10);
	EXPECT_EQ(ALARMS - ROOM, alarm_beside());
	wait_for(ALARMS - ROOM);
	for (int i = 0; i < ALARMS - ROOM; i++)
		EXPECT_EQ(ALARMS - 1 - i, order[i]);
	for (int i = 0; i < ALARMS; i++) {
		EXPECT_EQ(i >= ROOM, rung[i]);
		EXPECT_EQ(i < ROOM, !!alarms[i]);
	}
}

TEST_F(alarm, the_earliest_gets_the_room_that_others_leave)
{
	for (int i = 0; i < 4; i++)
		set(i, 3600 * NS_PER_S);
	set(3, 1800 * NS_PER_S);
	EXPECT_EQ(2, alarm_beside());
	alarm_clear(&alarms[0]);
	set(4, NS_PER_MS);
	wait_for(1);
	EXPECT_EQ(4, order[0]);
	while (alarm_beside() > 1) {
		poll(NULL, 0, alarm_wait_ms());
		alarm_reap();
	}
	alarm_clear(&alarms[2]);
	EXPECT_EQ(0, alarm_beside());
	EXPECT_EQ(1, rings);
}

TEST_F(alarm, one_without_room_is_set_anew_and_cleared)
{
	for (int i = 0; i < 5; i++)
		set(i, NS_PER_S / 10);
	set(2, 3600 * NS_PER_S);
	set(3, NS_PER_MS);
	alarm_clear(&alarms[4]);
	wait_for(3);
	EXPECT_EQ(1, rung[3]);
	EXPECT_EQ(0, rung[2]);
	EXPECT_EQ(0, rung[4]);
}

/* Both are due; the first one clears the other, or sets it anew. */
static void clear_next(void *owner, uint64_t at_ns)
{
	int i = (int)(intptr_t)owner;

	ring(owner, at_ns);
	alarm_clear(&alarms[i + 1]);
	set(i + 2, NS_PER_MS);
}

TEST_F(alarm, one_that_is_due_is_cleared_or_set_anew)
{
	for (int i = 0; i < ROOM; i++)
		set(i, 3600 * NS_PER_S);
	alarm_set(&alarms[2], now_ns() + 1, clear_next, (void *)2);
	alarm_set(&alarms[3], now_ns() + 2, ring, (void *)3);
	alarm_set(&alarms[4], now_ns() + 3, ring, (void *)4);
	poll(NULL, 0, 1);
	wait_for(2);
	EXPECT_EQ(2, order[0]);
	EXPECT_EQ(4, order[1]);
	EXPECT_EQ(0, rung[3]);
	EXPECT_EQ(1, rung[4]);
}

TEST_HARNESS_MAIN
