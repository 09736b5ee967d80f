/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the mapped deadlines share, beyond share.h: the same rules.
 *
 * A store counts for certain if the timeout was not due yet after it. Where a slow machine
 * was later than that, the test tries again with more time.
 */
#ifndef _HWHEEL_SELFTESTS_MAPPED_H
#define _HWHEEL_SELFTESTS_MAPPED_H

#include "share.h"

#include <sys/mman.h>

/**
 * struct mapped - a file and the deadlines of its timeouts
 * @fd:    the file
 * @clock: of its wheel
 * @words: the array
 */
struct mapped {
	int		fd;
	clockid_t	clock;
	__u64		*words;
};

static inline size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* NULL if it fails, for the reason that errno tells */
static inline __u64 *map_words(int fd, size_t size)
{
	void *words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return words == MAP_FAILED ? NULL : words;
}

static inline void store(__u64 *words, __u64 id, __u64 ns)
{
	__atomic_store_n(&words[HWHEEL_INDEX(id)], ns, __ATOMIC_RELAXED);
}

static inline __u64 load(const __u64 *words, __u64 id)
{
	return __atomic_load_n(&words[HWHEEL_INDEX(id)], __ATOMIC_RELAXED);
}

/* The deadline that QUERY tells of a pending timeout, or 0 */
static inline __u64 deadline_of(int fd, __u64 id)
{
	struct hwheel_op op;

	return query(fd, id, HWHEEL_ABSOLUTE, &op) == HWHEEL_STATE_PENDING ? op.time_ns : 0;
}

/* Waits for the next event, which is of @id and tells @deadline_ns, rounded up. */
static inline int expect_event(const struct mapped *m, __u64 id, __u64 deadline_ns)
{
	struct hwheel_event ev;
	int ret = readable(m->fd, WAIT_MS);

	if (ret <= 0)
		return ret ?: -ETIMEDOUT;
	ret = read_any(m->fd, m->clock, &ev, 1);
	if (ret != 1)
		return ret ?: -ENODATA;
	return ev.id == id && ev.type == HWHEEL_EVENT_EXPIRED &&
	       ev.deadline_ns == round_up_8(deadline_ns) ? 0 : -EPROTO;
}

/* Whether the event has come or not, it does not come any more. */
static inline int forget(const struct mapped *m, __u64 id)
{
	struct hwheel_event ev;
	int ret = cancel(m->fd, id);

	if (ret != -ENOENT)
		return ret;
	return readable(m->fd, WAIT_MS) == 1 && read_raw(m->fd, &ev, 1) == 1 ? 0 : -EPROTO;
}

/* 0 if what @how stores in the word of a timeout extends it to exactly that. */
static inline int extends_by(const struct mapped *m,
			     void (*how)(__u64 *words, __u64 id, __u64 ns))
{
	__u64 delay, at, later, id;
	int ret = 0;

	for (delay = 20 * MSEC; !ret && delay < WAIT_MS * MSEC; delay *= 2) {
		at = clock_ns(m->clock) + delay;
		later = at + 40 * MSEC + 3;
		ret = arm_at(m->fd, at, 0, &id);
		if (ret)
			break;
		how(m->words, id, later);
		if (clock_ns(m->clock) < at)
			return expect_event(m, id, later);
		ret = forget(m, id);
	}
	return ret ?: -ETIMEDOUT;
}

/* 0 if a store extends a timeout. */
static inline int extends(int fd, __u64 *words)
{
	const struct mapped m = { fd, CLOCK_MONOTONIC, words };

	return extends_by(&m, store);
}

/* Waits until a word is @value. */
static inline int await_word(const __u64 *words, __u64 id, __u64 value)
{
	__u64 bound = now_ns() + WAIT_MS * MSEC;

	while (load(words, id) != value) {
		if (now_ns() > bound)
			return -ETIMEDOUT;
		poll(NULL, 0, 1);
	}
	return 0;
}

#endif /* _HWHEEL_SELFTESTS_MAPPED_H */
