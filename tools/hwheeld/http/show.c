// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/answer.h"
#include "http/show.h"
#include "hwheelctl/json.h"
#include "log/log.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/life.h"
#include "queue/queue.h"
#include "queue/room.h"
#include "queue/timeout.h"
#include "queue/view.h"
#include "store/store.h"
#include "text.h"

/* How many a list has at most, and without a parameter */
#define SHOW_MOST	1000
#define SHOW_SOME	100

/* Bits of a record's number */
#define SHOW_SHARD	52

/* The description of all of this, which is installed as well */
__asm__(".section .rodata\n"
	"openapi_begin: .incbin \"http/openapi.json\"\n"
	"openapi_end:\n"
	".previous");

void show_openapi(struct request *request)
{
	size_t length = (size_t)(openapi_end - openapi_begin);

	answer_text(request, MHD_HTTP_OK, "application/json", memory_copy(openapi_begin, length),
		    length);
}

void show_one(struct request *request)
{
	struct timeout *timeout = timeout_find(request->service, &request->key);

	if (timeout)
		life_end_lease(timeout);
	if (timeout && timeout->state != TIMEOUT_NEW)
		answer(request, MHD_HTTP_OK, view_timeout(timeout, true));
	else
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such timeout");
}

/* Which timeouts are to be listed */
struct show_filter {
	const char *queue;		/* NULL: all, as for state */
	const char *state;
	char prefix[KEY_MAX + 1];
	size_t prefix_length;
	uint64_t after;
	uint64_t limit;
};

/* Returns NULL, or what is wrong. */
static const char *show_read_filter(const struct request *request, struct show_filter *filter)
{
	const char *prefix = request_parameter(request, "prefix");
	const char *after = request_parameter(request, "after");
	const char *limit = request_parameter(request, "limit");

	*filter = (struct show_filter) {
		.queue = request_parameter(request, "queue"),
		.state = request_parameter(request, "state"), .limit = SHOW_SOME,
	};
	if (filter->queue && !text_is_queue(filter->queue, strlen(filter->queue)))
		return "queue: 1 to 64 letters, digits, dots, dashes or underscores are expected";
	if (filter->state && !view_is_state(filter->state))
		return "state: pending, due or leased is expected";
	if (!text_decode(prefix ?: "", filter->prefix, KEY_MAX, &filter->prefix_length))
		return "prefix: up to 256 bytes, with %XX where needed, are expected";
	if (limit && !text_count(limit, SHOW_MOST, &filter->limit))
		return "limit: 1 to 1000 is expected";
	if (after && !text_count(after, UINT64_MAX, &filter->after))
		return "after: what next said is expected";
	return NULL;
}

/* Logs come one after the other, each in its order: the place in all of them */
static uint64_t show_place(unsigned int shard, uint64_t seq)
{
	return (uint64_t)shard << SHOW_SHARD | seq;
}

/* The oldest one of the next log that has one */
static const struct timeout *show_first(const struct service *service, unsigned int shard)
{
	const struct timeout *timeout = NULL;

	for (; !timeout && shard < log_count(service); shard++)
		timeout = service->logs[shard].oldest;
	return timeout;
}

/* This timeout, or the next one that is to be listed; NULL: there is none. */
static const struct timeout *show_next(const struct service *service,
				       const struct timeout *timeout,
				       const struct show_filter *filter)
{
	for (; timeout; timeout = timeout->newer ?: show_first(service, timeout->shard + 1U)) {
		struct key key = timeout_key(timeout);

		if (show_place(timeout->shard, timeout->seq) > filter->after &&
		    (!filter->queue || !strcmp(filter->queue, timeout->queue->name)) &&
		    (!filter->state || !strcmp(filter->state, view_state(timeout))) &&
		    key.length >= filter->prefix_length &&
		    !memcmp(key.text, filter->prefix, filter->prefix_length))
			break;
	}
	return timeout;
}

/*
 * The list goes on behind a record's number, as timeouts are in the order of their records. One
 * that is restarted between two pages gets a larger number: it may be on both.
 */
