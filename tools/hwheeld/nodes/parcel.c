// SPDX-License-Identifier: GPL-2.0-only
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/answer.h"
#include "http/route.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/again.h"
#include "nodes/parcel.h"
#include "nodes/peer.h"
#include "text.h"

#define PARCEL_PATH	"/peer/requests"
#define PARCEL_TYPE	"application/octet-stream"

/* Parcels on their way to one node: while there are so many, requests gather for the next one. */
#define PARCEL_WINDOW	2
#define PARCEL_MOST	256

/* How long a node that has left may take for what was sent to it */
#define PARCEL_LAST_NS	NS_PER_S

/* A line, without its path, and a path of a key whose bytes are all encoded */
#define PARCEL_LINE	32
#define PARCEL_KEY	1024

static const char parcel_late[] =
	"the node that has it takes too long: the change may have happened";
static const char parcel_unsent[] = "the node that has it takes too long: nothing has changed";
static const char parcel_lost[] =
	"the node that has it does not answer: the change may have happened";

/* A client's request */
struct parcel_item {
	struct parcel_item *prev, *next;
	struct request *request;	/* NULL: it is answered already */
	bool is_sent;
	const char *method;
	char *path;
	char *body;
	size_t length;
};

/* The way to another node */
struct parcel_lane {
	struct parcel_lane *prev, *next;
	char *address;
	struct parcel_item *waiting;
	size_t sent;
};

struct parcel {
	struct peer_call call;
	struct parcel *prev, *next;
	struct parcel_lane *lane;
	struct parcel_item *items;
	char *text;
};

static struct {
	struct service *service;
	struct parcel_lane *lanes;
	struct parcel *sent;
	struct alarm *cancel;
} parcels;

/* Copies a line. Returns what comes behind it, or NULL: there is none. */
static const char *parcel_read_line(const char *at, const char *end,
				    char line[PARCEL_LINE + PARCEL_KEY])
{
	const char *behind = memchr(at, '\n', (size_t)(end - at));

	if (!behind || behind - at >= PARCEL_LINE + PARCEL_KEY)
		return NULL;
	snprintf(line, PARCEL_LINE + PARCEL_KEY, "%.*s", (int)(behind - at), at);
	return behind + 1;
}

static const char *parcel_method(const char *method)
{
	return !strcmp(method, "PUT") ? "PUT" : !strcmp(method, "DELETE") ? "DELETE" : NULL;
}

/* Sending */

static size_t parcel_cost(const char *path, size_t length)
{
	return PARCEL_LINE + strlen(path) + length;
}

/* The other node may have as much for the body of a request as this one. */
static size_t parcel_room(void)
{
	return parcels.service->settings.body;
}

bool parcel_takes(const struct request *request)
{
	return parcel_method(request->method) && !request->take_answer &&
	       !request_only_creates(request) && !strchr(request->path, ' ') &&
	       strlen(request->path) < PARCEL_KEY &&
	       parcel_cost(request->path, request->length) <= parcel_room();
}

static void parcel_free_item(struct parcel_item *item)
{
	free(item->path);
	free(item->body);
	free(item);
}

/* The other node goes on with what was sent. What waits is not sent without its request. */
static void parcel_give_up(struct request *request, enum request_end why)
{
	struct parcel_item *item = request->waits_for;

	if (why == REQUEST_STOPPING)
		return;
	item->request = NULL;
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		     item->is_sent ? parcel_late : parcel_unsent);
}

static struct parcel_lane *parcel_lane(const char *address)
{
	struct parcel_lane *lane;

	DL_FOREACH(parcels.lanes, lane)
		if (!strcmp(lane->address, address))
			return lane;
	lane = memory_get(1, sizeof(*lane));
	lane->address = memory_copy(address, strlen(address));
	DL_APPEND(parcels.lanes, lane);
	return lane;
}

void parcel_add(struct request *request, const char *address)
{
	struct parcel_item *item = memory_get(1, sizeof(*item));
	struct parcel_lane *lane = parcel_lane(address);

	item->request = request;
	item->method = parcel_method(request->method);
	item->path = memory_copy(request->path, strlen(request->path));
	item->length = request->body ? request->length : 0;
	item->body = memory_copy(request->body ?: "", item->length);
	DL_APPEND(lane->waiting, item);
	request_wait(request, item, parcel_give_up);
}

/* Whoever still waits for one of the items is answered so. */
static void parcel_fail(struct parcel_item **items, const char *why)
{
	struct parcel_item *item;

	while ((item = *items)) {
		DL_DELETE(*items, item);
		if (item->request)
			answer_error(item->request, MHD_HTTP_SERVICE_UNAVAILABLE, why);
		parcel_free_item(item);
	}
}

