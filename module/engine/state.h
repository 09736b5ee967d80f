/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state word: the only shared truth about a timeout.
 *
 *	 63                              4   3   2   1 0
 *	| deadline, in units of 8 ns      | C | Q | state |
 *
 * Q is QUEUED: the timeout is on a submission list, or is about to be added to
 * one, or the worker holds it and has not acted on its latest state yet. C is
 * CLOSED: hwheel_cancel_sync() is under way, so nobody may arm. Every transition is
 * one atomic operation on the whole word, so arm, refresh, cancel, expire and stop
 * are linearised by it whatever races.
 *
 * EXPIRED with Q is a work that was handed over to its workqueue, IDLE with Q one
 * that a thread has claimed, see work.c.
 *
 *	arm	not PENDING, not C, not handed over -> PENDING, Q
 *	refresh	PENDING			-> same, Q if the deadline gets earlier
 *	mod	as refresh, but not C; or as arm, also CANCELLED, Q with a release op
 *	cancel	PENDING			-> CANCELLED, Q
 *	close	any			-> same, C
 *	open	not PENDING, not Q	-> same, not C
 *	shut	not PENDING, not Q	-> IDLE, C, for good
 *	expire	PENDING, not Q		-> EXPIRED		(worker)
 *	act	Q			-> same, not Q		(worker)
 *	hand over  PENDING, not Q	-> EXPIRED, Q		(worker, of a work)
 *	claim	EXPIRED, Q		-> IDLE, Q		(of a work; from there:)
 *	  put back			-> EXPIRED, Q
 *	  begin				-> EXPIRED, not Q
 *	  recall			-> CANCELLED, Q
 *	  arm				-> PENDING, Q
 *	stop	PENDING			-> CANCELLED, not Q	(the stopper)
 *
 * The caller that sets Q adds the timeout to its CPU's list; a caller that finds it set
 * has nothing to do, as the worker acts on the latest state. A later deadline needs no queue: the
 * timeout stays where it was enqueued, and the worker looks at the word again when
 * that slot comes up.
 *
 * Ordering: those who submit change the word with release, the worker reads it
 * with acquire, so what was written before arm, refresh or cancel is seen by the
 * expire or release callback. What the worker does is fully ordered: its accesses
 * to the links come before others see Q cleared or the timeout expired; those who
 * then write the links, in arm, do so under a control dependency on the word.
 *
 * Models: word.pml and life.pml in selftests/models/.
 */
#ifndef _HWHEEL_STATE_H
#define _HWHEEL_STATE_H

#include <linux/align.h>
#include <linux/errno.h>
#include <linux/hwheel.h>
#include <linux/minmax.h>

#define HWHEEL_QUEUED		4
#define HWHEEL_CLOSED		8
#define HWHEEL_FLAGS_MASK	(HWHEEL_STATE_MASK | HWHEEL_QUEUED | HWHEEL_CLOSED)
#define HWHEEL_DEADLINE_UNIT	8ULL
#define HWHEEL_NEVER		((u64)S64_MAX & ~(HWHEEL_DEADLINE_UNIT - 1))

/* A deadline as it can be stored: not earlier than asked, and never wrapping */
static inline u64 hwheel_deadline_store(u64 deadline_ns)
{
	return ALIGN(min(deadline_ns, HWHEEL_NEVER), HWHEEL_DEADLINE_UNIT);
}

static inline u64 hwheel_word(u64 deadline, u64 flags)
{
	return (deadline << 1) + flags;
}

static inline u64 hwheel_word_deadline(u64 word)
{
	return word >> 4 << 3;
}

static inline enum hwheel_state hwheel_word_state(u64 word)
{
	return word & HWHEEL_STATE_MASK;
}

/* Is it a work that was handed over? Its work item says whether the function has begun. */
static inline bool hwheel_word_is_handed(u64 word)
{
	return (word & (HWHEEL_STATE_MASK | HWHEEL_QUEUED)) ==
	       (HWHEEL_EXPIRED | HWHEEL_QUEUED);
}

/* Has a thread claimed it, to look at its work item? */
static inline bool hwheel_word_is_claimed(u64 word)
{
	return (word & (HWHEEL_STATE_MASK | HWHEEL_QUEUED)) == (HWHEEL_IDLE | HWHEEL_QUEUED);
}

static_assert((HWHEEL_IDLE & ~HWHEEL_CANCELLED) == HWHEEL_EXPIRED);

/* Handed over or claimed */
static inline bool hwheel_word_is_out(u64 word)
{
	return (word & (HWHEEL_EXPIRED | HWHEEL_QUEUED)) == (HWHEEL_EXPIRED | HWHEEL_QUEUED);
}

/*
 * Not pending, nobody closes it, and no list refers to it: what nearly all arms find. Idle and
 * expired, which most are, come first, and one bit stands for both.
 */
static inline bool hwheel_word_is_free(u64 word)
{
	return (word & (HWHEEL_FLAGS_MASK & ~HWHEEL_CANCELLED)) == HWHEEL_EXPIRED ||
	       (word & HWHEEL_FLAGS_MASK) == HWHEEL_CANCELLED;
}

/* Did hwheel_shutdown_sync() return? An idle timeout has no deadline otherwise. */
#define HWHEEL_SHUT		(~0ULL & ~(u64)HWHEEL_QUEUED)

