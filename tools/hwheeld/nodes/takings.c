// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <microhttpd.h>

#include "http/show.h"
#include "nodes/takings.h"
#include "queue/wish.h"

void takings_path(char path[TAKINGS_PATH], const char *queue, uint64_t max, uint64_t wait_ns,
		  uint64_t lease_ns)
{
	snprintf(path, TAKINGS_PATH,
		 "/queues/%s/take?max=%" PRIu64 "&wait=%" PRIu64 "ns&lease=%" PRIu64 "ns",
		 queue, max, wait_ns, lease_ns);
}

static uint64_t pass_leases(struct json_object *timeouts)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < json_object_array_length(timeouts); i++) {
		uint64_t end = show_pass_lease(json_object_array_get_idx(timeouts, i));

		first = end < first ? end : first;
	}
	return first;
}

struct json_object *takings_read(struct peer_call *call, uint64_t *end_ns)
{
	struct json_object *object = wish_parse_json(call->answer, call->length);
	struct json_object *array = NULL;

	free(call->answer);
	call->answer = NULL;
	if (call->status == MHD_HTTP_OK && json_object_object_get_ex(object, "timeouts", &array) &&
	    json_object_is_type(array, json_type_array) && json_object_array_length(array))
		json_object_get(array);
	else
		array = NULL;
	json_object_put(object);
	if (array)
		*end_ns = pass_leases(array);
	return array;
}
