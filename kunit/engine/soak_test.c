// SPDX-License-Identifier: GPL-2.0-only
/*
 * The soak: very many timeouts on each kind of wheel, in simulated time, and each is
 * accounted for: not early, not later than the edge that it is due on, not twice, and not
 * lost.
 *
 * The model test checks everything after each step. The soak checks a timeout when something
 * happens to it, and all of them once in a while, so that a hundred million take minutes. It
 * counts faults, and judges them at the end of a wheel.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/string.h>

#include "../sim.h"

#define NR_SOAKED	4096
#define BATCH		1024
#define LOOK_EVERY	16

/* The worker's wake-up latency: some looks at the clock */
#define LATENCY		(5 * NSEC_PER_USEC)

static unsigned long soak_timeouts = 1000000;
module_param(soak_timeouts, ulong, 0444);
MODULE_PARM_DESC(soak_timeouts, "KUnit soak: timeouts in all (default 1000000)");

static unsigned int soak_seed;
module_param(soak_seed, uint, 0444);
MODULE_PARM_DESC(soak_seed, "KUnit soak: where the random numbers start (default: anywhere)");

enum count {
	ARMED, ARMED_BY_CALLBACK, REFRESHED, CANCELLED, EXPIRED, HANDED_BACK, RELEASED,
	/* From here on none of them may be. */
	EARLY, LATE, TWICE, LOST, MISCOUNTED, REFUSED,
	NR_COUNTS
};

static const char * const count_names[] = {
	[ARMED]			= "armed",
	[ARMED_BY_CALLBACK]	= "of these by their own callbacks",
	[REFRESHED]		= "refreshes",
	[CANCELLED]		= "cancelled",
	[EXPIRED]		= "expired",
	[HANDED_BACK]		= "handed back by a stop",
	[RELEASED]		= "released",
	[EARLY]			= "early",
	[LATE]			= "late",
	[TWICE]			= "ended while not pending",
	[LOST]			= "lost",
	[MISCOUNTED]		= "miscounted by the wheel",
	[REFUSED]		= "answers that were wrong",
};

static_assert(ARRAY_SIZE(count_names) == NR_COUNTS);

/* Of all wheels */
static u64 totals[NR_COUNTS];

/**
 * struct soaked - a timeout, and what is known of it
 * @timeout:    the timeout
 * @soak:       what it is part of
 * @deadline:   as it was asked for
 * @latest:     the time of the edge on which it has to expire, or to be released
 * @pending:    it was armed, and has not ended
 * @unreleased: it was cancelled, and its release op is yet to be called
 */
struct soaked {
	struct hwheel_timeout	timeout;
	struct soak		*soak;
	u64			deadline;
	u64			latest;
	bool			pending;
	bool			unreleased;
};

/**
 * struct soak - a wheel and its timeouts; everything runs on one CPU, in turn
 * @wheel:   the wheel
 * @turn:    how long it takes to turn, in ns
 * @simple:  no delay may be longer than that
 * @rnd:     random numbers
 * @pending: how many are
 * @counts:  what happened
 * @soaked:  the timeouts
 */
struct soak {
	struct hwheel		*wheel;
	u64			turn;
	bool			simple;
	struct rnd_state	rnd;
	u64			pending;
	u64			counts[NR_COUNTS];
	struct soaked		soaked[NR_SOAKED];
};

static u64 below(struct soak *soak, u64 range)
{
	return mul_u64_u32_shr(range, prandom_u32_state(&soak->rnd), 32);
}

static void count_if(struct soak *soak, bool condition, enum count count)
{
	soak->counts[count] += condition;
}

/* Most are short, as in life; some take turns, and few as good as for ever. */
static u64 some_delay(struct soak *soak)
{
	u64 tick = soak->wheel->tick;
	u64 choice = below(soak, 64);

	if (choice < 32)
		return below(soak, 8 * tick);
	if (choice < 36)
		return 0;
	if (choice < 56 || soak->simple)
		return below(soak, soak->turn);
	return below(soak, choice < 63 ? 10 * soak->turn : SIM_DAY);
}

static void expect_at(struct soaked *s, u64 now, u64 deadline)
{
	const struct hwheel *wheel = s->soak->wheel;

	s->deadline = deadline;
	s->latest = sim_edge_time(wheel, sim_edge_due(wheel, max(deadline, now + 1)));
}

static void begin(struct soaked *s, u64 now, u64 deadline)
{
	count_if(s->soak, s->pending || s->unreleased, REFUSED);
	s->soak->counts[ARMED]++;
	s->soak->pending++;
	s->pending = true;
	expect_at(s, now, deadline);
}

static void end(struct soaked *s, enum count how)
{
	count_if(s->soak, !s->pending, TWICE);
	s->soak->counts[how]++;
	s->soak->pending -= s->pending;
	s->pending = false;
}

