// SPDX-License-Identifier: GPL-2.0-only
/*
 * All is checked before anything changes. A new timeout is in the index, and its alarm is set,
 * before its record is committed, so that nothing can fail afterwards; nobody sees it before. If
 * its alarm finds no room on the wheel, later requests for new timeouts are refused.
 */
#include <json-c/json.h>

#include "http/answer.h"
#include "hwheelctl/json.h"
#include "log/log.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/change.h"
#include "queue/life.h"
#include "queue/put.h"
#include "queue/room.h"
#include "queue/view.h"
#include "queue/wish.h"
#include "text.h"

static bool put_is_single(const struct request *request)
{
	return request->decide == put_one;
}

/* Committing */

static void put_apply(struct change *change)
{
	struct metrics *metrics = &change->service->metrics;

	for (size_t i = 0; i < change->commit.count; i++) {
		struct timeout *timeout = change->timeouts[i];
		const struct wish *wish = &change->wishes[i];

		if (wish->timeout) {
			metrics->restarted++;
			timeout->rang = false;
			if (wish->queue)
				timeout_move(timeout, wish->queue);
			timeout_take_over(timeout, &wish->record);
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
		if (!change->wishes[i].timeout) {
			timeout_remove(change->timeouts[i]);
			change->timeouts[i] = NULL;
		} else if (change->wishes[i].queue) {
			queue_leave(change->wishes[i].queue);
		}
	}
}

/* The texts are those of the JSON, which the change keeps. */
static void put_add(struct change *change, const struct wish *wish)
{
	struct timeout *timeout = wish->timeout;
	size_t i = change->commit.count++;

	change->wishes[i] = *wish;
	if (!timeout) {
		timeout = timeout_add(wish->queue, &wish->record.key);
		timeout_take_over(timeout, &wish->record);
		life_arm(timeout);
	}
	change->timeouts[i] = timeout;
	change->commit.records[i] = wish->record;
	change->commit.records[i].type = wish->timeout ? RECORD_RESTART : RECORD_PUT;
	change->commit.records[i].key = timeout_key(timeout);
}

static void put_submit(struct request *request)
{
	struct change *change = change_new(request->service, request, request->wishes_count);
	struct json_object *results = put_is_single(request) ? NULL : json_object_new_array();

	/* Nobody needs the request's own: it is decided. */
	change->json = request->json;
	change->wishes = request->wishes;
	request->json = NULL;
	request->wishes = NULL;
	change->commit.count = 0;
	change->apply = put_apply;
	change->undo = put_undo;
	change->status = MHD_HTTP_OK;
	for (size_t i = 0; i < request->wishes_count; i++) {
		const struct wish wish = change->wishes[i];
		unsigned int status = wish.timeout ? MHD_HTTP_OK : MHD_HTTP_CREATED;
		struct json_object *result;

		if (wish.timeout && wish.timeout->state == TIMEOUT_LEASED)
			status = MHD_HTTP_CONFLICT;
		else
			put_add(change, &wish);
		if (!results) {
			change->status = status;
			break;
		}
		result = json_object_new_object();
		json_object_object_add(result, "key",
				       json_object_new_string_len(wish.record.key.text,
								  (int)wish.record.key.length));
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
static struct room_need put_needs(const struct request *request)
{
	struct room_need need = { 0 };

	for (size_t i = 0; i < request->wishes_count; i++) {
		const struct wish *wish = &request->wishes[i];
		const struct timeout *timeout = wish->timeout;
		size_t key = wish->record.key.length, payload = wish->record.payload_length;

		if (timeout && timeout->state == TIMEOUT_LEASED)
			continue;
		if (timeout)
			need.replaced += log_cost(record_size(&wish->record));
		if (timeout && payload <= timeout->payload_length)
			continue;
		need.bytes += timeout_bytes_of(key, payload);
		need.log += timeout_room_of(key, payload);
		if (timeout) {
			need.bytes -= timeout_bytes_of(key, timeout->payload_length);
			need.log -= timeout_room_of(key, timeout->payload_length);
		}
		need.timeouts += !timeout;
	}
	return need;
}

/* Counts a place for each timeout that comes to a queue. Returns NULL, or what is wrong. */
static const char *put_take_places(struct request *request)
{
	struct service *service = request->service;
	size_t queues = queue_count(service);
	const char *wrong = NULL;

	for (size_t i = 0; i < request->wishes_count; i++) {
		struct wish *wish = &request->wishes[i];
		const struct timeout *timeout = wish->timeout;

		if (timeout && (timeout->state == TIMEOUT_LEASED ||
				!strcmp(timeout->queue->name, wish->record.queue)))
			continue;
		wish->queue = queue_get(service, wish->record.queue, wish->record.queue_length,
					SIZE_MAX);
		if (++wish->queue->timeouts > service->settings.queue_timeouts)
			wrong = "the queue is full";
	}
	if (!wrong && queue_count(service) > queues &&
	    queue_count(service) > service->settings.queues)
		wrong = "there are as many queues as allowed";
	for (size_t i = 0; i < request->wishes_count && wrong; i++)
		if (request->wishes[i].queue)
			queue_leave(request->wishes[i].queue);
	return wrong;
}

/* A busy timeout has all of the request wait, and be decided on again. */
static void put_decide(struct request *request)
{
	const struct wish *first = request->wishes;
	struct room_need need;
	enum room_reason lack;
	const char *wrong;

	for (size_t i = 0; i < request->wishes_count; i++) {
		struct wish *wish = &request->wishes[i];

		wish->queue = NULL;
		wish->timeout = timeout_find(request->service, &wish->record.key);
		if (wish->timeout && wish->timeout->busy) {
			change_wait_for(wish->timeout, request);
			return;
		}
		if (wish->timeout)
			life_end_lease(wish->timeout);
	}
	if (put_is_single(request) && first->timeout && request_header(request, "If-None-Match")) {
		answer_error(request, MHD_HTTP_PRECONDITION_FAILED, "there is such a timeout");
		return;
	}
	if (put_is_single(request) && first->timeout && first->timeout->state == TIMEOUT_LEASED) {
		answer_error(request, MHD_HTTP_CONFLICT, "the timeout is leased");
		return;
	}
	need = put_needs(request);
	lack = room_lacks(request->service, &need);
	if (lack != ROOM_REASONS) {
		answer_error(request, MHD_HTTP_INSUFFICIENT_STORAGE, room_texts[lack].sentence);
		return;
	}
	if (room_wait(request, need.log + need.replaced))
		return;
	wrong = put_take_places(request);
	if (wrong)
		answer_error(request, MHD_HTTP_TOO_MANY_REQUESTS, wrong);
	else
		put_submit(request);
}

/* Reading */

/* Returns NULL, or what is wrong. */
static const char *put_read_json(struct request *request, struct text_wrong *wrong)
{
	if (!memory_offers(text_json_bytes(request->body, request->length))) {
		wrong->status = MHD_HTTP_SERVICE_UNAVAILABLE;
		return ANSWER_NO_MEMORY;
	}
	request->json = text_json(request->body, request->length);
	return request->json ? text_json_mistake(request->body, wrong) : "this is not JSON";
}

static const char *put_read_one(struct request *request, struct text_wrong *wrong)
{
	const char *what;
	struct wish *wish = memory_get(1, sizeof(*wish));

	request->wishes = wish;
	request->wishes_count = 1;
	wish->record.key = request->key;
	if (!text_is_key(request->name, request->name_length))
		return "key: 1 to 256 bytes of UTF-8 without control characters are expected";
	what = put_read_json(request, wrong);
	return what ?: wish_read(wish, request->service, request->json, wrong);
}

/* A request that has waited comes again, and is read by then. */
void put_one(struct request *request)
{
	struct text_wrong wrong = { .status = MHD_HTTP_BAD_REQUEST };
	const char *what = request->wishes ? NULL : put_read_one(request, &wrong);

	if (what)
		answer_wrong(request, what, &wrong);
	else
		put_decide(request);
}

static int put_compare(const void *one, const void *other)
{
	const struct key *a = *(const struct key *const *)one;
	const struct key *b = *(const struct key *const *)other;

	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(a->text, b->text, a->length);
}

static bool put_has_twins(const struct request *request)
{
	const struct key **sorted = memory_get(request->wishes_count, sizeof(*sorted));
	bool found = false;

	for (size_t i = 0; i < request->wishes_count; i++)
		sorted[i] = &request->wishes[i].record.key;
	qsort(sorted, request->wishes_count, sizeof(*sorted), put_compare);
	for (size_t i = 1; i < request->wishes_count && !found; i++)
		found = !put_compare(&sorted[i - 1], &sorted[i]);
	free(sorted);
	return found;
}

static struct json_object *put_array(const struct request *request)
{
	struct json_object *array = NULL;

	json_object_object_get_ex(request->json, "timeouts", &array);
	return json_object_is_type(array, json_type_array) ? array : NULL;
}

static const char *put_read_many(struct request *request, struct text_wrong *wrong)
{
	const char *what = request->json ? NULL : put_read_json(request, wrong);
	struct json_object *array;

	if (what)
		return what;
	array = put_array(request);
	if (array && json_object_object_length(request->json) > 1) {
		json_object_object_foreach(request->json, name, value) {
			wrong->name = value == array ? wrong->name : name;
			wrong->length = strlen(wrong->name ?: "");
		}
		return "an unknown member: timeouts is expected";
	}
	if (!array || !json_object_array_length(array))
		return "timeouts: an array is expected, with one timeout at least";
	if (json_object_array_length(array) > request->service->settings.batch) {
		wrong->status = MHD_HTTP_CONTENT_TOO_LARGE;
		return "timeouts: too many in one request";
	}
	request->wishes_count = json_object_array_length(array);
	request->wishes = memory_get(request->wishes_count, sizeof(*request->wishes));
	for (size_t i = 0; i < request->wishes_count && !what; i++) {
		struct wish *wish = &request->wishes[i];

		what = wish_read(wish, request->service, json_object_array_get_idx(array, i),
				 wrong);
		if (!what && !wish->record.key.text)
			what = "key: each timeout needs one";
	}
	return what || !put_has_twins(request) ? what : "key: two timeouts have the same one";
}

void put_many(struct request *request)
{
	const struct nodes_ops *nodes = request->service->nodes;
	struct text_wrong wrong = { .status = MHD_HTTP_BAD_REQUEST };
	const char *what = request->wishes ? NULL : put_read_many(request, &wrong);

	if (what)
		answer_wrong(request, what, &wrong);
	else if (!nodes || !nodes->pass_batch(request, put_array(request)))
		put_decide(request);
}
