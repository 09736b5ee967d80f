// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model test: random operations on real wheels, with real workers and hrtimers
 * in simulated time, compared with a plain reference after every step.
 *
 * The reference is an array that says of each timeout what state it is in, when it
 * is due and how often it ended in which way. It knows nothing of queues and slots,
 * so all that it takes from the wheel are the epoch and the tick.
 *
 * Operations come from the test's thread and from the callbacks, which run on the
 * worker while the test sleeps: both take them from one source of random numbers,
 * so a run can be repeated with its seed.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include <linux/random.h>

#include "../sim.h"

#define NR_SUBJECTS	100
#define NR_VARIANTS	12
#define LIMIT		30
#define MINUTE		(60ULL * NSEC_PER_SEC)
#define DAY		(24 * 60 * MINUTE)

/* The worker's wake-up latency: some looks at the clock */
#define LATENCY		(5 * NSEC_PER_USEC)

/* Operations by callbacks while time advances once: they must not go on for ever. */
#define BUDGET		32

static unsigned int model_seed;
module_param(model_seed, uint, 0444);
MODULE_PARM_DESC(model_seed, "KUnit model test: where the random numbers start (default: anywhere)");

static unsigned long model_ops = 1000000;
module_param(model_ops, ulong, 0444);
MODULE_PARM_DESC(model_ops, "KUnit model test: operations in all (default 1000000)");

enum kind {
	ARM_IDLE, ARM_EXPIRED, ARM_CANCELLED, ARM_CANCELLED_QUEUED,
	ARM_PAST, ARM_NEVER, ARM_OWN, ARM_IN_RELEASE, ARM_OTHER,
	ARM_PENDING, ARM_UNRELEASED, ARM_FULL, ARM_STOPPED, ARM_TOO_FAR,
	REFRESH_EARLIER, REFRESH_LATER, REFRESH_EQUAL, REFRESH_QUEUED,
	REFRESH_OTHER, REFRESH_DUE, REFRESH_NOT_PENDING, REFRESH_TOO_FAR,
	MOD_NOT_HELD, MOD_PENDING, MOD_CANCELLED, MOD_REFUSED, REDUCE_EARLIER, REDUCE_LATER,
	CANCEL_ENQUEUED, CANCEL_QUEUED, CANCEL_OWN, CANCEL_OTHER, CANCEL_DUE,
	CANCEL_NOT_PENDING,
	EXPIRE, EXPIRE_ON_EDGE, EXPIRE_REFRESHED, EXPIRE_AFTER_REVOLUTIONS, RELEASE,
	STOP, HAND_BACK_ENQUEUED, HAND_BACK_QUEUED, HAND_BACK_NOBODY,
	RELEASE_BY_STOP,
	ADVANCE_WITHIN_TICK, ADVANCE_TO_EDGE, ADVANCE_TO_DEADLINE,
	ADVANCE_TICKS, ADVANCE_TURNS, ADVANCE_DAYS, ADVANCE_STALLED,
	NR_KINDS
};