/* By its delay, or by its deadline: that is the same, as interrupts are off. */
static void arm(struct soaked *s, u64 now)
{
	u64 delay = some_delay(s->soak);
	int err;

	err = delay & 8 ? hwheel_arm(&s->timeout, delay) :
			  hwheel_arm_at(&s->timeout, now + delay);
	if (!err)
		begin(s, now, now + delay);
	else
		count_if(s->soak, err != -EBUSY || !s->unreleased, REFUSED);
}

static void refresh(struct soaked *s, u64 now)
{
	u64 delay = some_delay(s->soak);
	int err;

	err = delay & 8 ? hwheel_refresh(&s->timeout, delay) :
			  hwheel_refresh_at(&s->timeout, now + delay);
	count_if(s->soak, err, REFUSED);
	s->soak->counts[REFRESHED]++;
	expect_at(s, now, now + delay);
}

static void cancel(struct soaked *s, u64 now)
{
	count_if(s->soak, !hwheel_cancel(&s->timeout), REFUSED);
	end(s, CANCELLED);
	s->unreleased = s->timeout.ops->release;
	expect_at(s, now, now);
}

static void operate_on(struct soaked *s, u64 now)
{
	if (!s->pending)
		arm(s, now);
	else if (below(s->soak, 8) < 3)
		refresh(s, now);
	else
		cancel(s, now);
}

/* Interrupts are off, so that the wheel sees the same time as we do. */
static void operate(struct soak *soak)
{
	struct soaked *s = &soak->soaked[below(soak, NR_SOAKED)];
	unsigned long flags;

	local_irq_save(flags);
	operate_on(s, test_now(soak->wheel));
	local_irq_restore(flags);
}

static void arm_own(struct soaked *s)
{
	unsigned long flags;

	local_irq_save(flags);
	arm(s, test_now(s->soak->wheel));
	local_irq_restore(flags);
	s->soak->counts[ARMED_BY_CALLBACK]++;
}

static struct soaked *soaked_of(struct hwheel_timeout *timeout)
{
	return container_of(timeout, struct soaked, timeout);
}

static void expire(struct hwheel_timeout *timeout)
{
	struct soaked *s = soaked_of(timeout);
	struct soak *soak = s->soak;
	u64 now = test_now(soak->wheel);

	count_if(soak, now < s->deadline, EARLY);
	count_if(soak, now >= s->latest + LATENCY, LATE);
	end(s, EXPIRED);
	if (below(soak, 4) == 0)
		arm_own(s);
}

static void release(struct hwheel_timeout *timeout)
{
	struct soaked *s = soaked_of(timeout);

	count_if(s->soak, s->pending || !s->unreleased, TWICE);
	count_if(s->soak, test_now(s->soak->wheel) >= s->latest + LATENCY, LATE);
	s->soak->counts[RELEASED]++;
	s->unreleased = false;
}

static const struct hwheel_timeout_ops plain_ops = {
	.expire = expire,
};

static const struct hwheel_timeout_ops release_ops = {
	.expire = expire,
	.release = release,
};

static void hand_back(struct hwheel_timeout *timeout, void *data)
{
	end(soaked_of(timeout), HANDED_BACK);
}

static bool is_overdue(const struct soaked *s, u64 now)
{
	return (s->pending || s->unreleased) && now >= s->latest + LATENCY;
}

/* Each event that is due by now has happened; the wheel calls each pending timeout so. */
static void look_for_lost(struct soak *soak)
{
	u64 now = test_now(soak->wheel);
	unsigned int i;

	for (i = 0; i < NR_SOAKED; i++) {
		struct soaked *s = &soak->soaked[i];

		count_if(soak, is_overdue(s, now), LOST);
		count_if(soak, s->pending != hwheel_is_pending(&s->timeout), LOST);
	}
}

/* Within a tick mostly, and to any point in it */
static void advance(struct soak *soak)
{
	u64 tick = soak->wheel->tick, choice = below(soak, 256), by;

	if (choice == 0)
		by = below(soak, min(soak->turn, 2048 * tick));
	else if (choice < 64)
		by = below(soak, 8 * tick);
	else
		by = below(soak, tick);
	test_sleep(soak->wheel, by);
	count_if(soak, hwheel_pending(soak->wheel) != soak->pending, MISCOUNTED);
}

static void run(struct soak *soak, u64 timeouts)
{
	unsigned int batches, i;

	for (batches = 1; soak->counts[ARMED] < timeouts; batches++) {
		for (i = 0; i < BATCH; i++)
			operate(soak);
		advance(soak);
		if (batches % LOOK_EVERY == 0)
			look_for_lost(soak);
	}
}

/* The stop hands back pending timeouts and releases the rest: then nothing is left. */
static void stop(struct soak *soak)
{
	unsigned int i;
	s64 n;

	for (i = 0; i < NR_SOAKED; i++)
		soak->soaked[i].latest = HWHEEL_NEVER;
	n = hwheel_stop(soak->wheel, hand_back, NULL);
	count_if(soak, n != soak->counts[HANDED_BACK], MISCOUNTED);
	for (i = 0; i < NR_SOAKED; i++)
		count_if(soak, soak->soaked[i].pending || soak->soaked[i].unreleased, LOST);
}

