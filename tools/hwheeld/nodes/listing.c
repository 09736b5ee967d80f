// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "consensus/shards.h"
#include "http/answer.h"
#include "http/list.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/again.h"
#include "nodes/listing.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/relay.h"

/* The path of a part: a prefix whose bytes are all encoded, and numbers */
#define LISTING_PATH	(3 * KEY_MAX + 256)

struct listing {
	struct loop_source turn;	/* another part is to be asked for, or all has ended */
	struct service *service;
	struct request *request;	/* NULL: it is answered already */
	struct request *part;		/* while it is asked */
	struct list_filter filter;	/* for what is still to come */
	struct json_object *array;
};

static void listing_free(struct listing *listing)
{
	json_object_put(listing->array);
	free(listing);
}

static void listing_end(struct listing *listing, bool has_more)
{
	struct request *request = listing->request;

	listing->request = NULL;
	list_answer(request, json_object_get(listing->array),
		    has_more ? &listing->filter.after : NULL);
}

/* There is no part from here on. */
static void listing_stop(struct listing *listing, unsigned int status, const char *why)
{
	struct request *request = listing->request;

	if (json_object_array_length(listing->array)) {
		listing_end(listing, true);
		return;
	}
	listing->request = NULL;
	if (status == AGAIN_STATUS)
		again_decide(request);
	else
		answer_error(request, status, why);
}

/* Returns false if it is no part of a page, or gets the list no further. */
static bool listing_add(struct listing *listing, struct json_object *part)
{
	struct list_filter *filter = &listing->filter;
	struct json_object *array, *more, *next, *payload;
	uint64_t after;
	bool has_more;

	if (!json_object_object_get_ex(part, "timeouts", &array) ||
	    !json_object_is_type(array, json_type_array) ||
	    json_object_array_length(array) > filter->limit ||
	    !json_object_object_get_ex(part, "more", &more))
		return false;
	has_more = json_object_get_boolean(more);
	json_object_object_get_ex(part, "next", &next);
	after = next ? json_object_get_uint64(next) : filter->after;
	if (after < filter->after || (next && !has_more && after == filter->after))
		return false;
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		struct json_object *timeout = json_object_array_get_idx(array, i);
		bool has_payload = json_object_object_get_ex(timeout, "payload", &payload);

		list_count(filter, has_payload ? (size_t)json_object_get_string_len(payload) : 0);
		json_object_array_add(listing->array, json_object_get(timeout));
	}
	filter->after = after;
	if (has_more || !next)
		listing_end(listing, next);
	return true;
}

static void listing_judge(struct listing *listing, unsigned int status, struct json_object *said)
{
	struct json_object *why;

	if (status == MHD_HTTP_OK && listing_add(listing, said))
		return;
	if (status == MHD_HTTP_OK || status == AGAIN_STATUS)
		listing_stop(listing, AGAIN_STATUS, NULL);
	else if (json_object_object_get_ex(said, "error", &why))
		listing_stop(listing, MHD_HTTP_SERVICE_UNAVAILABLE, json_object_get_string(why));
	else
		listing_stop(listing, MHD_HTTP_SERVICE_UNAVAILABLE, "a node does not answer");
}

/* A part has its answer; the next turn asks for another one. */
static void listing_take(struct request *part, unsigned int status, struct json_object *said)
{
	struct listing *listing = part->part_of;

	listing->part = NULL;
	loop_soon(&listing->service->loop, &listing->turn);
	if (listing->request)
		listing_judge(listing, status, said);
	json_object_put(said);
	request_free(part);
}

/* The other node reads what this one has read. */
static void listing_path(const struct list_filter *filter, char path[LISTING_PATH])
{
	int end = snprintf(path, LISTING_PATH, "/timeouts?after=%" PRIu64 "&limit=%" PRIu64,
			   filter->after, filter->limit);

	if (*filter->queue)
		end += sprintf(path + end, "&queue=%s", filter->queue);
	if (*filter->state)
		end += sprintf(path + end, "&state=%s", filter->state);
	if (filter->has_payload)
		end += sprintf(path + end, "&payload=1&bytes=%" PRIu64, filter->bytes);
	end += sprintf(path + end, "&prefix=");
	for (size_t i = 0; i < filter->prefix_length; i++)
		end += sprintf(path + end, "%%%02X", (unsigned char)filter->prefix[i]);
}

/* @address: NULL: this node, which answers at once, or in one of its next turns */
static void listing_ask(struct listing *listing, const char *address)
{
	struct service *service = listing->service;
	char path[LISTING_PATH];
	struct request *part;

	listing_path(&listing->filter, path);
	part = request_new(service, NULL, NULL, "GET", path);
	part->filter = memory_get(1, sizeof(*part->filter));
	*part->filter = listing->filter;
	part->decide = list;
	part->is_by_node = true;
	part->part_of = listing;
	part->take_answer = listing_take;
	listing->part = part;
	if (address)
		relay(part, address, service->settings.request_time);
	else
		nodes_decide(part);
}

/* A shard that is broken here is this node's to refuse. */
static void listing_go_on(struct listing *listing)
{
	uint64_t shard = listing->filter.after >> LIST_SHARD;
	const char *address = NULL;
	bool is_here;

	if (shard >= listing->service->shards) {
		listing_end(listing, false);
		listing_free(listing);
		return;
	}
	is_here = shards_serve((unsigned int)shard) ||
		  tenure_state(shards_tenures(), (unsigned int)shard) == TENURE_BROKEN;
	if (!is_here && members_count())
		address = members_address(members_owner((unsigned int)shard));
	if (is_here || address) {
		listing_ask(listing, address);
		return;
	}
	listing_stop(listing, AGAIN_STATUS, NULL);
	listing_free(listing);
}

static void listing_turn(void *owner)
{
	struct listing *listing = owner;

	if (listing->request)
		listing_go_on(listing);
	else if (!listing->part)
		listing_free(listing);
}

/* The part ends now, or has ended; the next turn frees the listing. */
static void listing_give_up(struct request *request, enum request_end why)
{
	struct listing *listing = request->waits_for;

	if (why == REQUEST_STOPPING)
		return;
	listing_stop(listing, MHD_HTTP_SERVICE_UNAVAILABLE, "a node takes too long");
	if (listing->part && listing->part->give_up)
		listing->part->give_up(listing->part, why);
}

void listing(struct request *request)
{
	struct service *service = request->service;
	struct list_filter filter = *request->filter;
	struct listing *listing;

	if (!list_fit_memory(&filter)) {
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, ANSWER_NO_MEMORY);
		return;
	}
	listing = memory_get(1, sizeof(*listing));
	listing->turn = (struct loop_source) { .ready = listing_turn, .owner = listing };
	listing->service = service;
	listing->request = request;
	listing->filter = filter;
	listing->array = json_object_new_array();
	request_wait(request, listing, listing_give_up);
	loop_soon(&service->loop, &listing->turn);
}
