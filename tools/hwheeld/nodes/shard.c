// SPDX-License-Identifier: GPL-2.0-only
/* selftests/models/shard.pml has what goes on here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consensus/loading.h"
#include "memory.h"
#include "nodes/rendezvous.h"
#include "nodes/shard.h"
#include "say.h"

/* So many shards are loaded at a time, for memory. */
#define LOADS	4

struct shard {
	struct ensemble_call call;	/* one at a time; not while it is owned */
	struct ensemble_call renewal;
	enum shard_state state;
	bool wanted;
	bool may_be_locked;		/* by this session */
	bool is_renewing;
	int epoch;
	unsigned int tenure;
	size_t held;
	uint64_t next;
	zoo_op_t ops[2];
	zoo_op_result_t results[2];
	struct Stat stat;
	char path[TREE_PATH];
	char lock[TREE_PATH];
	char created[TREE_PATH];
};

static struct shard *shards;
static unsigned int count, owned, loads, renewals;
static const char *node;
static const struct shard_events *events;
static void (*renewed)(void);
static bool connected;

static unsigned int number_of(const struct shard *shard)
{
	return (unsigned int)(shard - shards);
}

static struct shard *of_call(struct ensemble_call *call)
{
	return (struct shard *)call;
}

static void go_on(struct shard *shard);

/* Taking over */

static void returned(struct ensemble_call *call)
{
	struct shard *shard = of_call(call);

	shard->state = SHARD_FREE;
	if (call->error != ZOK && call->error != ZNONODE)
		return;
	shard->may_be_locked = false;
	go_on(shard);
}

static void return_lock(struct shard *shard)
{
	shard->state = SHARD_RETURNING;
	shard->call.done = returned;
	ensemble_delete(&shard->call, shard->lock);
}

/* A takeover of this session may have happened though its answer was lost. */
static void looked_at_lock(struct ensemble_call *call)
{
	struct shard *shard = of_call(call);

	shard->state = SHARD_FREE;
	if (call->error == ZOK && call->stat.ephemeralOwner == ensemble_session()) {
		return_lock(shard);
	} else if (call->error == ZOK || call->error == ZNONODE) {
		shard->may_be_locked = false;
		if (call->error == ZNONODE)
			go_on(shard);
	}
}

static void look_at_lock(struct shard *shard)
{
	shard->state = SHARD_TAKING;
	shard->call.done = looked_at_lock;
	ensemble_exists(&shard->call, shard->lock, true);
}

static void start_loads(void);

static void loaded(unsigned int number, uint64_t next, bool is_whole)
{
	struct shard *shard = &shards[number];

	loads--;
	if (!is_whole) {
		shard->wanted = shard->wanted && !connected;
		events->lost(number);
		return_lock(shard);
	} else {
		shard->next = next;
		shard->state = SHARD_OWNED;
		owned++;
		events->gained(number);
		go_on(shard);
	}
	start_loads();
}

static void start_loads(void)
{
	for (unsigned int i = 0; i < count && loads < LOADS; i++) {
		if (shards[i].state != SHARD_WAITING)
			continue;
		shards[i].state = SHARD_LOADING;
		loads++;
		loading_begin(i, events->load, loaded);
	}
}

static void taken(struct ensemble_call *call)
{
	struct shard *shard = of_call(call);

	if (call->error == ZOK) {
		shard->epoch = shard->stat.version;
		shard->tenure++;
		shard->state = SHARD_WAITING;
		start_loads();
	} else if (call->error == ZNODEEXISTS) {
		look_at_lock(shard);
	} else {
		shard->state = SHARD_FREE;
	}
}

/* One request: the lock and the epoch. An owner before this one writes nothing after it. */
static void take_over(struct shard *shard)
{
	shard->state = SHARD_TAKING;
	shard->may_be_locked = true;
	shard->call.done = taken;
	zoo_create_op_init(&shard->ops[0], shard->lock, node, (int)strlen(node), ensemble_acl(),
			   ZOO_EPHEMERAL, shard->created, sizeof(shard->created));
	zoo_set_op_init(&shard->ops[1], shard->path, node, (int)strlen(node), -1, &shard->stat);
	ensemble_multi(&shard->call, 2, shard->ops, shard->results);
}

/* Leaving */

static void leave_if_idle(struct shard *shard)
{
	if (shard->state != SHARD_LEAVING || shard->held || shard->is_renewing)
		return;
	events->lost(number_of(shard));
	if (connected)
		return_lock(shard);
	else
		shard->state = SHARD_FREE;
}

