// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapping the deadlines of a file's timeouts.
 */
#include <linux/errno.h>
#include <linux/hwheel.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "file.h"
#include "mmap.h"
#include "mmap_pages.h"
#include "mmap_word.h"

/*
 * A word for a timeout that had none when it was armed. A program that stores in a larger
 * mapping, made by mremap(), before this returns may have stored nothing.
 */
static void publish_locked(struct hwheel_entry *entry, u64 now)
{
	if (hwheel_is_pending(&entry->timeout))
		hwheel_mmap_word_publish(entry);
}

/* Those whose index is not below @first */
void hwheel_mmap_publish_all(struct hwheel_file *file, u32 first)
{
	while (hwheel_file_walk(file, &first, publish_locked))
		cond_resched();
}

static int grow_shared(struct hwheel_file *file, unsigned long pages)
{
	unsigned long first = file->shared.nr * HWHEEL_MMAP_PER_PAGE;
	int err;

	err = hwheel_mmap_pages_grow(&file->shared, pages, file->max);
	if (file->shared.nr * HWHEEL_MMAP_PER_PAGE > first)
		hwheel_mmap_publish_all(file, first);
	return err;
}

/* A private mapping would swallow the stores. */
int hwheel_mmap(struct hwheel_file *file, struct vm_area_struct *vma)
{
	int err;

	if (!HWHEEL_MMAP_WORKS)
		return -EOPNOTSUPP;
	/* Not VM_SHARED, which a mapping of a file that can't be written does not have. */
	if (!(vma->vm_flags & VM_MAYSHARE) || vma->vm_pgoff)
		return -EINVAL;
	if (mutex_lock_killable(&file->lock))
		return -EINTR;
	err = grow_shared(file, vma_pages(vma));
	mutex_unlock(&file->lock);
	if (!err)
		hwheel_mmap_pages_map(&file->shared, vma);
	return err;
}
