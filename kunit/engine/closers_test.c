// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threads that are in hwheel_cancel_sync(): each finds its place among very many quickly,
 * as it holds a lock that all of them take. The file includes the source once more, and counts
 * how many of the others the copy looks at.
 */
#include <linux/export.h>
#include <linux/rbtree.h>

#include "../sim.h"
#include "engine/callback.h"
#include "engine/submit.h"

#define MANY		1000

/* A red-black tree of so many is at most 20 high, and a comparison looks at two. */
#define LOOKS_EACH	50

static unsigned long looks;

static const struct rb_node *look_at(const struct rb_node *node)
{
	looks++;
	return node;
}

static int copy_cancel_sync(struct hwheel_timeout *timeout) __maybe_unused;
static int copy_shutdown_sync(struct hwheel_timeout *timeout) __maybe_unused;

/* Nothing of the copy is exported. */
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)	static_assert(sizeof(typeof(symbol) *))

#define hwheel_cancel_sync		copy_cancel_sync
#define hwheel_shutdown_sync		copy_shutdown_sync
#undef rb_entry
#define rb_entry(node, type, member)	container_of(look_at(node), type, member)
#undef pr_fmt

#include "engine/cancel_sync.c"

/* So many threads, of which each closes one of @nr timeouts, are there at a time. */
static void expect_few_looks(struct kunit *test, unsigned int nr)
{
	struct hwheel *wheel = sim_wheel(test);
	struct sim_timeout *sim = sim_timeouts(test, wheel, nr, &sim_ops);
	struct closer *closers;
	unsigned int i;

	closers = kunit_kcalloc(test, MANY, sizeof(*closers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, closers);
	looks = 0;
	for (i = 0; i < MANY; i++) {
		closers[i].timeout = &sim[i % nr].timeout;
		begin_closing(&closers[i]);
	}
	for (i = 0; i < MANY; i++)
		end_closing(&closers[i]);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&wheel->closers));
	/* None at all would mean that the looks are not counted. */
	KUNIT_EXPECT_GE(test, looks, MANY);
	KUNIT_EXPECT_LE(test, looks, MANY * LOOKS_EACH);
}

static void many_close_a_timeout_each(struct kunit *test)
{
	expect_few_looks(test, MANY);
}

static void many_close_one_timeout(struct kunit *test)
{
	expect_few_looks(test, 1);
}

static void many_close_a_few_timeouts(struct kunit *test)
{
	expect_few_looks(test, 7);
}

static struct kunit_case closers_cases[] = {
	KUNIT_CASE(many_close_a_timeout_each),
	KUNIT_CASE(many_close_one_timeout),
	KUNIT_CASE(many_close_a_few_timeouts),
	{}
};

static struct kunit_suite closers_suite = {
	.name = "hwheel_closers",
	.test_cases = closers_cases,
};

kunit_test_suite(closers_suite);
