// SPDX-License-Identifier: GPL-2.0-only
/*
 * history_test COUNT [SEED]: random histories in simulated time. Nodes that come and go own shards
 * of a fake store, as clients put, cancel and take timeouts. The store loses, delays and doubles
 * txns, ends sessions, compacts and is full; clients are cut off. At the end of each history
 * everything that is there is taken once:
 *
 *  - what was accepted and not cancelled was delivered, once;
 *  - what was cancelled or refused was not delivered after that;
 *  - no two nodes served a shard at the same time.
 *
 * In some histories the store loses a commit that was done, or is restored from a backup. Then what
 * counts is that a node says so, and that nothing is delivered twice.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <utlist.h>

#include "consensus/roster.h"
#include "consensus/tenure.h"
#include "fake_store.h"
#include "hash.h"
#include "memory.h"

#define MS		1000000ULL
#define SESSION_NS	(3000 * MS)
#define NODES		3
#define SHARDS		2
#define TIMEOUTS	40		/* of one history */
#define STEPS		120

enum kind {
	KIND_FAULTS,			/* of the way to the store, of nodes and of sessions */
	KIND_LOSES_MIDDLE,		/* a commit that is not the last one */
	KIND_LOSES_END,			/* the last commit, as its owner or a peer heard of it */
	KIND_RESTORES,
	KINDS,
};

/* What a record says of a timeout, and what a node believes */
enum state {
	NONE,
	PENDING,
	LEASED,
	CANCELLED,
};

struct record {
	unsigned char timeout;
	unsigned char state;
};

/* As clients have it */
struct timeout {
	bool is_accepted, is_refused, is_cancelled;
	bool may_be_cancelled;		/* its client was told so */
	unsigned int delivered;
};

struct node {
	struct world *world;
	struct consensus *store;	/* NULL: it is down */
	struct tenures *tenures;
	struct roster *roster;
	struct consensus_mark mark;
	uint64_t id;			/* that its tenures drew */
	char name[8];
	enum state states[TIMEOUTS];
	bool busy[TIMEOUTS];
	uint64_t commits[SHARDS];	/* the first number of the last one that came */
	uint64_t retry_ns;
	bool wants_look;		/* a shard was lost: who are the members now? */
	uint64_t misled_ns;		/* what it is sure of may be wrong until then */
	bool has_broken[SHARDS];
};

struct change {
	struct tenure_commit commit;
	struct node *node;
	struct record record;
	struct record all[TIMEOUTS];	/* for cleaning */
	struct change *next;
};

struct world {
	struct fake *fake;
	enum kind kind;
	struct node nodes[NODES];
	struct timeout timeouts[TIMEOUTS];
	unsigned int made;
	struct change *under_way;
	uint64_t draws;
	bool has_lost;			/* the store has */
	unsigned int lost_shard;
	struct chain_tail lost;
	const char *wrong;
};

static unsigned long commits, cleanings, takeovers, losses, gaps, noticed;

static unsigned int shard_of(unsigned int timeout)
{
	return timeout % SHARDS;
}

static void wrong(struct world *world, const char *what)
{
	world->wrong = world->wrong ?: what;
}

/* What the nodes do */

static void node_commit(void *owner, unsigned int shard, uint64_t first)
{
	struct node *node = owner;
	uint64_t *last = &node->commits[shard];

	/* Of a log whose tail was lost something may be left, which then is a hole. */
	if (first <= *last && !node->world->has_lost)
		wrong(node->world, "a commit comes before one that came");
	*last = first;
}

static bool node_load(void *owner, unsigned int shard, uint64_t first, const void *content,
		      size_t size)
{
	struct node *node = owner;
	const struct record *records = content;

	for (size_t i = 0; i < size / sizeof(*records); i++) {
		if (shard_of(records[i].timeout) != shard)
			wrong(node->world, "a record is in another shard");
		node->states[records[i].timeout] = records[i].state;
	}
	return size % sizeof(*records) == 0;
}

static void node_gained(void *owner, unsigned int shard)
{
	struct node *node = owner;
	struct world *world = node->world;

	takeovers++;
	for (unsigned int i = shard; i < TIMEOUTS; i += SHARDS)
		if (world->timeouts[i].is_accepted && node->states[i] == NONE && !world->has_lost)
			wrong(world, "an accepted timeout is lost");
}

