// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "log/log.h"
#include "memory.h"

unsigned int log_count(const struct service *service)
{
	return service->shards ?: 1;
}

void log_begin(struct service *service)
{
	service->logs = memory_get(log_count(service), sizeof(*service->logs));
}

static void log_grow(struct log *log, uint64_t number, size_t cost)
{
	struct segment *segment;

	log->first = log->first ?: number;
	log->next = number + 1;
	log->bytes += cost;
	log->total += cost;
	if (log->bytes < LOG_SEGMENT_BYTES)
		return;
	segment = memory_get(1, sizeof(*segment));
	segment->end = log->next;
	segment->bytes = log->bytes;
	DL_APPEND(log->segments, segment);
	log->segments_count++;
	log->bytes = 0;
}

void log_note(struct service *service, const struct record *record)
{
	log_grow(&service->logs[record->key.shard], record->seq, log_cost(record_size(record)));
}

void log_note_commit(struct service *service, unsigned int shard, uint64_t first)
{
	log_grow(&service->logs[shard], first, LOG_COMMIT_BYTES);
}

void log_cleaned(struct log *log, uint64_t first)
{
	struct segment *segment;

	log->first = first;
	while ((segment = log->segments) && segment->end <= first) {
		DL_DELETE(log->segments, segment);
		log->segments_count--;
		log->total -= segment->bytes;
		free(segment);
	}
}

void log_forget(struct log *log)
{
	log_cleaned(log, UINT64_MAX);
	*log = (struct log) { 0 };
}

uint64_t log_size(const struct service *service)
{
	uint64_t size = 0;

	for (unsigned int i = 0; i < log_count(service); i++)
		size += service->logs[i].next - service->logs[i].first;
	return size;
}

uint64_t log_bytes(const struct service *service)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < log_count(service); i++)
		bytes += service->logs[i].total;
	return bytes;
}