static const char * const kind_names[] = {
	[ARM_IDLE]		= "armed for the first time",
	[ARM_EXPIRED]		= "armed again after it expired",
	[ARM_CANCELLED]		= "armed again after a cancel",
	[ARM_CANCELLED_QUEUED]	= "armed again while its cancel is queued",
	[ARM_PAST]		= "armed for now or the past",
	[ARM_NEVER]		= "armed for never",
	[ARM_OWN]		= "armed by its own callback",
	[ARM_IN_RELEASE]	= "armed by its own release",
	[ARM_OTHER]		= "armed by another's callback",
	[ARM_PENDING]		= "arm refused: pending",
	[ARM_UNRELEASED]	= "arm refused: not released yet",
	[ARM_FULL]		= "arm refused: limit reached",
	[ARM_STOPPED]		= "arm refused: stopped",
	[ARM_TOO_FAR]		= "arm refused: beyond a turn",
	[REFRESH_EARLIER]	= "refreshed to earlier",
	[REFRESH_LATER]		= "refreshed to later",
	[REFRESH_EQUAL]		= "refreshed to the same",
	[REFRESH_QUEUED]	= "refreshed while queued",
	[REFRESH_OTHER]		= "refreshed by another's callback",
	[REFRESH_DUE]		= "refreshed when due",
	[REFRESH_NOT_PENDING]	= "refresh refused",
	[REFRESH_TOO_FAR]	= "refresh refused: beyond a turn",
	[MOD_NOT_HELD]		= "mod armed it",
	[MOD_PENDING]		= "mod moved it",
	[MOD_CANCELLED]		= "mod took it back",
	[MOD_REFUSED]		= "mod refused",
	[REDUCE_EARLIER]	= "reduced",
	[REDUCE_LATER]		= "kept by a reduce to later",
	[CANCEL_ENQUEUED]		= "cancelled",
	[CANCEL_QUEUED]		= "cancelled while queued",
	[CANCEL_OWN]		= "cancelled by its own callback, armed again",
	[CANCEL_OTHER]		= "cancelled by another's callback",
	[CANCEL_DUE]		= "cancelled when due",
	[CANCEL_NOT_PENDING]	= "cancel refused",
	[EXPIRE]		= "expired",
	[EXPIRE_ON_EDGE]	= "expired, deadline exactly on the edge",
	[EXPIRE_REFRESHED]	= "expired after a refresh",
	[EXPIRE_AFTER_REVOLUTIONS]	= "expired after turns of the wheel",
	[RELEASE]		= "released",
	[STOP]			= "wheels stopped",
	[HAND_BACK_ENQUEUED]	= "handed back",
	[HAND_BACK_QUEUED]	= "handed back while queued",
	[HAND_BACK_NOBODY]	= "ended by a stop without hand-back",
	[RELEASE_BY_STOP]	= "released by a stop",
	[ADVANCE_WITHIN_TICK]	= "time advanced within a tick",
	[ADVANCE_TO_EDGE]	= "time advanced to exactly an edge",
	[ADVANCE_TO_DEADLINE]	= "time advanced to the first deadline",
	[ADVANCE_TICKS]		= "time advanced by some ticks",
	[ADVANCE_TURNS]		= "time advanced by turns of the wheel",
	[ADVANCE_DAYS]		= "time advanced by days",
	[ADVANCE_STALLED]	= "time advanced while the worker could not run",
};

static_assert(ARRAY_SIZE(kind_names) == NR_KINDS);

/* Of all cases, for the last one to judge */
static struct {
	unsigned long	operations;
	u64		simulated;
	unsigned long	kinds[NR_KINDS];
} totals;

/**
 * struct subject - a timeout, and what the reference knows about it
 * @timeout:     the timeout
 * @model:       the test that it is part of
 * @state:       its state
 * @unreleased:  it is cancelled, and its release op is yet to be called
 * @refreshed:   it was, since it was armed
 * @deadline:    when it is due, as stored
 * @since:       when it was last changed
 * @latest:      the edge at which it has to expire
 * @armed:       how often it was armed
 * @expired:     how often it expired
 * @cancelled:   how often it was cancelled
 * @handed_back: how often a stop ended it
 */
struct subject {
	struct hwheel_timeout	timeout;
	struct model		*model;
	enum hwheel_state	state;
	bool			unreleased;
	bool			refreshed;
	u64			deadline;
	u64			since;
	u64			latest;
	unsigned long		armed;
	unsigned long		expired;
	unsigned long		cancelled;
	unsigned long		handed_back;
};

/**
 * struct model - one wheel under test
 * @test:        the test
 * @wheel:       the wheel
 * @variant:     which of the wheels of this geometry
 * @rnd:         random numbers
 * @turn:        how long the wheel takes to turn, in ns
 * @simple:      it refuses deadlines that are further away
 * @limit:       how many may be pending, or 0
 * @pending:     how many are
 * @step:        operations and advances so far
 * @operation:   what is being done
 * @budget:      operations that callbacks may do
 * @days:        jumps by days that are left
 * @patience:    other jumps end at this time
 * @stalled:     until then the worker could not run
 * @own:         whose callback runs
 * @in_release:  it is a release op
 * @stopping:    the wheel is being stopped, or was
 * @stopped:     the wheel was stopped
 * @handback:    the stop has a hand-back callback
 * @handed_back: how many it ended
 * @subjects:    the timeouts
 * @failure:     the first thing that was not as it should be
 */
