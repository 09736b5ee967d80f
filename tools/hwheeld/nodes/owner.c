// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "consensus/shards.h"
#include "http/answer.h"
#include "nodes/batch.h"
#include "nodes/feed.h"
#include "nodes/keeper.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/relay.h"
#include "nodes/survey.h"
#include "nodes/tails.h"
#include "nodes/takings.h"
#include "say.h"

static void owner_mark(unsigned char token[TOKEN_SIZE], unsigned int shard)
{
	token[0] = (unsigned char)(shard >> 8);
	token[1] = (unsigned char)shard;
}

/*
 * On to the node that should have the shard, unless the request comes from one. A shard that is on
 * its way from one node to another is nobody's for a moment.
 */
static void owner_send(struct request *request, unsigned int shard, unsigned int status,
		       const char *why)
{
	const char *address = members_count() ? members_address(members_owner(shard)) : NULL;

	if (request->is_by_node || !address)
		answer_error(request, status, why);
	else
		relay(request, address, request->service->settings.request_time);
}

static bool owner_pass_shard(struct request *request, unsigned int shard)
{
	if (shards_serve(shard))
		return false;
	owner_send(request, shard, MHD_HTTP_SERVICE_UNAVAILABLE,
		   "another node has this timeout: nothing has changed");
	return true;
}

static bool owner_pass(struct request *request)
{
	if (shards_are_sure())
		return request->key.text && owner_pass_shard(request, request->key.shard);
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		     "the store is lost: nothing has changed");
	return true;
}

static bool owner_pass_lease(struct request *request, const unsigned char token[TOKEN_SIZE])
{
	unsigned int shard = (unsigned int)token[0] << 8 | token[1];

	return shard < request->service->shards && owner_pass_shard(request, shard);
}

/* What is missing stays lost. Commits that come to light later are not read. */
static void owner_accept(struct request *request, unsigned int shard)
{
	if (shard >= request->service->shards) {
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such shard");
	} else if (tenure_state(shards_tenures(), shard) == TENURE_BROKEN) {
		say(LOG_WARNING, "cluster: shard %u goes on without what is missing", shard);
		tenure_accept(shards_tenures(), shard);
		answer_empty(request, MHD_HTTP_NO_CONTENT);
	} else {
		owner_send(request, shard, MHD_HTTP_NOT_FOUND,
			   "nothing is known to be missing in it");
	}
}

static void owner_answer_node(struct request *request)
{
	if (!strcmp(request->path, "/peer/time"))
		keeper_answer(request);
	else
		tails_answer(request);
}

const struct nodes_ops owner_ops = {
	.pass = owner_pass,
	.pass_lease = owner_pass_lease,
	.pass_batch = batch_pass,
	.sweep = takings_sweep,
	.survey = survey_pass,
	.wait = feed_wait,
	.stop_waiting = feed_stop,
	.accept = owner_accept,
	.answer_node = owner_answer_node,
	.mark = owner_mark,
};
