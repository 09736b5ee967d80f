// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounts of users, in a copy of the source into which the test puts another open() of the
 * same user.
 */
#include <kunit/test.h>
#include <linux/slab.h>

/* The other open() comes while the first one allocates an account. */
static void *race_alloc(size_t size, gfp_t gfp);

#define hwheel_user_get			race_user_get
#define hwheel_user_put			race_user_put
#define hwheel_user_add_wheel		race_user_add_wheel
#define hwheel_user_remove_wheel	race_user_remove_wheel
#undef kzalloc
#define kzalloc				race_alloc

#include "device/user.c"

#define UID	KUIDT_INIT(1000)

static struct hwheel_user *other;
static bool race;

static void *race_alloc(size_t size, gfp_t gfp)
{
	void *new = kmalloc(size, gfp | __GFP_ZERO);

	if (race) {
		race = false;
		other = hwheel_user_get(UID);
	}
	return new;
}

static void two_opens_at_a_time_share_an_account(struct kunit *test)
{
	struct hwheel_user *user;

	race = true;
	user = hwheel_user_get(UID);
	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_EXPECT_PTR_EQ(test, user, other);
	KUNIT_EXPECT_EQ(test, user->files, 2);
	hwheel_user_put(other);
	KUNIT_EXPECT_PTR_EQ(test, hwheel_user_get(UID), user);
	hwheel_user_put(user);
	hwheel_user_put(user);
	KUNIT_EXPECT_TRUE(test, hash_empty(users));
}

/* One of @max, or of all */
static void wheels_count_for_their_user_and_in_all(struct kunit *test)
{
	struct hwheel_user *user = hwheel_user_get(UID);
	struct hwheel_user *second = hwheel_user_get(KUIDT_INIT(1001));

	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_ASSERT_NOT_NULL(test, second);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(user, 1, 2), 0);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(user, 1, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(second, 2, 2), 0);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(second, 2, 2), -ENOSPC);
	hwheel_user_remove_wheel(user);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(second, 2, 2), 0);
	hwheel_user_remove_wheel(second);
	hwheel_user_remove_wheel(second);
	hwheel_user_put(second);
	hwheel_user_put(user);
	KUNIT_EXPECT_TRUE(test, hash_empty(users));
}

static struct kunit_case user_cases[] = {
	KUNIT_CASE(two_opens_at_a_time_share_an_account),
	KUNIT_CASE(wheels_count_for_their_user_and_in_all),
	{}
};

static struct kunit_suite user_suite = {
	.name		= "hwheel_user",
	.test_cases	= user_cases,
};

kunit_test_suite(user_suite);
