// SPDX-License-Identifier: GPL-2.0-only
/*
 * A new wheel's memory: how much it is, to which cgroup the kernel charges it, and whether others
 * have their turn meanwhile. The file includes the sources that allocate once more, and notes the
 * flags and the size of each allocation and each cond_resched() of these copies.
 */
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../common.h"
#include "engine/callback.h"
#include "engine/debug_objects.h"
#include "engine/slots.h"
#include "engine/submit.h"
#include "engine/trace.h"
#include "engine/worker.h"

/* The wheel, its slots and the tree of their edges, and its CPUs' part */
#define NR_ALLOCS	4

/* How many slots may be initialised in a row: some 100 us on a slow machine */
#define IN_A_ROW	10000

/**
 * struct notes - what the copies did
 * @gfp:      flags of the allocations, in turn
 * @nr:       how many allocations there were
 * @bytes:    how much they were together
 * @rescheds: how often others had their turn
 */
static struct notes {
	gfp_t		gfp[NR_ALLOCS];
	unsigned int	nr;
	u64		bytes;
	unsigned int	rescheds;
} notes;

static gfp_t note(u64 bytes, gfp_t gfp)
{
	notes.bytes += bytes;
	if (notes.nr < NR_ALLOCS)
		notes.gfp[notes.nr] = gfp;
	notes.nr++;
	return gfp;
}

static void *note_kzalloc(size_t size, gfp_t gfp)
{
	return kzalloc(size, note(size, gfp));
}

static void *note_kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	return kvcalloc(n, size, note(n * size, gfp));
}

static void __percpu *note_percpu(size_t size, size_t align, gfp_t gfp)
{
	return __alloc_percpu_gfp(size, align, note(num_possible_cpus() * size, gfp));
}

static void note_resched(void)
{
	notes.rescheds++;
	cond_resched();
}

/* The functions of the copies, by their names here */
static u64 copy_slots_bytes(unsigned int nr, unsigned int levels);
static u64 copy_wheel_bytes(void);
static int copy_slots_init(struct hwheel_slots *slots, unsigned int nr,
			   unsigned int levels, unsigned int rate, gfp_t gfp);
static void copy_slots_free(struct hwheel_slots *slots);
static void copy_slots_enqueue_above(struct hwheel_slots *slots, struct hwheel_node *node,
				     u64 edge, unsigned long chain) __maybe_unused;
static void copy_slots_lower(struct hwheel_slots *slots, unsigned int i, u64 edge) __maybe_unused;
static void copy_slots_raise(struct hwheel_slots *slots, unsigned int i) __maybe_unused;
static u64 copy_slots_next(struct hwheel_slots *slots) __maybe_unused;
static bool copy_slots_advance(struct hwheel_slots *slots, u64 edge) __maybe_unused;
static void copy_slots_put_off(struct hwheel_slots *slots) __maybe_unused;
static struct hwheel_chains *
copy_slots_moving_above(struct hwheel_slots *slots, u64 edge) __maybe_unused;
static struct hwheel_chains *
copy_slots_next_backlog(struct hwheel_slots *slots) __maybe_unused;
static struct hwheel_node *copy_slots_pop_any(struct hwheel_slots *slots) __maybe_unused;
static unsigned int copy_slots_parts(const struct hwheel_slots *slots) __maybe_unused;
static void copy_slots_take_part(struct hwheel_slots *slots, unsigned int part) __maybe_unused;
static void copy_observe(const struct hwheel_observer *new) __maybe_unused;
static void copy_show(struct hwheel *wheel, struct module *owner, const char *creator);
static void copy_retire(struct hwheel *wheel);
static void copy_put(struct hwheel *wheel);
static int copy_params_complete(struct hwheel_params *params);
static struct hwheel *copy_create(const struct hwheel_params *params, struct module *owner,
				  const char *creator);
static void copy_destroy(struct hwheel *wheel);

/* Nothing of the copies is exported. */
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)	static_assert(sizeof(typeof(symbol) *))

