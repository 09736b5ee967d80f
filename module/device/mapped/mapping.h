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
 * The timeouts of one program are in nobody else's way: the wheel holds one node of each mapping,
 * for the next edge at which it is to be run.
 */
#ifndef _HWHEEL_MAPPED_MAPPING_H
#define _HWHEEL_MAPPED_MAPPING_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>

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
 * struct hwheel_map_memory - what a program maps: header, lists, ring and records, in this order
 *
 * Constant but for @nr, @nr_segments, @pages and the segments, which grow under the file's lock.
 */
struct hwheel_map_memory {
	/** @header: the first page */
	struct hwheel_map_header	*header;
	/** @ring: pages of the ring */
	u32				**ring;
	/** @segments: room for @max records, in the order of their indexes */
	struct hwheel_map_segment	**segments;
	/** @nr_segments: segments that there are */
	unsigned int			nr_segments;
	/** @nr: records that they have; grows after @nr_segments */
	u32				nr;
	/** @max: records that there may be */
	u32				max;
	/** @ring_mask: entries of the ring - 1 */
	u32				ring_mask;
	/** @first_page: first page of the records */
	unsigned int			first_page;
	/** @lists: number of lists */
	unsigned int			lists;
	/** @heads: heads of the lists */
	u32				*heads[HWHEEL_MAP_LISTS];
	/** @pages: all pages */
	struct hwheel_mmap_pages	pages;
};

/**
 * struct hwheel_map_drain - the drain under way; the worker's own
 */
struct hwheel_map_drain {
	/** @first: first edge that it may enqueue for */
	u64				first;
	/** @taken: link to the rest of the list that was taken, the latest first */
	u32				taken;
	/** @batch: batch of that list; even */
	u32				batch;
	/** @length: records of that list that were acted on */
	u32				length;
	/** @known: records that there were when the worker looked last */
	u32				known;
	/** @next_list: the list to take next */
	unsigned int			next_list;
	/** @again: nodes whose words changed all the time: to be acted on in the next run */
	struct hlist_head		again;
};

/**
 * struct hwheel_map_order - due nodes, brought into the order of arming; the worker's own
 */
struct hwheel_map_order {
	/** @ready: due nodes in the order in which they were armed */
	struct hlist_head		ready;
	/** @place: place in @ready for the next of @slots.due, or NULL if all were moved */
	struct hlist_node		**place;
	/** @batch: batch that was moved last */
	u32				batch;
};

/**
 * struct hwheel_map_part - the time of a run, see part.h; the worker's own
 * @until: when what the worker does now has to end, on CLOCK_MONOTONIC
 * @end:   when the run has to
 */
struct hwheel_map_part {
	u64				until;
	u64				end;
};

/**
 * struct hwheel_map_published - the worker's state as poll() sees it; anyone reads it
 */
struct hwheel_map_published {
	/** @tail: entries of the ring that were published. Aligned for word.h on 32 bits. */
	u64				tail __aligned(8);
	/** @stopped: all records were stopped */
	bool				stopped;
	/** @damaged: a list was damaged, and all are closed */
	bool				damaged;
};

/**
 * struct hwheel_mapping - the mapped timeouts of a file
 */
struct hwheel_mapping {
	/** @source: By which the worker runs it. */
	struct hwheel_source		source;

	/* The file's, and written by the threads that stop or close it */

	/** @file: The file; constant. */
	struct hwheel_file		*file;
	/** @stopping: The source walks the records, then it leaves. */
	bool				stopping;
	/** @closing: The source leaves at once. */
	bool				closing;
	/** @released: What the file had reserved is free again; under its @await_lock. */
	bool				released;

	/* The program's */

	/** @memory: The shared memory. */
	struct hwheel_map_memory	memory;
	/** @published: For poll(), in a cache line without what the worker writes more often. */
	struct hwheel_map_published	published ____cacheline_aligned_in_smp;

	/* The worker's own. It drains records with the first line of @slots and that of @counts. */

	/** @slots: Where the nodes wait. */
	struct hwheel_slots		slots ____cacheline_aligned_in_smp;
	/** @part: The time of this run. */
	struct hwheel_map_part		part;
	/** @counts: The counts as they are; those of @source are as of the end of a run. */
	struct hwheel_source_counts	counts ____cacheline_aligned_in_smp;
	/** @segment: The segment that was last used, at first the first one. */
	struct hwheel_map_segment	*segment;
	/** @drain: The drain under way. */
	struct hwheel_map_drain		drain;
	/** @order: The due nodes on their way into the ring. */
	struct hwheel_map_order		order;
	/** @put: Entries that were put into the ring, ever. */
	u64				put;
	/** @busy: The last edge after which something was drained, or after a kick. */
	u64				busy;
	/** @walked: Records that the walk of STOP has seen. */
	u32				walked;
	/** @alone: At most one record was drained at @busy, and none in the tick before. */
	bool				alone;
	/** @kicked: Lists are ASLEEP, and a thread has kicked, or was about to. */
	bool				kicked;
	/** @corrupt: A list was longer than there are records: the program is left alone. */
	bool				corrupt;
};

static inline struct hwheel *hwheel_mapping_wheel(const struct hwheel_mapping *map)
{
	return map->source.timeout.wheel;
}

/* How many pages can be mapped. A MAP under way may have made pages beyond. */
static inline unsigned long hwheel_mapping_nr_pages(const struct hwheel_mapping *map)
{
	return map->memory.first_page + READ_ONCE(map->memory.nr) / HWHEEL_MAP_PAGE;
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

struct hwheel_mapping *hwheel_mapping_create(struct hwheel_file *file, const struct hwheel *wheel,
					     unsigned int lists, unsigned int max);
int hwheel_mapping_grow(struct hwheel_mapping *map, u32 records);
void hwheel_mapping_free(struct hwheel_mapping *map);
void hwheel_mapping_describe(const struct hwheel_mapping *map, struct hwheel_map *out);
u64 hwheel_mapping_unread(const struct hwheel_mapping *map);

#endif /* _HWHEEL_MAPPED_MAPPING_H */
