/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_USER_H
#define _HWHEEL_USER_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/uidgid.h>

/**
 * struct hwheel_user_time - the worker's time that was spent in a tick; that worker's own
 * @edge:  the edge with which the tick began
 * @spent: in ns
 */
struct hwheel_user_time {
	u64	edge;
	u64	spent;
};

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
	/** @mappings: Mapped files on the shared wheel that they have, under that lock. */
	unsigned int		mappings;
	/** @mapped: What the shared wheel's worker has spent on these. */
	struct hwheel_user_time	mapped;
	/**
	 * @slow: When (jiffies) it last took too long to wake the threads that wait for these
	 * files, so that the worker leaves that to work items for a while; written by whoever
	 * wakes them.
	 */
	unsigned long		slow;
	/**
	 * @jiffy: The time (jiffies) that @looked is about. Several workers read and write these
	 * two without a lock: the count is a budget, and may be wrong now and then.
	 */
	unsigned long		jiffy;
	/** @looked: How many waiters of these files workers looked at in that jiffy. */
	unsigned int		looked;
};

struct hwheel_user *hwheel_user_get(kuid_t uid);
void hwheel_user_put(struct hwheel_user *user);

int hwheel_user_add_wheel(struct hwheel_user *user, unsigned int max,
			  unsigned int max_of_all);
void hwheel_user_remove_wheel(struct hwheel_user *user);
int hwheel_user_add_mapping(struct hwheel_user *user);
void hwheel_user_remove_mapping(struct hwheel_user *user);

/* How many mapped files a user may have on the shared wheel */
#define HWHEEL_USER_MAPPINGS	64

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

/* How many waiters of a user's files the workers look at in a jiffy */
#define HWHEEL_USER_WAITERS	1024U

/*
 * How many are left. The two fields need no order: a worker that sees one of them without the
 * other looks at some waiters more, or leaves some of this user's to a work item.
 */
static inline unsigned int hwheel_user_waiters_left(const struct hwheel_user *user)
{
	unsigned int looked = READ_ONCE(user->looked);
	unsigned long now = jiffies;

	if (READ_ONCE(user->jiffy) != now)
		return HWHEEL_USER_WAITERS;
	return HWHEEL_USER_WAITERS - min(looked, HWHEEL_USER_WAITERS);
}

/* A count of another worker's may get lost, which is cheaper than an atomic addition. */
static inline void hwheel_user_looked(struct hwheel_user *user, unsigned int waiters)
{
	unsigned long now = jiffies;

	if (READ_ONCE(user->jiffy) == now)
		waiters += READ_ONCE(user->looked);
	WRITE_ONCE(user->looked, waiters);
	WRITE_ONCE(user->jiffy, now);
}

#endif /* _HWHEEL_USER_H */