static void node_lost(void *owner, unsigned int shard)
{
	struct node *node = owner;

	losses++;
	node->commits[shard] = 0;
	for (unsigned int i = shard; i < TIMEOUTS; i += SHARDS)
		node->states[i] = NONE;
	node->wants_look = true;
}

static void node_broken(void *owner, unsigned int shard, const char *why)
{
	struct node *node = owner;

	node->has_broken[shard] = true;
	if (!node->world->has_lost)
		wrong(node->world, why);
}

static uint64_t node_draw(void *owner)
{
	return ++((struct node *)owner)->world->draws;
}

static const struct tenure_events tenure_events = {
	.commit = node_commit, .load = node_load, .gained = node_gained, .lost = node_lost,
	.broken = node_broken, .draw = node_draw,
};

/* Whose the shards are, as the node sees it */
static void node_members(void *owner)
{
	const char *names[NODES];
	struct node *node = owner;
	size_t count;
	const struct roster_member *members = roster_members(node->roster, &count);

	for (size_t i = 0; i < count; i++)
		names[i] = members[i].name;
	for (unsigned int shard = 0; shard < SHARDS; shard++)
		tenure_want(node->tenures, shard,
			    count && !strcmp(names[hash_owner(shard, names, count)],
					     node->name));
}

static void node_session(void *owner, uint64_t id)
{
	struct node *node = owner;

	roster_retry(node->roster);
	if (!id)
		tenures_end_session(node->tenures);
}

static void node_changed(void *owner, const struct consensus_item *changes, size_t count,
			 uint64_t revision)
{
	struct node *node = owner;

	roster_changed(node->roster, changes, count);
	tenures_changed(node->tenures, changes, count);
}

static void node_gap(void *owner)
{
	struct node *node = owner;

	gaps++;
	roster_look(node->roster);
	tenures_look(node->tenures);
}

static const struct consensus_events store_events = {
	.session = node_session, .changed = node_changed, .gap = node_gap,
};

static void node_begin(struct node *node)
{
	const struct consensus_settings settings = { .session_ns = SESSION_NS, .mark = node->mark };

	snprintf(node->name, sizeof(node->name), "node%zu", node - node->world->nodes);
	node->store = fake_open(node->world->fake, &settings, &store_events, node);
	node->tenures = tenures_new(node->store, SHARDS, &tenure_events, node);
	node->id = node->world->draws;
	node->roster = roster_new(node->store, node->name, node_draw(node), "", node_members, node);
	roster_enter(node->roster);
}

/* It forgets all but the mark. */
static void node_end(struct node *node)
{
	if (!node->store)
		return;
	node->store->ops->mark(node->store, &node->mark);
	node->store->ops->close(node->store);
	tenures_free(node->tenures);
	roster_free(node->roster);
	node->store = NULL;
	memset(node->states, 0, sizeof(node->states));
	memset(node->busy, 0, sizeof(node->busy));
	memset(node->commits, 0, sizeof(node->commits));
}

/* What clients do */

static void deliver(struct world *world, struct timeout *timeout)
{
	/* What was lost with the end of a log is not there again until a node says so. */
	bool is_excused = world->kind == KIND_LOSES_END && world->has_lost;

	if (timeout->is_cancelled && !is_excused)
		wrong(world, "a timeout is delivered after it was cancelled");
	if (timeout->is_refused)
		wrong(world, "a timeout is delivered that was refused");
	if (timeout->delivered++ && !is_excused)
		wrong(world, "a timeout is delivered twice");
}

