// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worker: one thread that alone writes the slots.
 *
 * A pass reads the clock, drains the submission queues, and expires what is due up to
 * the edge that was reached; a late worker catches up all missed edges in one pass. The
 * clock comes first: what is submitted later than that is not due at that edge, so the
 * drain may miss it. Drain and expiry are bounded, in number and in time: a pass that did
 * not get through is followed at once by another.
 *
 * A drain visits the CPUs that are marked, see submit.c. The next pass goes on with a drain that
 * did not get through, with the lists that are not taken yet. As the lists of each CPU are taken
 * once, the drain ends however much is submitted meanwhile.
 * The cursor does not wait for the drain, so that a flood of submissions keeps no enqueued
 * timeout waiting. A timeout that the drain comes upon too late for its edge is due at once:
 * the worker puts it on the due list of the same pass.
 *
 * Then it sleeps, in one of two depths. If more is likely to come, the worker lingers until the
 * next edge, but for LINGER_NS at most: submitters need not wake it, and all they submit meanwhile
 * is drained at once. Otherwise it sleeps to its next occupied edge. If that lies beyond the next
 * edge, or may be farther away than LINGER_NS, it publishes this deep sleep, and a caller that
 * submits something wakes it. A caller that waits in hwheel_cancel_sync() wakes it from either.
 *
 * More is likely to come if it came the last time: before the lingering ended or, in deep sleep,
 * before it would have ended. The wheel remembers that apart for passes that looked at a due slot
 * and for passes that only drained. After an empty pass the worker does not linger. On a new wheel
 * it lingers after a drain, as a first arm is mostly followed by others: in vain that costs a
 * wake-up, but without it the second caller pays for a kick, too. It does not linger after the
 * first expiry, so a lone timeout on a new wheel costs three wake-ups, and two from then on.
 *
 * Models: life.pml, timeout.pml, nested.pml, sleep.pml, stop.pml and source.pml in
 * selftests/models/.
 */
#include <linux/bitops.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <uapi/linux/sched/types.h>

#include "bandwidth.h"
#include "callback.h"
#include "debug_objects.h"
#include "edge.h"
#include "limit.h"
#include "pass_work.h"
#include "source.h"
#include "state.h"
#include "submit.h"
#include "sweep.h"
#include "trace.h"
#include "wheel.h"
#include "work.h"
#include "worker.h"

/* How much of a kind is done in one pass, and in a row without cond_resched() */
#define DRAIN_MAX	100000U
#define EXPIRE_MAX	10000U
#define RESCHED_EVERY	256U

/* How long submissions may wait for a worker that lingers */
#define LINGER_NS	(100 * NSEC_PER_MSEC)

/* How often more in one pass to act on a timeout that changes all the time */
#define ACT_MAX		3

static struct hwheel_timeout *timeout_of(struct hwheel_node *node)
{
	return container_of(node, struct hwheel_timeout, node);
}

/*
 * As long as one pass follows another the worker does not sleep, nor perhaps does it ever
 * find that others are to run: so it tells RCU Tasks that it is in nobody's trampoline.
 */
static void let_others_run(void)
{
	cond_resched_tasks_rcu_qs();
}

/*
 * Enqueues for @first at the earliest. With @late the cursor may have passed the timeout's edge
 * since the drain began; see the top.
 */
static __always_inline void worker_enqueue(struct hwheel *wheel,
					   struct hwheel_timeout *timeout, u64 word,
					   u64 first, unsigned long chain, bool late)
{
	u64 edge = max(hwheel_edge_due(wheel, hwheel_word_deadline(word)), first);

	if (late && edge <= wheel->slots.cursor)
		hwheel_slots_add_due(&wheel->slots, &timeout->node, chain);
	else
		hwheel_slots_enqueue(&wheel->slots, &timeout->node, edge, chain);
}

/*
 * Clears QUEUED, with which the wheel unreferences a timeout that is not pending. False if the
 * word is another one meanwhile.
 */
static __always_inline bool worker_acted(struct hwheel_timeout *timeout, u64 word)
{
	bool unreferences = hwheel_word_state(word) != HWHEEL_PENDING;

	if (unreferences)
		hwheel_debug_unreference(timeout);
	if (likely(hwheel_word_acted(&timeout->word, word)))
		return true;
	if (unreferences)
		hwheel_debug_reference(timeout);
	return false;
}

