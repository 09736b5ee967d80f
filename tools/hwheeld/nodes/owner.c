// SPDX-License-Identifier: GPL-2.0-only
#include "consensus/shards.h"
#include "http/answer.h"
#include "nodes/batch.h"
#include "nodes/feed.h"
#include "nodes/keeper.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/owner.h"
#include "nodes/relay.h"
#include "nodes/survey.h"
#include "nodes/sweep.h"
#include "nodes/tails.h"

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
	if (request->is_by_node || !address)
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			     "another node has this timeout: nothing has changed");
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
	.time = keeper_answer,
	.tails = tails_answer,
	.mark = owner_mark,
};

void owner_begin(struct service *service)
{
	service->nodes = &owner_ops;
}
