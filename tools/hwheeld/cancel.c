// SPDX-License-Identifier: GPL-2.0-only
#include "cancel.h"
#include "change.h"
#include "metrics.h"
#include "now.h"
#include "show.h"

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

/* The alarm of a lease that has ended may be on its way. */
void cancel_lease(struct exchange *exchange, const char *text)
{
	unsigned char token[TOKEN_SIZE];
	struct timeout *timeout;

	timeout = show_parse_token(text, token) ? timeout_find_leased(token) : NULL;
	if (timeout && timeout->busy)
		change_wait_for(timeout, exchange);
	else if (timeout && !now_has_come(timeout->lease->end_ns))
		submit(exchange, timeout, RECORD_ACK);
	else
		exchange_error(exchange, MHD_HTTP_GONE, "the lease has ended");
}
