/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that has to be there. A request that may need much asks before it begins, and is refused
 * or gets less. What is under way has a reserve. When that is gone, too, the daemon ends: what it
 * has accepted is in the store, and systemd starts it again.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Is the reserve not whole, and cannot be made so? Then nothing new is to begin. */
bool memory_is_short(void);

/* Is there so much beside the reserve? */
bool memory_has(size_t size);

/* The same, or it is a small part of the reserve */
bool memory_offers(size_t size);

/*
 * From now on this thread's allocations may fail, before the second half of the reserve is touched,
 * or may not, as at the beginning: then the daemon ends. Returns what was so before.
 */
bool memory_may_fail(bool may_fail);

/* This thread takes part in the first one's memory from now on, as one does that finds none. */
void memory_share(void);

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
