/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mapped timeouts: records, lists and a ring in memory that a program shares with the worker. The
 * protocol is in include/uapi/linux/hwheel.h; this is the kernel's side of it.
 *
 * The worker trusts nothing that it reads in the shared memory: it bounds each index, reads a word
 * once for a decision, and ends each loop whatever it reads. Nodes, slots and counters, on which
 * the worker relies, are in memory that no program sees.
 *
 * The nodes are not in the wheel's slots but in slots of the mapping's own, of the same number.
 * The timeouts of one program are in nobody else's way: the wheel knows one thing of each mapping,
 * the next edge at which it is to be run.
 */
#ifndef _HWHEEL_MAPPED_MAPPING_H
#define _HWHEEL_MAPPED_MAPPING_H

#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/workqueue.h>

#include <uapi/linux/hwheel.h>

#include "engine/slots.h"
#include "engine/source.h"
#include "pages.h"

/* How many records there are in a page */
#define HWHEEL_MAP_PAGE		(PAGE_SIZE / sizeof(struct hwheel_map_record))

/* How many attempts on a record that changes all the time are made in one run */
#define HWHEEL_MAP_TRIES	4

/* How many records are worked on before the worker looks whether it has time for more */
#define HWHEEL_MAP_BATCH	256U

/* In place of the batch of a list, which is even */
#define HWHEEL_MAP_ALONE	1U

struct hwheel_file;

/**
 * struct hwheel_map_node - a record as the mapping's slots see it; the worker's own
 * @node:  in a slot, or in one of the mapping's lists
 * @index: of the record; constant
 * @batch: nodes that were filed one after the other with the same batch were filed in the
 *         reverse order of being armed; HWHEEL_MAP_ALONE: it was filed again
 */
struct hwheel_map_node {
	struct hwheel_node	node;
	u32			index;
	u32			batch;
};

/**
 * struct hwheel_map_segment - the records that one MAP has made
 * @first:   index of the first
 * @link:    the link to the first: @first + 1
 * @nr:      how many there are
 * @records: the shared memory, as the kernel has mapped it
 * @nodes:   one for each record; the worker's own
 */
struct hwheel_map_segment {
	u32				first;
	u32				link;
	u32				nr;
	struct hwheel_map_record	*records;
	struct hwheel_map_node		nodes[];
};

/**
 * struct hwheel_mapping - the mapped timeouts of a file
 */
struct hwheel_mapping {
	/** @source: By which the worker runs it. */
	struct hwheel_source		source;

	/* Constant but for @nr, @nr_segments and the segments beyond it */

	/** @file: The file. */
	struct hwheel_file		*file;
	/** @pages: The shared memory: header, lists, ring and records. */
	struct hwheel_mmap_pages	pages;
	/** @header: Its beginning. */
	struct hwheel_map_header	*header;
	/** @lists: How many lists there are. */
	unsigned int			lists;
	/** @first_page: Of the records. */
	unsigned int			first_page;
	/** @heads: The lists' heads. */
	u32				*heads[HWHEEL_MAP_LISTS];
	/** @ring: The ring's pages. */
	u32				**ring;
	/** @ring_mask: Entries of the ring - 1. */
	u32				ring_mask;
	/** @max: How many records there may be. */
	u32				max;
	/** @segments: Room for as many as there may be, in the order of their indexes. */
	struct hwheel_map_segment	**segments;
	/** @nr_segments: How many there are; grows under the file's lock. */
	unsigned int			nr_segments;
	/** @nr: How many records they have; grows after @nr_segments. */
	u32				nr;

	/* Written by the threads that stop or close the file */

	/** @stopping: The source walks the records, then it leaves. */
	bool				stopping;
	/** @closing: The source leaves at once. */
	bool				closing;
	/** @released: What the file had reserved is free again; under its @await_lock. */
	bool				released;

	/* The worker's own, but for @damaged, @stopped and @tail, which anyone may read */