/* As worker_acted(), for one that expires; reads the other word. */
static __always_inline bool worker_expired(struct hwheel_timeout *timeout, s64 *word)
{
	hwheel_debug_unreference(timeout);
	if (likely(hwheel_word_expire(&timeout->word, word)))
		return true;
	hwheel_debug_reference(timeout);
	return false;
}

/* It is still QUEUED, so it is ours to add. The mark's order is that of our own next drain. */
static void worker_requeue(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	unsigned int cpu = raw_smp_processor_id();
	struct hwheel_cpu *queues = per_cpu_ptr(wheel->cpu, cpu);
	struct llist_node *node = &timeout->queue;

	if (llist_add(node, &queues->queues[hwheel_submit_queue_of(node)]))
		set_bit(cpu, wheel->dirty);
}

/*
 * A release op is not called while a callback of an earlier arm still runs, as it may free
 * what that uses: a callback that drains submits the timeout again, for a drain that is not in it.
 */
static bool worker_defers(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	if (!wheel->depth || !hwheel_callback_running(wheel, timeout))
		return false;
	worker_requeue(wheel, timeout);
	return true;
}

/* False if the state changed meanwhile. */
static noinline bool worker_release(struct hwheel *wheel, struct hwheel_timeout *timeout,
				    s64 word)
{
	hwheel_callback_t *callback = timeout->ops->release;
	bool done;

	if (worker_defers(wheel, timeout))
		return true;
	if (!wheel->depth)
		hwheel_clock_follow(wheel);
	hwheel_callback_begin(wheel, timeout);
	done = worker_acted(timeout, word);
	if (done) {
		/* Those whose timeouts were drained before do not wait for this op. */
		hwheel_wake_waiters(wheel);
		hwheel_callback_call_timed(wheel, callback, timeout);
	}
	hwheel_callback_end(wheel);
	return done;
}

/*
 * Acts on a queued timeout: brings the slots up to its state. Once QUEUED is cleared on one
 * that is not pending, the wheel does not refer to it any more and others may free it, unless a
 * release is owed. Returns false if the state changed meanwhile. Without @full it leaves a timeout
 * that is owed a release to the caller, and returns false, too.
 */
static __always_inline bool worker_act(struct hwheel *wheel,
				       struct hwheel_timeout *timeout, u64 first,
				       unsigned long chain, bool late, bool full)
{
	s64 word = atomic64_read_acquire(&timeout->word);

	hwheel_slots_unlink(&wheel->slots, &timeout->node);
	if (hwheel_word_state(word) == HWHEEL_PENDING)
		worker_enqueue(wheel, timeout, word, first, chain, late);
	else if (unlikely(timeout->ops->release))
		return full && worker_release(wheel, timeout, word);
	return worker_acted(timeout, word);
}

/*
 * One that changes all the time is left to a later pass. Returns whether a jiffy passed in a
 * release op, which is when the worker's own copy of them changes.
 */
static noinline bool worker_act_on_latest(struct hwheel *wheel,
					  struct hwheel_timeout *timeout, unsigned long chain)
{
	unsigned long since = wheel->jiffies;
	int tries;

	for (tries = 0; tries < ACT_MAX; tries++)
		if (worker_act(wheel, timeout, wheel->first, chain, true, true))
			return since != wheel->jiffies;
	worker_requeue(wheel, timeout);
	return since != wheel->jiffies;
}

/*
 * Acts on up to @max queued timeouts, and returns on how many; on fewer if a release op took
 * up to a jiffy.
 */
static __always_inline unsigned int drain_batch(struct hwheel *wheel,
						unsigned int *words,
						unsigned int max, bool late)
{
	unsigned int left = max;
	u64 first = wheel->first;
	unsigned long turn = 0;

	while (left && hwheel_submit_more(wheel, words, &turn)) {
		struct hwheel_timeout *timeout = hwheel_submit_pop(wheel, &turn);
		unsigned long chain = turn * HWHEEL_CHAINS / HWHEEL_LISTS;

		if (unlikely(!worker_act(wheel, timeout, first, chain, late, false))) {
			if (worker_act_on_latest(wheel, timeout, chain)) {
				/* The batch ends; a break would cost the others a test. */
				max -= left - 1;
				left = 1;
			}
			turn = 0;
		}
		left--;
	}
	return max - left;
}

