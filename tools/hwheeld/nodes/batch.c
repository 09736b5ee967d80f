// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "clock/now.h"
#include "http/route.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/batch.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "nodes/shard.h"
#include "queue/wish.h"
#include "settings.h"

static const char not_sent[] = "the node that has it cannot be reached: nothing has changed";
static const char not_known[] = "the node that has it does not know this one: nothing has changed";
static const char unknown[] = "the node that has it does not answer: the change may have happened";

/* The timeouts of one node; the last part is this node's */
struct part {
	struct peer_call call;
	struct batch *batch;
	struct json_object *timeouts;
	size_t *places;			/* in the whole */
	size_t count;
	char *text;			/* while another node is asked */
};

struct batch {
	struct exchange *exchange;	/* NULL: it is answered already */
	struct json_object **results;
	size_t count;
	struct part *parts;
	size_t parts_count;
	size_t left;
};

static struct json_object *make_result(struct part *part, size_t i, unsigned int status,
				       const char *why)
{
	struct json_object *object = json_object_new_object(), *key = NULL;

	json_object_object_get_ex(json_object_array_get_idx(part->timeouts, i), "key", &key);
	json_object_object_add(object, "key", json_object_get(key));
	json_add_number(object, "status", status);
	json_add_text(object, "error", why);
	return object;
}

static void fail(struct part *part, unsigned int status, const char *why)
{
	for (size_t i = 0; i < part->count; i++)
		part->batch->results[part->places[i]] = make_result(part, i, status, why);
}

/* Returns false if it is not what a batch is answered with. */
static bool take_results(struct part *part, struct json_object *answer)
{
	struct json_object *array;

	if (!json_object_object_get_ex(answer, "results", &array) ||
	    !json_object_is_type(array, json_type_array) ||
	    json_object_array_length(array) != part->count)
		return false;
	for (size_t i = 0; i < part->count; i++)
		part->batch->results[part->places[i]] =
			json_object_get(json_object_array_get_idx(array, i));
	return true;
}

static void take_error(struct part *part, unsigned int status, struct json_object *answer)
{
	struct json_object *why;

	if (status == MHD_HTTP_UNAUTHORIZED)
		fail(part, MHD_HTTP_SERVICE_UNAVAILABLE, not_known);
	else if (json_object_object_get_ex(answer, "error", &why))
		fail(part, status, json_object_get_string(why));
	else
		fail(part, MHD_HTTP_SERVICE_UNAVAILABLE, unknown);
}

static void batch_free(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		json_object_put(batch->results[i]);
	for (size_t i = 0; i < batch->parts_count; i++) {
		json_object_put(batch->parts[i].timeouts);
		free(batch->parts[i].places);
	}
	free(batch->parts);
	free(batch->results);
	free(batch);
}

static void answer(struct batch *batch)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array = json_object_new_array_ext((int)batch->count);

	for (size_t i = 0; i < batch->count; i++)
		json_object_array_add(array, json_object_get(batch->results[i]));
	json_object_object_add(object, "results", array);
	batch->exchange->give_up = NULL;
	exchange_answer(batch->exchange, MHD_HTTP_OK, object);
}

static void end_part(struct batch *batch)
{
	if (--batch->left)
		return;
	if (batch->exchange)
		answer(batch);
	batch_free(batch);
}

static void end_remote(struct peer_call *call)
{
	struct part *part = (struct part *)call;
	struct json_object *object = wish_parse_json(call->answer, call->length);

	if (!call->status)
		fail(part, MHD_HTTP_SERVICE_UNAVAILABLE, call->was_sent ? unknown : not_sent);
	else if (call->status != MHD_HTTP_OK || !take_results(part, object))
		take_error(part, call->status, object);
	json_object_put(object);
	free(call->answer);
	free(part->text);
	part->text = NULL;
	end_part(part->batch);
}

static void end_local(struct exchange *exchange, unsigned int status, struct json_object *object)
{
	struct part *part = exchange->elsewhere;

	if (status != MHD_HTTP_OK || !take_results(part, object))
		take_error(part, status, object);
	json_object_put(object);
	exchange_free(exchange);
	end_part(part->batch);
}

static void cancel_all(struct batch *batch)
{
	batch->left++;
	for (size_t i = 0; i < batch->parts_count; i++) {
		if (!batch->parts[i].text)
			continue;
		peer_cancel(&batch->parts[i].call);
		free(batch->parts[i].text);
		batch->parts[i].text = NULL;
		batch->left--;
	}
	end_part(batch);
}

/* Other nodes go on with their parts; this one's part may be on its way. */
static void give_up(struct exchange *exchange)
{
	struct batch *batch = exchange->elsewhere;

	batch->exchange = NULL;
	exchange->give_up = NULL;
	cancel_all(batch);
	exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
		       "other nodes take too long: the change may have happened");
}

