// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded, in which allocations fail. The file named by FAIL_ALLOC has two
 * numbers of 64 bits. Allocations count down the first one; that which finds 1 there fails, and so
 * do those behind it, as many in all as the second number says.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t *left;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAIL_ALLOC");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map = mmap(NULL, 2 * sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map != MAP_FAILED)
		left = map;
}

static int fails(void)
{
	int64_t last = left ? 1 - left[1] : 0;

	return left && *left > last && __atomic_fetch_sub(left, 1, __ATOMIC_RELAXED) <= 1;
}

#define NEXT(name) ({ \
	static __typeof__(name) *next; \
	if (!next) \
		next = (__typeof__(next))dlsym(RTLD_NEXT, #name); \
	next; \
})

void *malloc(size_t size)
{
	return fails() ? NULL : NEXT(malloc)(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : NEXT(calloc)(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : NEXT(realloc)(old, size);
}
