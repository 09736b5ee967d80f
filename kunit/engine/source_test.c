// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sources in simulated time: when the worker runs them, parks them, and lets them go.
 */
#include "../sim.h"

#include "engine/pass_work.h"
#include "engine/source.h"
#include "engine/submit.h"

#define FAR_EDGE	1000

/**
 * struct sim_source - a source that does as it is told
 * @source:    the source
 * @runs:      how often it was run
 * @parks:     how often it was parked
 * @wakes:     how often it was woken
 * @ran_ns:    when it was last run
 * @turn:      how many runs of any source there had been then
 * @next:      what run() returns
 * @once:      what it returns the next time, and not again, unless that is 0
 * @submitted: something was submitted: park() returns false, and run() takes it
 * @at_park:   called by park(), or NULL
 */
struct sim_source {
	struct hwheel_source	source;
	unsigned int		runs;
	unsigned int		parks;
	unsigned int		wakes;
	u64			ran_ns;
	unsigned int		turn;
	enum hwheel_source_next	next;
	enum hwheel_source_next	once;
	bool			submitted;
	void			(*at_park)(struct sim_source *sim);
};

static struct sim_source *of(struct hwheel_source *source)
{
	return container_of(source, struct sim_source, source);
}

static unsigned int turns;

static enum hwheel_source_next run(struct hwheel_source *source)
{
	struct sim_source *sim = of(source);
	enum hwheel_source_next next = sim->once ?: sim->next;

	sim->runs++;
	sim->ran_ns = test_now(source->timeout.wheel);
	sim->turn = ++turns;
	sim->once = 0;
	sim->submitted = false;
	return source->leaving ? HWHEEL_SOURCE_GONE : next;
}

static bool park(struct hwheel_source *source)
{
	struct sim_source *sim = of(source);

	sim->parks++;
	if (sim->at_park)
		sim->at_park(sim);
	return !sim->submitted;
}

static void wake(struct hwheel_source *source)
{
	of(source)->wakes++;
}

static const struct hwheel_source_ops ops = {
	.run = run, .park = park, .wake = wake,
};

static int source_init(struct kunit_resource *res, void *wheel)
{
	struct sim_source *sim = kzalloc(sizeof(*sim), GFP_KERNEL);

	if (!sim)
		return -ENOMEM;
	hwheel_source_init(&sim->source, wheel, &ops);
	res->data = sim;
	return 0;
}

static void leave(struct sim_source *sim)
{
	hwheel_source_leave(&sim->source);
	wait_for_completion(&sim->source.left);
}

static void source_free(struct kunit_resource *res)
{
	leave(res->data);
	kfree(res->data);
}

/* One that has left the wheel when the test ends */
static struct sim_source *source_on(struct kunit *test, struct hwheel *wheel)
{
	struct sim_source *sim;

	sim = kunit_alloc_resource(test, source_init, source_free, GFP_KERNEL, wheel);
	KUNIT_ASSERT_NOT_NULL(test, sim);
	return sim;
}

static void is_run_at_once_when_kicked(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);
	u64 before;

	sim_pass(wheel, 10);
	before = test_now(wheel);
	hwheel_source_kick(&sim->source);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_EQ(test, sim->wakes, 1);
	KUNIT_EXPECT_EQ(test, sim->parks, 1);
	KUNIT_EXPECT_LT(test, sim->ran_ns - before, SIM_SETTLE);
}

static void is_not_run_unless_kicked(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);
	unsigned long before;

	sim_pass(wheel, 10);
	before = sim_wakeups(wheel);
	sim_pass(wheel, FAR_EDGE);
	KUNIT_EXPECT_EQ(test, sim->runs, 0);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel), before);
}

static void active_one_is_run_at_each_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim->next = HWHEEL_SOURCE_ACTIVE;
	sim_pass(wheel, 10);
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 20);
	KUNIT_EXPECT_EQ(test, sim->runs, 11);
	KUNIT_EXPECT_EQ(test, sim->parks, 0);
	sim->next = HWHEEL_SOURCE_IDLE;
	sim_pass(wheel, 30);
	KUNIT_EXPECT_EQ(test, sim->runs, 12);
	KUNIT_EXPECT_EQ(test, sim->parks, 1);
}

/* A kick of one that is active does nothing: it is not waited for. */
static void kick_of_an_active_one_wakes_nobody(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim->next = HWHEEL_SOURCE_ACTIVE;
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 5);
	KUNIT_EXPECT_EQ(test, sim->wakes, 1);
	hwheel_source_kick(&sim->source);
	hwheel_source_kick(&sim->source);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim->wakes, 1);
	KUNIT_EXPECT_EQ(test, sim->runs, 6);
}

static void again_is_at_once(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);
	unsigned long passes;

	sim_pass(wheel, 10);
	passes = local_read(&wheel->counts.passes);
	sim->once = HWHEEL_SOURCE_AGAIN;
	hwheel_source_kick(&sim->source);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	KUNIT_EXPECT_EQ(test, local_read(&wheel->counts.passes), passes + 2);
}

