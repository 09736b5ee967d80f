// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock/now.h"
#include "http/answer.h"
#include "hwheelctl/strict_json.h"
#include "memory.h"
#include "nodes/parcel.h"
#include "nodes/peer.h"
#include "nodes/again.h"
#include "nodes/relay.h"
#include "text.h"

/* A key of 256 bytes, all of which are encoded, and what is around it */
#define RELAY_PATH	1024

struct relay {
	struct peer_call call;
	struct request *request;
};

static bool relay_reads(const struct request *request)
{
	return !strcmp(request->method, "GET");
}

/* As peer_failure() */
static const char *relay_failure(const struct peer_call *call, const struct request *request)
{
	const char *why = peer_failure(call);

	return why && call->was_sent && relay_reads(request) ? "a node does not answer" : why;
}

static void relay_done(struct peer_call *call)
{
	struct relay *relay = (struct relay *)call;
	struct request *request = relay->request;
	const char *why = relay_failure(call, request);
	bool is_nobodys = call->status == AGAIN_STATUS || call->is_away;

	if (is_nobodys && !request->take_answer)
		again_decide(request);
	else if (call->is_away)
		answer_error(request, AGAIN_STATUS, why);
	else if (why)
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, why);
	else if (request->take_answer)
		answer(request, call->status, strict_json(call->answer, call->length));
	else if (call->status == MHD_HTTP_NO_CONTENT)
		answer_empty(request, call->status);
	else
		answer_text(request, call->status, "application/json",
			    memory_copy(call->answer, call->length), call->length);
	free(call->answer);
	free(relay);
}

static void relay_end(struct relay *relay)
{
	peer_cancel(&relay->call);
	free(relay);
}

/* The other node goes on with it. */
static void relay_give_up(struct request *request, enum request_end why)
{
	if (why == REQUEST_STOPPING)
		return;
	relay_end(request->waits_for);
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, relay_reads(request) ?
		     "a node takes too long" :
		     "the node that has it takes too long: the change may have happened");
}

void relay_cancel(struct request *part)
{
	relay_end(part->waits_for);
	request_free(part);
}

bool relay_has_begun(const struct request *request)
{
	return ((const struct relay *)request->waits_for)->call.length;
}

static void relay_alone(struct request *request, const char *address, uint64_t patience_ns)
{
	struct relay *relay = memory_get(1, sizeof(*relay));
	bool only_creates = request_only_creates(request);
	char path[RELAY_PATH] = "";
	const char *from = request->path;
	size_t end = 0;

	/* The path as it came, but that a # would end it here */
	for (; *from && end + 3 < sizeof(path); from++)
		end += (size_t)sprintf(path + end, *from == '#' ? "%%23" : "%c", *from);
	if (request->take.max)
		snprintf(path + end, sizeof(path) - end,
			 "?max=%" PRIu64 "&wait=%" PRIu64 "ns&lease=%" PRIu64 "ns",
			 request->take.max, request->take.wait_ns, request->take.lease_ns);
	relay->call.done = relay_done;
	relay->call.sort = request->take.wait_ns ? PEER_POLL : PEER_REQUEST;
	relay->request = request;
	request_wait(request, relay, relay_give_up);
	peer_request(&relay->call, address, request->method, path, request->body,
		     only_creates ? "If-None-Match: *" : NULL, (long)(patience_ns / NS_PER_MS));
}

void relay(struct request *request, const char *address, uint64_t patience_ns)
{
	/* No JSON, and bodies of clients go to other nodes as texts. */
	if (request->body && !request->take_answer && strlen(request->body) != request->length)
		answer_error(request, MHD_HTTP_BAD_REQUEST, "the body has a zero byte");
	else if (parcel_takes(request))
		parcel_add(request, address);
	else
		relay_alone(request, address, patience_ns);
}
