// SPDX-License-Identifier: GPL-2.0-only
/*
 * A page goes on behind a record's number, as timeouts are in the order of their records. One that
 * is restarted between two pages gets a larger number: it may be on both.
 *
 * A filter may let few through. The loop looks at some timeouts in each turn, until the page is
 * there. In a cluster nodes/listing.c asks nodes for parts of a page, its own node too. A part is
 * of the shards that a node serves one after the other, and ends before the first other shard.
 */
#include <stdio.h>
#include <string.h>

#include "http/answer.h"
#include "http/list.h"
#include "hwheelctl/json.h"
#include "log/log.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/view.h"
#include "text.h"

/* How many a page has at most, and without a parameter */
#define LIST_MOST	1000
#define LIST_SOME	100

/* Bytes of payloads on a page */
#define LIST_PAYLOADS	262144

/* How many timeouts are looked at in a turn of the loop */
#define LIST_TURN	2048

struct list {
	struct loop_source turn;
	struct service *service;
	struct request *request;	/* NULL: it is answered already */
	struct list_filter filter;
	struct walk walk;
	struct json_object *array;
};

/* Returns false if it is too long for that room. Without a parameter the text is empty. */
static bool list_copy(const struct request *request, const char *name, char *to, size_t room)
{
	return snprintf(to, room, "%s", request_parameter(request, name) ?: "") < (int)room;
}

/* A node's request has more parameters. Returns NULL, or the mistake. */
static const char *list_read_filter(const struct request *request, struct list_filter *filter)
{
	const char *prefix = request_parameter(request, "prefix");
	const char *after = request_parameter(request, "after");
	const char *limit = request_parameter(request, "limit");
	const char *payload = request_parameter(request, "payload");
	const char *bytes = request->is_by_node ? request_parameter(request, "bytes") : NULL;
	uint64_t least = request->is_by_node ? 0 : 1;

	filter->limit = LIST_SOME;
	filter->bytes = LIST_PAYLOADS;
	filter->has_payload = payload;
	if (!list_copy(request, "queue", filter->queue, sizeof(filter->queue)) ||
	    (request_parameter(request, "queue") &&
	     !text_is_queue(filter->queue, strlen(filter->queue))))
		return "queue: 1 to 64 letters, digits, dots, dashes or underscores are expected";
	if (!list_copy(request, "state", filter->state, sizeof(filter->state)) ||
	    (request_parameter(request, "state") && !view_is_state(filter->state)))
		return "state: pending, due or leased is expected";
	if (!text_decode(prefix ?: "", filter->prefix, KEY_MAX, &filter->prefix_length))
		return "prefix: up to 256 bytes, with %XX where needed, are expected";
	if (limit && (!text_number(limit, 10, &filter->limit) || filter->limit < least ||
		      filter->limit > LIST_MOST))
		return "limit: 1 to 1000 is expected";
	if (after && !text_number(after, 10, &filter->after))
		return "after: what next said is expected";
	if (payload && strcmp(payload, "1"))
		return "payload: 1 is expected";
	if (bytes && !text_number(bytes, 10, &filter->bytes))
		return "bytes: a number is expected";
	return NULL;
}

bool list_fit_memory(struct list_filter *filter)
{
	bool is_vain = !filter->limit;

	while (filter->limit &&
	       !memory_offers(filter->limit * VIEW_BYTES +
			      (filter->has_payload ? VIEW_PAYLOAD(filter->bytes) : 0))) {
		filter->limit /= 2;
		filter->bytes /= filter->bytes / 2 < PAYLOAD_MAX ? 1 : 2;
	}
	return filter->limit || is_vain;
}

void list_count(struct list_filter *filter, size_t payload_length)
{
	filter->limit--;
	filter->bytes -= payload_length < filter->bytes ? payload_length : filter->bytes;
}

void list_answer(struct request *request, struct json_object *array, const uint64_t *next)
{
	struct json_object *object = json_object_new_object();
	char text[24];

	json_object_object_add(object, "timeouts", array);
	if (next) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)*next);
		json_add_text(object, "next", text);
	}
	answer(request, MHD_HTTP_OK, object);
}

/* Logs come one after the other, each in its order: the place in all of them */
static uint64_t list_place(const struct timeout *timeout)
{
	return (uint64_t)timeout->shard << LIST_SHARD | timeout->seq;
}

