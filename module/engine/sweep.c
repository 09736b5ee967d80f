// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sweeping a wheel: the worker looks at each timeout in the slots, and ends those of one owner.
 *
 * A sweep is a source, which asks for pass after pass until it is through:
 *
 *  1. It waits for a whole drain, so what was submitted before the sweep is in the slots.
 *  2. It takes the slots to the due list, a part each pass, as if they were due. The worker looks
 *     at that list as always, in bounded batches: @sweep of the wheel has it end the owner's
 *     timeouts and file the others again. What is due meanwhile expires.
 *  3. It waits until the due list and each backlog were empty once.
 *
 * From step 2 on the worker looks at each timeout that leaves the due list or a backlog. Others
 * leave their slot for the due list, or for the list of what moves down, which is a part of its own
 * and waits meanwhile. So a sweep misses a timeout only if it is QUEUED, as others still refresh or
 * cancel it. A sweep that met any timeout of the owner's is therefore followed by another one.
 */
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/container_of.h>
#include <linux/hwheel.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include "callback.h"
#include "limit.h"
#include "slots.h"
#include "source.h"
#include "sweep.h"
#include "wheel.h"

/* The due list, beside the backlogs */
#define DUE_LIST	HWHEEL_BACKLOGS

/* One at a time, of all wheels */
static DEFINE_MUTEX(lock);

/**
 * struct hwheel_sweep - a sweep under way; the worker's own until its source has left
 * @source:  the source
 * @owns:    says which timeouts are to be ended
 * @owner:   for @owns
 * @begun:   the next whole drain is the one to wait for
 * @drained: it has been
 * @part:    slots from this part on were taken
 * @lists:   bits of the backlogs and DUE_LIST that may still hold what was taken
 * @ended:   timeouts ended so far
 * @met:     a timeout was ended, or left as it is QUEUED
 */
struct hwheel_sweep {
	struct hwheel_source	source;
	hwheel_owns_t		*owns;
	const void		*owner;
	bool			begun;
	bool			drained;
	unsigned int		part;
	unsigned long		lists;
	u64			ended;
	bool			met;
};

/*
 * Ends a timeout that was popped from the slots, if it is the owner's. One that is QUEUED is left
 * to the next drain. An ended one may be freed by its owner.
 */
bool hwheel_sweep_ends(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	struct hwheel_sweep *sweep = wheel->sweep;

	hwheel_assert_owner(wheel);
	if (!sweep->owns(timeout, sweep->owner))
		return false;
	sweep->met = true;
	if (hwheel_word_state(hwheel_timeout_end(timeout, 0)) != HWHEEL_PENDING)
		return false;
	sweep->ended++;
	local_inc(&wheel->counts.handed_back);
	hwheel_limit_end(wheel);
	hwheel_wake_waiters(wheel);
	return true;
}

/* A drain that was under way may have passed a list before the sweep was asked for. */
static bool is_drained(struct hwheel_sweep *sweep, const struct hwheel *wheel)
{
	if (sweep->drained)
		return true;
	if (wheel->lists || wheel->marked || wheel->words)
		return false;
	sweep->drained = sweep->begun;
	sweep->begun = true;
	return sweep->drained;
}

/* Returns whether all is taken. If there are too many backlogs, the due list is not empty. */
static bool take_slots(struct hwheel_sweep *sweep, struct hwheel_slots *slots)
{
	unsigned long since = jiffies;

	while (sweep->part && hwheel_chains_empty(&slots->due) && !hwheel_is_long(since))
		hwheel_slots_take_part(slots, --sweep->part);
	return !sweep->part && hwheel_chains_empty(&slots->due);
}

/* Returns whether each list was empty once since the slots were taken. */
static bool are_worked_off(struct hwheel_sweep *sweep, const struct hwheel_slots *slots)
{
	unsigned int i;

	for (i = 0; i < HWHEEL_BACKLOGS; i++)
		if (hwheel_chains_empty(&slots->backlogs[i]))
			sweep->lists &= ~BIT(i);
	if (hwheel_chains_empty(&slots->due))
		sweep->lists &= ~BIT(DUE_LIST);
	return !sweep->lists;
}

static enum hwheel_source_next sweep_run(struct hwheel_source *source)
{
	struct hwheel_sweep *sweep = container_of(source, struct hwheel_sweep, source);
	struct hwheel *wheel = source->timeout.wheel;

	/* From the first run on: a timeout that expires meanwhile may be armed by its callback. */
	wheel->sweep = sweep;
	if (!is_drained(sweep, wheel))
		return HWHEEL_SOURCE_AGAIN;
	if (!take_slots(sweep, &wheel->slots) || !are_worked_off(sweep, &wheel->slots))
		return HWHEEL_SOURCE_AGAIN;
	wheel->sweep = NULL;
	return HWHEEL_SOURCE_GONE;
}

static void sweep_wake(struct hwheel_source *source)
{
}

/* It is never parked. */
static const struct hwheel_source_ops ops = { .run = sweep_run, .wake = sweep_wake };

/**
 * hwheel_sweep - end the timeouts of one owner
 * @wheel: not stopped meanwhile
 * @owns:  says of a timeout whether it is one of these
 * @owner: for @owns
 *
 * For timeouts that only their own callbacks still arm. They are cancelled, and none of their ops
 * is called from then on. Those that are due meanwhile may expire before they are found, and a
 * release that is owed for an earlier cancel is made; a release op must not arm. On return the
 * wheel refers to none of them.
 *
 * Context: process; sleeps. Not from the wheel's own callbacks.
 * Return: how many were ended.
 */
u64 hwheel_sweep(struct hwheel *wheel, hwheel_owns_t *owns, const void *owner)
{
	struct hwheel_sweep sweep;
	u64 ended = 0;

	mutex_lock(&lock);
	do {
		sweep = (struct hwheel_sweep) {
			.owns = owns, .owner = owner,
			.part = hwheel_slots_parts(&wheel->slots),
			.lists = BIT(DUE_LIST + 1) - 1,
		};
		hwheel_source_init(&sweep.source, wheel, &ops);
		/* Pairs with the read sections of submission: what was added is marked. */
		synchronize_rcu();
		hwheel_source_leave(&sweep.source);
		wait_for_completion(&sweep.source.left);
		ended += sweep.ended;
	} while (sweep.met);
	mutex_unlock(&lock);
	return ended;
}