static inline bool hwheel_word_is_shut(u64 word)
{
	return word == HWHEEL_SHUT;
}

/* The result of a mod that goes on from this word, or -EBUSY */
static inline int hwheel_word_held(u64 word)
{
	switch (word & HWHEEL_FLAGS_MASK) {
	case HWHEEL_PENDING:
	case HWHEEL_PENDING | HWHEEL_QUEUED:
		return HWHEEL_WAS_PENDING;
	case HWHEEL_CANCELLED | HWHEEL_QUEUED:
		return HWHEEL_WAS_CANCELLED;
	case HWHEEL_IDLE:
	case HWHEEL_EXPIRED:
	case HWHEEL_CANCELLED:
		return HWHEEL_NOT_HELD;
	default:
		return -EBUSY;
	}
}

/*
 * While a release is owed an arm would leave the owner unable to tell which arm it belongs to; mod
 * says that it does not come.
 */
static inline bool hwheel_word_may_arm(u64 word, bool has_release)
{
	int held = hwheel_word_held(word);

	return held == HWHEEL_NOT_HELD || (held == HWHEEL_WAS_CANCELLED && !has_release);
}

/* Pending, and the worker knows: no bit at all */
static inline bool hwheel_word_is_enqueued(u64 word)
{
	return !(word & HWHEEL_FLAGS_MASK);
}

/* The words that a pending one becomes: it has no bit of a state */

static_assert(!HWHEEL_PENDING);

static inline u64 hwheel_word_expired(u64 word)
{
	return word + HWHEEL_EXPIRED;
}

/* May the owner free it, as far as the word tells? */
static inline bool hwheel_word_settled(u64 word)
{
	return !(word & HWHEEL_QUEUED) &&
	       hwheel_word_state(word) != HWHEEL_PENDING;
}

/*
 * The transitions of those who submit. A caller that sets QUEUED has to add the timeout to a
 * queue.
 */

/* From a word that may be armed; false if it is another one meanwhile, now in @old. */
static inline bool hwheel_word_arm(atomic64_t *word, s64 *old, u64 deadline)
{
	u64 new = hwheel_word(deadline, HWHEEL_PENDING | HWHEEL_QUEUED);

	return atomic64_try_cmpxchg_release(word, old, new);
}

/* From a pending word; false if it is another one meanwhile, now in @old. */
static inline bool hwheel_word_move(atomic64_t *word, s64 *old, u64 deadline)
{
	u64 new = hwheel_word(deadline, *old & HWHEEL_FLAGS_MASK);

	if (deadline < hwheel_word_deadline(*old))
		new |= HWHEEL_QUEUED;
	return atomic64_try_cmpxchg_release(word, old, new);
}

/* From a pending word, QUEUED or not; false if it is another one meanwhile, now in @old. */
static inline bool hwheel_word_cancel_from(atomic64_t *word, s64 *old,
					   bool queued)
{
	s64 new = *old + HWHEEL_CANCELLED + (queued ? 0 : HWHEEL_QUEUED);

	return atomic64_try_cmpxchg_release(word, old, new);
}

/* Whatever the state: nobody can arm it until hwheel_word_open(). */
static inline void hwheel_word_close(atomic64_t *word)
{
	atomic64_or(HWHEEL_CLOSED, word);
}

/* As hwheel_word_open(), of a word that is settled and closed: for good, and idle. */
static inline void hwheel_word_shut(atomic64_t *word)
{
	atomic64_xchg_acquire(word, HWHEEL_SHUT);
}

/* Acquire: a thread that goes on after this sees what the callback wrote. */
static inline void hwheel_word_open(atomic64_t *word)
{
	atomic64_fetch_andnot_acquire(HWHEEL_CLOSED, word);
}

/*
 * The worker's transitions, each from a word that it acted on; false if the word
 * is another one meanwhile.
 */

static inline bool hwheel_word_acted(atomic64_t *word, s64 old)
{
	return atomic64_try_cmpxchg(word, &old, old - HWHEEL_QUEUED);
}

/* These read the other word into @old. */

static inline bool hwheel_word_expire(atomic64_t *word, s64 *old)
{
	return atomic64_try_cmpxchg(word, old, hwheel_word_expired(*old));
}

static inline bool hwheel_word_hand_over(atomic64_t *word, s64 *old)
{
	u64 new = hwheel_word_expired(*old) | HWHEEL_QUEUED;

	return atomic64_try_cmpxchg(word, old, new);
}

/*
 * The transitions of works. A claimed word changes no more but for CLOSED, until the thread that
 * claimed it changes the rest.
 */

/* From a word that is handed over; false if it is another one meanwhile, now in @old. */
static inline bool hwheel_word_claim(atomic64_t *word, s64 *old)
{
	return atomic64_try_cmpxchg_acquire(word, old, *old | HWHEEL_IDLE);
}

/* @new: a state, QUEUED or not */
static inline void hwheel_word_unclaim(atomic64_t *word, u64 new)
{
	/* Release: whoever claims it next sees what was done to the work item. */
	(void)atomic64_fetch_xor_release((HWHEEL_IDLE | HWHEEL_QUEUED) ^ new, word);
}

#endif /* _HWHEEL_STATE_H */
