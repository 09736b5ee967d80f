/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests of a file's timeouts share: they do what the ioctls do, one step at a time.
 */
#ifndef _HWHEEL_KUNIT_SET_H
#define _HWHEEL_KUNIT_SET_H

#include <linux/uio.h>

#include <uapi/linux/hwheel.h>

#include "../module/deadline.h"
#include "../module/event.h"
#include "../module/set.h"
#include "../module/timeout.h"
#include "sim.h"

#define SET_MAX		4

static inline int set_init(struct kunit_resource *res, void *wheel)
{
	struct hwheel_set *set = hwheel_set_create(wheel, SET_MAX);

	res->data = set;
	return PTR_ERR_OR_ZERO(set);
}

static inline void set_free(struct kunit_resource *res)
{
	hwheel_set_close(res->data);
}

/* A set that is closed when the test ends */
static inline struct hwheel_set *make_set_on(struct kunit *test, struct hwheel *wheel)
{
	struct hwheel_set *set;

	set = kunit_alloc_resource(test, set_init, set_free, GFP_KERNEL, wheel);
	KUNIT_ASSERT_NOT_NULL(test, set);
	return set;
}

static inline struct hwheel_set *make_set(struct kunit *test)
{
	return make_set_on(test, sim_wheel(test));
}

static inline struct hwheel_entry *add(struct hwheel_set *set)
{
	struct hwheel_entry *entry;

	spin_lock(&set->table.lock);
	entry = hwheel_set_add(set);
	spin_unlock(&set->table.lock);
	return entry;
}

static inline int arm_at(struct hwheel_entry *entry, u64 deadline)
{
	struct hwheel_set *set = entry->set;
	int err;

	spin_lock(&set->table.lock);
	err = hwheel_set_arm_at(entry, deadline);
	spin_unlock(&set->table.lock);
	return err;
}

/* Returns its id. */
static inline u64 add_armed(struct kunit *test, struct hwheel_set *set, u64 deadline)
{
	struct hwheel_entry *entry = add(set);
	u64 id;

	KUNIT_ASSERT_FALSE(test, IS_ERR(entry));
	id = entry->id;
	KUNIT_ASSERT_EQ(test, arm_at(entry, deadline), 0);
	return id;
}

static inline int cancel(struct hwheel_set *set, u64 id)
{
	int err;

	spin_lock(&set->table.lock);
	err = hwheel_set_cancel(set, id);
	spin_unlock(&set->table.lock);
	return err;
}

static inline int refresh_on(struct hwheel_set *set, struct hwheel *wheel, u64 id)
{
	int err;

	spin_lock(&set->table.lock);
	err = hwheel_set_refresh_at(set, wheel, id, HWHEEL_NEVER);
	spin_unlock(&set->table.lock);
	return err;
}

static inline int query_on(struct hwheel_set *set, struct hwheel *wheel, u64 id)
{
	u64 cookie, deadline;
	int state;

	spin_lock(&set->table.lock);
	state = hwheel_set_query(set, wheel, id, &cookie, &deadline);
	spin_unlock(&set->table.lock);
	return state;
}

static inline unsigned long held(struct hwheel_set *set)
{
	struct hwheel_set_counts counts;

	hwheel_set_get_counts(set, &counts);
	return counts.held;
}

static inline ssize_t read_bytes(struct hwheel_set *set, void *to, size_t bytes)
{
	struct kvec vec = { .iov_base = to, .iov_len = bytes };
	struct iov_iter iter;

	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, bytes);
	return hwheel_event_read(set, &iter, true);
}

static inline ssize_t read_event(struct hwheel_set *set, struct hwheel_event *event)
{
	return read_bytes(set, event, sizeof(*event));
}

#endif /* _HWHEEL_KUNIT_SET_H */
