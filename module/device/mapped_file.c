// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system calls of a mapped file: MAP, KICK, mmap(), poll(), STOP and close().
 *
 * A file is either mapped or used with ids. MAP and ARM decide it under the file's lock: the
 * first entry that ARM makes keeps MAP out, and the mapping keeps ARM out.
 *
 * Models: shutdown.pml and close.pml in selftests/models/.
 */
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/mutex.h>

#include "engine/limit.h"
#include "engine/source.h"
#include "engine/wheel.h"
#include "file.h"
#include "mapped/mapping.h"
#include "mapped/source.h"
#include "mapped/stop.h"
#include "mapped_file.h"
#include "waiters.h"

/* More than there are threads */
#define ALL_READERS	BIT(30)

static int check(const struct hwheel_map *arg)
{
	if (!arg->records || arg->lists > HWHEEL_MAP_LISTS || arg->flags || arg->version ||
	    arg->ring_size || arg->reserved || arg->lists_offset || arg->ring_offset ||
	    arg->records_offset || arg->size)
		return -EINVAL;
	return 0;
}

/* Records come by the page. */
static int mapped_grow(struct hwheel_file *file, struct hwheel_mapping *map, u32 records)
{
	if (map->memory.nr > file->max - records)
		return -ENOSPC;
	return hwheel_mapping_grow(map, round_up(records, HWHEEL_MAP_PAGE));
}

/* Publishes a mapping that has the records of the first MAP, or nothing on failure. */
static int mapped_create(struct hwheel_file *file, struct hwheel *wheel,
			 const struct hwheel_map *arg)
{
	struct hwheel_mapping *map = hwheel_mapping_create(file, wheel, arg->lists, file->max);
	int err;

	if (IS_ERR(map))
		return PTR_ERR(map);
	hwheel_map_source_init(map, wheel);
	err = mapped_grow(file, map, arg->records);
	if (err) {
		hwheel_mapping_free(map);
		return err;
	}
	hwheel_file_keep_wheel(file, wheel);
	/* Pairs with the acquire in hwheel_file_mapping(). */
	smp_store_release(&file->mapping, map);
	/* Threads that wait in read() since before that get EOPNOTSUPP. */
	hwheel_waiters_wake(&file->wait, ALL_READERS);
	return 0;
}

/* The file's first MAP */
static int mapped_begin(struct hwheel_file *file, const struct hwheel_map *arg)
{
	struct hwheel *wheel;
	int err;

	if (file->table.nr)
		return -EBUSY;
	if (file->wheel && file->wheel->revolution)
		return -EOPNOTSUPP;
	if (!arg->lists)
		return -EINVAL;
	wheel = hwheel_file_take_wheel(file);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	err = mapped_create(file, wheel, arg);
	if (err)
		hwheel_file_drop_wheel(file);
	return err;
}

static int map_locked(struct hwheel_file *file, const struct hwheel_map *arg)
{
	lockdep_assert_held(&file->lock);
	if (file->stopped)
		return -ESHUTDOWN;
	if (arg->records > file->max)
		return -ENOSPC;
	if (!file->mapping)
		return mapped_begin(file, arg);
	if (arg->lists && arg->lists != file->mapping->memory.lists)
		return -EINVAL;
	return mapped_grow(file, file->mapping, arg->records);
}

/* MAP. Fills @arg. */
int hwheel_mapped_file_map(struct hwheel_file *file, struct hwheel_map *arg)
{
	int err = check(arg);
	u64 before;

	if (err)
		return err;
	if (!hwheel_mmap_works())
		return -EOPNOTSUPP;
	if (mutex_lock_killable(&file->lock))
		return -EINTR;
	before = file->bytes;
	err = map_locked(file, arg);
	if (err)
		hwheel_file_uncharge_to(file, before);
	else
		hwheel_mapping_describe(file->mapping, arg);
	mutex_unlock(&file->lock);
	return err;
}

int hwheel_mapped_file_kick(struct hwheel_file *file)
{
	struct hwheel_mapping *map = hwheel_file_mapping(file);

	if (!map)
		return -EINVAL;
	hwheel_source_kick(&map->source);
	return 0;
}

/* A private mapping would swallow the stores. */
int hwheel_mapped_file_mmap(struct hwheel_file *file, struct vm_area_struct *vma)
{
	struct hwheel_mapping *map = hwheel_file_mapping(file);

	/* Not VM_SHARED, which a mapping of a file that can't be written does not have. */
	if (!map || !(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_pgoff + vma_pages(vma) > hwheel_mapping_nr_pages(map))
		return -EINVAL;
	hwheel_mmap_pages_map(&map->memory.pages, vma);
	return 0;
}

/* The caller has been added to @file->wait, and has had a full barrier since. */
__poll_t hwheel_mapped_file_poll(const struct hwheel_file *file)
{
	const struct hwheel_mapping *map = hwheel_file_mapping(file);
	__poll_t events = READ_ONCE(map->published.damaged) ? EPOLLERR : 0;
	/* Before the look at the events. Pairs with the release when all records were stopped. */
	bool stopped = smp_load_acquire(&map->published.stopped);

	if (hwheel_mapping_unread(map))
		return events | EPOLLIN | EPOLLRDNORM;
	return events ?: stopped ? EPOLLHUP : 0;
}

/* A source that has left is not to be run again: each request takes the worker a pass. */
static void leave(struct hwheel_source *source)
{
	if (!completion_done(&source->left))
		hwheel_source_leave(source);
}

/* The source has left, so nothing is pending. */
static void release(struct hwheel_file *file, struct hwheel_mapping *map)
{
	lockdep_assert_held(&file->await_lock);
	if (map->released)
		return;
	map->released = true;
	hwheel_limit_unreserve(file->wheel, map->memory.nr);
}

/* Of a file that is marked as stopped. Returns how many were pending, or -EINTR when killed. */
long hwheel_mapped_file_stop(struct hwheel_file *file)
{
	struct hwheel_mapping *map = file->mapping;
	u64 before = READ_ONCE(map->source.counts.stopped);

	lockdep_assert_held(&file->await_lock);
	hwheel_map_stop_begin(map);
	leave(&map->source);
	if (wait_for_completion_killable(&map->source.left))
		return -EINTR;
	release(file, map);
	return READ_ONCE(map->source.counts.stopped) - before;
}

/* Frees the mapping of a file that is closed. */
void hwheel_mapped_file_end(struct hwheel_file *file)
{
	struct hwheel_mapping *map = file->mapping;

	WRITE_ONCE(map->closing, true);
	leave(&map->source);
	wait_for_completion(&map->source.left);
	release(file, map);
	hwheel_mapping_free(map);
}
