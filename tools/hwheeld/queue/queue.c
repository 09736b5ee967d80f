// SPDX-License-Identifier: GPL-2.0-only
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
	if (queue->timeouts || queue->polls || queue->is_ready)
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
	struct service *service = queue->service;

	if (queue->is_ready || !queue->polls || !queue->due)
		return;
	queue->is_ready = true;
	queue->next_ready = NULL;
	if (service->ready)
		service->ready_last->next_ready = queue;
	else
		service->ready = queue;
	service->ready_last = queue;
}

struct queue *queue_next_ready(struct service *service)
{
	struct queue *queue = service->ready;

	if (!queue)
		return NULL;
	service->ready = queue->next_ready;
	queue->is_ready = false;
	return queue;
}

size_t queue_count(const struct service *service)
{
	return HASH_CNT(by_name, service->queues);
}
