// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <json-c/json.h>
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/request.h"
#include "memory.h"

struct request *request_new(struct service *service, struct client *client,
			    struct MHD_Connection *connection, const char *method, const char *path)
{
	struct request *request = memory_get(1, sizeof(*request));

	request->service = service;
	request->client = client;
	request->connection = connection;
	/* libmicrohttpd leaves the body out of the answer. */
	request->method = strcmp(method, MHD_HTTP_METHOD_HEAD) ? method : MHD_HTTP_METHOD_GET;
	request->path = memory_copy(path, strlen(path));
	if (client)
		client->request = request;
	service->requests += !!client;
	return request;
}

static void request_end_hold(struct request *request)
{
	request->service->held -= request->is_held;
	request->is_held = false;
}

void request_free(struct request *request)
{
	request_drop_body(request);
	request_end_hold(request);
	if (request->client)
		request->client->request = NULL;
	if (request->response)
		MHD_destroy_response(request->response);
	request->service->requests -= !!request->client;
	json_object_put(request->json);
	free(request->change);
	free(request->filter);
	free(request->path);
	free(request);
}

void request_drop_body(struct request *request)
{
	request->service->bodies -= request->room;
	free(request->body);
	request->body = NULL;
	request->length = 0;
	request->room = 0;
}

bool request_append(struct request *request, const char *data, size_t size)
{
	const struct settings *settings = &request->service->settings;
	size_t room = request->room ?: 256, length = request->length + size;
	char *body = NULL;
	bool may_fail;

	request->is_too_large = length > settings->body;
	while (!request->is_too_large && room <= length)
		room *= 2;
	may_fail = memory_may_fail(true);
	if (!request->is_too_large && room == request->room)
		body = request->body;
	else if (!request->is_too_large && memory_offers(room))
		body = realloc(request->body, room);
	memory_may_fail(may_fail);
	if (body) {
		request->body = body;
		request->service->bodies += room - request->room;
		request->room = room;
	}
	if (!body || request->service->bodies > settings->bodies) {
		request_drop_body(request);
		return false;
	}
	memcpy(body + request->length, data, size);
	request->length = length;
	body[length] = 0;
	return true;
}

const char *request_parameter(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *request_header(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

bool request_only_creates(const struct request *request)
{
	return request->only_creates || request_header(request, "If-None-Match");
}

/* Waiting */

void request_wait(struct request *request, void *what,
		  void (*give_up)(struct request *request, enum request_end why))
{
	bool suspends = request->connection && !request->is_suspended && !request->response;

	request->waits_for = what;
	request->give_up = give_up;
	request->is_suspended |= suspends;
	if (suspends && !request->is_held)
		MHD_suspend_connection(request->connection);
}

/*
 * libmicrohttpd takes a suspended connection out of its epoll set, and puts it back later: two
 * system calls. Of one that is not suspended it asks in each run whether there is an answer.
 */
void request_hold(struct request *request, void *what,
		  void (*give_up)(struct request *request, enum request_end why))
{
	if (request->connection && !request->is_suspended && !request->response &&
	    request->service->held < REQUEST_HELD_MOST) {
		request->is_held = true;
		request->service->held++;
	}
	request_wait(request, what, give_up);
}

void request_resume(struct request *request)
{
	request->give_up = NULL;
	request->waits_for = NULL;
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	client_unwatch(request->client);
	request_limit_time(request->client, request->service->settings.request_time);
	if (!request->is_held)
		MHD_resume_connection(request->connection);
	request_end_hold(request);
	request->service->was_resumed = true;
}

/* A long poll that is over took as long as its client wanted. */
static void request_ring(void *owner, uint64_t at_ns)
{
	struct client *client = owner;
	struct request *request = client->request;
	bool polls = request && request->take.end_ns;

	if (request && request->give_up)
		request->give_up(request, REQUEST_LATE);
	else
		shutdown(client->fd, SHUT_RDWR);
	client->service->metrics.requests_too_slow += request && !request->give_up && !polls;
}

void request_limit_time(struct client *client, uint64_t ns)
{
	alarm_set(&client->limit, now_ns() + ns, request_ring, client);
}

static void request_hung_up(void *owner)
{
	struct client *client = owner;

	client->is_gone = true;
	client_unwatch(client);
	if (client->request && client->request->give_up)
		client->request->give_up(client->request, REQUEST_GONE);
}

void request_watch(struct request *request)
{
	struct client *client = request->client;

	if (!client->is_watched)
		client->is_watched = !loop_add(&client->service->loop, client->fd, EPOLLRDHUP,
					       &client->hangup, request_hung_up, client);
}

bool request_is_gone(const struct request *request)
{
	struct pollfd client = { .fd = request->client->fd, .events = POLLRDHUP };

	return request->client->is_gone || poll(&client, 1, 0) > 0;
}

void request_give_up_all(struct service *service, enum request_end why)
{
	struct client *client;

	DL_FOREACH(service->clients, client)
		if (client->request && client->request->give_up)
			client->request->give_up(client->request, why);
}
