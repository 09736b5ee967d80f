// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "memory.h"
#include "queue/queue.h"

struct queue *queue_find(const struct service *service, const char *name, size_t length)
{
	struct queue *queue;

	HASH_FIND(by_name, service->queues, name, length, queue);
	return queue;
}

struct queue *queue_get(struct service *service, const char *name, size_t length, size_t limit)
{
	struct queue *queue = queue_find(service, name, length);

	if (queue || queue_count(service) >= limit)
		return queue;
	queue = memory_get(1, sizeof(*queue));
	queue->service = service;
	memcpy(queue->name, name, length);
	HASH_ADD_KEYPTR(by_name, service->queues, queue->name, length, queue);
	return queue;
}

void queue_put(struct queue *queue)
{
	if (queue->timeouts || queue->polls || queue->prev_ready)
		return;
	HASH_DELETE(by_name, queue->service->queues, queue);
	free(queue);
}

void queue_leave(struct queue *queue)
{
	queue->timeouts--;
	queue_put(queue);
}

void queue_make_ready(struct queue *queue)
{
	if (!queue->prev_ready && queue->polls && queue->due)
		DL_APPEND2(queue->service->ready, queue, prev_ready, next_ready);
}

size_t queue_count(const struct service *service)
{
	return HASH_CNT(by_name, service->queues);
}
