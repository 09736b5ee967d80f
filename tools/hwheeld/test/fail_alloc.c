// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded, in which an allocation fails: that one which finds 1 in the file named
 * by FAIL_ALLOC, a number of 64 bits, which each one that finds more counts down.
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
	void *map = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map != MAP_FAILED)
		left = map;
}

static int fails(void)
{
	return left && *left > 0 && __atomic_fetch_sub(left, 1, __ATOMIC_RELAXED) == 1;
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
