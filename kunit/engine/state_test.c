// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state word: every operation from every state, and how a deadline is stored.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "engine/state.h"
#include "engine/wheel.h"

#define EARLIER	1000ULL
#define NOW	2000ULL
#define LATER	3000ULL

#define QUEUED	HWHEEL_QUEUED
#define CLOSED	HWHEEL_CLOSED
#define SAME	U64_MAX

enum operation {
	ARM, ARM_WITH_RELEASE, REFRESH_EARLIER, REFRESH_EQUAL, REFRESH_LATER,
	CANCEL, EXPIRE, ACTED, HAND_OVER, CLAIM, PUT_BACK, BEGIN, RECALL,
	REPEND, CLOSE, OPEN,
};

static const char * const operation_names[] = {
	"arm", "arm with a release op", "refresh to earlier", "refresh to equal",
	"refresh to later", "cancel", "expire", "acted", "hand over", "claim",
	"put back", "begin", "recall", "repend",
	"close", "open",
};

static const char * const state_names[] = {
	"idle", "pending", "cancelled", "expired",
};

/**
 * struct transition - what an operation makes of a state
 * @operation: on a word with the deadline NOW; an arm is to LATER
 * @from:      state, QUEUED and CLOSED before
 * @result:    what it returns
 * @to:        state, QUEUED and CLOSED after; SAME: the word did not change
 * @deadline:  deadline after
 */
struct transition {
	enum operation	operation;
	u64		from;
	int		result;
	u64		to;
	u64		deadline;
};