struct model {
	struct kunit		*test;
	struct hwheel		*wheel;
	unsigned int		variant;
	struct rnd_state	rnd;
	u64			turn;
	bool			simple;
	u64			limit;
	u64			pending;
	unsigned long		step;
	const char		*operation;
	unsigned int		budget;
	unsigned int		days;
	u64			patience;
	u64			stalled;
	struct subject		*own;
	bool			in_release;
	bool			stopping;
	bool			stopped;
	bool			handback;
	s64			handed_back;
	struct subject		subjects[NR_SUBJECTS];
	char			failure[320];
};

static void count(enum kind kind)
{
	totals.kinds[kind]++;
}

static void count_if(bool condition, enum kind kind)
{
	totals.kinds[kind] += condition;
}

/* Callbacks run on another thread, so what fails is kept for the test's own. */
static void fail(struct model *m, struct subject *s, const char *expected)
{
	if (m->failure[0])
		return;
	snprintf(m->failure, sizeof(m->failure),
		 "seed %u, variant %u, step %lu: %s of timeout %ld at %llu (state %d, word %llx, deadline %llu, changed %llu, due by %llu), expected: %s",
		 model_seed, m->variant, m->step, m->operation,
		 s ? (long)(s - m->subjects) : -1, test_now(m->wheel),
		 s ? s->state : -1,
		 s ? (u64)atomic64_read(&s->timeout.word) : 0,
		 s ? s->deadline : 0, s ? s->since : 0, s ? s->latest : 0,
		 expected);
}

