// SPDX-License-Identifier: GPL-2.0-only
/*
 * Races, without a second CPU: the sources of submission and worker once more, with a
 * hook in each gap in which somebody else may change what was just looked at. A test
 * takes the place of the wheel's worker, which sleeps meanwhile, and does in the hook
 * what another CPU would.
 */
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "../sim.h"
#include "engine/pass_work.h"
#include "engine/submit.h"
#include "engine/worker.h"

enum gap {
	NO_GAP,
	GAP_CLOCK,	/* before the clock is read */
	GAP_ACT,	/* between the slots being brought up to a word and QUEUED cleared */
	GAP_ACTED,	/* between QUEUED cleared and the release op called */
	GAP_RESCHED,	/* between callbacks, when others have the CPU */
	GAP_EXPIRE,	/* between a word found due and the word set to expired */
	GAP_ENQUEUED,	/* between a word found enqueued and the word set to a later deadline */
	GAP_PENDING,	/* between a word found pending and the word set to cancelled */
	GAP_CANCEL,	/* between the word set to cancelled and what follows from it */
	GAP_SLEEP,	/* between deep being published and the last look at the lists */
	GAP_ARM,	/* between a timeout found idle and its word set to pending */
	GAP_DOUBT,	/* while another arm decides whether there is a place */
	GAP_MARK,	/* between the push onto an empty list and the mark of its CPU */
};

/**
 * struct race - what happens in a gap
 * @gap:      in which
 * @times:    how often, from the first time on
 * @other:    what the other CPU does
 * @sim:      to whom
 * @entered:  it was among the running ones
 * @slept:    how often the worker went to sleep
 * @rests:    how often it let others run
 * @unqueued: how often the worker touched the links of a timeout it did not hold
 * @found:    how much it found in the gap
 * @stop:     the worker is to end
 */
static struct race {
	enum gap		gap;
	unsigned int		times;
	void			(*other)(struct sim_timeout *sim);
	struct sim_timeout	*sim;
	bool			entered;
	unsigned int		slept;
	unsigned int		rests;
	unsigned int		unqueued;
	unsigned int		found;
	bool			stop;
} race;

static void race_in(enum gap gap)
{
	if (race.gap != gap || !race.times)
		return;
	race.times--;
	race.other(race.sim);
}

static bool race_word_acted(atomic64_t *word, s64 old)
{
	bool acted;

	race_in(GAP_ACT);
	acted = hwheel_word_acted(word, old);
	race_in(GAP_ACTED);
	return acted;
}

static bool race_word_arm(atomic64_t *word, s64 *old, u64 deadline)
{
	race_in(GAP_ARM);
	return hwheel_word_arm(word, old, deadline);
}

static bool race_word_cancel_from(atomic64_t *word, s64 *old, bool queued)
{
	bool changed;

	race_in(GAP_PENDING);
	changed = hwheel_word_cancel_from(word, old, queued);
	if (changed)
		race_in(GAP_CANCEL);
	return changed;
}

static bool race_word_is_enqueued(u64 word)
{
	bool enqueued = hwheel_word_is_enqueued(word);

	race_in(GAP_ENQUEUED);
	return enqueued;
}

static bool race_word_expire(atomic64_t *word, s64 *old)
{
	race_in(GAP_EXPIRE);
	return hwheel_word_expire(word, old);
}

static void race_set_bit(unsigned int nr, unsigned long *bits)
{
	race_in(GAP_MARK);
	set_bit(nr, bits);
}

static bool race_should_stop(void)
{
	race_in(GAP_SLEEP);
	return race.stop;
}

static u64 race_now(const struct hwheel *wheel)
{
	race_in(GAP_CLOCK);
	return hwheel_now(wheel);
}

static void race_unlink(struct hwheel_slots *slots, struct hwheel_node *node)
{
	struct hwheel_timeout *timeout = container_of(node, struct hwheel_timeout,
						      node);

	if (!(atomic64_read(&timeout->word) & HWHEEL_QUEUED))
		race.unqueued++;
	hwheel_slots_unlink(slots, node);
}

/* The wheel's worker, which was woken, is not to have its turn. */
static void race_resched(void)
{
	race.rests++;
	race_in(GAP_RESCHED);
}

static void race_sleep(void)
{
	race.slept++;
}

static int race_sleep_until(ktime_t *until, u64 delta, enum hrtimer_mode mode,
			    clockid_t clock)
{
	race.slept++;
	return 0;
}

static void arm_10(struct sim_timeout *sim)
{
	hwheel_arm_at(&sim->timeout, sim_edge_time(sim_wheel_of(sim), 10));
}

/* The functions of the copies, by their names here */
static bool race_take(struct hwheel *wheel, unsigned int *words) __maybe_unused;
static bool race_empty(const struct hwheel *wheel);
static void race_kick(struct hwheel *wheel) __maybe_unused;
static void race_submit_source(struct hwheel *wheel,
			       struct llist_node *node) __maybe_unused;