static void change_done(struct tenure_commit *commit)
{
	struct change *change = (struct change *)commit;
	struct node *node = change->node;
	struct world *world = node->world;
	unsigned int number = change->record.timeout;
	struct timeout *timeout = &world->timeouts[number];
	bool is_put = change->record.state == PENDING;

	if (commit->error == -EAGAIN)
		return;
	commits++;
	if (commit->outcome == CONSENSUS_DONE) {
		node->states[number] = change->record.state;
		timeout->is_accepted |= is_put;
		if (change->record.state == LEASED)
			deliver(world, timeout);
		else if (change->record.state == CANCELLED)
			timeout->is_cancelled = true;
	} else if (commit->outcome == CONSENSUS_REFUSED && is_put) {
		timeout->is_refused = true;
	} else if (commit->outcome == CONSENSUS_UNKNOWN && change->record.state == CANCELLED) {
		timeout->may_be_cancelled = true;
	}
	node->busy[number] = false;
	LL_DELETE(world->under_way, change);
	free(change);
}

static void change(struct node *node, unsigned int number, enum state state)
{
	struct change *change = memory_get(1, sizeof(*change));

	change->node = node;
	change->record = (struct record) { .timeout = number, .state = state };
	change->commit.shard = shard_of(number);
	change->commit.content = &change->record;
	change->commit.size = sizeof(change->record);
	change->commit.count = 1;
	change->commit.done = change_done;
	node->busy[number] = true;
	LL_PREPEND(node->world->under_way, change);
	tenure_submit(node->tenures, &change->commit);
}

static void clean_done(struct tenure_commit *commit)
{
	struct change *change = (struct change *)commit;

	if (commit->error == -EAGAIN)
		return;
	cleanings += commit->outcome == CONSENSUS_DONE;
	LL_DELETE(change->node->world->under_way, change);
	free(change);
}

/* All that the shard has in one commit, in place of what was there before */
static void clean(struct node *node, unsigned int shard)
{
	struct change *change = memory_get(1, sizeof(*change));
	struct chain_tail tails[CHAIN_HEARD];
	bool is_owner;

	change->node = node;
	change->commit.shard = shard;
	change->commit.content = change->all;
	for (unsigned int i = shard; i < TIMEOUTS; i += SHARDS) {
		struct record *record = &change->all[change->commit.size / sizeof(*record)];

		if (node->states[i] == NONE)
			continue;
		*record = (struct record) { .timeout = i, .state = node->states[i] };
		change->commit.size += sizeof(*record);
	}
	tenure_tails(node->tenures, shard, tails, &is_owner);
	change->commit.count = 1;
	change->commit.clean_before = tails[0].last;
	change->commit.done = clean_done;
	LL_PREPEND(node->world->under_way, change);
	tenure_submit(node->tenures, &change->commit);
}

static bool owns(const struct node *node, unsigned int shard)
{
	return node->store && tenure_state(node->tenures, shard) == TENURE_OWNED;
}

static void put(struct world *world, struct node *node)
{
	if (world->made < TIMEOUTS && owns(node, shard_of(world->made)))
		change(node, world->made++, PENDING);
}

/* A cancel or a take of something that the node believes to be pending */
static void end_one(struct world *world, struct node *node, enum state state)
{
	unsigned int number = fake_random(world->fake, TIMEOUTS);

	if (owns(node, shard_of(number)) && !node->busy[number] && node->states[number] == PENDING)
		change(node, number, state);
}

/* What is on its way has no place in it. */
static void clean_some(struct world *world, struct node *node)
{
	unsigned int shard = fake_random(world->fake, SHARDS);

	for (unsigned int i = shard; i < TIMEOUTS; i += SHARDS)
		if (node->busy[i])
			return;
	if (owns(node, shard))
		clean(node, shard);
}

/* What was leased is not delivered again while its client has it, which acknowledges. */
static void end_all(struct world *world, struct node *node, unsigned int shard)
{
	for (unsigned int i = shard; i < TIMEOUTS; i += SHARDS)
		if (!node->busy[i] &&
		    (node->states[i] == PENDING ||
		     (node->states[i] == LEASED && !world->timeouts[i].delivered)))
			change(node, i, LEASED);
}

/* The world */

/* Its answers need no commit: what it does not have, nobody has. */
static bool serves(const struct world *world, const struct node *node, unsigned int shard)
{
	return node->store && tenure_serves(node->tenures, shard) &&
	       fake_now(world->fake) >= node->misled_ns &&
	       fake_now(world->fake) < node->store->ops->sure_ns(node->store);
}

