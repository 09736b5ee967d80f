// SPDX-License-Identifier: GPL-2.0-only
/*
 * All is checked before anything changes. A new timeout is in the index, and its alarm is set,
 * before its record is committed, so that nothing can fail afterwards; nobody sees it before. If
 * its alarm finds no room on the wheel, later requests for new timeouts are refused.
 */
#include <math.h>

#include "clock/now.h"
#include "hash.h"
#include "http/answer.h"
#include "hwheelctl/json.h"
#include "hwheelctl/strict_json.h"
#include "log/log.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/change.h"
#include "queue/life.h"
#include "queue/put.h"
#include "queue/room.h"
#include "queue/view.h"
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

/* What becomes of one among many; only a status below 400 changes anything. */
static unsigned int put_status(const struct request *request, const struct timeout *timeout)
{
	if (!timeout)
		return MHD_HTTP_CREATED;
	if (request->only_creates)
		return MHD_HTTP_PRECONDITION_FAILED;
	return timeout->state == TIMEOUT_LEASED ? MHD_HTTP_CONFLICT : MHD_HTTP_OK;
}

static bool put_changes(const struct request *request, const struct timeout *timeout)
{
	return put_status(request, timeout) < MHD_HTTP_BAD_REQUEST;
}

/* Each one of many stays as it is: there is nothing to commit. */
static void put_answer_unchanged(struct change *change)
{
	answer(change->request, MHD_HTTP_OK, change->answer);
	json_object_put(change->json);
	free(change);
}

/* One of many that does not change is left out, and the answer says so. */
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
		unsigned int status = put_status(request, timeout);
		struct json_object *result;

		if (put_changes(request, timeout))
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
	if (change->commit.count)
		change_submit(change);
	else
		put_answer_unchanged(change);
}

/* Deciding */

/* What a restart takes away makes no room for others. */
static void put_need(struct room_need *need, const struct record *record,
		     const struct timeout *timeout)
{
	size_t key = record->key.length, payload = record->payload_length;

	if (timeout)
		need->replaced += log_cost(record_size(record));
	if (timeout && payload <= timeout->payload_length)
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

		if (!put_changes(change->request, timeout) ||
		    (timeout && !strcmp(timeout->queue->name, record->queue)))
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
	unsigned int status;
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
		if (put_changes(request, timeout))
			put_need(&need, record, timeout);
	}
	single = request->key.text ? change->timeouts[0] : NULL;
	status = put_status(request, single);
	if (status >= MHD_HTTP_BAD_REQUEST) {
		answer_error(request, status, status == MHD_HTTP_CONFLICT ?
			     "the timeout is leased" : "there is such a timeout");
		return;
	}
	lack = room_lacks(request->service, &need);
	if (lack != ROOM_REASONS) {
		answer_error(request, MHD_HTTP_INSUFFICIENT_STORAGE, room_texts[lack].sentence);
		return;
	}
	if (room_wait(request, need.log + need.replaced))
		return;
	wrong = put_take_places(change);
	if (wrong)
		answer_error(request, MHD_HTTP_TOO_MANY_REQUESTS, wrong);
	else
		put_submit(request);
}

/* Reading */

static bool put_is_number(struct json_object *value)
{
	return json_object_is_type(value, json_type_int) ||
	       json_object_is_type(value, json_type_double);
}

