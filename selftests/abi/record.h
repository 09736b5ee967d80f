/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mapped timeouts as a program has them: the operations that the uapi header describes, one by
 * one, and nothing else. Functions return 0 or a negative errno, if not told otherwise.
 *
 * Times are on the machine's clock, as in the memory.
 */
#ifndef _HWHEEL_SELFTESTS_RECORD_H
#define _HWHEEL_SELFTESTS_RECORD_H

#include <linux/hwheel.h>

#include <errno.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <time.h>

/**
 * struct map - a mapped file
 * @fd:      the file
 * @clock:   of its wheel
 * @layout:  what MAP has told last
 * @base:    the mapping; the next four are its parts
 * @header:  the beginning
 * @lists:   where threads push records
 * @ring:    where the worker puts those that ended
 * @records: the timeouts
 * @kicks:   how many times a pusher found its list ASLEEP
 */
struct map {
	int				fd;
	clockid_t			clock;
	struct hwheel_map		layout;
	char				*base;
	struct hwheel_map_header	*header;
	struct hwheel_map_list		*lists;
	__u32				*ring;
	struct hwheel_map_record	*records;
	unsigned int			kicks;
};

/**
 * struct map_event - what a reaper has claimed
 * @index:       of the record
 * @generation:  of the record
 * @stopped:     whether STOP has ended it
 * @withdrawn:   whether it was withdrawn: then it is no event
 * @deadline_ns: as in the record's word
 * @fired_ns:    of the record
 * @cookie:      of the record
 */
struct map_event {
	__u32	index;
	__u32	generation;
	bool	stopped;
	bool	withdrawn;
	__u64	deadline_ns;
	__u64	fired_ns;
	__u64	cookie;
};

static inline void map_place(struct map *m, char *base)
{
	m->base = base;
	m->header = (void *)base;
	m->lists = (void *)(base + m->layout.lists_offset);
	m->ring = (void *)(base + m->layout.ring_offset);
	m->records = (void *)(base + m->layout.records_offset);
}

