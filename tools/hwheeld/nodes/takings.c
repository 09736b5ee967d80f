// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "clock/now.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/relay.h"
#include "nodes/takings.h"
#include "queue/cancel.h"
#include "queue/take.h"
#include "queue/view.h"

/* A node that is stopped has the take wait for so long, until it is no member. */
#define TAKINGS_PATIENCE_NS	NS_PER_S

/* A take that finds something here looks at other nodes first, one time out of so many. */
#define TAKINGS_THEIR_TURN	8

struct json_object *takings_read(unsigned int status, struct json_object *answer,
				 uint64_t *end_ns)
{
	struct json_object *array = NULL;

	if (status == MHD_HTTP_OK && json_object_object_get_ex(answer, "timeouts", &array) &&
	    json_object_is_type(array, json_type_array) && json_object_array_length(array))
		json_object_get(array);
	else
		array = NULL;
	json_object_put(answer);
	*end_ns = UINT64_MAX;
	for (size_t i = 0; array && i < json_object_array_length(array); i++) {
		uint64_t end = view_pass_lease(json_object_array_get_idx(array, i));

		*end_ns = end < *end_ns ? end : *end_ns;
	}
	return array;
}

/* Without an answer the leases end by themselves. */
static void takings_returned(struct request *part, unsigned int status, struct json_object *said)
{
	json_object_put(said);
	request_free(part);
}

void takings_return(struct service *service, struct json_object *timeouts)
{
	struct json_object *token;
	struct request *part;
	char path[96];

	for (size_t i = 0; i < json_object_array_length(timeouts); i++) {
		if (!json_object_object_get_ex(json_object_array_get_idx(timeouts, i), "token",
					       &token))
			continue;
		snprintf(path, sizeof(path), "/leases/%s/return?unseen=1",
			 json_object_get_string(token));
		part = request_new(service, NULL, NULL, "POST", path);
		snprintf(part->name, sizeof(part->name), "%s", json_object_get_string(token));
		part->take_answer = takings_returned;
		part->decide = end_lease;
		end_lease(part);
	}
	json_object_put(timeouts);
}

/* Sweeping */

struct takings_sweep {
	struct request *request;	/* NULL: it is answered already */
	size_t next;
	size_t left;
};

static void takings_take(struct request *part, unsigned int status, struct json_object *said);

/* If no node has anything, the take is decided on here. */
static void takings_ask_next(struct takings_sweep *sweep)
{
	struct request *request = sweep->request, *part;
	const char *address = NULL;

	for (; sweep->left && !address && members_count(); sweep->left--)
		address = members_address(sweep->next++ % members_count());
	if (address) {
		part = request_new(request->service, NULL, NULL, "POST", request->path);
		part->take = request->take;
		part->take.wait_ns = 0;
		part->part_of = sweep;
		part->take_answer = takings_take;
		relay(part, address, TAKINGS_PATIENCE_NS);
		return;
	}
	free(sweep);
	request->give_up = NULL;
	request->was_swept = true;
	nodes_decide(request);
}

static void takings_take(struct request *part, unsigned int status, struct json_object *said)
{
	struct takings_sweep *sweep = part->part_of;
	struct request *request = sweep->request;
	uint64_t end_ns;
	struct json_object *timeouts = takings_read(status, said, &end_ns);
	bool is_vain = timeouts && (!request || request_is_gone(request));

	if (is_vain)
		takings_return(part->service, timeouts);
	request_free(part);
	if (!timeouts && request) {
		takings_ask_next(sweep);
		return;
	}
	free(sweep);
	if (request)
		take_answer(request, is_vain ? NULL : timeouts);
}

static void takings_give_up(struct request *request, enum request_end why)
{
	struct takings_sweep *sweep = request->waits_for;

	if (why == REQUEST_STOPPING)
		return;
	sweep->request = NULL;
	take_answer(request, NULL);
}

bool takings_sweep(struct request *request, bool is_due_here)
{
	static size_t first;
	static unsigned int turn;
	struct takings_sweep *sweep;
	size_t i = 0;

	/* A request that is suspended must not be answered at once: others have to be there. */
	while (i < members_count() && !members_address(i))
		i++;
	if (request->is_by_node || request->was_swept || i == members_count() ||
	    (is_due_here && ++turn % TAKINGS_THEIR_TURN))
		return false;
	sweep = memory_get(1, sizeof(*sweep));
	sweep->request = request;
	sweep->next = first++;
	sweep->left = members_count();
	request_wait(request, sweep, takings_give_up);
	request_watch(request);
	takings_ask_next(sweep);
	return true;
}