static bool list_lets_through(const struct list_filter *filter, const struct timeout *timeout)
{
	struct key key = timeout_key(timeout);

	return list_place(timeout) > filter->after &&
	       (!*filter->queue || !strcmp(filter->queue, timeout->queue->name)) &&
	       (!*filter->state || !strcmp(filter->state, view_state(timeout))) &&
	       key.length >= filter->prefix_length &&
	       !memcmp(key.text, filter->prefix, filter->prefix_length);
}

static bool list_has_room(const struct list_filter *filter, const struct timeout *timeout)
{
	return filter->limit &&
	       (!filter->has_payload || timeout->payload_length <= filter->bytes);
}

/* The request ends without an answer of the list's, or has it. */
static void list_free(struct list *list)
{
	timeout_end_walk(list->service, &list->walk);
	json_object_put(list->array);
	free(list);
}

/* Where a part ends: before the first shard from the walk's on that is not here */
static unsigned int list_end_of_part(const struct list *list)
{
	const struct nodes_ops *nodes = list->service->nodes;
	unsigned int shard = list->walk.shard;

	while (shard < log_count(list->service) && (!nodes || nodes->serves(shard)))
		shard++;
	return shard;
}

/* A node that asked goes on behind the part, if anything is there, or sees that there is more. */
static void list_answer_node(struct list *list, unsigned int end, bool has_more)
{
	struct json_object *object = json_object_new_object();
	uint64_t after = list->filter.after;

	if (!has_more && after < (uint64_t)end << LIST_SHARD)
		after = (uint64_t)end << LIST_SHARD;
	json_object_object_add(object, "timeouts", json_object_get(list->array));
	json_object_object_add(object, "more", json_object_new_boolean(has_more));
	if (has_more || end < log_count(list->service))
		json_add_number(object, "next", after);
	answer(list->request, MHD_HTTP_OK, object);
}

static void list_end(struct list *list, unsigned int end, bool has_more)
{
	if (list->request->is_by_node)
		list_answer_node(list, end, has_more);
	else
		list_answer(list->request, json_object_get(list->array),
			    has_more ? &list->filter.after : NULL);
	list_free(list);
}

/* Returns false if there is more to look at. */
static bool list_look(struct list *list)
{
	struct list_filter *filter = &list->filter;
	unsigned int end = list_end_of_part(list);
	struct timeout *timeout;

	for (size_t i = 0; i < LIST_TURN; i++) {
		bool is_here = list->walk.shard < end;

		timeout = is_here ? timeout_walk(list->service, &list->walk) : NULL;
		is_here = timeout && list->walk.shard < end;
		if (is_here && !list_lets_through(filter, timeout))
			continue;
		if (!is_here || !list_has_room(filter, timeout)) {
			list_end(list, end, is_here);
			return true;
		}
		json_object_array_add(list->array, view_timeout(timeout, filter->has_payload));
		list_count(filter, filter->has_payload ? timeout->payload_length : 0);
		filter->after = list_place(timeout);
	}
	return false;
}

static void list_turn(void *owner)
{
	struct list *list = owner;

	if (!list->request)
		list_free(list);
	else if (!list_look(list))
		loop_soon(&list->service->loop, &list->turn);
}

/* The next turn frees the list. */
static void list_give_up(struct request *request, enum request_end why)
{
	struct list *list = request->waits_for;

	if (why == REQUEST_STOPPING)
		return;
	list->request = NULL;
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the list takes too long");
}

static void list_begin(struct request *request)
{
	struct service *service = request->service;
	struct list *list = memory_get(1, sizeof(*list));

	list->filter = *request->filter;
	list->turn = (struct loop_source) { .ready = list_turn, .owner = list };
	list->service = service;
	list->request = request;
	list->array = json_object_new_array();
	timeout_begin_walk(service, &list->walk,
			   (unsigned int)(list->filter.after >> LIST_SHARD));
	if (!list_fit_memory(&list->filter)) {
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, ANSWER_NO_MEMORY);
		list_free(list);
	} else if (!list_look(list)) {
		request_wait(request, list, list_give_up);
		loop_soon(&service->loop, &list->turn);
	}
}

/* A request that has waited comes again, and is read by then; a part is from the beginning. */
void list(struct request *request)
{
	const struct nodes_ops *nodes = request->service->nodes;
	const char *wrong = NULL;

	if (!request->filter) {
		request->filter = memory_get(1, sizeof(*request->filter));
		wrong = list_read_filter(request, request->filter);
	}
	if (wrong)
		answer_error(request, MHD_HTTP_BAD_REQUEST, wrong);
	else if (!nodes || !nodes->pass_list(request))
		list_begin(request);
}
