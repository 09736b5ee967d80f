// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include <json-c/json.h>
#include <microhttpd.h>

#include "memory.h"
#include "nodes/takings.h"
#include "queue/view.h"
#include "text.h"

#define TAKINGS_PATIENCE_MS	5000L

void takings_path(char path[TAKINGS_PATH], const char *queue, uint64_t max, uint64_t wait_ns,
		  uint64_t lease_ns)
{
	snprintf(path, TAKINGS_PATH,
		 "/queues/%s/take?max=%" PRIu64 "&wait=%" PRIu64 "ns&lease=%" PRIu64 "ns",
		 queue, max, wait_ns, lease_ns);
}

struct json_object *takings_read(struct peer_call *call, uint64_t *end_ns)
{
	struct json_object *object = text_json(call->answer, call->length), *array = NULL;

	free(call->answer);
	call->answer = NULL;
	if (call->status == MHD_HTTP_OK && json_object_object_get_ex(object, "timeouts", &array) &&
	    json_object_is_type(array, json_type_array) && json_object_array_length(array))
		json_object_get(array);
	else
		array = NULL;
	json_object_put(object);
	*end_ns = UINT64_MAX;
	for (size_t i = 0; array && i < json_object_array_length(array); i++) {
		uint64_t end = view_pass_lease(json_object_array_get_idx(array, i));

		*end_ns = end < *end_ns ? end : *end_ns;
	}
	return array;
}

static void takings_returned(struct peer_call *call)
{
	free(call->answer);
	free(call);
}

/* Without an answer the leases end by themselves. */
void takings_return(const char *address, struct json_object *timeouts)
{
	struct json_object *token;
	struct peer_call *call;
	char path[96];

	for (size_t i = 0; i < json_object_array_length(timeouts); i++) {
		if (!json_object_object_get_ex(json_object_array_get_idx(timeouts, i), "token",
					       &token))
			continue;
		snprintf(path, sizeof(path), "/leases/%s/return?unseen=1",
			 json_object_get_string(token));
		call = memory_get(1, sizeof(*call));
		call->done = takings_returned;
		peer_request(call, address, "POST", path, "", NULL, TAKINGS_PATIENCE_MS);
	}
	json_object_put(timeouts);
}