static void race_return(struct hwheel *wheel,
			struct hwheel_timeout *timeout) __maybe_unused;
static int race_arm_at(struct hwheel_timeout *timeout, u64 ns);
static int race_arm(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static int race_mod_at(struct hwheel_timeout *timeout, u64 ns);
static int race_mod(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static int race_mod_jiffies(struct hwheel_timeout *timeout,
			    unsigned long expires) __maybe_unused;
static int race_reduce_at(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static int race_refresh_at(struct hwheel_timeout *timeout, u64 ns);
static int race_refresh(struct hwheel_timeout *timeout, u64 ns) __maybe_unused;
static bool race_cancel(struct hwheel_timeout *timeout);
static unsigned int race_drain(struct hwheel *wheel);
static int race_start(struct hwheel *wheel,
		      const struct hwheel_params *params) __maybe_unused;
static void race_stop(struct hwheel *wheel) __maybe_unused;

/* Nothing of the copies is exported. */
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)	static_assert(sizeof(typeof(symbol) *))

#define hwheel_submit_take		race_take
#define hwheel_submit_empty		race_empty
#define hwheel_submit_kick		race_kick
#define hwheel_submit_source		race_submit_source
#define hwheel_submit_return		race_return
#define hwheel_arm_at			race_arm_at
#define hwheel_arm			race_arm
#define hwheel_mod_at			race_mod_at
#define hwheel_mod			race_mod
#define hwheel_mod_jiffies		race_mod_jiffies
#define hwheel_reduce_at		race_reduce_at
#define hwheel_refresh_at		race_refresh_at
#define hwheel_refresh			race_refresh
#define hwheel_cancel			race_cancel
#define hwheel_word_arm			race_word_arm
#define hwheel_word_acted		race_word_acted
#define hwheel_word_is_enqueued		race_word_is_enqueued
#define hwheel_word_cancel_from		race_word_cancel_from
#define hwheel_word_expire		race_word_expire
#define hwheel_slots_unlink		race_unlink
#define hwheel_worker_drain		race_drain
#define hwheel_worker_start		race_start
#define hwheel_worker_stop		race_stop
#define kthread_should_stop		race_should_stop
#define hwheel_now			race_now
#define schedule			race_sleep
#undef set_bit
#define set_bit				race_set_bit
#undef cond_resched_tasks_rcu_qs
#define cond_resched_tasks_rcu_qs	race_resched
#define schedule_hrtimeout_range_clock	race_sleep_until
#undef cpu_relax
#define cpu_relax()			race_in(GAP_DOUBT)

/* It is the test that does the worker's part, while that one is asleep. */
#define hwheel_assert_owner(wheel)	((void)(wheel))
#define hwheel_pass_work_run(wheel)	((void)(wheel), true)

#include "engine/submit.c"
#include "engine/worker.c"

/* A timeout on a wheel whose worker is asleep: the test drains the timeouts that it arms. */
static struct sim_timeout *race_timeout_within(struct kunit *test, u64 max_pending)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .slots = SIM_SLOTS, .max_pending = max_pending,
	});

	race = (struct race) { };
	race.sim = sim_timeouts(test, wheel, 1, &sim_release_ops);
	sim_pass(wheel, 2);
	return race.sim;
}

static struct sim_timeout *race_timeout(struct kunit *test)
{
	return race_timeout_within(test, 0);
}

static void race_for(enum gap gap, unsigned int times,
		     void (*other)(struct sim_timeout *sim))
{
	race.gap = gap;
	race.times = times;
	race.other = other;
}

/* It happened, and the worker kept its hands off what it did not hold. */
static void race_over(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, race.times, 0);
	KUNIT_EXPECT_EQ(test, race.unqueued, 0);
	race.gap = NO_GAP;
	wake_up_process(sim_wheel_of(race.sim)->worker);
}

/* @others stay pending. */
static void expect_fires_beside(struct kunit *test, struct sim_timeout *sim, u64 edge, u64 others)
{
	struct hwheel *wheel = sim_wheel_of(sim);

	sim_pass(wheel, edge - 1);
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	sim_pass(wheel, edge);
	sim_expect_fired(test, sim, edge);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), others);
}

static void expect_fires(struct kunit *test, struct sim_timeout *sim, u64 edge)
{
	expect_fires_beside(test, sim, edge, 0);
}

static void expect_cancelled(struct kunit *test, struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);

	sim_pass(wheel, 200);
	KUNIT_EXPECT_EQ(test, sim->expired, 0);
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
	KUNIT_EXPECT_EQ(test, hwheel_stop(wheel, sim_handback, NULL), 0);
}

static void cancel_it(struct sim_timeout *sim)
{
	hwheel_cancel(&sim->timeout);
}

/* As hwheel_cancel_sync() does, of a timeout for which somebody has hurried */
static void close_it(struct sim_timeout *sim)
{
	hwheel_word_close(&sim->timeout.word);
	hwheel_cancel(&sim->timeout);
}

