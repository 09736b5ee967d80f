// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "consensus/shards.h"
#include "http/answer.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/again.h"
#include "nodes/batch.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/relay.h"
#include "queue/change.h"
#include "queue/put.h"

/* The timeouts of one node; the last part is this node's */
struct batch_part {
	struct request *request;	/* while it is asked */
	struct batch *batch;
	struct json_object *timeouts;
	size_t *places;			/* in the whole */
	size_t count;
};

struct batch {
	struct request *request;	/* NULL: it is answered already */
	struct json_object *results;
	struct batch_part *parts;
	size_t parts_count;
	size_t left;
};

static void batch_free(struct batch *batch)
{
	for (size_t i = 0; i < batch->parts_count; i++) {
		json_object_put(batch->parts[i].timeouts);
		free(batch->parts[i].places);
	}
	json_object_put(batch->results);
	free(batch->parts);
	free(batch);
}

/* The last part that ends answers. */
static void batch_end_part(struct batch *batch)
{
	struct json_object *object;

	if (--batch->left)
		return;
	if (batch->request) {
		object = json_object_new_object();
		json_object_object_add(object, "results", json_object_get(batch->results));
		answer(batch->request, MHD_HTTP_OK, object);
	}
	batch_free(batch);
}

static void batch_fail(struct batch_part *part, unsigned int status, const char *why)
{
	for (size_t i = 0; i < part->count; i++) {
		struct json_object *timeout = json_object_array_get_idx(part->timeouts, i);
		struct json_object *object = json_object_new_object(), *key = NULL;

		json_object_object_get_ex(timeout, "key", &key);
		json_object_object_add(object, "key", json_object_get(key));
		json_add_number(object, "status", status);
		json_add_text(object, "error", why);
		json_object_array_put_idx(part->batch->results, part->places[i], object);
	}
}

/*
 * A part has its answer, whatever it is, and whoever gave it. One that its node has not got is
 * decided on anew, as a client's batch, which may be divided.
 */
static void batch_take(struct request *request, unsigned int status, struct json_object *said)
{
	struct batch_part *part = request->part_of;
	struct json_object *array, *one, *why;

	if (status == AGAIN_STATUS) {
		json_object_put(said);
		request->is_by_node = false;
		again_decide(request);
		return;
	}
	if (status == MHD_HTTP_OK && json_object_object_get_ex(said, "results", &array) &&
	    json_object_is_type(array, json_type_array) &&
	    json_object_array_length(array) == part->count)
		for (size_t i = 0; i < part->count; i++) {
			one = json_object_get(json_object_array_get_idx(array, i));
			json_object_array_put_idx(part->batch->results, part->places[i], one);
		}
	else if (json_object_object_get_ex(said, "error", &why))
		batch_fail(part, status, json_object_get_string(why));
	else
		batch_fail(part, MHD_HTTP_SERVICE_UNAVAILABLE,
			   "the node that has it does not answer: the change may have happened");
	json_object_put(said);
	part->request = NULL;
	request_free(request);
	batch_end_part(part->batch);
}

/* It may end at once. @address: NULL: this node has it */
static void batch_send(struct batch_part *part, const char *address)
{
	struct service *service = part->batch->request->service;
	struct request *request = request_new(service, NULL, NULL, "POST", "/timeouts");
	const char *json;

	part->request = request;
	request->json = json_object_new_object();
	json_object_object_add(request->json, "timeouts", json_object_get(part->timeouts));
	request->decide = put;
	request->is_by_node = true;
	request->only_creates = part->batch->request->only_creates;
	request->part_of = part;
	request->take_answer = batch_take;
	if (!address) {
		nodes_decide(request);
		return;
	}
	json = json_object_to_json_string_ext(request->json, JSON_C_TO_STRING_PLAIN |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
	request->body = memory_copy(memory_need((void *)json), strlen(json));
	relay(request, address, service->settings.request_time);
}

/* The parts may be on their way; those that end now are the last ones to use the batch. */
static void batch_give_up(struct request *request, enum request_end why)
{
	struct batch *batch = request->waits_for;

	if (why == REQUEST_STOPPING)
		return;
	batch->request = NULL;
	batch->left++;
	for (size_t i = 0; i < batch->parts_count; i++)
		if (batch->parts[i].request && batch->parts[i].request->give_up)
			batch->parts[i].request->give_up(batch->parts[i].request, why);
	batch_end_part(batch);
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		     "other nodes take too long: the change may have happened");
}

/* Dividing */

/*
 * Returns NULL if a part has no node now: a shard on its way from one to another is nobody's for a
 * moment.
 */
static struct batch *batch_divide(struct request *request)
{
	const struct store_request *commit = &request->change->commit;
	size_t own = members_count(), count = commit->count;
	struct json_object *timeouts;
	bool has_addresses = true;
	struct batch *batch;

	if (!own)
		return NULL;
	batch = memory_get(1, sizeof(*batch));
	json_object_object_get_ex(request->json, "timeouts", &timeouts);
	batch->request = request;
	batch->results = json_object_new_array_ext((int)count);
	batch->parts_count = own + 1;
	batch->parts = memory_get(batch->parts_count, sizeof(*batch->parts));
	for (size_t i = 0; i < count; i++) {
		unsigned int shard = commit->records[i].key.shard;
		size_t node = shards_serve(shard) ? own : members_owner(shard);
		struct batch_part *part = &batch->parts[node];

		has_addresses &= node == own || members_address(node);
		if (!part->timeouts) {
			part->timeouts = json_object_new_array();
			part->places = memory_get(count, sizeof(*part->places));
		}
		part->batch = batch;
		json_object_array_add(part->timeouts,
				      json_object_get(json_object_array_get_idx(timeouts, i)));
		part->places[part->count++] = i;
	}
	if (has_addresses)
		return batch;
	batch_free(batch);
	return NULL;
}

/* All parts are counted before any is sent. */
static void batch_begin(struct batch *batch)
{
	request_wait(batch->request, batch, batch_give_up);
	batch->left = 1;
	for (size_t i = 0; i < batch->parts_count; i++)
		batch->left += batch->parts[i].count > 0;
	for (size_t i = 0; i < batch->parts_count; i++)
		if (batch->parts[i].count)
			batch_send(&batch->parts[i],
				   i < batch->parts_count - 1 ? members_address(i) : NULL);
	batch_end_part(batch);
}

/*
 * A batch of another node, or one that has waited, may be about shards that this node has lost, or
 * is loading: their timeouts come and go.
 */
bool batch_pass(struct request *request)
{
	const struct store_request *commit = &request->change->commit;
	bool is_here = true, is_broken = false;
	struct batch *batch;

	for (size_t i = 0; i < commit->count; i++) {
		unsigned int shard = commit->records[i].key.shard;

		is_here = is_here && shards_serve(shard);
		is_broken |= tenure_state(shards_tenures(), shard) == TENURE_BROKEN;
	}
	if (is_here)
		return false;
	if (is_broken) {
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			     "commits of a shard are missing: nothing has changed");
	} else if (request->is_by_node) {
		answer_error(request, AGAIN_STATUS,
			     "another node has some of them: nothing has changed");
	} else {
		batch = batch_divide(request);
		if (batch)
			batch_begin(batch);
		else
			again_decide(request);
	}
	return true;
}
