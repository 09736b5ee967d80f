// SPDX-License-Identifier: GPL-2.0-only
/*
 * All is checked before anything changes. A new timeout is in the index, and its alarm is set,
 * before its record is committed, so that nothing can fail afterwards; nobody sees it before. If
 * its alarm finds no room on the wheel, later requests for new timeouts are refused.
 */
#include <json-c/json.h>

#include "http/answer.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/change.h"
#include "queue/life.h"
#include "queue/put.h"
#include "queue/room.h"
#include "queue/view.h"
#include "queue/wish.h"
#include "text.h"

/* Committing */

static void put_apply(struct change *change)
{
	struct metrics *metrics = &change->service->metrics;

	for (size_t i = 0; i < change->commit.count; i++) {
		const struct record *record = &change->commit.records[i];
		struct timeout *timeout = change->timeouts[i];

		if (record->type == RECORD_RESTART) {
			metrics->restarted++;
			timeout->rang = false;
			if (change->queues[i])
				timeout_move(timeout, change->queues[i]);
			timeout_take_over(timeout, record);
		} else {
			metrics->put++;
		}
		timeout->state = TIMEOUT_PENDING;
		if (!timeout->rang)
			life_arm(timeout);
	}
	if (!change->request)
		return;
	answer(change->request, change->status,
	       change->answer ?: view_timeout(change->timeouts[0], false));
	change->answer = NULL;
}

static void put_undo(struct change *change)
{
	for (size_t i = 0; i < change->commit.count; i++) {
		if (change->commit.records[i].type == RECORD_PUT) {
			timeout_remove(change->timeouts[i]);
			change->timeouts[i] = NULL;
		} else if (change->queues[i]) {
			queue_leave(change->queues[i]);
		}
	}
}

/* The next one of the change is what was its @i-th. */
static void put_add(struct change *change, size_t i)
{
	struct timeout *timeout = change->timeouts[i];
	size_t next = change->commit.count++;
	struct record *record = &change->commit.records[next];

	*record = change->commit.records[i];
	record->type = timeout ? RECORD_RESTART : RECORD_PUT;
	change->queues[next] = change->queues[i];
	if (!timeout) {
		timeout = timeout_add(change->queues[i], &record->key);
		timeout_take_over(timeout, record);
		life_arm(timeout);
	}
	change->timeouts[next] = timeout;
	record->key = timeout_key(timeout);
}

/* A leased timeout among many is left out, and the answer says so. */
static void put_submit(struct request *request)
{
	struct change *change = request->change;
	struct json_object *results = request->key.text ? NULL : json_object_new_array();
	size_t count = change->commit.count;

	/* Nobody needs the request's own: it is decided. */
	change->json = request->json;
	request->json = NULL;
	request->change = NULL;
	change->commit.count = 0;
	change->apply = put_apply;
	change->undo = put_undo;
	change->status = MHD_HTTP_OK;
	for (size_t i = 0; i < count; i++) {
		const struct timeout *timeout = change->timeouts[i];
		const struct key key = change->commit.records[i].key;
		unsigned int status = timeout ? MHD_HTTP_OK : MHD_HTTP_CREATED;
		struct json_object *result;

		if (timeout && timeout->state == TIMEOUT_LEASED)
			status = MHD_HTTP_CONFLICT;
		else
			put_add(change, i);
		if (!results) {
			change->status = status;
			break;
		}
		result = json_object_new_object();
		json_add_bytes(result, "key", key.text, key.length);
		json_add_number(result, "status", status);
		json_object_array_add(results, result);
	}
	if (results) {
		change->answer = json_object_new_object();
		json_object_object_add(change->answer, "results", results);
	}
	change_submit(change);
}

/* Deciding */

/* What a restart takes away makes no room for others. */
static void put_need(struct room_need *need, const struct record *record,
		     const struct timeout *timeout)
{
	size_t key = record->key.length, payload = record->payload_length;

	if (timeout && (timeout->state == TIMEOUT_LEASED || payload <= timeout->payload_length))
		return;
	need->bytes += timeout_bytes_of(key, payload);
	need->log += timeout_room_of(key, payload);
	if (timeout) {
		need->bytes -= timeout_bytes_of(key, timeout->payload_length);
		need->log -= timeout_room_of(key, timeout->payload_length);
	}
	need->timeouts += !timeout;
}

/* Counts a place for each timeout that comes to a queue. Returns NULL, or what is wrong. */
static const char *put_take_places(struct change *change)
{
	struct service *service = change->service;
	size_t queues = queue_count(service);
	const char *wrong = NULL;

	for (size_t i = 0; i < change->commit.count; i++) {
		const struct record *record = &change->commit.records[i];
		const struct timeout *timeout = change->timeouts[i];

		if (timeout && (timeout->state == TIMEOUT_LEASED ||
				!strcmp(timeout->queue->name, record->queue)))
			continue;
		change->queues[i] = queue_get(service, record->queue, record->queue_length,
					      SIZE_MAX);
		if (++change->queues[i]->timeouts > service->settings.queue_timeouts)
			wrong = "the queue is full";
	}
	if (!wrong && queue_count(service) > queues &&
	    queue_count(service) > service->settings.queues)
		wrong = "there are as many queues as allowed";
	for (size_t i = 0; i < change->commit.count && wrong; i++)
		if (change->queues[i])
			queue_leave(change->queues[i]);
	return wrong;
}