static const struct transition transitions[] = {
	{ ARM, HWHEEL_IDLE,		  1, HWHEEL_PENDING | QUEUED, LATER },
	{ ARM, HWHEEL_IDLE | QUEUED,	  -EBUSY, SAME },
	{ ARM, HWHEEL_PENDING,		  -EBUSY, SAME },
	{ ARM, HWHEEL_PENDING | QUEUED,	  -EBUSY, SAME },
	{ ARM, HWHEEL_CANCELLED,	  1, HWHEEL_PENDING | QUEUED, LATER },
	{ ARM, HWHEEL_CANCELLED | QUEUED, 0, HWHEEL_PENDING | QUEUED, LATER },
	{ ARM, HWHEEL_EXPIRED,		  1, HWHEEL_PENDING | QUEUED, LATER },
	{ ARM, HWHEEL_EXPIRED | QUEUED,	  -EBUSY, SAME },

	{ ARM_WITH_RELEASE, HWHEEL_IDLE,
	  1, HWHEEL_PENDING | QUEUED, LATER },
	{ ARM_WITH_RELEASE, HWHEEL_IDLE | QUEUED,	-EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_PENDING,		-EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_PENDING | QUEUED,	-EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_CANCELLED,
	  1, HWHEEL_PENDING | QUEUED, LATER },
	{ ARM_WITH_RELEASE, HWHEEL_CANCELLED | QUEUED,	-EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_EXPIRED,
	  1, HWHEEL_PENDING | QUEUED, LATER },
	{ ARM_WITH_RELEASE, HWHEEL_EXPIRED | QUEUED,	-EBUSY, SAME },

	{ REFRESH_EARLIER, HWHEEL_IDLE,			-ENOENT, SAME },
	{ REFRESH_EARLIER, HWHEEL_IDLE | QUEUED,	-ENOENT, SAME },
	{ REFRESH_EARLIER, HWHEEL_PENDING,
	  1, HWHEEL_PENDING | QUEUED, EARLIER },
	{ REFRESH_EARLIER, HWHEEL_PENDING | QUEUED,
	  0, HWHEEL_PENDING | QUEUED, EARLIER },
	{ REFRESH_EARLIER, HWHEEL_CANCELLED,		-ENOENT, SAME },
	{ REFRESH_EARLIER, HWHEEL_CANCELLED | QUEUED,	-ENOENT, SAME },
	{ REFRESH_EARLIER, HWHEEL_EXPIRED,		-ENOENT, SAME },
	{ REFRESH_EARLIER, HWHEEL_EXPIRED | QUEUED,	-ENOENT, SAME },

	{ REFRESH_EQUAL, HWHEEL_IDLE,			-ENOENT, SAME },
	{ REFRESH_EQUAL, HWHEEL_IDLE | QUEUED,		-ENOENT, SAME },
	{ REFRESH_EQUAL, HWHEEL_PENDING,		0, SAME },
	{ REFRESH_EQUAL, HWHEEL_PENDING | QUEUED,	0, SAME },
	{ REFRESH_EQUAL, HWHEEL_CANCELLED,		-ENOENT, SAME },
	{ REFRESH_EQUAL, HWHEEL_CANCELLED | QUEUED,	-ENOENT, SAME },
	{ REFRESH_EQUAL, HWHEEL_EXPIRED,		-ENOENT, SAME },
	{ REFRESH_EQUAL, HWHEEL_EXPIRED | QUEUED,	-ENOENT, SAME },

	{ REFRESH_LATER, HWHEEL_IDLE,			-ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_IDLE | QUEUED,		-ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_PENDING,		0, HWHEEL_PENDING, LATER },
	{ REFRESH_LATER, HWHEEL_PENDING | QUEUED,
	  0, HWHEEL_PENDING | QUEUED, LATER },
	{ REFRESH_LATER, HWHEEL_CANCELLED,		-ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_CANCELLED | QUEUED,	-ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_EXPIRED,		-ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_EXPIRED | QUEUED,	-ENOENT, SAME },

	{ CANCEL, HWHEEL_PENDING,		1, HWHEEL_CANCELLED | QUEUED, NOW },
	{ CANCEL, HWHEEL_PENDING | QUEUED,	0, HWHEEL_CANCELLED | QUEUED, NOW },

	/* The worker expires only what is pending and not QUEUED. */
	{ EXPIRE, HWHEEL_PENDING,		true, HWHEEL_EXPIRED, NOW },

	{ ACTED, HWHEEL_IDLE | QUEUED,		true, HWHEEL_IDLE, NOW },
	{ ACTED, HWHEEL_PENDING | QUEUED,	true, HWHEEL_PENDING, NOW },
	{ ACTED, HWHEEL_CANCELLED | QUEUED,	true, HWHEEL_CANCELLED, NOW },

	/* Works: expired and queued is handed over, idle and queued is claimed. */
	{ HAND_OVER, HWHEEL_PENDING,		true, HWHEEL_EXPIRED | QUEUED, NOW },
	{ CLAIM, HWHEEL_EXPIRED | QUEUED,	true, HWHEEL_IDLE | QUEUED, NOW },
	{ CLAIM, HWHEEL_EXPIRED | QUEUED | CLOSED,
	  true, HWHEEL_IDLE | QUEUED | CLOSED, NOW },
	{ PUT_BACK, HWHEEL_IDLE | QUEUED,	true, HWHEEL_EXPIRED | QUEUED, NOW },
	{ BEGIN, HWHEEL_IDLE | QUEUED,		true, HWHEEL_EXPIRED, NOW },
	{ BEGIN, HWHEEL_IDLE | QUEUED | CLOSED,	true, HWHEEL_EXPIRED | CLOSED, NOW },
	{ RECALL, HWHEEL_IDLE | QUEUED | CLOSED,
	  true, HWHEEL_CANCELLED | QUEUED | CLOSED, NOW },
	{ REPEND, HWHEEL_IDLE | QUEUED | CLOSED,
	  true, HWHEEL_PENDING | QUEUED | CLOSED, NOW },

	{ CLOSE, HWHEEL_IDLE,			0, HWHEEL_IDLE | CLOSED, NOW },
	{ CLOSE, HWHEEL_IDLE | QUEUED,		0, HWHEEL_IDLE | QUEUED | CLOSED, NOW },
	{ CLOSE, HWHEEL_PENDING,		0, HWHEEL_PENDING | CLOSED, NOW },
	{ CLOSE, HWHEEL_PENDING | QUEUED,	0, HWHEEL_PENDING | QUEUED | CLOSED, NOW },
	{ CLOSE, HWHEEL_CANCELLED,		0, HWHEEL_CANCELLED | CLOSED, NOW },
	{ CLOSE, HWHEEL_CANCELLED | QUEUED,	0, HWHEEL_CANCELLED | QUEUED | CLOSED, NOW },
	{ CLOSE, HWHEEL_EXPIRED,		0, HWHEEL_EXPIRED | CLOSED, NOW },
	{ CLOSE, HWHEEL_EXPIRED | QUEUED,	0, HWHEEL_EXPIRED | QUEUED | CLOSED, NOW },

	/* Closing keeps from arming, and changes nothing else. */
	{ ARM, HWHEEL_PENDING | CLOSED, -EBUSY, SAME },
	{ REFRESH_EARLIER, HWHEEL_PENDING | CLOSED,
	  1, HWHEEL_PENDING | QUEUED | CLOSED, EARLIER },
	{ REFRESH_EARLIER, HWHEEL_PENDING | QUEUED | CLOSED,
	  0, HWHEEL_PENDING | QUEUED | CLOSED, EARLIER },
	{ REFRESH_LATER, HWHEEL_PENDING | CLOSED,
	  0, HWHEEL_PENDING | CLOSED, LATER },
	{ CANCEL, HWHEEL_PENDING | CLOSED,
	  1, HWHEEL_CANCELLED | QUEUED | CLOSED, NOW },
	{ CANCEL, HWHEEL_PENDING | QUEUED | CLOSED,
	  0, HWHEEL_CANCELLED | QUEUED | CLOSED, NOW },
	{ EXPIRE, HWHEEL_PENDING | CLOSED, true, HWHEEL_EXPIRED | CLOSED, NOW },
	{ HAND_OVER, HWHEEL_PENDING | CLOSED,
	  true, HWHEEL_EXPIRED | QUEUED | CLOSED, NOW },
	{ ACTED, HWHEEL_PENDING | QUEUED | CLOSED,
	  true, HWHEEL_PENDING | CLOSED, NOW },
	{ CLOSE, HWHEEL_PENDING | CLOSED, 0, SAME },
	{ OPEN, HWHEEL_PENDING | CLOSED, 0, HWHEEL_PENDING, NOW },
	{ ARM, HWHEEL_IDLE | CLOSED, -EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_IDLE | CLOSED, -EBUSY, SAME },
	{ REFRESH_EARLIER, HWHEEL_IDLE | CLOSED, -ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_IDLE | CLOSED, -ENOENT, SAME },
	{ CLOSE, HWHEEL_IDLE | CLOSED, 0, SAME },
	{ OPEN, HWHEEL_IDLE | CLOSED, 0, HWHEEL_IDLE, NOW },
	{ ARM, HWHEEL_IDLE | QUEUED | CLOSED, -EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_IDLE | QUEUED | CLOSED, -EBUSY, SAME },
	{ REFRESH_EARLIER, HWHEEL_IDLE | QUEUED | CLOSED, -ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_IDLE | QUEUED | CLOSED, -ENOENT, SAME },
	{ CLOSE, HWHEEL_IDLE | QUEUED | CLOSED, 0, SAME },
	{ ACTED, HWHEEL_IDLE | QUEUED | CLOSED,
	  true, HWHEEL_IDLE | CLOSED, NOW },
	{ OPEN, HWHEEL_IDLE | QUEUED | CLOSED, 0, HWHEEL_IDLE | QUEUED, NOW },
	{ ARM, HWHEEL_CANCELLED | CLOSED, -EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_CANCELLED | CLOSED, -EBUSY, SAME },
	{ REFRESH_EARLIER, HWHEEL_CANCELLED | CLOSED, -ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_CANCELLED | CLOSED, -ENOENT, SAME },
	{ CLOSE, HWHEEL_CANCELLED | CLOSED, 0, SAME },
	{ OPEN, HWHEEL_CANCELLED | CLOSED, 0, HWHEEL_CANCELLED, NOW },
	{ ARM, HWHEEL_CANCELLED | QUEUED | CLOSED, -EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_CANCELLED | QUEUED | CLOSED, -EBUSY, SAME },
	{ REFRESH_EARLIER, HWHEEL_CANCELLED | QUEUED | CLOSED, -ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_CANCELLED | QUEUED | CLOSED, -ENOENT, SAME },
	{ CLOSE, HWHEEL_CANCELLED | QUEUED | CLOSED, 0, SAME },
	{ ACTED, HWHEEL_CANCELLED | QUEUED | CLOSED,
	  true, HWHEEL_CANCELLED | CLOSED, NOW },
	{ OPEN, HWHEEL_CANCELLED | QUEUED | CLOSED, 0, HWHEEL_CANCELLED | QUEUED, NOW },
	{ ARM, HWHEEL_EXPIRED | CLOSED, -EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_EXPIRED | CLOSED, -EBUSY, SAME },
	{ REFRESH_EARLIER, HWHEEL_EXPIRED | CLOSED, -ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_EXPIRED | CLOSED, -ENOENT, SAME },
	{ CLOSE, HWHEEL_EXPIRED | CLOSED, 0, SAME },
	{ OPEN, HWHEEL_EXPIRED | CLOSED, 0, HWHEEL_EXPIRED, NOW },
	{ ARM, HWHEEL_EXPIRED | QUEUED | CLOSED, -EBUSY, SAME },
	{ ARM_WITH_RELEASE, HWHEEL_EXPIRED | QUEUED | CLOSED, -EBUSY, SAME },
	{ REFRESH_EARLIER, HWHEEL_EXPIRED | QUEUED | CLOSED, -ENOENT, SAME },
	{ REFRESH_LATER, HWHEEL_EXPIRED | QUEUED | CLOSED, -ENOENT, SAME },
	{ CLOSE, HWHEEL_EXPIRED | QUEUED | CLOSED, 0, SAME },
	{ OPEN, HWHEEL_EXPIRED | QUEUED | CLOSED, 0, HWHEEL_EXPIRED | QUEUED, NOW },
};

