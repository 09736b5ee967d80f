// SPDX-License-Identifier: GPL-2.0-only
/*
 * All is checked before anything changes. A new timeout is in the index, and its alarm is set,
 * before its record is committed, so that nothing can fail afterwards; nobody sees it before. If
 * its alarm finds no room on the wheel, later requests for new timeouts are refused.
 */
#include <stdio.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/metrics.h"
#include "http/show.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/change.h"
#include "queue/life.h"
#include "queue/put.h"
#include "settings.h"

struct put {
	struct exchange *exchange;
	struct wish *wishes;
	size_t count;
	bool single;
};

static void refuse(struct put *put, unsigned int status, const char *why)
{
	wish_free(put->wishes, put->count);
	exchange_error(put->exchange, status, why);
}

static struct timeout *find(const struct wish *wish)
{
	return timeout_find(wish->key, wish->key_length);
}

/* A busy timeout has all of the request wait, and be looked at again. */
static bool has_to_wait(struct put *put)
{
	for (size_t i = 0; i < put->count; i++) {
		struct timeout *timeout = find(&put->wishes[i]);

		if (!timeout || !timeout->busy)
			continue;
		wish_free(put->wishes, put->count);
		change_wait_for(timeout, put->exchange);
		return true;
	}
	return false;
}

static int compare(const void *one, const void *other)
{
	const struct wish *a = *(const struct wish *const *)one;
	const struct wish *b = *(const struct wish *const *)other;

	if (a->key_length != b->key_length)
		return a->key_length < b->key_length ? -1 : 1;
	return memcmp(a->key, b->key, a->key_length);
}

static bool has_twins(const struct put *put)
{
	const struct wish **sorted = memory_get(put->count, sizeof(*sorted));
	bool found = false;

	for (size_t i = 0; i < put->count; i++)
		sorted[i] = &put->wishes[i];
	qsort(sorted, put->count, sizeof(*sorted), compare);
	for (size_t i = 1; i < put->count && !found; i++)
		found = !compare(&sorted[i - 1], &sorted[i]);
	free(sorted);
	return found;
}

/* Bytes that the wish adds; what a restart takes away makes no room for others. */
static size_t growth(const struct wish *wish, const struct timeout *timeout)
{
	if (!timeout)
		return timeout_bytes_of(wish->key_length, wish->payload_length);
	return timeout->state != TIMEOUT_LEASED && wish->payload_length > timeout->payload_length ?
	       wish->payload_length - timeout->payload_length : 0;
}

/* Is there room? A restart needs none for another timeout. */
static bool is_within_limits(struct put *put)
{
	size_t bytes = 0, new = 0;

	for (size_t i = 0; i < put->count; i++) {
		const struct timeout *timeout = find(&put->wishes[i]);

		bytes += growth(&put->wishes[i], timeout);
		new += !timeout;
	}
	if (bytes && timeout_bytes() + bytes > settings.memory) {
		refuse(put, MHD_HTTP_INSUFFICIENT_STORAGE, "the timeouts take all memory allowed");
		return false;
	}
	if (new && timeout_count() + new > settings.timeouts) {
		refuse(put, MHD_HTTP_INSUFFICIENT_STORAGE, "there are as many timeouts as allowed");
		return false;
	}
	if (new && alarm_beside()) {
		refuse(put, MHD_HTTP_INSUFFICIENT_STORAGE, "the wheel is full");
		return false;
	}
	return true;
}

static int compare_queues(const void *one, const void *other)
{
	const struct wish *a = *(const struct wish *const *)one;
	const struct wish *b = *(const struct wish *const *)other;

	return strcmp(a->queue, b->queue);
}

/* Does the timeout come to a queue that it is not in? One that is leased stays. */
static bool is_new_there(const struct wish *wish)
{
	const struct timeout *timeout = find(wish);

	return !timeout || (timeout->state != TIMEOUT_LEASED &&
			    strcmp(timeout->queue->name, wish->queue));
}

/* The wishes for timeouts that are new in their queues, by queue */
static size_t sort_new(const struct put *put, const struct wish **sorted)
{
	size_t count = 0;

	for (size_t i = 0; i < put->count; i++)
		if (is_new_there(&put->wishes[i]))
			sorted[count++] = &put->wishes[i];
	qsort(sorted, count, sizeof(*sorted), compare_queues);
	return count;
}

