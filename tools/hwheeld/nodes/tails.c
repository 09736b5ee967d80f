// SPDX-License-Identifier: GPL-2.0-only
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "consensus/shards.h"
#include "http/answer.h"
#include "hwheelctl/json.h"
#include "hwheelctl/strict_json.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "nodes/tails.h"
#include "text.h"

#define TAILS_PATH		"/peer/tails"
#define TAILS_PATIENCE_MS	2000L

/* A request is about so many shards, so that it is within the limit of bodies. */
#define TAILS_SHARDS	512U

struct tails_call {
	struct peer_call call;
	struct tails_call *prev, *next;
	char *body;
};

static struct {
	struct service *service;
	struct tails_call *calls;	/* on their way */
	unsigned int next;		/* shard that is sent next */
} tails;

/* Writing: {"tails": [{"shard": 3, "owner": true, "tail": "00ff..."}, ...]} */

static void tails_add(struct json_object *array, unsigned int shard)
{
	struct chain_tail list[CHAIN_HEARD];
	unsigned char bytes[CHAIN_TAIL];
	char text[2 * CHAIN_TAIL + 1];
	bool is_owner;
	size_t count = tenure_tails(shards_tenures(), shard, list, &is_owner);

	for (size_t i = 0; i < count; i++) {
		struct json_object *object = json_object_new_object();

		chain_write_tail(&list[i], bytes);
		for (size_t j = 0; j < sizeof(bytes); j++)
			snprintf(text + 2 * j, 3, "%02x", bytes[j]);
		json_add_number(object, "shard", shard);
		json_object_object_add(object, "owner", json_object_new_boolean(is_owner));
		json_add_text(object, "tail", text);
		json_object_array_add(array, object);
	}
}

static struct json_object *tails_show(unsigned int from)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array = json_object_new_array();

	for (unsigned int i = from; i < tails.service->shards && i < from + TAILS_SHARDS; i++)
		tails_add(array, i);
	json_add_number(object, "from", from);
	json_object_object_add(object, "tails", array);
	return object;
}

/* Reading */

static bool tails_read(struct chain_tail *tail, const char *text)
{
	unsigned char bytes[CHAIN_TAIL];

	if (strlen(text) != 2 * sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		if (sscanf(text + 2 * i, "%2hhx", &bytes[i]) != 1)
			return false;
	return chain_read_tail(tail, bytes, sizeof(bytes));
}

static void tails_hear_one(struct json_object *object, bool is_answer)
{
	struct json_object *shard, *owner, *text;
	struct chain_tail tail;
	int64_t number;

	if (!json_object_object_get_ex(object, "shard", &shard) ||
	    !json_object_object_get_ex(object, "owner", &owner) ||
	    !json_object_object_get_ex(object, "tail", &text) ||
	    !json_object_is_type(text, json_type_string))
		return;
	number = json_object_get_int64(shard);
	if (number >= 0 && number < tails.service->shards &&
	    tails_read(&tail, json_object_get_string(text)))
		tenure_hear(shards_tenures(), (unsigned int)number, &tail,
			    is_answer && json_object_get_boolean(owner));
}

/* Only an owner that answers has heard what this node had. */
static void tails_hear(struct json_object *object, bool is_answer)
{
	struct json_object *array;

	if (!json_object_object_get_ex(object, "tails", &array) ||
	    !json_object_is_type(array, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(array); i++)
		tails_hear_one(json_object_array_get_idx(array, i), is_answer);
}

void tails_answer(struct request *request)
{
	struct json_object *object = strict_json(request->body, request->length), *from, *own;

	if (!json_object_object_get_ex(object, "from", &from)) {
		json_object_put(object);
		answer_error(request, MHD_HTTP_BAD_REQUEST, "tails are expected");
		return;
	}
	own = tails_show((unsigned int)json_object_get_int64(from) % CHAIN_SHARDS);
	tails_hear(object, false);
	json_object_put(object);
	answer(request, MHD_HTTP_OK, own);
}

/* Sending */

static void tails_free(struct tails_call *call)
{
	DL_DELETE(tails.calls, call);
	free(call->call.answer);
	free(call->body);
	free(call);
}

static void tails_done(struct peer_call *peer_call)
{
	struct tails_call *call = (struct tails_call *)peer_call;
	struct json_object *object = peer_call->status == MHD_HTTP_OK ?
				     strict_json(peer_call->answer, peer_call->length) : NULL;

	tails_hear(object, true);
	json_object_put(object);
	tails_free(call);
}

static void tails_send_to(const char *address, const char *body)
{
	struct tails_call *call = memory_get(1, sizeof(*call));

	call->call.done = tails_done;
	call->call.sort = PEER_REQUEST;
	call->body = memory_copy(body, strlen(body));
	DL_APPEND(tails.calls, call);
	peer_request(&call->call, address, "POST", TAILS_PATH, call->body, NULL,
		     TAILS_PATIENCE_MS);
}

/* Answers to those of the last time come first. */
void tails_send(void)
{
	struct json_object *object;

	if (tails.calls)
		return;
	object = tails_show(tails.next);
	for (size_t i = 0; i < members_count(); i++)
		if (members_address(i))
			tails_send_to(members_address(i),
				      json_object_to_json_string_ext(object,
								     JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
	tails.next += TAILS_SHARDS;
	if (tails.next >= tails.service->shards)
		tails.next = 0;
}

void tails_begin(struct service *service)
{
	tails.service = service;
}

void tails_end(void)
{
	while (tails.calls) {
		peer_cancel(&tails.calls->call);
		tails_free(tails.calls);
	}
}
