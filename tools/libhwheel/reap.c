// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Events of mapped timeouts: any number of threads take them from the ring.
 *
 * A thread copies entries of the ring, and then claims them: if another thread was faster, the
 * copies are worth nothing. It must not claim them first. The worker may then come round to the
 * very places with records that other threads have freed. The records that the thread has claimed
 * are another matter: nobody changes them before it frees them.
 *
 * Model: reap.pml.
 */
#include <assert.h>
#include <limits.h>
#include <poll.h>
#include <string.h>

#include "record.h"

/* How many entries a thread claims at a time */
#define CHUNK	256U

/* The part up to the end of the ring, and what follows at its beginning */
static void copy_entries(const struct map *map, uint64_t head, uint32_t n, uint32_t *entries)
{
	uint32_t at = head & map->ring_mask, first = map->ring_mask + 1 - at;

	if (first > n)
		first = n;
	memcpy(entries, map->ring + at, first * sizeof(*entries));
	memcpy(entries + first, map->ring, (n - first) * sizeof(*entries));
}

/* Returns how many entries are the thread's, up to @count. */
static uint32_t claim(const struct map *map, uint32_t *entries, uint32_t count)
{
	uint64_t head = __atomic_load_n(&map->header->head, __ATOMIC_ACQUIRE), there;
	uint32_t n;

	do {
		there = __atomic_load_n(&map->header->tail, __ATOMIC_ACQUIRE) - head;
		n = there < count ? (uint32_t)there : count;
		copy_entries(map, head, n, entries);
	} while (n && !__atomic_compare_exchange_n(&map->header->head, &head, head + n, false,
						   __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE));
	return n;
}

/* Times are on the handle's clock. */
static inline void copy(const struct hwheel_map_record *record, uint32_t entry, uint64_t offset_ns,
			union id id, struct hwheel_event *event)
{
	id_store(&event->id, id.generation, id.offset);
	event->cookie = __atomic_load_n(&record->cookie, __ATOMIC_RELAXED);
	event->fired_ns = __atomic_load_n(&record->fired_ns, __ATOMIC_RELAXED) + offset_ns;
	event->type = entry / HWHEEL_MAP_STOPPED + HWHEEL_EVENT_EXPIRED;
	event->reserved = 0;
}

static_assert(HWHEEL_EVENT_STOPPED - HWHEEL_EVENT_EXPIRED == 1);

/* As lane_keep() and lane_give_back(), of a lane whose top the caller has */
static inline union id *give_back(struct lane *lane, union id *top, union id id)
{
	if (likely(lane_is_home(lane, id.offset))) {
		*top++ = id;
		if (likely(!is_end_of_magazine(top)))
			return top;
		lane->top = top;
		lane_spill(lane);
	} else {
		lane->top = top;
		lane_give_back(lane, id.generation, id.offset);
	}
	return lane->top;
}

/*
 * Takes the event of an entry. Then the record is the program's again: EXPIRED is IDLE, and QUEUED
 * stays as it is. *@word is what its word was.
 */
static inline union id take(struct hwheel_map_record *record, uint32_t offset, uint32_t entry,
			    uint64_t offset_ns, struct hwheel_event *event, uint64_t *word)
{
	union id id = {
		.generation = __atomic_load_n(&record->generation, __ATOMIC_RELAXED),
		.offset = offset,
	};

	copy(record, entry, offset_ns, id, event);
	*word = __atomic_fetch_add(&record->word, HWHEEL_MAP_IDLE - HWHEEL_MAP_EXPIRED,
				   __ATOMIC_RELEASE);
	event->deadline_ns = deadline_of(*word) + offset_ns;
	return id;
}

/* Returns the end of the events: those that were withdrawn are none. */
static struct hwheel_event *take_run(struct lane *lane, const uint32_t *entry, uint32_t n,
				     struct hwheel_event *event)
{
	uint64_t offset_ns = (uint64_t)lane->map->offset_ns;
	union id *top = lane->top;
	char *base = lane->base;

	for (const uint32_t *end = entry + n; entry < end; entry++) {
		uint32_t offset = *entry * RECORD_SIZE + RECORD_SIZE;
		uint64_t word;
		union id id = take((void *)(base + offset), offset, *entry, offset_ns, event,
				   &word);

		if (likely(!(word & HWHEEL_MAP_WITHDRAWN)))
			event++;
		top = give_back(lane, top, id);
	}
	lane->top = top;
	return event;
}

static uint32_t reap(struct lane *lane, struct hwheel_event *events, size_t count)
{
	struct hwheel_event *event = events, *end = events + count;
	uint32_t entries[CHUNK], most, n;

	do {
		most = (size_t)(end - event) < CHUNK ? (uint32_t)(end - event) : CHUNK;
		n = claim(lane->map, entries, most);
		event = take_run(lane, entries, n, event);
	} while (n == most && event < end);
	return (uint32_t)(event - events);
}

/*
 * When the ring was found empty: 1: look again, 0: the end, or an error. The lists are closed if
 * the file was stopped, or the worker has found one damaged.
 */
static int await(const struct hwheel *wheel, const struct lane *lane)
{
	struct pollfd file = { .fd = wheel->fd, .events = POLLIN };

	if (!wheel->waits && !is_closed(lane))
		return -EAGAIN;
	if (poll(&file, 1, wheel->waits ? -1 : 0) < 0)
		return -errno;
	if (file.revents & POLLIN)
		return 1;
	if (file.revents & POLLERR)
		return -EIO;
	return file.revents & POLLHUP ? 0 : -EAGAIN;
}

int mapped_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	struct lane *lane;
	uint32_t n;
	int ret;

	if (!count)
		return -EINVAL;
	ret = lane_of(wheel, &lane);
	if (ret)
		return ret;
	do {
		n = reap(lane, events, count < INT_MAX ? count : INT_MAX);
		ret = n ? (int)n : await(wheel, lane);
	} while (!n && ret > 0);
	return ret;
}
