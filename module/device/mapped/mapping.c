// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of mapped timeouts: what MAP makes, and what goes with the file.
 *
 * The shared pages are the header, the lists, the ring and the records, in this order. The ring
 * has room for as many records as the file may have, so that it need not grow: an index in it
 * means one thing for good. Each MAP makes a segment of records, which the kernel maps as an array,
 * too.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "device/file.h"
#include "device/timens.h"
#include "engine/edge.h"
#include "engine/gfp.h"
#include "engine/limit.h"
#include "mapping.h"
#include "source.h"
#include "word.h"

#define RING_PER_PAGE	(PAGE_SIZE / sizeof(u32))

static unsigned int list_pages(unsigned int lists)
{
	return DIV_ROUND_UP(lists * sizeof(struct hwheel_map_list), PAGE_SIZE);
}

static unsigned int ring_pages(const struct hwheel_mapping *map)
{
	return (map->ring_mask + 1) / RING_PER_PAGE;
}

static unsigned int ring_page(const struct hwheel_mapping *map)
{
	return 1 + list_pages(map->lists);
}

static int make_arrays(struct hwheel_mapping *map)
{
	unsigned int pages = map->max / HWHEEL_MAP_PAGE;

	map->ring = kvcalloc(ring_pages(map), sizeof(*map->ring), HWHEEL_GFP_USER);
	map->segments = kvcalloc(pages, sizeof(*map->segments), HWHEEL_GFP_USER);
	if (!map->ring || !map->segments)
		return -ENOMEM;
	return hwheel_mmap_pages_init(&map->pages, map->first_page + pages);
}

static void place_lists(struct hwheel_mapping *map)
{
	unsigned int i;

	for (i = 0; i < map->lists; i++) {
		size_t offset = i * sizeof(struct hwheel_map_list);
		void *page = hwheel_mmap_pages_at(&map->pages, 1 + offset / PAGE_SIZE);
		struct hwheel_map_list *list = page + offset % PAGE_SIZE;

		map->heads[i] = &list->head;
		list->head = HWHEEL_MAP_ASLEEP;
	}
}

static void place_all(struct hwheel_mapping *map)
{
	struct hwheel_mmap_pages *pages = &map->pages;
	unsigned int i;

	map->header = hwheel_mmap_pages_at(pages, 0);
	map->header->version = HWHEEL_MAP_VERSION;
	map->header->clock_offset_ns = hwheel_timens_offset(&map->file->timens,
							    hwheel_mapping_wheel(map));
	place_lists(map);
	for (i = 0; i < ring_pages(map); i++)
		map->ring[i] = hwheel_mmap_pages_at(pages, ring_page(map) + i);
}

/*
 * It begins where the wheel is. Records and nodes are in memory of their own, and a mapped file of
 * the shared wheel has a quarter of a tick, so the rate is a quarter of the wheel's.
 */
static int make_slots(struct hwheel_mapping *map)
{
	const struct hwheel *wheel = hwheel_mapping_wheel(map);
	u64 edge = hwheel_edge_reached(wheel, hwheel_now(wheel));
	int err;

	err = hwheel_slots_init(&map->slots, wheel->slots.mask + 1, wheel->slots.levels,
				wheel->slots.rate - 2, HWHEEL_GFP_USER);
	while (!err && map->slots.cursor < edge) {
		hwheel_slots_advance(&map->slots, edge);
		cond_resched();
	}
	return err;
}

static void mapping_init(struct hwheel_mapping *map, struct hwheel_file *file,
			 struct hwheel *wheel, unsigned int lists, unsigned int max)
{
	map->file = file;
	map->lists = lists;
	map->max = round_up(max, HWHEEL_MAP_PAGE);
	map->ring_mask = max_t(u32, roundup_pow_of_two(map->max), RING_PER_PAGE) - 1;
	map->first_page = ring_page(map) + ring_pages(map);
	hwheel_map_source_init(map, wheel);
}

/*
 * A mapping without records, with so many lists and room for @max records. May sleep. The caller
 * has the file's lock, and frees it with hwheel_mapping_free().
 */
struct hwheel_mapping *hwheel_mapping_create(struct hwheel_file *file, struct hwheel *wheel,
					     unsigned int lists, unsigned int max)
{
	struct hwheel_mapping *map = kvzalloc(sizeof(*map), HWHEEL_GFP_USER);
	int err;

	if (!map)
		return ERR_PTR(-ENOMEM);
	mapping_init(map, file, wheel, lists, max);
	err = make_arrays(map) ?: hwheel_mmap_pages_grow(&map->pages, map->first_page) ?:
	      make_slots(map);
	if (err) {
		hwheel_mapping_free(map);
		return ERR_PTR(err);
	}
	place_all(map);
	return map;
}

static void free_segment(struct hwheel_map_segment *segment)
{
	vunmap(segment->records);
	kvfree(segment);
}

