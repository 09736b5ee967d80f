// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file's entries, which are found by id and used again and again.
 *
 * An id is a generation and an index. The entry of an index stays in its place, on a page
 * that is allocated when all entries are in use, and freed with the table; so a file keeps
 * the memory for as many timeouts as it ever held at a time. Each use of an entry has a
 * generation of its own, higher than the last: an id never names two timeouts. The
 * entry used last is used next: it is in the cache, and the indexes in use stay low.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "engine/gfp.h"
#include "table.h"

/* How many pages there is room for at first */
#define ROOM_MIN	16

void hwheel_table_init(struct hwheel_table *table)
{
	spin_lock_init(&table->lock);
}

/* How many pages there is to be room for before one is added */
static unsigned int next_room(const struct hwheel_table *table)
{
	if (table->nr < table->room)
		return table->room;
	return max_t(unsigned int, 2 * table->room, ROOM_MIN);
}

/* How many bytes more the table has with a page more: 0 if there are @max entries */
u64 hwheel_table_growth(const struct hwheel_table *table, unsigned int max)
{
	if (table->nr * HWHEEL_TABLE_PER_PAGE >= max)
		return 0;
	return PAGE_SIZE + (next_room(table) - table->room) * sizeof(*table->pages);
}

static int table_make_room(struct hwheel_table *table)
{
	struct hwheel_entry **pages, **old = table->pages;
	unsigned int room = next_room(table);

	if (room == table->room)
		return 0;
	pages = kvmalloc_array(room, sizeof(*pages), HWHEEL_GFP_USER);
	if (!pages)
		return -ENOMEM;
	memcpy(pages, old, table->nr * sizeof(*pages));
	spin_lock(&table->lock);
	table->pages = pages;
	spin_unlock(&table->lock);
	table->room = room;
	kvfree(old);
	return 0;
}

static struct hwheel_entry *table_make_page(const struct hwheel_entry *model, u32 first)
{
	struct page *page = alloc_page(HWHEEL_GFP_USER);
	struct hwheel_entry *entries;
	u32 i;

	if (!page)
		return NULL;
	entries = page_address(page);
	for (i = 0; i < HWHEEL_TABLE_PER_PAGE; i++) {
		entries[i] = *model;
		entries[i].id = HWHEEL_TABLE_GENERATION | (first + i);
		entries[i].next = &entries[i + 1];
	}
	return entries;
}

/*
 * Makes a page of entries, which are like @model but for their ids, and room for it. One caller at
 * a time, who adds them before the next are made. Returns NULL without memory, with the table as
 * it was.
 */
struct hwheel_entry *hwheel_table_make(struct hwheel_table *table,
				       const struct hwheel_entry *model)
{
	struct hwheel_entry *entries =
		table_make_page(model, table->nr * HWHEEL_TABLE_PER_PAGE);

	if (!entries || !table_make_room(table))
		return entries;
	free_page((unsigned long)entries);
	return NULL;
}

/* They are free from now on: all of them, or as many as make @max, which is always the same. */
void hwheel_table_add(struct hwheel_table *table, unsigned int max,
		      struct hwheel_entry *entries)
{
	u32 first = table->nr * HWHEEL_TABLE_PER_PAGE;
	unsigned int n = min_t(unsigned int, max - first, HWHEEL_TABLE_PER_PAGE);

	spin_lock(&table->lock);
	table->pages[table->nr++] = entries;
	entries[n - 1].next = table->free;
	table->free = entries;
	spin_unlock(&table->lock);
}

/* Nobody uses it any more. May sleep. */
void hwheel_table_free(struct hwheel_table *table)
{
	unsigned int i;

	for (i = 0; i < table->nr; i++) {
		free_page((unsigned long)table->pages[i]);
		cond_resched();
	}
	kvfree(table->pages);
}
