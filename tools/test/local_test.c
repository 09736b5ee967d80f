// SPDX-License-Identifier: GPL-2.0-only
/*
 * A wheel inside a program, in simulated time: random operations beside an array that is searched
 * in full, and each case by itself. It knows the wheel's fields. OPERATIONS, SEED: of the random
 * ones.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "libhwheel/hwheel_local.c"

#define TICK		1048576ULL	/* ns */
#define SEC		1000000000ULL

static struct hwheel_local wheel;

/* What is wrong with the wheel itself; NULL: nothing */
static const char *fault_in(const struct hwheel_local *of, unsigned int i,
			    const struct hwheel_local_timeout *timeout)
{
	uint64_t filed = (timeout->filed >> of->shift) + 1, due = before_due(of, timeout) + 1;
	uint64_t start = start_of(of, i);

	if (timeout->link.next->prev != &timeout->link)
		return "a list";
	if (due < filed || filed < start || start <= of->cursor)
		return "in a slot that comes too late";
	if (!(of->occupied[i / 64] >> (i % 64) & 1))
		return "a slot without its bit";
	if (of->wake > due)
		return "wakes up too late";
	return NULL;
}

static const char *fault_of(const struct hwheel_local *of)
{
	const char *fault = of->cursor > of->reached ? "the cursor is too far" : NULL;
	const struct hwheel_local_link *link;

	for (unsigned int i = 0; i < SLOTS && !fault; i++)
		for (link = of->slot[i].next; link != &of->slot[i] && !fault; link = link->next)
			fault = fault_in(of, i, timeout_of(link));
	return fault;
}

/* Random operations */

#define MOST		600
#define IN_A_SEED	50000	/* operations */

struct object {
	struct hwheel_local_timeout	timeout;
	uint64_t			deadline;
	uint64_t			last;	/* edge of the last run when it was armed */
	bool				pending;
	unsigned int			calls;	/* in the runs of a turn */
};

static struct object *objects[MOST];
static unsigned int nr_objects;		/* with few the lowest levels are empty */
static uint64_t random_state, now, latest, tick;
static uint64_t operations, moved, cancelled, fired, freed, nested_runs;
static unsigned int depth, inner_runs;
static bool has_left;	/* a callback took one of those that are due at a later time */
static const char *wrong;

#define CHECK(condition)	\
	do {			\
		if (!(condition) && !wrong) \
			wrong = #condition; \
	} while (0)

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545F4914F6CDD1DULL;
}

/* Of all magnitudes, below 2^(64 - @least) */
static uint64_t draw_any(unsigned int least)
{
	uint64_t value = draw() >> least;

	return value >> draw() % (64 - least);
}

static uint64_t draw_delay(void)
{
	uint64_t bit;

	switch (draw() % 16) {
	case 0:
		return 0;
	case 1:
		return draw() % tick;
	case 2 ... 4:
		return draw() % (64 * tick);
	case 5 ... 7:
		return draw() % (4096 * tick);
	case 8 ... 9:
		return tick * (draw() % 1000);
	case 10:
		return draw_any(0);
	case 11:
		return UINT64_MAX - draw() % 3;
	case 12:
		/* around the ends of levels */
		bit = 1ULL << draw() % 63;
		return bit - now % bit + draw() % (3 * tick) - tick;
	default:
		return 30000 * tick + draw() % (3000 * tick);
	}
}

static void on_expire(struct hwheel_local *of, struct hwheel_local_timeout *timeout);

static struct object *new_object(void)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		abort();
	hwheel_local_timeout_init(&object->timeout, on_expire);
	return object;
}

/* As a program does: what is pending is cancelled before. */
static void replace(struct object **place)
{
	CHECK(hwheel_local_cancel(&(*place)->timeout) == (*place)->pending);
	free(*place);
	*place = new_object();
	freed++;
}

static void arm(struct object *object)
{
	uint64_t delay = draw_delay();
	uint64_t deadline = delay > UINT64_MAX - latest ? UINT64_MAX : latest + delay;
	bool was = object->pending, at = true;

	switch (draw() % 64) {
	case 0:
		deadline = delay % (latest + 1);
		break;
	case 1 ... 3:
		/* by a tick, as a rule */
		deadline = object->timeout.deadline > tick ? object->timeout.deadline - tick : tick;
		break;
	default:
		at = false;
	}
	if (at)
		CHECK(hwheel_local_set_at(&wheel, &object->timeout, deadline) == was);
	else if (!was && draw() % 2)
		hwheel_local_arm(&wheel, &object->timeout, delay);
	else
		CHECK(hwheel_local_set(&wheel, &object->timeout, delay) == was);
	moved += was;
	object->deadline = deadline;
	object->last = wheel.reached;
	object->pending = true;
	CHECK(object->timeout.deadline == deadline);
}

static void operate(void)
{
	unsigned int i = draw() % nr_objects, what = draw() % 16;
	struct object *object = objects[i];

	operations++;
	if (what < 11) {
		arm(object);
	} else if (what < 15) {
		CHECK(hwheel_local_cancel(&object->timeout) == object->pending);
		cancelled += object->pending;
		object->pending = false;
	} else {
		replace(&objects[i]);
	}
	CHECK(hwheel_local_is_pending(&objects[i]->timeout) == objects[i]->pending);
}

static struct object **place_of(const struct hwheel_local_timeout *timeout)
{
	unsigned int i = 0;

	while (&objects[i]->timeout != timeout)
		i++;
	return &objects[i];
}

