// SPDX-License-Identifier: GPL-2.0-only
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "nodes/survey.h"
#include "queue/wish.h"

/* A node that does not answer in this time is told to be silent. */
#define PATIENCE_MS	1000L

struct survey {
	struct exchange *exchange;	/* NULL: it is answered already */
	struct json_object *object;
	size_t left;
};

struct question {
	struct peer_call call;
	struct survey *survey;
	struct json_object *node;	/* the object's own */
};

static void copy_members(struct json_object *to, struct json_object *from)
{
	json_object_object_foreach(from, name, value)
		json_object_object_add(to, name, json_object_get(value));
}

/* In the node's entry: how it says that it is */
static void note(struct json_object *node, struct json_object *answer)
{
	struct json_object *here;

	if (json_object_object_get_ex(answer, "here", &here) &&
	    json_object_is_type(here, json_type_object))
		copy_members(node, here);
	else
		json_add_text(node, "state", "it does not answer");
}

static void end_question(struct survey *survey)
{
	if (--survey->left)
		return;
	if (survey->exchange) {
		survey->exchange->give_up = NULL;
		exchange_answer(survey->exchange, MHD_HTTP_OK, survey->object);
	} else {
		json_object_put(survey->object);
	}
	free(survey);
}

static void done(struct peer_call *call)
{
	struct question *question = (struct question *)call;
	struct json_object *answer = wish_parse_json(call->answer, call->length);

	note(question->node, answer);
	json_object_put(answer);
	free(call->answer);
	end_question(question->survey);
	free(question);
}

static void give_up(struct exchange *exchange)
{
	struct survey *survey = exchange->elsewhere;

	survey->exchange = NULL;
	exchange->give_up = NULL;
	exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "other nodes take too long");
}

static void ask(struct survey *survey, const char *address, struct json_object *node)
{
	struct question *question = memory_get(1, sizeof(*question));

	question->call.done = done;
	question->survey = survey;
	question->node = node;
	survey->left++;
	peer_request(&question->call, address, "GET", "/cluster", NULL, NULL, PATIENCE_MS);
}

static void ask_all(struct survey *survey, struct json_object *array)
{
	for (size_t i = 0; i < members_count(); i++) {
		struct json_object *node = json_object_array_get_idx(array, i);

		if (members_address(i))
			ask(survey, members_address(i), node);
		else
			note(node, members_is_here(i) ? survey->object : NULL);
	}
}

bool survey_pass(struct exchange *exchange, struct json_object *object)
{
	struct json_object *array;
	struct survey *survey;

	if (exchange->by_node || members_count() < 2)
		return false;
	survey = memory_get(1, sizeof(*survey));
	survey->object = object;
	json_object_object_get_ex(object, "nodes", &array);
	ask_all(survey, array);
	if (!survey->left) {
		free(survey);
		return false;
	}
	survey->exchange = exchange;
	exchange->elsewhere = survey;
	exchange->give_up = give_up;
	exchange_suspend(exchange);
	return true;
}
