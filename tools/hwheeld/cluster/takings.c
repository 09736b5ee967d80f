// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <microhttpd.h>

#include "../wish.h"
#include "takings.h"

void takings_path(char path[TAKINGS_PATH], const char *queue, uint64_t max, uint64_t wait_ns,
		  uint64_t lease_ns)
{
	snprintf(path, TAKINGS_PATH,
		 "/queues/%s/take?max=%" PRIu64 "&wait=%" PRIu64 "ns&lease=%" PRIu64 "ns",
		 queue, max, wait_ns, lease_ns);
}

struct json_object *takings_read(struct peer_call *call)
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
	return array;
}