static void describe_transition(const struct transition *transition, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s of %s%s%s",
		 operation_names[transition->operation],
		 state_names[transition->from & HWHEEL_STATE_MASK],
		 transition->from & QUEUED ? " and queued" : "",
		 transition->from & CLOSED ? " and closed" : "");
}

KUNIT_ARRAY_PARAM(transition, transitions, describe_transition);

/* As hwheel_arm_at(), with nobody else about */
static int arm(atomic64_t *word, u64 deadline, bool has_release)
{
	s64 old = atomic64_read(word);

	if (!hwheel_word_may_arm(old, has_release))
		return -EBUSY;
	if (!hwheel_word_arm(word, &old, deadline))
		return -EINVAL;
	return !(old & HWHEEL_QUEUED);
}

/* As hwheel_refresh_at() */
static int refresh(atomic64_t *word, u64 deadline)
{
	s64 old = atomic64_read(word);

	if (hwheel_word_state(old) != HWHEEL_PENDING)
		return -ENOENT;
	if (!hwheel_word_move(word, &old, deadline))
		return -EINVAL;
	return !!(atomic64_read(word) & ~old & HWHEEL_QUEUED);
}

/* As hwheel_cancel(), of what is pending */
static int cancel(atomic64_t *word)
{
	s64 old = atomic64_read(word);
	bool queued = old & HWHEEL_QUEUED;

	return hwheel_word_cancel_from(word, &old, queued) ? !queued : -EINVAL;
}

