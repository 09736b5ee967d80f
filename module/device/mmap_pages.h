/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MMAP_PAGES_H
#define _HWHEEL_MMAP_PAGES_H

#include <linux/kconfig.h>
#include <linux/mm.h>
#include <linux/shm.h>
#include <linux/types.h>

#define HWHEEL_MMAP_PER_PAGE	(PAGE_SIZE / sizeof(u64))

/*
 * Words are read and written at once, and what a program stores is seen here, at another
 * virtual address: not where caches go by that, so that shared memory needs an alignment.
 */
#define HWHEEL_MMAP_WORKS	(IS_ENABLED(CONFIG_64BIT) && SHMLBA == PAGE_SIZE)

/**
 * struct hwheel_mmap_pages - an array of words that programs map
 * @pages: @max pointers, or NULL; the first @nr are there, the others NULL
 * @max:   how many pages there may be; constant once @pages is there
 * @nr:    how many there are; belongs to who makes them
 */
struct hwheel_mmap_pages {
	struct page	**pages;
	unsigned int	max;
	unsigned int	nr;
};

int hwheel_mmap_pages_grow(struct hwheel_mmap_pages *shared, unsigned long pages,
			   unsigned int max_words);
void hwheel_mmap_pages_map(struct hwheel_mmap_pages *shared, struct vm_area_struct *vma);
void hwheel_mmap_pages_free(struct hwheel_mmap_pages *shared);

/* A word, or NULL if it is not mapped. The program may write it at any time. */
static inline u64 *hwheel_mmap_pages_word(const struct hwheel_mmap_pages *shared,
					  u32 index)
{
	struct page **pages, *page;

	/* Pairs with mmap_make_array(). */
	pages = smp_load_acquire(&shared->pages);
	if (!pages)
		return NULL;
	/* Pairs with mmap_make_page(). */
	page = smp_load_acquire(&pages[index / HWHEEL_MMAP_PER_PAGE]);
	if (!page)
		return NULL;
	return (u64 *)page_address(page) + index % HWHEEL_MMAP_PER_PAGE;
}

#endif /* _HWHEEL_MMAP_PAGES_H */