/* After its end was lost a fence is done that was on its way before the owner's. */
static void look_for_two_owners(struct world *world)
{
	for (unsigned int shard = 0; shard < SHARDS; shard++) {
		bool is_excused = world->kind == KIND_LOSES_END && world->has_lost &&
				  shard == world->lost_shard;
		unsigned int owners = 0;

		for (unsigned int i = 0; i < NODES; i++)
			owners += serves(world, &world->nodes[i], shard);
		if (owners > 1 && !is_excused)
			wrong(world, "two nodes serve a shard");
	}
}

static void pass(struct world *world, uint64_t ns)
{
	struct fake *fake = world->fake;
	uint64_t end = fake_now(fake) + ns;

	while (fake_now(fake) < end) {
		fake_step(fake, end);
		for (unsigned int i = 0; i < NODES; i++) {
			struct node *node = &world->nodes[i];

			if (!node->store)
				continue;
			if (fake_now(fake) >= node->retry_ns) {
				node->retry_ns = fake_now(fake) + 200 * MS;
				tenures_retry(node->tenures);
				roster_retry(node->roster);
			}
			if (node->wants_look)
				roster_look(node->roster);
			node->wants_look = false;
			tenures_flush(node->tenures);
		}
		look_for_two_owners(world);
	}
}

/* Both have read their tails before they hear. */
static void exchange(struct node *one, struct node *other)
{
	struct chain_tail ones[CHAIN_HEARD], others[CHAIN_HEARD];
	bool is_owner, other_is_owner;
	size_t count, other_count;

	if (one == other || !one->store || !other->store)
		return;
	for (unsigned int shard = 0; shard < SHARDS; shard++) {
		count = tenure_tails(one->tenures, shard, ones, &is_owner);
		other_count = tenure_tails(other->tenures, shard, others, &other_is_owner);
		for (size_t i = 0; i < count; i++)
			tenure_hear(other->tenures, shard, &ones[i], is_owner);
		for (size_t i = 0; i < other_count; i++)
			tenure_hear(one->tenures, shard, &others[i], other_is_owner);
	}
}

static bool read_tail(const struct world *world, unsigned int shard, struct chain_tail *tail)
{
	char key[CONSENSUS_KEY];
	const void *value;
	uint64_t revision;
	size_t size;

	chain_tail_key(shard, key);
	value = fake_get(world->fake, key, &size, &revision);
	return value && chain_read_tail(tail, value, size);
}

/* Whose owner has heard that it is done */
static bool is_heard(const struct world *world, unsigned int shard, const struct chain_tail *tail)
{
	for (unsigned int i = 0; i < NODES; i++) {
		const struct node *node = &world->nodes[i];
		struct chain_tail heard[CHAIN_HEARD];
		bool is_owner;

		if (owns(node, shard) && tenure_tails(node->tenures, shard, heard, &is_owner) &&
		    chain_is_same(&heard[0], tail))
			return true;
	}
	return false;
}

/* A commit of a shard, the last one or one before that */
static void lose(struct world *world)
{
	struct fake *fake = world->fake;
	unsigned int shard = fake_random(fake, SHARDS);
	char key[CONSENSUS_KEY], log[CONSENSUS_KEY];
	struct chain_tail tail, lost = { 0 };
	const void *value;
	uint64_t revision;
	size_t size;

	if (!read_tail(world, shard, &tail) || tail.last < 3)
		return;
	lost.last = tail.last;
	if (world->kind == KIND_LOSES_MIDDLE)
		lost.last -= fake_random(fake, (unsigned int)(tail.last - tail.oldest) + 1);
	chain_tail_key(shard, key);
	chain_log_key(shard, lost.last, log);
	value = fake_get(fake, log, &size, &revision);
	if (!value)
		return;
	chain_hash(value, size, lost.hash);
	if (world->kind == KIND_LOSES_END) {
		if (!is_heard(world, shard, &tail))
			return;
		fake_lose(fake, key);
	}
	fake_lose(fake, log);
	world->has_lost = true;
	world->lost_shard = shard;
	world->lost = lost;
}

/* Its session may end before its time, from now on until then. */
static void mislead(struct node *node, uint64_t until_ns)
{
	if (until_ns + SESSION_NS > node->misled_ns)
		node->misled_ns = until_ns + SESSION_NS;
}