static void refresh_to(struct sim_timeout *sim, u64 edge)
{
	hwheel_refresh_at(&sim->timeout, sim_edge_time(sim_wheel_of(sim), edge));
}

static void refresh_to_10(struct sim_timeout *sim)
{
	refresh_to(sim, 10);
}

static void refresh_to_100(struct sim_timeout *sim)
{
	refresh_to(sim, 100);
}

/* Not to the same twice, so that the word is another one each time */
static void refresh_on_and_on(struct sim_timeout *sim)
{
	refresh_to(sim, 100 + race.times);
}

/* While the worker acts on an arm */

static void race_act(struct kunit *test, unsigned int times,
		     void (*other)(struct sim_timeout *sim))
{
	arm_edge(test, race.sim, 50);
	race_for(GAP_ACT, times, other);
	KUNIT_EXPECT_EQ(test, race_drain(sim_wheel_of(race.sim)), 1);
}

static void cancel_while_acted_on(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	race_act(test, 1, cancel_it);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&sim->timeout.node.link));
	KUNIT_EXPECT_EQ(test, sim->released, 1);
	race_over(test);
	expect_cancelled(test, sim);
}

static void refresh_to_earlier_while_acted_on(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	race_act(test, 1, refresh_to_10);
	race_over(test);
	expect_fires(test, sim, 10);
}

static void refresh_to_later_while_acted_on(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	race_act(test, 1, refresh_to_100);
	race_over(test);
	expect_fires(test, sim, 100);
}

static int held_in_gap;

static void mod_in_gap(struct sim_timeout *sim)
{
	held_in_gap = hwheel_mod_at(&sim->timeout, sim_edge_time(sim_wheel_of(sim), 20));
}

/* It fires at edge 20 after that. */
static void race_released(struct kunit *test, enum gap gap, int held, unsigned int released)
{
	struct sim_timeout *sim = race_timeout(test);
	struct hwheel *wheel = sim_wheel_of(sim);

	arm_edge(test, sim, 50);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	race_for(gap, 1, mod_in_gap);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
	race_over(test);
	KUNIT_EXPECT_EQ(test, held_in_gap, held);
	expect_fires(test, sim, 20);
	KUNIT_EXPECT_EQ(test, sim->released, released);
}

/* The release that was owed does not come. */
static void mod_of_a_cancelled_one_while_acted_on(struct kunit *test)
{
	race_released(test, GAP_ACT, HWHEEL_WAS_CANCELLED, 0);
}

/* QUEUED is clear: the release is that of the earlier arm. */
static void mod_right_before_the_release_arms_anew(struct kunit *test)
{
	race_released(test, GAP_ACTED, HWHEEL_NOT_HELD, 1);
}

/* Without a release op it may be armed before the worker has let go of it. */
static void arm_of_a_cancelled_one_while_acted_on(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);
	struct hwheel *wheel = sim_wheel_of(sim);

	hwheel_timeout_init(&sim->timeout, wheel, &sim_ops);
	arm_edge(test, sim, 50);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	race_for(GAP_ACT, 1, arm_10);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
	race_over(test);
	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS_FREE))
		KUNIT_EXPECT_EQ(test, sim_found_if_freed(sim), 1);
	expect_fires(test, sim, 10);
}

/* Acting is bounded: it stays QUEUED and is left to the next pass. */
static void timeout_that_keeps_changing_is_left_to_the_next_pass(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);
	struct hwheel *wheel = sim_wheel_of(sim);

	race_act(test, ACT_MAX + 2, refresh_on_and_on);
	KUNIT_EXPECT_EQ(test, race.times, 1);
	KUNIT_EXPECT_FALSE(test, hwheel_submit_empty(wheel));
	KUNIT_EXPECT_TRUE(test, atomic64_read(&sim->timeout.word) & HWHEEL_QUEUED);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
	KUNIT_EXPECT_TRUE(test, hwheel_submit_empty(wheel));
	KUNIT_EXPECT_FALSE(test, atomic64_read(&sim->timeout.word) & HWHEEL_QUEUED);
	race_over(test);
	expect_fires(test, sim, 100);
}

/* While the worker is about to read the clock */

static void arm_while_an_edge_passes(struct sim_timeout *sim)
{
	hwheel_arm_at(&sim->timeout, sim_edge_time(sim_wheel_of(sim), 3));
	sim_stall(2 * SIM_TICK);
	race.stop = true;
}

/* The pass goes up to that edge, so it has to see what was submitted before it. */
static void submitted_before_the_edge_is_not_late(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	race_for(GAP_CLOCK, 1, arm_while_an_edge_passes);
	worker_run_passes(sim_wheel_of(sim));
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	race_over(test);
}

/* While the worker expires a timeout that is due at edge 5 */

