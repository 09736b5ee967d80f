// SPDX-License-Identifier: GPL-2.0-only
#include "consensus/shards.h"
#include "http/answer.h"
#include "nodes/again.h"
#include "nodes/batch.h"
#include "nodes/feed.h"
#include "nodes/keeper.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/owner.h"
#include "nodes/parcel.h"
#include "nodes/relay.h"
#include "nodes/survey.h"
#include "nodes/sweep.h"
#include "nodes/tails.h"
#include "say.h"

static void owner_mark(unsigned char token[TOKEN_SIZE], unsigned int shard)
{
	token[0] = (unsigned char)(shard >> 8);
	token[1] = (unsigned char)shard;
}

/* A shard that is on its way from one node to another is nobody's for a moment. */
static bool owner_pass(struct request *request, unsigned int shard)
{
	const char *address;

	if (shards_serve(shard))
		return false;
	address = members_count() ? members_address(members_owner(shard)) : NULL;
	if (request->is_by_node)
		answer_error(request, AGAIN_STATUS,
			     "another node has this timeout: nothing has changed");
	else if (!address)
		again_decide(request);
	else
		relay(request, address, request->service->settings.request_time);
	return true;
}

static bool owner_pass_timeout(struct request *request)
{
	return owner_pass(request, request->key.shard);
}

static bool owner_pass_lease(struct request *request, const unsigned char token[TOKEN_SIZE])
{
	unsigned int shard = (unsigned int)token[0] << 8 | token[1];

	return shard < request->service->shards && owner_pass(request, shard);
}

/* What is missing stays lost. Commits that come to light later are not read. */
static void owner_accept(struct request *request, unsigned int shard)
{
	const char *address;

	if (shard >= request->service->shards) {
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such shard");
		return;
	}
	if (tenure_state(shards_tenures(), shard) == TENURE_BROKEN) {
		say(LOG_WARNING, "cluster: shard %u goes on without what is missing", shard);
		tenure_accept(shards_tenures(), shard);
		answer_empty(request, MHD_HTTP_NO_CONTENT);
		return;
	}
	address = members_count() ? members_address(members_owner(shard)) : NULL;
	if (request->is_by_node || !address)
		answer_error(request, MHD_HTTP_NOT_FOUND, "nothing is known to be missing in it");
	else
		relay(request, address, request->service->settings.request_time);
}

static bool owner_refuse(struct request *request)
{
	if (shards_are_sure())
		return false;
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		     "the store is lost: nothing has changed");
	return true;
}

static const struct nodes_ops owner_ops = {
	.refuse = owner_refuse,
	.pass_timeout = owner_pass_timeout,
	.pass_lease = owner_pass_lease,
	.pass_batch = batch_pass,
	.sweep = sweep_pass,
	.survey = survey_pass,
	.wait = feed_wait,
	.stop_waiting = feed_stop,
	.accept = owner_accept,
	.time = keeper_answer,
	.tails = tails_answer,
	.requests = parcel_open,
	.mark = owner_mark,
};

void owner_begin(struct service *service)
{
	service->nodes = &owner_ops;
}
