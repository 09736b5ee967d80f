// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that programs map.
 *
 * They are made one by one, so they need not be next to each other, and stay until the file
 * is closed: so their memory is charged to the program that asks for it, the call that asks fails
 * if there is none, and nothing that is mapped ever goes away. A call that fails frees its pages,
 * which no program could map.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "engine/gfp.h"
#include "pages.h"

int hwheel_mmap_pages_init(struct hwheel_mmap_pages *pages, unsigned long max)
{
	pages->pages = kvcalloc(max, sizeof(*pages->pages), HWHEEL_GFP_USER);
	pages->max = max;
	pages->nr = 0;
	return pages->pages ? 0 : -ENOMEM;
}

static int mmap_make_page(struct hwheel_mmap_pages *pages)
{
	struct page *page = alloc_page(HWHEEL_GFP_USER | __GFP_ZERO);

	if (!page)
		return -ENOMEM;
	/* Pairs with mmap_fault(): it is seen zeroed. */
	smp_store_release(&pages->pages[pages->nr], page);
	pages->nr++;
	return 0;
}

/*
 * Makes pages until there are @nr, no more than the maximum. One caller at a time. Returns 0,
 * -ENOMEM or -EINTR; then the caller frees those that were made.
 */
int hwheel_mmap_pages_grow(struct hwheel_mmap_pages *pages, unsigned long nr)
{
	int err = 0;

	while (!err && pages->nr < nr) {
		err = fatal_signal_pending(current) ? -EINTR : mmap_make_page(pages);
		cond_resched();
	}
	return err;
}

static vm_fault_t mmap_fault(struct vm_fault *vmf)
{
	struct hwheel_mmap_pages *pages = vmf->vma->vm_private_data;
	struct page *page;

	if (vmf->pgoff >= pages->max)
		return VM_FAULT_SIGBUS;
	/* Pairs with mmap_make_page(). */
	page = smp_load_acquire(&pages->pages[vmf->pgoff]);
	if (!page)
		return VM_FAULT_SIGBUS;
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct mmap_ops = {
	.fault = mmap_fault,
};

static void set_flags(struct vm_area_struct *vma, unsigned long flags)
{
#ifdef HAVE_VM_FLAGS_SET
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/*
 * The mapping keeps the file open, and with it @pages. A child would use the lists of its parent's
 * threads as its own, so it has no mapping.
 */
void hwheel_mmap_pages_map(struct hwheel_mmap_pages *pages, struct vm_area_struct *vma)
{
	set_flags(vma, VM_DONTCOPY | VM_DONTEXPAND);
	vma->vm_private_data = pages;
	vma->vm_ops = &mmap_ops;
}

/* Frees pages that no mapping reaches until there are @nr. May sleep. */
void hwheel_mmap_pages_shrink(struct hwheel_mmap_pages *pages, unsigned long nr)
{
	while (pages->nr > nr) {
		struct page **last = &pages->pages[--pages->nr];

		__free_page(*last);
		*last = NULL;
		cond_resched();
	}
}

/* May sleep; nobody else uses @pages. */
void hwheel_mmap_pages_free(struct hwheel_mmap_pages *pages)
{
	hwheel_mmap_pages_shrink(pages, 0);
	kvfree(pages->pages);
}
