/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAPPED_PAGES_H
#define _HWHEEL_MAPPED_PAGES_H

#include <linux/kconfig.h>
#include <linux/mm.h>
#include <linux/shm.h>
#include <linux/types.h>

#ifdef CONFIG_ARM
#include <asm/cachetype.h>
/* SHMLBA is what the oldest of them need. */
#define HWHEEL_CACHE_ALIASES	(cache_is_vivt() || cache_is_vipt_aliasing())
#else
#define HWHEEL_CACHE_ALIASES	(SHMLBA != PAGE_SIZE)
#endif

/*
 * Words are exchanged at once, without a lock, and what a program stores is seen here, at another
 * virtual address: not where caches go by that.
 */
static inline bool hwheel_mmap_works(void)
{
	return !IS_ENABLED(CONFIG_GENERIC_ATOMIC64) && !HWHEEL_CACHE_ALIASES;
}

/**
 * struct hwheel_mmap_pages - zeroed pages that a program may map
 * @pages: @max pointers; the first @nr are there, the others NULL
 * @max:   how many there may be; constant
 * @nr:    how many there are; belongs to whoever makes them
 */
struct hwheel_mmap_pages {
	struct page	**pages;
	unsigned long	max;
	unsigned long	nr;
};

int hwheel_mmap_pages_init(struct hwheel_mmap_pages *pages, unsigned long max);
int hwheel_mmap_pages_grow(struct hwheel_mmap_pages *pages, unsigned long nr);
void hwheel_mmap_pages_shrink(struct hwheel_mmap_pages *pages, unsigned long nr);
void hwheel_mmap_pages_map(struct hwheel_mmap_pages *pages, struct vm_area_struct *vma);
void hwheel_mmap_pages_free(struct hwheel_mmap_pages *pages);

/* Where a page is for the kernel, one of the first @nr */
static inline void *hwheel_mmap_pages_at(const struct hwheel_mmap_pages *pages,
					 unsigned long i)
{
	return page_address(pages->pages[i]);
}

#endif /* _HWHEEL_MAPPED_PAGES_H */
