// SPDX-License-Identifier: GPL-2.0-only
#include <sys/socket.h>

#include "http/client.h"
#include "http/exchange.h"
#include "http/metrics.h"
#include "memory.h"
#include "settings.h"

static size_t exchanges, bytes, held;
static bool resumed, stopping;

struct exchange *exchange_new(struct MHD_Connection *connection, struct client *client,
			      const char *method, const char *path)
{
	struct exchange *exchange = memory_get(1, sizeof(*exchange));

	exchange->connection = connection;
	exchange->client = client;
	exchange->method = method;
	exchange->path = memory_copy(path, strlen(path));
	exchanges++;
	return exchange;
}

static void drop_body(struct exchange *exchange)
{
	bytes -= exchange->room;
	free(exchange->body);
	exchange->body = NULL;
	exchange->length = 0;
	exchange->room = 0;
}

static void end_hold(struct exchange *exchange)
{
	held -= exchange->held;
	exchange->held = false;
}

void exchange_free(struct exchange *exchange)
{
	drop_body(exchange);
	end_hold(exchange);
	if (exchange->response)
		MHD_destroy_response(exchange->response);
	free(exchange->path);
	free(exchange);
	exchanges--;
}

static void grow(struct exchange *exchange, size_t size)
{
	size_t room = exchange->room ?: 256;

	while (room < size)
		room *= 2;
	if (room == exchange->room)
		return;
	exchange->body = memory_need(realloc(exchange->body, room));
	bytes += room - exchange->room;
	exchange->room = room;
}

bool exchange_append(struct exchange *exchange, const char *data, size_t size)
{
	if (size > settings.body || exchange->length > settings.body - size) {
		exchange->too_large = true;
		drop_body(exchange);
		return false;
	}
	grow(exchange, exchange->length + size + 1);
	if (bytes > settings.bodies) {
		drop_body(exchange);
		return false;
	}
	memcpy(exchange->body + exchange->length, data, size);
	exchange->length += size;
	exchange->body[exchange->length] = 0;
	return true;
}

static void finish(struct exchange *exchange, unsigned int status, struct MHD_Response *response)
{
	exchange->status = status;
	exchange->response = memory_need(response);
	drop_body(exchange);
	if (!exchange->suspended)
		return;
	exchange->suspended = false;
	client_unwatch(exchange->client);
	client_limit_time(exchange->client);
	if (!exchange->held)
		MHD_resume_connection(exchange->connection);
	end_hold(exchange);
	resumed = true;
}

void exchange_answer_text(struct exchange *exchange, unsigned int status, const char *type,
			  char *text, size_t length)
{
	struct MHD_Response *response;

	response = MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);
	MHD_add_response_header(memory_need(response), "Content-Type", type);
	finish(exchange, status, response);
}

static void answer_json(struct exchange *exchange, unsigned int status, struct json_object *object)
{
	const char *json = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							  JSON_C_TO_STRING_NOSLASHESCAPE);
	size_t length = strlen(memory_need((void *)json));
	char *text = memory_copy(json, length);

	text[length] = '\n';
	json_object_put(object);
	exchange_answer_text(exchange, status, "application/json", text, length + 1);
}

void exchange_answer(struct exchange *exchange, unsigned int status, struct json_object *object)
{
	if (exchange->take_answer)
		exchange->take_answer(exchange, status, object);
	else
		answer_json(exchange, status, object);
}

void exchange_empty(struct exchange *exchange, unsigned int status)
{
	finish(exchange, status,
	       MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT));
}

void exchange_error(struct exchange *exchange, unsigned int status, const char *text)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "status", json_object_new_int((int)status));
	json_object_object_add(object, "error", json_object_new_string(text));
	exchange_answer(exchange, status, object);
}

void exchange_suspend(struct exchange *exchange)
{
	if (!exchange->connection || exchange->suspended || exchange->response)
		return;
	exchange->suspended = true;
	MHD_suspend_connection(exchange->connection);
}

/*
 * libmicrohttpd takes a suspended connection out of its epoll set, and puts it back later: two
 * system calls. Of one that is not suspended it asks in each run whether there is an answer.
 */
void exchange_hold(struct exchange *exchange)
{
	if (held == HELD_MOST) {
		exchange_suspend(exchange);
		return;
	}
	if (!exchange->connection || exchange->suspended || exchange->response)
		return;
	exchange->suspended = true;
	exchange->held = true;
	held++;
}

size_t exchange_held(void)
{
	return held;
}

const char *exchange_parameter(const struct exchange *exchange, const char *name)
{
	return MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *exchange_header(const struct exchange *exchange, const char *name)
{
	return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

bool exchange_is_gone(const struct exchange *exchange)
{
	char byte;

	return exchange->client->gone ||
	       !recv(exchange->client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}

enum MHD_Result exchange_send(struct exchange *exchange)
{
	metrics_count_answer(exchange->status);
	if (exchange->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(exchange->response, "WWW-Authenticate", "Bearer");
	if (exchange->status == MHD_HTTP_SERVICE_UNAVAILABLE ||
	    exchange->status == MHD_HTTP_TOO_MANY_REQUESTS)
		MHD_add_response_header(exchange->response, "Retry-After", "1");
	if (stopping || exchange->client->too_many)
		MHD_add_response_header(exchange->response, "Connection", "close");
	return MHD_queue_response(exchange->connection, exchange->status, exchange->response);
}

void exchange_stop(void)
{
	stopping = true;
}

bool exchange_is_stopping(void)
{
	return stopping;
}

bool exchange_was_resumed(void)
{
	bool was = resumed;

	resumed = false;
	return was;
}

size_t exchange_count(void)
{
	return exchanges;
}

size_t exchange_bytes(void)
{
	return bytes;
}
