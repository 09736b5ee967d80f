// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU time that workers take together: the burst, the share, and whose turn it is. Computing takes
 * no simulated time, so callbacks say how long they took.
 */
#include "../sim.h"
#include "engine/bandwidth.h"

#define MS(n)		((n) * (u64)NSEC_PER_MSEC)
#define PERCENT		50
#define BURST		(HWHEEL_BURST_NS * 100 / PERCENT)

/* Workers use it until a test's wheels are gone. */
static struct hwheel_bandwidth bandwidth;

/* The burst was not used for long. */
#define START		MS(100000)

static void the_burst_is_free(struct kunit *test)
{
	u64 place = 0, begin = 0, used;

	hwheel_bandwidth_init(&bandwidth, PERCENT);
	for (used = 0; used < HWHEEL_BURST_NS; used += MS(20)) {
		begin = hwheel_bandwidth_take(&bandwidth, START, MS(20), &place);
		KUNIT_EXPECT_LE(test, begin, START);
	}
	KUNIT_EXPECT_EQ(test, begin, START);
	begin = hwheel_bandwidth_take(&bandwidth, START, MS(20), &place);
	KUNIT_EXPECT_EQ(test, begin, START + MS(40));
}

/* Without the burst, one place begins where another ends. */
static void places_follow_each_other(struct kunit *test)
{
	u64 first = 0, second = 0, used;

	hwheel_bandwidth_init(&bandwidth, PERCENT);
	used = HWHEEL_BURST_NS;
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_take(&bandwidth, START, used, &first), START);
	/* The place is as long as what came before; this one uses 5 ms of it. */
	KUNIT_EXPECT_EQ(test, first, 2 * used);
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_take(&bandwidth, START, MS(10), &second),
			START + 2 * used + MS(20));
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_take(&bandwidth, START, MS(5), &first),
			START + MS(20) + second + MS(10));
	KUNIT_EXPECT_EQ(test, second, MS(20));
	KUNIT_EXPECT_EQ(test, first, MS(10));
}

/* A worker that uses little gives its place back, and takes none. */
static void who_uses_little_takes_no_place(struct kunit *test)
{
	u64 place = 0;

	hwheel_bandwidth_init(&bandwidth, PERCENT);
	hwheel_bandwidth_take(&bandwidth, START, HWHEEL_BURST_NS, &place);
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_take(&bandwidth, START, 0, &place), START);
	KUNIT_EXPECT_EQ(test, place, 0);
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_take(&bandwidth, START, MS(1) - 1, &place),
			START + MS(2) - 2);
	KUNIT_EXPECT_EQ(test, place, 0);
}

static void the_burst_comes_back(struct kunit *test)
{
	u64 place = 0;

	hwheel_bandwidth_init(&bandwidth, PERCENT);
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_whole_in(&bandwidth, 0), 0);
	hwheel_bandwidth_take(&bandwidth, START, MS(30), &place);
	hwheel_bandwidth_take(&bandwidth, START, 0, &place);
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_whole_in(&bandwidth, START), MS(60));
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_whole_in(&bandwidth, START + MS(59)), MS(1));
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_whole_in(&bandwidth, START + MS(60)), 0);
	/* And becomes no larger. */
	KUNIT_EXPECT_EQ(test, hwheel_bandwidth_take(&bandwidth, 2 * START, 0, &place),
			2 * START - BURST);
}

/* Workers. The scheduler's sum is the worker's own, and here nobody else adds to it. */
static void burn(struct sim_timeout *sim)
{
	current->se.sum_exec_runtime += *(u64 *)sim->data;
	hwheel_arm(&sim->timeout, 0);
}

static struct sim_timeout *burner(struct kunit *test, u64 *each)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	hwheel_bandwidth_join(wheel, &bandwidth);
	sim->then = burn;
	sim->data = each;
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, 0), 0);
	return sim;
}

/* A span in which they may burn a burst and their share; a few passes more or less end in it */
#define SPAN	(10ULL * NSEC_PER_SEC)

static void expect_share(struct kunit *test, u64 burnt, u64 in_turn)
{
	u64 share = HWHEEL_BURST_NS + SPAN * PERCENT / 100;

	KUNIT_EXPECT_LE(test, burnt, share + in_turn);
	KUNIT_EXPECT_GE(test, burnt + in_turn, share);
}

