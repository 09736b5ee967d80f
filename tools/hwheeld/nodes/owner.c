// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "clock/now.h"
#include "consensus/shards.h"
#include "http/answer.h"
#include "http/list.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/again.h"
#include "nodes/batch.h"
#include "nodes/feed.h"
#include "nodes/keeper.h"
#include "nodes/listing.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/parcel.h"
#include "nodes/relay.h"
#include "nodes/tails.h"
#include "nodes/takings.h"
#include "say.h"

/* A node that does not answer in this time is shown to be silent. */
#define OWNER_PATIENCE_NS	NS_PER_S

static void owner_mark(unsigned char token[TOKEN_SIZE], unsigned int shard)
{
	token[0] = (unsigned char)(shard >> 8);
	token[1] = (unsigned char)shard;
}

/* A shard that is on its way from one node to another is nobody's for a moment: NULL. */
static const char *owner_address(unsigned int shard)
{
	return members_count() ? members_address(members_owner(shard)) : NULL;
}

/* On to the node that should have the shard, unless the request comes from one. */
static void owner_send(struct request *request, unsigned int shard, unsigned int status,
		       const char *why)
{
	const char *address = owner_address(shard);

	if (request->is_by_node || !address)
		answer_error(request, status, why);
	else
		relay(request, address, request->service->settings.request_time);
}

static bool owner_pass_shard(struct request *request, unsigned int shard)
{
	if (shards_serve(shard))
		return false;
	if (tenure_state(shards_tenures(), shard) == TENURE_BROKEN)
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			     "commits of its shard are missing: nothing has changed");
	else if (!request->is_by_node && !owner_address(shard))
		again_decide(request);
	else
		owner_send(request, shard, AGAIN_STATUS,
			   "another node has this timeout: nothing has changed");
	return true;
}

static bool owner_pass(struct request *request)
{
	if (shards_are_sure())
		return request->key.text && owner_pass_shard(request, request->key.shard);
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		     "the store is lost: nothing has changed");
	return true;
}

static bool owner_pass_lease(struct request *request, const unsigned char token[TOKEN_SIZE])
{
	unsigned int shard = (unsigned int)token[0] << 8 | token[1];

	return shard < request->service->shards && owner_pass_shard(request, shard);
}

static bool owner_pass_list(struct request *request)
{
	uint64_t shard = request->filter->after >> LIST_SHARD;

	if (request->is_by_node)
		return shard < request->service->shards &&
		       owner_pass_shard(request, (unsigned int)shard);
	listing(request);
	return true;
}

/* Missing commits stay lost, also if they come to light later. */
static void owner_accept(struct request *request, unsigned int shard)
{
	if (shard >= request->service->shards) {
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such shard");
	} else if (tenure_state(shards_tenures(), shard) == TENURE_BROKEN) {
		say(LOG_WARNING, "cluster: shard %u goes on without what is missing", shard);
		tenure_accept(shards_tenures(), shard);
		answer_empty(request, MHD_HTTP_NO_CONTENT);
	} else {
		owner_send(request, shard, MHD_HTTP_NOT_FOUND,
			   "nothing is known to be missing in it");
	}
}

static void owner_answer_node(struct request *request)
{
	if (!strcmp(request->path, "/peer/time"))
		keeper_answer(request);
	else if (!strcmp(request->path, "/peer/tails"))
		tails_answer(request);
	else
		parcel_open(request);
}

/* How all nodes are: each one answers for itself. */

struct owner_survey {
	struct request *request;	/* NULL: it is answered already */
	struct json_object *object;
	size_t left;
};

/* In the node's entry: how it says that it is */
static void owner_survey_note(struct json_object *node, struct json_object *answer)
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
static void owner_survey_take(struct request *part, unsigned int status, struct json_object *said)
{
	struct owner_survey *survey = part->part_of;

	owner_survey_note(part->json, said);
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

static void owner_survey_give_up(struct request *request, enum request_end why)
{
	struct owner_survey *survey = request->waits_for;

	if (why == REQUEST_STOPPING)
		return;
	survey->request = NULL;
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "other nodes take too long");
}

static bool owner_survey(struct request *request, struct json_object *object)
{
	struct json_object *array;
	struct owner_survey *survey;
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
			owner_survey_note(node, members_is_here(i) ? object : NULL);
			continue;
		}
		part = request_new(request->service, NULL, NULL, "GET", "/cluster");
		part->json = json_object_get(node);
		part->part_of = survey;
		part->take_answer = owner_survey_take;
		survey->left++;
		relay(part, members_address(i), OWNER_PATIENCE_NS);
	}
	if (!survey->left) {
		free(survey);
		return false;
	}
	request_wait(request, survey, owner_survey_give_up);
	return true;
}

const struct nodes_ops owner_ops = {
	.pass = owner_pass,
	.pass_lease = owner_pass_lease,
	.pass_batch = batch_pass,
	.pass_list = owner_pass_list,
	.serves = shards_serve,
	.sweep = takings_sweep,
	.survey = owner_survey,
	.wait = feed_wait,
	.stop_waiting = feed_stop,
	.accept = owner_accept,
	.answer_node = owner_answer_node,
	.mark = owner_mark,
};
