// SPDX-License-Identifier: GPL-2.0-only
#include "clock/heap.h"
#include "memory.h"

static void put(struct heap *heap, struct heap_entry *entry, size_t index)
{
	heap->entries[index] = entry;
	entry->index = index;
}

static void up(struct heap *heap, struct heap_entry *entry)
{
	size_t i = entry->index;

	for (; i && heap->entries[(i - 1) / 2]->at_ns > entry->at_ns; i = (i - 1) / 2)
		put(heap, heap->entries[(i - 1) / 2], i);
	put(heap, entry, i);
}

static void down(struct heap *heap, struct heap_entry *entry)
{
	size_t i = entry->index, child;

	while ((child = 2 * i + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    heap->entries[child + 1]->at_ns < heap->entries[child]->at_ns)
			child++;
		if (heap->entries[child]->at_ns >= entry->at_ns)
			break;
		put(heap, heap->entries[child], i);
		i = child;
	}
	put(heap, entry, i);
}

void heap_add(struct heap *heap, struct heap_entry *entry)
{
	if (heap->count == heap->room) {
		heap->room = heap->room ? 2 * heap->room : 1024;
		heap->entries = memory_need(realloc(heap->entries, heap->room *
						    sizeof(*heap->entries)));
	}
	put(heap, entry, heap->count++);
	up(heap, entry);
}

void heap_remove(struct heap *heap, struct heap_entry *entry)
{
	struct heap_entry *last = heap->entries[--heap->count];

	if (last == entry)
		return;
	put(heap, last, entry->index);
	up(heap, last);
	down(heap, last);
}

void heap_move(struct heap *heap, struct heap_entry *entry, uint64_t at_ns)
{
	entry->at_ns = at_ns;
	up(heap, entry);
	down(heap, entry);
}

struct heap_entry *heap_first(const struct heap *heap)
{
	return heap->count ? heap->entries[0] : NULL;
}
