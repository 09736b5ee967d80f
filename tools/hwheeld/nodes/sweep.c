// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "http/client.h"
#include "http/route.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "nodes/refund.h"
#include "nodes/sweep.h"
#include "nodes/takings.h"
#include "queue/take.h"

/* A node that is stopped has the take wait for so long, until it is no member any more. */
#define PATIENCE_MS	1000L

struct sweep {
	struct peer_call call;
	struct exchange *exchange;	/* NULL: it is answered already */
	char path[TAKINGS_PATH];
	char *address;			/* of the node that is asked */
	size_t next;
	size_t left;
};

static size_t first;

static void end(struct sweep *sweep)
{
	struct exchange *exchange = sweep->exchange;

	free(sweep->address);
	free(sweep);
	if (!exchange)
		return;
	exchange->give_up = NULL;
	exchange->was_swept = true;
	route(exchange);
}

static void ask_next(struct sweep *sweep);

static void deliver(struct sweep *sweep, struct json_object *timeouts)
{
	struct exchange *exchange = sweep->exchange;

	if (exchange && !exchange_is_gone(exchange)) {
		sweep->exchange = NULL;
		exchange->give_up = NULL;
		take_answer(exchange, timeouts);
	} else {
		refund(sweep->address, timeouts);
		json_object_put(timeouts);
	}
	end(sweep);
}

static void done(struct peer_call *call)
{
	struct sweep *sweep = (struct sweep *)call;
	uint64_t end_ns;
	struct json_object *timeouts = takings_read(call, &end_ns);

	if (timeouts)
		deliver(sweep, timeouts);
	else if (!sweep->exchange)
		end(sweep);
	else
		ask_next(sweep);
}

static void ask_next(struct sweep *sweep)
{
	const char *address = NULL;

	for (; sweep->left && !address && members_count(); sweep->left--)
		address = members_address(sweep->next++ % members_count());
	if (!address) {
		end(sweep);
		return;
	}
	free(sweep->address);
	sweep->address = memory_copy(address, strlen(address));
	peer_request(&sweep->call, address, "POST", sweep->path, "", NULL, PATIENCE_MS);
}

static void give_up(struct exchange *exchange)
{
	struct sweep *sweep = exchange->elsewhere;

	sweep->exchange = NULL;
	exchange->give_up = NULL;
	take_answer(exchange, NULL);
}

/* An exchange that is suspended must not be answered at once. */
static bool has_others(void)
{
	size_t i = 0;

	while (i < members_count() && !members_address(i))
		i++;
	return i < members_count();
}

bool sweep_pass(struct exchange *exchange, const char *queue, uint64_t max, uint64_t lease_ns)
{
	struct sweep *sweep;

	if (exchange->by_node || exchange->was_swept || !has_others())
		return false;
	sweep = memory_get(1, sizeof(*sweep));
	sweep->exchange = exchange;
	sweep->call.done = done;
	sweep->next = first++;
	sweep->left = members_count();
	takings_path(sweep->path, queue, max, 0, lease_ns);
	exchange->elsewhere = sweep;
	exchange->give_up = give_up;
	exchange_suspend(exchange);
	client_watch(exchange);
	ask_next(sweep);
	return true;
}
