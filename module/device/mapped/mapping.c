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
#include "word.h"

#define RING_PER_PAGE	(PAGE_SIZE / sizeof(u32))

/* Pages of the records, if there are up to @max */
static unsigned int record_pages(unsigned int max)
{
	return DIV_ROUND_UP(max, HWHEEL_MAP_PAGE);
}

static u32 ring_entries(unsigned int max)
{
	return max_t(u32, roundup_pow_of_two(record_pages(max) * HWHEEL_MAP_PAGE), RING_PER_PAGE);
}

static unsigned int ring_pages(unsigned int max)
{
	return ring_entries(max) / RING_PER_PAGE;
}

/* The first page of the ring, after so many lists */
static unsigned int ring_page(unsigned int lists)
{
	return 1 + DIV_ROUND_UP(lists * sizeof(struct hwheel_map_list), PAGE_SIZE);
}

/* As many slots as the wheel has, but no more than there may be records */
static unsigned int nr_slots(const struct hwheel *wheel, unsigned int max)
{
	return min_t(u32, wheel->slots.mask + 1,
		     roundup_pow_of_two(record_pages(max) * HWHEEL_MAP_PAGE));
}

/* The memory of a mapping without records */
static u64 empty_bytes(const struct hwheel *wheel, unsigned int lists, unsigned int max)
{
	u64 ring = ring_pages(max), records = record_pages(max), first = ring_page(lists) + ring;

	return sizeof(struct hwheel_mapping) + ring * sizeof(u32 *) +
	       records * sizeof(struct hwheel_map_segment *) +
	       (first + records) * sizeof(struct page *) + first * PAGE_SIZE +
	       hwheel_slots_bytes(nr_slots(wheel, max), wheel->slots.levels);
}

/* The memory of a segment, with the pages of its records */
static u64 segment_bytes(u32 records)
{
	return struct_size((struct hwheel_map_segment *)NULL, nodes, records) +
	       (u64)records * sizeof(struct hwheel_map_record);
}

static int make_memory(struct hwheel_map_memory *memory, unsigned int lists, unsigned int max)
{
	unsigned int pages = record_pages(max);

	memory->lists = lists;
	memory->max = pages * HWHEEL_MAP_PAGE;
	memory->ring_mask = ring_entries(max) - 1;
	memory->first_page = ring_page(lists) + ring_pages(max);
	memory->ring = kvcalloc(ring_pages(max), sizeof(*memory->ring), HWHEEL_GFP_USER);
	memory->segments = kvcalloc(pages, sizeof(*memory->segments), HWHEEL_GFP_USER);
	if (!memory->ring || !memory->segments)
		return -ENOMEM;
	return hwheel_mmap_pages_init(&memory->pages, memory->first_page + pages) ?:
	       hwheel_mmap_pages_grow(&memory->pages, memory->first_page);
}

static void place_memory(struct hwheel_map_memory *memory)
{
	struct hwheel_mmap_pages *pages = &memory->pages;
	unsigned int i;

	memory->header = hwheel_mmap_pages_at(pages, 0);
	memory->header->version = HWHEEL_MAP_VERSION;
	for (i = 0; i < memory->lists; i++) {
		size_t offset = i * sizeof(struct hwheel_map_list);
		void *page = hwheel_mmap_pages_at(pages, 1 + offset / PAGE_SIZE);
		struct hwheel_map_list *list = page + offset % PAGE_SIZE;

		memory->heads[i] = &list->head;
		list->head = HWHEEL_MAP_ASLEEP;
	}
	for (i = 0; i < ring_pages(memory->max); i++)
		memory->ring[i] = hwheel_mmap_pages_at(pages, ring_page(memory->lists) + i);
}

/*
 * The slots begin where the wheel is. Records and nodes are in memory of their own, and draining
 * comes first, so the rate is a quarter of the wheel's.
 */
static int make_slots(struct hwheel_mapping *map, const struct hwheel *wheel)
{
	u64 edge = hwheel_edge_reached(wheel, hwheel_now(wheel));
	int err;

	err = hwheel_slots_init(&map->slots, nr_slots(wheel, map->memory.max),
				wheel->slots.levels, wheel->slots.rate - 2, HWHEEL_GFP_USER);
	if (!err)
		hwheel_slots_advance(&map->slots, edge);
	return err;
}

/*
 * A mapping without records and not on @wheel yet, with so many lists and room for @max records.
 * May sleep. The caller has the file's lock, and frees it with hwheel_mapping_free(). Its memory is
 * charged to the file, also when this fails.
 */
