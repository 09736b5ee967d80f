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
#define hwheel_user_add_mapping		race_user_add_mapping
#define hwheel_user_remove_mapping	race_user_remove_mapping
#undef kzalloc
#define kzalloc				race_alloc

#include "device/user.c"

#define UID	KUIDT_INIT(1000)

static struct hwheel_user *opened;
static bool race;

static void *race_alloc(size_t size, gfp_t gfp)
{
	void *new = kmalloc(size, gfp | __GFP_ZERO);

	if (race) {
		race = false;
		opened = hwheel_user_get(UID);
	}
	return new;
}

static void two_opens_at_a_time_share_an_account(struct kunit *test)
{
	struct hwheel_user *user;

	race = true;
	user = hwheel_user_get(UID);
	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_EXPECT_PTR_EQ(test, user, opened);
	KUNIT_EXPECT_EQ(test, user->files, 2);
	hwheel_user_put(opened);
	KUNIT_EXPECT_PTR_EQ(test, hwheel_user_get(UID), user);
	hwheel_user_put(user);
	hwheel_user_put(user);
	KUNIT_EXPECT_TRUE(test, hash_empty(users));
}

/* The last file of the user is closed, and another one is opened. */
static void no_account_is_new_within_a_tick(struct kunit *test)
{
	kuid_t one = KUIDT_INIT(123456), two = KUIDT_INIT(123457);
	struct hwheel_user *user = hwheel_user_get(one);

	KUNIT_ASSERT_NOT_NULL(test, user);
	user->mapped = (struct hwheel_user_time) { .edge = 7, .spent = 1000 };
	hwheel_user_put(user);
	user = hwheel_user_get(one);
	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_EXPECT_EQ(test, user->mapped.edge, 7);
	KUNIT_EXPECT_EQ(test, user->mapped.spent, 1000);
	hwheel_user_put(user);
	user = hwheel_user_get(two);
	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_EXPECT_EQ(test, user->mapped.spent, 0);
	hwheel_user_put(user);
}

static void files_of_a_user_share_an_account(struct kunit *test)
{
	kuid_t one = KUIDT_INIT(123456), two = KUIDT_INIT(123456 + 64);
	struct hwheel_user *user = hwheel_user_get(one), *other;

	KUNIT_ASSERT_NOT_NULL(test, user);
	other = hwheel_user_get(two);
	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_EXPECT_PTR_EQ(test, hwheel_user_get(one), user);
	KUNIT_EXPECT_PTR_NE(test, user, other);
	hwheel_user_put(user);
	KUNIT_EXPECT_PTR_EQ(test, hwheel_user_get(one), user);
	hwheel_user_put(user);
	hwheel_user_put(user);
	hwheel_user_put(other);
}

static void wheels_are_counted_by_user(struct kunit *test)
{
	struct hwheel_user *user = hwheel_user_get(KUIDT_INIT(123456));
	struct hwheel_user *other = hwheel_user_get(KUIDT_INIT(123457));

	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(user, 2, 3), 0);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(user, 2, 3), 0);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(user, 2, 3), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(other, 2, 3), 0);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(other, 2, 3), -ENOSPC);
	hwheel_user_remove_wheel(user);
	KUNIT_EXPECT_EQ(test, hwheel_user_add_wheel(other, 2, 3), 0);
	hwheel_user_remove_wheel(user);
	hwheel_user_remove_wheel(other);
	hwheel_user_remove_wheel(other);
	hwheel_user_put(user);
	hwheel_user_put(other);
	KUNIT_EXPECT_TRUE(test, hash_empty(users));
}

static struct kunit_case user_cases[] = {
	KUNIT_CASE(two_opens_at_a_time_share_an_account),
	KUNIT_CASE(files_of_a_user_share_an_account),
	KUNIT_CASE(no_account_is_new_within_a_tick),
	KUNIT_CASE(wheels_are_counted_by_user),
	{}
};

static struct kunit_suite user_suite = {
	.name		= "hwheel_user",
	.test_cases	= user_cases,
};

kunit_test_suite(user_suite);