/* Returns what comes behind the answer, or NULL: there is no whole one. */
static const char *parcel_give_answer(struct request *request, const char *at, const char *end)
{
	char line[PARCEL_LINE + PARCEL_KEY];
	const char *body = parcel_read_line(at, end, line);
	unsigned int status;
	size_t length;

	if (!body || sscanf(line, "%3u %zu", &status, &length) != 2 ||
	    length > (size_t)(end - body))
		return NULL;
	if (request && status == AGAIN_STATUS)
		again_decide(request);
	else if (request && !length)
		answer_empty(request, status);
	else if (request)
		answer_text(request, status, "application/json", memory_copy(body, length), length);
	return body + length;
}

static void parcel_free_lane(struct parcel_lane *lane)
{
	DL_DELETE(parcels.lanes, lane);
	free(lane->address);
	free(lane);
}

static void parcel_free(struct parcel *parcel)
{
	struct parcel_lane *lane = parcel->lane;

	DL_DELETE(parcels.sent, parcel);
	if (!--lane->sent && !lane->waiting)
		parcel_free_lane(lane);
	free(parcel->call.answer);
	free(parcel->text);
	free(parcel);
}

/* Nothing was sent. */
static void parcel_decide_again(struct parcel_item *items)
{
	struct parcel_item *item, *next;

	DL_FOREACH_SAFE(items, item, next) {
		if (item->request)
			again_decide(item->request);
		parcel_free_item(item);
	}
}

static void parcel_done(struct peer_call *call)
{
	struct parcel *parcel = (struct parcel *)call;
	const char *at = call->status == MHD_HTTP_OK ? call->answer : NULL;
	const char *why = peer_failure(call);
	struct parcel_item *item;

	while (at && (item = parcel->items)) {
		at = parcel_give_answer(item->request, at, call->answer + call->length);
		if (!at)
			break;
		DL_DELETE(parcel->items, item);
		parcel_free_item(item);
	}
	if (call->status == AGAIN_STATUS || call->is_away)
		parcel_decide_again(parcel->items);
	else
		parcel_fail(&parcel->items, why ?: parcel_lost);
	parcel_free(parcel);
}

/* As many of those that wait as fit into one */
static void parcel_send(struct parcel_lane *lane)
{
	struct parcel *parcel = memory_get(1, sizeof(*parcel));
	struct parcel_item *item, *next;
	size_t length, count = 0, cost = 0;
	FILE *stream = memory_need(open_memstream(&parcel->text, &length));

	DL_FOREACH_SAFE(lane->waiting, item, next) {
		cost += parcel_cost(item->path, item->length);
		if (count && (count == PARCEL_MOST || cost > parcel_room()))
			break;
		DL_DELETE(lane->waiting, item);
		if (!item->request) {
			parcel_free_item(item);
			continue;
		}
		fprintf(stream, "%s %s %zu\n", item->method, item->path, item->length);
		fwrite(item->body, 1, item->length, stream);
		DL_APPEND(parcel->items, item);
		item->is_sent = true;
		count++;
	}
	fclose(stream);
	memory_need(parcel->text);
	parcel->lane = lane;
	parcel->call.done = parcel_done;
	parcel->call.sort = PEER_REQUEST;
	lane->sent++;
	DL_APPEND(parcels.sent, parcel);
	peer_request(&parcel->call, lane->address, "POST", PARCEL_PATH, parcel->text, NULL,
		     (long)(parcels.service->settings.request_time / NS_PER_MS));
}

void parcels_flush(void)
{
	struct parcel_lane *lane;

	DL_FOREACH(parcels.lanes, lane)
		while (lane->waiting && lane->sent < PARCEL_WINDOW)
			parcel_send(lane);
}

static void parcel_cancel(struct parcel *parcel)
{
	peer_cancel(&parcel->call);
	parcel_fail(&parcel->items, parcel_lost);
	parcel_free(parcel);
}

static void parcels_cancel(void *owner, uint64_t at_ns)
{
	struct parcel *parcel, *next;

	DL_FOREACH_SAFE(parcels.sent, parcel, next)
		if (!members_have(parcel->lane->address))
			parcel_cancel(parcel);
}

/* A node that leaves answers what it has; one that is dead does not. */
void parcels_members_changed(void)
{
	struct parcel_lane *lane, *next_lane;

	alarm_set(&parcels.cancel, now_ns() + PARCEL_LAST_NS, parcels_cancel, NULL);
	DL_FOREACH_SAFE(parcels.lanes, lane, next_lane) {
		if (members_have(lane->address))
			continue;
		parcel_decide_again(lane->waiting);
		lane->waiting = NULL;
		if (!lane->sent)
			parcel_free_lane(lane);
	}
}

/* Opening: each request has an answer of its own. */