static noinline unsigned int drain_batch_late(struct hwheel *wheel,
					      unsigned int *words, unsigned int max)
{
	return drain_batch(wheel, words, max, true);
}

/* Two copies, as the test for @late would cost each timeout two instructions. */
static unsigned int worker_drain_batch(struct hwheel *wheel, unsigned int *words,
				       unsigned int max)
{
	if (unlikely(wheel->first <= wheel->slots.cursor))
		return drain_batch_late(wheel, words, max);
	return drain_batch(wheel, words, max, false);
}

static bool is_drained(const struct hwheel *wheel, unsigned int words)
{
	return !wheel->lists && !wheel->marked && !words;
}

/* Returns how many timeouts were acted on. */
static unsigned int worker_drain_some(struct hwheel *wheel, unsigned int *words)
{
	unsigned long since = jiffies;
	unsigned int n = 0;

	hwheel_assert_owner(wheel);
	while (true) {
		n += worker_drain_batch(wheel, words, min(DRAIN_MAX - n, RESCHED_EVERY));
		if (is_drained(wheel, *words) || n == DRAIN_MAX ||
		    hwheel_is_long(since))
			break;
		let_others_run();
	}
	if (n) {
		/* A thread that still waits kicks again. */
		wheel->kicked = false;
		hwheel_wake_waiters(wheel);
	}
	local_add(n, &wheel->counts.drained);
	hwheel_count_max(&wheel->counts.drained_max, n);
	trace_drain(wheel, n);
	return n;
}

/*
 * The exchange comes before the look at the marks, so a thread that sets urgent after it gets
 * another drain. Another CPU may be about to add the timeout that this thread waits for, or to
 * mark its list, so that the drain does not find it: then the worker goes to sleep with idle set,
 * and that CPU wakes it.
 */
static void begin_drain(struct hwheel *wheel, unsigned int *words)
{
	if (READ_ONCE(wheel->urgent) && xchg(&wheel->urgent, 0))
		wheel->kicked = true;
	*words = hwheel_submit_words();
}

/*
 * Called in a callback, or by the thread that stops the wheel. Returns how many timeouts were
 * acted on.
 *
 * The pass does not learn that there may be more, so then urgent says it: what this took
 * away may have been about what is left.
 */
unsigned int hwheel_worker_drain(struct hwheel *wheel)
{
	unsigned int words, n;

	begin_drain(wheel, &words);
	n = worker_drain_some(wheel, &words);
	if (!is_drained(wheel, words))
		WRITE_ONCE(wheel->urgent, 1);
	return n;
}

/* While QUEUED is clear, what was enqueued is pending. */
static __always_inline bool is_due(const struct hwheel *wheel, u64 word)
{
	return !(word & HWHEEL_QUEUED) && word <= wheel->due_word;
}

/* @word is what it was due from. */
static __always_inline void count_lateness(struct hwheel *wheel, u64 word)
{
	hwheel_count_lateness(&wheel->counts, wheel->now_word - word,
			      wheel->lateness_scale);
}

static noinline void worker_move(struct hwheel *wheel, struct hwheel_timeout *timeout,
				 u64 word, unsigned long chain)
{
	local_inc(&wheel->counts.moved);
	worker_enqueue(wheel, timeout, word, wheel->first, chain, false);
}

/*
 * Lets the owner refresh a timeout that is due, and reads the word anew. It is not freed
 * meanwhile, as only we would find that it may be. Returns as worker_call().
 */
static bool worker_call_due(struct hwheel *wheel, struct hwheel_timeout *timeout,
			    s64 *word)
{
	bool quick;

	hwheel_batch_next(wheel, timeout);
	quick = hwheel_callback_call_timed(wheel, timeout->ops->due, timeout);
	*word = atomic64_read_acquire(&timeout->word);
	return quick;
}