/* The machine's clock, whatever the time namespace */
static inline __u64 map_now(const struct map *m)
{
	struct timespec ts;

	clock_gettime(m->clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec - m->header->clock_offset_ns;
}

/* The word */

static inline __u64 map_word(__u64 deadline)
{
	if (deadline > HWHEEL_MAP_NEVER)
		deadline = HWHEEL_MAP_NEVER;
	return (deadline + 7) >> 3 << 4;
}

static inline __u64 map_deadline(__u64 word)
{
	return (word & ~(__u64)(HWHEEL_MAP_QUEUED | HWHEEL_MAP_STATE |
				  HWHEEL_MAP_WITHDRAWN)) >> 1;
}

static inline __u64 map_load(const struct map *m, __u32 i)
{
	return __atomic_load_n(&m->records[i].word, __ATOMIC_ACQUIRE);
}

static inline unsigned int map_state(const struct map *m, __u32 i)
{
	return map_load(m, i) & HWHEEL_MAP_STATE;
}

static inline bool map_is_queued(const struct map *m, __u32 i)
{
	return map_load(m, i) & HWHEEL_MAP_QUEUED;
}

static inline bool map_cas(__u64 *word, __u64 *old, __u64 new, int order)
{
	return __atomic_compare_exchange_n(word, old, new, false, order, __ATOMIC_ACQUIRE);
}

/*
 * The exchanges alone return 1 if the caller has to push the record, 0 if there is nothing to
 * push, or a negative errno. A test that does not push plays a thread that was stopped.
 */
static inline int map_exchange_to_arm(struct map *m, __u32 i, __u64 deadline)
{
	__u64 *word = &m->records[i].word, old = map_load(m, i), new;

	new = map_word(deadline) | HWHEEL_MAP_PENDING | HWHEEL_MAP_QUEUED;
	do {
		unsigned int state = old & HWHEEL_MAP_STATE;

		if (state != HWHEEL_MAP_IDLE && state != HWHEEL_MAP_CANCELLED)
			return -EBUSY;
	} while (!map_cas(word, &old, new, __ATOMIC_SEQ_CST));
	return !(old & HWHEEL_MAP_QUEUED);
}

static inline int map_exchange_to_cancel(struct map *m, __u32 i)
{
	__u64 *word = &m->records[i].word, old = map_load(m, i);

	do {
		if ((old & HWHEEL_MAP_STATE) != HWHEEL_MAP_PENDING)
			return -ENOENT;
	} while (!map_cas(word, &old, old | HWHEEL_MAP_CANCELLED | HWHEEL_MAP_QUEUED,
			  __ATOMIC_RELEASE));
	return !(old & HWHEEL_MAP_QUEUED);
}

static inline int map_exchange_to_refresh(struct map *m, __u32 i, __u64 deadline)
{
	__u64 *word = &m->records[i].word, old = map_load(m, i), new;

	do {
		if ((old & HWHEEL_MAP_STATE) != HWHEEL_MAP_PENDING)
			return -ENOENT;
		new = map_word(deadline) | HWHEEL_MAP_PENDING | (old & HWHEEL_MAP_QUEUED);
		if (map_deadline(new) < map_deadline(old))
			new |= HWHEEL_MAP_QUEUED;
	} while (!map_cas(word, &old, new, __ATOMIC_RELEASE));
	return !!(new & ~old & HWHEEL_MAP_QUEUED);
}

/* An event that was not claimed; only the reaper that claims it makes the record free. */
static inline int map_withdraw(struct map *m, __u32 i)
{
	__u64 *word = &m->records[i].word, old = map_load(m, i);

	do {
		if ((old & (HWHEEL_MAP_STATE | HWHEEL_MAP_WITHDRAWN)) != HWHEEL_MAP_EXPIRED)
			return -ENOENT;
	} while (!map_cas(word, &old, old | HWHEEL_MAP_WITHDRAWN, __ATOMIC_RELEASE));
	return 0;
}

/* The lists */

static inline int map_kick(struct map *m)
{
	__atomic_add_fetch(&m->kicks, 1, __ATOMIC_RELAXED);
	return ioctl(m->fd, HWHEEL_IOC_KICK, NULL) ? -errno : 0;
}

static inline bool map_is_closed(const struct map *m, unsigned int list)
{
	return __atomic_load_n(&m->lists[list].head, __ATOMIC_SEQ_CST) == HWHEEL_MAP_CLOSED;
}

/* Returns 1 if the list was ASLEEP: the caller has to KICK. -ESHUTDOWN: it is CLOSED. */
static inline int map_link(struct map *m, unsigned int list, __u32 i)
{
	__u32 *head = &m->lists[list].head, old = __atomic_load_n(head, __ATOMIC_RELAXED);

	do {
		if (old == HWHEEL_MAP_CLOSED)
			return -ESHUTDOWN;
		__atomic_store_n(&m->records[i].link, old == HWHEEL_MAP_ASLEEP ? 0 : old,
				 __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(head, &old, i + 1, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return old == HWHEEL_MAP_ASLEEP;
}

static inline int map_push(struct map *m, unsigned int list, __u32 i)
{
	int ret = map_link(m, list, i);

	return ret > 0 ? map_kick(m) : ret;
}

/* On a list that is CLOSED there is nothing to be told. */
static inline int map_tell(struct map *m, unsigned int list, __u32 i)
{
	int ret = map_push(m, list, i);

	return ret == -ESHUTDOWN ? 0 : ret;
}

/* The operations of a program return 0 or a negative errno. */

static inline int map_cancel(struct map *m, unsigned int list, __u32 i)
{
	int ret = map_exchange_to_cancel(m, i);

	return ret > 0 ? map_tell(m, list, i) : ret;
}

static inline int map_refresh(struct map *m, unsigned int list, __u32 i, __u64 deadline)
{
	int ret = map_exchange_to_refresh(m, i, deadline);

	return ret > 0 ? map_tell(m, list, i) : ret;
}

/*
 * Cancels what was just armed on a stopped file. Any other word is one of a later arm, or shows
 * that STOP has ended the timeout, whose event exists then: the arm has succeeded. No test
 * refreshes a record before its arm has returned.
 */
static inline int map_take_back(struct map *m, unsigned int list, __u32 i, __u64 deadline)
{
	__u64 armed = map_word(deadline) | HWHEEL_MAP_PENDING, old = map_load(m, i);

	do {
		if ((old & ~(__u64)HWHEEL_MAP_QUEUED) != armed)
			return 0;
	} while (!map_cas(&m->records[i].word, &old, old | HWHEEL_MAP_CANCELLED |
			  HWHEEL_MAP_QUEUED, __ATOMIC_RELEASE));
	if (!(old & HWHEEL_MAP_QUEUED))
		map_tell(m, list, i);
	return -ESHUTDOWN;
}

static inline int map_arm(struct map *m, unsigned int list, __u32 i, __u64 deadline)
{
	int ret = map_exchange_to_arm(m, i, deadline);

	if (ret > 0)
		ret = map_push(m, list, i);
	else if (!ret && map_is_closed(m, list))
		ret = -ESHUTDOWN;
	return ret == -ESHUTDOWN ? map_take_back(m, list, i, deadline) : ret;
}

/* The ring */

static inline __u64 map_unread(const struct map *m)
{
	__u64 head = __atomic_load_n(&m->header->head, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&m->header->tail, __ATOMIC_ACQUIRE) - head;
}

/* Copies entry number @at of the ring; false if that names no record. */
static inline bool map_copy(const struct map *m, __u64 at, struct map_event *event)
{
	__u32 entry = __atomic_load_n(&m->ring[at % m->layout.ring_size], __ATOMIC_RELAXED);
	const struct hwheel_map_record *record;

	event->index = entry & ~HWHEEL_MAP_STOPPED;
	event->stopped = entry & HWHEEL_MAP_STOPPED;
	event->withdrawn = false;
	if (event->index >= m->layout.records)
		return false;
	record = &m->records[event->index];
	event->deadline_ns = map_deadline(__atomic_load_n(&record->word, __ATOMIC_RELAXED));
	event->fired_ns = __atomic_load_n(&record->fired_ns, __ATOMIC_RELAXED);
	event->cookie = __atomic_load_n(&record->cookie, __ATOMIC_RELAXED);
	event->generation = __atomic_load_n(&record->generation, __ATOMIC_RELAXED);
	return true;
}

/* Copies events without a claim: how many, from @head of the ring on, or -EPROTO. */
static inline int map_peek(const struct map *m, struct map_event *events, int max, __u64 *head)
{
	__u64 there;
	int i;

	*head = __atomic_load_n(&m->header->head, __ATOMIC_ACQUIRE);
	there = __atomic_load_n(&m->header->tail, __ATOMIC_ACQUIRE) - *head;
	if (there < (__u64)max)
		max = there;
	for (i = 0; i < max; i++)
		if (!map_copy(m, *head + i, &events[i]))
			return -EPROTO;
	return max;
}

/* Another reaper's claim makes the copies stale, also those that look broken. */
static inline int map_claim(struct map *m, struct map_event *events, int max)
{
	__u64 head, old;
	int n;

	do {
		n = map_peek(m, events, max, &head);
		old = head;
		if (n < 0 && __atomic_load_n(&m->header->head, __ATOMIC_ACQUIRE) == head)
			return n;
	} while (n && (n < 0 || !map_cas(&m->header->head, &old, head + n, __ATOMIC_SEQ_CST)));
	return n;
}

/*
 * Claims up to @max entries, also those that were withdrawn: how many, or -EPROTO. Each record must
 * have been EXPIRED.
 */
static inline int map_reap_all(struct map *m, struct map_event *events, int max)
{
	int n = map_claim(m, events, max), i, ret = n;
	__u64 old;

	for (i = 0; i < n; i++) {
		old = __atomic_fetch_add(&m->records[events[i].index].word,
					 HWHEEL_MAP_IDLE - HWHEEL_MAP_EXPIRED, __ATOMIC_RELEASE);
		events[i].withdrawn = old & HWHEEL_MAP_WITHDRAWN;
		if ((old & HWHEEL_MAP_STATE) != HWHEEL_MAP_EXPIRED)
			ret = -EPROTO;
	}
	return ret;
}

/* How many events of up to @max entries; 0 also if all were withdrawn */
static inline int map_reap(struct map *m, struct map_event *events, int max)
{
	int n = map_reap_all(m, events, max), i, kept = 0;

	if (n < 0)
		return n;
	for (i = 0; i < n; i++)
		if (!events[i].withdrawn)
			events[kept++] = events[i];
	return kept;
}

#endif /* _HWHEEL_SELFTESTS_RECORD_H */
