// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a wheel's worker runs: its name, niceness, priority and CPUs.
 */
#include <linux/cpumask.h>
#include <linux/rcupdate.h>
#include <linux/sched/prio.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/string.h>

#include "../sim.h"

static struct hwheel *placed_wheel(struct kunit *test,
				   struct hwheel_params params)
{
	params.tick_ns = SIM_TICK;
	return sim_create(test, params);
}

/* It works wherever it runs. */
static void expect_works(struct kunit *test, struct hwheel *wheel)
{
	struct sim_timeout *sim = sim_timeouts(test, wheel, 1, &sim_ops);

	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout,
					    sim_edge_time(wheel, 3)), 0);
	sim_pass(wheel, 2);
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	sim_pass(wheel, 3);
	sim_expect_fired(test, sim, 3);
}

/* Names */

static void worker_is_named_after_the_wheel(struct kunit *test)
{
	struct hwheel *named = placed_wheel(test, (struct hwheel_params) {
		.name = "disk",
	});
	struct hwheel *other = placed_wheel(test, (struct hwheel_params) { });

	KUNIT_EXPECT_STREQ(test, named->worker->comm, "hwheel/disk");
	KUNIT_EXPECT_STREQ(test, named->name, "disk");
	KUNIT_EXPECT_STREQ(test, other->worker->comm, "hwheel/wheel");
	KUNIT_EXPECT_STREQ(test, other->name, "wheel");
	expect_works(test, named);
}

static void name_is_copied_and_cut_short(struct kunit *test)
{
	char name[HWHEEL_NAME_MAX + 1], want[HWHEEL_NAME_MAX] = { };
	struct hwheel *wheel;

	memset(name, 'x', HWHEEL_NAME_MAX);
	name[HWHEEL_NAME_MAX] = '\0';
	memset(want, 'x', HWHEEL_NAME_MAX - 1);
	wheel = placed_wheel(test, (struct hwheel_params) { .name = name });
	memset(name, 'y', HWHEEL_NAME_MAX);
	KUNIT_EXPECT_STREQ(test, wheel->name, want);
	KUNIT_EXPECT_STREQ(test, wheel->worker->comm, "hwheel/xxxxxxxx");
}

/* A name is not a format. */
static void name_may_have_any_character(struct kunit *test)
{
	struct hwheel *wheel = placed_wheel(test, (struct hwheel_params) {
		.name = "%s%n%d/..",
	});

	KUNIT_EXPECT_STREQ(test, wheel->name, "%s%n%d/..");
	KUNIT_EXPECT_STREQ(test, wheel->worker->comm, "hwheel/%s%n%d/.");
}

/* Niceness and priority */

static void expect_policy(struct kunit *test, const struct hwheel *wheel,
			  unsigned int policy, int nice, unsigned int rt_priority)
{
	struct task_struct *worker = wheel->worker;

	KUNIT_EXPECT_EQ(test, worker->policy, policy);
	KUNIT_EXPECT_EQ(test, task_nice(worker), nice);
	KUNIT_EXPECT_EQ(test, worker->rt_priority, rt_priority);
}

static void worker_is_not_nice_by_default(struct kunit *test)
{
	struct hwheel *wheel = placed_wheel(test, (struct hwheel_params) { });

	expect_policy(test, wheel, SCHED_NORMAL, 0, 0);
	KUNIT_EXPECT_TRUE(test, cpumask_subset(cpu_online_mask,
					       wheel->worker->cpus_ptr));
}

static void worker_is_as_nice_as_asked(struct kunit *test)
{
	static const int nice[] = { MIN_NICE, -1, 1, 10, MAX_NICE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nice); i++) {
		struct hwheel *wheel = placed_wheel(test, (struct hwheel_params) {
			.nice = nice[i],
		});

		expect_policy(test, wheel, SCHED_NORMAL, nice[i], 0);
		expect_works(test, wheel);
	}
}

static void worker_has_the_priority_asked_for(struct kunit *test)
{
	static const int priority[] = { 1, 50, MAX_RT_PRIO - 1 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(priority); i++) {
		struct hwheel *wheel = placed_wheel(test, (struct hwheel_params) {
			.rt_priority = priority[i],
		});

		expect_policy(test, wheel, SCHED_FIFO, 0, priority[i]);
		expect_works(test, wheel);
	}
}

/* CPUs */

