/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that has to be there. Sizes that clients choose are bounded before. When there is none,
 * and no reserve is left, the daemon ends: what it has accepted is in the store, and systemd starts
 * it again.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Is the reserve gone, and cannot be had again? Then nothing new is to begin. */
bool memory_is_short(void);

/* Does not return. */
void memory_end(void);

static inline void *memory_need(void *memory)
{
	if (!memory)
		memory_end();
	return memory;
}

/* Zeroed */
static inline void *memory_get(size_t count, size_t size)
{
	return memory_need(calloc(count ?: 1, size));
}

/* A copy with a zero behind it */
static inline char *memory_copy(const char *text, size_t length)
{
	char *copy = memory_get(length + 1, 1);

	if (length)
		memcpy(copy, text, length);
	return copy;
}

#endif /* MEMORY_H */