static void disturb(struct world *world, struct node *node)
{
	struct fake *fake = world->fake;
	uint64_t until = fake_now(fake) + fake_random(fake, 8000) * MS;
	unsigned int shard = fake_random(fake, SHARDS);

	switch (fake_random(fake, 10)) {
	case 0:
		/* The one that heard of what is lost has to live. */
		if (world->kind == KIND_LOSES_END && world->has_lost)
			break;
		node_end(node);
		break;
	case 1:
		if (!node->store)
			node_begin(node);
		break;
	case 2:
		if (node->store)
			fake_cut(node->store, until);
		break;
	case 3:
		if (node->store)
			fake_lie(node->store, until);
		mislead(node, until);
		break;
	case 4:
		if (node->store)
			fake_end_session(node->store);
		mislead(node, fake_now(fake));
		break;
	case 5:
		if (world->kind != KIND_RESTORES)
			fake_compact(fake);
		break;
	case 6:
		if ((world->kind == KIND_LOSES_MIDDLE || world->kind == KIND_LOSES_END) &&
		    !world->has_lost)
			lose(world);
		break;
	case 7:
		if (node->store)
			tenure_want(node->tenures, shard, false);
		break;
	case 8:
		/* Full, or nearly so, until something is cleaned, or until there is more room. */
		fake_set_quota(fake, fake_random(fake, 2) ? UINT64_MAX :
						fake_bytes(fake) + fake_random(fake, 400));
		break;
	default:
		if (node->store)
			tenure_want(node->tenures, shard, true);
		break;
	}
}

static void step(struct world *world)
{
	struct fake *fake = world->fake;
	struct node *node = &world->nodes[fake_random(fake, NODES)];

	for (unsigned int i = 0; i < NODES; i++)
		if (node->store && fake_random(fake, 2))
			put(world, node);
	switch (fake_random(fake, 5)) {
	case 0:
		disturb(world, node);
		break;
	case 3:
		clean_some(world, node);
		break;
	case 1:
		end_one(world, node, LEASED);
		break;
	case 2:
		end_one(world, node, CANCELLED);
		break;
	default:
		exchange(node, &world->nodes[fake_random(fake, NODES)]);
		break;
	}
	pass(world, (1 + fake_random(fake, fake_random(fake, 8) ? 30 : 2500)) * MS);
}

/* Each shard has one owner, or one that says that it is broken. */
static bool is_settled(const struct world *world)
{
	for (unsigned int shard = 0; shard < SHARDS; shard++) {
		unsigned int owners = 0, idle = 0, up = 0;

		for (unsigned int i = 0; i < NODES; i++) {
			const struct node *node = &world->nodes[i];

			up += !!node->store;
			if (!node->store)
				continue;
			owners += owns(node, shard) ||
				  tenure_state(node->tenures, shard) == TENURE_BROKEN;
			idle += tenure_state(node->tenures, shard) == TENURE_FREE;
		}
		if (owners != 1 || idle != up - 1)
			return false;
	}
	return true;
}

/*
 * Nothing disturbs them: the nodes agree by themselves, but of a store that was restored, where
 * each one stops.
 */
static void settle(struct world *world)
{
	for (unsigned int i = 0; i < NODES; i++)
		if (world->nodes[i].store)
			roster_look(world->nodes[i].roster);
	for (unsigned int turn = 0; turn < 30 || (turn < 600 && !is_settled(world)); turn++) {
		exchange(&world->nodes[turn % NODES], &world->nodes[turn / NODES % NODES]);
		pass(world, 100 * MS);
	}
	if (!is_settled(world) && (world->kind != KIND_RESTORES || !world->has_lost))
		wrong(world, "nothing moves");
}

/* All that is there is taken. */
static void drain(struct world *world)
{
	settle(world);
	for (unsigned int i = 0; i < NODES; i++)
		for (unsigned int shard = 0; shard < SHARDS; shard++)
			if (owns(&world->nodes[i], shard))
				end_all(world, &world->nodes[i], shard);
	pass(world, 5000 * MS);
}

