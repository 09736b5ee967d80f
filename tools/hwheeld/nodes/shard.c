// SPDX-License-Identifier: GPL-2.0-only
/* selftests/models/shard.pml has what goes on here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consensus/loading.h"
#include "memory.h"
#include "nodes/shard.h"
#include "say.h"

/* So many shards are loaded at a time, for memory. */
#define SHARD_LOADS	4

static struct {
	struct shard *list;
	unsigned int count;
	unsigned int loads;		/* on their way, as renewals */
	unsigned int renewals;
	const char *node;
	const struct shard_events *events;
	void (*renewed)(void);
	bool is_connected;
} shards;

static void shard_go_on(struct shard *shard);

/* Taking over */

static void shard_returned(struct ensemble_call *call)
{
	struct shard *shard = (struct shard *)call;

	shard->state = SHARD_FREE;
	if (call->error != ZOK && call->error != ZNONODE)
		return;
	shard->may_be_locked = false;
	shard_go_on(shard);
}

static void shard_return_lock(struct shard *shard)
{
	shard->state = SHARD_RETURNING;
	shard->call.done = shard_returned;
	ensemble_delete(&shard->call, shard->lock);
}

/* A takeover of this session may have happened though its answer was lost. */
static void shard_looked_at_lock(struct ensemble_call *call)
{
	struct shard *shard = (struct shard *)call;

	shard->state = SHARD_FREE;
	if (call->error == ZOK && call->stat.ephemeralOwner == ensemble_session()) {
		shard_return_lock(shard);
	} else if (call->error == ZOK || call->error == ZNONODE) {
		shard->may_be_locked = false;
		if (call->error == ZNONODE)
			shard_go_on(shard);
	}
}

static void shard_look_at_lock(struct shard *shard)
{
	shard->state = SHARD_TAKING;
	shard->call.done = shard_looked_at_lock;
	ensemble_exists(&shard->call, shard->lock, true);
}

static void shard_start_loads(void);

static void shard_loaded(unsigned int number, uint64_t next, bool is_whole)
{
	struct shard *shard = &shards.list[number];

	shards.loads--;
	if (!is_whole) {
		shard->is_wanted = shard->is_wanted && !shards.is_connected;
		shards.events->lost(number);
		shard_return_lock(shard);
	} else {
		shard->next = next;
		shard->state = SHARD_OWNED;
		shards.events->gained(number);
		shard_go_on(shard);
	}
	shard_start_loads();
}

static void shard_start_loads(void)
{
	for (unsigned int i = 0; i < shards.count && shards.loads < SHARD_LOADS; i++) {
		if (shards.list[i].state != SHARD_WAITING)
			continue;
		shards.list[i].state = SHARD_LOADING;
		shards.loads++;
		loading_begin(i, shards.events->load, shard_loaded);
	}
}

static void shard_taken(struct ensemble_call *call)
{
	struct shard *shard = (struct shard *)call;

	if (call->error == ZOK) {
		shard->epoch = shard->stat.version;
		shard->tenure++;
		shard->state = SHARD_WAITING;
		shard_start_loads();
	} else if (call->error == ZNODEEXISTS) {
		shard_look_at_lock(shard);
	} else {
		shard->state = SHARD_FREE;
	}
}

/* One request: the lock and the epoch. An owner before this one writes nothing after it. */
static void shard_take_over(struct shard *shard)
{
	int length = (int)strlen(shards.node);

	shard->state = SHARD_TAKING;
	shard->may_be_locked = true;
	shard->call.done = shard_taken;
	zoo_create_op_init(&shard->ops[0], shard->lock, shards.node, length, ensemble_acl(),
			   ZOO_EPHEMERAL, shard->created, sizeof(shard->created));
	zoo_set_op_init(&shard->ops[1], shard->path, shards.node, length, -1, &shard->stat);
	ensemble_multi(&shard->call, 2, shard->ops, shard->results);
}

/* Leaving */

static void shard_leave_if_idle(struct shard *shard)
{
	if (shard->state != SHARD_LEAVING || shard->held || shard->is_renewing)
		return;
	shards.events->lost((unsigned int)(shard - shards.list));
	if (shards.is_connected)
		shard_return_lock(shard);
	else
		shard->state = SHARD_FREE;
}