/* A busy timeout has all of the request wait, and be decided on again. */
static void put_decide(struct request *request)
{
	struct change *change = request->change;
	struct room_need need = { 0 };
	const struct timeout *single;
	enum room_reason lack;
	const char *wrong;

	for (size_t i = 0; i < change->commit.count; i++) {
		const struct record *record = &change->commit.records[i];
		struct timeout *timeout = timeout_find(request->service, &record->key);

		change->timeouts[i] = timeout;
		if (timeout && timeout->busy) {
			change_wait_for(timeout, request);
			return;
		}
		if (timeout)
			life_end_lease(timeout);
		put_need(&need, record, timeout);
	}
	single = request->key.text ? change->timeouts[0] : NULL;
	if (single && request_header(request, "If-None-Match")) {
		answer_error(request, MHD_HTTP_PRECONDITION_FAILED, "there is such a timeout");
		return;
	}
	if (single && single->state == TIMEOUT_LEASED) {
		answer_error(request, MHD_HTTP_CONFLICT, "the timeout is leased");
		return;
	}
	lack = room_lacks(request->service, &need);
	if (lack != ROOM_REASONS) {
		answer_error(request, MHD_HTTP_INSUFFICIENT_STORAGE, room_texts[lack].sentence);
		return;
	}
	if (room_wait(request))
		return;
	wrong = put_take_places(change);
	if (wrong)
		answer_error(request, MHD_HTTP_TOO_MANY_REQUESTS, wrong);
	else
		put_submit(request);
}

/* Reading */

static int put_compare(const void *one, const void *other)
{
	const struct key *a = *(const struct key *const *)one;
	const struct key *b = *(const struct key *const *)other;

	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(a->text, b->text, a->length);
}

static bool put_has_twins(const struct store_request *commit)
{
	const struct key **sorted = memory_get(commit->count, sizeof(*sorted));
	bool found = false;

	for (size_t i = 0; i < commit->count; i++)
		sorted[i] = &commit->records[i].key;
	qsort(sorted, commit->count, sizeof(*sorted), put_compare);
	for (size_t i = 1; i < commit->count && !found; i++)
		found = !put_compare(&sorted[i - 1], &sorted[i]);
	free(sorted);
	return found;
}

static const char *put_read_many(struct request *request, struct text_wrong *wrong)
{
	struct json_object *array = NULL;
	const char *what = NULL;

	json_object_object_get_ex(request->json, "timeouts", &array);
	if (!json_object_is_type(array, json_type_array))
		return "timeouts: an array is expected, with one timeout at least";
	if (json_object_object_length(request->json) > 1) {
		json_object_object_foreach(request->json, name, value) {
			wrong->name = value == array ? wrong->name : name;
			wrong->length = strlen(wrong->name ?: "");
		}
		return "an unknown member: timeouts is expected";
	}
	if (!json_object_array_length(array))
		return "timeouts: an array is expected, with one timeout at least";
	if (json_object_array_length(array) > request->service->settings.batch) {
		wrong->status = MHD_HTTP_CONTENT_TOO_LARGE;
		return "timeouts: too many in one request";
	}
	request->change = change_new(request->service, request, json_object_array_length(array));
	for (size_t i = 0; i < request->change->commit.count && !what; i++) {
		struct record *record = &request->change->commit.records[i];

		what = wish_read(record, request->service, json_object_array_get_idx(array, i),
				 wrong);
		if (!what && !record->key.text)
			what = "key: each timeout needs one";
	}
	if (!what && put_has_twins(&request->change->commit))
		what = "key: two timeouts have the same one";
	return what;
}

/* Returns NULL, or what is wrong. */
static const char *put_read(struct request *request, struct text_wrong *wrong)
{
	const char *what = NULL;

	if (request->key.text && !text_is_key(request->name, request->name_length))
		return "key: 1 to 256 bytes of UTF-8 without control characters are expected";
	if (!request->json) {
		request->json = text_json(request->body, request->length);
		what = request->json ? text_json_mistake(request->body, wrong) :
		       "this is not JSON";
	}
	if (what || !request->key.text)
		return what ?: put_read_many(request, wrong);
	request->change = change_new(request->service, request, 1);
	request->change->commit.records->key = request->key;
	return wish_read(request->change->commit.records, request->service, request->json, wrong);
}

/* A request that has waited comes again, and is read by then. */
void put(struct request *request)
{
	const struct nodes_ops *nodes = request->service->nodes;
	struct text_wrong wrong = { .status = MHD_HTTP_BAD_REQUEST };
	const char *what = request->change ? NULL : put_read(request, &wrong);

	if (what)
		answer_wrong(request, what, &wrong);
	else if (!nodes || !nodes->pass_batch(request))
		put_decide(request);
}
