// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work at the end of a pass: once, after all callbacks, and each client in its turn.
 */
#include <linux/slab.h>

#include "../sim.h"
#include "engine/pass_work.h"

#define NR_WORKS	3

/**
 * struct client - one that has work at the end of a pass
 * @work:    that
 * @order:   counts the calls for all clients
 * @calls:   calls for this one
 * @called:  where in the order its last call was
 * @wanted:  calls that it takes to do the work
 * @expired: how many of @all had expired then
 * @pass:    in which pass of the worker that was
 * @all:     timeouts whose callbacks ask for work
 */
struct client {
	struct hwheel_pass_work	work;
	struct sim_timeout	*all;
	unsigned int		*order;
	unsigned int		calls;
	unsigned int		called;
	unsigned int		wanted;
	unsigned int		expired;
	unsigned long		pass;
};

static bool run(struct hwheel_pass_work *work)
{
	struct client *client = container_of(work, struct client, work);

	client->called = ++*client->order;
	client->pass = local_read(&sim_wheel_of(client->all)->counts.passes);
	client->expired = sim_count_expired(client->all, NR_WORKS);
	return ++client->calls >= client->wanted;
}

static void ask_twice(struct sim_timeout *sim)
{
	struct client *client = sim->data;

	hwheel_pass_work_add(sim_wheel_of(sim), &client->work);
	hwheel_pass_work_add(sim_wheel_of(sim), &client->work);
}

/* All ask at one edge. */
static struct client *run_works(struct kunit *test, const unsigned int *wanted,
				unsigned int *order,
				bool (*run)(struct hwheel_pass_work *work))
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, NR_WORKS, &sim_ops);
	struct client *clients;
	unsigned int i;

	clients = kunit_kcalloc(test, NR_WORKS, sizeof(*clients), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, clients);
	for (i = 0; i < NR_WORKS; i++) {
		clients[i].all = sim;
		clients[i].order = order;
		clients[i].wanted = wanted[i];
		hwheel_pass_work_init(&clients[i].work, run);
		sim[i].then = ask_twice;
		sim[i].data = &clients[i];
		KUNIT_EXPECT_EQ(test, hwheel_arm(&sim[i].timeout, 0), 0);
	}
	sim_settle(wheel);
	return clients;
}

static void runs_once_after_all_callbacks(struct kunit *test)
{
	static const unsigned int wanted[NR_WORKS] = { 1, 1, 1 };
	unsigned int order = 0, i;
	struct client *clients = run_works(test, wanted, &order, run);

	for (i = 0; i < NR_WORKS; i++) {
		KUNIT_EXPECT_EQ(test, clients[i].calls, 1);
		KUNIT_EXPECT_EQ(test, clients[i].expired, NR_WORKS);
	}
}

static void who_is_not_done_comes_after_the_others(struct kunit *test)
{
	static const unsigned int wanted[NR_WORKS] = { 3, 1, 2 };
	unsigned int order = 0, i;
	struct client *clients = run_works(test, wanted, &order, run);

	for (i = 0; i < NR_WORKS; i++)
		KUNIT_EXPECT_EQ(test, clients[i].calls, wanted[i]);
	KUNIT_EXPECT_LT(test, clients[1].called, clients[2].called);
	KUNIT_EXPECT_LT(test, clients[2].called, clients[0].called);
}

/* Each call takes longer than a pass may: then callbacks have their turn before the next. */
static bool run_for_long(struct hwheel_pass_work *work)
{
	sim_stall(20 * NSEC_PER_MSEC);
	jiffies += msecs_to_jiffies(20);	/* as the interrupt will do that comes after this */
	return run(work);
}

static void what_takes_long_is_left_to_the_next_pass(struct kunit *test)
{
	static const unsigned int wanted[NR_WORKS] = { 1, 1, 1 };
	unsigned int order = 0, i;
	struct client *clients;

	clients = run_works(test, wanted, &order, run_for_long);
	sim_pass(hwheel_of(&clients->all->timeout), 100);
	for (i = 0; i < NR_WORKS; i++) {
		KUNIT_EXPECT_EQ(test, clients[i].calls, 1);
		KUNIT_EXPECT_NE(test, clients[i].pass, clients[(i + 1) % NR_WORKS].pass);
	}
}

static struct kunit_case pass_work_cases[] = {
	KUNIT_CASE(runs_once_after_all_callbacks),
	KUNIT_CASE(who_is_not_done_comes_after_the_others),
	KUNIT_CASE(what_takes_long_is_left_to_the_next_pass),
	{}
};

static struct kunit_suite pass_work_suite = {
	.name		= "hwheel_pass_work",
	.test_cases	= pass_work_cases,
};

kunit_test_suite(pass_work_suite);
