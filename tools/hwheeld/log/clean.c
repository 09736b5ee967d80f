// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cleaning: what is live at the log's oldest end is appended again, and the end is removed, in one
 * commit. As many segments are cleaned as have been appended since the last time, twice: so
 * cleaning keeps up with any load, and costs a part of it.
 */
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "log/clean.h"
#include "log/log.h"
#include "queue/change.h"
#include "queue/room.h"

/* The log is cleaned while more than half of it means nothing, and it has more than this. */
#define CLEAN_KEEP		8192
#define CLEAN_KEEP_BYTES	8388608

/*
 * A step takes a part of what is to be cleaned: after one large batch there are several short
 * steps, between which clients are served; while large batches come without end, steps grow, up to
 * what the write-ahead log has room for behind its pages when the disk is full.
 */
#define CLEAN_STEP_PART		4
#define CLEAN_SEGMENTS_MAX	12

/* After a commit that cleans was refused, nothing is cleaned for so long. */
#define CLEAN_PAUSE_NS		NS_PER_S

static struct log *clean_log(const struct change *change)
{
	return &change->service->logs[change->commit.shard];
}

static void clean_apply(struct change *change)
{
	struct log *log = clean_log(change);

	log->is_cleaning = false;
	log_cleaned(log, change->commit.clean_before);
	room_go_on(change->service);
}

/* The loop calls clean() after alarms. */
static void clean_go_on(void *owner, uint64_t at_ns)
{
}

static void clean_undo(struct change *change)
{
	struct log *log = clean_log(change);

	log->is_cleaning = false;
	log->owed = 0;
	alarm_set(&log->pause, now_ns() + CLEAN_PAUSE_NS, clean_go_on, NULL);
	room_go_on(change->service);
}

static bool clean_is_due(const struct service *service, const struct log *log)
{
	uint64_t size = log->next - log->first;
	uint64_t bytes = log->segments_count * LOG_SEGMENT_BYTES;

	return log->segments &&
	       (room_is_tight(service) ||
		(size > CLEAN_KEEP / log_count(service) && size / 2 > log->timeouts) ||
		(bytes > CLEAN_KEEP_BYTES / log_count(service) && bytes / 2 > log->timeouts_bytes));
}

/* Where the segments end that are cleaned next, of so many bytes */
static uint64_t clean_end_of_step(const struct service *service, const struct log *log,
				  uint64_t *bytes)
{
	const struct segment *segment = log->segments;
	uint64_t most = room_is_tight(service) ? 1 :
			log->owed / CLEAN_STEP_PART / LOG_SEGMENT_BYTES;
	uint64_t count = 1;

	for (; segment->next && count < CLEAN_SEGMENTS_MAX && count < most; count++)
		segment = segment->next;
	*bytes = count * LOG_SEGMENT_BYTES;
	return segment->end;
}

/*
 * How many timeouts have their record before @before? The records of a busy one are in use: the
 * change on its way must not come before a record that has its old state. What is too much for one
 * commit of the store is left for the next step.
 */
static size_t clean_count_live(const struct service *service, const struct log *log,
			       uint64_t *before)
{
	size_t count = 0, bytes = 0, most = service->store->commit ?: SIZE_MAX;
	const struct timeout *timeout;

	DL_FOREACH2(log->oldest, timeout, newer) {
		if (timeout->seq >= *before)
			break;
		bytes += timeout_room_of(timeout->by_key.keylen, timeout->payload_length);
		if (timeout->busy || (count && bytes > most)) {
			*before = timeout->seq;
			break;
		}
		count++;
	}
	return count;
}

static void clean_log_of(struct service *service, unsigned int shard)
{
	struct log *log = &service->logs[shard];
	struct timeout *timeout = log->oldest;
	struct change *change;
	uint64_t before, bytes;
	size_t count;

	if (log->is_cleaning || log->pause || !clean_is_due(service, log))
		return;
	before = clean_end_of_step(service, log, &bytes);
	count = clean_count_live(service, log, &before);
	if (before <= log->first)
		return;
	change = change_new(service, NULL, count);
	for (size_t i = 0; i < count; i++, timeout = timeout->newer) {
		change->timeouts[i] = timeout;
		timeout_describe(timeout, &change->commit.records[i]);
	}
	change->commit.shard = shard;
	change->commit.clean_before = before;
	change->apply = clean_apply;
	change->undo = clean_undo;
	log->is_cleaning = true;
	log->owed -= log->owed < bytes ? log->owed : bytes;
	change_submit(change);
}

void clean(struct service *service)
{
	if (service->store->ops->is_lost(service->store))
		return;
	/* The disk may have room by now; a database that was copied has only what it needs. */
	if (room_is_tight(service) && room_widen(service))
		room_go_on(service);
	for (unsigned int i = 0; i < log_count(service); i++)
		clean_log_of(service, i);
}
