// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses for arguments. Most are good, some are of memory that can't be written, or not
 * read, or only the beginning of it, and some are of no memory at all.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

#define READ_ONLY	MEMORY_MAX
#define LAST		(2 * MEMORY_MAX)
#define NO_ACCESS	(3 * MEMORY_MAX)
#define TOTAL		(4 * MEMORY_MAX)

/* Around where the kernel begins, and within */
static const unsigned long nowhere[] = {
	0,
	1,
#if __SIZEOF_LONG__ == 8
	(1UL << 47) - 4096,
	(1UL << 47) - 8,
	1UL << 47,
	1UL << 63,
	0xffff888000000000UL,
	0xffffffff81000000UL,
#else
	0xc0000000UL - 4096,
	0xc0000000UL - 8,
	0xc0000000UL,
	0xc1000000UL,
#endif
	-4096UL,
	-8UL,
	-1UL,
};

/* Memory that is only reserved, as what is not mapped at all may be taken by malloc(). */
int memory_map(struct memory *memory)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, TOTAL))
		return -errno;
	memory->alias = mmap(NULL, TOTAL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memory->user = mmap(NULL, TOTAL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory->alias == MAP_FAILED || memory->user == MAP_FAILED ||
	    mprotect(memory->user + READ_ONLY, MEMORY_MAX, PROT_READ) ||
	    mprotect(memory->user + NO_ACCESS, MEMORY_MAX, PROT_NONE))
		return -errno;
	return close(fd);
}

static struct spot spot_at(const struct memory *memory, size_t at, size_t readable,
			   size_t writable)
{
	return (struct spot){
		.user = memory->user + at,
		.alias = memory->alias + at,
		.readable = readable,
		.writable = writable,
	};
}

struct spot memory_good(const struct memory *memory, struct random *rnd, size_t size)
{
	size_t at = random_below(rnd, MEMORY_MAX - size + 1);

	/* Most programs have their structures where they belong. */
	if (!random_chance(rnd, 8))
		at &= ~7UL;
	return spot_at(memory, at, size, size);
}

static struct spot bad(const struct memory *memory, struct random *rnd, size_t size)
{
	/* Often so little that few events or operations fit. */
	size_t there = random_below(rnd, size > 200 && random_chance(rnd, 2) ? 200 : size);
	struct spot spot;

	switch (random_below(rnd, 5)) {
	case 0:
		return spot_at(memory, READ_ONLY, size, 0);
	case 1:
		return spot_at(memory, READ_ONLY - there, size, there);
	case 2:
		return spot_at(memory, NO_ACCESS - there, there, there);
	case 3:
		return spot_at(memory, NO_ACCESS, 0, 0);
	default:
		spot = spot_at(memory, NO_ACCESS, 0, 0);
		spot.user = (char *)nowhere[random_below(rnd, sizeof(nowhere) / sizeof(long))];
		return spot;
	}
}

struct spot memory_any(const struct memory *memory, struct random *rnd, size_t size)
{
	return random_chance(rnd, 16) ? bad(memory, rnd, size) : memory_good(memory, rnd, size);
}
