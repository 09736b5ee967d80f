// SPDX-License-Identifier: GPL-2.0-only
#include "http/answer.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "nodes/survey.h"
#include "text.h"

/* A node that does not answer in this time is shown to be silent. */
#define SURVEY_PATIENCE_MS	1000L

struct survey {
	struct request *request;	/* NULL: it is answered already */
	struct json_object *object;
	size_t left;
};

struct survey_question {
	struct peer_call call;
	struct survey *survey;
	struct json_object *node;	/* the object's own */
};

/* In the node's entry: how it says that it is */
static void survey_note(struct json_object *node, struct json_object *answer)
{
	struct json_object *here;

	if (!json_object_object_get_ex(answer, "here", &here) ||
	    !json_object_is_type(here, json_type_object)) {
		json_add_text(node, "state", "it does not answer");
		return;
	}
	json_object_object_foreach(here, name, value)
		json_object_object_add(node, name, json_object_get(value));
}

static void survey_done(struct peer_call *call)
{
	struct survey_question *question = (struct survey_question *)call;
	struct json_object *said = text_json(call->answer, call->length);
	struct survey *survey = question->survey;

	survey_note(question->node, said);
	json_object_put(said);
	free(call->answer);
	free(question);
	if (--survey->left)
		return;
	if (survey->request)
		answer(survey->request, MHD_HTTP_OK, survey->object);
	else
		json_object_put(survey->object);
	free(survey);
}

static void survey_give_up(struct request *request, enum request_end why)
{
	struct survey *survey = request->waits_for;

	if (why == REQUEST_STOPPING)
		return;
	survey->request = NULL;
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "other nodes take too long");
}

static void survey_ask(struct survey *survey, const char *address, struct json_object *node)
{
	struct survey_question *question = memory_get(1, sizeof(*question));

	question->call.done = survey_done;
	question->survey = survey;
	question->node = node;
	survey->left++;
	peer_request(&question->call, address, "GET", "/cluster", NULL, NULL, SURVEY_PATIENCE_MS);
}

bool survey_pass(struct request *request, struct json_object *object)
{
	struct json_object *array;
	struct survey *survey;

	if (request->is_by_node || members_count() < 2)
		return false;
	survey = memory_get(1, sizeof(*survey));
	survey->object = object;
	json_object_object_get_ex(object, "nodes", &array);
	for (size_t i = 0; i < members_count(); i++) {
		struct json_object *node = json_object_array_get_idx(array, i);

		if (members_address(i))
			survey_ask(survey, members_address(i), node);
		else
			survey_note(node, members_is_here(i) ? object : NULL);
	}
	if (!survey->left) {
		free(survey);
		return false;
	}
	survey->request = request;
	request_wait(request, survey, survey_give_up);
	return true;
}
