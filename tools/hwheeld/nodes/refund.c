// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "memory.h"
#include "nodes/peer.h"
#include "nodes/refund.h"

#define PATIENCE_MS	5000L

static void done(struct peer_call *call)
{
	free(call->answer);
	free(call);
}

static void return_one(const char *address, struct json_object *timeout)
{
	struct peer_call *call;
	struct json_object *token;
	char path[96];

	if (!json_object_object_get_ex(timeout, "token", &token))
		return;
	snprintf(path, sizeof(path), "/leases/%s/return?unseen=1", json_object_get_string(token));
	call = memory_get(1, sizeof(*call));
	call->done = done;
	peer_request(call, address, "POST", path, "", NULL, PATIENCE_MS);
}

void refund(const char *address, struct json_object *timeouts)
{
	for (size_t i = 0; i < json_object_array_length(timeouts); i++)
		return_one(address, json_object_array_get_idx(timeouts, i));
}
