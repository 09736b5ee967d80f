// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <utlist.h>

#include "change.h"
#include "life.h"
#include "memory.h"
#include "now.h"
#include "route.h"

/* The log is cleaned while more than half of it means nothing, and it has more than so many. */
#define KEEP		8192

/* Records that one change cleans away, of which at most half are appended again */
#define CLEAN_STEP	1024

static const char lost[] = "the store is lost: nothing has changed";

static struct store *store;
static struct {
	uint64_t first;			/* number of the oldest record */
	uint64_t next;			/* behind the last one that is committed */
	bool is_cleaning;
} records;
static size_t changes;

void change_begin(struct store *the_store)
{
	store = the_store;
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
	DL_APPEND(timeout->waiters, exchange);
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

/* What happened to them while they were busy */
static void catch_up(struct change *change)
{
	for (size_t i = 0; i < change->count; i++)
		if (change->timeouts[i])
			life_go_on(change->timeouts[i]);
}

static void route_again(struct exchange *waiters)
{
	struct exchange *exchange, *next;

	DL_FOREACH_SAFE(waiters, exchange, next) {
		DL_DELETE(waiters, exchange);
		route(exchange);
	}
}

static void answer_failure(struct change *change)
{
	struct exchange *exchange = change->exchange;

	change->exchange = NULL;
	if (!exchange)
		return;
	if (change->request.outcome == STORE_UNKNOWN)
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       "the store is lost: the change may have happened");
	else if (change->request.error == -ENOSPC)
		exchange_error(exchange, MHD_HTTP_INSUFFICIENT_STORAGE,
			       "the disk is full: nothing has changed");
	else
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       lost);
}

static void committed(struct change *change)
{
	records.next = change->request.seq + change->count;
	change->apply(change);
}

static void refused(struct change *change)
{
	answer_failure(change);
	if (change->undo)
		change->undo(change);
}

/* Nobody knows how long it takes until the store is there again. */
static void fail_waiters(struct change *change)
{
	struct exchange *exchange, *next;

	for (size_t i = 0; i < change->count; i++) {
		DL_FOREACH_SAFE(change->timeouts[i]->waiters, exchange, next)
			exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, lost);
		change->timeouts[i]->waiters = NULL;
	}
}

static void done(struct store_request *request)
{
	struct change *change = (struct change *)request;
	struct exchange *waiters;

	if (request->outcome == STORE_UNKNOWN) {
		answer_failure(change);
		fail_waiters(change);
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
	if (change->exchange)
		exchange_suspend(change->exchange);
	store->ops->submit(store, &change->request);
}

/* Cleaning */

static void apply_clean(struct change *change)
{
	records.is_cleaning = false;
	records.first = change->request.clean_before;
	for (size_t i = 0; i < change->count; i++)
		timeout_logged(change->timeouts[i], change->request.seq + i);
}

static void undo_clean(struct change *change)
{
	(void)change;
	records.is_cleaning = false;
}

static bool should_clean(void)
{
	uint64_t size = change_log_size();

	return !records.is_cleaning && size > KEEP && size / 2 > timeout_count() &&
	       !store->ops->is_lost(store);
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
		if (timeout->busy || count == CLEAN_STEP / 2) {
			*before = timeout->seq;
			break;
		}
		count++;
	}
	return count;
}

void change_clean(void)
{
	uint64_t before = records.first + CLEAN_STEP;
	struct timeout *timeout = timeout_oldest();
	struct change *change;
	size_t count;

	if (!should_clean())
		return;
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
	change_submit(change);
}
