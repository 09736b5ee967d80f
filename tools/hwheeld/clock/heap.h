/* SPDX-License-Identifier: GPL-2.0-only */
/* A heap of entries by time. Each entry is embedded in its owner. */
#ifndef HEAP_H
#define HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_entry {
	uint64_t at_ns;			/* the owner's, while it is not in the heap */
	size_t index;			/* the heap's own */
};

struct heap {
	struct heap_entry **entries;
	size_t count;
	size_t room;
};

void heap_add(struct heap *heap, struct heap_entry *entry);
void heap_remove(struct heap *heap, struct heap_entry *entry);
void heap_move(struct heap *heap, struct heap_entry *entry, uint64_t at_ns);

/* The earliest one, or NULL */
struct heap_entry *heap_first(const struct heap *heap);

#endif /* HEAP_H */