static void expect_counters(struct kunit *test, const struct soak *soak)
{
	const u64 *counts = soak->counts;
	struct hwheel_stats stats;

	hwheel_get_stats(soak->wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.armed, counts[ARMED]);
	KUNIT_EXPECT_EQ(test, stats.expired, counts[EXPIRED]);
	KUNIT_EXPECT_EQ(test, stats.handed_back, counts[HANDED_BACK]);
	KUNIT_EXPECT_EQ(test, stats.cancelled_queued + stats.cancelled_filed,
			counts[CANCELLED]);
	KUNIT_EXPECT_EQ(test, stats.refreshed_later + stats.refreshed_earlier,
			counts[REFRESHED]);
	KUNIT_EXPECT_EQ(test, counts[ARMED],
			counts[EXPIRED] + counts[CANCELLED] + counts[HANDED_BACK]);
}

static void expect_none_wrong(struct kunit *test, const struct soak *soak)
{
	unsigned int i;

	for (i = 0; i < NR_COUNTS; i++)
		totals[i] += soak->counts[i];
	for (i = EARLY; i < NR_COUNTS; i++)
		KUNIT_EXPECT_EQ_MSG(test, soak->counts[i], 0, "%s", count_names[i]);
	for (i = 0; i < EARLY && soak_timeouts >= 100000; i++)
		KUNIT_EXPECT_GT_MSG(test, soak->counts[i], 0, "%s", count_names[i]);
}

static const struct hwheel_params kinds[] = {
	{ .name = "hashed", .slots = 512, .tick_ns = SIM_TICK },
	{ .name = "hashed, one slot", .slots = 1, .tick_ns = NSEC_PER_MSEC },
	{ .name = "hashed, short ticks", .slots = 4096, .tick_ns = HWHEEL_MIN_TICK_NS,
	  .flags = HWHEEL_BOOTTIME },
	{ .name = "hierarchical", .slots = 64, .levels = 3, .tick_ns = SIM_TICK },
	{ .name = "hierarchical, two slots", .slots = 2, .levels = 8,
	  .tick_ns = NSEC_PER_MSEC, .flags = HWHEEL_BOOTTIME },
	{ .name = "simple", .slots = 512, .tick_ns = SIM_TICK, .flags = HWHEEL_SIMPLE },
	{ .name = "simple, many slots", .slots = 65536, .tick_ns = NSEC_PER_MSEC,
	  .flags = HWHEEL_SIMPLE },
	{ .name = "limited", .slots = 512, .tick_ns = SIM_TICK, .max_pending = NR_SOAKED },
};

static void describe_kind(const struct hwheel_params *params, char *desc)
{
	strscpy(desc, params->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, kinds, describe_kind);

static struct soak *make_soak(struct kunit *test)
{
	const struct hwheel_params *params = test->param_value;
	struct soak *soak = kunit_kzalloc(test, sizeof(*soak), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, soak);
	soak->wheel = sim_create(test, *params);
	soak->turn = params->slots * params->tick_ns;
	soak->simple = params->flags & HWHEEL_SIMPLE;
	prandom_seed_state(&soak->rnd, soak_seed + params->slots);
	for (i = 0; i < NR_SOAKED; i++) {
		soak->soaked[i].soak = soak;
		hwheel_timeout_init(&soak->soaked[i].timeout, soak->wheel,
				    i % 2 ? &release_ops : &plain_ops);
	}
	return soak;
}

/* As many on each of the wheels */
static void each_ends_once(struct kunit *test)
{
	struct soak *soak = make_soak(test);

	run(soak, DIV_ROUND_UP(soak_timeouts, ARRAY_SIZE(kinds)));
	stop(soak);
	expect_counters(test, soak);
	expect_none_wrong(test, soak);
	test_took_long(test);
}

static void none_lost_none_early(struct kunit *test)
{
	unsigned int i;

	sim_needs_time(test);
	for (i = 0; i < NR_COUNTS; i++)
		kunit_info(test, "%11llu %s\n", totals[i], count_names[i]);
	kunit_info(test, "operations=%llu timeouts, seed %u\n", totals[ARMED], soak_seed);
	for (i = EARLY; i < NR_COUNTS; i++)
		KUNIT_EXPECT_EQ_MSG(test, totals[i], 0, "%s", count_names[i]);
	KUNIT_EXPECT_GE(test, totals[ARMED], soak_timeouts);
}

static int set_up(struct kunit_suite *suite)
{
	if (!soak_seed)
		soak_seed = get_random_u32() | 1;
	memset(&totals, 0, sizeof(totals));
	return test_wait_for_timers(suite);
}

static struct kunit_case soak_cases[] = {
	KUNIT_CASE_PARAM(each_ends_once, kind_gen_params),
	KUNIT_CASE(none_lost_none_early),
	{}
};

static struct kunit_suite soak_suite = {
	.name		= "hwheel_soak",
	.suite_init	= set_up,
	.test_cases	= soak_cases,
};

kunit_test_suite(soak_suite);