static void worker_runs_on_the_cpus_asked_for(struct kunit *test)
{
	struct cpumask cpus = *cpumask_of(cpumask_first(cpu_online_mask));
	struct hwheel *wheel = placed_wheel(test, (struct hwheel_params) {
		.cpus = &cpus, .nice = 5,
	});

	cpumask_clear(&cpus);
	expect_policy(test, wheel, SCHED_NORMAL, 5, 0);
	KUNIT_EXPECT_TRUE(test, cpumask_test_cpu(cpumask_first(cpu_online_mask),
						 wheel->worker->cpus_ptr));
	if (num_possible_cpus() > 1)
		KUNIT_EXPECT_EQ(test, cpumask_weight(wheel->worker->cpus_ptr), 1);
	expect_works(test, wheel);
}

/* Wrong values */

static unsigned int count_workers(void)
{
	struct task_struct *task;
	unsigned int n = 0;

	rcu_read_lock();
	for_each_process(task)
		n += !strncmp(task->comm, "hwheel/refused", TASK_COMM_LEN);
	rcu_read_unlock();
	return n;
}

static void expect_no_worker(struct kunit *test, struct hwheel_params params)
{
	params.name = "refused";
	expect_refused(test, params);
	msleep(20);
	KUNIT_EXPECT_EQ(test, count_workers(), 0);
}

/* What expect_no_worker() looks for is there as long as a wheel is. */
static void worker_goes_with_the_wheel(struct kunit *test)
{
	struct hwheel_params params = { .name = "refused" };
	struct hwheel *wheel = hwheel_create(&params);

	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	KUNIT_EXPECT_EQ(test, count_workers(), 1);
	hwheel_destroy(wheel);
	msleep(20);
	KUNIT_EXPECT_EQ(test, count_workers(), 0);
}

static void wrong_niceness_is_refused(struct kunit *test)
{
	static const int nice[] = { MIN_NICE - 1, MAX_NICE + 1, INT_MIN, INT_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nice); i++)
		expect_no_worker(test, (struct hwheel_params) { .nice = nice[i] });
}

static void wrong_priority_is_refused(struct kunit *test)
{
	static const int priority[] = { -1, MAX_RT_PRIO, INT_MIN, INT_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(priority); i++)
		expect_no_worker(test, (struct hwheel_params) {
			.rt_priority = priority[i],
		});
}

static void niceness_and_priority_exclude_each_other(struct kunit *test)
{
	expect_no_worker(test, (struct hwheel_params) {
		.nice = 1, .rt_priority = 1,
	});
	expect_no_worker(test, (struct hwheel_params) {
		.nice = -20, .rt_priority = 99,
	});
}

/* As no online CPU: those that a mask has room for beyond the possible ones */
static void cpus_that_there_are_not_are_refused(struct kunit *test)
{
	struct cpumask none = { }, offline;

	bitmap_complement(cpumask_bits(&offline), cpumask_bits(cpu_online_mask),
			  BITS_PER_LONG);
	expect_no_worker(test, (struct hwheel_params) { .cpus = &none });
	expect_no_worker(test, (struct hwheel_params) {
		.cpus = &none, .nice = 5,
	});
	expect_no_worker(test, (struct hwheel_params) {
		.cpus = &none, .rt_priority = 5,
	});
	expect_no_worker(test, (struct hwheel_params) { .cpus = &offline });
}

static struct kunit_case place_cases[] = {
	KUNIT_CASE(worker_is_named_after_the_wheel),
	KUNIT_CASE(name_is_copied_and_cut_short),
	KUNIT_CASE(name_may_have_any_character),
	KUNIT_CASE(worker_is_not_nice_by_default),
	KUNIT_CASE(worker_is_as_nice_as_asked),
	KUNIT_CASE(worker_has_the_priority_asked_for),
	KUNIT_CASE(worker_runs_on_the_cpus_asked_for),
	KUNIT_CASE(worker_goes_with_the_wheel),
	KUNIT_CASE(wrong_niceness_is_refused),
	KUNIT_CASE(wrong_priority_is_refused),
	KUNIT_CASE(niceness_and_priority_exclude_each_other),
	KUNIT_CASE(cpus_that_there_are_not_are_refused),
	{}
};

static struct kunit_suite place_suite = {
	.name		= "hwheel_place",
	.test_cases	= place_cases,
};

kunit_test_suite(place_suite);