/* Returns whether it took less than a jiffy. */
static __always_inline bool worker_call(struct hwheel *wheel,
					struct hwheel_timeout *timeout, u64 word,
					bool full)
{
	hwheel_callback_t *callback = timeout->ops->expire;
	bool quick;

	if (full)
		trace_timeout_expire_entry(wheel, timeout, callback, word);
	quick = hwheel_callback_call_timed(wheel, callback, timeout);
	if (full)
		trace_timeout_expire_exit(wheel, timeout);
	return quick;
}

/* Expires a timeout that is due. False if the word is another one meanwhile, which is read. */
static __always_inline bool worker_expire(struct hwheel *wheel,
					  struct hwheel_timeout *timeout, s64 *word,
					  bool full)
{
	hwheel_batch_next(wheel, timeout);
	if (unlikely(!worker_expired(timeout, word)))
		return false;
	if (full)
		hwheel_limit_end(wheel);
	hwheel_batch_exchanged(wheel);
	return true;
}

/*
 * Looks at a timeout that was popped from the due list. It is on no list now, but
 * perhaps a submission queue: then the next drain acts on it. One that has expired may
 * be freed by its callback. Returns whether the batch may go on: whether no jiffy has passed.
 */
static __always_inline bool look_at(struct hwheel *wheel, struct hwheel_timeout *timeout,
				    unsigned long chain, bool full)
{
	s64 word = atomic64_read_acquire(&timeout->word);
	bool quick = true;

	/* Once: an owner that gives a later deadline each time can't keep the worker here. */
	if (full && timeout->ops->due && is_due(wheel, word))
		quick = worker_call_due(wheel, timeout, &word);
	while (likely(is_due(wheel, word))) {
		bool is_work = full && hwheel_is_work(timeout);

		if (unlikely(!(is_work ? hwheel_work_hand_over(wheel, timeout, &word) :
					 worker_expire(wheel, timeout, &word, full))))
			continue;
		count_lateness(wheel, word);
		if (is_work)
			return quick && !hwheel_clock_is_old(wheel);
		return worker_call(wheel, timeout, word, full) && quick;
	}
	if (!(word & HWHEEL_QUEUED))
		worker_move(wheel, timeout, word, chain);
	else if (hwheel_word_is_source(word))
		hwheel_source_is_due(wheel, timeout);
	return quick;
}

/* Looks at up to @max of a list, for up to a jiffy, and returns at how many. */
static __always_inline unsigned int look_at_batch(struct hwheel *wheel,
						  struct hwheel_chains *chains,
						  unsigned int max, bool full)
{
	unsigned int left = max;
	struct hwheel_node *node;
	unsigned long turn = 0;

	hwheel_clock_follow(wheel);
	hwheel_batch_begin(wheel);
	while (left && (node = hwheel_slots_pop(chains, &turn))) {
		left--;
		if (full && unlikely(wheel->sweep) && hwheel_sweep_ends(wheel, timeout_of(node)))
			continue;
		if (!look_at(wheel, timeout_of(node), turn, full))
			break;
	}
	hwheel_batch_end(wheel);
	return max - left;
}

/* Two functions, so that neither takes registers of what calls them. */

static noinline unsigned int look_at_batch_plainly(struct hwheel *wheel,
						   struct hwheel_chains *chains,
						   unsigned int max)
{
	return look_at_batch(wheel, chains, max, false);
}

static noinline unsigned int look_at_batch_in_full(struct hwheel *wheel,
						   struct hwheel_chains *chains,
						   unsigned int max)
{
	return look_at_batch(wheel, chains, max, true);
}

/* Is there nothing to do about timeouts that expire but to call their callbacks? */
static bool is_plain(const struct hwheel *wheel)
{
	return !wheel->max_pending && !READ_ONCE(wheel->asks) && !wheel->sweep &&
	       !trace_timeout_expire_entry_enabled() &&
	       !trace_timeout_expire_exit_enabled();
}

/* The device takes the clock as it was last read for the time at which its timeouts fired. */
static void worker_resched(struct hwheel *wheel)
{
	let_others_run();
	hwheel_clock_read(wheel);
}

/*
 * Looks at some of a list, until it is time to resched or to end the pass, and adds how many
 * to *@n.
 */
