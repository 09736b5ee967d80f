// SPDX-License-Identifier: GPL-2.0-only
/*
 * All memory of the process comes through here, that of its libraries too. When there is none, a
 * reserve gives way, so that what is under way can end; see memory_is_short() for what comes after.
 */
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"
#include "say.h"

#define MEMORY_RESERVE	8388608

static void *memory_reserve = MAP_FAILED;

bool memory_is_short(void)
{
	if (memory_reserve == MAP_FAILED)
		memory_reserve = mmap(NULL, MEMORY_RESERVE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory_reserve == MAP_FAILED;
}

/* Returns whether it is worth another try. Any thread may be the one. */
static bool memory_give_way(void)
{
	void *reserve = __atomic_exchange_n(&memory_reserve, MAP_FAILED, __ATOMIC_RELAXED);

	return reserve != MAP_FAILED && !munmap(reserve, MEMORY_RESERVE);
}

void memory_end(void)
{
	say(LOG_CRIT, "there is no memory");
	_exit(1);
}

/* The next one in the order of libraries: jemalloc's, or the C library's */
#define MEMORY_NEXT(name) ({ \
	static __typeof__(name) *next; \
	if (!next) \
		next = (__typeof__(next))dlsym(RTLD_NEXT, #name); \
	next; \
})

void *malloc(size_t size)
{
	void *memory = MEMORY_NEXT(malloc)(size);

	return memory || !memory_give_way() ? memory : MEMORY_NEXT(malloc)(size);
}

void *calloc(size_t count, size_t size)
{
	void *memory = MEMORY_NEXT(calloc)(count, size);

	return memory || !memory_give_way() ? memory : MEMORY_NEXT(calloc)(count, size);
}

void *realloc(void *old, size_t size)
{
	void *memory = MEMORY_NEXT(realloc)(old, size);

	return memory || !size || !memory_give_way() ? memory : MEMORY_NEXT(realloc)(old, size);
}
