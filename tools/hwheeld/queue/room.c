// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "clock/alarm.h"
#include "http/answer.h"
#include "log/log.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/room.h"
#include "queue/timeout.h"
#include "store/store.h"

/* For what a step of cleaning copies, and for records of clients that come meanwhile */
#define ROOM_CLEAN	(6 * LOG_SEGMENT_BYTES)

/* Behind all that timeouts need so much is left for what means nothing, so that cleaning gains. */
#define ROOM_GAIN	ROOM_CLEAN

/* The store gets more by so much, or by a part of what it has, where the disk has it. */
#define ROOM_STEP	(16 * LOG_SEGMENT_BYTES)
#define ROOM_STEP_PART	8

const struct room_text room_texts[ROOM_REASONS] = {
	[ROOM_RESERVE] = { "reserve", "the machine has no memory" },
	[ROOM_MEMORY] = { "memory", "the timeouts take all memory allowed" },
	[ROOM_TIMEOUTS] = { "timeouts", "there are as many timeouts as allowed" },
	[ROOM_WHEEL] = { "wheel", "the wheel is full" },
	[ROOM_DISK] = { "disk", "the disk is full: nothing has changed" },
};

/* With the inner pages of SQLite's tree */
static uint64_t room_on_disk(size_t bytes)
{
	return bytes + bytes / 8;
}

static uint64_t room_used(const struct service *service)
{
	return room_on_disk(log_bytes(service) + service->pending) + ROOM_CLEAN;
}

bool room_is_tight(const struct service *service)
{
	return service->store->room && room_used(service) > service->store->room;
}

/* Takes more of the disk before there is need of it. */
static bool room_is_on_disk(struct service *service, size_t more)
{
	struct store *store = service->store;
	uint64_t need = room_on_disk(service->timeouts_room + service->pending + more) +
			ROOM_CLEAN + ROOM_GAIN;
	uint64_t used = room_used(service) + room_on_disk(more), most = need > used ? need : used;

	if (!store->ops->reserve || store->room >= most ||
	    store->ops->reserve(store, most + ROOM_STEP + store->room / ROOM_STEP_PART))
		return true;
	return store->room >= need || store->ops->reserve(store, need);
}

bool room_widen(struct service *service)
{
	return room_is_on_disk(service, 0) && !room_is_tight(service);
}

enum room_reason room_lacks(struct service *service, const struct room_need *need)
{
	if (need->bytes && memory_is_short())
		return ROOM_RESERVE;
	if (need->bytes && service->timeouts_bytes + need->bytes > service->settings.memory)
		return ROOM_MEMORY;
	if (need->timeouts &&
	    timeout_count(service) + need->timeouts > service->settings.timeouts)
		return ROOM_TIMEOUTS;
	if (need->timeouts && alarm_beside())
		return ROOM_WHEEL;
	return need->log && !room_is_on_disk(service, need->log) ? ROOM_DISK : ROOM_REASONS;
}

enum room_reason room_lacks_any(struct service *service)
{
	const struct room_need need = {
		.timeouts = 1, .bytes = timeout_bytes_of(KEY_MAX, service->settings.payload),
		.log = timeout_room_of(KEY_MAX, service->settings.payload),
	};

	return room_lacks(service, &need);
}

static void room_give_up(struct request *request, enum request_end why)
{
	if (why != REQUEST_LATE && why != REQUEST_ENDING)
		return;
	DL_DELETE(request->service->waiters, request);
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		     "the log is being cleaned: nothing has changed");
}

bool room_wait(struct request *request)
{
	struct service *service = request->service;

	if (!room_is_tight(service))
		return false;
	request_wait(request, service, room_give_up);
	DL_APPEND(service->waiters, request);
	return true;
}

void room_go_on(struct service *service)
{
	struct request *waiters = service->waiters;

	service->waiters = NULL;
	nodes_decide_all(waiters);
}
