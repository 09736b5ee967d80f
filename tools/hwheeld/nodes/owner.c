// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "nodes/batch.h"
#include "nodes/feed.h"
#include "nodes/members.h"
#include "nodes/owner.h"
#include "nodes/relay.h"
#include "nodes/shard.h"
#include "nodes/survey.h"
#include "nodes/sweep.h"

/* A take that finds something here looks at other nodes first, one time out of so many. */
#define THEIR_TURN	8

static bool (*is_sure)(void);

static void mark(unsigned char token[TOKEN_SIZE], const char *key, size_t length)
{
	unsigned int shard = shard_of(key, length);

	token[0] = (unsigned char)(shard >> 8);
	token[1] = (unsigned char)shard;
}

/* A shard that is on its way from one node to another is nobody's for a moment. */
static bool pass(struct exchange *exchange, unsigned int shard)
{
	const char *address;

	if (shard_state(shard) == SHARD_OWNED)
		return false;
	address = members_count() ? members_address(members_owner(shard)) : NULL;
	if (exchange->by_node || !address)
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       "another node has this timeout: nothing has changed");
	else
		relay(exchange, address);
	return true;
}

static bool pass_timeout(struct exchange *exchange, const char *key, size_t length)
{
	return pass(exchange, shard_of(key, length));
}

static bool pass_lease(struct exchange *exchange, const unsigned char token[TOKEN_SIZE])
{
	unsigned int shard = (unsigned int)token[0] << 8 | token[1];

	return shard < shard_count() && pass(exchange, shard);
}

static bool is_their_turn(const struct exchange *exchange)
{
	static unsigned int turn;

	return !exchange->by_node && !exchange->was_swept && members_count() > 1 &&
	       !(++turn % THEIR_TURN);
}

static bool refuse(struct exchange *exchange)
{
	if (is_sure())
		return false;
	exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
		       "the store is lost: nothing has changed");
	return true;
}

static const struct nodes_ops ops = {
	.refuse = refuse,
	.pass_timeout = pass_timeout,
	.pass_lease = pass_lease,
	.pass_batch = batch_pass,
	.sweep = sweep_pass,
	.survey = survey_pass,
	.is_their_turn = is_their_turn,
	.wait = feed_wait,
	.stop_waiting = feed_stop,
	.mark = mark,
};

void nodes_begin(bool (*the_is_sure)(void))
{
	is_sure = the_is_sure;
	nodes = &ops;
}

void nodes_end(void)
{
	nodes = NULL;
}
