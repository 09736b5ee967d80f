// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "../memory.h"
#include "../now.h"
#include "../settings.h"
#include "peer.h"
#include "relay.h"

struct relay {
	struct peer_call call;
	struct exchange *exchange;	/* NULL: it is answered already */
};

static void answer_failure(struct exchange *exchange, const struct peer_call *call)
{
	exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, call->was_sent ?
		       "the node that has it does not answer: the change may have happened" :
		       "the node that has it cannot be reached: nothing has changed");
}

static void answer(struct exchange *exchange, struct peer_call *call)
{
	if (!call->status)
		answer_failure(exchange, call);
	else if (call->status == MHD_HTTP_UNAUTHORIZED)
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       "the node that has it does not know this one: nothing has changed");
	else if (call->status == MHD_HTTP_NO_CONTENT)
		exchange_empty(exchange, call->status);
	else {
		exchange_answer_text(exchange, call->status, "application/json",
				     call->answer ?: memory_copy("", 0), call->length);
		call->answer = NULL;
	}
}

static void done(struct peer_call *call)
{
	struct relay *relay = (struct relay *)call;

	if (relay->exchange) {
		relay->exchange->give_up = NULL;
		answer(relay->exchange, call);
	}
	free(call->answer);
	free(relay);
}

/* What the other node does goes on. */
static void give_up(struct exchange *exchange)
{
	struct relay *relay = exchange->elsewhere;

	relay->exchange = NULL;
	exchange->give_up = NULL;
	exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
		       "the node that has it takes too long: the change may have happened");
}

void relay(struct exchange *exchange, const char *address)
{
	struct relay *relay = memory_get(1, sizeof(*relay));
	const char *match = exchange_header(exchange, "If-None-Match");
	char header[64] = "";

	if (match)
		snprintf(header, sizeof(header), "If-None-Match: %.8s", match);
	relay->call.done = done;
	relay->exchange = exchange;
	exchange->elsewhere = relay;
	exchange->give_up = give_up;
	exchange_suspend(exchange);
	peer_request(&relay->call, address, exchange->method, exchange->path, exchange->body,
		     *header ? header : NULL, (long)(settings.request_time / NS_PER_MS));
}