struct hwheel_mapping *hwheel_mapping_create(struct hwheel_file *file, const struct hwheel *wheel,
					     unsigned int lists, unsigned int max)
{
	int err = hwheel_file_charge(file, empty_bytes(wheel, lists, max));
	struct hwheel_mapping *map;

	if (err)
		return ERR_PTR(err);
	map = kvzalloc(sizeof(*map), HWHEEL_GFP_USER);
	if (!map)
		return ERR_PTR(-ENOMEM);
	map->file = file;
	err = make_memory(&map->memory, lists, max) ?: make_slots(map, wheel);
	if (err) {
		hwheel_mapping_free(map);
		return ERR_PTR(err);
	}
	place_memory(&map->memory);
	map->memory.header->clock_offset_ns = hwheel_timens_offset(&file->timens, wheel);
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
static struct hwheel_map_segment *make_segment(const struct hwheel_map_memory *memory, u32 records)
{
	unsigned long page = memory->first_page + memory->nr / HWHEEL_MAP_PAGE;
	struct hwheel_map_segment *segment;

	segment = kvzalloc(struct_size(segment, nodes, records), HWHEEL_GFP_USER);
	if (!segment)
		return NULL;
	segment->first = memory->nr;
	segment->link = memory->nr + 1;
	segment->nr = records;
	segment->records = vmap(&memory->pages.pages[page], records / HWHEEL_MAP_PAGE, VM_MAP,
				PAGE_KERNEL);
	if (!segment->records) {
		kvfree(segment);
		return NULL;
	}
	init_records(segment);
	return segment;
}

static struct hwheel_map_segment *make_records(struct hwheel_mapping *map, u32 records)
{
	struct hwheel_map_memory *memory = &map->memory;
	unsigned long pages = memory->first_page + (memory->nr + records) / HWHEEL_MAP_PAGE;
	struct hwheel_map_segment *segment;
	int err;

	err = hwheel_file_charge(map->file, segment_bytes(records)) ?:
	      hwheel_mmap_pages_grow(&memory->pages, pages);
	if (err)
		return ERR_PTR(err);
	segment = make_segment(memory, records);
	if (!segment)
		return ERR_PTR(-ENOMEM);
	/* Last, so that a call that fails takes no place. */
	if (!hwheel_limit_reserve(hwheel_mapping_wheel(map), records)) {
		free_segment(segment);
		return ERR_PTR(-EDQUOT);
	}
	return segment;
}

/*
 * Makes so many records more, a multiple of HWHEEL_MAP_PAGE, of those that there is room for.
 * Under the file's lock. Their memory is charged to the file, also when this fails.
 */
int hwheel_mapping_grow(struct hwheel_mapping *map, u32 records)
{
	struct hwheel_map_memory *memory = &map->memory;
	struct hwheel_map_segment *segment = make_records(map, records);

	if (IS_ERR(segment)) {
		hwheel_mmap_pages_shrink(&memory->pages,
					 memory->first_page + memory->nr / HWHEEL_MAP_PAGE);
		return PTR_ERR(segment);
	}
	if (!memory->nr_segments)
		map->segment = segment;
	memory->segments[memory->nr_segments] = segment;
	/* Pairs with hwheel_mapping_find(). */
	smp_store_release(&memory->nr_segments, memory->nr_segments + 1);
	/* Pairs with hwheel_map_lists_take(): of an index below it all is there. */
	smp_store_release(&memory->nr, memory->nr + records);
	return 0;
}

/* On the worker; NULL unless @i is below @known. */
struct hwheel_map_segment *hwheel_mapping_find(struct hwheel_mapping *map, u32 i)
{
	struct hwheel_map_segment **segments = map->memory.segments;
	unsigned int low = 0, high;

	if (i >= map->drain.known)
		return NULL;
	/* Pairs with hwheel_mapping_grow(), which may have added one since. */
	high = smp_load_acquire(&map->memory.nr_segments);
	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (segments[middle]->first <= i)
			low = middle;
		else
			high = middle;
	}
	map->segment = segments[low];
	return map->segment;
}

/* The worker does not refer to it, and nothing is mapped. May sleep. */
void hwheel_mapping_free(struct hwheel_mapping *map)
{
	struct hwheel_map_memory *memory = &map->memory;

	while (memory->nr_segments)
		free_segment(memory->segments[--memory->nr_segments]);
	hwheel_slots_free(&map->slots);
	if (memory->pages.pages)
		hwheel_mmap_pages_free(&memory->pages);
	kvfree(memory->segments);
	kvfree(memory->ring);
	kvfree(map);
}

/* Fills the outputs of MAP. Under the file's lock. */
void hwheel_mapping_describe(const struct hwheel_mapping *map, struct hwheel_map *out)
{
	const struct hwheel_map_memory *memory = &map->memory;

	*out = (struct hwheel_map) {
		.records	= memory->nr,
		.lists		= memory->lists,
		.version	= HWHEEL_MAP_VERSION,
		.ring_size	= memory->ring_mask + 1,
		.lists_offset	= PAGE_SIZE,
		.ring_offset	= ring_page(memory->lists) * PAGE_SIZE,
		.records_offset	= memory->first_page * PAGE_SIZE,
		.size		= hwheel_mapping_nr_pages(map) * PAGE_SIZE,
	};
}

/*
 * Events that were not claimed. The program writes @head, so the number is bounded; a head beyond
 * the tail has claimed events whose tail the worker is about to store here.
 */
u64 hwheel_mapping_unread(const struct hwheel_mapping *map)
{
	/* Before the tail: a program claims after that no more than there is. */
	u64 head = hwheel_map_word_load(&map->memory.header->head);
	s64 unread = hwheel_map_word_load(&map->published.tail) - head;

	return clamp_t(s64, unread, 0, READ_ONCE(map->memory.nr));
}