static void shard_leave(struct shard *shard)
{
	shard->state = SHARD_LEAVING;
	shard_leave_if_idle(shard);
}

static void shard_go_on(struct shard *shard)
{
	if (shard->state == SHARD_FREE && shards.is_connected && shard->is_wanted)
		shard_take_over(shard);
	else if (shard->state == SHARD_FREE && shards.is_connected && shard->may_be_locked)
		shard_look_at_lock(shard);
	else if (shard->state == SHARD_OWNED && !shard->is_wanted)
		shard_leave(shard);
}

void shard_want(unsigned int number, bool is_wanted)
{
	shards.list[number].is_wanted = is_wanted;
	shard_go_on(&shards.list[number]);
}

void shard_lose(unsigned int number)
{
	if (shards.list[number].state == SHARD_OWNED)
		shard_leave(&shards.list[number]);
}

void shard_release(unsigned int number)
{
	shards.list[number].held--;
	shard_leave_if_idle(&shards.list[number]);
}

/* The connection */

static void shard_end_renewal(void)
{
	void (*done)(void) = shards.renewed;

	if (shards.renewals || !done)
		return;
	shards.renewed = NULL;
	done();
}

/*
 * An owner whose renewal failed cannot tell a lost answer from a takeover, and a commit that is on
 * its way still has the old epoch: it loads the shard anew. Without a connection the next one
 * renews.
 */
static void shard_renewed(struct ensemble_call *call)
{
	struct shard *shard = (struct shard *)((char *)call - offsetof(struct shard, renewal));

	shards.renewals--;
	shard->is_renewing = false;
	if (call->error == ZOK)
		shard->epoch = call->stat.version;
	else if (shards.is_connected)
		shard_lose((unsigned int)(shard - shards.list));
	shard_leave_if_idle(shard);
	if (shards.is_connected)
		shard_end_renewal();
}

/*
 * A write that was on its way, and arrives late, has an epoch that is over. A renewal that is on
 * its way belongs to this connection, as calls of the one before it have ended.
 */
void shard_connected(bool is_new, void (*done)(void))
{
	shards.is_connected = true;
	shards.renewed = done;
	for (unsigned int i = 0; i < shards.count; i++) {
		struct shard *shard = &shards.list[i];

		if (is_new || shard->is_renewing || (shard->state != SHARD_OWNED && !shard->held))
			continue;
		shard->is_renewing = true;
		shard->renewal.done = shard_renewed;
		shards.renewals++;
		ensemble_set(&shard->renewal, shard->path, shards.node, shard->epoch);
	}
	for (unsigned int i = 0; i < shards.count; i++)
		shard_go_on(&shards.list[i]);
	shard_end_renewal();
}

void shard_disconnected(void)
{
	shards.is_connected = false;
	shards.renewed = NULL;
}

/* All calls have ended. */
void shard_expired(void)
{
	shards.is_connected = false;
	for (unsigned int i = 0; i < shards.count; i++) {
		shards.list[i].may_be_locked = false;
		if (shards.list[i].state == SHARD_WAITING)
			shards.list[i].state = SHARD_FREE;
		if (shards.list[i].state == SHARD_OWNED)
			shard_leave(&shards.list[i]);
	}
}

void shard_changed(const char *path)
{
	unsigned int number;
	char end[8] = "";

	if (sscanf(tree_below(path), "/shards/%u/%7s", &number, end) == 2 &&
	    number < shards.count && !strcmp(end, "lock"))
		shard_go_on(&shards.list[number]);
}

/* What others want to know */

unsigned int shard_count(void)
{
	return shards.count;
}

struct shard *shard_at(unsigned int number)
{
	return &shards.list[number];
}

bool shard_is_settled(void)
{
	for (unsigned int i = 0; i < shards.count; i++)
		if (shards.list[i].state != (shards.list[i].is_wanted ? SHARD_OWNED : SHARD_FREE))
			return false;
	return true;
}

void shard_begin(unsigned int count, const char *node, const struct shard_events *events)
{
	shards.count = count;
	shards.node = node;
	shards.events = events;
	shards.list = memory_get(count, sizeof(*shards.list));
	for (unsigned int i = 0; i < count; i++) {
		tree_shard_path(i, "", shards.list[i].path);
		tree_shard_path(i, "/lock", shards.list[i].lock);
	}
}

void shard_end(void)
{
	free(shards.list);
}