/* What one of them has left is not forgotten because another one is done. */
static void again_of_one_counts_for_all(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sims[2] = { source_on(test, wheel), source_on(test, wheel) };
	int i;

	for (i = 0; i < 2; i++) {
		sim_pass(wheel, 10 * (i + 1));
		sims[i]->once = HWHEEL_SOURCE_AGAIN;
		hwheel_source_kick(&sims[0]->source);
		hwheel_source_kick(&sims[1]->source);
		test_sleep(wheel, SIM_SETTLE);
		KUNIT_EXPECT_EQ(test, sims[0]->runs + sims[1]->runs, 3 * (i + 1));
	}
}

static void parked_one_is_run_at_its_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);
	unsigned long before;

	sim_pass(wheel, 10);
	sim->source.edge = FAR_EDGE;
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 12);
	before = sim_wakeups(wheel);
	sim->source.edge = FAR_EDGE;
	sim_pass(wheel, FAR_EDGE - 1);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_EQ(test, sim_wakeups(wheel), before);
	sim->source.edge = HWHEEL_NO_EDGE;
	sim_pass(wheel, FAR_EDGE);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	KUNIT_EXPECT_EQ(test, sim->wakes, 1);
	KUNIT_EXPECT_GE(test, sim->ran_ns, sim_edge_time(wheel, FAR_EDGE));
	sim_pass(wheel, 2 * FAR_EDGE);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
}

/* In a run it may set an edge that is past. */
static void missed_edge_is_the_next_one(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim_pass(wheel, 10);
	sim->source.edge = 3;
	hwheel_source_kick(&sim->source);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	sim->source.edge = HWHEEL_NO_EDGE;
	sim_pass(wheel, 11);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
}

/* Kicked before its edge: then the edge that it sets is the one that counts. */
static void kick_takes_it_from_its_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim->source.edge = 20;
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 10);
	sim->source.edge = 30;
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 29);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	sim_pass(wheel, 30);
	KUNIT_EXPECT_EQ(test, sim->runs, 3);
}

/* It is there once, and needs no kick any more. */
static void due_and_kicked_is_active_once(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim->source.edge = 20;
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 19);
	sim->source.edge = HWHEEL_NO_EDGE;
	sim_stall(SIM_TICK);
	hwheel_source_kick(&sim->source);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	KUNIT_EXPECT_EQ(test, sim->wakes, 2);
	sim_pass(wheel, 30);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
}

static void kick_of_a_due_one_that_is_active_does_nothing(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim->source.edge = 20;
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 19);
	sim->next = HWHEEL_SOURCE_ACTIVE;
	sim_pass(wheel, 20);
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 22);
	KUNIT_EXPECT_EQ(test, sim->runs, 4);
	KUNIT_EXPECT_EQ(test, sim->wakes, 1);
}

static void what_came_before_parking_is_found(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim_pass(wheel, 10);
	hwheel_source_kick(&sim->source);
	sim->once = HWHEEL_SOURCE_ACTIVE;
	test_sleep(wheel, SIM_SETTLE);
	sim->submitted = true;
	sim->once = HWHEEL_SOURCE_IDLE;
	sim_pass(wheel, 11);
	KUNIT_EXPECT_FALSE(test, sim->submitted);
	KUNIT_EXPECT_EQ(test, sim->parks, 1);
}

static void submit_at_park(struct sim_source *sim)
{
	sim->submitted = true;
	sim->at_park = NULL;
}

/* It is polled from the next edge on, not at once. */
static void failed_park_waits_for_the_edge(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim_pass(wheel, 10);
	sim->at_park = submit_at_park;
	hwheel_source_kick(&sim->source);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim->runs, 1);
	KUNIT_EXPECT_EQ(test, sim->wakes, 2);
	sim_pass(wheel, 11);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	KUNIT_EXPECT_EQ(test, sim->parks, 2);
}

static void kick_at_park(struct sim_source *sim)
{
	sim->at_park = NULL;
	hwheel_source_kick(&sim->source);
	sim->submitted = true;
}

/* The kicker has added it; it is not there twice. */
static void kick_while_it_is_parked_counts(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim_pass(wheel, 10);
	sim->at_park = kick_at_park;
	hwheel_source_kick(&sim->source);
	test_sleep(wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	KUNIT_EXPECT_EQ(test, sim->parks, 2);
	sim_pass(wheel, 100);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
}

static void leave_at_park(struct sim_source *sim)
{
	sim->at_park = NULL;
	WRITE_ONCE(sim->source.leaving, true);
}

/* Asked between its run and parking: the worker looks again. */
static void leaving_one_is_not_parked(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim->at_park = leave_at_park;
	hwheel_source_kick(&sim->source);
	sim_settle(wheel);
	KUNIT_EXPECT_TRUE(test, completion_done(&sim->source.left));
}

/* However far the next edge is */
static void leaves_at_once(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_DAY,
	});
	struct sim_source *sim = source_on(test, wheel);
	struct sim_source *active = source_on(test, wheel);
	u64 before = test_now(wheel);

	active->next = HWHEEL_SOURCE_ACTIVE;
	hwheel_source_kick(&active->source);
	test_sleep(wheel, SIM_SETTLE);
	leave(active);
	leave(sim);
	KUNIT_EXPECT_LT(test, test_now(wheel) - before, SIM_TICK);
}

