// SPDX-License-Identifier: GPL-2.0-only
#include "clock/now.h"
#include "http/answer.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/relay.h"
#include "nodes/survey.h"

/* A node that does not answer in this time is shown to be silent. */
#define SURVEY_PATIENCE_NS	NS_PER_S

struct survey {
	struct request *request;	/* NULL: it is answered already */
	struct json_object *object;
	size_t left;
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

/* The json of a part is the node's entry. */
static void survey_take(struct request *part, unsigned int status, struct json_object *said)
{
	struct survey *survey = part->part_of;

	survey_note(part->json, said);
	json_object_put(said);
	request_free(part);
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

bool survey_pass(struct request *request, struct json_object *object)
{
	struct json_object *array;
	struct survey *survey;
	struct request *part;

	if (request->is_by_node || members_count() < 2)
		return false;
	survey = memory_get(1, sizeof(*survey));
	survey->request = request;
	survey->object = object;
	json_object_object_get_ex(object, "nodes", &array);
	for (size_t i = 0; i < members_count(); i++) {
		struct json_object *node = json_object_array_get_idx(array, i);

		if (!members_address(i)) {
			survey_note(node, members_is_here(i) ? object : NULL);
			continue;
		}
		part = request_new(request->service, NULL, NULL, "GET", "/cluster");
		part->json = json_object_get(node);
		part->part_of = survey;
		part->take_answer = survey_take;
		survey->left++;
		relay(part, members_address(i), SURVEY_PATIENCE_NS);
	}
	if (!survey->left) {
		free(survey);
		return false;
	}
	request_wait(request, survey, survey_give_up);
	return true;
}
