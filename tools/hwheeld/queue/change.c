// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <json-c/json.h>
#include <utlist.h>

#include "clock/now.h"
#include "http/answer.h"
#include "log/log.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/change.h"
#include "queue/life.h"

static const char change_lost[] = "the store is lost: nothing has changed";
static const char change_slow[] = "the store takes too long: the change may have happened";

struct change *change_new(struct service *service, struct request *request, size_t count)
{
	size_t each = sizeof(struct record) + sizeof(struct timeout *) + sizeof(struct queue *);
	struct change *change = memory_get(1, sizeof(*change) + count * each);

	change->service = service;
	change->request = request;
	change->commit.records = (struct record *)(change + 1);
	change->timeouts = (struct timeout **)(change->commit.records + count);
	change->queues = (struct queue **)(change->timeouts + count);
	change->commit.count = count;
	return change;
}

/* Waiting for another change */

static void change_leave(struct request *request, enum request_end why)
{
	struct timeout *timeout = request->waits_for;

	if (why != REQUEST_LATE)
		return;
	DL_DELETE(timeout->waiters, request);
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, change_slow);
}

void change_wait_for(struct timeout *timeout, struct request *request)
{
	struct store *store = request->service->store;

	if (store->ops->is_lost(store)) {
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, change_lost);
		return;
	}
	request_wait(request, timeout, change_leave);
	DL_APPEND(timeout->waiters, request);
}

/* Nobody knows how long it takes until the store is there again. */
void change_fail_waiters(struct timeout *timeout)
{
	struct request *request, *next;

	DL_FOREACH_SAFE(timeout->waiters, request, next)
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, change_lost);
	timeout->waiters = NULL;
}

/* The commit has ended */

static void change_answer_failure(struct change *change)
{
	struct request *request = change->request;
	unsigned int status = MHD_HTTP_SERVICE_UNAVAILABLE;
	const char *why = change_lost;

	change->request = NULL;
	if (!request)
		return;
	if (change->commit.outcome == STORE_UNKNOWN) {
		why = "the store is lost: the change may have happened";
	} else if (change->commit.error == -ENOSPC) {
		status = MHD_HTTP_INSUFFICIENT_STORAGE;
		why = "the disk is full: nothing has changed";
	} else if (change->commit.error == -EMSGSIZE) {
		status = MHD_HTTP_CONTENT_TOO_LARGE;
		why = "too much for one commit: nothing has changed";
	} else if (change->commit.error == -ESTALE) {
		why = "another node has this timeout: nothing has changed";
	}
	answer_error(request, status, why);
}

/* What cleaning appends is cleaned as the clients' records are. */
static void change_log(struct change *change)
{
	struct service *service = change->service;

	for (size_t i = 0; i < change->commit.count; i++) {
		const struct record *record = &change->commit.records[i];

		log_note(service, record);
		if (record->type <= RECORD_RESTART)
			timeout_logged(change->timeouts[i], record->seq);
		if (!change->commit.clean_before)
			service->logs[record->key.shard].owed += 2 * log_cost(record_size(record));
	}
}

/* Requests that waited for any of the timeouts are decided on when all of the change is over. */
static void change_done(struct store_request *commit)
{
	struct change *change = (struct change *)commit;
	struct request *waiters = NULL;

	change->service->pending -= commit->bytes;
	commit->bytes = 0;
	if (commit->outcome == STORE_UNKNOWN) {
		change_answer_failure(change);
		for (size_t i = 0; i < change->commit.count; i++)
			change_fail_waiters(change->timeouts[i]);
		return;
	}
	for (size_t i = 0; i < change->commit.count; i++) {
		change->timeouts[i]->busy = false;
		DL_CONCAT(waiters, change->timeouts[i]->waiters);
		change->timeouts[i]->waiters = NULL;
	}
	if (commit->outcome == STORE_COMMITTED) {
		change_log(change);
		if (change->apply)
			change->apply(change);
	} else {
		change_answer_failure(change);
		if (change->undo)
			change->undo(change);
	}
	/* Alarms rang while they were busy, which apply() may have made them again. */
	for (size_t i = 0; i < change->commit.count; i++)
		if (change->timeouts[i] && !change->timeouts[i]->busy)
			life_go_on(change->timeouts[i]);
	change->service->changes--;
	json_object_put(change->json);
	json_object_put(change->answer);
	free(change);
	nodes_decide_all(waiters);
}

/* The request's time is over, or its client is: what it asked for may happen. */
static void change_give_up(struct request *request, enum request_end why)
{
	struct change *change = request->waits_for;

	if (why != REQUEST_LATE)
		return;
	change->request = NULL;
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, change_slow);
}

void change_submit(struct change *change)
{
	struct store *store = change->service->store;
	uint64_t at = now_ns(), wall = now_wall_ns();

	for (size_t i = 0; i < change->commit.count; i++) {
		change->commit.records[i].at_ns = at;
		change->commit.records[i].wall_ns = wall;
		change->commit.bytes += log_cost(record_size(&change->commit.records[i]));
		change->timeouts[i]->busy = true;
		timeout_drop_due(change->timeouts[i]);
	}
	change->service->changes++;
	change->service->pending += change->commit.bytes;
	change->commit.done = change_done;
	if (change->request)
		request_hold(change->request, change, change_give_up);
	store->ops->submit(store, &change->commit);
}
