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
#include "log/replay.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/life.h"
#include "queue/queue.h"
#include "queue/room.h"
#include "queue/timeout.h"
#include "queue/view.h"
#include "store/store.h"
#include "text.h"

/* How many queues a list has at most */
#define SHOW_MOST	1000

/* The description of all of this, which is installed as well */
__asm__(".section .rodata\n"
	"openapi_begin: .incbin \"http/openapi.json\"\n"
	"openapi_end:\n"
	".previous");

void show_openapi(struct request *request)
{
	answer_constant(request, "application/json", openapi_begin,
			(size_t)(openapi_end - openapi_begin));
}

void show_one(struct request *request)
{
	struct timeout *timeout = timeout_find(request->service, &request->key);

	if (timeout)
		life_end_lease(timeout);
	if (!timeout || timeout->state == TIMEOUT_NEW)
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such timeout");
	else if (!memory_offers(VIEW_BYTES + VIEW_PAYLOAD(timeout->payload_length)))
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, ANSWER_NO_MEMORY);
	else
		answer(request, MHD_HTTP_OK, view_timeout(timeout, true));
}

void show_queues(struct request *request)
{
	const struct queue *queue = request->service->queues;
	size_t count = queue_count(request->service);
	struct json_object *object, *array;

	if (!memory_offers((count < SHOW_MOST ? count : SHOW_MOST) * VIEW_BYTES)) {
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, ANSWER_NO_MEMORY);
		return;
	}
	object = json_object_new_object();
	array = json_object_new_array();
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
	if (store->is_damaged)
		return SHOW_DAMAGED;
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

/* The log is read again, without what was damaged. */
static void show_discard_damaged(struct request *request)
{
	struct service *service = request->service;
	struct store *store = service->store;

	int error = store->ops->discard(store);

	if (!error) {
		free(service->logs);
		error = replay(service);
	}
	if (error) {
		store->is_damaged = true;
		replay_lost(service, 0);
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the store cannot be read");
		return;
	}
	replay_arm_all(service);
	answer_empty(request, MHD_HTTP_NO_CONTENT);
}

void show_accept_missing(struct request *request)
{
	const struct nodes_ops *nodes = request->service->nodes;
	uint64_t shard;

	if (!text_number(request->name, 10, &shard) || shard > UINT_MAX)
		answer_error(request, MHD_HTTP_BAD_REQUEST, "shard: a number is expected");
	else if (nodes)
		nodes->accept(request, (unsigned int)shard);
	else if (!shard && request->service->store->is_damaged)
		show_discard_damaged(request);
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
		array = json_object_new_array();
		if (store->is_damaged)
			json_object_array_add(array, json_object_new_int64(0));
		json_object_object_add(object, "shards_broken", array);
	}
	if (!service->nodes || !service->nodes->survey(request, object))
		answer(request, MHD_HTTP_OK, object);
}