static const char *what_is_full(const struct wish **sorted, size_t count)
{
	size_t new_queues = 0;

	for (size_t i = 0, next; i < count; i = next) {
		const struct queue *queue = queue_find(sorted[i]->queue, sorted[i]->queue_length);

		for (next = i + 1; next < count && !compare_queues(&sorted[i], &sorted[next]);)
			next++;
		new_queues += !queue;
		if ((queue ? queue->timeouts : 0) + (next - i) > settings.queue_timeouts)
			return "the queue is full";
	}
	return new_queues && queue_count() + new_queues > settings.queues ?
	       "there are as many queues as allowed" : NULL;
}

static bool has_queues(struct put *put)
{
	const struct wish **sorted = memory_get(put->count, sizeof(*sorted));
	const char *full = what_is_full(sorted, sort_new(put, sorted));

	free(sorted);
	if (full)
		refuse(put, MHD_HTTP_TOO_MANY_REQUESTS, full);
	return !full;
}

static void describe(const struct wish *wish, struct record *record)
{
	*record = (struct record) {
		.type = RECORD_RESTART,
		.absolute = wish->absolute,
		.deadline_ns = wish->deadline_ns,
		.key = wish->key,
		.key_length = wish->key_length,
		.queue = wish->queue,
		.queue_length = wish->queue_length,
		.payload = wish->payload,
		.payload_length = wish->payload_length,
	};
}

static void take_over(struct timeout *timeout, const struct wish *wish)
{
	timeout->absolute = wish->absolute;
	timeout->deadline_ns = wish->deadline_ns;
	timeout->deliveries = 0;
	timeout_set_payload(timeout, wish->payload, wish->payload_length);
}

static struct queue *queue_of(const struct wish *wish)
{
	return queue_get(wish->queue, wish->queue_length, SIZE_MAX);
}

static void apply_one(struct timeout *timeout, const struct wish *wish)
{
	if (timeout->state == TIMEOUT_NEW) {
		metrics.put++;
	} else {
		metrics.restarted++;
		timeout->rang = false;
		timeout_move(timeout, queue_of(wish));
		take_over(timeout, wish);
	}
	timeout->state = TIMEOUT_PENDING;
	if (!timeout->rang)
		life_arm(timeout);
}

static void apply(struct change *change)
{
	for (size_t i = 0; i < change->count; i++) {
		apply_one(change->timeouts[i], &change->wishes[i]);
		timeout_logged(change->timeouts[i], change->request.seq + i);
	}
	if (!change->exchange)
		return;
	if (!change->answer)
		change->answer = show_timeout(change->timeouts[0], false);
	exchange_answer(change->exchange, change->status, change->answer);
	change->answer = NULL;
}

static void undo(struct change *change)
{
	for (size_t i = 0; i < change->count; i++) {
		if (change->timeouts[i]->state != TIMEOUT_NEW)
			continue;
		timeout_remove(change->timeouts[i]);
		change->timeouts[i] = NULL;
	}
}

static struct timeout *create(const struct wish *wish)
{
	struct timeout *timeout = timeout_add(wish->key, wish->key_length, queue_of(wish));

	take_over(timeout, wish);
	life_arm(timeout);
	return timeout;
}

static void add_result(struct json_object *results, const struct wish *wish, unsigned int status)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "key",
			       json_object_new_string_len(wish->key, (int)wish->key_length));
	json_object_object_add(object, "status", json_object_new_int((int)status));
	json_object_array_add(results, object);
}

/* The wish moves into the change, or ends here if the timeout is leased. */
static unsigned int add(struct change *change, struct wish *wish)
{
	struct timeout *timeout = find(wish);
	unsigned int status = timeout ? MHD_HTTP_OK : MHD_HTTP_CREATED;
	size_t i = change->count;

	if (timeout && timeout->state == TIMEOUT_LEASED)
		return MHD_HTTP_CONFLICT;
	change->timeouts[i] = timeout ?: create(wish);
	change->wishes[i] = *wish;
	describe(&change->wishes[i], &change->records[i]);
	if (!timeout)
		change->records[i].type = RECORD_PUT;
	change->status = status;
	change->count++;
	*wish = (struct wish) { 0 };
	return status;
}