static void race_expire(struct kunit *test, void (*other)(struct sim_timeout *sim))
{
	struct hwheel *wheel = sim_wheel_of(race.sim);

	arm_edge(test, race.sim, 5);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
	sim_stall(4 * SIM_TICK);
	race_for(GAP_EXPIRE, 1, other);
	wheel->reached = 6;
	KUNIT_EXPECT_TRUE(test, expire_due(wheel));
	KUNIT_EXPECT_EQ(test, race.sim->expired, 0);
	race_over(test);
}

static void cancel_while_expired(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	race_expire(test, cancel_it);
	expect_cancelled(test, sim);
}

/* In a batch of callbacks, and by itself on a wheel with a limit */
static void refresh_to_later_while_expired(struct kunit *test)
{
	u64 limit;

	for (limit = 0; limit <= 1; limit++) {
		struct sim_timeout *sim = race_timeout_within(test, limit);

		race_expire(test, refresh_to_100);
		expect_fires(test, sim, 100);
	}
}

static void refresh_to_past(struct sim_timeout *sim)
{
	refresh_to(sim, 1);
}

/* It is due all the same, but QUEUED, so the next drain has it. */
static void refresh_to_earlier_while_expired(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	race_expire(test, refresh_to_past);
	KUNIT_EXPECT_FALSE(test, hwheel_submit_empty(sim_wheel_of(sim)));
	sim_pass(sim_wheel_of(sim), 8);
	KUNIT_EXPECT_EQ(test, sim->expired, 1);
	KUNIT_EXPECT_EQ(test, hwheel_pending(sim_wheel_of(sim)), 0);
}

static void is_it_entered(struct sim_timeout *sim)
{
	race.entered = hwheel_callback_running(sim_wheel_of(sim), &sim->timeout);
}

/* A caller that finds it expired finds it running, in a batch and on a wheel with a limit. */
static void entered_before_it_expires(struct kunit *test)
{
	u64 limit;

	for (limit = 0; limit <= 1; limit++) {
		struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
			.tick_ns = SIM_TICK, .max_pending = limit,
		});

		race = (struct race) { };
		race.sim = sim_timeouts(test, wheel, 1, &sim_ops);
		arm_edge(test, race.sim, 2);
		KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
		race_for(GAP_EXPIRE, 1, is_it_entered);
		wheel->reached = 2;
		KUNIT_EXPECT_TRUE(test, expire_due(wheel));
		KUNIT_EXPECT_TRUE(test, race.entered);
		KUNIT_EXPECT_EQ(test, race.sim->expired, 1);
		race_over(test);
	}
}

static void stall(struct sim_timeout *sim)
{
	sim_stall(4 * SIM_TICK);
}

#define MORE	(RESCHED_EVERY + 1)

/* At edge 2, to be drained by the test */
static struct hwheel *arm_more_than_a_batch(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, MORE, &sim_ops);
	unsigned int i;

	race = (struct race) { .sim = sim };
	for (i = 0; i < MORE; i++)
		arm_edge(test, &sim[i], 2);
	return wheel;
}

/* @late of them expired four to eight ticks late. */
static void expect_no_blame(struct kunit *test, struct hwheel *wheel, u64 late)
{
	struct hwheel_stats stats;

	hwheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.expired, MORE);
	KUNIT_EXPECT_EQ(test, stats.overlong, 0);
	KUNIT_EXPECT_EQ(test, stats.lateness[11], late);
}

/* The time that others took is no callback's. */
static void no_callback_is_blamed_for_others(struct kunit *test)
{
	struct hwheel *wheel = arm_more_than_a_batch(test);

	KUNIT_EXPECT_EQ(test, race_drain(wheel), MORE);
	sim_stall(2 * SIM_TICK);
	begin_pass(wheel);
	KUNIT_EXPECT_EQ(test, worker_drain_some(wheel, &wheel->words), 0);
	race_for(GAP_RESCHED, 1, stall);
	/* It took others so long that the rest is not in this part of the pass. */
	KUNIT_EXPECT_FALSE(test, expire_due(wheel));
	race_over(test);
	/* The one behind the others is late by so much. */
	expect_no_blame(test, wheel, 1);
}

/* Others took a while during the drain: the clock is read anew before the callbacks. */
static void no_callback_is_blamed_for_a_drain(struct kunit *test)
{
	struct hwheel *wheel = arm_more_than_a_batch(test);

	sim_stall(2 * SIM_TICK);
	begin_pass(wheel);
	race_for(GAP_RESCHED, 1, stall);
	KUNIT_EXPECT_EQ(test, worker_drain_some(wheel, &wheel->words), MORE);
	KUNIT_EXPECT_TRUE(test, expire_due(wheel));
	race_over(test);
	expect_no_blame(test, wheel, MORE);
}

static unsigned int gaps;

static void count_gap(struct sim_timeout *sim)
{
	gaps++;
}

