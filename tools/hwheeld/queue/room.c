// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "clock/alarm.h"
#include "http/answer.h"
#include "log/log.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/room.h"
#include "queue/timeout.h"
#include "queue/view.h"
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

bool room_is_full(const struct service *service)
{
	return service->store->room && room_used(service) > service->store->room;
}

bool room_is_tight(const struct service *service)
{
	return service->store->room &&
	       room_used(service) + room_on_disk(service->wanted) > service->store->room;
}

/*
 * Takes more of the disk before there is need of it. What replaces other records needs its room
 * only until these are cleaned.
 */
static bool room_is_on_disk(struct service *service, size_t more, size_t replaced)
{
	struct store *store = service->store;
	size_t lasting = service->timeouts_room + service->pending + more;
	uint64_t need = room_on_disk(lasting) + ROOM_CLEAN + (more ? ROOM_GAIN : 0);
	uint64_t once = room_on_disk(lasting + replaced) + ROOM_CLEAN;
	uint64_t used = room_used(service) + room_on_disk(more + replaced), most;

	need = need > once ? need : once;
	most = need > used ? need : used;
	if (!store->ops->reserve || store->room >= most ||
	    store->ops->reserve(store, most + ROOM_STEP + store->room / ROOM_STEP_PART))
		return true;
	return store->room >= need || store->ops->reserve(store, need);
}

bool room_widen(struct service *service)
{
	return room_is_on_disk(service, 0, service->wanted) && !room_is_tight(service);
}

enum room_reason room_lacks(struct service *service, const struct room_need *need)
{
	if (need->bytes && (memory_is_short() || !memory_offers(need->bytes)))
		return ROOM_RESERVE;
	if (need->bytes && service->timeouts_bytes + need->bytes > service->settings.memory)
		return ROOM_MEMORY;
	if (need->timeouts &&
	    timeout_count(service) + need->timeouts > service->settings.timeouts)
		return ROOM_TIMEOUTS;
	if (need->timeouts && alarm_beside())
		return ROOM_WHEEL;
	if ((need->log || need->replaced) &&
	    !room_is_on_disk(service, need->log, need->replaced))
		return ROOM_DISK;
	return ROOM_REASONS;
}

enum room_reason room_lacks_any(struct service *service)
{
	const struct room_need need = {
		.timeouts = 1, .bytes = timeout_bytes_of(KEY_MAX, service->settings.payload),
		.log = timeout_room_of(KEY_MAX, service->settings.payload),
	};

	/* The request for it needs memory, too. */
	if (memory_is_short() || !memory_has(VIEW_PAYLOAD(need.bytes)))
		return ROOM_RESERVE;
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

bool room_wait(struct request *request, size_t bytes)
{
	struct service *service = request->service;

	if (!service->store->room ||
	    room_used(service) + room_on_disk(bytes) <= service->store->room)
		return false;
	if (bytes > service->wanted)
		service->wanted = bytes;
	request_wait(request, service, room_give_up);
	DL_APPEND(service->waiters, request);
	return true;
}

void room_go_on(struct service *service)
{
	struct request *waiters = service->waiters;

	service->waiters = NULL;
	service->wanted = 0;
	nodes_decide_all(waiters);
}