static void look_at_some(struct hwheel *wheel, struct hwheel_chains *chains,
			 unsigned int *n)
{
	unsigned int max = min(EXPIRE_MAX - *n, RESCHED_EVERY - *n % RESCHED_EVERY);
	unsigned long since = wheel->jiffies;

	*n += is_plain(wheel) ? look_at_batch_plainly(wheel, chains, max) :
				look_at_batch_in_full(wheel, chains, max);
	if (*n % RESCHED_EVERY == 0 || since != wheel->jiffies)
		worker_resched(wheel);
}

/* Has the next slot that is due in this pass looked at; false if there is none. */
static bool next_slot(struct hwheel *wheel)
{
	if (!hwheel_slots_advance(&wheel->slots, wheel->reached))
		return false;
	local_inc(&wheel->counts.visited);
	return true;
}

/* Returns whether there was not too much for one pass. */
static bool expire_slots(struct hwheel *wheel)
{
	struct hwheel_slots *slots = &wheel->slots;
	unsigned long since = jiffies;
	unsigned int n = 0;

	do {
		while (!hwheel_chains_empty(&slots->due)) {
			if (n == EXPIRE_MAX || hwheel_is_long(since))
				return false;
			look_at_some(wheel, &slots->due, &n);
		}
	} while (next_slot(wheel));
	return true;
}

/* Expires timeouts that were too much for earlier passes. */
static bool expire_backlogs(struct hwheel *wheel)
{
	struct hwheel_chains *backlog;
	unsigned long since = jiffies;
	unsigned int n = 0;

	while ((backlog = hwheel_slots_next_backlog(&wheel->slots))) {
		if (n == EXPIRE_MAX || hwheel_is_long(since))
			return false;
		look_at_some(wheel, backlog, &n);
	}
	return true;
}

/*
 * Returns whether nothing is left that is due. Timeouts that are too much for one pass are put
 * off, so that in the next one the edges that were reached meanwhile come first. So as long as
 * no more than EXPIRE_MAX timeouts of other edges come up during a pass, each waits for
 * at most 3 x EXPIRE_MAX callbacks (the rest of the pass, with backlogs, and its own pass)
 * and two parts of drains, however large the backlogs; unless HWHEEL_BACKLOGS of them are
 * being worked off already. However slow the callbacks and the drains, it is for about
 * 5 x HWHEEL_PART_MAX; the pass work tells of it after a part more. A timeout in a backlog
 * waits with it, the backlogs having a turn each.
 *
 * A timeout that was due up to now is due, whichever edge it was found at.
 *
 * An expire callback may arm its own timeout for the past and drain the queues. The timeout
 * must not come up again at each of the edges that a late worker catches up: it comes after
 * these.
 */
static bool expire_due(struct hwheel *wheel)
{
	u64 first = wheel->first;
	bool through;

	hwheel_assert_owner(wheel);
	wheel->due = hwheel_edge_time(wheel, wheel->reached);
	wheel->due_word = hwheel_word(wheel->due, HWHEEL_FLAGS_MASK);
	wheel->first = wheel->reached + 1;
	through = expire_slots(wheel);
	if (!through)
		hwheel_slots_put_off(&wheel->slots);
	through &= expire_backlogs(wheel);
	wheel->first = first;
	return through;
}

/* The end of lingering */
static u64 linger_end(const struct hwheel *wheel)
{
	u64 edge = hwheel_edge_time(wheel, wheel->slots.cursor + 1);

	return wheel->tick > LINGER_NS ? min(edge, wheel->now + LINGER_NS) : edge;
}

static void sleep_until(struct hwheel *wheel, u64 edge)
{
	ktime_t until = wheel->lingers ? wheel->linger_end : hwheel_edge_time(wheel, edge);

	if (edge == HWHEEL_NO_EDGE)
		schedule();
	else
		schedule_hrtimeout_range_clock(&until, 0, HRTIMER_MODE_ABS,
					       wheel->clock);
	local_inc(&wheel->counts.wakeups);
}

/*
 * Setting idle, then set_current_state() with its full barrier, then the look at the
 * marks pairs with submit(): either we see the mark, or the submitter sees idle
 * and wakes us. A submitter that took idle away is about to wake us, or did already:
 * if it did so for something that we drained before, going to sleep without idle would
 * leave the next one unnoticed.
 *
 * A thread that kicks us in hwheel_cancel_sync() while nothing is to be done waits for a
 * timeout that is about to be added: its submitter has to wake us, as in deep sleep.
 */