/* A run within a callback, with any time */
static void run_within(void)
{
	struct hwheel_local_timeout *timeout;
	uint64_t at = now;

	depth++;
	nested_runs++;
	switch (draw() % 4) {
	case 0:
		at = draw() % (now + 1);
		break;
	case 1:
		at = latest + draw() % (8 * tick);
		inner_runs++;
		break;
	}
	latest = at > latest ? at : latest;
	if (draw() % 2) {
		hwheel_local_run(&wheel, at);
		CHECK(hwheel_local_next(&wheel) > latest || has_left);
	} else {
		has_left = true;
		timeout = hwheel_local_take(&wheel, at);
		if (timeout)
			on_expire(&wheel, timeout);
	}
	depth--;
}

static void on_expire(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	struct object **place = place_of(timeout), *object = *place;

	fired++;
	object->calls++;
	CHECK(of == &wheel);
	CHECK(object->pending);
	CHECK(object->deadline <= latest);
	CHECK(object->calls == 1 || inner_runs);
	object->pending = false;
	if (draw() % 4 == 0)
		replace(place);
	for (unsigned int n = draw() % 8; n; n--)
		operate();
	if (draw() % 64 == 0 && depth < 3)
		run_within();
}

/* The edge at which it is due */
static uint64_t due_edge(const struct object *object)
{
	uint64_t edge = object->deadline / tick + !!(object->deadline % tick);

	return edge > object->last ? edge : object->last + 1;
}

/* After a run: whether it has left anything, and whether the next one comes in time */
static void compare(void)
{
	uint64_t next = hwheel_local_next(&wheel), earliest = UINT64_MAX, edge;

	for (unsigned int i = 0; i < nr_objects; i++) {
		if (!objects[i]->pending)
			continue;
		edge = due_edge(objects[i]);
		CHECK(edge > latest / tick);
		earliest = edge < earliest ? edge : earliest;
	}
	if (draw() % 4 == 0)
		CHECK(hwheel_local_is_empty(&wheel) == (earliest == UINT64_MAX));
	CHECK(next > latest);
	CHECK(earliest > UINT64_MAX / tick || next <= earliest * tick);
	CHECK(!fault_of(&wheel));
	if (fault_of(&wheel))
		wrong = fault_of(&wheel);
}

static void run(void)
{
	struct hwheel_local_timeout *timeout;

	for (unsigned int i = 0; i < nr_objects; i++)
		objects[i]->calls = 0;
	inner_runs = 0;
	latest = now > latest ? now : latest;
	do {
		has_left = false;
		if (draw() % 16) {
			hwheel_local_run(&wheel, now);
		} else {
			while ((timeout = hwheel_local_take(&wheel, now)))
				on_expire(&wheel, timeout);
		}
		now = has_left ? latest : now;
	} while (has_left);
	compare();
}

/* Sleeps as the wheel has it: at most once in vain for each time that it moved. */
static void sleep_until_next(void)
{
	uint64_t next = hwheel_local_next(&wheel);

	if (next != HWHEEL_LOCAL_NEVER && next < 1ULL << 62 && next > now)
		now = next;
}

static void let_time_pass(void)
{
	switch (draw() % 10) {
	case 0:
		now += draw() % tick;
		break;
	case 1:
		now += draw() % (100 * tick);
		break;
	case 2:
		now += draw() % (100000 * tick);
		break;
	case 3:
		if (draw() % 50 == 0)
			now += draw_any(14);
		break;
	case 4:
		/* to an edge */
		now = (now / tick + 1) * tick;
		break;
	case 5:
		/* It stands still. */
		break;
	case 6:
		now -= draw() % (now / 2 + 1) % (1000 * tick);
		break;
	case 7:
		now = latest + draw() % (16 * tick);
		hwheel_local_update(&wheel, now);
		latest = now;
		break;
	default:
		sleep_until_next();
	}
}

