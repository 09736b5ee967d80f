// SPDX-License-Identifier: GPL-2.0-only
#include "clock/heap.h"
#include "memory.h"

static void heap_put(struct heap *heap, struct heap_entry *entry, size_t index)
{
	heap->entries[index] = entry;
	entry->index = index;
}

static void heap_up(struct heap *heap, struct heap_entry *entry)
{
	size_t i = entry->index;

	for (; i && heap->entries[(i - 1) / 2]->at_ns > entry->at_ns; i = (i - 1) / 2)
		heap_put(heap, heap->entries[(i - 1) / 2], i);
	heap_put(heap, entry, i);
}

static void heap_down(struct heap *heap, struct heap_entry *entry)
{
	size_t i = entry->index, child;

	while ((child = 2 * i + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    heap->entries[child + 1]->at_ns < heap->entries[child]->at_ns)
			child++;
		if (heap->entries[child]->at_ns >= entry->at_ns)
			break;
		heap_put(heap, heap->entries[child], i);
		i = child;
	}
	heap_put(heap, entry, i);
}

void heap_add(struct heap *heap, struct heap_entry *entry)
{
	if (heap->count == heap->room) {
		heap->room = heap->room ? 2 * heap->room : 1024;
		heap->entries = memory_need(realloc(heap->entries, heap->room *
						    sizeof(*heap->entries)));
	}
	heap_put(heap, entry, heap->count++);
	heap_up(heap, entry);
}

void heap_remove(struct heap *heap, struct heap_entry *entry)
{
	struct heap_entry *last = heap->entries[--heap->count];

	if (last == entry)
		return;
	heap_put(heap, last, entry->index);
	heap_up(heap, last);
	heap_down(heap, last);
}

void heap_move(struct heap *heap, struct heap_entry *entry, uint64_t at_ns)
{
	entry->at_ns = at_ns;
	heap_up(heap, entry);
	heap_down(heap, entry);
}

struct heap_entry *heap_first(const struct heap *heap)
{
	return heap->count ? heap->entries[0] : NULL;
}
