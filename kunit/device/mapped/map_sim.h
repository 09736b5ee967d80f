/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests of mapped timeouts share: the program's side, as include/uapi/linux/hwheel.h tells it.
 */
#ifndef _HWHEEL_KUNIT_MAP_SIM_H
#define _HWHEEL_KUNIT_MAP_SIM_H

#include "../file_sim.h"

#include "device/mapped/mapping.h"
#include "device/mapped/word.h"
#include "device/mapped_file.h"
#include "device/account.h"

#define MAP_MAX		4096U

#define QUEUED		HWHEEL_MAP_QUEUED

static inline int map_file_init(struct kunit_resource *res, void *wheel)
{
	res->data = open_file(wheel, MAP_MAX);
	return PTR_ERR_OR_ZERO(res->data);
}

static inline int map_more(struct hwheel_file *file, u32 records, u32 lists)
{
	struct hwheel_map arg = { .records = records, .lists = lists };

	return hwheel_mapped_file_map(file, &arg);
}

/* A file on @wheel that is not mapped yet, and is closed when the test ends */
static inline struct hwheel_file *map_file_open(struct kunit *test, struct hwheel *wheel)
{
	struct hwheel_file *file;

	if (!hwheel_mmap_works())
		kunit_skip(test, "needs 64-bit exchanges, and caches that are one");
	file = kunit_alloc_resource(test, map_file_init, file_free, GFP_KERNEL, wheel);
	KUNIT_ASSERT_NOT_NULL(test, file);
	return file;
}

/* As map_file_open(), with so many records and two lists */
static inline struct hwheel_file *map_file_on(struct kunit *test, struct hwheel *wheel,
					      u32 records)
{
	struct hwheel_file *file = map_file_open(test, wheel);

	KUNIT_ASSERT_EQ(test, map_more(file, records, 2), 0);
	return file;
}

static inline struct hwheel_file *map_file(struct kunit *test, u32 records)
{
	return map_file_on(test, sim_wheel(test), records);
}

static inline struct hwheel_map_record *record_of(struct hwheel_file *file, u32 i)
{
	struct hwheel_map_segment **segment = file->mapping->memory.segments;

	while (i - (*segment)->first >= (*segment)->nr)
		segment++;
	return &(*segment)->records[i - (*segment)->first];
}

static inline u32 *head_of(struct hwheel_file *file, unsigned int list)
{
	return file->mapping->memory.heads[list];
}

/* Returns whether the list was asleep; the caller kicks then. */
static inline bool map_push(struct hwheel_file *file, unsigned int list, u32 i)
{
	u32 *head = head_of(file, list), old = READ_ONCE(*head);

	do {
		if (old == HWHEEL_MAP_CLOSED)
			return false;
		WRITE_ONCE(record_of(file, i)->link, old == HWHEEL_MAP_ASLEEP ? 0 : old);
	} while (!try_cmpxchg(head, &old, i + 1));
	return old == HWHEEL_MAP_ASLEEP;
}

static inline void map_submit(struct hwheel_file *file, unsigned int list, u32 i)
{
	if (map_push(file, list, i))
		hwheel_mapped_file_kick(file);
}

/* As a thread that stands still before its push; returns whether it is to push. */
static inline bool map_arm_only(struct hwheel_file *file, u32 i, u64 deadline)
{
	u64 word = hwheel_word(hwheel_deadline_store(deadline), QUEUED);

	return !(atomic64_xchg((atomic64_t *)&record_of(file, i)->word, word) & QUEUED);
}

static inline void map_arm_on(struct hwheel_file *file, unsigned int list, u32 i, u64 deadline)
{
	if (map_arm_only(file, i, deadline))
		map_submit(file, list, i);
}

static inline void map_arm(struct hwheel_file *file, u32 i, u64 deadline)
{
	map_arm_on(file, 0, i, deadline);
}

static inline u64 map_state(struct hwheel_file *file, u32 i)
{
	return READ_ONCE(record_of(file, i)->word) & HWHEEL_MAP_STATE;
}

static inline bool map_cancel(struct hwheel_file *file, u32 i)
{
	u64 *word = &record_of(file, i)->word, old = READ_ONCE(*word);

	do {
		if (old & HWHEEL_MAP_STATE)
			return false;
	} while (!hwheel_map_word_exchange(word, &old, old | HWHEEL_MAP_CANCELLED | QUEUED));
	if (!(old & QUEUED))
		map_submit(file, 0, i);
	return true;
}

static inline bool map_refresh(struct hwheel_file *file, u32 i, u64 deadline)
{
	u64 *word = &record_of(file, i)->word, old = READ_ONCE(*word), new;

	do {
		if (old & HWHEEL_MAP_STATE)
			return false;
		new = hwheel_word(hwheel_deadline_store(deadline), old & QUEUED);
		if (new < old)
			new |= QUEUED;
	} while (!hwheel_map_word_exchange(word, &old, new));
	if (new & ~old & QUEUED)
		map_submit(file, 0, i);
	return true;
}

static inline u64 map_unread(struct hwheel_file *file)
{
	return hwheel_mapping_unread(file->mapping);
}

/* The next entry of the ring, whose record is free again; -1 if there is none */
static inline s64 map_reap(struct hwheel_file *file)
{
	struct hwheel_mapping *map = file->mapping;
	u64 head = map->memory.header->head;
	u32 entry;

	if (head == map->memory.header->tail)
		return -1;
	head &= map->memory.ring_mask;
	entry = map->memory.ring[head / (PAGE_SIZE / 4)][head % (PAGE_SIZE / 4)];
	map->memory.header->head++;
	record_of(file, entry & ~HWHEEL_MAP_STOPPED)->word |= HWHEEL_MAP_IDLE;
	return entry;
}

/* All that ended meanwhile is these records, in this order. */
static inline void map_expect_order(struct kunit *test, struct hwheel_file *file, u32 first,
				    u32 nr)
{
	u32 i;

	for (i = first; i < first + nr; i++)
		KUNIT_ASSERT_EQ(test, map_reap(file), i);
	KUNIT_EXPECT_EQ(test, map_reap(file), -1);
}

#endif /* _HWHEEL_KUNIT_MAP_SIM_H */