#define CHECK(m, s, condition)				\
	do {						\
		if (unlikely(!(condition)))		\
			fail(m, s, #condition);		\
	} while (0)

static u64 below(struct model *m, u64 range)
{
	return mul_u64_u32_shr(range, prandom_u32_state(&m->rnd), 32);
}

static bool one_in(struct model *m, u32 n)
{
	return below(m, n) == 0;
}

static struct subject *any(struct model *m)
{
	return &m->subjects[below(m, NR_SUBJECTS)];
}

static bool is_queued(const struct subject *s)
{
	return atomic64_read(&s->timeout.word) & HWHEEL_QUEUED;
}

static u64 edge_after(const struct model *m, u64 time)
{
	u64 tick = m->wheel->tick, epoch = m->wheel->epoch;

	return epoch + (div64_u64(time - epoch, tick) + 1) * tick;
}

static u64 stored(u64 now, u64 delay)
{
	if (delay > HWHEEL_NEVER - now)
		return HWHEEL_NEVER;
	return (now + delay + 7) / 8 * 8;
}

/* Events of this time have happened after that: the latency is over. */
static u64 done_by(const struct model *m, u64 time)
{
	return max(time, m->stalled) + LATENCY;
}

/* The worker looks at what was changed at this time at the next edge. */
static u64 seen_by(const struct model *m, u64 since)
{
	return done_by(m, edge_after(m, since));
}

/* One that was due when it was armed or refreshed may take until the next edge. */
static void expect_at(struct subject *s, u64 now, u64 deadline)
{
	s->since = now;
	s->deadline = deadline;
	s->latest = edge_after(s->model, max(deadline, now + 1) - 1);
}

/*
 * The invariant of each timeout: it is as the reference says, it is not overdue, every arm
 * but one that is pending ended exactly once, and the worker has looked at it by the edge
 * after a change.
 */
static void check_subject(struct model *m, struct subject *s, u64 now)
{
	const struct hwheel_timeout *timeout = &s->timeout;
	bool pending = s->state == HWHEEL_PENDING;

	CHECK(m, s, hwheel_timeout_state(timeout) == s->state);
	CHECK(m, s, hwheel_deadline(timeout) == s->deadline);
	CHECK(m, s, s->armed ==
		    s->expired + s->cancelled + s->handed_back + pending);
	if (m->stopping)
		return;
	CHECK(m, s, !pending || now < done_by(m, s->latest));
	CHECK(m, s, !s->unreleased || is_queued(s));
	CHECK(m, s, !is_queued(s) || now < seen_by(m, s->since));
}

static void check_all(struct model *m)
{
	u64 now = test_now(m->wheel), pending = 0;
	unsigned int i;

	for (i = 0; i < NR_SUBJECTS; i++) {
		check_subject(m, &m->subjects[i], now);
		pending += m->subjects[i].state == HWHEEL_PENDING;
	}
	CHECK(m, NULL, m->pending == pending);
	CHECK(m, NULL, hwheel_pending(m->wheel) == pending);
}

/* Deadlines around the edges some turns of the wheel away */
static u64 delay_to_edge(struct model *m, u64 now)
{
	u64 edge = edge_after(m, now) + below(m, 3) * m->turn +
		   below(m, 2) * m->wheel->tick;

	return edge + 8 * below(m, 3) - 8 - now;
}

static u64 some_delay(struct model *m, u64 now)
{
	u64 tick = m->wheel->tick;

	switch (below(m, 9)) {
	case 0:
		return 0;
	case 1:
		return below(m, tick);
	case 2:
	case 3:
		return below(m, 8 * tick);
	case 4:
	case 5:
		return delay_to_edge(m, now);
	case 6:
		return below(m, m->turn);
	case 7:
		return below(m, 10 * m->turn);
	default:
		return one_in(m, 2) ? U64_MAX - below(m, 1000) :
				      below(m, 5 * DAY);
	}
}

static bool may_arm(const struct subject *s)
{
	return s->state != HWHEEL_PENDING && !s->unreleased;
}

/* What a wheel without rounds refuses: by its delay, or by its deadline */
static bool is_too_far(const struct model *m, u64 now, u64 delay, u64 deadline)
{
	if (!m->simple)
		return false;
	return delay ? delay > m->turn : deadline > stored(now, m->turn);
}

static int expected_of_arm(const struct model *m, const struct subject *s,
			   bool too_far)
{
	if (too_far)
		return -ERANGE;
	if (m->stopped)
		return -ESHUTDOWN;
	if (!may_arm(s))
		return -EBUSY;
	if (m->limit && m->pending == m->limit)
		return -EDQUOT;
	return 0;
}

static void count_refused_arm(const struct subject *s, int err)
{
	count_if(err == -ERANGE, ARM_TOO_FAR);
	count_if(err == -ESHUTDOWN, ARM_STOPPED);
	count_if(err == -EDQUOT, ARM_FULL);
	count_if(err == -EBUSY, s->unreleased ? ARM_UNRELEASED : ARM_PENDING);
}

static void count_arm(const struct model *m, const struct subject *s,
		      bool queued, u64 now, u64 deadline)
{
	count_if(s->state == HWHEEL_IDLE, ARM_IDLE);
	count_if(s->state == HWHEEL_EXPIRED, ARM_EXPIRED);
	count_if(s->state == HWHEEL_CANCELLED,
		 queued ? ARM_CANCELLED_QUEUED : ARM_CANCELLED);
	count_if(deadline <= now, ARM_PAST);
	count_if(deadline == HWHEEL_NEVER, ARM_NEVER);
	if (m->own)
		count(m->own != s ? ARM_OTHER :
		      m->in_release ? ARM_IN_RELEASE : ARM_OWN);
}

static void arm(struct model *m, struct subject *s, u64 now)
{
	u64 delay = some_delay(m, now), deadline = stored(now, delay);
	bool queued = is_queued(s), too_far;
	int err;

	m->operation = "arm";
	if (one_in(m, 2)) {
		too_far = is_too_far(m, now, delay, deadline);
		err = hwheel_arm(&s->timeout, delay);
	} else {
		if (one_in(m, 8))
			deadline = stored(0, now - below(m, now));
		too_far = is_too_far(m, now, 0, deadline);
		err = hwheel_arm_at(&s->timeout, deadline);
	}
	CHECK(m, s, err == expected_of_arm(m, s, too_far));
	if (err) {
		count_refused_arm(s, err);
		return;
	}
	count_arm(m, s, queued, now, deadline);
	s->state = HWHEEL_PENDING;
	s->refreshed = false;
	s->armed++;
	m->pending++;
	expect_at(s, now, deadline);
}

static void count_refresh(const struct model *m, const struct subject *s,
			  bool queued, u64 now, u64 deadline)
{
	count(deadline < s->deadline ? REFRESH_EARLIER :
	      deadline > s->deadline ? REFRESH_LATER : REFRESH_EQUAL);
	count_if(queued, REFRESH_QUEUED);
	count_if(m->own && m->own != s, REFRESH_OTHER);
	count_if(m->own && s->deadline <= now, REFRESH_DUE);
}

static void refresh(struct model *m, struct subject *s, u64 now)
{
	u64 delay = some_delay(m, now), deadline = stored(now, delay);
	bool pending = s->state == HWHEEL_PENDING;
	bool queued = is_queued(s), too_far;
	int err;

	m->operation = "refresh";
	if (one_in(m, 2)) {
		too_far = is_too_far(m, now, delay, deadline);
		err = hwheel_refresh(&s->timeout, delay);
	} else {
		if (one_in(m, 8))
			deadline = s->deadline;
		too_far = is_too_far(m, now, 0, deadline);
		err = hwheel_refresh_at(&s->timeout, deadline);
	}
	CHECK(m, s, err == (too_far ? -ERANGE : pending ? 0 : -ENOENT));
	if (err) {
		count(too_far ? REFRESH_TOO_FAR : REFRESH_NOT_PENDING);
		return;
	}
	count_refresh(m, s, queued, now, deadline);
	s->refreshed = true;
	expect_at(s, now, deadline);
}

static int expected_of_mod(const struct model *m, const struct subject *s, bool queued,
			   bool too_far)
{
	if (too_far)
		return -ERANGE;
	if (m->stopped)
		return -ESHUTDOWN;
	if (s->state == HWHEEL_PENDING)
		return HWHEEL_WAS_PENDING;
	if (m->limit && m->pending == m->limit)
		return -EDQUOT;
	return s->state == HWHEEL_CANCELLED && queued ? HWHEEL_WAS_CANCELLED : HWHEEL_NOT_HELD;
}

/* The mod returned @held and gave the timeout this deadline. */
static void note_mod(struct model *m, struct subject *s, int held, u64 now, u64 deadline)
{
	count(held == HWHEEL_WAS_PENDING ? MOD_PENDING :
	      held == HWHEEL_WAS_CANCELLED ? MOD_CANCELLED : MOD_NOT_HELD);
	s->refreshed = held == HWHEEL_WAS_PENDING;
	if (!s->refreshed) {
		s->state = HWHEEL_PENDING;
		s->unreleased = false;
		s->armed++;
		m->pending++;
	}
	expect_at(s, now, deadline);
}

static void mod(struct model *m, struct subject *s, u64 now)
{
	u64 delay = some_delay(m, now), deadline = stored(now, delay);
	bool queued = is_queued(s), reduces = one_in(m, 3), too_far;
	int held, expected;

	m->operation = reduces ? "reduce" : "mod";
	too_far = is_too_far(m, now, reduces ? 0 : delay, deadline);
	expected = expected_of_mod(m, s, queued, too_far);
	held = reduces ? hwheel_reduce_at(&s->timeout, deadline) : hwheel_mod(&s->timeout, delay);
	CHECK(m, s, held == expected);
	if (held < 0) {
		count(MOD_REFUSED);
		return;
	}
	if (reduces && held == HWHEEL_WAS_PENDING) {
		count(deadline < s->deadline ? REDUCE_EARLIER : REDUCE_LATER);
		if (deadline >= s->deadline)
			return;
	}
	note_mod(m, s, held, now, deadline);
}

static void count_cancel(const struct model *m, const struct subject *s,
			 bool queued, u64 now)
{
	count(queued ? CANCEL_QUEUED : CANCEL_ENQUEUED);
	if (m->own)
		count(m->own == s ? CANCEL_OWN : CANCEL_OTHER);
	count_if(m->own && !queued && s->deadline <= now, CANCEL_DUE);
}

static void cancel(struct model *m, struct subject *s, u64 now)
{
	bool pending = s->state == HWHEEL_PENDING;
	bool queued = is_queued(s);

	m->operation = "cancel";
	CHECK(m, s, hwheel_cancel(&s->timeout) == pending);
	if (!pending) {
		count(CANCEL_NOT_PENDING);
		return;
	}
	count_cancel(m, s, queued, now);
	s->state = HWHEEL_CANCELLED;
	s->unreleased = s->timeout.ops->release;
	s->since = now;
	s->cancelled++;
	m->pending--;
}

/* Mostly what its state allows, but refusals as well */
static void operate_on(struct model *m, struct subject *s, u64 now)
{
	u64 arms = s->state == HWHEEL_PENDING ? 3 : 9;
	u64 choice = below(m, 20);

	if (choice >= 16)
		mod(m, s, now);
	else if (choice < arms)
		arm(m, s, now);
	else if (choice < 12)
		refresh(m, s, now);
	else
		cancel(m, s, now);
}

/* Interrupts are off, so that the wheel sees the same time as we do. */
static void operate(struct model *m, struct subject *s)
{
	unsigned long flags;
	u64 now;

	local_irq_save(flags);
	now = test_now(m->wheel);
	m->step++;
	totals.operations++;
	operate_on(m, s, now);
	check_subject(m, s, now);
	CHECK(m, s, hwheel_pending(m->wheel) == m->pending);
	local_irq_restore(flags);
}

static void operate_in_callback(struct model *m, struct subject *s,
				bool in_release)
{
	m->own = s;
	m->in_release = in_release;
	while (m->budget && !one_in(m, 3)) {
		m->budget--;
		operate(m, one_in(m, 2) ? s : any(m));
	}
	m->own = NULL;
}

static void count_expire(const struct model *m, const struct subject *s)
{
	count(EXPIRE);
	count_if(s->deadline == s->latest, EXPIRE_ON_EDGE);
	count_if(s->refreshed, EXPIRE_REFRESHED);
	count_if(s->deadline >= s->since + m->turn, EXPIRE_AFTER_REVOLUTIONS);
}

static void expire(struct hwheel_timeout *timeout)
{
	struct subject *s = container_of(timeout, struct subject, timeout);
	struct model *m = s->model;
	u64 now = test_now(m->wheel);

	m->operation = "expiry";
	CHECK(m, s, s->state == HWHEEL_PENDING);
	CHECK(m, s, now >= s->deadline);
	CHECK(m, s, now < done_by(m, s->latest) || m->stopping);
	CHECK(m, s, !m->stopped);
	count_expire(m, s);

	s->state = HWHEEL_EXPIRED;
	s->expired++;
	m->pending--;
	check_subject(m, s, now);
	operate_in_callback(m, s, false);
}

static void end_by_stop(struct model *m, struct subject *s)
{
	s->state = HWHEEL_CANCELLED;
	s->handed_back++;
	m->handed_back++;
	m->pending--;
}

/* A stop without a hand-back callback releases what was pending, too. */
static void release(struct hwheel_timeout *timeout)
{
	struct subject *s = container_of(timeout, struct subject, timeout);
	struct model *m = s->model;
	u64 now = test_now(m->wheel);

	m->operation = "release";
	count(m->stopping ? RELEASE_BY_STOP : RELEASE);
	if (m->stopping && !m->handback && s->state == HWHEEL_PENDING)
		end_by_stop(m, s);
	else
		CHECK(m, s, s->unreleased);
	CHECK(m, s, now < seen_by(m, s->since) || m->stopping);
	CHECK(m, s, !is_queued(s));
	CHECK(m, s, hlist_unhashed(&timeout->node.link));
	s->unreleased = false;
	check_subject(m, s, now);
	if (!m->stopping)
		operate_in_callback(m, s, true);
}

static void handed_back(struct hwheel_timeout *timeout, void *data)
{
	struct subject *s = container_of(timeout, struct subject, timeout);
	struct model *m = data;

	m->operation = "hand-back";
	CHECK(m, s, s->state == HWHEEL_PENDING);
	CHECK(m, s, !is_queued(s));
	CHECK(m, s, hlist_unhashed(&timeout->node.link));
	end_by_stop(m, s);
	check_subject(m, s, 0);
}

static const struct hwheel_timeout_ops plain_ops = {
	.expire = expire,
};

static const struct hwheel_timeout_ops release_ops = {
	.expire = expire,
	.release = release,
};

static u64 first_deadline(const struct model *m, u64 now)
{
	u64 first = now + MINUTE;
	unsigned int i;

	for (i = 0; i < NR_SUBJECTS; i++)
		if (m->subjects[i].state == HWHEEL_PENDING)
			first = min(first, m->subjects[i].latest);
	return max(first, now);
}

static u64 some_time(struct model *m, u64 now, enum kind kind)
{
	u64 tick = m->wheel->tick;

	switch (kind) {
	case ADVANCE_TO_EDGE:
		return edge_after(m, now) + below(m, 3) * tick;
	case ADVANCE_TO_DEADLINE:
		return first_deadline(m, now);
	case ADVANCE_TICKS:
	case ADVANCE_STALLED:
		return now + tick + below(m, 8 * tick);
	case ADVANCE_TURNS:
		return now + m->turn + below(m, m->turn);
	case ADVANCE_DAYS:
		return now + DAY + below(m, DAY / 4);
	default:
		return now + below(m, tick);
	}
}

static enum kind some_advance(struct model *m, u64 now)
{
	static const enum kind kinds[] = {
		ADVANCE_TO_EDGE, ADVANCE_TICKS, ADVANCE_TO_DEADLINE,
	};

	if (m->days && one_in(m, 200)) {
		m->days--;
		return ADVANCE_DAYS;
	}
	if (now >= m->patience || one_in(m, 2))
		return ADVANCE_WITHIN_TICK;
	if (one_in(m, 20))
		return one_in(m, 2) ? ADVANCE_TURNS : ADVANCE_STALLED;
	return kinds[below(m, ARRAY_SIZE(kinds))];
}

static void advance(struct model *m)
{
	u64 now = test_now(m->wheel), until;
	enum kind kind = some_advance(m, now);

	m->step++;
	m->budget = BUDGET;
	until = some_time(m, now, kind);
	if (kind == ADVANCE_STALLED) {
		ndelay(until - now);
		m->stalled = test_now(m->wheel);
	} else {
		test_sleep_until(m->wheel, until);
	}
	count(kind);
	m->operation = kind_names[kind];
	check_all(m);
}

/* Those that nobody was told about: no hand-back callback and no release op */
static void end_the_rest(struct model *m)
{
	unsigned int i;

	for (i = 0; i < NR_SUBJECTS; i++) {
		struct subject *s = &m->subjects[i];

		CHECK(m, s, !s->unreleased);
		if (s->state != HWHEEL_PENDING)
			continue;
		CHECK(m, s, !m->handback && !s->timeout.ops->release);
		count(HAND_BACK_NOBODY);
		end_by_stop(m, s);
	}
}

static void count_stop(const struct model *m)
{
	unsigned int i;

	count(STOP);
	for (i = 0; i < NR_SUBJECTS && m->handback; i++)
		if (m->subjects[i].state == HWHEEL_PENDING)
			count(is_queued(&m->subjects[i]) ? HAND_BACK_QUEUED :
							   HAND_BACK_ENQUEUED);
}

static void stop(struct model *m)
{
	s64 n;

	m->operation = "stop";
	m->step++;
	m->handback = one_in(m, 2);
	count_stop(m);
	m->stopping = true;
	n = hwheel_stop(m->wheel, m->handback ? handed_back : NULL, m);
	m->stopped = true;
	end_the_rest(m);
	CHECK(m, NULL, n == m->handed_back);
	CHECK(m, NULL, m->pending == 0);
	check_all(m);
	CHECK(m, NULL, hwheel_stop(m->wheel, handed_back, m) == 0);
}

static void set_up_subjects(struct model *m)
{
	unsigned int i;

	for (i = 0; i < NR_SUBJECTS; i++) {
		struct subject *s = &m->subjects[i];

		s->model = m;
		s->state = HWHEEL_IDLE;
		hwheel_timeout_init(&s->timeout, m->wheel,
				    i % 2 ? &release_ops : &plain_ops);
	}
}

static void run(struct model *m, unsigned long operations)
{
	unsigned long end = totals.operations + operations;
	u64 start = test_now(m->wheel);
	unsigned int i;

	while (totals.operations < end && !m->failure[0]) {
		for (i = below(m, 16); i; i--)
			operate(m, any(m));
		advance(m);
	}
	for (i = 0; i < 10; i++)
		operate(m, any(m));
	stop(m);
	for (i = 0; i < 50; i++)
		operate(m, any(m));
	test_sleep(m->wheel, 10 * m->wheel->tick);
	check_all(m);
	totals.simulated += test_now(m->wheel) - start;
}

/**
 * struct geometry - the wheels of one case
 * @slots: how many
 * @tick:  in ns
 * @days:  jumps by a day that the first of them makes. They are dear, as the clock
 *         event device of a user-mode kernel can't be set beyond four seconds.
 */
struct geometry {
	unsigned int	slots;
	u64		tick;
	unsigned int	days;
};

static const struct geometry geometries[] = {
	{ 1,	50 * NSEC_PER_USEC },	{ 1,	333336 },
	{ 1,	10 * NSEC_PER_MSEC, 1 },	{ 1,	NSEC_PER_SEC },
	{ 2,	50 * NSEC_PER_USEC },	{ 2,	333336 },
	{ 2,	10 * NSEC_PER_MSEC },	{ 2,	NSEC_PER_SEC },
	{ 8,	50 * NSEC_PER_USEC },	{ 8,	333336 },
	{ 8,	10 * NSEC_PER_MSEC },	{ 8,	NSEC_PER_SEC, 1 },
	{ 512,	50 * NSEC_PER_USEC, 1 },	{ 512,	333336 },
	{ 512,	10 * NSEC_PER_MSEC },	{ 512,	NSEC_PER_SEC },
	{ 4096,	50 * NSEC_PER_USEC },	{ 4096,	333336, 1 },
	{ 4096,	10 * NSEC_PER_MSEC },	{ 4096,	NSEC_PER_SEC },
};

static void describe_geometry(const struct geometry *geometry, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u slots of %llu ns",
		 geometry->slots, geometry->tick);
}

