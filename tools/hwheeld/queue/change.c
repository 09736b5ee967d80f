// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <utlist.h>

#include "clock/now.h"
#include "http/route.h"
#include "memory.h"
#include "queue/change.h"
#include "queue/life.h"

/* The log is cleaned while more than half of it means nothing, and it has more than this. */
#define KEEP		8192
#define KEEP_BYTES	8388608

/*
 * The log is cleaned by segments of so many bytes, and by as many of them as have been appended
 * since the last time, twice: so cleaning keeps up with any load, and costs a part of it.
 */
#define SEGMENT_BYTES	262144
#define SEGMENTS_MAX	64

/*
 * A step takes a part of what is to be cleaned: after one large batch there are several short
 * steps, between which clients are served; while large batches come without end, steps grow.
 */
#define STEP_PART	4

/* After a commit that cleans was refused, nothing is cleaned for so long. */
#define PAUSE_NS	NS_PER_S

static const char lost[] = "the store is lost: nothing has changed";

static struct store *store;

/* A part of the log, whose last record has the number before @end */
struct segment {
	struct segment *prev, *next;
	uint64_t end;
};

static struct {
	uint64_t first;			/* number of the oldest record */
	uint64_t next;			/* behind the last one that is committed */
	struct segment *segments;	/* the oldest first */
	uint64_t segments_count;
	size_t bytes;			/* behind the last segment */
	uint64_t owed;			/* bytes that are to be cleaned */
	uint64_t pause_ns;		/* nothing is cleaned until then */
	bool is_cleaning;
} records;
static size_t changes;

void change_begin(struct store *the_store)
{
	store = the_store;
}

void change_note(uint64_t seq, const struct record *record)
{
	struct segment *segment;

	records.next = seq + 1;
	records.bytes += record_size(record);
	if (records.bytes < SEGMENT_BYTES)
		return;
	segment = memory_get(1, sizeof(*segment));
	segment->end = seq + 1;
	DL_APPEND(records.segments, segment);
	records.segments_count++;
	records.bytes = 0;
}

/* The clients' records; what cleaning appends is cleaned as they are. */
static void owe(const struct change *change)
{
	if (change->request.clean_before)
		return;
	for (size_t i = 0; i < change->count; i++)
		records.owed += 2 * record_size(&change->records[i]);
}

void change_loaded(uint64_t first, uint64_t next)
{
	records.first = first;
	records.next = next;
}

size_t change_count(void)
{
	return changes;
}

uint64_t change_log_size(void)
{
	return records.next - records.first;
}

struct change *change_new(struct exchange *exchange, size_t count)
{
	struct change *change = memory_get(1, sizeof(*change));

	change->exchange = exchange;
	change->timeouts = memory_get(count, sizeof(*change->timeouts));
	change->records = memory_get(count, sizeof(*change->records));
	change->count = count;
	changes++;
	return change;
}

static void change_free(struct change *change)
{
	wish_free(change->wishes, change->count);
	json_object_put(change->answer);
	free(change->timeouts);
	free(change->records);
	free(change);
	changes--;
}

void change_wait_for(struct timeout *timeout, struct exchange *exchange)
{
	if (store->ops->is_lost(store)) {
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, lost);
		return;
	}
	exchange_suspend(exchange);
	exchange->timeout = timeout;
	DL_APPEND(timeout->waiters, exchange);
}

void change_give_up(struct exchange *exchange)
{
	if (exchange->timeout)
		DL_DELETE(exchange->timeout->waiters, exchange);
	if (exchange->change)
		exchange->change->exchange = NULL;
	exchange->timeout = NULL;
	exchange->change = NULL;
	exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
		       "the store takes too long: the change may have happened");
}

/* Those that waited for any of its timeouts */
static struct exchange *take_waiters(struct change *change)
{
	struct exchange *waiters = NULL;

	for (size_t i = 0; i < change->count; i++) {
		struct timeout *timeout = change->timeouts[i];

		timeout->busy = false;
		DL_CONCAT(waiters, timeout->waiters);
		timeout->waiters = NULL;
	}
	return waiters;
}

/* Alarms rang while they were busy. apply() may have made them busy again. */
static void catch_up(struct change *change)
{
	for (size_t i = 0; i < change->count; i++)
		if (change->timeouts[i] && !change->timeouts[i]->busy)
			life_go_on(change->timeouts[i]);
}

static void route_again(struct exchange *waiters)
{
	struct exchange *exchange, *next;

	DL_FOREACH_SAFE(waiters, exchange, next) {
		DL_DELETE(waiters, exchange);
		exchange->timeout = NULL;
		route(exchange);
	}
}

