// SPDX-License-Identifier: GPL-2.0-only
#include "clock/alarm.h"
#include "queue/room.h"
#include "queue/timeout.h"

const struct room_text room_texts[ROOM_REASONS] = {
	[ROOM_MEMORY] = { "memory", "the timeouts take all memory allowed" },
	[ROOM_TIMEOUTS] = { "timeouts", "there are as many timeouts as allowed" },
	[ROOM_WHEEL] = { "wheel", "the wheel is full" },
};

enum room_reason room_lacks(const struct service *service, size_t timeouts, size_t bytes)
{
	if (bytes && service->timeouts_bytes + bytes > service->settings.memory)
		return ROOM_MEMORY;
	if (timeouts && timeout_count(service) + timeouts > service->settings.timeouts)
		return ROOM_TIMEOUTS;
	return timeouts && alarm_beside() ? ROOM_WHEEL : ROOM_REASONS;
}

enum room_reason room_lacks_any(const struct service *service)
{
	return room_lacks(service, 1, timeout_bytes_of(KEY_MAX, service->settings.payload));
}