static void run_seed(uint64_t seed, uint64_t nr)
{
	uint64_t end = operations + nr;
	unsigned int most;

	random_state = seed * 0x9E3779B97F4A7C15ULL + 1;
	draw();
	tick = 1ULL << (11 + draw() % 18);
	now = draw() % 3 ? draw_any(10) : (1ULL << draw() % 50) - 1;
	latest = now;
	nr_objects = 1 + draw_any(0) % MOST;
	hwheel_local_init(&wheel, tick + draw() % tick, now);
	for (unsigned int i = 0; i < nr_objects; i++)
		objects[i] = new_object();
	while (operations < end && !wrong && now < 1ULL << 61) {
		most = draw() % 7 ? 4 : nr_objects / 2 + 1;
		for (unsigned int n = draw() % most; n; n--)
			operate();
		let_time_pass();
		run();
	}
	operations = operations < end ? end : operations;
	hwheel_local_fini(&wheel);
	for (unsigned int i = 0; i < nr_objects; i++) {
		CHECK(!hwheel_local_is_pending(&objects[i]->timeout));
		free(objects[i]);
	}
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

FIXTURE(random)
{
};

FIXTURE_SETUP(random)
{
}

FIXTURE_TEARDOWN(random)
{
}

/* In seconds: as many operations as somebody likes, on a machine that has other things to do */
TEST_F_TIMEOUT(random, operations_as_with_an_array, 1800)
{
	uint64_t nr = from_environment("OPERATIONS", 10000000), seed = from_environment("SEED", 1);

	for (; operations < nr && !wrong; seed++)
		run_seed(seed, IN_A_SEED);
	TH_LOG("operations=%ju, the last seed %ju", operations, seed - 1);
	TH_LOG("%ju moved, %ju cancelled, %ju freed, %ju expired, %ju nested runs", moved,
	       cancelled, freed, fired, nested_runs);
	ASSERT_EQ(NULL, wrong) TH_LOG("%s", wrong);
	EXPECT_GT(fired, operations / 100);
	EXPECT_GT(nested_runs, operations / 10000);
}

/* One case each, with a wheel and a few timeouts */

#define FEW	8

static unsigned int counts[FEW];

FIXTURE(local)
{
	struct hwheel_local_timeout timeout[FEW];
	struct hwheel_local wheel;
};

static FIXTURE_DATA(local) * fixture;

static void count(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	(void)of;
	counts[timeout - fixture->timeout]++;
}

FIXTURE_SETUP(local)
{
	fixture = self;
	memset(counts, 0, sizeof(counts));
	hwheel_local_init(&self->wheel, TICK, 0);
	for (unsigned int i = 0; i < FEW; i++)
		hwheel_local_timeout_init(&self->timeout[i], count);
}

FIXTURE_TEARDOWN(local)
{
	EXPECT_EQ(NULL, fault_of(&self->wheel));
	hwheel_local_fini(&self->wheel);
}

TEST(a_timeout_is_40_bytes)
{
	EXPECT_EQ(sizeof(void *) == 8 ? 40 : sizeof(struct hwheel_local_timeout),
		  sizeof(struct hwheel_local_timeout));
	EXPECT_GE(29000, sizeof(struct hwheel_local));
}

TEST_F(local, a_tick_is_a_power_of_two)
{
	static const struct {
		uint64_t ns;
		unsigned int shift;
	} ticks[] = {
		{ 0, 11 }, { 1, 11 }, { 2048, 11 }, { 4095, 11 }, { 4096, 12 },
		{ 10000000, 23 }, { 1ULL << 63, 63 }, { UINT64_MAX, 63 },
	};

	for (size_t i = 0; i < sizeof(ticks) / sizeof(*ticks); i++) {
		hwheel_local_init(&self->wheel, ticks[i].ns, 0);
		EXPECT_EQ(ticks[i].shift, self->wheel.shift);
		hwheel_local_arm_at(&self->wheel, &self->timeout[0], 1);
		EXPECT_EQ(1ULL << ticks[i].shift, hwheel_local_next(&self->wheel));
		EXPECT_EQ(0, hwheel_local_run(&self->wheel, (1ULL << ticks[i].shift) - 1));
		EXPECT_EQ(1, hwheel_local_run(&self->wheel, 1ULL << ticks[i].shift));
	}
}

TEST_F(local, pending_until_its_callback_begins)
{
	struct hwheel_local_timeout *timeout = &self->timeout[0];

	memset(timeout, 0xff, sizeof(*timeout));
	hwheel_local_timeout_init(timeout, count);
	EXPECT_EQ(0, timeout->deadline);
	EXPECT_FALSE(hwheel_local_is_pending(timeout));
	EXPECT_FALSE(hwheel_local_cancel(timeout));
	hwheel_local_arm(&self->wheel, timeout, 5 * TICK);
	EXPECT_TRUE(hwheel_local_is_pending(timeout));
	EXPECT_TRUE(hwheel_local_set(&self->wheel, timeout, 7 * TICK));
	EXPECT_EQ(7 * TICK, timeout->deadline);
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 6 * TICK));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 7 * TICK));
	EXPECT_FALSE(hwheel_local_is_pending(timeout));
	EXPECT_FALSE(hwheel_local_set(&self->wheel, timeout, TICK));
	EXPECT_TRUE(hwheel_local_cancel(timeout));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 100 * TICK));
	EXPECT_EQ(1, counts[0]);
}

TEST_F(local, a_move_to_one_tick_earlier)
{
	for (uint64_t edge = 300; edge > 250; edge--) {
		hwheel_local_set_at(&self->wheel, &self->timeout[0], edge * TICK);
		EXPECT_GE(edge * TICK, hwheel_local_next(&self->wheel));
		EXPECT_EQ(NULL, fault_of(&self->wheel));
	}
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 251 * TICK - 1));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 251 * TICK));
}

/* The first slot of level 1 has one that was moved far beyond others. */
TEST_F(local, next_is_right_with_one_that_was_moved_to_later)
{
	hwheel_local_arm_at(&self->wheel, &self->timeout[0], 300 * TICK);
	hwheel_local_arm_at(&self->wheel, &self->timeout[1], 600 * TICK);
	hwheel_local_set_at(&self->wheel, &self->timeout[0], 5000 * TICK);
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 300 * TICK));
	EXPECT_GE(600 * TICK, hwheel_local_next(&self->wheel));
	EXPECT_LT(300 * TICK, hwheel_local_next(&self->wheel));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 600 * TICK));
	EXPECT_EQ(5000 * TICK, hwheel_local_next(&self->wheel));
}

/* The wheel has seen the later deadline meanwhile, and wakes up for that. */
TEST_F(local, a_move_to_later_and_back)
{
	hwheel_local_arm_at(&self->wheel, &self->timeout[0], 300 * TICK);
	hwheel_local_set_at(&self->wheel, &self->timeout[0], 400 * TICK);
	hwheel_local_arm_at(&self->wheel, &self->timeout[1], 10 * TICK);
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 10 * TICK));
	EXPECT_EQ(400 * TICK, hwheel_local_next(&self->wheel));
	hwheel_local_set_at(&self->wheel, &self->timeout[0], 350 * TICK);
	EXPECT_EQ(350 * TICK, hwheel_local_next(&self->wheel));
	hwheel_local_set_at(&self->wheel, &self->timeout[0], 100 * TICK);
	EXPECT_EQ(100 * TICK, hwheel_local_next(&self->wheel));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 100 * TICK));
}

