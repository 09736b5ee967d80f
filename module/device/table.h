/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_TABLE_H
#define _HWHEEL_TABLE_H

#include <linux/bits.h>
#include <linux/hwheel.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/spinlock.h>

struct hwheel_file;

/**
 * struct hwheel_entry - a timeout of a file; when it ended, itself the event
 *
 * What the wheel does not protect is under the lock of the table.
 */
struct hwheel_entry {
	/** @timeout: What the wheel knows; idle if the entry is free or not armed yet. */
	struct hwheel_timeout	timeout;
	/** @id: What userspace knows; if the entry is free, what it will know. */
	u64			id;
	/** @cookie: The program's own. */
	u64			cookie;
	/** @fired_ns: When it expired or was stopped. */
	u64			fired_ns;
	/** @file: The file that it belongs to; constant. */
	struct hwheel_file	*file;
	union {
		/** @event: Link in @file->events; of nobody's use in a reader's hands. */
		struct list_head	event;
		/**
		 * @next: Instead of @event, if the entry is free, or is unreferenced and not
		 * dropped yet: the next one.
		 */
		struct hwheel_entry	*next;
	};
	/**
	 * @pass: The pass of @file in which it became an event, which is in @file->events once that
	 * pass is published; 0: in none yet. The worker writes it without the lock.
	 */
	u32			pass;
	/** @stopped: A stop has cancelled it: it did not expire. */
	bool			stopped;
	/** @taken: The event is in a reader's hands. */
	bool			taken;
	/** @withdrawn: WITHDRAW or SET has ended it before it was in @file->events: no event. */
	bool			withdrawn;
} ____cacheline_aligned;

static inline struct hwheel_entry *
hwheel_entry_of(struct hwheel_timeout *timeout)
{
	return container_of(timeout, struct hwheel_entry, timeout);
}

/* An id is a generation and an index. */
#define HWHEEL_TABLE_GENERATION	BIT_ULL(32)

#define HWHEEL_TABLE_PER_PAGE						\
	rounddown_pow_of_two(PAGE_SIZE / sizeof(struct hwheel_entry))

/**
 * struct hwheel_table - entries by index, some of them free
 */
struct hwheel_table {
	/** @lock: Protects all entries and what follows, but for @room. */
	spinlock_t		lock;
	/** @pages: Pages of entries. The array grows and moves, the pages stay in place. */
	struct hwheel_entry	**pages;
	/** @nr: How many pages there are. */
	unsigned int		nr;
	/** @room: How many @pages has room for. The thread that makes them owns it. */
	unsigned int		room;
	/** @free: Entries that are not in use. */
	struct hwheel_entry	*free;
};

void hwheel_table_init(struct hwheel_table *table);
u64 hwheel_table_growth(const struct hwheel_table *table, unsigned int max);
struct hwheel_entry *hwheel_table_make(struct hwheel_table *table,
				       const struct hwheel_entry *model);
void hwheel_table_add(struct hwheel_table *table, unsigned int max,
		      struct hwheel_entry *entries);
void hwheel_table_free(struct hwheel_table *table);

/* How many entries there are, used or free, if there may be up to @max */
static inline unsigned int hwheel_table_size(const struct hwheel_table *table,
					     unsigned int max)
{
	return min_t(unsigned int, max, table->nr * HWHEEL_TABLE_PER_PAGE);
}

/* Any index may be asked for, also by a processor that guesses what comes next. */
static inline struct hwheel_entry *
hwheel_table_at(const struct hwheel_table *table, u32 index)
{
	u32 page = index / HWHEEL_TABLE_PER_PAGE;

	lockdep_assert_held(&table->lock);
	if (page >= table->nr)
		return NULL;
	page = array_index_nospec(page, table->nr);
	return &table->pages[page][index % HWHEEL_TABLE_PER_PAGE];
}

/* The entry that has this id, or NULL. It may be free: then it is idle. */
static inline struct hwheel_entry *
hwheel_table_find(const struct hwheel_table *table, u64 id)
{
	struct hwheel_entry *entry = hwheel_table_at(table, lower_32_bits(id));

	return entry && entry->id == id ? entry : NULL;
}

/* A free entry, or NULL: from now on it is in use. */
static inline struct hwheel_entry *hwheel_table_take(struct hwheel_table *table)
{
	struct hwheel_entry *entry = table->free;

	lockdep_assert_held(&table->lock);
	if (entry)
		table->free = entry->next;
	return entry;
}

/* Nobody refers to it any more. Once its ids are used up it is not used again. */
static inline void hwheel_table_put(struct hwheel_table *table,
				    struct hwheel_entry *entry)
{
	lockdep_assert_held(&table->lock);
	atomic64_set(&entry->timeout.word, HWHEEL_IDLE);
	entry->pass = 0;
	entry->stopped = false;
	entry->taken = false;
	entry->withdrawn = false;
	entry->id += HWHEEL_TABLE_GENERATION;
	if (unlikely(!upper_32_bits(entry->id)))
		return;
	entry->next = table->free;
	table->free = entry;
}

#endif /* _HWHEEL_TABLE_H */