static void expire_in_a_jiffy(struct hwheel_timeout *timeout)
{
	sim_expire(timeout);
	sim_stall(TICK_NSEC);
}

static void due_in_a_jiffy(struct hwheel_timeout *timeout)
{
	sim_stall(TICK_NSEC);
}

static const struct hwheel_timeout_ops slow_expire_ops = { .expire = expire_in_a_jiffy };

static const struct hwheel_timeout_ops slow_due_ops = {
	.expire = sim_expire, .due = due_in_a_jiffy,
};

/* Four at an edge. With a limit or a due op the batch is one in full. */
static void expire_slow_ones(struct kunit *test, u64 limit,
			     const struct hwheel_timeout_ops *ops)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = limit,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 4, ops);
	unsigned int i;

	race = (struct race) { .sim = sim };
	for (i = 0; i < 4; i++)
		arm_edge(test, &sim[i], 2);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 4);
	sim_stall(2 * SIM_TICK);
	begin_pass(wheel);
	worker_drain_some(wheel, &wheel->words);
	gaps = 0;
	race_for(GAP_RESCHED, 4, count_gap);
	while (!expire_due(wheel))
		;
	KUNIT_EXPECT_EQ(test, gaps, 4);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 4), 4);
	race_over(test);
}

static void others_run_after_each_slow_callback(struct kunit *test)
{
	expire_slow_ones(test, 0, &slow_expire_ops);
	expire_slow_ones(test, 4, &slow_expire_ops);
	expire_slow_ones(test, 0, &slow_due_ops);
}

static void release_in_a_jiffy(struct hwheel_timeout *timeout)
{
	sim_release(timeout);
	sim_stall(TICK_NSEC);
}

static const struct hwheel_timeout_ops slow_ops = {
	.expire = sim_expire,
	.release = release_in_a_jiffy,
};

/* Others have the CPU after each, and what expires has its turn after some. */
static void others_run_after_each_slow_release(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 6, &slow_ops);
	unsigned int i, drained, drains = 0;

	race = (struct race) { .sim = sim };
	for (i = 0; i < 6; i++) {
		arm_edge(test, &sim[i], 100);
		hwheel_cancel(&sim[i].timeout);
	}
	begin_pass(wheel);
	gaps = 0;
	race_for(GAP_RESCHED, 6, count_gap);
	for (drained = 0; drained < 6; drains++) {
		KUNIT_ASSERT_FALSE(test, is_drained(wheel, wheel->words));
		drained += worker_drain_some(wheel, &wheel->words);
	}
	race.times = 0;
	KUNIT_EXPECT_GE(test, drains, 2);
	KUNIT_EXPECT_GE(test, gaps + drains, 6);
	KUNIT_EXPECT_TRUE(test, is_drained(wheel, wheel->words));
	race_over(test);
}

/* Whose turn it is, for how long, and what was the longest */
static struct turns {
	void		*backlog;
	unsigned int	length;
	unsigned int	longest;
} turns;

static void take_turns(struct sim_timeout *sim)
{
	if (sim->data != turns.backlog)
		turns.length = 0;
	turns.backlog = sim->data;
	turns.longest = max(turns.longest, ++turns.length);
}

/* None has more than its turn before the other has its own. */
static void backlogs_have_short_turns(struct kunit *test)
{
	const unsigned int nr = 3 * RESCHED_EVERY;
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2 * nr, &sim_ops);
	unsigned int i;

	race = (struct race) { .sim = sim };
	turns = (struct turns) { };
	for (i = 0; i < 2 * nr; i++) {
		sim[i].then = take_turns;
		sim[i].data = &sim[i / nr];
		arm_edge(test, &sim[i], 5 + i / nr);
	}
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 2 * nr);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, hwheel_slots_advance(&wheel->slots, 6));
		hwheel_slots_put_off(&wheel->slots);
	}
	sim_stall(6 * SIM_TICK);
	wheel->reached = 6;
	KUNIT_EXPECT_TRUE(test, expire_due(wheel));
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, 2 * nr), 2 * nr);
	KUNIT_EXPECT_EQ(test, turns.longest, RESCHED_EVERY);
	race_over(test);
}

/* While the worker goes to sleep */

static void arm_100(struct sim_timeout *sim)
{
	hwheel_arm_at(&sim->timeout, sim_edge_time(sim_wheel_of(sim), 100));
}

/* By one who submitted something that was drained before */
static void take_idle_away(struct sim_timeout *sim)
{
	WRITE_ONCE(sim_wheel_of(sim)->idle, 0);
}

static void nothing(struct sim_timeout *sim)
{
}

static unsigned int race_to_sleep(bool linger,
				  void (*other)(struct sim_timeout *sim))
{
	struct hwheel *wheel = sim_wheel_of(race.sim);

	race_for(GAP_SLEEP, 1, other);
	worker_sleep(wheel, linger);
	return race.slept;
}