static int perform(enum operation operation, atomic64_t *word)
{
	s64 old = atomic64_read(word);

	switch (operation) {
	case ARM:
		return arm(word, LATER, false);
	case ARM_WITH_RELEASE:
		return arm(word, LATER, true);
	case REFRESH_EARLIER:
		return refresh(word, EARLIER);
	case REFRESH_EQUAL:
		return refresh(word, NOW);
	case REFRESH_LATER:
		return refresh(word, LATER);
	case CANCEL:
		return cancel(word);
	case EXPIRE:
		return hwheel_word_expire(word, &old);
	case ACTED:
		return hwheel_word_acted(word, old);
	case HAND_OVER:
		return hwheel_word_hand_over(word, &old);
	case CLAIM:
		return hwheel_word_claim(word, &old);
	case PUT_BACK:
		hwheel_word_unclaim(word, HWHEEL_EXPIRED | HWHEEL_QUEUED);
		return true;
	case BEGIN:
		hwheel_word_unclaim(word, HWHEEL_EXPIRED);
		return true;
	case RECALL:
		hwheel_word_unclaim(word, HWHEEL_CANCELLED | HWHEEL_QUEUED);
		return true;
	case REPEND:
		hwheel_word_unclaim(word, HWHEEL_PENDING | HWHEEL_QUEUED);
		return true;
	case CLOSE:
		hwheel_word_close(word);
		return 0;
	case OPEN:
		hwheel_word_open(word);
		return 0;
	}
	return -EINVAL;
}