static void init_records(struct hwheel_map_segment *segment)
{
	u32 i;

	for (i = 0; i < segment->nr; i++) {
		segment->nodes[i].index = segment->first + i;
		segment->records[i].word = HWHEEL_MAP_IDLE;
		if (i % HWHEEL_MAP_BATCH == 0)
			cond_resched();
	}
}

/* The pages are there. */
static struct hwheel_map_segment *make_segment(struct hwheel_mapping *map, u32 records)
{
	struct page **pages = &map->pages.pages[map->first_page + map->nr / HWHEEL_MAP_PAGE];
	struct hwheel_map_segment *segment;

	segment = kvzalloc(struct_size(segment, nodes, records), HWHEEL_GFP_USER);
	if (!segment)
		return NULL;
	segment->first = map->nr;
	segment->link = map->nr + 1;
	segment->nr = records;
	segment->records = vmap(pages, records / HWHEEL_MAP_PAGE, VM_MAP, PAGE_KERNEL);
	if (!segment->records) {
		kvfree(segment);
		return NULL;
	}
	init_records(segment);
	return segment;
}

/*
 * Makes so many records more, a multiple of HWHEEL_MAP_PAGE, of those that there is room for.
 * Under the file's lock. Pages that were made before it failed are used the next time.
 */
int hwheel_mapping_grow(struct hwheel_mapping *map, u32 records)
{
	unsigned long pages = map->first_page + (map->nr + records) / HWHEEL_MAP_PAGE;
	struct hwheel_map_segment *segment;
	int err;

	err = hwheel_mmap_pages_grow(&map->pages, pages);
	if (err)
		return err;
	segment = make_segment(map, records);
	if (!segment)
		return -ENOMEM;
	/* Last, so that a call that fails takes no place. */
	if (!hwheel_limit_reserve(hwheel_mapping_wheel(map), records)) {
		free_segment(segment);
		return -EDQUOT;
	}
	if (!map->nr_segments)
		map->segment = segment;
	map->segments[map->nr_segments] = segment;
	/* Pairs with find_known(). */
	smp_store_release(&map->nr_segments, map->nr_segments + 1);
	/* Pairs with hwheel_map_lists_take(): of an index below it all is there. */
	smp_store_release(&map->nr, map->nr + records);
	return 0;
}

/* By the worker, of an index below @known; else NULL. */
static struct hwheel_map_segment *find_known(const struct hwheel_mapping *map, u32 i)
{
	unsigned int low = 0, high;

	if (i >= map->known)
		return NULL;
	/* Pairs with hwheel_mapping_grow(), which may have added one since. */
	high = smp_load_acquire(&map->nr_segments);
	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (map->segments[middle]->first <= i)
			low = middle;
		else
			high = middle;
	}
	return map->segments[low];
}

/* For hwheel_mapping_segment_of(), on the worker. */
struct hwheel_map_segment *hwheel_mapping_find(struct hwheel_mapping *map, u32 i)
{
	struct hwheel_map_segment *segment = find_known(map, i);

	if (segment)
		map->segment = segment;
	return segment;
}

/* The worker does not refer to it, and nothing is mapped. May sleep. */
void hwheel_mapping_free(struct hwheel_mapping *map)
{
	while (map->nr_segments)
		free_segment(map->segments[--map->nr_segments]);
	hwheel_slots_free(&map->slots);
	if (map->pages.pages)
		hwheel_mmap_pages_free(&map->pages);
	kvfree(map->segments);
	kvfree(map->ring);
	kvfree(map);
}

/* Fills the outputs of MAP. Under the file's lock. */
void hwheel_mapping_describe(const struct hwheel_mapping *map, struct hwheel_map *out)
{
	*out = (struct hwheel_map) {
		.records	= map->nr,
		.lists		= map->lists,
		.version	= HWHEEL_MAP_VERSION,
		.ring_size	= map->ring_mask + 1,
		.lists_offset	= PAGE_SIZE,
		.ring_offset	= ring_page(map) * PAGE_SIZE,
		.records_offset	= map->first_page * PAGE_SIZE,
		.size		= hwheel_mapping_nr_pages(map) * PAGE_SIZE,
	};
}

/* Each is exact at some time; on 32 bits not while it passes a multiple of 2^32. */
void hwheel_mapping_get_counts(const struct hwheel_mapping *map,
			       struct hwheel_source_counts *counts)
{
	counts->filed = READ_ONCE(map->source.counts.filed);
	counts->drained = READ_ONCE(map->source.counts.drained);
	counts->expired = READ_ONCE(map->source.counts.expired);
	counts->stopped = READ_ONCE(map->source.counts.stopped);
}

/*
 * Events that were not claimed. The program writes @head, so the number is bounded; a head beyond
 * the tail tells that it has claimed events whose tail the worker is about to store here.
 */
u64 hwheel_mapping_unread(const struct hwheel_mapping *map)
{
	/* Before the tail: a program claims after that no more than there is. */
	u64 head = hwheel_map_word_load(&map->header->head);
	s64 unread = hwheel_map_word_load(&map->tail) - head;

	return clamp_t(s64, unread, 0, READ_ONCE(map->nr));
}
