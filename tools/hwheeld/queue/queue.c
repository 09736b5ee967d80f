// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "memory.h"
#include "queue/queue.h"
#include "queue/timeout.h"

static struct queue *queues;
static struct queue *ready, **ready_end = &ready;

struct queue *queue_find(const char *name, size_t length)
{
	struct queue *queue;

	HASH_FIND(by_name, queues, name, length, queue);
	return queue;
}

struct queue *queue_get(const char *name, size_t length, size_t limit)
{
	struct queue *queue = queue_find(name, length);

	if (queue || queue_count() >= limit)
		return queue;
	queue = memory_get(1, sizeof(*queue));
	memcpy(queue->name, name, length);
	HASH_ADD_KEYPTR(by_name, queues, queue->name, length, queue);
	return queue;
}

void queue_put(struct queue *queue)
{
	if (queue->timeouts || queue->polls || queue->is_ready)
		return;
	HASH_DELETE(by_name, queues, queue);
	free(queue);
}

void queue_add_due(struct queue *queue, struct timeout *timeout)
{
	DL_APPEND2(queue->due, timeout, prev_due, next_due);
	queue->due_count++;
	queue_make_ready(queue);
}

void queue_remove_due(struct queue *queue, struct timeout *timeout)
{
	DL_DELETE2(queue->due, timeout, prev_due, next_due);
	timeout->prev_due = NULL;
	queue->due_count--;
}

void queue_make_ready(struct queue *queue)
{
	if (queue->is_ready || !queue->polls || !queue->due)
		return;
	queue->is_ready = true;
	queue->next_ready = NULL;
	*ready_end = queue;
	ready_end = &queue->next_ready;
}

struct queue *queue_next_ready(void)
{
	struct queue *queue = ready;

	if (!queue)
		return NULL;
	ready = queue->next_ready;
	if (!ready)
		ready_end = &ready;
	queue->is_ready = false;
	return queue;
}

bool queue_has_ready(void)
{
	return ready;
}

struct queue *queue_first(void)
{
	return queues;
}

size_t queue_count(void)
{
	return HASH_CNT(by_name, queues);
}
