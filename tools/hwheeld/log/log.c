// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "log/log.h"
#include "memory.h"

void log_note(struct service *service, uint64_t seq, const struct record *record)
{
	size_t cost = log_cost(record_size(record));
	struct segment *segment;

	service->log.next = seq + 1;
	service->log.bytes += cost;
	service->log.total += cost;
	if (service->log.bytes < LOG_SEGMENT_BYTES)
		return;
	segment = memory_get(1, sizeof(*segment));
	segment->end = seq + 1;
	segment->bytes = service->log.bytes;
	DL_APPEND(service->log.segments, segment);
	service->log.segments_count++;
	service->log.bytes = 0;
}

void log_cleaned(struct service *service, uint64_t first)
{
	struct segment *segment;

	service->log.first = first;
	while ((segment = service->log.segments) && segment->end <= first) {
		DL_DELETE(service->log.segments, segment);
		service->log.segments_count--;
		service->log.total -= segment->bytes;
		free(segment);
	}
}

uint64_t log_size(const struct service *service)
{
	return service->log.next - service->log.first;
}
