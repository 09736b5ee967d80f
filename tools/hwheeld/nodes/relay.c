// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "clock/now.h"
#include "memory.h"
#include "nodes/peer.h"
#include "nodes/relay.h"
#include "settings.h"

/* A key of 256 bytes, all of which are encoded, and what is around it */
#define PATH_ROOM	1024

struct relay {
	struct peer_call call;
	struct exchange *exchange;
};

static void answer_failure(struct exchange *exchange, const struct peer_call *call)
{
	exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, call->was_sent ?
		       "the node that has it does not answer: the change may have happened" :
		       "the node that has it cannot be reached: nothing has changed");
}

static void answer_text(struct exchange *exchange, struct peer_call *call)
{
	exchange_answer_text(exchange, call->status, "application/json",
			     call->answer ?: memory_copy("", 0), call->length);
	call->answer = NULL;
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
	else
		answer_text(exchange, call);
}

static void done(struct peer_call *call)
{
	struct relay *relay = (struct relay *)call;

	relay->exchange->give_up = NULL;
	answer(relay->exchange, call);
	free(call->answer);
	free(relay);
}

/* What the other node does goes on. */
static void give_up(struct exchange *exchange)
{
	struct relay *relay = exchange->elsewhere;

	peer_cancel(&relay->call);
	free(relay);
	exchange->give_up = NULL;
	exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
		       "the node that has it takes too long: the change may have happened");
}

/* The path as it came, but that a # would end it here */
static void set_path(char path[PATH_ROOM], const char *from)
{
	for (size_t i = 0; *from && i + 3 < PATH_ROOM; from++) {
		i += (size_t)sprintf(path + i, *from == '#' ? "%%23" : "%c", *from);
		path[i] = 0;
	}
}

void relay(struct exchange *exchange, const char *address)
{
	struct relay *relay = memory_get(1, sizeof(*relay));
	const char *match = exchange_header(exchange, "If-None-Match");
	char header[64] = "", path[PATH_ROOM] = "";

	if (match)
		snprintf(header, sizeof(header), "If-None-Match: %.8s", match);
	relay->call.done = done;
	relay->exchange = exchange;
	exchange->elsewhere = relay;
	exchange->give_up = give_up;
	exchange_suspend(exchange);
	set_path(path, exchange->path);
	peer_request(&relay->call, address, exchange->method, path, exchange->body,
		     *header ? header : NULL, (long)(settings.request_time / NS_PER_MS));
}