static void sleeps_if_nothing_happens(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	KUNIT_EXPECT_EQ(test, race_to_sleep(false, nothing), 1);
	KUNIT_EXPECT_EQ(test, race_to_sleep(true, nothing), 2);
	race_over(test);
	KUNIT_EXPECT_EQ(test, sim_wheel_of(sim)->idle, 0);
}

static void is_not_idle_on_a_submission(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	KUNIT_EXPECT_EQ(test, race_to_sleep(false, arm_100), 0);
	race_over(test);
	expect_fires(test, sim, 100);
}

static void is_not_idle_when_another_took_idle(struct kunit *test)
{
	race_timeout(test);
	KUNIT_EXPECT_EQ(test, race_to_sleep(false, take_idle_away), 0);
	race_over(test);
}

static void kick_it(struct sim_timeout *sim)
{
	hwheel_submit_kick(sim_wheel_of(sim));
}

/* At a time when the wake-up finds the worker awake */
static void does_not_sleep_when_kicked(struct kunit *test)
{
	race_timeout(test);
	KUNIT_EXPECT_EQ(test, race_to_sleep(true, kick_it), 0);
	race_over(test);
}

/* The worker does not find the timeout yet, and goes to sleep deeply. */
static void sleep_before_the_mark(struct sim_timeout *sim)
{
	struct hwheel *wheel = sim_wheel_of(sim);

	race.found = race_drain(wheel);
	worker_sleep(wheel, false);
	WRITE_ONCE(wheel->idle, 1);
}

static void wakes_the_worker_after_the_mark(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);
	struct hwheel *wheel = sim_wheel_of(sim);

	race_for(GAP_MARK, 1, sleep_before_the_mark);
	arm_100(sim);
	KUNIT_EXPECT_EQ(test, race.found, 0);
	KUNIT_EXPECT_EQ(test, race.slept, 1);
	KUNIT_EXPECT_EQ(test, wheel->idle, 0);
	KUNIT_EXPECT_FALSE(test, hwheel_submit_empty(wheel));
	race_over(test);
	expect_fires(test, sim, 100);
}

/* More than enough for one on the list of the first, and one on another */
#define ON_LISTS	64

static void arm_another(struct sim_timeout *sim, bool same_list)
{
	unsigned int list = hwheel_submit_queue_of(&sim->timeout.queue);
	struct hwheel *wheel = sim_wheel_of(sim);
	struct sim_timeout *other = sim + 1;

	while ((hwheel_submit_queue_of(&other->timeout.queue) == list) != same_list)
		other++;
	WRITE_ONCE(wheel->idle, 1);
	arm_100(other);
	race.found = !wheel->idle;
}

/* An interrupt submits, and has nothing to mark or to wake. */
static void arm_another_of_the_list(struct sim_timeout *sim)
{
	arm_another(sim, true);
}

/* It finds an empty list. */
static void arm_another_of_another_list(struct sim_timeout *sim)
{
	arm_another(sim, false);
}

static void interrupt_before_the_mark(struct kunit *test, void (*other)(struct sim_timeout *sim),
				      unsigned int wakes)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, ON_LISTS, &sim_ops);

	race = (struct race) { .sim = sim };
	sim_pass(wheel, 2);
	race_for(GAP_MARK, 1, other);
	arm_100(sim);
	KUNIT_EXPECT_EQ(test, race.found, wakes);
	KUNIT_EXPECT_EQ(test, wheel->idle, 0);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 2);
	KUNIT_EXPECT_TRUE(test, hwheel_submit_empty(wheel));
	race_over(test);
	sim_pass(wheel, 100);
	KUNIT_EXPECT_EQ(test, sim_count_expired(sim, ON_LISTS), 2);
}

static void an_interrupt_before_the_mark_only_adds(struct kunit *test)
{
	interrupt_before_the_mark(test, arm_another_of_the_list, 0);
}

static void an_interrupt_marks_for_another_list(struct kunit *test)
{
	if (HWHEEL_LISTS == 1)
		kunit_skip(test, "there is one list only");
	interrupt_before_the_mark(test, arm_another_of_another_list, 1);
}

/* It looks at the lists at the next edge anyway. */
static void lingers_whatever_is_submitted(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	KUNIT_EXPECT_EQ(test, race_to_sleep(true, arm_100), 1);
	race_over(test);
	expect_fires(test, sim, 100);
}

/* While it is armed by another: one of the two arms counts, and takes one place of the limit. */
static void race_two_arms(struct kunit *test, u64 max_pending)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = SIM_TICK, .max_pending = max_pending,
	});
	struct sim_timeout *sim = sim_timeouts(test, wheel, 2, &sim_release_ops);
	struct hwheel_stats stats;

	race = (struct race) { .sim = sim };
	race_for(GAP_ARM, 1, arm_10);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 1);
	hwheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.armed, 1);
	race_over(test);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim[1].timeout, sim_edge_time(wheel, 10)), 0);
	expect_fires(test, sim, 10);
}