TEST_F(local, next_is_exact_with_a_few_in_the_first_slot)
{
	for (unsigned int i = 0; i < FEW - 1; i++)
		hwheel_local_arm_at(&self->wheel, &self->timeout[i], (400 - 10 * i) * TICK);
	hwheel_local_arm_at(&self->wheel, &self->timeout[FEW - 1], 10 * TICK);
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 10 * TICK));
	EXPECT_EQ((400 - 10 * (FEW - 2)) * TICK, hwheel_local_next(&self->wheel));
}

/* Where a wheel has 256 slots, and the later timeout is in an earlier one */
TEST_F(local, next_is_at_most_that_of_a_sorted_list)
{
	hwheel_local_arm_at(&self->wheel, &self->timeout[0], 300 * TICK);
	EXPECT_EQ(300 * TICK, hwheel_local_next(&self->wheel));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 255 * TICK));
	hwheel_local_arm_at(&self->wheel, &self->timeout[1], 310 * TICK);
	EXPECT_GE(300 * TICK, hwheel_local_next(&self->wheel));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 299 * TICK));
	EXPECT_EQ(300 * TICK, hwheel_local_next(&self->wheel));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 300 * TICK));
	EXPECT_EQ(310 * TICK, hwheel_local_next(&self->wheel));
}

/* All pairs of deadlines around the ends of levels, from cursors around them, too */
TEST(next_is_right_around_the_ends_of_levels)
{
	static const uint64_t ends[] = { 1, 255, 256, 257, 511, 512, 65535, 65536, 65537 };
	const size_t nr = sizeof(ends) / sizeof(*ends);

	for (size_t i = 0; i < nr * nr * nr; i++) {
		uint64_t start = ends[i % nr], first = start + ends[i / nr % nr];
		uint64_t second = start + ends[i / nr / nr];
		struct hwheel_local_timeout one, other;

		hwheel_local_init(&wheel, TICK, start * TICK);
		hwheel_local_timeout_init(&one, NULL);
		hwheel_local_timeout_init(&other, NULL);
		hwheel_local_arm_at(&wheel, &one, first * TICK);
		hwheel_local_arm_at(&wheel, &other, second * TICK);
		ASSERT_EQ((first < second ? first : second) * TICK, hwheel_local_next(&wheel));
		ASSERT_EQ(NULL, fault_of(&wheel));
		hwheel_local_fini(&wheel);
	}
}

static void arm_0(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	counts[0]++;
	/* As a callback that takes long */
	hwheel_local_update(of, of->now + TICK);
	hwheel_local_arm(of, timeout, 0);
}

static void arm_the_past(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	counts[0]++;
	hwheel_local_arm_at(of, timeout, timeout->deadline);
}

static void expect_one_call_in_a_run(struct __test_metadata *_metadata,
				     FIXTURE_DATA(local) * self, hwheel_local_fn *callback)
{
	/* In time, late, very late; at edges and between them */
	static const uint64_t at[] = { TICK, 2 * TICK + 1, 700 * TICK, 100000 * TICK + TICK / 2 };

	hwheel_local_timeout_init(&self->timeout[0], callback);
	hwheel_local_arm(&self->wheel, &self->timeout[0], 1);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		uint64_t start = at[i] > self->wheel.now ? at[i] : self->wheel.now + TICK;

		EXPECT_EQ(1, hwheel_local_run(&self->wheel, start));
		EXPECT_EQ(i + 1, counts[0]);
		EXPECT_LT(start, hwheel_local_next(&self->wheel));
	}
}

TEST_F(local, a_callback_that_arms_0_runs_again_in_the_next_run)
{
	expect_one_call_in_a_run(_metadata, self, arm_0);
}

TEST_F(local, a_callback_that_arms_the_past_runs_again_in_the_next_run)
{
	expect_one_call_in_a_run(_metadata, self, arm_the_past);
}

/* In tenths of a tick: armed for 5 ticks at 100.7 */
TEST_F(local, not_early_by_a_cut_tick)
{
	const uint64_t tenth = TICK / 10;

	hwheel_local_run(&self->wheel, 1007 * tenth);
	hwheel_local_arm(&self->wheel, &self->timeout[0], 50 * tenth);
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 1056 * tenth));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 1057 * tenth - 1));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 1067 * tenth));
}

TEST_F(local, the_time_left_is_rounded_up)
{
	uint64_t at = 0;
	unsigned int sleeps = 0;

	EXPECT_EQ(-1, hwheel_local_wait_ms(&self->wheel, 0));
	hwheel_local_arm(&self->wheel, &self->timeout[0], 30 * SEC + 1);
	EXPECT_EQ(0, hwheel_local_wait_ms(&self->wheel, UINT64_MAX));
	EXPECT_EQ(1, hwheel_local_wait_ms(&self->wheel, hwheel_local_next(&self->wheel) - 1));
	EXPECT_EQ(1, hwheel_local_wait_ms(&self->wheel, hwheel_local_next(&self->wheel) - 1000000));
	EXPECT_EQ(2, hwheel_local_wait_ms(&self->wheel, hwheel_local_next(&self->wheel) - 1000001));
	EXPECT_EQ(0, hwheel_local_wait_ms(&self->wheel, hwheel_local_next(&self->wheel)));
	while (!counts[0] && sleeps++ < 10) {
		at += hwheel_local_wait_ms(&self->wheel, at) * 1000000ULL;
		hwheel_local_run(&self->wheel, at);
	}
	EXPECT_EQ(1, sleeps);
	hwheel_local_arm(&self->wheel, &self->timeout[0], 1ULL << 62);
	EXPECT_EQ(INT_MAX, hwheel_local_wait_ms(&self->wheel, at));
}

