// SPDX-License-Identifier: GPL-2.0-only
/*
 * The users who have files open, and what each of them may have.
 *
 * A user is a uid, as for the kernel's own limits of processes. All of a user's files share
 * one account, which is there as long as one of them is.
 */
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "engine/gfp.h"
#include "user.h"

static DEFINE_SPINLOCK(lock);	/* protects all that follows, and the accounts */
static DEFINE_HASHTABLE(users, 6);
static unsigned int nr_wheels;

/* Of the account that was freed last: a user is not to get a new one within a tick. */
static struct {
	kuid_t			uid;
	struct hwheel_user_time	mapped;
} freed;

static struct hwheel_user *user_find(kuid_t uid)
{
	struct hwheel_user *user;

	lockdep_assert_held(&lock);
	hash_for_each_possible(users, user, link, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct hwheel_user *find_or_add(kuid_t uid, struct hwheel_user *new)
{
	struct hwheel_user *user;

	spin_lock(&lock);
	user = user_find(uid);
	if (!user && new) {
		hash_add(users, &new->link, __kuid_val(uid));
		if (uid_eq(uid, freed.uid))
			new->mapped = freed.mapped;
		user = new;
	}
	if (user)
		user->files++;
	spin_unlock(&lock);
	return user;
}

/* For another file of this user. May sleep. Returns NULL if there is no memory. */
struct hwheel_user *hwheel_user_get(kuid_t uid)
{
	struct hwheel_user *user = find_or_add(uid, NULL), *new;

	if (user)
		return user;
	new = kzalloc(sizeof(*new), HWHEEL_GFP_USER);
	if (!new)
		return NULL;
	new->uid = uid;
	new->slow = jiffies - HWHEEL_USER_SLOW - 1;
	user = find_or_add(uid, new);
	if (user != new)
		kfree(new);
	return user;
}

void hwheel_user_put(struct hwheel_user *user)
{
	bool last;

	spin_lock(&lock);
	last = !--user->files;
	if (last) {
		hash_del(&user->link);
		freed.uid = user->uid;
		freed.mapped = user->mapped;
	}
	spin_unlock(&lock);
	if (last)
		kfree(user);
}

/*
 * One more wheel for a file of @user, who may have up to @max of them, and all users
 * @max_of_all. Returns 0 or -ENOSPC.
 */
int hwheel_user_add_wheel(struct hwheel_user *user, unsigned int max,
			  unsigned int max_of_all)
{
	int err = -ENOSPC;

	spin_lock(&lock);
	if (user->wheels < max && nr_wheels < max_of_all) {
		user->wheels++;
		nr_wheels++;
		err = 0;
	}
	spin_unlock(&lock);
	return err;
}

void hwheel_user_remove_wheel(struct hwheel_user *user)
{
	spin_lock(&lock);
	user->wheels--;
	nr_wheels--;
	spin_unlock(&lock);
}

/* One more mapped file on the shared wheel. Returns 0 or -ENOSPC. */
int hwheel_user_add_mapping(struct hwheel_user *user)
{
	int err = -ENOSPC;

	spin_lock(&lock);
	if (user->mappings < HWHEEL_USER_MAPPINGS) {
		user->mappings++;
		err = 0;
	}
	spin_unlock(&lock);
	return err;
}

void hwheel_user_remove_mapping(struct hwheel_user *user)
{
	spin_lock(&lock);
	user->mappings--;
	spin_unlock(&lock);
}
