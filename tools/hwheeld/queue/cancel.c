// SPDX-License-Identifier: GPL-2.0-only
#include "clock/now.h"
#include "http/answer.h"
#include "nodes/nodes.h"
#include "queue/cancel.h"
#include "queue/change.h"
#include "queue/life.h"
#include "queue/room.h"
#include "text.h"

/* What is given back has a record of all of it anew, without a lease. */
static void cancel_apply(struct change *change)
{
	const struct record *record = change->commit.records;
	struct metrics *metrics = &change->service->metrics;
	struct timeout *timeout = change->timeouts[0];

	if (record->type == RECORD_PUT) {
		metrics->leases_returned++;
		timeout->deliveries = record->deliveries;
		life_make_due(timeout);
	} else {
		metrics->acknowledged += record->type == RECORD_ACK;
		metrics->cancelled += record->type == RECORD_CANCEL;
		timeout_remove(timeout);
		change->timeouts[0] = NULL;
	}
	if (change->request)
		answer_empty(change->request, MHD_HTTP_NO_CONTENT);
}

static void cancel_submit(struct request *request, struct timeout *timeout, enum record_type type)
{
	struct change *change = change_new(request->service, request, 1);
	struct record *record = change->commit.records;

	change->timeouts[0] = timeout;
	if (type == RECORD_PUT) {
		timeout_describe(timeout, record);
		record->lease_ns = 0;
		record->deliveries -= request->is_by_node && request_parameter(request, "unseen");
	} else {
		*record = (struct record) { .type = type, .key = timeout_key(timeout) };
	}
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

/* The alarm of a lease that has ended may be on its way. */
void end_lease(struct request *request)
{
	const struct nodes_ops *nodes = request->service->nodes;
	struct timeout *timeout = NULL;
	unsigned char token[TOKEN_SIZE];

	if (text_read_token(request->name, token)) {
		if (nodes && nodes->pass_lease(request, token))
			return;
		timeout = timeout_find_leased(request->service, token);
	}
	if (timeout && timeout->busy)
		change_wait_for(timeout, request);
	else if (!timeout || now_has_come(timeout->lease->end_ns))
		answer_error(request, MHD_HTTP_GONE, "the lease has ended");
	else if (!room_wait(request, 0))
		cancel_submit(request, timeout,
			      strcmp(request->method, "DELETE") ? RECORD_PUT : RECORD_ACK);
}