/* The turn of a loop has taken 5 s. */
TEST_F(local, a_delay_counts_from_the_latest_time)
{
	hwheel_local_run(&self->wheel, 10 * SEC);
	hwheel_local_arm(&self->wheel, &self->timeout[0], SEC);
	hwheel_local_update(&self->wheel, 15 * SEC);
	hwheel_local_arm(&self->wheel, &self->timeout[1], SEC);
	EXPECT_EQ(11 * SEC, self->timeout[0].deadline);
	EXPECT_EQ(16 * SEC, self->timeout[1].deadline);
	/* Time does not go back. */
	hwheel_local_update(&self->wheel, 12 * SEC);
	hwheel_local_arm(&self->wheel, &self->timeout[2], SEC);
	EXPECT_EQ(16 * SEC, self->timeout[2].deadline);
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 15 * SEC));
}

TEST_F(local, delays_beyond_integers)
{
	static const uint64_t delays[] = {
		1ULL << 31, (1ULL << 31) + 1, (1ULL << 32) - 1, 1ULL << 32, (1ULL << 32) + 1,
		1ULL << 53, 1ULL << 62, (1ULL << 63) - 1, 1ULL << 63, UINT64_MAX - 2 * TICK,
	};
	/* Some that a program has had for long, and a wheel that is new */
	static const uint64_t starts[] = { 0, 12345 };

	for (size_t i = 0; i < 2 * sizeof(delays) / sizeof(*delays); i++) {
		uint64_t start = starts[i % 2], deadline = start + delays[i / 2];

		hwheel_local_init(&self->wheel, TICK, start);
		hwheel_local_arm(&self->wheel, &self->timeout[0], delays[i / 2]);
		EXPECT_EQ(deadline, self->timeout[0].deadline);
		EXPECT_EQ(0, hwheel_local_run(&self->wheel, deadline / 2));
		EXPECT_EQ(0, hwheel_local_run(&self->wheel, deadline - 1));
		EXPECT_EQ(1, hwheel_local_run(&self->wheel, (deadline / TICK + 1) * TICK));
	}
}

TEST_F(local, a_sum_that_overflows_is_never)
{
	hwheel_local_run(&self->wheel, 12345 * SEC);
	hwheel_local_arm(&self->wheel, &self->timeout[0], UINT64_MAX);
	hwheel_local_set(&self->wheel, &self->timeout[1], UINT64_MAX - 12345 * SEC + 1);
	hwheel_local_arm_at(&self->wheel, &self->timeout[2], UINT64_MAX);
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, self->timeout[0].deadline);
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, self->timeout[1].deadline);
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 1ULL << 63));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, UINT64_MAX));
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, hwheel_local_next(&self->wheel));
	/* The clock has come to its end. */
	hwheel_local_arm(&self->wheel, &self->timeout[3], 0);
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, UINT64_MAX));
	for (unsigned int i = 0; i < 4; i++)
		EXPECT_TRUE(hwheel_local_cancel(&self->timeout[i]));
}

/* A run that comes twice, or whose clock stands still or goes back */
TEST_F(local, a_clock_that_does_not_go_on)
{
	hwheel_local_arm(&self->wheel, &self->timeout[0], 10 * TICK);
	hwheel_local_arm(&self->wheel, &self->timeout[1], 20 * TICK);
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 15 * TICK));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 15 * TICK));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 3 * TICK));
	EXPECT_EQ(20 * TICK, hwheel_local_next(&self->wheel));
	hwheel_local_arm(&self->wheel, &self->timeout[2], TICK);
	EXPECT_EQ(16 * TICK, self->timeout[2].deadline);
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 0));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 16 * TICK));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 20 * TICK));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 20 * TICK));
}

TEST_F(local, a_late_run_keeps_the_order_of_ticks)
{
	static const unsigned int delays[] = { 70000, 3, 500, 255, 256, 65536, 2, 1 };
	uint64_t last = 0;

	for (unsigned int i = 0; i < FEW; i++)
		hwheel_local_arm(&self->wheel, &self->timeout[i], delays[i] * TICK);
	/* A move to later, and to earlier */
	hwheel_local_set(&self->wheel, &self->timeout[7], 600 * TICK);
	hwheel_local_set(&self->wheel, &self->timeout[0], 10 * TICK);
	for (unsigned int i = 0; i < FEW; i++) {
		struct hwheel_local_timeout *timeout;

		timeout = hwheel_local_take(&self->wheel, 1000000 * TICK);
		ASSERT_NE(NULL, timeout);
		EXPECT_LT(last, timeout->deadline);
		EXPECT_GE(1000000 * TICK, hwheel_local_next(&self->wheel));
		last = timeout->deadline;
	}
	EXPECT_EQ(NULL, hwheel_local_take(&self->wheel, 1000000 * TICK));
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, hwheel_local_next(&self->wheel));
}

/* Callbacks that free; a sanitizer sees what is touched afterwards. */