static void a_worker_takes_its_share(struct kunit *test)
{
	static u64 each = MS(20);
	struct sim_timeout *sim;

	hwheel_bandwidth_init(&bandwidth, PERCENT);
	sim = burner(test, &each);
	test_sleep(sim_wheel_of(sim), SPAN);
	expect_share(test, sim->expired * each, 4 * each);
	KUNIT_EXPECT_GT(test, atomic64_read(&bandwidth.throttled), 0);
	/* Until now it mostly waits. */
	KUNIT_EXPECT_GT(test, atomic64_read(&bandwidth.throttled_ns), SPAN / 2);
}

#define BURNERS	16

static void workers_share(struct kunit *test)
{
	struct sim_timeout *sims[BURNERS];
	unsigned int i, least = UINT_MAX, most = 0, sum = 0;
	static u64 each = MS(10);

	hwheel_bandwidth_init(&bandwidth, PERCENT);
	for (i = 0; i < BURNERS; i++)
		sims[i] = burner(test, &each);
	test_sleep(sim_wheel_of(sims[0]), SPAN);
	for (i = 0; i < BURNERS; i++) {
		least = min(least, sims[i]->expired);
		most = max(most, sims[i]->expired);
		sum += sims[i]->expired;
	}
	expect_share(test, sum * each, 2 * BURNERS * each);
	KUNIT_EXPECT_LE(test, most - least, 2);
}

/* With 4 % of the time nobody waits, and nothing is late. */
static void who_uses_little_does_not_wait(struct kunit *test)
{
	static u64 each = NSEC_PER_MSEC * 4 / 10;
	struct sim_timeout *sim;

	hwheel_bandwidth_init(&bandwidth, 5);
	sim = burner(test, &each);
	test_sleep(sim_wheel_of(sim), SPAN);
	KUNIT_EXPECT_GE(test, sim->expired, SPAN / SIM_TICK - 2);
	KUNIT_EXPECT_EQ(test, atomic64_read(&bandwidth.throttled), 0);
}

/* Whoever stops a wheel does not wait until its worker has paid. */
static void stop_ends_the_wait(struct kunit *test)
{
	static u64 each = MS(100000);
	struct sim_timeout *sim;
	struct hwheel *wheel;
	u64 before;

	hwheel_bandwidth_init(&bandwidth, PERCENT);
	sim = burner(test, &each);
	wheel = sim_wheel_of(sim);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	before = test_now(wheel);
	KUNIT_EXPECT_GE(test, hwheel_stop(wheel, NULL, NULL), 0);
	KUNIT_EXPECT_LT(test, test_now(wheel) - before, SIM_TICK);
	KUNIT_EXPECT_EQ(test, atomic64_read(&bandwidth.throttled), 1);
}

static void burn_once(struct sim_timeout *sim)
{
	current->se.sum_exec_runtime += *(u64 *)sim->data;
}

/* A worker that sleeps holds no place, and one that ends has paid: else short lives were free. */
static void sleepers_hold_no_place(struct kunit *test)
{
	static u64 each = MS(50);
	struct sim_timeout *sim;
	struct hwheel *wheel;
	u64 owes;

	hwheel_bandwidth_init(&bandwidth, PERCENT);
	sim = burner(test, &each);
	sim->then = burn_once;
	wheel = sim_wheel_of(sim);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&sim->timeout, 0), 0);
	sim_settle(wheel);
	KUNIT_EXPECT_EQ(test, sim->expired, 2);
	KUNIT_EXPECT_EQ(test, wheel->place, 0);
	owes = hwheel_bandwidth_whole_in(&bandwidth, test_now(wheel));
	KUNIT_EXPECT_LE(test, owes, MS(100));
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, NULL, NULL), 0);
	/* The second pass took as much as the first one, and was not paid. */
	owes = hwheel_bandwidth_whole_in(&bandwidth, test_now(wheel));
	KUNIT_EXPECT_GT(test, owes, MS(100));
	KUNIT_EXPECT_LE(test, owes, MS(200));
}

static struct kunit_case bandwidth_cases[] = {
	KUNIT_CASE(the_burst_is_free),
	KUNIT_CASE(places_follow_each_other),
	KUNIT_CASE(who_uses_little_takes_no_place),
	KUNIT_CASE(the_burst_comes_back),
	KUNIT_CASE(a_worker_takes_its_share),
	KUNIT_CASE(workers_share),
	KUNIT_CASE(who_uses_little_does_not_wait),
	KUNIT_CASE(stop_ends_the_wait),
	KUNIT_CASE(sleepers_hold_no_place),
	{}
};

static struct kunit_suite bandwidth_suite = {
	.name		= "hwheel_bandwidth",
	.test_cases	= bandwidth_cases,
};

kunit_test_suite(bandwidth_suite);
