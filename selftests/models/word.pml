/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state word, as module/engine/state.h has it. Deadlines are edges: DUE was reached, LATER
 * may be reached some time.
 */
#define PENDING		0
#define EXPIRED		1
#define CANCELLED	2
#define IDLE		3
#define STATES		3
#define QUEUED		4
#define CLOSED		8
#define FLAGS		15

#define DUE		0
#define LATER		1

#define WORD(deadline, flags)	((deadline) << 4 | (flags))
#define DEADLINE(word)		((word) >> 4)
#define STATE(word)		((word) & STATES)
#define SET_STATE(word, state)	((word) & ~STATES | (state))

#define IS_PENDING(word)	(STATE(word) == PENDING)
#define IS_FILED(word)		(!((word) & FLAGS))
#define IS_HANDED(word)		(((word) & (STATES | QUEUED)) == (EXPIRED | QUEUED))
#define IS_SETTLED(word)	(!((word) & QUEUED) && !IS_PENDING(word))

/* Idle, expired, or cancelled; without a release op also while that is queued */
#ifdef NO_RECHECK_CLOSED
#define ARMABLE(word)		((word) & FLAGS & ~CLOSED)
#else
#define ARMABLE(word)		((word) & FLAGS)
#endif
#define MAY_ARM(word)							\
	(ARMABLE(word) == IDLE || ARMABLE(word) == CANCELLED ||		\
	 ARMABLE(word) == EXPIRED ||					\
	 !has_release && ARMABLE(word) == (CANCELLED | QUEUED))

/* While QUEUED is clear, what was filed is pending. */
#ifdef NO_RECHECK_QUEUED
#define IS_DUE(word)	(IS_PENDING(word) && DEADLINE(word) <= reached)
#else
#define IS_DUE(word)	(!((word) & QUEUED) && DEADLINE(word) <= reached)
#endif
