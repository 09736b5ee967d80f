// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words that programs map: the deadlines of a file's timeouts, so that a refresh is a
 * store.
 *
 * The pages are made by mmap(), as many as it maps, and stay until the file is closed: so
 * their memory is charged to who maps them, it is mmap() that fails if there is none, and
 * nothing that is mapped ever goes away.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "engine/gfp.h"
#include "mmap_pages.h"

static int mmap_make_array(struct hwheel_mmap_pages *shared, unsigned int max_words)
{
	unsigned int max = DIV_ROUND_UP(max_words, HWHEEL_MMAP_PER_PAGE);
	struct page **pages;

	if (shared->pages)
		return 0;
	pages = kvcalloc(max, sizeof(*pages), HWHEEL_GFP_USER);
	if (!pages)
		return -ENOMEM;
	shared->max = max;
	/* Pairs with hwheel_mmap_pages_word(): whoever sees the array sees it empty. */
	smp_store_release(&shared->pages, pages);
	return 0;
}

static int mmap_make_page(struct hwheel_mmap_pages *shared)
{
	struct page *page = alloc_page(HWHEEL_GFP_USER | __GFP_ZERO);

	if (!page)
		return -ENOMEM;
	/* Pairs with hwheel_mmap_pages_word() and shared_fault(): it is seen zeroed. */
	smp_store_release(&shared->pages[shared->nr], page);
	shared->nr++;
	return 0;
}

/* Makes so many pages, also for words that may not be used. One caller at a time. */
int hwheel_mmap_pages_grow(struct hwheel_mmap_pages *shared, unsigned long pages,
			   unsigned int max_words)
{
	int err;

	if (pages > DIV_ROUND_UP(max_words, HWHEEL_MMAP_PER_PAGE))
		return -EINVAL;
	err = mmap_make_array(shared, max_words);
	while (!err && shared->nr < pages) {
		err = fatal_signal_pending(current) ? -EINTR : mmap_make_page(shared);
		cond_resched();
	}
	return err;
}

/* mremap() may have made the mapping larger than the array, as it may for a file. */
static vm_fault_t shared_fault(struct vm_fault *vmf)
{
	struct hwheel_mmap_pages *shared = vmf->vma->vm_private_data;
	struct page *page;

	if (vmf->pgoff >= shared->max)
		return VM_FAULT_SIGBUS;
	/* Pairs with mmap_make_page(). */
	page = smp_load_acquire(&shared->pages[vmf->pgoff]);
	if (!page)
		return VM_FAULT_SIGBUS;
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct shared_ops = {
	.fault = shared_fault,
};

/* The mapping keeps the file open, and with it @shared. */
void hwheel_mmap_pages_map(struct hwheel_mmap_pages *shared, struct vm_area_struct *vma)
{
	vma->vm_private_data = shared;
	vma->vm_ops = &shared_ops;
}

/* May sleep; nobody else uses @shared. */
void hwheel_mmap_pages_free(struct hwheel_mmap_pages *shared)
{
	unsigned int i;

	for (i = 0; i < shared->nr; i++)
		__free_page(shared->pages[i]);
	kvfree(shared->pages);
}
