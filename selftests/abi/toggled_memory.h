/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that stops being writable in the middle of a call: two pages, mapped twice. The
 * test writes through one mapping and gives the other to the module, where the second page
 * changes between writable and read-only all the time.
 *
 * When it changes is a matter of chance: a test goes on until it has seen what it is about,
 * and fails if that takes too long.
 */
#ifndef _HWHEEL_SELFTESTS_TOGGLED_MEMORY_H
#define _HWHEEL_SELFTESTS_TOGGLED_MEMORY_H

#include "common.h"

#include <pthread.h>
#include <sched.h>

/* Two calls might do; for the slowest machines */
#define TOGGLING_NS	(120 * SEC)

/**
 * struct toggled_memory - memory that changes, and who changes it
 * @size:   of a page
 * @in:     both pages, always writable
 * @out:    both pages, for the module
 * @page:   the second one of @out, which changes
 * @bound:  when it takes too long
 * @thread: changes the page
 * @stop:   and is to end
 */
struct toggled_memory {
	size_t		size;
	char		*in;
	char		*out;
	char		*page;
	__u64		bound;
	pthread_t	thread;
	bool		stop;
};

static inline void *toggle_protection(void *data)
{
	struct toggled_memory *memory = data;

	while (!__atomic_load_n(&memory->stop, __ATOMIC_ACQUIRE)) {
		mprotect(memory->page, memory->size, PROT_READ);
		sched_yield();
		mprotect(memory->page, memory->size, PROT_READ | PROT_WRITE);
		sched_yield();
	}
	return NULL;
}

static inline char *map_toggled(int memfd, size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
}

static inline int start_toggling(struct toggled_memory *memory)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	int memfd = memfd_create("toggled", MFD_CLOEXEC);

	if (memfd < 0 || ftruncate(memfd, 2 * size))
		return -errno;
	*memory = (struct toggled_memory){
		.size = size,
		.in = map_toggled(memfd, 2 * size),
		.out = map_toggled(memfd, 2 * size),
		.bound = now_ns() + TOGGLING_NS,
	};
	close(memfd);
	if (memory->in == MAP_FAILED || memory->out == MAP_FAILED)
		return -ENOMEM;
	memory->page = memory->out + size;
	return -pthread_create(&memory->thread, NULL, toggle_protection, memory);
}

static inline int stop_toggling(struct toggled_memory *memory)
{
	__atomic_store_n(&memory->stop, true, __ATOMIC_RELEASE);
	return -pthread_join(memory->thread, NULL);
}

/* Has not one of these happened yet, and may it still? */
static inline bool goes_on_toggling(const struct toggled_memory *memory, int one, int other)
{
	return (!one || !other) && now_ns() < memory->bound;
}

#endif /* _HWHEEL_SELFTESTS_TOGGLED_MEMORY_H */
