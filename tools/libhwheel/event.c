// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* Events: what became of timeouts. */
#include <limits.h>
#include <unistd.h>

#include "map.h"

int hwheel_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	const size_t most = INT_MAX / sizeof(*events);
	ssize_t bytes;

	if (wheel->map)
		return mapped_next_events(wheel, events, count);
	if (count > most)
		count = most;
	bytes = read(wheel->fd, events, count * sizeof(*events));
	return bytes < 0 ? -errno : (int)(bytes / (ssize_t)sizeof(*events));
}
