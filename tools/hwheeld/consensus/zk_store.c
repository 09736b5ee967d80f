// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store in an ensemble of ZooKeeper's servers. All of it runs in the loop's thread.
 *
 *	zk_store -> commit, cleaning, merging -> ensemble -> servers
 *	members -> shard -> loading --------^
 *	shared, versions -------------^
 *	owner -> relay, batch, sweep, feed, survey -> peer -> other nodes
 *
 * A commit has all requests that wait, of as many shards as they are about; while as many as
 * ZK_WINDOW are on their way, requests wait for the next one. Without a connection nothing is sent.
 * When there is one again, the shards get new epochs, then commits of unknown outcome are read
 * back, and then the store goes on.
 */
#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "clock/now.h"
#include "clock/shared.h"
#include "consensus/cleaning.h"
#include "consensus/commit.h"
#include "consensus/merging.h"
#include "consensus/trail.h"
#include "consensus/tree.h"
#include "consensus/versions.h"
#include "log/replay.h"
#include "memory.h"
#include "nodes/feed.h"
#include "nodes/members.h"
#include "nodes/owner.h"
#include "nodes/peer.h"
#include "nodes/shard.h"
#include "say.h"

#define ZK_WINDOW	16

/* How long the end waits for an answer of the servers */
#define ZK_LAST_MS	1000

/* How long one attempt to connect waits */
#define ZK_PATIENCE_MS	5000

static struct {
	struct store store;
	struct service *service;
	struct store_request *waiting;
	struct commit *commits;		/* on their way, or unknown; the oldest first */
	size_t count;
	size_t unknown;
	bool is_usable;			/* connected, with nothing that is unknown */
	bool is_connected;
	bool has_epochs;		/* of this connection */
	uint64_t *loaded_from;		/* of each shard: number of its first record; 0: none */
	bool *is_lost;			/* of each shard: to be forgotten */
	bool has_lost;
	char node[TREE_NAME + 1];
} zk;

/* Requests */

static void zk_end(struct store_request *request, enum store_outcome outcome, int error)
{
	request->outcome = outcome;
	request->error = error;
	request->done(request);
}

/* done() may submit others, and free the request. */
static void zk_end_all(struct store_request *request, enum store_outcome outcome, int error)
{
	struct store_request *next;

	for (; request; request = next) {
		next = request->next;
		zk_end(request, outcome, error);
	}
}

static struct store_request *zk_take(struct store_request *request)
{
	DL_DELETE(zk.waiting, request);
	return request;
}

static bool zk_is_owned(const struct store_request *request)
{
	for (size_t i = 0; i < request->count; i++)
		if (shard_at(request->records[i].key.shard)->state != SHARD_OWNED)
			return false;
	return true;
}

static size_t zk_cost(const struct store_request *request)
{
	size_t parts = request->count < shard_count() ? request->count : shard_count();
	size_t cost = parts * COMMIT_PART_COST;

	for (size_t i = 0; i < request->count; i++)
		cost += commit_cost(&request->records[i]);
	return cost;
}

static void zk_look_whether_usable(void)
{
	if (zk.is_usable || !zk.is_connected || !zk.has_epochs || zk.unknown ||
	    !versions_are_fine())
		return;
	zk.is_usable = true;
	say(LOG_NOTICE, "cluster: connected");
}

/* Its records get numbers, and its parts places in the trail. */
static void zk_note(struct commit *commit)
{
	for (struct store_request *it = commit->requests; it; it = it->next)
		it->seq = trail_numbers(it->count);
	for (size_t i = 0; i < commit->count; i++) {
		struct commit_part *part = &commit->parts[i];
		size_t place = trail_add(part->shard, part->tenure, part->number,
					 trail_numbers(0));

		merging_add(part->shard, part->tenure, part->number, place, part->bytes,
			    part->size);
		part->bytes = NULL;
	}
}

static void zk_committed(struct commit *commit, enum store_outcome outcome, int error)
{
	uint64_t took = now_clock_ns(CLOCK_MONOTONIC) - commit->since_ns;

	if (outcome == STORE_UNKNOWN) {
		if (commit->is_unknown)
			return;
		zk.unknown++;
		commit->is_unknown = true;
		zk.is_usable = false;
		zk_end_all(commit->requests, STORE_UNKNOWN, -EIO);
		return;
	}
	DL_DELETE(zk.commits, commit);
	zk.count--;
	zk.unknown -= commit->is_unknown;
	zk.store.figures.commits++;
	zk.store.figures.failures += outcome != STORE_COMMITTED;
	zk.store.figures.commit_ns += took;
	if (took > zk.store.figures.commit_max_ns)
		zk.store.figures.commit_max_ns = took;
	if (outcome == STORE_COMMITTED)
		zk_note(commit);
	zk_end_all(commit->requests, outcome, error);
	zk_look_whether_usable();
}