#define hwheel_slots_bytes		copy_slots_bytes
#define hwheel_wheel_bytes		copy_wheel_bytes
#define hwheel_slots_init		copy_slots_init
#define hwheel_slots_free		copy_slots_free
#define hwheel_slots_enqueue_above	copy_slots_enqueue_above
#define hwheel_slots_moving_above	copy_slots_moving_above
#define hwheel_slots_lower		copy_slots_lower
#define hwheel_slots_raise		copy_slots_raise
#define hwheel_slots_next		copy_slots_next
#define hwheel_slots_advance		copy_slots_advance
#define hwheel_slots_put_off		copy_slots_put_off
#define hwheel_slots_next_backlog	copy_slots_next_backlog
#define hwheel_slots_pop_any		copy_slots_pop_any
#define hwheel_slots_parts		copy_slots_parts
#define hwheel_slots_take_part		copy_slots_take_part
#define hwheel_observe			copy_observe
#define hwheel_show			copy_show
#define hwheel_retire			copy_retire
#define hwheel_put			copy_put
#define __hwheel_create			copy_create
#define hwheel_params_complete		copy_params_complete
#define hwheel_destroy			copy_destroy

#undef kzalloc
#define kzalloc				note_kzalloc
#undef kvcalloc
#define kvcalloc			note_kvcalloc
#undef alloc_percpu_gfp
#define alloc_percpu_gfp(type, gfp)	\
	((typeof(type) __percpu *)note_percpu(sizeof(type), __alignof__(type), gfp))
#undef cond_resched
#define cond_resched			note_resched
#undef pr_fmt

#include "engine/slots.c"
#include "engine/wheel.c"

static void expect_flags(struct kunit *test, unsigned int flags, gfp_t gfp)
{
	struct hwheel_params params = {
		.flags = flags,
	};
	struct hwheel *wheel;
	unsigned int i;

	notes = (struct notes) { };
	wheel = copy_create(&params, THIS_MODULE, __func__);
	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	copy_destroy(wheel);
	KUNIT_EXPECT_EQ(test, notes.nr, NR_ALLOCS);
	for (i = 0; i < NR_ALLOCS; i++)
		KUNIT_EXPECT_EQ(test, (__force unsigned int)notes.gfp[i],
				(__force unsigned int)gfp);
}

/* Failing must neither kill a process nor fill the log, either. */
static void accounted_wheel_is_charged_as_a_whole(struct kunit *test)
{
	expect_flags(test, HWHEEL_ACCOUNT,
		     GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
}

static void other_wheels_are_not_charged(struct kunit *test)
{
	expect_flags(test, 0, GFP_KERNEL);
}

static void bytes_are_known_beforehand(struct kunit *test)
{
	static const struct hwheel_params shapes[] = {
		{ .slots = 1 },
		{ .slots = 2 },
		{ .slots = 64 },
		{ .slots = 65 },
		{ .slots = 4096 },
		{ .slots = 4, .levels = 8 },
		{ .slots = 512, .levels = 3 },
		{ .slots = 1 << 16, .levels = 2 },
		{ .turn_ns = 3600 * (u64)NSEC_PER_SEC, .tick_ns = NSEC_PER_MSEC },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct hwheel_params params = shapes[i];
		struct hwheel *wheel;

		KUNIT_ASSERT_EQ(test, copy_params_complete(&params), 0);
		notes = (struct notes) { };
		wheel = copy_create(&params, THIS_MODULE, __func__);
		KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
		copy_destroy(wheel);
		KUNIT_EXPECT_EQ(test, notes.bytes, copy_wheel_bytes() +
				copy_slots_bytes(params.slots, params.levels));
	}
}

static void others_run_while_slots_are_initialised(struct kunit *test)
{
	const unsigned int nr = 1 << 17, levels = 2;
	struct hwheel_slots slots;

	notes = (struct notes) { };
	KUNIT_EXPECT_EQ(test, copy_slots_init(&slots, nr, levels, 0, GFP_KERNEL), 0);
	copy_slots_free(&slots);
	KUNIT_EXPECT_GE(test, notes.rescheds, levels * nr / IN_A_ROW);
}

static struct kunit_case alloc_cases[] = {
	KUNIT_CASE(accounted_wheel_is_charged_as_a_whole),
	KUNIT_CASE(other_wheels_are_not_charged),
	KUNIT_CASE(bytes_are_known_beforehand),
	KUNIT_CASE(others_run_while_slots_are_initialised),
	{}
};

static struct kunit_suite alloc_suite = {
	.name = "hwheel_alloc",
	.test_cases = alloc_cases,
};

kunit_test_suite(alloc_suite);
