/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that stops being writable in the middle of a call: two pages, mapped twice. The
 * test writes through one mapping and gives the other to the module, where the second page
 * changes between writable and read-only all the time.
 *
 * When it changes is a matter of chance: a test goes on until it has seen what it is about,
 * and fails if that takes too long.
 */
#ifndef _HWHEEL_SELFTESTS_FLIPPER_H
#define _HWHEEL_SELFTESTS_FLIPPER_H

#include "common.h"

#include <pthread.h>
#include <sched.h>

/* Two calls might do; for the slowest machines */
#define FLIPPING_NS	(120 * SEC)

/**
 * struct flipper - memory that changes, and who changes it
 * @size:   of a page
 * @in:     both pages, always writable
 * @out:    both pages, for the module
 * @page:   the second one of @out, which changes
 * @bound:  when it takes too long
 * @thread: changes the page
 * @stop:   and is to end
 */
struct flipper {
	size_t		size;
	char		*in;
	char		*out;
	char		*page;
	__u64		bound;
	pthread_t	thread;
	bool		stop;
};

static inline void *flip_protection(void *data)
{
	struct flipper *flipper = data;

	while (!__atomic_load_n(&flipper->stop, __ATOMIC_ACQUIRE)) {
		mprotect(flipper->page, flipper->size, PROT_READ);
		sched_yield();
		mprotect(flipper->page, flipper->size, PROT_READ | PROT_WRITE);
		sched_yield();
	}
	return NULL;
}

static inline char *map_memory(int memory, size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
}

static inline int start_flipper(struct flipper *flipper)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	int memory = memfd_create("flipper", MFD_CLOEXEC);

	if (memory < 0 || ftruncate(memory, 2 * size))
		return -errno;
	*flipper = (struct flipper){
		.size = size,
		.in = map_memory(memory, 2 * size),
		.out = map_memory(memory, 2 * size),
		.bound = now_ns() + FLIPPING_NS,
	};
	close(memory);
	if (flipper->in == MAP_FAILED || flipper->out == MAP_FAILED)
		return -ENOMEM;
	flipper->page = flipper->out + size;
	return -pthread_create(&flipper->thread, NULL, flip_protection, flipper);
}

static inline int stop_flipper(struct flipper *flipper)
{
	__atomic_store_n(&flipper->stop, true, __ATOMIC_RELEASE);
	return -pthread_join(flipper->thread, NULL);
}

/* Has not one of these happened yet, and may it still? */
static inline bool goes_on_flipping(const struct flipper *flipper, int one, int other)
{
	return (!one || !other) && now_ns() < flipper->bound;
}

#endif /* _HWHEEL_SELFTESTS_FLIPPER_H */