#define CROWD	64

struct member {
	struct hwheel_local_timeout	timeout;
	unsigned int			number;
};

static struct member *crowd[CROWD];
static unsigned int crowd_calls;

static void end_member(unsigned int number)
{
	if (crowd[number])
		hwheel_local_cancel(&crowd[number]->timeout);
	free(crowd[number]);
	crowd[number] = NULL;
}

/* Itself, its neighbours in the list, one that comes far behind, and one that was called */
static void free_many(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	unsigned int number = ((struct member *)timeout)->number;

	(void)of;
	crowd_calls++;
	end_member(number);
	end_member((number + 1) % CROWD);
	end_member((number + CROWD - 1) % CROWD);
	end_member((number + CROWD / 2) % CROWD);
}

TEST_F(local, a_callback_may_free_itself_and_others_of_the_same_run)
{
	unsigned int calls;

	for (unsigned int i = 0; i < CROWD; i++) {
		crowd[i] = calloc(1, sizeof(*crowd[i]));
		ASSERT_NE(NULL, crowd[i]);
		crowd[i]->number = i;
		hwheel_local_timeout_init(&crowd[i]->timeout, free_many);
		/* Half of them at one edge, the others all over */
		hwheel_local_arm(&self->wheel, &crowd[i]->timeout, (i % 2 ? 1 : i * 37) * TICK);
	}
	calls = hwheel_local_run(&self->wheel, 100 * TICK);
	calls += hwheel_local_run(&self->wheel, 10000 * TICK);
	EXPECT_EQ(crowd_calls, calls);
	EXPECT_LT(CROWD / 8, calls);
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, hwheel_local_next(&self->wheel));
	for (unsigned int i = 0; i < CROWD; i++)
		EXPECT_EQ(NULL, crowd[i]);
}

/* Waits in a loop of its own for the timeout 3, which nobody has armed before. */
static void loop_within(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	unsigned int turns = 0;

	count(of, timeout);
	hwheel_local_arm(of, &fixture->timeout[3], 10 * TICK);
	while (!counts[3] && turns++ < 5) {
		uint64_t next = hwheel_local_next(of);

		hwheel_local_run(of, next > of->now ? next : of->now);
	}
	counts[7] = turns;
}

TEST_F(local, a_loop_within_a_callback)
{
	hwheel_local_timeout_init(&self->timeout[0], loop_within);
	for (unsigned int i = 0; i < 3; i++)
		hwheel_local_arm(&self->wheel, &self->timeout[i], TICK);
	hwheel_local_arm(&self->wheel, &self->timeout[4], 100 * TICK);
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 2 * TICK));
	/* The inner run had what the outer one left. */
	EXPECT_EQ(1, counts[1]);
	EXPECT_EQ(1, counts[2]);
	EXPECT_EQ(1, counts[3]);
	EXPECT_GE(3, counts[7]);
	EXPECT_EQ(0, counts[4]);
	EXPECT_GE(100 * TICK, hwheel_local_next(&self->wheel));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 100 * TICK));
}

/* Takes one of a time beyond the next 256 ticks; the run then goes on with its own time. */
static void take_within(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	count(of, timeout);
	count(of, hwheel_local_take(of, 300 * TICK));
}

TEST_F(local, a_callback_that_takes_one_of_a_later_time)
{
	hwheel_local_timeout_init(&self->timeout[0], take_within);
	hwheel_local_arm(&self->wheel, &self->timeout[0], 250 * TICK);
	hwheel_local_arm(&self->wheel, &self->timeout[1], 260 * TICK);
	hwheel_local_arm(&self->wheel, &self->timeout[2], 270 * TICK);
	hwheel_local_arm(&self->wheel, &self->timeout[3], 400 * TICK);
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 250 * TICK));
	EXPECT_EQ(1, counts[1]);
	EXPECT_EQ(NULL, fault_of(&self->wheel));
	EXPECT_GE(270 * TICK, hwheel_local_next(&self->wheel));
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 300 * TICK));
	EXPECT_EQ(1, counts[2]);
	EXPECT_EQ(400 * TICK, hwheel_local_next(&self->wheel));
}

static uint64_t missed;

static void repeat(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	count(of, timeout);
	if (hwheel_local_again(of, timeout, 10 * TICK, &missed))
		abort();
}

TEST_F(local, missed_periods_are_one_call_and_a_count)
{
	struct hwheel_local_timeout *timeout = &self->timeout[0];

	hwheel_local_timeout_init(timeout, repeat);
	hwheel_local_arm(&self->wheel, timeout, 10 * TICK);
	/* Late by less than a period: no drift */
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 13 * TICK));
	EXPECT_EQ(0, missed);
	EXPECT_EQ(20 * TICK, timeout->deadline);
	/* Just in time, and then suspended */
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 20 * TICK));
	EXPECT_EQ(30 * TICK, timeout->deadline);
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 30 * TICK + 1000000 * TICK));
	EXPECT_EQ(100000, missed);
	EXPECT_EQ(40 * TICK + 1000000 * TICK, timeout->deadline);
	EXPECT_EQ(-EINVAL, hwheel_local_again(&self->wheel, timeout, 0, &missed));
	EXPECT_EQ(100000, missed);
	/* Far beyond the clock */
	EXPECT_EQ(0, hwheel_local_again(&self->wheel, timeout, UINT64_MAX, NULL));
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, timeout->deadline);
}