KUNIT_ARRAY_PARAM(geometry, geometries, describe_geometry);

/* Variants 0 to 3 are hashed, 4 to 7 hierarchical, the others simple. */
static unsigned int levels_of(unsigned int variant)
{
	static const unsigned int levels[] = { 2, 3, 4, HWHEEL_MAX_LEVELS };

	return variant / 4 == 1 ? levels[variant % 4] : 1;
}

static struct model *make_model(struct kunit *test, unsigned int variant)
{
	const struct geometry *geometry = test->param_value;
	struct hwheel_params params = {
		.name		= "model",
		.slots		= geometry->slots,
		.tick_ns	= geometry->tick,
		.max_pending	= variant & 2 ? LIMIT : 0,
		.levels		= levels_of(variant),
		.flags		= variant & 1 ? HWHEEL_BOOTTIME : 0,
	};
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	if (variant / 4 == 2)
		params.flags |= HWHEEL_SIMPLE;
	m->test = test;
	m->variant = variant;
	m->wheel = hwheel_create(&params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m->wheel));
	m->turn = geometry->slots * geometry->tick;
	m->simple = params.flags & HWHEEL_SIMPLE;
	m->days = variant % 4 || m->simple ? 0 : geometry->days;
	m->patience = m->wheel->epoch + m->turn * 4 + geometry->tick * 2000 +
		      10 * MINUTE;
	m->limit = params.max_pending;
	prandom_seed_state(&m->rnd, model_seed + (u64)variant * 1000003 +
				    m->turn + geometry->slots);
	set_up_subjects(m);
	return m;
}

