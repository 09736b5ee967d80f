// SPDX-License-Identifier: GPL-2.0-only
#include "clock/now.h"
#include "http/answer.h"
#include "nodes/nodes.h"
#include "queue/cancel.h"
#include "queue/change.h"
#include "queue/life.h"
#include "queue/room.h"
#include "text.h"

static void cancel_apply(struct change *change)
{
	if (change->commit.records->type == RECORD_ACK)
		change->service->metrics.acknowledged++;
	else
		change->service->metrics.cancelled++;
	timeout_remove(change->timeouts[0]);
	change->timeouts[0] = NULL;
	if (change->request)
		answer_empty(change->request, MHD_HTTP_NO_CONTENT);
}

static void cancel_submit(struct request *request, struct timeout *timeout, enum record_type type)
{
	struct change *change = change_new(request->service, request, 1);

	change->timeouts[0] = timeout;
	change->commit.records[0] = (struct record) { .type = type, .key = timeout_key(timeout) };
	change->apply = cancel_apply;
	change_submit(change);
}

void cancel_timeout(struct request *request)
{
	struct timeout *timeout = timeout_find(request->service, &request->key);

	if (timeout)
		life_end_lease(timeout);
	if (!timeout)
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such timeout");
	else if (timeout->busy)
		change_wait_for(timeout, request);
	else if (timeout->state == TIMEOUT_LEASED)
		answer_error(request, MHD_HTTP_CONFLICT, "the timeout is leased");
	else if (!room_wait(request, 0))
		cancel_submit(request, timeout, RECORD_CANCEL);
}

/*
 * The leased timeout whose token the request names; NULL: it is answered, or waits. The alarm of a
 * lease that has ended may be on its way.
 */
static struct timeout *cancel_find_leased(struct request *request)
{
	const struct nodes_ops *nodes = request->service->nodes;
	struct timeout *timeout = NULL;
	unsigned char token[TOKEN_SIZE];

	if (text_read_token(request->name, token)) {
		if (nodes && nodes->pass_lease(request, token))
			return NULL;
		timeout = timeout_find_leased(request->service, token);
	}
	if (timeout && timeout->busy) {
		change_wait_for(timeout, request);
		return NULL;
	}
	if (timeout && !now_has_come(timeout->lease->end_ns))
		return room_wait(request, 0) ? NULL : timeout;
	answer_error(request, MHD_HTTP_GONE, "the lease has ended");
	return NULL;
}

void cancel_lease(struct request *request)
{
	struct timeout *timeout = cancel_find_leased(request);

	if (timeout)
		cancel_submit(request, timeout, RECORD_ACK);
}

/* The record has all of it anew, without a lease. */
static void cancel_apply_return(struct change *change)
{
	struct timeout *timeout = change->timeouts[0];

	timeout->deliveries = change->commit.records[0].deliveries;
	change->service->metrics.leases_returned++;
	life_make_due(timeout);
	if (change->request)
		answer_empty(change->request, MHD_HTTP_NO_CONTENT);
}

void return_lease(struct request *request)
{
	struct timeout *timeout = cancel_find_leased(request);
	struct change *change;

	if (!timeout)
		return;
	change = change_new(request->service, request, 1);
	change->timeouts[0] = timeout;
	timeout_describe(timeout, &change->commit.records[0]);
	change->commit.records[0].lease_ns = 0;
	if (request->is_by_node && request_parameter(request, "unseen"))
		change->commit.records[0].deliveries--;
	change->apply = cancel_apply_return;
	change_submit(change);
}