/* Dividing */

static unsigned int shard_of_timeout(struct json_object *timeout)
{
	struct json_object *key;

	json_object_object_get_ex(timeout, "key", &key);
	return shard_of(json_object_get_string(key), (size_t)json_object_get_string_len(key));
}

static size_t part_of(struct json_object *timeout, size_t own)
{
	unsigned int shard = shard_of_timeout(timeout);

	return shard_state(shard) == SHARD_OWNED ? own : members_owner(shard);
}

static void add(struct part *part, struct json_object *timeout, size_t place, size_t count)
{
	if (!part->timeouts) {
		part->timeouts = json_object_new_array();
		part->places = memory_get(count, sizeof(*part->places));
	}
	json_object_array_add(part->timeouts, json_object_get(timeout));
	part->places[part->count++] = place;
}

static struct batch *divide(struct exchange *exchange, struct json_object *timeouts)
{
	struct batch *batch = memory_get(1, sizeof(*batch));
	size_t own = members_count();

	batch->exchange = exchange;
	batch->count = json_object_array_length(timeouts);
	batch->results = memory_get(batch->count, sizeof(struct json_object *));
	batch->parts_count = own + 1;
	batch->parts = memory_get(batch->parts_count, sizeof(*batch->parts));
	for (size_t i = 0; i < batch->count; i++) {
		struct json_object *timeout = json_object_array_get_idx(timeouts, i);

		add(&batch->parts[part_of(timeout, own)], timeout, i, batch->count);
	}
	return batch;
}

/* Sending */

static char *text_of(struct part *part, size_t *length)
{
	struct json_object *object = json_object_new_object();
	const char *json;
	char *text;

	json_object_object_add(object, "timeouts", json_object_get(part->timeouts));
	json = json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN |
						 JSON_C_TO_STRING_NOSLASHESCAPE, length);
	text = memory_copy(memory_need((void *)json), *length);
	json_object_put(object);
	return text;
}

static void send_local(struct part *part)
{
	struct exchange *exchange = exchange_new(NULL, NULL, "POST", "/timeouts");
	size_t length;
	char *text = text_of(part, &length);

	exchange->take_answer = end_local;
	exchange->elsewhere = part;
	exchange->by_node = true;
	if (exchange_append(exchange, text, length))
		route(exchange);
	else
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       "there are too many large requests");
	free(text);
}

static void send_remote(struct part *part, const char *address)
{
	size_t length;

	part->text = text_of(part, &length);
	part->call.done = end_remote;
	peer_request(&part->call, address, "POST", "/timeouts", part->text, NULL,
		     (long)(settings.request_time / NS_PER_MS));
}

static void send_part(struct batch *batch, size_t i)
{
	struct part *part = &batch->parts[i];

	part->batch = batch;
	if (i == batch->parts_count - 1)
		send_local(part);
	else
		send_remote(part, members_address(i));
}

/* The local part may end at once; all is counted before any is sent. */
static void send_all(struct batch *batch)
{
	size_t count = batch->parts_count;

	batch->left = 1;
	for (size_t i = 0; i < count; i++)
		batch->left += batch->parts[i].count > 0;
	for (size_t i = 0; i < count; i++)
		if (batch->parts[i].count)
			send_part(batch, i);
	end_part(batch);
}

static bool is_whole(const struct batch *batch)
{
	return batch->parts[batch->parts_count - 1].count == batch->count;
}

/* A shard on its way from one node to another is nobody's for a moment. */
static bool has_addresses(const struct batch *batch)
{
	for (size_t i = 0; i < batch->parts_count - 1; i++)
		if (batch->parts[i].count && !members_address(i))
			return false;
	return true;
}

/*
 * A batch of another node, or one that has waited, may be about shards that this node does not own
 * any more, or is loading: their timeouts come and go.
 */
static bool refuse_foreign(struct exchange *exchange, struct json_object *timeouts)
{
	for (size_t i = 0; i < json_object_array_length(timeouts); i++) {
		struct json_object *timeout = json_object_array_get_idx(timeouts, i);

		if (shard_state(shard_of_timeout(timeout)) == SHARD_OWNED)
			continue;
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       "another node has some of them: nothing has changed");
		return true;
	}
	return false;
}

bool batch_pass(struct exchange *exchange, struct json_object *timeouts)
{
	struct batch *batch;

	if (exchange->by_node || !members_count())
		return refuse_foreign(exchange, timeouts);
	batch = divide(exchange, timeouts);
	if (is_whole(batch)) {
		batch_free(batch);
		return false;
	}
	if (!has_addresses(batch)) {
		batch_free(batch);
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       "another node has some of them: nothing has changed");
		return true;
	}
	exchange->elsewhere = batch;
	exchange->give_up = give_up;
	exchange_suspend(exchange);
	send_all(batch);
	return true;
}
