// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounts, in a copy of the source into which the test puts another open() of the same account.
 */
#include <kunit/test.h>
#include <linux/slab.h>

/* The other open() comes while the first one allocates an account. */
static void *race_alloc(size_t size, gfp_t gfp);

#define hwheel_account_key		race_account_key
#define hwheel_account_cgroup		race_account_cgroup
#define hwheel_account_get		race_account_get
#define hwheel_account_put		race_account_put
#define hwheel_account_max_bytes	race_account_max_bytes
#define hwheel_account_charge		race_account_charge
#define hwheel_account_uncharge		race_account_uncharge
#define hwheel_account_add_wheel	race_account_add_wheel
#define hwheel_account_remove_wheel	race_account_remove_wheel
#define hwheel_account_init		race_account_init
#define hwheel_account_made		race_account_made
#define hwheel_account_exit		race_account_exit
#define hwheel_account_params		race_account_params
#define hwheel_account_use_wheel	race_account_use_wheel
#define hwheel_account_leave_wheel	race_account_leave_wheel
#undef kzalloc
#define kzalloc				race_alloc

#include "device/account.c"

#define PERCENT	50

static const struct hwheel_params params = {
	.tick_ns = 10 * NSEC_PER_MSEC, .slots = 100, .max_pending = 7,
};

/* Again after an exit, as if the module was loaded again */
static int init(void)
{
	exiting = false;
	return hwheel_account_init(&params, PERCENT);
}

static int account_init(struct kunit_suite *suite)
{
	return init();
}

static void account_exit(struct kunit_suite *suite)
{
	hwheel_account_exit();
}

static struct hwheel_account *opened;
static bool race;

static struct hwheel_account *get(unsigned int uid)
{
	struct hwheel_account_key key = { .ns = &init_user_ns, .uid = KUIDT_INIT(uid) };

	return hwheel_account_get(&key);
}

static void *race_alloc(size_t size, gfp_t gfp)
{
	void *new = kmalloc(size, gfp | __GFP_ZERO);

	if (race) {
		race = false;
		opened = get(1000);
	}
	return new;
}

/* The account's key of an opener with a uid, in a cgroup and a user namespace */
static struct hwheel_account_key key_of(unsigned int uid, u64 cgroup, struct user_namespace *ns)
{
	struct cred cred = { .uid = KUIDT_INIT(uid), .euid = KUIDT_INIT(7), .user_ns = ns };

	return hwheel_account_key(&cred, cgroup);
}

static void expect_key(struct kunit *test, struct hwheel_account_key key,
		       struct user_namespace *ns, unsigned int uid, u64 cgroup)
{
	KUNIT_EXPECT_PTR_EQ(test, key.ns, ns);
	KUNIT_EXPECT_EQ(test, __kuid_val(key.uid), uid);
	KUNIT_EXPECT_EQ(test, key.cgroup, cgroup);
}

static void an_account_is_a_uid_and_of_root_a_cgroup(struct kunit *test)
{
	expect_key(test, key_of(1000, 5, &init_user_ns), &init_user_ns, 1000, 0);
	expect_key(test, key_of(0, 5, &init_user_ns), &init_user_ns, 0, 5);
	expect_key(test, key_of(0, 6, &init_user_ns), &init_user_ns, 0, 6);
}

static void what_a_user_does_in_namespaces_is_the_users(struct kunit *test)
{
	struct user_namespace *outer = kunit_kzalloc(test, sizeof(*outer), GFP_KERNEL);
	struct user_namespace *inner = kunit_kzalloc(test, sizeof(*inner), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, outer);
	KUNIT_ASSERT_NOT_NULL(test, inner);
	outer->parent = &init_user_ns;
	outer->owner = KUIDT_INIT(1000);
	inner->parent = outer;
	inner->owner = KUIDT_INIT(100000);
	expect_key(test, key_of(100000, 5, outer), &init_user_ns, 1000, 0);
	expect_key(test, key_of(100000, 5, inner), &init_user_ns, 1000, 0);
	expect_key(test, key_of(0, 5, inner), &init_user_ns, 1000, 0);
	inner->owner = GLOBAL_ROOT_UID;
	expect_key(test, key_of(100000, 5, inner), &init_user_ns, 1000, 0);

	/* One that root made is an account, with all that is in it. */
	outer->owner = GLOBAL_ROOT_UID;
	inner->owner = KUIDT_INIT(100000);
	expect_key(test, key_of(100000, 5, outer), outer, 0, 0);
	expect_key(test, key_of(100001, 6, inner), outer, 0, 0);
}

static void two_opens_at_a_time_share_an_account(struct kunit *test)
{
	struct hwheel_account *account;

	race = true;
	account = get(1000);
	KUNIT_ASSERT_NOT_NULL(test, account);
	KUNIT_EXPECT_PTR_EQ(test, account, opened);
	KUNIT_EXPECT_EQ(test, account->refs, 2);
	hwheel_account_put(opened);
	KUNIT_EXPECT_PTR_EQ(test, get(1000), account);
	hwheel_account_put(account);
	hwheel_account_put(account);
	KUNIT_EXPECT_TRUE(test, hash_empty(accounts));
}

