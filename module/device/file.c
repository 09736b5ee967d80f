// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timeouts of one open file: their ids, their life, their limit.
 *
 * A timeout is in its file from when it is given an id until nothing refers to it:
 *
 *	added -> armed -> expired   -> its event was read        -> dropped
 *			  or SET takes it in place of the event  -> armed, with another id
 *		       -> cancelled -> the wheel released it     -> dropped
 *		       -> stopped   -> the wheel released it     -> event as above
 *	added -> could not be armed                              -> dropped
 *
 * The limit counts all of these, so memory is bounded whatever userspace does, and an
 * expired timeout itself is the queued event, so no event can fail to be stored. Ids
 * are found in the table under its lock; as timeouts leave it under the same lock, one
 * that was found stays what it is while the lock is held. A program that guesses an id which
 * was not told yet finds an idle entry, also a free one: then there is no such timeout.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "account.h"
#include "engine/edge.h"
#include "engine/gfp.h"
#include "engine/wheel.h"
#include "file.h"
#include "timens.h"

/* How many timeouts are looked at in one go, with the lock held */
#define WALK_BATCH		64

static void file_init(struct hwheel_file *file, unsigned int max)
{
	file->max = max;
	file->owner = task_tgid_nr(current);
	get_task_comm(file->owner_name, current->group_leader);
	hwheel_timens_init(&file->timens);
	mutex_init(&file->lock);
	mutex_init(&file->await_lock);
	hwheel_table_init(&file->table);
	INIT_LIST_HEAD(&file->events);
	init_waitqueue_head(&file->wait);
	init_waitqueue_head(&file->unreferenced);
	INIT_LIST_HEAD(&file->expired);
	file->pass = 1;
}

/* @opener: credentials with which the file was opened */
struct hwheel_file *hwheel_file_create(const struct cred *opener, unsigned int max)
{
	struct hwheel_account_key key = hwheel_account_key(opener, hwheel_account_cgroup());
	struct hwheel_file *file = kzalloc(sizeof(*file), HWHEEL_GFP_USER);

	if (!file)
		return ERR_PTR(-ENOMEM);
	file->account = hwheel_account_get(&key);
	if (!file->account) {
		kfree(file);
		return ERR_PTR(-ENOMEM);
	}
	file_init(file, max);
	return file;
}

/* For memory that stays until the file is closed. Returns 0 or -ENOSPC. */
int hwheel_file_charge(struct hwheel_file *file, u64 bytes)
{
	int err = hwheel_account_charge(file->account, bytes);

	lockdep_assert_held(&file->lock);
	if (!err)
		file->bytes += bytes;
	return err;
}

/* The call failed, and has freed what it had allocated: @bytes were charged before it. */
void hwheel_file_uncharge_to(struct hwheel_file *file, u64 bytes)
{
	lockdep_assert_held(&file->lock);
	hwheel_account_uncharge(file->account, file->bytes - bytes);
	file->bytes = bytes;
}

/* Returns 0, -ESHUTDOWN or, once anything was settled, -EBUSY. */
int hwheel_file_may_configure(const struct hwheel_file *file)
{
	lockdep_assert_held(&file->lock);
	if (file->stopped)
		return -ESHUTDOWN;
	if (hwheel_file_has_own_wheel(file) || file->mapping || file->table.nr)
		return -EBUSY;
	return 0;
}

static void file_set_wheel(struct hwheel_file *file, struct hwheel *wheel)
{
	lockdep_assert_held(&file->lock);
	/* Pairs with the acquire in hwheel_file_wheel(). */
	smp_store_release(&file->wheel, wheel);
}

/*
 * The wheel for timeouts that are to be made: that of the account, if CONFIG has given the file
 * none. The file is not on it before hwheel_file_keep_wheel(): INFO and STATS read @file->wheel
 * without the lock, so it never becomes NULL again.
 */
struct hwheel *hwheel_file_take_wheel(struct hwheel_file *file)
{
	lockdep_assert_held(&file->lock);
	return file->wheel ?: hwheel_account_use_wheel(file->account);
}

/* Before the timeouts can be seen */
void hwheel_file_keep_wheel(struct hwheel_file *file, struct hwheel *wheel)
{
	if (file->wheel)
		return;
	WRITE_ONCE(file->account_wheel, wheel);
	file_set_wheel(file, wheel);
}

/* There are no timeouts, as the call failed. */
void hwheel_file_drop_wheel(struct hwheel_file *file)
{
	lockdep_assert_held(&file->lock);
	if (!file->wheel)
		hwheel_account_leave_wheel(file->account);
}

/* @own_wheel may be NULL. */
void hwheel_file_configure(struct hwheel_file *file, struct hwheel *own_wheel,
			   unsigned int max)
{
	lockdep_assert_held(&file->lock);
	WRITE_ONCE(file->max, max);
	if (own_wheel)
		file_set_wheel(file, own_wheel);
}

void hwheel_file_get_counts(struct hwheel_file *file,
			    struct hwheel_file_counts *counts)
{
	spin_lock(&file->table.lock);
	*counts = file->counts;
	spin_unlock(&file->table.lock);
}

/*
 * The entries from *@index on, also those that are free; false if these were all. In
 * parts, as there may be millions.
 */
bool hwheel_file_walk(struct hwheel_file *file, u32 *index,
		      void (*act)(struct hwheel_entry *entry, u64 now))
{
	u64 now = hwheel_now(file->wheel);
	u32 size, end;

	spin_lock(&file->table.lock);
	size = hwheel_table_size(&file->table, file->max);
	end = min_t(u32, size, *index + WALK_BATCH);
	for (; *index < end; ++*index)
		act(hwheel_table_at(&file->table, *index), now);
	spin_unlock(&file->table.lock);
	return end < size;
}

void hwheel_file_free(struct hwheel_file *file)
{
	hwheel_table_free(&file->table);
	hwheel_account_uncharge(file->account, file->bytes);
	hwheel_account_put(file->account);
	kfree(file);
}