/* Nor is it run when it is kicked after that. */
static void nothing_refers_to_one_that_left(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sim = source_on(test, wheel);

	sim->source.edge = 20;
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 10);
	leave(sim);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 30);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&sim->source.timeout.node.link));
}

static void many_are_run_in_turn(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_source *sims[20];
	int i;

	sim_pass(wheel, 10);
	for (i = 0; i < ARRAY_SIZE(sims); i++) {
		sims[i] = source_on(test, wheel);
		sims[i]->next = HWHEEL_SOURCE_ACTIVE;
		hwheel_source_kick(&sims[i]->source);
	}
	sim_pass(wheel, 20);
	for (i = 0; i < ARRAY_SIZE(sims); i++)
		KUNIT_EXPECT_GE(test, sims[i]->runs, 10);
}

/* Timeouts and sources of one edge: each gets its own. */
static void timeouts_are_not_taken_for_sources(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *timeouts = sim_timeouts(test, wheel, 3, &sim_ops);
	struct sim_source *sim = source_on(test, wheel);
	int i;

	for (i = 0; i < 3; i++)
		hwheel_arm_at(&timeouts[i].timeout, sim_edge_time(wheel, 20));
	sim->source.edge = 20;
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 10);
	sim->source.edge = HWHEEL_NO_EDGE;
	sim_pass(wheel, 20);
	for (i = 0; i < 3; i++)
		sim_expect_fired(test, &timeouts[i], 20);
	KUNIT_EXPECT_EQ(test, sim->runs, 2);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static unsigned int work_turn;

static bool work(struct hwheel_pass_work *work)
{
	work_turn = ++turns;
	return true;
}

static void ask_for_work(struct sim_timeout *sim)
{
	hwheel_pass_work_add(sim_wheel_of(sim), sim->data);
}

/* The device publishes events there: they wait for no source, which may take half a tick. */
static void work_of_the_pass_comes_before_it(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *timeout = sim_timeouts(test, wheel, 1, &sim_ops);
	struct sim_source *sim = source_on(test, wheel);
	struct hwheel_pass_work pass_work;

	hwheel_pass_work_init(&pass_work, work);
	timeout->data = &pass_work;
	timeout->then = ask_for_work;
	sim->next = HWHEEL_SOURCE_ACTIVE;
	hwheel_source_kick(&sim->source);
	sim_pass(wheel, 10);
	KUNIT_EXPECT_EQ(test, hwheel_arm(&timeout->timeout, 0), 0);
	sim_pass(wheel, 11);
	KUNIT_EXPECT_EQ(test, timeout->expired, 1);
	KUNIT_EXPECT_EQ(test, sim->turn, work_turn + 1);
}

static struct kunit_case source_cases[] = {
	KUNIT_CASE(is_run_at_once_when_kicked),
	KUNIT_CASE(is_not_run_unless_kicked),
	KUNIT_CASE(active_one_is_run_at_each_edge),
	KUNIT_CASE(kick_of_an_active_one_wakes_nobody),
	KUNIT_CASE(again_is_at_once),
	KUNIT_CASE(work_of_the_pass_comes_before_it),
	KUNIT_CASE(again_of_one_counts_for_all),
	KUNIT_CASE(parked_one_is_run_at_its_edge),
	KUNIT_CASE(missed_edge_is_the_next_one),
	KUNIT_CASE(kick_takes_it_from_its_edge),
	KUNIT_CASE(due_and_kicked_is_active_once),
	KUNIT_CASE(kick_of_a_due_one_that_is_active_does_nothing),
	KUNIT_CASE(what_came_before_parking_is_found),
	KUNIT_CASE(failed_park_waits_for_the_edge),
	KUNIT_CASE(kick_while_it_is_parked_counts),
	KUNIT_CASE(leaving_one_is_not_parked),
	KUNIT_CASE(leaves_at_once),
	KUNIT_CASE(nothing_refers_to_one_that_left),
	KUNIT_CASE(many_are_run_in_turn),
	KUNIT_CASE(timeouts_are_not_taken_for_sources),
	{ }
};

static struct kunit_suite source_suite = {
	.name = "hwheel_source",
	.test_cases = source_cases,
};

kunit_test_suite(source_suite);