static void transition_is(struct kunit *test)
{
	const struct transition *expected = test->param_value;
	u64 before = hwheel_word(NOW, expected->from), after;
	atomic64_t word = ATOMIC64_INIT(before);

	KUNIT_EXPECT_EQ(test, perform(expected->operation, &word),
			expected->result);
	after = atomic64_read(&word);
	if (expected->to == SAME) {
		KUNIT_EXPECT_EQ(test, after, before);
		return;
	}
	KUNIT_EXPECT_EQ(test, after & 0xf, expected->to);
	KUNIT_EXPECT_EQ(test, hwheel_word_deadline(after), expected->deadline);
}

/* A refused arm or refresh changes nothing, whatever the deadline. */
static void refused_changes_nothing(struct kunit *test)
{
	static const u64 deadlines[] = { 0, EARLIER, NOW, LATER, HWHEEL_NEVER };
	atomic64_t word;
	unsigned int i;
	u64 flags;

	for (flags = 0; flags <= (QUEUED | HWHEEL_STATE_MASK); flags++) {
		u64 before = hwheel_word(NOW, flags);

		atomic64_set(&word, before);
		for (i = 0; i < ARRAY_SIZE(deadlines); i++) {
			if (hwheel_word_state(before) == HWHEEL_PENDING)
				KUNIT_EXPECT_EQ(test, arm(&word, deadlines[i], false),
						-EBUSY);
			else
				KUNIT_EXPECT_EQ(test, refresh(&word, deadlines[i]),
						-ENOENT);
			KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&word), before);
		}
	}
}

/* As the others, which read the word that it is */
static bool acted(atomic64_t *word, s64 *old)
{
	bool was_old = hwheel_word_acted(word, *old);

	*old = atomic64_read(word);
	return was_old;
}

/* The worker acted on, or looked at, a word that is another one meanwhile. */
static void a_changed_word_is_not_the_one_acted_on(struct kunit *test)
{
	static const u64 changed[] = {
		HWHEEL_CANCELLED | QUEUED, HWHEEL_PENDING, HWHEEL_EXPIRED,
	};
	bool (* const steps[])(atomic64_t *, s64 *) = {
		acted, hwheel_word_expire, hwheel_word_hand_over, hwheel_word_claim,
	};
	const unsigned int nr = ARRAY_SIZE(steps);
	unsigned int i;

	for (i = 0; i < nr * ARRAY_SIZE(changed); i++) {
		s64 old = hwheel_word(NOW, HWHEEL_PENDING | QUEUED);
		s64 new = hwheel_word(NOW, changed[i / nr]);
		atomic64_t word = ATOMIC64_INIT(new);

		KUNIT_EXPECT_FALSE(test, steps[i % nr](&word, &old));
		KUNIT_EXPECT_EQ(test, atomic64_read(&word), new);
		KUNIT_EXPECT_EQ(test, old, new);
	}
}

/* Only the deadline differs: that is a change as well. */
static void a_refreshed_word_is_not_expired(struct kunit *test)
{
	s64 old = hwheel_word(NOW, HWHEEL_PENDING);
	atomic64_t word = ATOMIC64_INIT(old);

	KUNIT_EXPECT_EQ(test, refresh(&word, LATER), 0);
	KUNIT_EXPECT_FALSE(test, hwheel_word_expire(&word, &old));
	KUNIT_EXPECT_EQ(test, old, (s64)hwheel_word(LATER, HWHEEL_PENDING));
}