static void look(struct world *world)
{
	for (unsigned int i = 0; i < world->made; i++) {
		const struct timeout *timeout = &world->timeouts[i];

		if (timeout->is_accepted && !timeout->is_cancelled &&
		    !timeout->may_be_cancelled && !timeout->delivered)
			wrong(world, "an accepted timeout is not delivered");
	}
}

/*
 * Nobody misses what its owner cleaned away, who had it in memory, or a commit that came again, as
 * it had been doubled.
 */
static bool is_missed(const struct world *world)
{
	struct chain_tail tail, is = { .last = world->lost.last };
	char log[CONSENSUS_KEY];
	const void *value;
	uint64_t revision;
	size_t size;

	chain_log_key(world->lost_shard, is.last, log);
	value = fake_get(world->fake, log, &size, &revision);
	if (value)
		chain_hash(value, size, is.hash);
	return !chain_is_same(&is, &world->lost) &&
	       (!read_tail(world, world->lost_shard, &tail) || tail.oldest <= is.last);
}

static bool has_noticed(const struct world *world)
{
	for (unsigned int i = 0; i < NODES; i++)
		if (world->nodes[i].has_broken[world->lost_shard])
			return true;
	return false;
}

/* The next owner misses a commit in the middle, and who heard of it the last one. */
static void look_whether_noticed(struct world *world)
{
	unsigned int shard = world->lost_shard;

	for (unsigned int i = 0; i < NODES && !has_noticed(world); i++) {
		struct node *node = &world->nodes[i];

		if (!owns(node, shard))
			continue;
		if (world->kind == KIND_LOSES_MIDDLE)
			node_end(node);
		else
			tenure_want(node->tenures, shard, false);
		if (!node->store)
			node_begin(node);
		settle(world);
	}
	if (has_noticed(world))
		noticed++;
	else if (is_missed(world))
		wrong(world, "a lost commit was not noticed");
}

static bool is_served(const struct world *world, unsigned int shard)
{
	for (unsigned int i = 0; i < NODES; i++)
		if (owns(&world->nodes[i], shard))
			return true;
	return false;
}

/*
 * An operator accepts what is missing, and neither this owner nor the next one misses it again. One
 * that has committed nothing since does not miss it before it takes the shard anew.
 */
static void accept_loss(struct world *world)
{
	unsigned int shard = world->lost_shard;

	for (unsigned int i = 0; i < NODES; i++)
		if (world->nodes[i].store)
			fake_end_session(world->nodes[i].store);
	pass(world, 2 * SESSION_NS);
	for (unsigned int i = 0; i < NODES; i++)
		if (world->nodes[i].store)
			tenure_accept(world->nodes[i].tenures, shard);
	settle(world);
	for (unsigned int i = 0; i < NODES; i++)
		if (owns(&world->nodes[i], shard))
			tenure_want(world->nodes[i].tenures, shard, false);
	settle(world);
	if (!is_served(world, shard))
		wrong(world, "what was accepted is missed again");
}

static void end(struct world *world)
{
	struct fake *fake = world->fake;

	fake_faults(fake, 0);
	fake_set_quota(fake, UINT64_MAX);
	for (unsigned int i = 0; i < NODES; i++)
		if (world->nodes[i].store)
			fake_cut(world->nodes[i].store, 0);
	if (!world->nodes[0].store)
		node_begin(&world->nodes[0]);
	pass(world, 30000 * MS);
	drain(world);
	drain(world);
	if (!world->has_lost)
		look(world);
	if (world->has_lost && world->kind != KIND_RESTORES) {
		look_whether_noticed(world);
		accept_loss(world);
	}
	if (world->under_way)
		wrong(world, "a commit has not ended");
}

/* All nodes have seen far more than the backup has: each one stops. */
static void restore(struct world *world)
{
	uint64_t revision = fake_revision(world->fake);

	for (unsigned int i = 0; i < NODES; i++) {
		struct node *node = &world->nodes[i];

		if (node->store)
			node->store->ops->mark(node->store, &node->mark);
		if (node->mark.revision < revision / 2 + 20)
			return;
	}
	fake_restore(world->fake, revision / 2);
	world->has_lost = true;
	noticed++;
}

