/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests of a file's timeouts share: they do what the ioctls do, one step at a time.
 */
#ifndef _HWHEEL_KUNIT_FILE_SIM_H
#define _HWHEEL_KUNIT_FILE_SIM_H

#include <linux/cred.h>
#include <linux/uio.h>
#include <linux/user_namespace.h>

#include <uapi/linux/hwheel.h>

#include "../sim.h"
#include "device/account.h"
#include "device/entry.h"
#include "device/event.h"
#include "device/file.h"
#include "device/file_stop.h"
#include "device/publish.h"
#include "engine/state.h"

#define FILE_MAX		4

/* The account of a user in the initial namespaces */
static inline struct hwheel_account *account_of(unsigned int uid)
{
	struct hwheel_account_key key = { .ns = &init_user_ns, .uid = KUIDT_INIT(uid) };

	return hwheel_account_get(&key);
}

/* As open() does, with @wheel in place of the account's */
static inline struct hwheel_file *open_file(struct hwheel *wheel, unsigned int max)
{
	struct hwheel_file *file = hwheel_file_create(current_cred(), max);

	if (IS_ERR(file))
		return file;
	hwheel_publish_init(file);
	file->account_wheel = wheel;
	file->wheel = wheel;
	return file;
}

static inline int file_init(struct kunit_resource *res, void *wheel)
{
	res->data = open_file(wheel, FILE_MAX);
	return PTR_ERR_OR_ZERO(res->data);
}

/* As close() does, but for a wheel of its own */
static inline void close_file(struct hwheel_file *file)
{
	hwheel_file_end(file);
	hwheel_file_free(file);
}

static inline void file_free(struct kunit_resource *res)
{
	close_file(res->data);
}

/* As CONFIG asks before it makes a wheel */
static inline int may_configure(struct hwheel_file *file)
{
	int err;

	mutex_lock(&file->lock);
	err = hwheel_file_may_configure(file);
	mutex_unlock(&file->lock);
	return err;
}

/* A file that is closed when the test ends */
static inline struct hwheel_file *make_file_on(struct kunit *test, struct hwheel *wheel)
{
	struct hwheel_file *file;

	file = kunit_alloc_resource(test, file_init, file_free, GFP_KERNEL, wheel);
	KUNIT_ASSERT_NOT_NULL(test, file);
	return file;
}

static inline struct hwheel_file *make_file(struct kunit *test)
{
	return make_file_on(test, sim_wheel(test));
}

static inline struct hwheel_entry *add(struct hwheel_file *file)
{
	struct hwheel_entry *entry;

	spin_lock(&file->table.lock);
	entry = hwheel_entry_add(file);
	spin_unlock(&file->table.lock);
	return entry;
}

static inline int arm_at(struct hwheel_entry *entry, u64 deadline)
{
	struct hwheel_file *file = entry->file;
	int err;

	spin_lock(&file->table.lock);
	err = hwheel_entry_arm_at(entry, deadline);
	spin_unlock(&file->table.lock);
	return err;
}

/* Returns its id. */
static inline u64 add_armed(struct kunit *test, struct hwheel_file *file, u64 deadline)
{
	struct hwheel_entry *entry = add(file);
	u64 id;

	KUNIT_ASSERT_FALSE(test, IS_ERR(entry));
	id = entry->id;
	KUNIT_ASSERT_EQ(test, arm_at(entry, deadline), 0);
	return id;
}

static inline int cancel(struct hwheel_file *file, u64 id)
{
	int err;

	spin_lock(&file->table.lock);
	err = hwheel_entry_cancel(file, id);
	spin_unlock(&file->table.lock);
	return err;
}

static inline int withdraw(struct hwheel_file *file, u64 id)
{
	int err;

	spin_lock(&file->table.lock);
	err = hwheel_entry_withdraw(file, id);
	spin_unlock(&file->table.lock);
	return err;
}

static inline int set_at(struct hwheel_file *file, u64 *id, u64 deadline)
{
	int err;

	spin_lock(&file->table.lock);
	err = hwheel_entry_set_at(file, file->wheel, id, 7, deadline);
	spin_unlock(&file->table.lock);
	return err;
}

static inline int refresh_on(struct hwheel_file *file, struct hwheel *wheel, u64 id)
{
	int err;

	spin_lock(&file->table.lock);
	err = hwheel_entry_refresh_at(file, wheel, id, HWHEEL_NEVER);
	spin_unlock(&file->table.lock);
	return err;
}

static inline int query_on(struct hwheel_file *file, struct hwheel *wheel, u64 id)
{
	u64 cookie, deadline;
	int state;

	spin_lock(&file->table.lock);
	state = hwheel_entry_query(file, wheel, id, &cookie, &deadline);
	spin_unlock(&file->table.lock);
	return state;
}

static inline unsigned long held(struct hwheel_file *file)
{
	struct hwheel_file_counts counts;

	hwheel_file_get_counts(file, &counts);
	return counts.held;
}

/* The bytes that are charged to the file's account */
static inline u64 charged(const struct hwheel_file *file)
{
	return hwheel_account_bytes(file->account);
}

/* The account may be charged for so much more. */
static inline void leave_room(const struct hwheel_file *file, u64 bytes)
{
	hwheel_account_max_bytes = charged(file) + bytes;
}

static inline ssize_t read_bytes(struct hwheel_file *file, void *to, size_t bytes)
{
	struct kvec vec = { .iov_base = to, .iov_len = bytes };
	struct iov_iter iter;

	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, bytes);
	return hwheel_event_read(file, &iter, true);
}

static inline ssize_t read_event(struct hwheel_file *file, struct hwheel_event *event)
{
	return read_bytes(file, event, sizeof(*event));
}

#endif /* _HWHEEL_KUNIT_FILE_SIM_H */
