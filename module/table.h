/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_TABLE_H
#define _HWHEEL_TABLE_H

#include <linux/hwheel.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/spinlock.h>

struct hwheel_set;

/**
 * struct hwheel_entry - a timeout of a set; when it ended, itself the event
 * @timeout:  as the wheel knows it; idle if it is free or not armed yet
 * @id:       as userspace knows it; if it is free, as it will be known
 * @cookie:   userspace's own
 * @fired_ns: when it expired or was stopped
 * @set:      it belongs to; constant
 * @event:    link in @set->events; of nobody's use in a reader's hands
 * @next:     instead of that if it is free: the next one
 * @seen:     the shared deadline as last written or taken over by us
 * @stopped:  it did not expire, stop has cancelled it
 *
 * What the wheel does not protect is under the lock of the table.
 */
struct hwheel_entry {
	struct hwheel_timeout	timeout;
	u64			id;
	u64			cookie;
	u64			fired_ns;
	struct hwheel_set	*set;
	union {
		struct list_head	event;
		struct hwheel_entry	*next;
	};
	u64			seen;
	bool			stopped;
} ____cacheline_aligned;

#define HWHEEL_TABLE_PER_PAGE						\
	rounddown_pow_of_two(PAGE_SIZE / sizeof(struct hwheel_entry))

/**
 * struct hwheel_table - entries by index, some of them free
 * @lock:  protects all entries and what follows, but for @room
 * @pages: of entries each; changes and grows, what it points to does not
 * @nr:    how many of them
 * @room:  how many @pages has room for; belongs to who makes them
 * @free:  entries that are not in use
 */
struct hwheel_table {
	/* protects all entries and what follows */
	spinlock_t		lock;
	struct hwheel_entry	**pages;
	unsigned int		nr;
	unsigned int		room;
	struct hwheel_entry	*free;
};

void hwheel_table_init(struct hwheel_table *table);
int hwheel_table_grow(struct hwheel_table *table, unsigned int max,
		      const struct hwheel_entry *model);
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

/*
 * Was the entry in use under this id, and is not any more? Generations count from 1; the
 * one after the last is 0, and here it is the largest.
 */
static inline bool hwheel_table_had(const struct hwheel_table *table, u64 id)
{
	const struct hwheel_entry *entry;

	entry = hwheel_table_at(table, lower_32_bits(id));
	return entry && upper_32_bits(id) - 1 < upper_32_bits(entry->id) - 1;
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
	entry->stopped = false;
	entry->id += 1ULL << 32;
	if (unlikely(!upper_32_bits(entry->id)))
		return;
	entry->next = table->free;
	table->free = entry;
}

#endif /* _HWHEEL_TABLE_H */
