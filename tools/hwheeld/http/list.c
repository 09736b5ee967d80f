// SPDX-License-Identifier: GPL-2.0-only
/*
 * A page goes on behind a record's number, as timeouts are in the order of their records. One that
 * is restarted between two pages gets a larger number: it may be on both.
 *
 * A filter may let few through. The loop looks at some timeouts in each turn, until the page is
 * there.
 */
#include <stdio.h>
#include <string.h>

#include "http/answer.h"
#include "http/list.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "queue/view.h"
#include "text.h"

/* How many a page has at most, and without a parameter */
#define LIST_MOST	1000
#define LIST_SOME	100

/* How many timeouts are looked at in a turn of the loop */
#define LIST_TURN	2048

/* Bits of a record's number */
#define LIST_SHARD	52

struct filter {
	const char *queue;		/* NULL: all, as for state */
	const char *state;
	char prefix[KEY_MAX + 1];
	size_t prefix_length;
	uint64_t after;
	uint64_t limit;
};

struct list {
	struct loop_source turn;
	struct service *service;
	struct request *request;	/* NULL: it is answered already */
	struct filter filter;
	struct walk walk;
	struct json_object *array;
};

/* Returns NULL, or what is wrong. */
static const char *list_read_filter(const struct request *request, struct filter *filter)
{
	const char *prefix = request_parameter(request, "prefix");
	const char *after = request_parameter(request, "after");
	const char *limit = request_parameter(request, "limit");

	*filter = (struct filter) {
		.queue = request_parameter(request, "queue"),
		.state = request_parameter(request, "state"), .limit = LIST_SOME,
	};
	if (filter->queue && !text_is_queue(filter->queue, strlen(filter->queue)))
		return "queue: 1 to 64 letters, digits, dots, dashes or underscores are expected";
	if (filter->state && !view_is_state(filter->state))
		return "state: pending, due or leased is expected";
	if (!text_decode(prefix ?: "", filter->prefix, KEY_MAX, &filter->prefix_length))
		return "prefix: up to 256 bytes, with %XX where needed, are expected";
	if (limit && !text_count(limit, LIST_MOST, &filter->limit))
		return "limit: 1 to 1000 is expected";
	if (after && !text_count(after, UINT64_MAX, &filter->after))
		return "after: what next said is expected";
	return NULL;
}

/* Logs come one after the other, each in its order: the place in all of them */
static uint64_t list_place(const struct timeout *timeout)
{
	return (uint64_t)timeout->shard << LIST_SHARD | timeout->seq;
}

static bool list_lets_through(const struct filter *filter, const struct timeout *timeout)
{
	struct key key = timeout_key(timeout);

	return list_place(timeout) > filter->after &&
	       (!filter->queue || !strcmp(filter->queue, timeout->queue->name)) &&
	       (!filter->state || !strcmp(filter->state, view_state(timeout))) &&
	       key.length >= filter->prefix_length &&
	       !memcmp(key.text, filter->prefix, filter->prefix_length);
}

/* The request ends without an answer of the list's, or has it. */
static void list_free(struct list *list)
{
	timeout_end_walk(list->service, &list->walk);
	json_object_put(list->array);
	free(list);
}

static void list_end(struct list *list, bool has_more)
{
	struct json_object *object = json_object_new_object();
	char next[24];

	json_object_object_add(object, "timeouts", json_object_get(list->array));
	snprintf(next, sizeof(next), "%llu", (unsigned long long)list->filter.after);
	if (has_more)
		json_add_text(object, "next", next);
	answer(list->request, MHD_HTTP_OK, object);
	list_free(list);
}

/* Returns false if there is more to look at. */
static bool list_look(struct list *list)
{
	struct timeout *timeout;

	for (size_t i = 0; i < LIST_TURN; i++) {
		timeout = timeout_walk(list->service, &list->walk);
		if (timeout && !list_lets_through(&list->filter, timeout))
			continue;
		if (!timeout || !list->filter.limit--) {
			list_end(list, timeout);
			return true;
		}
		json_object_array_add(list->array, view_timeout(timeout, false));
		list->filter.after = list_place(timeout);
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

void list(struct request *request)
{
	struct service *service = request->service;
	struct list *list = memory_get(1, sizeof(*list));
	const char *wrong = list_read_filter(request, &list->filter);
	uint64_t shard = list->filter.after >> LIST_SHARD;

	if (wrong) {
		free(list);
		answer_error(request, MHD_HTTP_BAD_REQUEST, wrong);
		return;
	}
	/* A page may be shorter than its limit. */
	while (list->filter.limit && !memory_offers(list->filter.limit * VIEW_BYTES))
		list->filter.limit /= 2;
	if (!list->filter.limit) {
		free(list);
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, ANSWER_NO_MEMORY);
		return;
	}
	list->turn = (struct loop_source) { .ready = list_turn, .owner = list };
	list->service = service;
	list->request = request;
	list->array = json_object_new_array();
	timeout_begin_walk(service, &list->walk, (unsigned int)shard);
	if (list_look(list))
		return;
	request_wait(request, list, list_give_up);
	loop_soon(&service->loop, &list->turn);
}