static void second_of_two_arms_is_refused_and_rolled_back(struct kunit *test)
{
	race_two_arms(test, 0);
	race_two_arms(test, 2);
}

static void give_place_back(struct sim_timeout *sim)
{
	hwheel_limit_decide(sim_wheel_of(sim), false);
}

static void keep_place(struct sim_timeout *sim)
{
	hwheel_limit_decide(sim_wheel_of(sim), true);
}

/* The only place is in doubt, as another CPU is about to arm, and may have to give it back. */
static struct sim_timeout *race_doubt(struct kunit *test, void (*decide)(struct sim_timeout *sim),
				      int err)
{
	struct sim_timeout *sim = race_timeout_within(test, 1);

	KUNIT_ASSERT_TRUE(test, hwheel_limit_begin(sim_wheel_of(sim)));
	race_for(GAP_DOUBT, 1, decide);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, sim_edge_time(sim_wheel_of(sim), 10)),
			err);
	race_over(test);
	return sim;
}

static void a_place_in_doubt_keeps_nobody_out(struct kunit *test)
{
	expect_fires(test, race_doubt(test, give_place_back, 0), 10);
}

static void a_place_that_was_in_doubt_counts(struct kunit *test)
{
	struct sim_timeout *sim = race_doubt(test, keep_place, -EDQUOT);

	hwheel_limit_end(sim_wheel_of(sim));
	arm_edge(test, sim, 10);
	expect_fires(test, sim, 10);
}

/* The timeout ends before the CPU that has armed it keeps its place. */
static void an_end_before_the_place_is_kept_frees_it(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout_within(test, 1);
	struct hwheel *wheel = sim_wheel_of(sim);

	KUNIT_ASSERT_TRUE(test, hwheel_limit_begin(wheel));
	hwheel_limit_end(wheel);
	KUNIT_EXPECT_EQ(test, hwheel_arm_at(&sim->timeout, sim_edge_time(wheel, 10)), 0);
	hwheel_limit_decide(wheel, true);
	KUNIT_EXPECT_EQ(test, hwheel_limit_settled(atomic64_read(&wheel->pending)), 1);
	race_for(NO_GAP, 0, NULL);
	race_over(test);
	expect_fires(test, sim, 10);
}

static void does_not_linger_while_somebody_waits(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);
	struct hwheel *wheel = sim_wheel_of(sim);

	arm_edge(test, sim, 100);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
	WRITE_ONCE(wheel->urgent, 1);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 0);
	KUNIT_EXPECT_EQ(test, race_to_sleep(true, close_it), 0);
	race_over(test);
	KUNIT_EXPECT_EQ(test, hwheel_cancel_sync(&sim->timeout), 0);
	expect_cancelled(test, sim);
}

/* While one that is enqueued is refreshed to a later deadline */

static void race_enqueued(struct kunit *test, void (*other)(struct sim_timeout *sim),
			  int err)
{
	struct hwheel *wheel = sim_wheel_of(race.sim);
	u64 deadline = sim_edge_time(wheel, 100);

	arm_edge(test, race.sim, 50);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
	race_for(GAP_ENQUEUED, 1, other);
	KUNIT_EXPECT_EQ(test, hwheel_refresh_at(&race.sim->timeout, deadline), err);
	race_over(test);
}

static void cancel_while_refreshed(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	race_enqueued(test, cancel_it, -ENOENT);
	expect_cancelled(test, sim);
}

static void cancel_while_moved(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);
	struct hwheel *wheel = sim_wheel_of(sim);

	arm_edge(test, sim, 50);
	KUNIT_EXPECT_EQ(test, race_drain(wheel), 1);
	race_for(GAP_ENQUEUED, 1, cancel_it);
	KUNIT_EXPECT_EQ(test, hwheel_mod_at(&sim->timeout, sim_edge_time(wheel, 100)),
			HWHEEL_WAS_CANCELLED);
	race_over(test);
	expect_fires(test, sim, 100);
	KUNIT_EXPECT_EQ(test, sim->released, 0);
}

static void refresh_to_earlier_while_refreshed(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	race_enqueued(test, refresh_to_10, 0);
	KUNIT_EXPECT_TRUE(test, atomic64_read(&sim->timeout.word) & HWHEEL_QUEUED);
	expect_fires(test, sim, 100);
}

/* While one that is pending is cancelled */

static void only_one_of_two_cancels(struct kunit *test)
{
	struct sim_timeout *sim = race_timeout(test);

	arm_edge(test, sim, 50);
	race_for(GAP_PENDING, 1, cancel_it);
	KUNIT_EXPECT_FALSE(test, hwheel_cancel(&sim->timeout));
	race_over(test);
	expect_cancelled(test, sim);
}