	/** @slots: Where the nodes wait. */
	struct hwheel_slots		slots;
	/** @ready: Nodes that are due, in the order in which they were armed. */
	struct hlist_head		ready;
	/** @place: While @slots.due is being moved to @ready, where to, else NULL. */
	struct hlist_node		**place;
	/** @placed: The batch that is being moved. */
	u32				placed;
	/** @damage: Tells the administrator that a list was damaged. */
	struct work_struct		damage;
	/** @corrupt: A list was longer than there are records: the program is left alone. */
	bool				corrupt;
	/** @damaged: The lists of a @corrupt mapping are closed: poll() tells it. */
	bool				damaged;
	/** @known: How many records there were when a list was last taken. */
	u32				known;
	/** @segment: The segment that was last used, at first the first one. */
	struct hwheel_map_segment	*segment;
	/** @next_list: The next list that the drain under way is to take. */
	unsigned int			next_list;
	/** @taken: Link to the rest of the list that was taken, the latest first. */
	u32				taken;
	/** @length: How many records of it were acted on. */
	u32				length;
	/** @batch: Of that list; even. */
	u32				batch;
	/** @first: First edge that the drain under way may enqueue for. */
	u64				first;
	/** @again: Nodes whose words changed all the time: to be acted on in the next run. */
	struct hlist_head		again;
	/** @kicked: Lists are ASLEEP, and a thread has kicked, or was about to. */
	bool				kicked;
	/** @busy: The last edge after which something was drained, or after a kick. */
	u64				busy;
	/** @alone: At most one record was drained then, and none in the tick before. */
	bool				alone;
	/** @walked: How many records the walk of STOP has seen. */
	u32				walked;
	/** @stopped: It has seen all. */
	bool				stopped;
	/** @all: How long this run may take, in ns. */
	u64				all;
	/** @may: How long what it does now may take, from the run's beginning. */
	u64				may;
	/** @spent: How long it had taken when the worker was preempted last. */
	u64				spent;
	/** @since: When the run began, or went on after that, on the clock of budget.c. */
	u64				since;
	/** @ran: How long the worker had run then. */
	u64				ran;
	/** @preempted: How often the scheduler had preempted the worker then. */
	unsigned long			preempted;
	/** @put: How many entries were put into the ring, ever. */
	u64				put;
	/** @tail: How many of them were published. Aligned for word.h on 32 bits. */
	u64				tail __aligned(8);
	/** @now: The counts as they are; those of the source are what it told last. */
	struct hwheel_source_counts	now;
};

static inline struct hwheel *hwheel_mapping_wheel(const struct hwheel_mapping *map)
{
	return map->source.timeout.wheel;
}

/* How many pages can be mapped. A MAP that has failed may have left pages beyond. */
static inline unsigned long hwheel_mapping_nr_pages(const struct hwheel_mapping *map)
{
	return map->first_page + READ_ONCE(map->nr) / HWHEEL_MAP_PAGE;
}

struct hwheel_map_segment *hwheel_mapping_find(struct hwheel_mapping *map, u32 i);

/* The segment of a record, or NULL if there is no such record. Most files have one segment. */
static __always_inline struct hwheel_map_segment *
hwheel_mapping_segment_of(struct hwheel_mapping *map, u32 i)
{
	struct hwheel_map_segment *segment = map->segment;

	if (likely(i - segment->first < segment->nr))
		return segment;
	return hwheel_mapping_find(map, i);
}

/* On the worker: a record that there is */
static __always_inline struct hwheel_map_record *
hwheel_mapping_record(struct hwheel_mapping *map, u32 i)
{
	const struct hwheel_map_segment *segment = hwheel_mapping_segment_of(map, i);

	return &segment->records[i - segment->first];
}

/* The record of a node */
static __always_inline struct hwheel_map_record *
hwheel_mapping_record_of(struct hwheel_mapping *map, const struct hwheel_map_node *node)
{
	return hwheel_mapping_record(map, node->index);
}

struct hwheel_mapping *hwheel_mapping_create(struct hwheel_file *file, struct hwheel *wheel,
					     unsigned int lists, unsigned int max);
int hwheel_mapping_grow(struct hwheel_mapping *map, u32 records);
void hwheel_mapping_free(struct hwheel_mapping *map);
void hwheel_mapping_describe(const struct hwheel_mapping *map, struct hwheel_map *out);
void hwheel_mapping_get_counts(const struct hwheel_mapping *map,
			       struct hwheel_source_counts *counts);
u64 hwheel_mapping_unread(const struct hwheel_mapping *map);

#endif /* _HWHEEL_MAPPED_MAPPING_H */
