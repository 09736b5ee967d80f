// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/answer.h"
#include "http/show.h"
#include "hwheelctl/json.h"
#include "nodes/nodes.h"
#include "queue/view.h"
#include "queue/queue.h"
#include "queue/timeout.h"
#include "store/store.h"
#include "text.h"

/* How many a list has at most, and without a parameter */
#define SHOW_MOST	1000
#define SHOW_SOME	100

void show_one(struct request *request)
{
	const struct timeout *timeout = timeout_find(request->service, &request->key);

	if (timeout && timeout->state != TIMEOUT_NEW)
		answer(request, MHD_HTTP_OK, view_timeout(timeout, true));
	else
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such timeout");
}

/*
 * The list goes on behind a record's number, as timeouts are in the order of their records. One
 * that is restarted between two pages gets a larger number: it may be on both.
 */
void show_list(struct request *request)
{
	const char *queue = request_parameter(request, "queue");
	const char *most = request_parameter(request, "max");
	const char *behind = request_parameter(request, "after");
	const struct timeout *timeout = request->service->oldest;
	struct json_object *object, *array;
	uint64_t max = SHOW_SOME, after = 0;
	char next[24];

	if (most && !text_count(most, SHOW_MOST, &max)) {
		answer_error(request, MHD_HTTP_BAD_REQUEST, "max: 1 to 1000 is expected");
		return;
	}
	if (behind && !text_count(behind, UINT64_MAX, &after)) {
		answer_error(request, MHD_HTTP_BAD_REQUEST, "after: what next said is expected");
		return;
	}
	while (timeout && timeout->seq <= after)
		timeout = timeout->newer;
	object = json_object_new_object();
	array = json_object_new_array();
	for (uint64_t i = 0; timeout && i < max; timeout = timeout->newer, i++)
		if (!queue || !strcmp(queue, timeout->queue->name))
			json_object_array_add(array, view_timeout(timeout, false));
	json_object_object_add(object, "timeouts", array);
	if (timeout) {
		snprintf(next, sizeof(next), "%llu", (unsigned long long)timeout->older->seq);
		json_add_text(object, "next", next);
	}
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

void show_health(struct request *request)
{
	const struct service *service = request->service;
	struct json_object *object = json_object_new_object();
	const char *state = show_state(service->store);

	json_add_text(object, "state", state);
	json_add_text(object, "version", HWHEEL_VERSION);
	json_add_number(object, "timeouts", timeout_count(service));
	json_add_number(object, "queues", queue_count(service));
	view_seconds(object, "tick", alarm_tick_ns());
	answer(request, strcmp(state, "ready") ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
	       object);
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
	json_add_text(object, "store", store->ops->show ? "zookeeper" : "sqlite");
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