static void submit(struct put *put)
{
	struct change *change = change_new(put->exchange, put->count);
	struct json_object *results = put->single ? NULL : json_object_new_array();

	change->wishes = memory_get(put->count, sizeof(*change->wishes));
	change->count = 0;
	change->apply = apply;
	change->undo = undo;
	for (size_t i = 0; i < put->count; i++) {
		struct wish named = put->wishes[i];
		unsigned int status = add(change, &put->wishes[i]);

		if (results)
			add_result(results, &named, status);
	}
	if (results) {
		change->status = MHD_HTTP_OK;
		change->answer = json_object_new_object();
		json_object_object_add(change->answer, "results", results);
	}
	wish_free(put->wishes, put->count);
	change_submit(change);
}

static void go_on(struct put *put)
{
	struct timeout *timeout;

	if (has_to_wait(put))
		return;
	timeout = put->single ? find(put->wishes) : NULL;
	if (timeout && exchange_header(put->exchange, "If-None-Match"))
		refuse(put, MHD_HTTP_PRECONDITION_FAILED, "there is such a timeout");
	else if (timeout && timeout->state == TIMEOUT_LEASED)
		refuse(put, MHD_HTTP_CONFLICT, "the timeout is leased");
	else if (is_within_limits(put) && has_queues(put))
		submit(put);
}

static bool match_is_sound(const struct exchange *exchange)
{
	const char *match = exchange_header(exchange, "If-None-Match");

	return !match || !strcmp(match, "*");
}

void put_one(struct exchange *exchange, const char *key, size_t length)
{
	struct json_object *object = wish_parse_json(exchange->body, exchange->length);
	struct put put = { .exchange = exchange, .count = 1, .single = true };
	unsigned int status = MHD_HTTP_BAD_REQUEST;
	const char *wrong;

	put.wishes = memory_get(1, sizeof(*put.wishes));
	wrong = wish_set_key(put.wishes, key, length) ?:
		match_is_sound(exchange) ? NULL : "If-None-Match: * is expected, or nothing";
	if (!wrong)
		wrong = object ? wish_read(put.wishes, object, &status) : "this is not JSON";
	json_object_put(object);
	if (wrong)
		refuse(&put, status, wrong);
	else
		go_on(&put);
}

static const char *read_all(struct put *put, struct json_object *array, unsigned int *status)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < put->count && !wrong; i++) {
		wrong = wish_read(&put->wishes[i], json_object_array_get_idx(array, i), status);
		if (!wrong && !put->wishes[i].key)
			wrong = "key: each timeout needs one";
	}
	if (!wrong && has_twins(put))
		wrong = "key: two timeouts have the same one";
	return wrong;
}

void put_many(struct exchange *exchange)
{
	static const char too_many[] = "timeouts: too many in one request";
	struct json_object *object = wish_parse_json(exchange->body, exchange->length);
	struct put put = { .exchange = exchange };
	unsigned int status = MHD_HTTP_BAD_REQUEST;
	struct json_object *array = NULL;
	const char *wrong = NULL;

	if (!object)
		wrong = "this is not JSON";
	else if (!json_object_object_get_ex(object, "timeouts", &array) ||
		 !json_object_is_type(array, json_type_array) || !json_object_array_length(array))
		wrong = "timeouts: an array is expected, with one timeout at least";
	else if (json_object_array_length(array) > settings.batch)
		wrong = too_many;
	if (wrong == too_many)
		status = MHD_HTTP_CONTENT_TOO_LARGE;
	if (!wrong) {
		put.count = json_object_array_length(array);
		put.wishes = memory_get(put.count, sizeof(*put.wishes));
		wrong = read_all(&put, array, &status);
	}
	if (wrong)
		refuse(&put, status, wrong);
	else if (nodes && nodes->pass_batch(exchange, array))
		wish_free(put.wishes, put.count);
	else
		go_on(&put);
	json_object_put(object);
}