static const char *history(unsigned int seed)
{
	static const unsigned int often[] = { 0, 10, 60, 200 };
	struct world world = { .fake = fake_new(seed), .kind = seed % 8 < KINDS ? seed % 8 : 0 };

	fake_faults(world.fake, often[fake_random(world.fake, 4)]);
	for (unsigned int i = 0; i < NODES; i++) {
		world.nodes[i].world = &world;
		node_begin(&world.nodes[i]);
	}
	for (unsigned int i = 0; i < STEPS && !world.wrong; i++) {
		if (world.kind == KIND_RESTORES && i == STEPS / 2)
			restore(&world);
		step(&world);
	}
	if (!world.wrong)
		end(&world);
	for (unsigned int i = 0; i < NODES; i++)
		node_end(&world.nodes[i]);
	fake_free(world.fake);
	return world.wrong;
}

/* What a fence that was doubled puts, after the end of the log was lost */

static void key_put(struct consensus_txn *txn)
{
}

static void put_key(struct node *by, const char *key)
{
	struct consensus_put put = { .key = key, .value = "", .size = 0 };
	struct consensus_txn txn = { .puts = &put, .puts_count = 1, .done = key_put };

	by->store->ops->txn(by->store, &txn);
	pass(by->world, 500 * MS);
}

static bool key_is_there(const struct world *world, const char *key)
{
	uint64_t revision;
	size_t size;

	return fake_get(world->fake, key, &size, &revision);
}

/*
 * A node deletes a key of its own of a shard that it has not got, also if it has missed that the
 * key was put.
 */
static const char *own_key_goes(bool is_missed)
{
	struct world world = { .fake = fake_new(1) };
	struct node *one = &world.nodes[0], *other = &world.nodes[1];
	char key[CONSENSUS_KEY];
	unsigned int shard = 0;

	for (unsigned int i = 0; i < NODES; i++) {
		world.nodes[i].world = &world;
		node_begin(&world.nodes[i]);
	}
	settle(&world);
	while (shard < SHARDS && owns(one, shard))
		shard++;
	if (shard == SHARDS)
		wrong(&world, "one node has all shards");
	chain_held_key(shard, one->id, key);
	if (is_missed)
		fake_cut(one->store, fake_now(world.fake) + 1000 * MS);
	put_key(other, key);
	if (is_missed && !key_is_there(&world, key))
		wrong(&world, "the key was not put");
	if (is_missed)
		fake_compact(world.fake);
	pass(&world, 2000 * MS);
	if (key_is_there(&world, key))
		wrong(&world, "the key stays");
	for (unsigned int i = 0; i < NODES; i++)
		node_end(&world.nodes[i]);
	fake_free(world.fake);
	return world.wrong;
}

static bool report_own_keys(void)
{
	const char *wrong = own_key_goes(false), *wrong_if_missed = own_key_goes(true);

	if (wrong || wrong_if_missed)
		printf("# put: %s; missed: %s\n", wrong ?: "right", wrong_if_missed ?: "right");
	printf("%sok 2 - an own key of a shard that a node has not got goes\n",
	       wrong || wrong_if_missed ? "not " : "");
	return !wrong && !wrong_if_missed;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	unsigned int seed = 0, failures = 0;

	if (argc > 2)
		seed = (unsigned int)strtoul(argv[2], NULL, 10);
	else if (getrandom(&seed, sizeof(seed), 0) < 0)
		return 1;
	printf("TAP version 13\n1..2\n# seeds from %u\n", seed);
	for (unsigned long i = 0; i < count && failures < 10; i++) {
		const char *what = history(seed + (unsigned int)i);

		if (!what)
			continue;
		failures++;
		printf("# seed %u: %s\n", seed + (unsigned int)i, what);
	}
	printf("# %lu commits, %lu cleanings, %lu takeovers, %lu shards left or lost\n", commits,
	       cleanings, takeovers, losses);
	printf("# %lu gaps, %lu losses noticed\n", gaps, noticed);
	printf("%sok 1 - %lu random histories\n", failures ? "not " : "", count);
	return report_own_keys() && !failures ? 0 : 1;
}
