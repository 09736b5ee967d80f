// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "log/log.h"
#include "queue/walk.h"

void walk_begin(struct service *service, struct walk *walk, unsigned int shard)
{
	walk->shard = shard;
	walk->last = NULL;
	DL_APPEND(service->walks, walk);
}

void walk_end(struct service *service, struct walk *walk)
{
	DL_DELETE(service->walks, walk);
}

struct timeout *walk_step(const struct service *service, struct walk *walk)
{
	for (; walk->shard < log_count(service); walk->shard++) {
		walk->last = walk->last ? walk->last->newer : service->logs[walk->shard].oldest;
		if (walk->last)
			break;
	}
	return walk->last;
}

/* The one before the oldest is the newest, as lists of utlist(3) have it. */
void walk_leave(struct timeout *timeout)
{
	const struct service *service = timeout->queue->service;
	const struct timeout *oldest = service->logs[timeout->shard].oldest;
	struct walk *walk;

	DL_FOREACH(service->walks, walk)
		if (walk->last == timeout)
			walk->last = timeout == oldest ? NULL : timeout->older;
}