/* The quick cancel leaves it to the full one, which counts for the limit. */
static void refresh_while_cancelled(struct kunit *test)
{
	u64 limit;

	for (limit = 0; limit <= 1; limit++) {
		struct sim_timeout *sim = race_timeout_within(test, limit);

		arm_edge(test, sim, 50);
		KUNIT_EXPECT_EQ(test, race_drain(sim_wheel_of(sim)), 1);
		race_for(GAP_PENDING, 1, refresh_to_100);
		KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
		race_over(test);
		expect_cancelled(test, sim);
	}
}

/* While one that is still queued is cancelled */

static void free_sim(struct hwheel_timeout *timeout)
{
	kfree(sim_of(timeout));
}

/* The worker is another CPU, with preemption on. */
static void drain_it(struct sim_timeout *sim)
{
	rcu_read_unlock_sched();
	race_drain(sim_wheel_of(sim));
	rcu_read_lock_sched();
}

/* The worker releases it at once, so who cancels must not look at it again. */
static void race_free(struct kunit *test, enum gap gap,
		      void (*other)(struct sim_timeout *sim))
{
	static const struct hwheel_timeout_ops ops = {
		.expire = sim_expire, .release = free_sim,
	};
	struct hwheel *wheel = sim_wheel_of(race_timeout(test));
	struct sim_timeout *sim = kzalloc(sizeof(*sim), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sim);
	hwheel_timeout_init(&sim->timeout, wheel, &ops);
	arm_edge(test, sim, 100);
	race.sim = sim;
	race_for(gap, 1, other);
	KUNIT_EXPECT_TRUE(test, hwheel_cancel(&sim->timeout));
	KUNIT_EXPECT_EQ(test, race.times, 0);
	KUNIT_EXPECT_EQ(test, hwheel_pending(wheel), 0);
}

static void cancelled_one_is_freed_by_its_release(struct kunit *test)
{
	race_free(test, GAP_CANCEL, drain_it);
}

/* So that the quick cancel fails */
static void refresh_then_drain_it(struct sim_timeout *sim)
{
	refresh_to(sim, 200);
	race_for(GAP_CANCEL, 1, drain_it);
}

static void refreshed_one_is_freed_by_its_release(struct kunit *test)
{
	race_free(test, GAP_PENDING, refresh_then_drain_it);
}

static struct kunit_case race_cases[] = {
	KUNIT_CASE(cancel_while_acted_on),
	KUNIT_CASE(refresh_to_earlier_while_acted_on),
	KUNIT_CASE(refresh_to_later_while_acted_on),
	KUNIT_CASE(mod_of_a_cancelled_one_while_acted_on),
	KUNIT_CASE(mod_right_before_the_release_arms_anew),
	KUNIT_CASE(arm_of_a_cancelled_one_while_acted_on),
	KUNIT_CASE(timeout_that_keeps_changing_is_left_to_the_next_pass),
	KUNIT_CASE(submitted_before_the_edge_is_not_late),
	KUNIT_CASE(cancel_while_expired),
	KUNIT_CASE(refresh_to_later_while_expired),
	KUNIT_CASE(refresh_to_earlier_while_expired),
	KUNIT_CASE(entered_before_it_expires),
	KUNIT_CASE(no_callback_is_blamed_for_others),
	KUNIT_CASE(no_callback_is_blamed_for_a_drain),
	KUNIT_CASE(others_run_after_each_slow_callback),
	KUNIT_CASE(others_run_after_each_slow_release),
	KUNIT_CASE(backlogs_have_short_turns),
	KUNIT_CASE(sleeps_if_nothing_happens),
	KUNIT_CASE(is_not_idle_on_a_submission),
	KUNIT_CASE(is_not_idle_when_another_took_idle),
	KUNIT_CASE(does_not_sleep_when_kicked),
	KUNIT_CASE(wakes_the_worker_after_the_mark),
	KUNIT_CASE(an_interrupt_before_the_mark_only_adds),
	KUNIT_CASE(an_interrupt_marks_for_another_list),
	KUNIT_CASE(lingers_whatever_is_submitted),
	KUNIT_CASE(does_not_linger_while_somebody_waits),
	KUNIT_CASE(cancel_while_refreshed),
	KUNIT_CASE(cancel_while_moved),
	KUNIT_CASE(refresh_to_earlier_while_refreshed),
	KUNIT_CASE(only_one_of_two_cancels),
	KUNIT_CASE(refresh_while_cancelled),
	KUNIT_CASE(cancelled_one_is_freed_by_its_release),
	KUNIT_CASE(refreshed_one_is_freed_by_its_release),
	KUNIT_CASE(second_of_two_arms_is_refused_and_rolled_back),
	KUNIT_CASE(a_place_in_doubt_keeps_nobody_out),
	KUNIT_CASE(a_place_that_was_in_doubt_counts),
	KUNIT_CASE(an_end_before_the_place_is_kept_frees_it),
	{}
};

static struct kunit_suite race_suite = {
	.name = "hwheel_race",
	.test_cases = race_cases,
};

kunit_test_suite(race_suite);
