// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "memory.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/peer.h"
#include "nodes/sweep.h"
#include "nodes/takings.h"
#include "queue/take.h"

/* A node that is stopped has the take wait for so long, until it is no member. */
#define SWEEP_PATIENCE_MS	1000L

/* A take that finds something here looks at other nodes first, one time out of so many. */
#define SWEEP_THEIR_TURN	8

struct sweep {
	struct peer_call call;
	struct request *request;	/* NULL: it is answered already */
	char path[TAKINGS_PATH];
	char *address;			/* of the node that is asked */
	size_t next;
	size_t left;
};

static size_t sweep_first;

static void sweep_free(struct sweep *sweep)
{
	free(sweep->address);
	free(sweep);
}

/* No node has anything: the take is decided on here. */
static void sweep_end(struct sweep *sweep)
{
	struct request *request = sweep->request;

	sweep_free(sweep);
	if (!request)
		return;
	request->give_up = NULL;
	request->was_swept = true;
	nodes_decide(request);
}

static void sweep_ask_next(struct sweep *sweep)
{
	const char *address = NULL;

	for (; sweep->left && !address && members_count(); sweep->left--)
		address = members_address(sweep->next++ % members_count());
	if (!address) {
		sweep_end(sweep);
		return;
	}
	free(sweep->address);
	sweep->address = memory_copy(address, strlen(address));
	peer_request(&sweep->call, address, "POST", sweep->path, "", NULL, SWEEP_PATIENCE_MS);
}

static void sweep_done(struct peer_call *call)
{
	struct sweep *sweep = (struct sweep *)call;
	struct request *request = sweep->request;
	uint64_t end_ns;
	struct json_object *timeouts = takings_read(call, &end_ns);

	if (!timeouts && request) {
		sweep_ask_next(sweep);
	} else if (timeouts && request && !request_is_gone(request)) {
		take_answer(request, timeouts);
		sweep_free(sweep);
	} else {
		if (timeouts)
			takings_return(sweep->address, timeouts);
		sweep_end(sweep);
	}
}

static void sweep_give_up(struct request *request, enum request_end why)
{
	struct sweep *sweep = request->waits_for;

	if (why == REQUEST_STOPPING)
		return;
	sweep->request = NULL;
	take_answer(request, NULL);
}

bool sweep_pass(struct request *request, bool is_due_here)
{
	static unsigned int turn;
	struct sweep *sweep;
	size_t i = 0;

	/* A request that is suspended must not be answered at once: others have to be there. */
	while (i < members_count() && !members_address(i))
		i++;
	if (request->is_by_node || request->was_swept || i == members_count() ||
	    (is_due_here && ++turn % SWEEP_THEIR_TURN))
		return false;
	sweep = memory_get(1, sizeof(*sweep));
	sweep->request = request;
	sweep->call.done = sweep_done;
	sweep->next = sweep_first++;
	sweep->left = members_count();
	takings_path(sweep->path, request->name, request->take.max, 0, request->take.lease_ns);
	request_wait(request, sweep, sweep_give_up);
	request_watch(request);
	sweep_ask_next(sweep);
	return true;
}
