/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Real wheels, workers and hrtimers in simulated time.
 *
 * A user-mode kernel with time-travel=inf-cpu takes no time to compute; when all
 * sleep, the clock jumps to the next timer. So a test sleeps for a day in no time,
 * and a callback is seen to fire on its edge exactly, give or take the 256 ns that
 * a look at the clock costs there.
 */
#ifndef _HWHEEL_KUNIT_SIM_H
#define _HWHEEL_KUNIT_SIM_H

#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/debugobjects.h>
#include <linux/delay.h>
#include <linux/hwheel.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "common.h"
#include "engine/debug_objects.h"
#include "engine/submit.h"

#if IS_BUILTIN(CONFIG_HWHEEL) && defined(CONFIG_UML_TIME_TRAVEL_SUPPORT)
#include <linux/time-internal.h>
#define SIM_TIME	(time_travel_mode == TT_MODE_INFCPU)
#else
#define SIM_TIME	false
#endif

#define SIM_TICK	(10LL * NSEC_PER_MSEC)
#define SIM_SLOTS	8
#define SIM_DAY		(24ULL * 3600 * NSEC_PER_SEC)

/* More than the clock reads of the longest pass; less than the shortest tick */
#define SIM_SETTLE	(20 * NSEC_PER_USEC)

/**
 * struct sim_timeout - a timeout that records what became of it
 * @timeout:     the timeout
 * @expired:     calls of the expire callback
 * @released:    calls of the release op
 * @handed_back: calls of the handback callback
 * @edge:        that the worker was at in the latest expire callback
 * @fired_ns:    when that was
 * @released_ns: when the release op was last called
 * @then:        what else to do in the expire callback, or NULL
 * @data:        for the test
 */
struct sim_timeout {
	struct hwheel_timeout	timeout;
	unsigned int		expired;
	unsigned int		released;
	unsigned int		handed_back;
	u64			edge;
	u64			fired_ns;
	u64			released_ns;
	void			(*then)(struct sim_timeout *sim);
	void			*data;
};

static inline struct sim_timeout *sim_of(struct hwheel_timeout *timeout)
{
	return container_of(timeout, struct sim_timeout, timeout);
}

static inline struct hwheel *sim_wheel_of(const struct sim_timeout *sim)
{
	return hwheel_of(&sim->timeout);
}

static inline void sim_expire(struct hwheel_timeout *timeout)
{
	struct hwheel *wheel = hwheel_of(timeout);
	struct sim_timeout *sim = sim_of(timeout);

	sim->expired++;
	sim->edge = wheel->slots.cursor;
	sim->fired_ns = test_now(wheel);
	if (sim->then)
		sim->then(sim);
}

static inline void sim_release(struct hwheel_timeout *timeout)
{
	struct sim_timeout *sim = sim_of(timeout);

	sim->released++;
	sim->released_ns = test_now(hwheel_of(timeout));
}

#ifdef CONFIG_DEBUG_OBJECTS_FREE
/*
 * How many objects the kernel would name if this one was freed. The wheel still has it, if it
 * had it.
 */
static inline unsigned int sim_found_if_freed(struct sim_timeout *sim)
{
	unsigned int before = atomic_read(&hwheel_debug_found), found;

	test_complaint_begin();
	debug_check_no_obj_freed(sim, sizeof(*sim));
	test_complaint_end();
	found = atomic_read(&hwheel_debug_found) - before;
	if (found)
		hwheel_debug_reference(&sim->timeout);
	return found;
}
#else
unsigned int sim_found_if_freed(struct sim_timeout *sim);
#endif

static inline void sim_handback(struct hwheel_timeout *timeout, void *data)
{
	sim_of(timeout)->handed_back++;
}

static const struct hwheel_timeout_ops sim_ops __maybe_unused = {
	.expire = sim_expire,
};

static const struct hwheel_timeout_ops sim_release_ops __maybe_unused = {
	.expire = sim_expire,
	.release = sim_release,
};

static inline int sim_wheel_init(struct kunit_resource *res, void *params)
{
	struct hwheel *wheel = hwheel_create(params);

	res->data = wheel;
	return PTR_ERR_OR_ZERO(wheel);
}

static inline void sim_wheel_free(struct kunit_resource *res)
{
	hwheel_destroy(res->data);
}

/* A test that would depend on real time is skipped. */
static inline void sim_needs_time(struct kunit *test)
{
	if (!SIM_TIME)
		kunit_skip(test, "needs a user-mode kernel with time-travel=inf-cpu");
}

static inline void expect_refused(struct kunit *test, struct hwheel_params params)
{
	struct hwheel *wheel = hwheel_create(&params);

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(wheel), -EINVAL);
	if (!IS_ERR(wheel))
		hwheel_destroy(wheel);
}

/* A wheel that is destroyed when the test ends */
static inline struct hwheel *sim_create(struct kunit *test,
					struct hwheel_params params)
{
	struct hwheel *wheel;

	sim_needs_time(test);
	wheel = kunit_alloc_resource(test, sim_wheel_init, sim_wheel_free,
				     GFP_KERNEL, &params);
	KUNIT_ASSERT_NOT_NULL(test, wheel);
	return wheel;
}

static inline struct hwheel *sim_wheel(struct kunit *test)
{
	return sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS,
	});
}

static inline int sim_array_init(struct kunit_resource *res, void *size)
{
	res->data = kvzalloc(*(size_t *)size, GFP_KERNEL);
	return res->data ? 0 : -ENOMEM;
}