static void files_of_a_key_share_an_account(struct kunit *test)
{
	struct hwheel_account_key root[] = {
		{ .ns = &init_user_ns, .uid = GLOBAL_ROOT_UID, .cgroup = 1 },
		{ .ns = &init_user_ns, .uid = GLOBAL_ROOT_UID, .cgroup = 2 },
	};
	struct hwheel_account *accounts[4];
	unsigned int i, j;

	accounts[0] = get(123456);
	accounts[1] = get(123456 + 256);
	accounts[2] = hwheel_account_get(&root[0]);
	accounts[3] = hwheel_account_get(&root[1]);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_NOT_NULL(test, accounts[i]);
		KUNIT_EXPECT_PTR_EQ(test, hwheel_account_get(&accounts[i]->key), accounts[i]);
		hwheel_account_put(accounts[i]);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_PTR_NE(test, accounts[i], accounts[j]);
	}
	for (i = 0; i < 4; i++)
		hwheel_account_put(accounts[i]);
}

/* The limit of bytes for the files of @account from now on */
static void leave_room(struct hwheel_account *account, u64 bytes)
{
	hwheel_account_max_bytes = hwheel_account_bytes(account) + bytes;
}

static void bytes_are_counted_by_account(struct kunit *test)
{
	struct hwheel_account *account = get(123456), *other = get(123457);
	u64 max = hwheel_account_max_bytes;

	KUNIT_ASSERT_NOT_NULL(test, account);
	KUNIT_ASSERT_NOT_NULL(test, other);
	leave_room(account, 1000);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, 1001), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, U64_MAX), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_account_bytes(account), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, 999), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, 1), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_bytes(account), 1000);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(other, 1000), 0);
	hwheel_account_uncharge(account, 999);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, 1000), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, 999), 0);
	/* An administrator lowers the limit: no more is charged, and nothing is taken away. */
	hwheel_account_max_bytes = 10;
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_account_bytes(account), 1000);
	hwheel_account_uncharge(account, 1000);
	KUNIT_EXPECT_EQ(test, hwheel_account_charge(account, 10), 0);
	hwheel_account_uncharge(account, 10);
	KUNIT_EXPECT_EQ(test, hwheel_account_bytes(account), 0);
	hwheel_account_max_bytes = max;
	hwheel_account_put(account);
	hwheel_account_put(other);
}

/* Whether it is bytes or wheels that an account has no more of */
static void a_refused_wheel_is_not_charged(struct kunit *test)
{
	struct hwheel_account *account = get(123456);
	u64 max = hwheel_account_max_bytes;

	KUNIT_ASSERT_NOT_NULL(test, account);
	leave_room(account, 100);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(account, 1, 101), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_account_bytes(account), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(account, 1, 60), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(account, 1, 40), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_account_bytes(account), 60);
	hwheel_account_remove_wheel(account, 60);
	KUNIT_EXPECT_EQ(test, hwheel_account_bytes(account), 0);
	hwheel_account_max_bytes = max;
	hwheel_account_put(account);
}

static void the_default_is_a_share_of_low_memory(struct kunit *test)
{
	u64 max = hwheel_account_max_bytes;

	KUNIT_EXPECT_GT(test, max, 0);
	KUNIT_EXPECT_LE(test, max, (u64)totalram_pages() * PAGE_SIZE / 25);
	hwheel_account_exit();
	hwheel_account_max_bytes = 12345;
	KUNIT_EXPECT_EQ(test, init(), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_max_bytes, 12345);
	hwheel_account_max_bytes = max;
}

/* What one account has another one does not lack. */
static void wheels_are_counted_by_account(struct kunit *test)
{
	struct hwheel_account *account = get(123456), *other = get(123457);

	KUNIT_ASSERT_NOT_NULL(test, account);
	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(account, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(account, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(account, 2, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(other, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(other, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(other, 2, 0), -ENOSPC);
	hwheel_account_remove_wheel(account, 0);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(other, 2, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, hwheel_account_add_wheel(account, 2, 0), 0);
	hwheel_account_put(account);
	hwheel_account_put(other);
	KUNIT_EXPECT_TRUE(test, hash_empty(accounts));
}

/* A file of a user, on the default wheel */
static struct hwheel *use(struct kunit *test, struct hwheel_account *account)
{
	struct hwheel *wheel = hwheel_account_use_wheel(account);

	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	return wheel;
}

/* As if the time for which a wheel is kept were over */
static void pass_time(struct hwheel_account *account)
{
	flush_delayed_work(&account->end);
}

static void files_of_an_account_share_its_wheel(struct kunit *test)
{
	struct hwheel_account *account = get(123456), *other = get(123457);
	struct hwheel *wheel = use(test, account);

	KUNIT_EXPECT_PTR_EQ(test, use(test, account), wheel);
	KUNIT_EXPECT_PTR_NE(test, use(test, other), wheel);
	KUNIT_EXPECT_STREQ(test, wheel->name, "u123456");
	KUNIT_EXPECT_EQ(test, wheel->tick, 10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, wheel->slots.mask + 1, 128);
	KUNIT_EXPECT_EQ(test, wheel->max_pending, 7);
	hwheel_account_leave_wheel(account);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&account->end));
	hwheel_account_leave_wheel(account);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&account->end));
	hwheel_account_leave_wheel(other);
	pass_time(account);
	pass_time(other);
	KUNIT_EXPECT_NULL(test, account->wheel);
	hwheel_account_put(account);
	hwheel_account_put(other);
	KUNIT_EXPECT_TRUE(test, hash_empty(accounts));
}

