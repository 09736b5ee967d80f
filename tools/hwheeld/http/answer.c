// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include <json-c/json.h>

#include "http/answer.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "text.h"

static void answer_finish(struct request *request, unsigned int status,
			  struct MHD_Response *response)
{
	request->status = status;
	request->response = memory_need(response);
	request_drop_body(request);
	request_resume(request);
}

static void answer_bytes(struct request *request, unsigned int status, const char *type,
			 const char *text, size_t length, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(length, (void *)text, mode);

	MHD_add_response_header(memory_need(response), "Content-Type", type);
	answer_finish(request, status, response);
}

void answer_text(struct request *request, unsigned int status, const char *type, char *text,
		 size_t length)
{
	answer_bytes(request, status, type, text, length, MHD_RESPMEM_MUST_FREE);
}

void answer_constant(struct request *request, const char *type, const char *text, size_t length)
{
	answer_bytes(request, MHD_HTTP_OK, type, text, length, MHD_RESPMEM_PERSISTENT);
}

void answer(struct request *request, unsigned int status, struct json_object *object)
{
	const char *json;
	size_t length;
	char *text;

	if (request->take_answer) {
		request->take_answer(request, status, object);
		return;
	}
	json = json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN |
						 JSON_C_TO_STRING_NOSLASHESCAPE, &length);
	text = memory_copy(memory_need((void *)json), length);
	text[length] = '\n';
	json_object_put(object);
	answer_text(request, status, "application/json", text, length + 1);
}

void answer_empty(struct request *request, unsigned int status)
{
	if (request->take_answer)
		request->take_answer(request, status, NULL);
	else
		answer_finish(request, status,
			      MHD_create_response_from_buffer(0, (void *)"",
							      MHD_RESPMEM_PERSISTENT));
}

void answer_error(struct request *request, unsigned int status, const char *text)
{
	struct json_object *object = json_object_new_object();

	json_add_number(object, "status", status);
	json_add_text(object, "error", text);
	answer(request, status, object);
}

void answer_wrong(struct request *request, const char *text, const struct text_wrong *wrong)
{
	char named[256];

	if (wrong->name)
		snprintf(named, sizeof(named), "%.*s: %s",
			 (int)text_printable(wrong->name, wrong->length), wrong->name, text);
	answer_error(request, wrong->status, wrong->name ? named : text);
}

enum MHD_Result answer_send(struct request *request)
{
	struct service *service = request->service;

	service->metrics.answers[request->status / 100 % 6]++;
	if (request->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(request->response, "WWW-Authenticate", "Bearer");
	if (request->status == MHD_HTTP_SERVICE_UNAVAILABLE ||
	    request->status == MHD_HTTP_TOO_MANY_REQUESTS)
		MHD_add_response_header(request->response, "Retry-After", "1");
	if (service->is_stopping || request->client->is_too_many)
		MHD_add_response_header(request->response, "Connection", "close");
	return MHD_queue_response(request->connection, request->status, request->response);
}