static void zk_send_commit(void)
{
	struct commit *commit = commit_new();

	commit->since_ns = now_clock_ns(CLOCK_MONOTONIC);
	while (zk.waiting && !zk.waiting->clean_before && zk_is_owned(zk.waiting) &&
	       commit->bytes + zk_cost(zk.waiting) <= COMMIT_MAX) {
		struct store_request *request = zk_take(zk.waiting);

		for (size_t i = 0; i < request->count; i++)
			commit_add(commit, &request->records[i]);
		zk.store.figures.records += request->count;
		DL_APPEND(commit->requests, request);
	}
	DL_APPEND(zk.commits, commit);
	zk.count++;
	commit_send(commit, zk_committed);
}

/* A request that cannot be sent ends here. Returns false if the next one has to wait. */
static bool zk_send_next(void)
{
	bool cleans = zk.waiting->clean_before;
	int error = 0;

	if (!zk.is_usable)
		error = -EIO;
	else if (!zk_is_owned(zk.waiting))
		error = -ESTALE;
	else if (!cleans && zk_cost(zk.waiting) > COMMIT_MAX)
		error = -EMSGSIZE;
	if (error)
		zk_end(zk_take(zk.waiting), STORE_REFUSED, error);
	else if (cleans)
		cleaning_begin(zk_take(zk.waiting));
	else if (zk.count < ZK_WINDOW)
		zk_send_commit();
	return error || cleans || zk.count < ZK_WINDOW;
}

/* Shards that come and go */

/* A request that waits and is about a shard that is lost, or NULL */
static struct store_request *zk_find_lost(void)
{
	struct store_request *request;

	DL_FOREACH(zk.waiting, request)
		for (size_t i = 0; i < request->count; i++)
			if (zk.is_lost[request->records[i].key.shard])
				return request;
	return NULL;
}

/* Requests about them end first; each one that ends may submit others. */
static void zk_forget_lost(void)
{
	struct store_request *request;

	if (!zk.has_lost)
		return;
	while ((request = zk_find_lost()))
		zk_end(zk_take(request), STORE_REFUSED, -ESTALE);
	replay_lost(zk.service, zk.is_lost);
	memset(zk.is_lost, 0, shard_count() * sizeof(*zk.is_lost));
	zk.has_lost = false;
}

static void zk_lost(unsigned int shard)
{
	zk.loaded_from[shard] = 0;
	zk.is_lost[shard] = true;
	zk.has_lost = true;
}

static void zk_gained(unsigned int shard)
{
	if (zk.loaded_from[shard])
		replay_gained(zk.service, zk.loaded_from[shard], shard);
}

static void zk_load_record(void *data, const struct record *record)
{
	replay_record(zk.service, trail_numbers(1), record);
}

static bool zk_load_commit(const char *bytes, size_t length, unsigned int shard, uint64_t number)
{
	zk.loaded_from[shard] = zk.loaded_from[shard] ?: trail_numbers(0);
	if (!commit_decode(bytes, length, zk_load_record, NULL))
		return false;
	trail_add(shard, shard_at(shard)->tenure, number, trail_numbers(0));
	return true;
}

static const struct shard_events zk_shard_events = {
	.load = zk_load_commit,
	.gained = zk_gained,
	.lost = zk_lost,
};

/* The connection */

static void zk_read_back(void)
{
	struct commit *commit, *next;

	zk.has_epochs = true;
	DL_FOREACH_SAFE(zk.commits, commit, next)
		if (commit->is_unknown)
			commit_read_back(commit);
	cleaning_read_back();
	zk_look_whether_usable();
}

static void zk_connected(bool is_new)
{
	zk.is_connected = true;
	zk.has_epochs = false;
	versions_look();
	members_connected();
	shared_connected();
	shard_connected(is_new, zk_read_back);
}

static void zk_disconnected(void)
{
	if (zk.is_connected)
		say(LOG_WARNING, "cluster: the connection is lost");
	zk.is_connected = false;
	zk.is_usable = false;
	shard_disconnected();
}

static void zk_expired(void)
{
	struct commit *commit, *next;

	say(LOG_WARNING, "cluster: the session has ended");
	zk.is_connected = false;
	zk.is_usable = false;
	DL_FOREACH_SAFE(zk.commits, commit, next)
		commit_give_up(commit);
	cleaning_give_up();
	shared_expired();
	shard_expired();
}

static void zk_changed(const char *path)
{
	members_changed(path);
	shard_changed(path);
}

/* Nothing more is written while a server may lose it. */
static void zk_versions_changed(void)
{
	zk.is_usable = zk.is_usable && versions_are_fine();
	zk_look_whether_usable();
}

static const struct ensemble_events zk_ensemble_events = {
	.connected = zk_connected,
	.disconnected = zk_disconnected,
	.expired = zk_expired,
	.changed = zk_changed,
};

/*
 * Others take over when the session has ended, which is so long after the servers have heard of
 * this node at the latest: a node that was stopped knows so before it has heard of them.
 */