TEST_F(local, a_wheel_without_timeouts_wakes_up_once_at_most)
{
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, hwheel_local_next(&self->wheel));
	for (unsigned int i = 0; i < FEW; i++)
		hwheel_local_arm(&self->wheel, &self->timeout[i], (i + 1) * 1000 * TICK);
	for (unsigned int i = 0; i < FEW; i++)
		EXPECT_TRUE(hwheel_local_cancel(&self->timeout[i]));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, hwheel_local_next(&self->wheel)));
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, hwheel_local_next(&self->wheel));
}

TEST_F(local, fini_ends_all)
{
	for (unsigned int i = 0; i < FEW; i++)
		hwheel_local_arm(&self->wheel, &self->timeout[i], 1ULL << (i * 8));
	/* Some of them were taken off their slot. */
	hwheel_local_set(&self->wheel, &self->timeout[1], 0);
	EXPECT_NE(NULL, hwheel_local_take(&self->wheel, TICK));
	hwheel_local_fini(&self->wheel);
	for (unsigned int i = 0; i < FEW; i++)
		EXPECT_FALSE(hwheel_local_is_pending(&self->timeout[i]));
}

/* The alarm */

static uint64_t alarm_ns;
static unsigned int alarms;

static void note_alarm(struct hwheel_local *of, uint64_t at_ns)
{
	(void)of;
	alarm_ns = at_ns;
	alarms++;
}

static void expect_empty(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	count(of, timeout);
	counts[7] += hwheel_local_is_empty(of);
}

/* Two of one edge: the second is due while the first one is called. */
TEST_F(local, an_empty_wheel_never_wakes_up)
{
	alarms = 0;
	EXPECT_TRUE(hwheel_local_is_empty(&self->wheel));
	for (unsigned int i = 0; i < FEW; i++)
		hwheel_local_arm(&self->wheel, &self->timeout[i], (i + 1) * 1000 * TICK);
	hwheel_local_set_alarm(&self->wheel, note_alarm);
	for (unsigned int i = 0; i < FEW; i++) {
		EXPECT_FALSE(hwheel_local_is_empty(&self->wheel));
		EXPECT_TRUE(hwheel_local_cancel(&self->timeout[i]));
	}
	EXPECT_EQ(1, alarms);
	EXPECT_TRUE(hwheel_local_is_empty(&self->wheel));
	EXPECT_TRUE(hwheel_local_is_empty(&self->wheel));
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, hwheel_local_next(&self->wheel));
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, alarm_ns);
	EXPECT_EQ(2, alarms);
	for (unsigned int i = 0; i < 2; i++) {
		hwheel_local_timeout_init(&self->timeout[i], expect_empty);
		hwheel_local_arm(&self->wheel, &self->timeout[i], TICK);
	}
	EXPECT_EQ(2, hwheel_local_run(&self->wheel, TICK));
	EXPECT_EQ(1, counts[7]);
	hwheel_local_arm(&self->wheel, &self->timeout[2], TICK);
	EXPECT_EQ(1, hwheel_local_run(&self->wheel, 2 * TICK));
}

TEST_F(local, an_alarm_moves_to_earlier_or_when_it_has_rung)
{
	alarms = 0;
	hwheel_local_arm(&self->wheel, &self->timeout[0], 50 * TICK);
	hwheel_local_set_alarm(&self->wheel, note_alarm);
	EXPECT_EQ(50 * TICK, alarm_ns);
	hwheel_local_arm(&self->wheel, &self->timeout[1], 60 * TICK);
	hwheel_local_arm(&self->wheel, &self->timeout[2], 40 * TICK);
	EXPECT_EQ(40 * TICK, alarm_ns);
	EXPECT_EQ(2, alarms);
	/* A move to later and a cancel leave it. */
	hwheel_local_set(&self->wheel, &self->timeout[2], 70 * TICK);
	hwheel_local_cancel(&self->timeout[0]);
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 39 * TICK));
	EXPECT_EQ(2, alarms);
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, 40 * TICK));
	EXPECT_EQ(60 * TICK, alarm_ns);
	EXPECT_EQ(3, alarms);
	hwheel_local_run(&self->wheel, 100 * TICK);
	EXPECT_EQ(HWHEEL_LOCAL_NEVER, alarm_ns);
	EXPECT_EQ(4, alarms);
}

static uint64_t monotonic(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * SEC + (uint64_t)at.tv_nsec;
}

/* Without waiting: is it readable? */
static bool rings(int fd)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };

	return poll(&file, 1, 0) == 1 && file.revents == POLLIN;
}

static bool awaits(int fd)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };

	return poll(&file, 1, -1) == 1 && file.revents == POLLIN;
}

static bool is_set(int fd)
{
	struct itimerspec at;

	return !timerfd_gettime(fd, &at) && (at.it_value.tv_sec || at.it_value.tv_nsec);
}