void show_list(struct request *request)
{
	const struct service *service = request->service;
	const struct timeout *timeout;
	struct json_object *object, *array;
	struct show_filter filter;
	const char *wrong = show_read_filter(request, &filter);
	uint64_t shard;
	char next[24];

	if (wrong) {
		answer_error(request, MHD_HTTP_BAD_REQUEST, wrong);
		return;
	}
	shard = filter.after >> SHOW_SHARD;
	timeout = shard < log_count(service) ? show_first(service, (unsigned int)shard) : NULL;
	timeout = show_next(service, timeout, &filter);
	object = json_object_new_object();
	array = json_object_new_array();
	for (uint64_t i = 0; timeout && i < filter.limit; i++) {
		json_object_array_add(array, view_timeout(timeout, false));
		snprintf(next, sizeof(next), "%llu",
			 (unsigned long long)show_place(timeout->shard, timeout->seq));
		filter.after = show_place(timeout->shard, timeout->seq);
		timeout = show_next(service, timeout, &filter);
	}
	json_object_object_add(object, "timeouts", array);
	if (timeout)
		json_add_text(object, "next", next);
	answer(request, MHD_HTTP_OK, object);
}

void show_queues(struct request *request)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array = json_object_new_array();
	const struct queue *queue = request->service->queues;

	for (size_t i = 0; queue && i < SHOW_MOST; queue = queue->by_name.next, i++) {
		struct json_object *one = json_object_new_object();

		json_add_text(one, "queue", queue->name);
		json_add_number(one, "timeouts", queue->timeouts);
		json_add_number(one, "due", queue->due_count);
		json_add_number(one, "polls", queue->polls_count);
		json_object_array_add(array, one);
	}
	json_object_object_add(object, "queues", array);
	answer(request, MHD_HTTP_OK, object);
}

/* In a cluster a node is ready when it has loaded all that it should have. */
static const char *show_state(const struct store *store)
{
	if (store->ops->is_lost(store))
		return "the store is lost";
	return store->ops->is_settled && !store->ops->is_settled(store) ? "loading" : "ready";
}

/* Also asks whether new timeouts are accepted, if that is in the path. */
void show_health(struct request *request)
{
	struct service *service = request->service;
	struct json_object *object = json_object_new_object();
	const char *state = show_state(service->store);
	enum room_reason lack = strcmp(request->path, "/health") ? room_lacks_any(service) :
				ROOM_REASONS;
	bool is_ready = !strcmp(state, "ready");

	if (is_ready && lack != ROOM_REASONS)
		state = room_texts[lack].sentence;
	json_add_text(object, "state", state);
	json_add_text(object, "version", HWHEEL_VERSION);
	json_add_number(object, "timeouts", timeout_count(service));
	json_add_number(object, "queues", queue_count(service));
	view_seconds(object, "tick", alarm_tick_ns());
	answer(request, is_ready && lack == ROOM_REASONS ? MHD_HTTP_OK :
	       MHD_HTTP_SERVICE_UNAVAILABLE, object);
}

void show_accept_missing(struct request *request)
{
	const struct nodes_ops *nodes = request->service->nodes;
	uint64_t shard;

	if (!text_number(request->name, 10, &shard) || shard > UINT_MAX)
		answer_error(request, MHD_HTTP_BAD_REQUEST, "shard: a number is expected");
	else if (nodes)
		nodes->accept(request, (unsigned int)shard);
	else
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such shard");
}

/* Clients see nothing there. */
void show_for_nodes(struct request *request)
{
	if (request->service->nodes && request->is_by_node)
		request->service->nodes->answer_node(request);
	else
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such path");
}

/* A store on one machine has one node, which owns all timeouts. */
void show_cluster(struct request *request)
{
	const struct service *service = request->service;
	const struct store *store = service->store;
	struct json_object *object = json_object_new_object();
	struct json_object *node = json_object_new_object(), *array;
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	json_add_text(node, "name", service->settings.node ?: name);
	json_add_text(node, "state", show_state(store));
	json_add_number(node, "timeouts", timeout_count(service));
	if (now_is_shared()) {
		view_seconds(node, "bound", now_bound_ns());
		json_object_object_add(node, "offset",
				       json_object_new_double(now_offset_of_wall()));
		json_add_number(node, "epoch", service->metrics.clock_epoch);
	}
	json_add_text(object, "store", store->ops->show ? "etcd" : "sqlite");
	if (store->ops->show) {
		store->ops->show(store, object);
		json_object_object_add(object, "here", node);
	} else {
		array = json_object_new_array();
		json_object_array_add(array, node);
		json_object_object_add(object, "nodes", array);
	}
	if (!service->nodes || !service->nodes->survey(request, object))
		answer(request, MHD_HTTP_OK, object);
}
