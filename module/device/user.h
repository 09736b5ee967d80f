/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_USER_H
#define _HWHEEL_USER_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/uidgid.h>

/**
 * struct hwheel_user - a user who has files open
 */
struct hwheel_user {
	/** @link: Among all users, under their lock. */
	struct hlist_node	link;
	/** @uid: The user, in the first user namespace; constant. */
	kuid_t			uid;
	/** @files: How many files refer to this, under the lock of all users. */
	unsigned int		files;
	/** @wheels: Wheels of their own that these have, under that lock. */
	unsigned int		wheels;
	/**
	 * @slow: When (jiffies) it last took too long to wake the threads that wait for these
	 * files, so that the worker leaves that to work items for a while; written by workers.
	 */
	unsigned long		slow;
};

struct hwheel_user *hwheel_user_get(kuid_t uid);
void hwheel_user_put(struct hwheel_user *user);

int hwheel_user_add_wheel(struct hwheel_user *user, unsigned int max,
			  unsigned int max_of_all);
void hwheel_user_remove_wheel(struct hwheel_user *user);

/* How long the worker stays away from waiters that took too long */
#define HWHEEL_USER_SLOW	(10 * HZ)

static inline void hwheel_user_was_slow(struct hwheel_user *user)
{
	WRITE_ONCE(user->slow, jiffies);
}

static inline bool hwheel_user_is_slow(const struct hwheel_user *user)
{
	unsigned long slow = READ_ONCE(user->slow);

	return unlikely(time_in_range(jiffies, slow, slow + HWHEEL_USER_SLOW));
}

#endif /* _HWHEEL_USER_H */