TEST_F(local, the_timerfd_of_what_is_due_already_rings)
{
	int fd;

	hwheel_local_init(&self->wheel, 0, monotonic());
	fd = hwheel_local_fd(&self->wheel, CLOCK_MONOTONIC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(fd, hwheel_local_fd(&self->wheel, CLOCK_MONOTONIC));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
	EXPECT_FALSE(is_set(fd));
	for (uint64_t deadline = 0; deadline < 2; deadline++) {
		hwheel_local_arm_at(&self->wheel, &self->timeout[0], deadline);
		EXPECT_TRUE(awaits(fd));
		while (!hwheel_local_run(&self->wheel, monotonic()))
			;
		EXPECT_FALSE(rings(fd));
		EXPECT_FALSE(is_set(fd));
	}
	/* It was due before there was a timerfd. */
	hwheel_local_set_alarm(&self->wheel, NULL);
	hwheel_local_arm_at(&self->wheel, &self->timeout[0], 0);
	fd = hwheel_local_fd(&self->wheel, CLOCK_BOOTTIME);
	EXPECT_TRUE(awaits(fd));
}

/* A program may have closed its standard input. */
TEST_F(local, the_timerfd_may_be_0)
{
	struct hwheel_local_timeout *timeout = &self->timeout[0];

	close(0);
	hwheel_local_init(&self->wheel, 0, monotonic());
	ASSERT_EQ(0, hwheel_local_fd(&self->wheel, CLOCK_MONOTONIC));
	EXPECT_EQ(0, hwheel_local_fd(&self->wheel, CLOCK_MONOTONIC));
	hwheel_local_arm_at(&self->wheel, timeout, 0);
	EXPECT_TRUE(awaits(0));
	hwheel_local_fini(&self->wheel);
	EXPECT_GT(0, fcntl(0, F_GETFD));
}

TEST_F(local, a_clock_that_there_is_not)
{
	EXPECT_EQ(-EINVAL, hwheel_local_fd(&self->wheel, 12345));
	EXPECT_EQ(-1, self->wheel.fd);
}

TEST_F(local, the_timerfd_is_silent_after_the_last_cancel)
{
	int fd;

	hwheel_local_init(&self->wheel, 0, monotonic());
	fd = hwheel_local_fd(&self->wheel, CLOCK_MONOTONIC);
	hwheel_local_arm_at(&self->wheel, &self->timeout[0], 0);
	EXPECT_TRUE(awaits(fd));
	EXPECT_TRUE(hwheel_local_cancel(&self->timeout[0]));
	EXPECT_EQ(0, hwheel_local_run(&self->wheel, monotonic()));
	EXPECT_FALSE(rings(fd));
	EXPECT_FALSE(is_set(fd));
}

static bool child_may_do_all(FIXTURE_DATA(local) * self, int fd)
{
	bool good;

	good = hwheel_local_cancel(&self->timeout[0]);
	hwheel_local_arm_at(&self->wheel, &self->timeout[1], 0);
	while (!hwheel_local_run(&self->wheel, monotonic()))
		;
	good &= is_set(fd) && !rings(fd);
	/* Its own */
	hwheel_local_arm_at(&self->wheel, &self->timeout[1], 0);
	good &= awaits(hwheel_local_fd(&self->wheel, CLOCK_MONOTONIC));
	good &= fcntl(fd, F_GETFD) < 0;
	hwheel_local_fini(&self->wheel);
	return good;
}

TEST_F(local, a_forked_child_leaves_the_timerfd_as_it_is)
{
	int fd, status;
	pid_t pid;

	hwheel_local_init(&self->wheel, 0, monotonic());
	fd = hwheel_local_fd(&self->wheel, CLOCK_MONOTONIC);
	hwheel_local_arm(&self->wheel, &self->timeout[0], 1000 * SEC);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!child_may_do_all(self, fd));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(is_set(fd));
	EXPECT_FALSE(rings(fd));
	EXPECT_TRUE(hwheel_local_is_pending(&self->timeout[0]));
}

/*
 * A server: 1,000 requests a second, each with a timeout of 30 s, of which one in twenty expires
 * and the others are answered after up to 1 s. An exact heap wakes up when its earliest deadline
 * comes.
 */

#define REQUESTS	120000U
#define PERIOD		(SEC / 1000)
#define LIMIT		(30 * SEC)

struct request {
	struct hwheel_local_timeout	timeout;
	uint64_t			answer;		/* 0: none */
};

static struct request requests[REQUESTS];

static void ignore(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	(void)of;
	(void)timeout;
}

/* How often the loop wakes up for its timeouts alone while requests come and are answered */
static unsigned int wake_ups(uint64_t end)
{
	unsigned int next_request = 0, n = 0;

	for (uint64_t at = 0; at < end; at += PERIOD) {
		while (hwheel_local_next(&wheel) <= at) {
			hwheel_local_run(&wheel, hwheel_local_next(&wheel));
			n++;
		}
		hwheel_local_update(&wheel, at);
		for (unsigned int i = at / PERIOD > 1000 ? at / PERIOD - 1000 : 0;
		     i < next_request; i++)
			if (requests[i].answer && requests[i].answer <= at)
				hwheel_local_cancel(&requests[i].timeout);
		hwheel_local_timeout_init(&requests[next_request].timeout, ignore);
		hwheel_local_arm(&wheel, &requests[next_request++].timeout, LIMIT);
	}
	return n;
}

TEST(a_server_wakes_up_about_as_often_as_with_a_heap)
{
	unsigned int expired = 0, woken;

	random_state = 1;
	hwheel_local_init(&wheel, TICK, 0);
	for (unsigned int i = 0; i < REQUESTS; i++) {
		requests[i].answer = draw() % 20 ? i * PERIOD + draw() % SEC : 0;
		expired += !requests[i].answer && i * PERIOD + LIMIT < REQUESTS * PERIOD;
	}
	woken = wake_ups(REQUESTS * PERIOD);
	TH_LOG("%u wake-ups, and %u of a heap", woken, expired);
	EXPECT_GE(expired * 11 / 10, woken);
	EXPECT_LE(expired * 9 / 10, woken);
}

TEST_HARNESS_MAIN