struct parcel_part {
	struct parcel_content *content;
	struct request *request;	/* NULL: it has its answer */
	unsigned int status;
	struct json_object *object;
};

struct parcel_content {
	struct request *request;	/* NULL: it is answered already */
	size_t left;
	size_t count;
	struct parcel_part parts[PARCEL_MOST];
};

/* The last part that ends answers. */
static void parcel_end_part(struct parcel_content *content)
{
	char *text = NULL;
	size_t length;
	FILE *stream;

	if (--content->left)
		return;
	stream = memory_need(open_memstream(&text, &length));
	for (size_t i = 0; i < content->count; i++) {
		struct parcel_part *part = &content->parts[i];
		const char *json = "";
		size_t size = 0;

		if (part->object)
			json = json_object_to_json_string_length(part->object,
								 JSON_C_TO_STRING_PLAIN |
								 JSON_C_TO_STRING_NOSLASHESCAPE,
								 &size);
		fprintf(stream, "%u %zu\n", part->status, size ? size + 1 : 0);
		if (size)
			fprintf(stream, "%s\n", json);
		json_object_put(part->object);
	}
	fclose(stream);
	memory_need(text);
	if (content->request)
		answer_text(content->request, MHD_HTTP_OK, PARCEL_TYPE, text, length);
	else
		free(text);
	free(content);
}

static void parcel_take_answer(struct request *request, unsigned int status,
			       struct json_object *object)
{
	struct parcel_part *part = request->part_of;

	part->status = status;
	part->object = object;
	part->request = NULL;
	request_free(request);
	parcel_end_part(part->content);
}

/* The parts may be on their way; those that end now are the last ones to use the content. */
static void parcel_give_up_all(struct request *request, enum request_end why)
{
	struct parcel_content *content = request->waits_for;

	if (why == REQUEST_STOPPING)
		return;
	content->request = NULL;
	content->left++;
	for (size_t i = 0; i < content->count; i++) {
		struct request *part = content->parts[i].request;

		if (part && part->give_up)
			part->give_up(part, why);
	}
	parcel_end_part(content);
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, parcel_late);
}

/* Reads a part. Returns what comes behind it, or NULL: this is no parcel. */
static const char *parcel_read(struct parcel_content *content, const char *at, const char *end)
{
	struct service *service = content->request->service;
	char line[PARCEL_LINE + PARCEL_KEY], method[8], path[PARCEL_KEY];
	const char *body = parcel_read_line(at, end, line);
	struct request *request;
	size_t length;

	if (!body || sscanf(line, "%7[A-Z] %1023[^ ] %zu", method, path, &length) != 3 ||
	    !parcel_method(method) || length > (size_t)(end - body) ||
	    content->count == PARCEL_MOST)
		return NULL;
	request = request_new(service, NULL, NULL, parcel_method(method), path);
	request->is_by_node = true;
	request->part_of = &content->parts[content->count];
	request->take_answer = parcel_take_answer;
	content->parts[content->count].content = content;
	content->parts[content->count++].request = request;
	if (length && !request_append(request, body, length)) {
		content->left++;
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			     "there are too many large requests: nothing has changed");
	}
	return body + length;
}

static void parcel_refuse(struct parcel_content *content)
{
	for (size_t i = 0; i < content->count; i++) {
		if (content->parts[i].request)
			request_free(content->parts[i].request);
		json_object_put(content->parts[i].object);
	}
	answer_error(content->request, MHD_HTTP_BAD_REQUEST, "requests are expected");
	free(content);
}

/* All is read before any of it is decided on. It waits only if one of them does. */
void parcel_open(struct request *request)
{
	struct parcel_content *content = memory_get(1, sizeof(*content));
	const char *at = request->body, *end = at + request->length;

	content->request = request;
	content->left = 1;
	while (at && at < end)
		at = parcel_read(content, at, end);
	if (!at) {
		parcel_refuse(content);
		return;
	}
	request_drop_body(request);
	for (size_t i = 0; i < content->count; i++)
		content->left += !!content->parts[i].request;
	for (size_t i = 0; i < content->count; i++)
		if (content->parts[i].request)
			route(content->parts[i].request);
	if (content->left > 1)
		request_wait(request, content, parcel_give_up_all);
	parcel_end_part(content);
}

/* Beginning and ending */

void parcels_begin(struct service *service)
{
	parcels.service = service;
}

void parcels_end(void)
{
	struct parcel_lane *lane, *next;

	alarm_clear(&parcels.cancel);
	while (parcels.sent)
		parcel_cancel(parcels.sent);
	DL_FOREACH_SAFE(parcels.lanes, lane, next) {
		parcel_fail(&lane->waiting, parcel_unsent);
		parcel_free_lane(lane);
	}
}