/* A test that failed may have left the wheel with some of them pending. */
static inline void sim_array_free(struct kunit_resource *res)
{
	struct sim_timeout *sim = res->data;

	hwheel_stop(sim_wheel_of(sim), NULL, NULL);
	kvfree(sim);
}

/* @nr timeouts, all idle; freed when the test ends, before the wheel is destroyed */
static inline struct sim_timeout *
sim_timeouts(struct kunit *test, struct hwheel *wheel, unsigned int nr,
	     const struct hwheel_timeout_ops *ops)
{
	size_t size = array_size(nr, sizeof(struct sim_timeout));
	struct sim_timeout *sim;
	unsigned int i;

	sim = kunit_alloc_resource(test, sim_array_init, sim_array_free,
				   GFP_KERNEL, &size);
	KUNIT_ASSERT_NOT_NULL(test, sim);
	for (i = 0; i < nr; i++)
		hwheel_timeout_init(&sim[i].timeout, wheel, ops);
	return sim;
}

/* Are they submitted to one list of a CPU's, from which the last one is taken first? */
static inline bool sim_share_list(const struct sim_timeout *a, const struct sim_timeout *b)
{
	return hwheel_submit_queue_of(&a->timeout.queue) ==
	       hwheel_submit_queue_of(&b->timeout.queue);
}

static inline u64 sim_edge_time(const struct hwheel *wheel, u64 edge)
{
	return wheel->epoch + edge * wheel->tick;
}

/* The edge on which a deadline has to fire */
static inline u64 sim_edge_due(const struct hwheel *wheel, u64 deadline)
{
	u64 edge = div64_u64(deadline - wheel->epoch, wheel->tick);

	return sim_edge_time(wheel, edge) < deadline ? edge + 1 : edge;
}

static inline void arm_edge(struct kunit *test, struct sim_timeout *sim, u64 edge)
{
	u64 deadline = sim_edge_time(sim_wheel_of(sim), edge);

	KUNIT_ASSERT_EQ(test, hwheel_arm_at(&sim->timeout, deadline), 0);
}

static inline void refresh_edge(struct kunit *test, struct sim_timeout *sim, u64 edge)
{
	u64 deadline = sim_edge_time(sim_wheel_of(sim), edge);

	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&sim->timeout, deadline), 0);
}

static inline struct hwheel_stats stats_of(const struct hwheel *wheel)
{
	struct hwheel_stats stats;

	memset(&stats, 0xa5, sizeof(stats));
	hwheel_get_stats(wheel, &stats);
	return stats;
}

/* Until the worker is done with an edge, and is asleep again */
static inline void sim_pass(const struct hwheel *wheel, u64 edge)
{
	test_sleep_until(wheel, sim_edge_time(wheel, edge) + SIM_SETTLE);
}

/* Until the worker has seen what was submitted, whatever it was up to */
static inline void sim_settle(const struct hwheel *wheel)
{
	test_sleep(wheel, 2 * wheel->tick);
}

/* The machine stands still: not even an interrupt gets through. */
static inline void sim_stall(u64 ns)
{
	unsigned long us;
	u64 part;

	local_irq_disable();
	for (; ns; ns -= part) {
		part = min_t(u64, ns, TEST_SPAN_NS);
		us = div_u64(part, NSEC_PER_USEC);
		OPTIMIZER_HIDE_VAR(us);	/* udelay() limits constants */
		udelay(us);
	}
	local_irq_enable();
}

/*
 * As sim_pass(), for a long time: a user-mode kernel that sleeps wakes up every
 * four seconds, which in a simulated year is often. One that stalls does not, and
 * a minute before the end it is as if it had slept all the time.
 */
static inline void sim_pass_long(const struct hwheel *wheel, u64 edge)
{
	const u64 step = 600ULL * NSEC_PER_SEC, rest = 60ULL * NSEC_PER_SEC;
	u64 end = sim_edge_time(wheel, edge);

	while (test_now(wheel) + step + rest < end) {
		sim_stall(step);
		test_sleep(wheel, SIM_SETTLE);
	}
	sim_pass(wheel, edge);
}

/* How often the worker went to sleep: how often it woke up, once it is asleep */
static inline unsigned long sim_wakeups(const struct hwheel *wheel)
{
	return READ_ONCE(wheel->worker->nvcsw);
}

/* It fired once, on this edge, and not later than it took to see the clock. */
static inline void sim_expect_fired(struct kunit *test,
				    const struct sim_timeout *sim, u64 edge)
{
	u64 time = sim_edge_time(sim_wheel_of(sim), edge);

	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_EQ(test, sim->edge, edge);
	KUNIT_EXPECT_GE(test, sim->fired_ns, time);
	KUNIT_EXPECT_LT(test, sim->fired_ns, time + SIM_SETTLE);
	KUNIT_EXPECT_TRUE(test, hwheel_is_expired(&sim->timeout));
}

/* An expire callback that holds the worker, and says when it is done */
static inline void sleep_3_ticks(struct sim_timeout *sim)
{
	test_sleep(sim_wheel_of(sim), 3 * SIM_TICK);
	sim->data = sim;
}

static inline unsigned int sim_count_expired(const struct sim_timeout *sim,
					     unsigned int nr)
{
	unsigned int sum = 0, i;

	for (i = 0; i < nr; i++)
		sum += sim[i].expired;
	return sum;
}

static inline unsigned int sim_count_handed_back(const struct sim_timeout *sim,
						 unsigned int nr)
{
	unsigned int sum = 0, i;

	for (i = 0; i < nr; i++)
		sum += sim[i].handed_back;
	return sum;
}

#endif /* _HWHEEL_KUNIT_SIM_H */
