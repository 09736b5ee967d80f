// SPDX-License-Identifier: GPL-2.0-only
#include "clock/now.h"
#include "http/metrics.h"
#include "http/show.h"
#include "nodes/nodes.h"
#include "queue/cancel.h"
#include "queue/change.h"
#include "queue/life.h"

static void apply(struct change *change)
{
	if (change->records->type == RECORD_ACK)
		metrics.acknowledged++;
	else
		metrics.cancelled++;
	timeout_remove(change->timeouts[0]);
	change->timeouts[0] = NULL;
	if (change->exchange)
		exchange_empty(change->exchange, MHD_HTTP_NO_CONTENT);
}

static void submit(struct exchange *exchange, struct timeout *timeout, enum record_type type)
{
	struct change *change = change_new(exchange, 1);

	change->timeouts[0] = timeout;
	change->records[0] = (struct record) {
		.type = type, .key = timeout->key, .key_length = timeout->key_length,
	};
	change->apply = apply;
	change_submit(change);
}

void cancel_timeout(struct exchange *exchange, const char *key, size_t length)
{
	struct timeout *timeout = timeout_find(key, length);

	if (!timeout)
		exchange_error(exchange, MHD_HTTP_NOT_FOUND, "there is no such timeout");
	else if (timeout->busy)
		change_wait_for(timeout, exchange);
	else if (timeout->state == TIMEOUT_LEASED)
		exchange_error(exchange, MHD_HTTP_CONFLICT, "the timeout is leased");
	else
		submit(exchange, timeout, RECORD_CANCEL);
}

/* All of it is told anew, without a lease. */
static void apply_return(struct change *change)
{
	struct timeout *timeout = change->timeouts[0];

	timeout_logged(timeout, change->request.seq);
	timeout->deliveries = change->records[0].deliveries;
	metrics.leases_returned++;
	timeout->rang = false;
	life_make_due(timeout);
	if (change->exchange)
		exchange_empty(change->exchange, MHD_HTTP_NO_CONTENT);
}

static void submit_return(struct exchange *exchange, struct timeout *timeout)
{
	struct change *change = change_new(exchange, 1);

	change->timeouts[0] = timeout;
	timeout_describe(timeout, &change->records[0]);
	change->records[0].lease_ns = 0;
	if (exchange->by_node && exchange_parameter(exchange, "unseen"))
		change->records[0].deliveries--;
	change->apply = apply_return;
	change_submit(change);
}

static void acknowledge(struct exchange *exchange, struct timeout *timeout)
{
	submit(exchange, timeout, RECORD_ACK);
}

/* The alarm of a lease that has ended may be on its way. */
static void end_lease(struct exchange *exchange, const char *text,
		      void (*end)(struct exchange *exchange, struct timeout *timeout))
{
	unsigned char token[TOKEN_SIZE];
	bool is_sound = show_parse_token(text, token);
	struct timeout *timeout = is_sound ? timeout_find_leased(token) : NULL;

	if (is_sound && nodes && nodes->pass_lease(exchange, token))
		return;
	if (timeout && timeout->busy)
		change_wait_for(timeout, exchange);
	else if (timeout && !now_has_come(timeout->lease->end_ns))
		end(exchange, timeout);
	else
		exchange_error(exchange, MHD_HTTP_GONE, "the lease has ended");
}

void cancel_lease(struct exchange *exchange, const char *token)
{
	end_lease(exchange, token, acknowledge);
}

void return_lease(struct exchange *exchange, const char *token)
{
	end_lease(exchange, token, submit_return);
}