static void refresh_looks_at_one_unit(struct kunit *test)
{
	const u64 earlier = NOW - HWHEEL_DEADLINE_UNIT;
	const u64 later = NOW + HWHEEL_DEADLINE_UNIT;
	atomic64_t word = ATOMIC64_INIT(hwheel_word(NOW, HWHEEL_PENDING));

	KUNIT_EXPECT_EQ(test, refresh(&word, later), 0);
	KUNIT_EXPECT_EQ(test, refresh(&word, NOW), 1);
	KUNIT_EXPECT_EQ(test, refresh(&word, earlier), 0);
	KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&word),
			hwheel_word(earlier, HWHEEL_PENDING | QUEUED));
}

static void a_deadline_is_rounded_up_to_8_ns(struct kunit *test)
{
	u64 base, i;

	for (base = 8; base < HWHEEL_NEVER; base *= 2) {
		KUNIT_EXPECT_EQ(test, hwheel_deadline_store(base), base);
		for (i = 1; i <= 8; i++)
			KUNIT_EXPECT_EQ(test, hwheel_deadline_store(base + i),
					base + 8);
	}
	KUNIT_EXPECT_EQ(test, hwheel_deadline_store(0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_deadline_store(1), 8);
}

static void a_deadline_beyond_the_clock_means_never(struct kunit *test)
{
	static const u64 beyond[] = {
		HWHEEL_NEVER, HWHEEL_NEVER + 1, S64_MAX, 1ULL << 63,
		(1ULL << 63) + 1, U64_MAX - 8, U64_MAX - 7, U64_MAX - 1, U64_MAX,
	};
	unsigned int i;

	KUNIT_EXPECT_EQ(test, HWHEEL_NEVER, 0x7ffffffffffffff8ULL);
	for (i = 0; i < ARRAY_SIZE(beyond); i++)
		KUNIT_EXPECT_EQ(test, hwheel_deadline_store(beyond[i]),
				HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_deadline_store(HWHEEL_NEVER - 1), HWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, hwheel_deadline_store(HWHEEL_NEVER - 8),
			HWHEEL_NEVER - 8);
}

static void any_deadline_is_stored_not_early(struct kunit *test)
{
	struct rnd_state rnd;
	u64 deadline, stored;
	unsigned int n;

	prandom_seed_state(&rnd, 1);
	for (n = 0; n < 10000; n++) {
		prandom_bytes_state(&rnd, &deadline, sizeof(deadline));
		deadline >>= 1 + n % 63;
		stored = hwheel_deadline_store(deadline);
		if (deadline > HWHEEL_NEVER)
			continue;
		KUNIT_ASSERT_GE(test, stored, deadline);
		KUNIT_ASSERT_LT(test, stored - deadline, HWHEEL_DEADLINE_UNIT);
	}
}

/* All bits of the deadline come back, and none touches the flags or is touched. */
static void deadline_and_flags_are_independent(struct kunit *test)
{
	unsigned int bit;
	u64 flags;

	for (flags = 0; flags <= (QUEUED | HWHEEL_STATE_MASK); flags++) {
		for (bit = 3; bit < 63; bit++) {
			u64 word = hwheel_word(1ULL << bit, flags);

			KUNIT_EXPECT_EQ(test, hwheel_word_deadline(word), 1ULL << bit);
			KUNIT_EXPECT_EQ(test, word & 0xf, flags);
			KUNIT_EXPECT_EQ(test, (u64)hwheel_word_state(word),
					flags & HWHEEL_STATE_MASK);
		}
		KUNIT_EXPECT_EQ(test, hwheel_word_deadline(hwheel_word(0, flags)), 0);
		KUNIT_EXPECT_EQ(test, hwheel_word_deadline(hwheel_word(HWHEEL_NEVER, flags)),
				HWHEEL_NEVER);
	}
}

/* From pending, which has no bit of its own */
static void new_state_leaves_the_rest(struct kunit *test)
{
	u64 enqueued = hwheel_word(NOW, HWHEEL_PENDING);

	KUNIT_EXPECT_EQ(test, hwheel_word_expired(enqueued),
			hwheel_word(NOW, HWHEEL_EXPIRED));
}

/* For the quick arm and mod: whether a list refers to it, and whether anybody has closed it */
static void flags_tell_who_holds_it(struct kunit *test)
{
	static const int held[] = {
		[HWHEEL_PENDING]		= HWHEEL_WAS_PENDING,
		[HWHEEL_EXPIRED]		= HWHEEL_NOT_HELD,
		[HWHEEL_CANCELLED]		= HWHEEL_NOT_HELD,
		[HWHEEL_IDLE]			= HWHEEL_NOT_HELD,
		[HWHEEL_PENDING | QUEUED]	= HWHEEL_WAS_PENDING,
		[HWHEEL_EXPIRED | QUEUED]	= -EBUSY,
		[HWHEEL_CANCELLED | QUEUED]	= HWHEEL_WAS_CANCELLED,
		[HWHEEL_IDLE | QUEUED]		= -EBUSY,
	};
	u64 flags;

	for (flags = 0; flags <= HWHEEL_FLAGS_MASK; flags++) {
		u64 word = hwheel_word(HWHEEL_NEVER, flags);
		int expected = flags & CLOSED ? -EBUSY : held[flags];

		KUNIT_EXPECT_EQ(test, hwheel_word_held(word), expected);
		KUNIT_EXPECT_EQ(test, hwheel_word_is_free(word), expected == HWHEEL_NOT_HELD);
		KUNIT_EXPECT_EQ(test, hwheel_word_is_enqueued(word),
				flags == HWHEEL_PENDING);
	}
}

/* What the public header says about a word */
static void queries_agree_with_the_word(struct kunit *test)
{
	struct hwheel_timeout timeout = {};
	u64 flags;

	for (flags = 0; flags <= (QUEUED | HWHEEL_STATE_MASK); flags++) {
		unsigned int state = flags & HWHEEL_STATE_MASK;

		atomic64_set(&timeout.word, hwheel_word(HWHEEL_NEVER, flags));
		KUNIT_EXPECT_EQ(test, hwheel_is_pending(&timeout),
				state == HWHEEL_PENDING);
		KUNIT_EXPECT_EQ(test, hwheel_is_expired(&timeout),
				state == HWHEEL_EXPIRED);
		KUNIT_EXPECT_EQ(test, hwheel_is_cancelled(&timeout),
				state == HWHEEL_CANCELLED);
		KUNIT_EXPECT_EQ(test, hwheel_deadline(&timeout), HWHEEL_NEVER);
	}
}

static void a_timeout_is_one_cache_line_at_most(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, sizeof(struct hwheel_timeout), 64);
}