static void answer_failure(struct change *change)
{
	struct exchange *exchange = change->exchange;

	change->exchange = NULL;
	if (!exchange)
		return;
	exchange->change = NULL;
	if (change->request.outcome == STORE_UNKNOWN)
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       "the store is lost: the change may have happened");
	else if (change->request.error == -ENOSPC)
		exchange_error(exchange, MHD_HTTP_INSUFFICIENT_STORAGE,
			       "the disk is full: nothing has changed");
	else if (change->request.error == -EMSGSIZE)
		exchange_error(exchange, MHD_HTTP_CONTENT_TOO_LARGE,
			       "too much for one commit: nothing has changed");
	else if (change->request.error == -ESTALE)
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       "another node has this timeout: nothing has changed");
	else
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       lost);
}

static void committed(struct change *change)
{
	for (size_t i = 0; i < change->count; i++)
		change_note(change->request.seq + i, &change->records[i]);
	owe(change);
	if (change->exchange)
		change->exchange->change = NULL;
	change->apply(change);
}

static void refused(struct change *change)
{
	answer_failure(change);
	if (change->undo)
		change->undo(change);
}

/* Nobody knows how long it takes until the store is there again. */
void change_fail_waiters(struct timeout *timeout)
{
	struct exchange *exchange, *next;

	DL_FOREACH_SAFE(timeout->waiters, exchange, next) {
		exchange->timeout = NULL;
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, lost);
	}
	timeout->waiters = NULL;
}

static void done(struct store_request *request)
{
	struct change *change = (struct change *)request;
	struct exchange *waiters;

	if (request->outcome == STORE_UNKNOWN) {
		answer_failure(change);
		for (size_t i = 0; i < change->count; i++)
			change_fail_waiters(change->timeouts[i]);
		return;
	}
	waiters = take_waiters(change);
	if (request->outcome == STORE_COMMITTED)
		committed(change);
	else
		refused(change);
	catch_up(change);
	change_free(change);
	route_again(waiters);
}

static void make_busy(struct timeout *timeout)
{
	timeout->busy = true;
	if (timeout->prev_due)
		queue_remove_due(timeout->queue, timeout);
}

void change_submit(struct change *change)
{
	uint64_t at = now_ns(), wall = now_wall_ns();

	for (size_t i = 0; i < change->count; i++) {
		change->records[i].at_ns = at;
		change->records[i].wall_ns = wall;
		make_busy(change->timeouts[i]);
	}
	change->request.records = change->records;
	change->request.count = change->count;
	change->request.done = done;
	if (change->exchange) {
		change->exchange->change = change;
		exchange_hold(change->exchange);
	}
	store->ops->submit(store, &change->request);
}

/* Cleaning */

static void drop_segments(void)
{
	struct segment *segment;

	while ((segment = records.segments) && segment->end <= records.first) {
		DL_DELETE(records.segments, segment);
		records.segments_count--;
		free(segment);
	}
}

static void apply_clean(struct change *change)
{
	records.is_cleaning = false;
	records.first = change->request.clean_before;
	drop_segments();
	for (size_t i = 0; i < change->count; i++)
		timeout_logged(change->timeouts[i], change->request.seq + i);
}

static void undo_clean(struct change *change)
{
	(void)change;
	records.is_cleaning = false;
	records.owed = 0;
	records.pause_ns = now_ns() + PAUSE_NS;
}

static bool has_waste(void)
{
	uint64_t size = change_log_size(), bytes = records.segments_count * SEGMENT_BYTES;

	return (size > KEEP && size / 2 > timeout_count()) ||
	       (bytes > KEEP_BYTES && bytes / 2 > timeout_bytes());
}

static bool should_clean(void)
{
	return !records.is_cleaning && records.segments && has_waste() &&
	       !store->ops->is_lost(store) && now_ns() >= records.pause_ns;
}

/* Where the segments end that are cleaned next */
static uint64_t end_of_step(uint64_t *bytes)
{
	const struct segment *segment = records.segments;
	uint64_t most = records.owed / STEP_PART / SEGMENT_BYTES;
	uint64_t count = 1;

	while (segment->next && count < SEGMENTS_MAX && count < most) {
		segment = segment->next;
		count++;
	}
	*bytes = count * SEGMENT_BYTES;
	return segment->end;
}

/*
 * How many timeouts have their record before @before? The records of a busy one are in use: the
 * change on its way must not come before a record that tells its old state.
 */
static size_t count_live(uint64_t *before)
{
	struct timeout *timeout;
	size_t count = 0;

	DL_FOREACH2(timeout_oldest(), timeout, newer) {
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

void change_clean(void)
{
	struct timeout *timeout = timeout_oldest();
	struct change *change;
	uint64_t before, bytes;
	size_t count;

	if (!should_clean())
		return;
	before = end_of_step(&bytes);
	count = count_live(&before);
	if (before <= records.first)
		return;
	change = change_new(NULL, count);
	for (size_t i = 0; i < count; i++, timeout = timeout->newer) {
		change->timeouts[i] = timeout;
		timeout_describe(timeout, &change->records[i]);
	}
	change->request.clean_before = before;
	change->apply = apply_clean;
	change->undo = undo_clean;
	records.is_cleaning = true;
	records.owed -= records.owed < bytes ? records.owed : bytes;
	change_submit(change);
}