static void worker_sleep(struct hwheel *wheel, bool linger)
{
	u64 soon = wheel->slots.cursor + 1;
	u64 edge = linger ? soon : hwheel_slots_next(&wheel->slots);
	bool deep = edge > soon || (!linger && wheel->tick > LINGER_NS);
	bool idle = deep || wheel->kicked;

	wheel->lingers = !deep;
	wheel->linger_end = linger_end(wheel);
	wheel->planned = edge;
	trace_worker_sleep(wheel, edge, idle);
	if (idle) {
		hwheel_offset_hide(wheel);
		WRITE_ONCE(wheel->idle, 1);
	}
	set_current_state(TASK_IDLE);
	if (!kthread_should_stop() && !READ_ONCE(wheel->urgent) &&
	    (!idle || (READ_ONCE(wheel->idle) && hwheel_submit_empty(wheel))))
		sleep_until(wheel, edge);
	__set_current_state(TASK_RUNNING);
	if (idle)
		WRITE_ONCE(wheel->idle, 0);
	/* Callers that kick again and again may keep the worker from going to sleep. */
	let_others_run();
}

/* Edges that passed since the one that this pass is for */
static void count_lag(struct hwheel *wheel)
{
	u64 planned = wheel->planned;

	if (wheel->reached <= planned)
		return;
	local_add(wheel->reached - planned, &wheel->counts.lag);
	hwheel_count_max(&wheel->counts.lag_max, wheel->reached - planned);
}

/* The clock is read before the lists are taken, see the top. */
static void begin_pass(struct hwheel *wheel)
{
	hwheel_clock_read(wheel);
	hwheel_offset_measure(wheel);
	local_inc(&wheel->counts.passes);
	wheel->reached = hwheel_edge_reached(wheel, wheel->now);
	count_lag(wheel);
	if (is_drained(wheel, wheel->words)) {
		wheel->first = wheel->slots.cursor + 1;
		begin_drain(wheel, &wheel->words);
	}
	trace_worker_wake(wheel, wheel->reached);
}

/*
 * None of these is due. One that is queued is left to the next drain. The words are read relaxed,
 * as nothing but the deadline is looked at, and the slots are the worker's own.
 */
static void move_batch(struct hwheel *wheel, struct hwheel_chains *moving)
{
	unsigned int left = hwheel_slots_move_batch(&wheel->slots, RESCHED_EVERY), moved = 0;
	u64 first = wheel->reached + 1;
	struct hwheel_node *node;
	unsigned long turn = 0;

	while (left && (node = hwheel_slots_pop(moving, &turn))) {
		struct hwheel_timeout *timeout = timeout_of(node);
		s64 word = atomic64_read(&timeout->word);

		left--;
		if (likely(!(word & HWHEEL_QUEUED))) {
			worker_enqueue(wheel, timeout, word, first, turn, false);
			moved++;
		} else if (hwheel_word_is_source(word)) {
			hwheel_source_is_due(wheel, timeout);
		}
	}
	local_add(moved, &wheel->counts.moved);
}

/*
 * The rest waits for the next edge, as slots are begun in time for that. A sweep takes what moves
 * down to the due list, so that it sees all of it.
 */
static void move_down(struct hwheel *wheel)
{
	struct hwheel_chains *moving = hwheel_slots_moving(&wheel->slots, wheel->reached);
	u64 until;

	if (likely(!moving) || wheel->sweep)
		return;
	until = hwheel_now(wheel) + wheel->move_ns;
	do {
		move_batch(wheel, moving);
		worker_resched(wheel);
		moving = hwheel_slots_moving(&wheel->slots, wheel->reached);
	} while (moving && wheel->now < until);
}

/**
 * struct done - what the passes since the last sleep have done
 * @drained: timeouts were drained
 * @looked:  a due slot was looked at, of a source's, too
 */
struct done {
	bool	drained;
	bool	looked;
};

static u64 count_looks(const struct hwheel *wheel)
{
	return local_read(&wheel->counts.visited) + wheel->sourced.expired;
}