/* A text without zeros, which C would not see; or NULL */
static const char *put_text(struct json_object *value)
{
	const char *text = json_object_is_type(value, json_type_string) ?
			   json_object_get_string(value) : NULL;

	return text && strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

static const char *put_read_seconds(struct json_object *value, uint64_t *ns)
{
	double seconds = json_object_get_double(value);

	if (!isfinite(seconds) || seconds < 0 || seconds > TEXT_DATE_LAST)
		return "seconds are out of range";
	*ns = (uint64_t)ceil(seconds * 1e9);
	return NULL;
}

static const char *put_read_delay(struct record *record, const struct settings *settings,
				  struct json_object *value)
{
	const char *wrong, *text = put_text(value);
	uint64_t ns = 0;

	if (put_is_number(value))
		wrong = put_read_seconds(value, &ns);
	else
		wrong = text ? text_duration(text, &ns) :
			"delay: seconds, or a text such as \"30m\", are expected";
	if (!wrong && ns > settings->delay)
		wrong = "delay: longer than this server allows";
	record->absolute = false;
	record->deadline_ns = now_after(ns);
	return wrong;
}

static const char *put_read_deadline(struct record *record, const struct settings *settings,
				     struct json_object *value)
{
	const char *wrong = NULL, *text = put_text(value);
	uint64_t at, now = now_ns();

	if (put_is_number(value))
		wrong = put_read_seconds(value, &record->deadline_ns);
	else if (!text || !text_date(text, &record->deadline_ns))
		wrong = "deadline: seconds since 1970, or a date of RFC 3339 or HTTP, are expected";
	record->absolute = true;
	at = now_from_wall(record->deadline_ns);
	if (!wrong && at > now && at - now > settings->delay)
		wrong = "deadline: farther away than this server allows";
	return wrong;
}

static const char *put_read_member(struct record *record, const struct service *service,
				   const char *name, struct json_object *value,
				   struct text_wrong *wrong)
{
	bool is_text = json_object_is_type(value, json_type_string);
	const char *text = is_text ? json_object_get_string(value) : NULL;
	uint32_t length = is_text ? (uint32_t)json_object_get_string_len(value) : 0;

	if (!strcmp(name, "delay"))
		return put_read_delay(record, &service->settings, value);
	if (!strcmp(name, "deadline"))
		return put_read_deadline(record, &service->settings, value);
	if (!strcmp(name, "queue")) {
		record->queue = text;
		record->queue_length = length;
		return is_text && text_is_queue(text, length) ? NULL :
		       "queue: 1 to 64 letters, digits, dots, dashes or underscores are expected";
	}
	if (!strcmp(name, "payload")) {
		record->payload = text;
		record->payload_length = length;
		if (length > service->settings.payload)
			wrong->status = MHD_HTTP_CONTENT_TOO_LARGE;
		return !is_text ? "payload: a text is expected" :
		       length > service->settings.payload ?
		       "payload: larger than this server allows" : NULL;
	}
	if (strcmp(name, "key") || record->key.text) {
		wrong->name = name;
		wrong->length = strlen(name);
		return "an unknown member: delay or deadline, queue and payload are expected";
	}
	if (!is_text || !text_is_key(text, length))
		return "key: 1 to 256 bytes of UTF-8 without control characters are expected";
	record->key = hash_key(text, length, service->shards);
	return NULL;
}

/*
 * The texts of the record are those in the JSON. One that has no key gets that of the object.
 * Returns NULL, or what is wrong; only then @wrong may change.
 */
static const char *put_read_one(struct record *record, const struct service *service,
				struct json_object *object, struct text_wrong *wrong)
{
	const char *what;

	if (!json_object_is_type(object, json_type_object))
		return "a JSON object is expected";
	record->type = RECORD_PUT;
	record->queue = "default";
	record->queue_length = strlen("default");
	json_object_object_foreach(object, name, value) {
		what = put_read_member(record, service, name, value, wrong);
		if (what)
			return what;
	}
	return json_object_object_get_ex(object, "delay", NULL) ==
	       json_object_object_get_ex(object, "deadline", NULL) ?
	       "either delay or deadline is expected" : NULL;
}

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

		what = put_read_one(record, request->service,
				    json_object_array_get_idx(array, i), wrong);
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
	struct record *record;

	if (request->key.text && !text_is_key(request->name, request->name_length))
		return "key: 1 to 256 bytes of UTF-8 without control characters are expected";
	if (!request->json && !memory_offers(text_json_bytes(request->body, request->length))) {
		wrong->status = MHD_HTTP_SERVICE_UNAVAILABLE;
		return ANSWER_NO_MEMORY;
	}
	if (!request->json) {
		request->json = strict_json(request->body, request->length);
		what = request->json ? strict_json_mistake(request->body, &wrong->name,
							    &wrong->length) :
		       "this is not JSON";
	}
	if (what || !request->key.text)
		return what ?: put_read_many(request, wrong);
	request->change = change_new(request->service, request, 1);
	record = request->change->commit.records;
	record->key = request->key;
	return put_read_one(record, request->service, request->json, wrong);
}

/* A request that has waited comes again, and is read by then. */
void put(struct request *request)
{
	const struct nodes_ops *nodes = request->service->nodes;
	struct text_wrong wrong = { .status = MHD_HTTP_BAD_REQUEST };
	const char *what = NULL;

	if (!request->change) {
		request->only_creates = request_only_creates(request);
		what = put_read(request, &wrong);
	}
	if (what)
		answer_wrong(request, what, &wrong);
	else if (!nodes || !nodes->pass_batch(request))
		put_decide(request);
}
