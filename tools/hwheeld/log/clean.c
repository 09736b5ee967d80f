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

static void clean_apply(struct change *change)
{
	change->service->log.is_cleaning = false;
	log_cleaned(change->service, change->commit.clean_before);
	room_go_on(change->service);
}

/* The loop calls clean() after alarms. */
static void clean_go_on(void *owner, uint64_t at_ns)
{
}

static void clean_undo(struct change *change)
{
	change->service->log.is_cleaning = false;
	change->service->log.owed = 0;
	alarm_set(&change->service->log.pause, now_ns() + CLEAN_PAUSE_NS, clean_go_on, NULL);
	room_go_on(change->service);
}

static bool clean_is_due(const struct service *service)
{
	uint64_t size = log_size(service);
	uint64_t bytes = service->log.segments_count * LOG_SEGMENT_BYTES;

	return service->log.segments &&
	       (room_is_tight(service) ||
		(size > CLEAN_KEEP && size / 2 > timeout_count(service)) ||
		(bytes > CLEAN_KEEP_BYTES && bytes / 2 > service->timeouts_bytes));
}

/* Where the segments end that are cleaned next, of so many bytes */
static uint64_t clean_end_of_step(const struct service *service, uint64_t *bytes)
{
	const struct segment *segment = service->log.segments;
	uint64_t most = room_is_tight(service) ? 1 :
			service->log.owed / CLEAN_STEP_PART / LOG_SEGMENT_BYTES;
	uint64_t count = 1;

	for (; segment->next && count < CLEAN_SEGMENTS_MAX && count < most; count++)
		segment = segment->next;
	*bytes = count * LOG_SEGMENT_BYTES;
	return segment->end;
}

/*
 * How many timeouts have their record before @before? The records of a busy one are in use: the
 * change on its way must not come before a record that has its old state.
 */
static size_t clean_count_live(const struct service *service, uint64_t *before)
{
	const struct timeout *timeout;
	size_t count = 0;

	DL_FOREACH2(service->oldest, timeout, newer) {
		if (timeout->seq >= *before)
			break;
		if (timeout->busy) {
			*before = timeout->seq;
			break;
		}
		count++;
	}
	return count;
}

void clean(struct service *service)
{
	struct timeout *timeout = service->oldest;
	struct change *change;
	uint64_t before, bytes;
	size_t count;

	if (service->log.is_cleaning || service->log.pause ||
	    service->store->ops->is_lost(service->store))
		return;
	/* The disk may have room by now; a database that was copied has only what it needs. */
	if (room_is_tight(service) && room_widen(service))
		room_go_on(service);
	if (!clean_is_due(service))
		return;
	before = clean_end_of_step(service, &bytes);
	count = clean_count_live(service, &before);
	if (before <= service->log.first)
		return;
	change = change_new(service, NULL, count);
	for (size_t i = 0; i < count; i++, timeout = timeout->newer) {
		change->timeouts[i] = timeout;
		timeout_describe(timeout, &change->commit.records[i]);
	}
	change->commit.clean_before = before;
	change->apply = clean_apply;
	change->undo = clean_undo;
	service->log.is_cleaning = true;
	service->log.owed -= service->log.owed < bytes ? service->log.owed : bytes;
	change_submit(change);
}