static void nothing(struct hwheel_timeout *timeout)
{
}

static void a_new_timeout_is_idle(struct kunit *test)
{
	static const struct hwheel_timeout_ops ops = { .expire = nothing };
	static struct hwheel wheel;
	struct hwheel_timeout timeout;

	memset(&timeout, 0xff, sizeof(timeout));
	hwheel_timeout_init(&timeout, &wheel, &ops);
	KUNIT_EXPECT_EQ(test, atomic64_read(&timeout.word), HWHEEL_IDLE);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&timeout.node.link));
	KUNIT_EXPECT_PTR_EQ(test, hwheel_of(&timeout), &wheel);
	KUNIT_EXPECT_PTR_EQ(test, timeout.ops, &ops);
}

static struct kunit_case timeout_cases[] = {
	KUNIT_CASE_PARAM(transition_is, transition_gen_params),
	KUNIT_CASE(refused_changes_nothing),
	KUNIT_CASE(a_changed_word_is_not_the_one_acted_on),
	KUNIT_CASE(a_refreshed_word_is_not_expired),
	KUNIT_CASE(refresh_looks_at_one_unit),
	KUNIT_CASE(a_deadline_is_rounded_up_to_8_ns),
	KUNIT_CASE(a_deadline_beyond_the_clock_means_never),
	KUNIT_CASE(any_deadline_is_stored_not_early),
	KUNIT_CASE(deadline_and_flags_are_independent),
	KUNIT_CASE(new_state_leaves_the_rest),
	KUNIT_CASE(flags_tell_who_holds_it),
	KUNIT_CASE(queries_agree_with_the_word),
	KUNIT_CASE(a_timeout_is_one_cache_line_at_most),
	KUNIT_CASE(a_new_timeout_is_idle),
	{}
};

static struct kunit_suite timeout_suite = {
	.name		= "hwheel_state",
	.test_cases	= timeout_cases,
};

kunit_test_suite(timeout_suite);
