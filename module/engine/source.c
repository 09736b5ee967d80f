// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sources; see source.h.
 *
 * The thread that sets the bit HWHEEL_SOURCE_IS_ACTIVE adds the source to a list. A source that
 * many threads kick is therefore added once, and only one of them wakes the worker. The worker
 * clears the bit before it parks the source: a thread that submits after park() finds the bit
 * clear and adds the source again, and park() finds the records that were submitted before. In the
 * other order a kick in between would find the bit set, and be lost. For the same reason the
 * worker looks at @leaving after it has cleared the bit: hwheel_source_leave() sets @leaving before
 * its kick.
 *
 * Models: source.pml and edges.pml in selftests/models/, map_park.litmus and source_link.litmus in
 * litmus/ there.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/llist.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "bandwidth.h"
#include "slots.h"
#include "source.h"
#include "state.h"
#include "submit.h"

static struct hwheel_source *source_of(struct hwheel_timeout *timeout)
{
	return container_of(timeout, struct hwheel_source, timeout);
}

static void expire_never(struct hwheel_timeout *timeout)
{
	WARN_ON_ONCE(1);
}

static const struct hwheel_timeout_ops timeout_ops = {
	.expire = expire_never,
};

/* The source is parked, and is run for the first time when it is kicked. */
void hwheel_source_init(struct hwheel_source *source, struct hwheel *wheel,
			const struct hwheel_source_ops *ops)
{
	*source = (struct hwheel_source) { .ops = ops, .edge = HWHEEL_NO_EDGE };
	hwheel_timeout_init(&source->timeout, wheel, &timeout_ops);
	atomic64_set(&source->timeout.word, HWHEEL_IDLE | HWHEEL_QUEUED);
	INIT_LIST_HEAD(&source->link);
	init_completion(&source->left);
}

/**
 * hwheel_source_kick - have the worker run a source
 * @source: the source; the kick of one that has left does nothing
 *
 * The run sees the stores that the caller made before.
 *
 * Context: any but NMI, and not with scheduler locks held, as the worker may be woken.
 */
void hwheel_source_kick(struct hwheel_source *source)
{
	/* A kicker that was preempted in between would hold up the source for all. */
	preempt_disable();
	if (!test_and_set_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))
		hwheel_submit_source(source->timeout.wheel, &source->timeout.queue);
	preempt_enable();
}

/**
 * hwheel_source_leave - ask a source to leave
 * @source: the source; it may have been asked before
 *
 * The worker runs the source at once, and again until it leaves, which completes @left. The caller
 * may wait for that. The owner frees the source after that.
 *
 * Context: as hwheel_source_kick().
 */
void hwheel_source_leave(struct hwheel_source *source)
{
	struct hwheel *wheel = source->timeout.wheel;

	WRITE_ONCE(source->leaving, true);
	/* The bit is set with a full barrier, which pairs with the one in source_park(). */
	hwheel_source_kick(source);
	hwheel_submit_kick(wheel);
}

static void source_add(struct hwheel *wheel, struct hwheel_source *source)
{
	hwheel_slots_unlink(&wheel->slots, &source->timeout.node);
	list_add_tail(&source->link, &wheel->sources);
}

/* Submitters need not kick it any more. */
static void source_wake(struct hwheel *wheel, struct hwheel_source *source)
{
	source_add(wheel, source);
	source->ops->wake(source);
}

/*
 * The worker has popped it, as its edge has come. The source is run, but its submitters still have
 * to kick. If the bit is set, a thread has kicked it, and take_kicked() adds it.
 */
void hwheel_source_is_due(struct hwheel *wheel, struct hwheel_timeout *timeout)
{
	struct hwheel_source *source = source_of(timeout);

	if (!test_and_set_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))
		source_add(wheel, source);
}

static void tell(u64 *of_wheel, u64 *of_source, u64 now)
{
	WRITE_ONCE(*of_wheel, *of_wheel + now - *of_source);
	WRITE_ONCE(*of_source, now);
}

/* Of a source that leaves nothing is filed. */
void hwheel_source_tell(struct hwheel_source *source,
			const struct hwheel_source_counts *now)
{
	struct hwheel_source_counts *sum = &source->timeout.wheel->sourced;
	struct hwheel_source_counts *counts = &source->counts;

	tell(&sum->filed, &counts->filed, now->filed);
	tell(&sum->drained, &counts->drained, now->drained);
	tell(&sum->expired, &counts->expired, now->expired);
	tell(&sum->stopped, &counts->stopped, now->stopped);
}

/* A source that is parked may be kicked at once, so each link is read before. */
static void take_kicked(struct hwheel *wheel)
{
	struct hwheel_timeout *timeout, *next;

	llist_for_each_entry_safe(timeout, next, llist_del_all(&wheel->source_queue),
				  queue)
		source_wake(wheel, source_of(timeout));
}

/* See the top. If @leaving is not set yet, hwheel_source_leave() kicks the source. */
static void source_park(struct hwheel *wheel, struct hwheel_source *source)
{
	list_del_init(&source->link);
	if (source->edge != HWHEEL_NO_EDGE)
		hwheel_slots_enqueue(&wheel->slots, &source->timeout.node,
				     max(source->edge, wheel->slots.cursor + 1), 0);
	/* A release: a kicker that finds the bit clear stores the link that was read. */
	clear_bit_unlock(HWHEEL_SOURCE_IS_ACTIVE, &source->flags);
	/* Pairs with the kick, also of hwheel_source_leave(). */
	smp_mb__after_atomic();
	if (source->ops->park(source) && !READ_ONCE(source->leaving))
		return;
	if (!test_and_set_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))
		source_wake(wheel, source);
}

/* The bit stays set, so no kick adds it again. Its owner may free it. */
static void source_gone(struct hwheel_source *source)
{
	list_del_init(&source->link);
	complete_all(&source->left);
}

/* Returns whether it has no more to do before the next edge. */
static bool source_run(struct hwheel *wheel, struct hwheel_source *source)
{
	enum hwheel_source_next next = source->ops->run(source);

	list_move_tail(&source->link, &wheel->sources);
	switch (next) {
	case HWHEEL_SOURCE_IDLE:
		source_park(wheel, source);
		return true;
	case HWHEEL_SOURCE_GONE:
		source_gone(source);
		return true;
	case HWHEEL_SOURCE_AGAIN:
		return false;
	default:
		return true;
	}
}

/* In turn */
bool hwheel_sources_run_all(struct hwheel *wheel)
{
	struct hwheel_source *source;
	bool through = true;
	LIST_HEAD(round);

	hwheel_assert_owner(wheel);
	take_kicked(wheel);
	list_splice_init(&wheel->sources, &round);
	while ((source = list_first_entry_or_null(&round, struct hwheel_source, link))) {
		through &= source_run(wheel, source);
		cond_resched();
		/* Each may take as long as a pass. */
		hwheel_bandwidth_pay(wheel);
	}
	return through;
}
