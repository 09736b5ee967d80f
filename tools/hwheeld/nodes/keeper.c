// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "clock/reckoning.h"
#include "consensus/shards.h"
#include "http/answer.h"
#include "hwheelctl/json.h"
#include "hwheelctl/strict_json.h"
#include "nodes/keeper.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "say.h"
#include "text.h"

#define KEEPER_PATH	"/peer/time"
#define KEEPER_BEAT_NS	NS_PER_S
#define KEEPER_PATIENCE_MS	1000L

/* The keeper writes the time again after so many beats. */
#define KEEPER_KEY	"clock"
#define KEEPER_WRITE	8

/* How long a node that begins waits for nodes that do not answer, and between two looks */
#define KEEPER_OTHERS_MS	15000
#define KEEPER_LOOK_MS		100
#define KEEPER_FIRST_MS		500L

static struct {
	struct service *service;
	struct reckoning reckoning;
	struct peer_call call;
	bool is_asking;
	uint64_t before_ns;
	struct alarm *beat;
	unsigned int beats;

	/* What the store keeps */
	struct consensus_txn txn;
	struct consensus_put put;
	char text[24];
	bool is_writing;
	bool is_read;
	uint64_t kept_ns;
	int error;
} keeper;

static void keeper_follow(void)
{
	uint64_t boot = now_clock_ns(CLOCK_BOOTTIME);
	struct line line = reckoning_line(&keeper.reckoning, boot);

	now_follow(line.offset_ns, line.bound_ns, line.boot_ns);
	keeper.service->metrics.clock_corrections +=
		keeper.service->metrics.clock_epoch != keeper.reckoning.epoch;
	keeper.service->metrics.clock_epoch = keeper.reckoning.epoch;
}

void keeper_answer(struct request *request)
{
	struct json_object *object = json_object_new_object();
	uint64_t boot = now_clock_ns(CLOCK_BOOTTIME);
	struct line line = reckoning_line(&keeper.reckoning, boot);

	json_add_number(object, "epoch", keeper.reckoning.epoch);
	json_add_number(object, "time", boot + (uint64_t)line.offset_ns);
	json_add_number(object, "bound", line.bound_ns);
	answer(request, MHD_HTTP_OK, object);
}

static bool keeper_read(struct json_object *object, const char *name, uint64_t *number)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, name, &value) ||
	    !json_object_is_type(value, json_type_int))
		return false;
	*number = json_object_get_uint64(value);
	return true;
}

/* An answer that came just now */
static void keeper_hear(struct peer_call *call, uint64_t before_ns)
{
	uint64_t after = now_clock_ns(CLOCK_BOOTTIME), epoch, time, bound;
	struct json_object *object = call->status == MHD_HTTP_OK ?
				     strict_json(call->answer, call->length) : NULL;
	struct line sample;

	if (keeper_read(object, "epoch", &epoch) && keeper_read(object, "time", &time) &&
	    keeper_read(object, "bound", &bound) && epoch) {
		sample = reckoning_sample(before_ns, after, time, bound);
		reckoning_hear(&keeper.reckoning, &sample, epoch, after);
	}
	json_object_put(object);
	free(call->answer);
	call->answer = NULL;
}

/* Beats */

static void keeper_asked(struct peer_call *call)
{
	keeper.is_asking = false;
	keeper_hear(call, keeper.before_ns);
	keeper_follow();
}

static void keeper_ask(const char *address)
{
	if (keeper.is_asking)
		return;
	keeper.is_asking = true;
	keeper.before_ns = now_clock_ns(CLOCK_BOOTTIME);
	keeper.call.done = keeper_asked;
	keeper.call.sort = PEER_REQUEST;
	peer_request(&keeper.call, address, "GET", KEEPER_PATH, NULL, NULL, KEEPER_PATIENCE_MS);
}

static void keeper_written(struct consensus_txn *txn)
{
	keeper.is_writing = false;
}

static void keeper_write(void)
{
	struct consensus *store = shards_store();

	if (keeper.is_writing)
		return;
	keeper.is_writing = true;
	keeper.put = (struct consensus_put) { .key = KEEPER_KEY, .value = keeper.text };
	keeper.put.size = (size_t)snprintf(keeper.text, sizeof(keeper.text), "%" PRIu64, now_ns());
	keeper.txn = (struct consensus_txn) { .puts = &keeper.put, .puts_count = 1,
					      .done = keeper_written };
	store->ops->txn(store, &keeper.txn);
}

