/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * Mapped timeouts: the protocol of linux/hwheel.h, "Mapped timeouts".
 *
 * The library rounds each deadline up to 1,024 ns, and has seven bits of the record's generation
 * in the bits that this frees. So an exchange that expects a word does not take another timeout
 * of the record, with the same deadline, for the one that an id names. As each generation is a
 * multiple of 4, + 1, four times as much is a tag, QUEUED and PENDING.
 */
#ifndef RECORD_H
#define RECORD_H

#include "map.h"

#define UNIT_NS		1024U
#define TAG		0x7f0U

/* The latest deadline: as it is rounded up, it means never. */
#define LATEST		(HWHEEL_MAP_NEVER - UNIT_NS)

/* Of a deadline up to LATEST, rounded up. PENDING, and without a tag. */
static inline uint64_t word_of(uint64_t deadline_ns)
{
	return (2 * deadline_ns + 2 * (UNIT_NS - 1)) & -(uint64_t)(2 * UNIT_NS);
}

/* QUEUED and PENDING */
static inline uint64_t tag_of(uint32_t generation)
{
	return generation << 2 & (TAG | HWHEEL_MAP_QUEUED);
}

static inline uint64_t deadline_of(uint64_t word)
{
	return (word >> 1) & -(uint64_t)UNIT_NS;
}

static inline uint64_t load_word(const struct hwheel_map_record *record)
{
	return __atomic_load_n(&record->word, __ATOMIC_ACQUIRE);
}

/* Exchanges a word for one that other threads may act on. */
static inline bool exchange(struct hwheel_map_record *record, uint64_t *old, uint64_t new,
			    int order)
{
	return __atomic_compare_exchange_n(&record->word, old, new, false, order,
					   __ATOMIC_ACQUIRE);
}

bool push_slowly(const struct lane *lane, uint32_t offset);

/*
 * Pushes a record whose QUEUED the thread has set. Returns false if the list is ASLEEP or CLOSED:
 * push_slowly() is for all lists, and returns false if the list is CLOSED.
 */
static inline bool push(const struct lane *lane, struct hwheel_map_record *record, uint32_t offset)
{
	uint32_t *list = lane->list, head = __atomic_load_n(list, __ATOMIC_RELAXED);
	uint32_t link = offset / RECORD_SIZE;

	do {
		if (unlikely(head >= HWHEEL_MAP_CLOSED))
			return false;
		__atomic_store_n(&record->link, head, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(list, &head, link, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return true;
}

/* After an exchange that is seq_cst: was the file stopped before that? */
static inline bool is_closed(const struct lane *lane)
{
	return __atomic_load_n(lane->list, __ATOMIC_SEQ_CST) == HWHEEL_MAP_CLOSED;
}

#endif /* RECORD_H */