static bool zk_is_sure(void)
{
	return zk.is_usable &&
	       now_clock_ns(CLOCK_BOOTTIME) < shared_heard_ns() + ensemble_sure_ns();
}

/* The store's operations */

static void zk_submit(struct store *store, struct store_request *request)
{
	DL_APPEND(zk.waiting, request);
}

static void zk_flush(struct store *store)
{
	zk_forget_lost();
	while (zk.waiting && zk_send_next())
		;
	if (zk.is_usable)
		merging_go_on();
	zk_forget_lost();
}

static void zk_reap(struct store *store)
{
	ensemble_reap();
	zk_forget_lost();
}

static bool zk_store_is_lost(const struct store *store)
{
	return !zk.is_usable || cleaning_is_unknown();
}

/* The library connects again by itself while there is a session. */
static void zk_recover(struct store *store)
{
	ensemble_retry();
	if (zk.is_connected && zk.has_epochs && (zk.unknown || cleaning_is_unknown()))
		zk_connected(false);
}

static bool zk_is_settled(const struct store *store)
{
	return members_count() && shard_is_settled();
}

static void zk_show(const struct store *store, struct json_object *object)
{
	int owned = 0;

	for (unsigned int i = 0; i < shard_count(); i++)
		owned += shard_at(i)->state == SHARD_OWNED;
	json_object_object_add(object, "nodes", members_show());
	json_object_object_add(object, "shards", json_object_new_int64(shard_count()));
	json_object_object_add(object, "shards_here", json_object_new_int64(owned));
}

/* Commits on their way have a moment to end, each one. */
static void zk_close(struct store *store)
{
	struct pollfd ended = { .fd = store->fd, .events = POLLIN };

	zk_flush(store);
	while (zk.is_usable && (zk.count || cleaning_is_busy()) &&
	       poll(&ended, 1, ZK_LAST_MS) == 1)
		zk_reap(store);
	zk.is_usable = false;
	zk_flush(store);
	versions_end();
	ensemble_close();
	zk.service->nodes = NULL;
	feed_end();
	peer_end();
	members_end();
	merging_end();
	shard_end();
}

/* Shards are loaded as they come, and the ensemble has the time. */
static const struct store_ops zk_ops = {
	.submit = zk_submit,
	.flush = zk_flush,
	.reap = zk_reap,
	.is_lost = zk_store_is_lost,
	.recover = zk_recover,
	.is_settled = zk_is_settled,
	.show = zk_show,
	.close = zk_close,
};

/* The first line of the file, if there is one */
static int zk_read_secret(const char *path, char *secret, int size)
{
	FILE *stream = path ? fopen(path, "re") : NULL;
	bool is_read = stream && fgets(secret, size, stream);

	secret[strcspn(secret, "\n")] = 0;
	if (stream)
		fclose(stream);
	if (!path || (is_read && strchr(secret, ':')))
		return 0;
	say(LOG_ERR, "%s: NAME:PASSWORD is expected", path);
	return -EINVAL;
}

static int zk_connect(const struct settings *settings)
{
	char secret[256] = "";
	int error = zk_read_secret(settings->zookeeper_secret_file, secret, sizeof(secret)) ?:
		    ensemble_open(settings->zookeeper,
				  (unsigned int)(settings->session / NS_PER_MS),
				  *secret ? secret : NULL, &zk_ensemble_events);

	explicit_bzero(secret, sizeof(secret));
	if (error)
		return error;
	while (!ensemble_wait(ZK_PATIENCE_MS))
		say(LOG_WARNING, "cluster: no server of %s answers", settings->zookeeper);
	return versions_begin(settings->zookeeper, settings->zookeeper_may_lose,
			      zk_versions_changed) ? 0 : -EPROTONOSUPPORT;
}

static int zk_name_node(const struct settings *settings)
{
	if (settings->node)
		snprintf(zk.node, sizeof(zk.node), "%s", settings->node);
	else if (gethostname(zk.node, sizeof(zk.node) - 1))
		return -errno;
	return tree_is_name(zk.node) && tree_is_name(settings->cluster) ? 0 : -EINVAL;
}

struct store *zk_store_open(struct service *service)
{
	const struct settings *settings = &service->settings;
	unsigned int shards;

	zk.store.ops = &zk_ops;
	zk.service = service;
	if (zk_name_node(settings) || peer_begin(service) || zk_connect(settings))
		return NULL;
	shards = tree_open(settings->cluster, (unsigned int)settings->shards);
	if (!shards || shared_begin(service, zk.node))
		return NULL;
	service->shards = shards;
	zk.store.fd = ensemble_fd();
	zk.loaded_from = memory_get(shards, sizeof(*zk.loaded_from));
	zk.is_lost = memory_get(shards, sizeof(*zk.is_lost));
	shard_begin(shards, zk.node, &zk_shard_events);
	merging_begin();
	members_begin(zk.node, shards, feed_members_changed);
	feed_begin(service);
	owner_begin(service, zk_is_sure);
	return &zk.store;
}