/* Each kind of each geometry with both clocks, with and without a limit */
static void random_operations(struct kunit *test)
{
	unsigned long operations = model_ops / ARRAY_SIZE(geometries);
	unsigned int variant;

	sim_needs_time(test);
	kunit_info(test, "seed %u\n", model_seed);
	for (variant = 0; variant < NR_VARIANTS; variant++) {
		struct model *m = make_model(test, variant);

		run(m, DIV_ROUND_UP(operations, NR_VARIANTS));
		hwheel_destroy(m->wheel);
		if (m->failure[0])
			KUNIT_FAIL(test, "%s", m->failure);
	}
	test_took_long(test);
}

static void every_kind_of_transition_happened(struct kunit *test)
{
	unsigned int i;

	if (totals.operations < 1000000)
		kunit_skip(test, "too few operations to tell");
	for (i = 0; i < NR_KINDS; i++) {
		kunit_info(test, "%10lu %s\n", totals.kinds[i], kind_names[i]);
		KUNIT_EXPECT_GT_MSG(test, totals.kinds[i], 0, "%s",
				    kind_names[i]);
	}
	kunit_info(test, "operations=%lu in %llu simulated days, seed %u\n",
		   totals.operations, div64_u64(totals.simulated, DAY), model_seed);
}

static int choose_seed(struct kunit_suite *suite)
{
	if (!model_seed)
		model_seed = get_random_u32() | 1;
	memset(&totals, 0, sizeof(totals));
	return test_wait_for_timers(suite);
}

static struct kunit_case model_cases[] = {
	KUNIT_CASE_PARAM(random_operations, geometry_gen_params),
	KUNIT_CASE(every_kind_of_transition_happened),
	{}
};

static struct kunit_suite model_suite = {
	.name		= "hwheel_model",
	.suite_init	= choose_seed,
	.test_cases	= model_cases,
};

kunit_test_suite(model_suite);
