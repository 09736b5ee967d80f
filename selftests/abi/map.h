/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the tests of mapped timeouts. The rules of common.h hold here, too.
 *
 * Times are on the machine's clock, as in the memory, unless a name says otherwise. Tests
 * leave the last record of a mapping to map_stays_quiet().
 */
#ifndef _HWHEEL_SELFTESTS_MAP_H
#define _HWHEEL_SELFTESTS_MAP_H

#include "common.h"
#include "record.h"

#define HOUR	(3600 * SEC)

/* Set-up */

static inline size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static inline bool map_is_supported(void)
{
	int fd = open_device(0);
	struct hwheel_info info = { 0 };

	if (fd < 0)
		return false;
	if (get_info(fd, &info))
		info.features = 0;
	close(fd);
	return info.features & HWHEEL_FEATURE_MAP;
}

static inline int map_make(int fd, __u32 records, __u32 lists, struct hwheel_map *layout)
{
	*layout = (struct hwheel_map){ .records = records, .lists = lists };
	return call(fd, HWHEEL_IOC_MAP, layout);
}

/*
 * Maps all that MAP has made. QEMU 7.2 spoils the flags of an i386 program around faults, and then
 * an exchange of a word kills it: with all there from the beginning that is rarer.
 */
static inline int map_memory(struct map *m)
{
	const int flags = MAP_SHARED | (sizeof(long) == 4 ? MAP_POPULATE : 0);
	char *base = mmap(NULL, m->layout.size, PROT_READ | PROT_WRITE, flags, m->fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	map_place(m, base);
	return 0;
}

static inline int map_unmap(struct map *m)
{
	return munmap(m->base, m->layout.size) ? -errno : 0;
}

static inline int map_close(struct map *m)
{
	return map_unmap(m) ?: close(m->fd) ? -errno : 0;
}

/* @config may leave the file on the default wheel. */
static inline int map_open(struct map *m, const struct hwheel_config *config, __u32 records,
			   __u32 lists)
{
	int ret;

	*m = (struct map){ .fd = open_device(O_NONBLOCK), .clock = config->clock };
	if (m->fd < 0)
		return m->fd;
	ret = configure(m->fd, config);
	ret = ret ?: map_make(m->fd, records, lists, &m->layout);
	ret = ret ?: map_memory(m);
	if (ret)
		close(m->fd);
	return ret;
}

static inline int map_open_shared(struct map *m, __u32 records, __u32 lists)
{
	const struct hwheel_config config = { .clock = CLOCK_MONOTONIC };

	return map_open(m, &config, records, lists);
}

/* Makes more records. Pointers into the mapping become stale. */
static inline int map_extend(struct map *m, __u32 records)
{
	int ret = map_unmap(m);

	ret = ret ?: map_make(m->fd, records, 0, &m->layout);
	return ret ?: map_memory(m);
}

static inline int map_arm_in(struct map *m, unsigned int list, __u32 i, __u64 delay)
{
	return map_arm(m, list, i, map_now(m) + delay);
}

/* @n timeouts of records from 0 with cookies from 0, by list 0 */
static inline int map_arm_many(struct map *m, __u32 n, __u64 deadline)
{
	__u32 i;
	int ret = 0;

	for (i = 0; !ret && i < n; i++) {
		m->records[i].cookie = i;
		ret = map_arm(m, 0, i, deadline);
	}
	return ret;
}

static inline bool map_event_is_sound(const struct map *m, const struct map_event *event)
{
	return event->fired_ns <= map_now(m) &&
	       (event->stopped || event->fired_ns >= event->deadline_ns);
}

/* As map_reap(), and -EPROTO if an event breaks the contract */
static inline int map_reap_sound(struct map *m, struct map_event *events, int max)
{
	int n = map_reap(m, events, max), i;

	for (i = 0; i < n; i++)
		if (!map_event_is_sound(m, &events[i]))
			return -EPROTO;
	return n;
}

/* Waiting */

static inline int map_next(struct map *m, struct map_event *event)
{
	int ret = readable(m->fd, WAIT_MS);

	if (ret <= 0)
		return ret ?: -ETIMEDOUT;
	ret = map_reap_sound(m, event, 1);
	return ret == 1 ? 0 : ret ?: -ENODATA;
}

/* Waits for the next event, which is of that record: -EEXIST if it is of another. */
static inline int map_next_of(struct map *m, __u32 i, struct map_event *event)
{
	int ret = map_next(m, event);

	return ret ?: event->index == i ? 0 : -EEXIST;
}

/* Waits for the next event, which tells that record @i has expired and was due at @deadline. */
static inline int map_expect(struct map *m, __u32 i, __u64 deadline)
{
	struct map_event event;
	int ret = map_next_of(m, i, &event);

	if (ret)
		return ret;
	return !event.stopped && event.deadline_ns == map_deadline(map_word(deadline)) ?
	       0 : -EPROTO;
}

/* Waits for @n events and counts each in @seen, whose index is the record's. */
static inline int map_collect(struct map *m, unsigned int *seen, size_t size, size_t n)
{
	struct map_event events[64];
	int got, i;

	while (n) {
		got = readable(m->fd, WAIT_MS);
		if (got <= 0)
			return got ?: -ETIMEDOUT;
		got = map_reap_sound(m, events, n < 64 ? n : 64);
		if (got < 0)
			return got;
		for (i = 0; i < got; i++) {
			if (events[i].index >= size)
				return -EPROTO;
			seen[events[i].index]++;
		}
		n -= got;
	}
	return 0;
}

/*
 * Returns 0 if no event comes of timeouts that are due by @deadline, and none is left in the
 * ring. The last record is the fence: it expires three times, for the reasons that settle()
 * gives. Unlike settle(), this function works on every wheel.
 */
static inline int map_stays_quiet(struct map *m, __u64 deadline)
{
	__u32 fence = m->layout.records - 1;
	struct map_event event;
	int ret = 0, i;

	for (i = 0; !ret && i < 3; i++)
		ret = map_arm(m, 0, fence, i ? 0 : deadline) ?: map_next_of(m, fence, &event);
	return ret;
}

/* Waits until the worker has seen the record: a pending timeout is filed then. */
static inline int map_await_filed(const struct map *m, __u32 i)
{
	return AWAIT(!map_is_queued(m, i));
}

/* Waits until the record is in that state, which no other thread changes. */
static inline int map_await_state(const struct map *m, __u32 i, unsigned int state)
{
	return AWAIT(map_state(m, i) == state);
}

/* Waits until so many events are in the ring. */
static inline int map_await_unread(const struct map *m, __u64 n)
{
	return AWAIT(map_unread(m) >= n);
}

#endif /* _HWHEEL_SELFTESTS_MAP_H */