/* A node that has no session does not become the keeper: the members may be others by now. */
static void keeper_beat(void *owner, uint64_t at_ns)
{
	size_t oldest = members_count() ? members_oldest() : 0;

	if (members_count() && members_is_here(oldest) && shards_are_sure()) {
		reckoning_keep(&keeper.reckoning, members_revision(oldest),
			       now_clock_ns(CLOCK_BOOTTIME));
		if (keeper.beats++ % KEEPER_WRITE == 0)
			keeper_write();
	} else if (members_count() && members_address(oldest)) {
		keeper_ask(members_address(oldest));
	}
	keeper_follow();
	alarm_set(&keeper.beat, now_ns() + KEEPER_BEAT_NS, keeper_beat, NULL);
}

void keeper_run(void)
{
	keeper_beat(NULL, 0);
}

void keeper_end(void)
{
	alarm_clear(&keeper.beat);
	if (keeper.is_asking)
		peer_cancel(&keeper.call);
	keeper.is_asking = false;
}

/* Before the loop runs, calls wait. */

/* Returns whether there are nodes that may know the time, and did not answer. */
static bool keeper_ask_all(void)
{
	static bool was_refused;
	bool may_know = false;

	for (size_t i = 0; i < members_count(); i++) {
		struct peer_call call = { 0 };
		uint64_t before = now_clock_ns(CLOCK_BOOTTIME);

		if (!members_address(i))
			continue;
		may_know |= peer_ask(&call, members_address(i), KEEPER_PATH, KEEPER_FIRST_MS) !=
			    -ECONNREFUSED;
		if (call.status == MHD_HTTP_UNAUTHORIZED && !was_refused) {
			was_refused = true;
			say(LOG_ERR, "cluster: %s has another secret in its peer_token_file",
			    members_address(i));
		}
		keeper_hear(&call, before);
	}
	return may_know;
}

static bool keeper_is_alone(void)
{
	size_t i = 0;

	while (i < members_count() && members_is_here(i))
		i++;
	return i == members_count();
}

static void keeper_read_done(struct consensus_range *range)
{
	char text[24] = "";

	keeper.is_read = true;
	keeper.error = range->error;
	if (range->error || !range->count)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)range->items->size,
		 (const char *)range->items->value);
	if (sscanf(text, "%" SCNu64, &keeper.kept_ns) != 1)
		say(LOG_ERR, "cluster: the time that the store keeps is damaged");
}

/* The wall clock, but not less than what the store has kept */
static void keeper_resume(uint64_t epoch, void (*wait)(int ms))
{
	struct consensus *store = shards_store();
	uint64_t wall;

	do {
		struct consensus_range range = { .from = KEEPER_KEY, .end = KEEPER_KEY "\1",
						 .most = 1, .done = keeper_read_done };

		keeper.is_read = false;
		store->ops->range(store, &range);
		while (!keeper.is_read)
			wait(KEEPER_LOOK_MS);
	} while (keeper.error);
	wall = now_wall_ns();
	reckoning_begin(&keeper.reckoning, epoch, now_clock_ns(CLOCK_BOOTTIME),
			wall > keeper.kept_ns ? wall : keeper.kept_ns);
}

/*
 * A node that can ask others enters when it has the time: until then they keep its shards. Of nodes
 * that begin at once, where none is, the first one to enter begins the time.
 */
void keeper_begin(struct service *service, void (*wait)(int ms))
{
	int waited_ms = 0;

	keeper.service = service;
	while (!keeper.reckoning.epoch) {
		bool may_know;

		wait(KEEPER_LOOK_MS);
		if (!members_are_known())
			continue;
		waited_ms += KEEPER_LOOK_MS;
		may_know = keeper_ask_all() && waited_ms < KEEPER_OTHERS_MS;
		if (keeper_is_alone())
			members_enter();
		if (!keeper.reckoning.epoch && members_count() && !may_know &&
		    members_is_here(members_oldest()))
			keeper_resume(members_revision(members_oldest()), wait);
	}
	members_enter();
	keeper_follow();
}