static void leave(struct shard *shard)
{
	shard->state = SHARD_LEAVING;
	owned--;
	leave_if_idle(shard);
}

static void go_on(struct shard *shard)
{
	if (shard->state == SHARD_FREE && connected && shard->wanted)
		take_over(shard);
	else if (shard->state == SHARD_FREE && connected && shard->may_be_locked)
		look_at_lock(shard);
	else if (shard->state == SHARD_OWNED && !shard->wanted)
		leave(shard);
}

void shard_want(unsigned int number, bool wanted)
{
	shards[number].wanted = wanted;
	go_on(&shards[number]);
}

void shard_lose(unsigned int number)
{
	if (shards[number].state == SHARD_OWNED)
		leave(&shards[number]);
}

void shard_hold(unsigned int number)
{
	shards[number].held++;
}

void shard_release(unsigned int number)
{
	shards[number].held--;
	leave_if_idle(&shards[number]);
}

/* The connection */

static void end_renewal(void)
{
	void (*done)(void) = renewed;

	if (renewals || !done)
		return;
	renewed = NULL;
	done();
}

/*
 * An owner whose renewal failed cannot tell a lost answer from a takeover, and a commit that is on
 * its way still has the old epoch: it loads the shard anew. Without a connection the next one
 * renews.
 */
static void renewal_ended(struct ensemble_call *call)
{
	struct shard *shard = (struct shard *)((char *)call - offsetof(struct shard, renewal));

	renewals--;
	shard->is_renewing = false;
	if (call->error == ZOK)
		shard->epoch = call->stat.version;
	else if (connected)
		shard_lose(number_of(shard));
	leave_if_idle(shard);
	if (connected)
		end_renewal();
}

/* One that is on its way belongs to this connection, as calls of the one before it have ended. */
static void renew(struct shard *shard)
{
	if (shard->is_renewing)
		return;
	shard->is_renewing = true;
	shard->renewal.done = renewal_ended;
	renewals++;
	ensemble_set(&shard->renewal, shard->path, node, shard->epoch);
}

/* A write that was on its way, and arrives late, has an epoch that is over. */
void shard_connected(bool is_new, void (*done)(void))
{
	connected = true;
	renewed = done;
	for (unsigned int i = 0; i < count; i++)
		if (!is_new && (shards[i].state == SHARD_OWNED || shards[i].held))
			renew(&shards[i]);
	for (unsigned int i = 0; i < count; i++)
		go_on(&shards[i]);
	end_renewal();
}

void shard_disconnected(void)
{
	connected = false;
	renewed = NULL;
}

/* All calls have ended. */
void shard_expired(void)
{
	connected = false;
	for (unsigned int i = 0; i < count; i++) {
		shards[i].may_be_locked = false;
		if (shards[i].state == SHARD_WAITING)
			shards[i].state = SHARD_FREE;
		if (shards[i].state == SHARD_OWNED)
			leave(&shards[i]);
	}
}

void shard_changed(const char *path)
{
	unsigned int number;
	char end[8] = "";

	if (sscanf(tree_below(path), "/shards/%u/%7s", &number, end) == 2 && number < count &&
	    !strcmp(end, "lock"))
		go_on(&shards[number]);
}

/* What others want to know */

unsigned int shard_count(void)
{
	return count;
}

unsigned int shard_of(const char *key, size_t length)
{
	return rendezvous_shard(key, length, count);
}

enum shard_state shard_state(unsigned int number)
{
	return shards[number].state;
}

int shard_epoch(unsigned int number)
{
	return shards[number].epoch;
}

unsigned int shard_owned_count(void)
{
	return owned;
}

bool shard_is_settled(void)
{
	for (unsigned int i = 0; i < count; i++)
		if (shards[i].state != (shards[i].wanted ? SHARD_OWNED : SHARD_FREE))
			return false;
	return true;
}

uint64_t shard_next_number(unsigned int number)
{
	return shards[number].next++;
}

unsigned int shard_tenure(unsigned int number)
{
	return shards[number].tenure;
}

void shard_begin(unsigned int the_count, const char *the_node,
		 const struct shard_events *the_events)
{
	count = the_count;
	node = the_node;
	events = the_events;
	shards = memory_get(count, sizeof(*shards));
	for (unsigned int i = 0; i < count; i++) {
		tree_shard_path(i, "", shards[i].path);
		tree_shard_path(i, "/lock", shards[i].lock);
	}
}

void shard_end(void)
{
	free(shards);
}