/*
 * @submitted: before this pass. @early: the worker was woken before the end of lingering; if it was
 * not for a submission, more may still have come.
 */
static void remember(struct hwheel *wheel, bool early, bool submitted)
{
	if (wheel->expects && (early ? submitted : wheel->lingers))
		*wheel->expects = submitted;
	wheel->expects = NULL;
}

static bool will_linger(struct hwheel *wheel, struct done done)
{
	if (done.drained || done.looked)
		wheel->expects = &wheel->more_comes[done.looked];
	return (wheel->expects && *wheel->expects) || hwheel_has_active_sources(wheel);
}

/* Returns whether nothing is left to do. */
static bool worker_run_pass(struct hwheel *wheel, struct done *done)
{
	u64 looks = count_looks(wheel);
	bool through, early;

	begin_pass(wheel);
	early = wheel->now < wheel->linger_end;
	if (worker_drain_some(wheel, &wheel->words))
		done->drained = true;
	remember(wheel, early, done->drained || !llist_empty(&wheel->source_queue));
	through = expire_due(wheel);
	/* Before the sources, which may take a part of the tick: events wait for no source. */
	through &= hwheel_pass_work_run(wheel);
	through &= hwheel_sources_run(wheel);
	/* Last, as nothing of it is due. */
	move_down(wheel);
	done->looked |= looks != count_looks(wheel);
	return through && is_drained(wheel, wheel->words);
}

/*
 * Did only callbacks submit? The next pass drains that at once: lingering would save no kick, and
 * cost a wake-up if they armed for much later.
 */
static bool arms_itself(const struct hwheel *wheel, struct done done)
{
	return done.looked && !done.drained && !hwheel_submit_empty(wheel);
}

static void worker_run_passes(struct hwheel *wheel)
{
	struct done done = { };

	while (!kthread_should_stop()) {
		bool through;

		hwheel_bandwidth_pay(wheel);
		through = worker_run_pass(wheel, &done);
		if (through && !arms_itself(wheel, done)) {
			if (unlikely(wheel->place))
				hwheel_bandwidth_give_back(wheel);
			worker_sleep(wheel, will_linger(wheel, done));
			done = (struct done) { };
			continue;
		}
		if (through)
			done.looked = false;
		wheel->planned = wheel->reached + 1;
		let_others_run();
	}
}

/**
 * struct placement - a worker that is being started
 * @wheel:  its wheel
 * @params: where it is to run
 * @err:    why it can't
 * @placed: it runs there, and refers to this no more
 */
struct placement {
	struct hwheel			*wheel;
	const struct hwheel_params	*params;
	int				err;
	struct completion		placed;
};

static int worker_place(const struct hwheel_params *params)
{
	struct sched_attr attr = {
		.size		= sizeof(attr),
		.sched_policy	= SCHED_FIFO,
		.sched_priority	= params->rt_priority,
	};
	int err = 0;

	if (params->cpus)
		err = set_cpus_allowed_ptr(current, params->cpus);
	if (!err && params->rt_priority)
		err = sched_setattr_nocheck(current, &attr);
	if (!err && params->nice)
		set_user_nice(current, params->nice);
	return err;
}

/* A thread places itself, as kthreads are given the default place when they start. */
static int worker_run(void *data)
{
	struct placement *placement = data;
	struct hwheel *wheel = placement->wheel;

	placement->err = worker_place(placement->params);
	complete(&placement->placed);
	worker_run_passes(wheel);
	return 0;
}

int hwheel_worker_start(struct hwheel *wheel, const struct hwheel_params *params)
{
	struct placement placement = { .wheel = wheel, .params = params };
	struct task_struct *task;

	init_completion(&placement.placed);
	task = kthread_create(worker_run, &placement, "hwheel/%s", wheel->name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	wheel->worker = get_task_struct(task);
	wheel->owner = task;
	wake_up_process(task);
	wait_for_completion(&placement.placed);
	if (placement.err) {
		hwheel_worker_stop(wheel);
		put_task_struct(task);
	}
	return placement.err;
}

/*
 * On return the worker has finished its batch and is gone. Its task_struct is still
 * referenced, as submitters may be about to wake it.
 */
void hwheel_worker_stop(struct hwheel *wheel)
{
	kthread_stop(wheel->worker);
}