/* A program that opens and closes again and again starts no threads. */
static void a_wheel_is_kept_for_the_next_file(struct kunit *test)
{
	struct hwheel_account *account = get(123456);
	struct hwheel *wheel = use(test, account);

	hwheel_account_leave_wheel(account);
	hwheel_account_put(account);
	/* The work item holds the account. */
	KUNIT_ASSERT_PTR_EQ(test, get(123456), account);
	KUNIT_EXPECT_PTR_EQ(test, use(test, account), wheel);
	/* The work item finds that there is a file again. */
	pass_time(account);
	KUNIT_EXPECT_PTR_EQ(test, account->wheel, wheel);
	hwheel_account_leave_wheel(account);
	pass_time(account);
	KUNIT_EXPECT_NULL(test, account->wheel);
	/* The account makes another one. */
	use(test, account);
	KUNIT_EXPECT_NOT_NULL(test, account->wheel);
	hwheel_account_leave_wheel(account);
	pass_time(account);
	hwheel_account_put(account);
	KUNIT_EXPECT_TRUE(test, hash_empty(accounts));
}

/* The last file is closed while the work item runs that another close() has queued. */
static void a_close_beside_the_work_item_counts(struct kunit *test)
{
	struct hwheel_account *account = get(123456);
	struct hwheel *wheel = use(test, account);

	mutex_lock(&account->create);
	hwheel_account_leave_wheel(account);
	mod_delayed_work(ender, &account->end, 0);
	/* It waits for the mutex, or is about to. */
	while (delayed_work_pending(&account->end))
		schedule_timeout_uninterruptible(1);
	spin_lock(&lock);
	account->users++;
	spin_unlock(&lock);
	hwheel_account_leave_wheel(account);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&account->end));
	hwheel_account_put(account);
	mutex_unlock(&account->create);
	/* The first run leaves the wheel to the second one. */
	while (READ_ONCE(account->refs) > 1)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_PTR_EQ(test, account->wheel, wheel);
	pass_time(account);
	KUNIT_EXPECT_TRUE(test, hash_empty(accounts));
}

/* Closing and opening again is no way to a new burst. */
static void an_account_is_kept_until_it_has_paid(struct kunit *test)
{
	struct hwheel_account *account = get(123456);
	u64 place = 0;

	hwheel_bandwidth_take(&account->bandwidth, ktime_get_ns(), NSEC_PER_SEC, &place);
	hwheel_account_put(account);
	KUNIT_ASSERT_PTR_EQ(test, get(123456), account);
	hwheel_account_put(account);
	KUNIT_EXPECT_FALSE(test, hash_empty(accounts));
	/* That was a second, and as long a place, each of which takes two. */
	schedule_timeout_uninterruptible(4 * HZ - 1);
	KUNIT_EXPECT_FALSE(test, hash_empty(accounts));
	schedule_timeout_uninterruptible(HZ);
	KUNIT_EXPECT_TRUE(test, hash_empty(accounts));
}

/* rmmod waits for the wheels that are kept. */
static void unloading_ends_what_is_kept(struct kunit *test)
{
	struct hwheel_account *account = get(123456);

	use(test, account);
	hwheel_account_leave_wheel(account);
	hwheel_account_put(account);
	KUNIT_EXPECT_FALSE(test, hash_empty(accounts));
	hwheel_account_exit();
	KUNIT_EXPECT_TRUE(test, hash_empty(accounts));
	KUNIT_EXPECT_EQ(test, init(), 0);
}

static struct kunit_case account_cases[] = {
	KUNIT_CASE(an_account_is_a_uid_and_of_root_a_cgroup),
	KUNIT_CASE(what_a_user_does_in_namespaces_is_the_users),
	KUNIT_CASE(two_opens_at_a_time_share_an_account),
	KUNIT_CASE(files_of_a_key_share_an_account),
	KUNIT_CASE(bytes_are_counted_by_account),
	KUNIT_CASE(a_refused_wheel_is_not_charged),
	KUNIT_CASE(the_default_is_a_share_of_low_memory),
	KUNIT_CASE(wheels_are_counted_by_account),
	KUNIT_CASE(files_of_an_account_share_its_wheel),
	KUNIT_CASE(a_wheel_is_kept_for_the_next_file),
	KUNIT_CASE(a_close_beside_the_work_item_counts),
	KUNIT_CASE(an_account_is_kept_until_it_has_paid),
	KUNIT_CASE(unloading_ends_what_is_kept),
	{}
};

static struct kunit_suite account_suite = {
	.name		= "hwheel_account",
	.suite_init	= account_init,
	.suite_exit	= account_exit,
	.test_cases	= account_cases,
};

kunit_test_suite(account_suite);
