// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store in an ensemble of ZooKeeper's servers. All of it runs in the loop's thread.
 *
 *	zk_store -> commit, cleaning, merging -> ensemble -> servers
 *	members -> shard -> loading --------^
 *	clock, versions --------------------^
 *	nodes -> relay, batch, sweep, feed, survey -> peer -> other nodes
 *
 * A commit has all requests that wait, of as many shards as they are about; while as many as
 * WINDOW are on their way, requests wait for the next one. Without a connection nothing is sent.
 * When there is one again, the shards get new epochs, then commits of unknown outcome are read
 * back, and then the store goes on.
 */
#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "clock/now.h"
#include "clock/shared_clock.h"
#include "consensus/cleaning.h"
#include "consensus/commit.h"
#include "consensus/merging.h"
#include "consensus/trail.h"
#include "consensus/tree.h"
#include "consensus/versions.h"
#include "memory.h"
#include "nodes/feed.h"
#include "nodes/members.h"
#include "nodes/owner.h"
#include "nodes/peer.h"
#include "nodes/shard.h"
#include "say.h"
#include "service.h"

#define WINDOW		16

/* How long the end waits for an answer of the servers */
#define LAST_MS		1000

/* How long one attempt to connect waits */
#define PATIENCE_MS	5000

static struct {
	struct store store;
	struct service *service;
	const struct settings *settings;
	const struct store_moves *moves;
	struct store_request *waiting, **waiting_end;
	struct commit *commits;		/* on their way, or unknown; the oldest first */
	size_t count;
	size_t unknown;
	bool usable;			/* connected, with nothing that is unknown */
	bool connected;
	bool has_epochs;		/* of this connection */
	uint64_t *loaded_from;		/* of each shard: number of its first record; 0: none */
	bool *is_lost;			/* of each shard: to be forgotten */
	bool has_lost;
	unsigned int asked;
	char node[TREE_NAME + 1];
	struct store_figures figures;
} zk;

/* Requests */

static void end(struct store_request *request, enum store_outcome outcome, int error)
{
	request->outcome = outcome;
	request->error = error;
	request->done(request);
}

static struct store_request *take_waiting(void)
{
	struct store_request *request = zk.waiting;

	zk.waiting = request->next;
	if (!zk.waiting)
		zk.waiting_end = &zk.waiting;
	request->next = NULL;
	return request;
}

static bool is_owned(const struct store_request *request)
{
	for (size_t i = 0; i < request->count; i++) {
		const struct record *record = &request->records[i];

		if (shard_state(shard_of(record->key, record->key_length)) != SHARD_OWNED)
			return false;
	}
	return true;
}

static size_t cost_of(const struct store_request *request)
{
	size_t parts = request->count < shard_count() ? request->count : shard_count();
	size_t cost = parts * COMMIT_PART_COST;

	for (size_t i = 0; i < request->count; i++)
		cost += commit_cost(&request->records[i]);
	return cost;
}

/* done() may submit others, and free the request. */
static void end_all(struct store_request *request, enum store_outcome outcome, int error)
{
	struct store_request *next;

	for (; request; request = next) {
		next = request->next;
		end(request, outcome, error);
	}
}

static void count_commit(const struct commit *commit, bool is_committed)
{
	uint64_t took = now_clock_ns(CLOCK_MONOTONIC) - commit->since_ns;

	zk.figures.commits++;
	zk.figures.failures += !is_committed;
	zk.figures.commit_ns += took;
	if (took > zk.figures.commit_max_ns)
		zk.figures.commit_max_ns = took;
}

static void note(struct commit *commit)
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

static void look_whether_usable(void);

static void become_unknown(struct commit *commit)
{
	zk.unknown++;
	commit->is_unknown = true;
	zk.usable = false;
	end_all(commit->requests, STORE_UNKNOWN, -EIO);
}

static void committed(struct commit *commit, enum store_outcome outcome, int error)
{
	if (outcome == STORE_UNKNOWN) {
		if (!commit->is_unknown)
			become_unknown(commit);
		return;
	}
	DL_DELETE(zk.commits, commit);
	zk.count--;
	zk.unknown -= commit->is_unknown;
	count_commit(commit, outcome == STORE_COMMITTED);
	if (outcome == STORE_COMMITTED)
		note(commit);
	end_all(commit->requests, outcome, error);
	look_whether_usable();
}

static void add_request(struct commit *commit, struct store_request *request,
			struct store_request ***place)
{
	for (size_t i = 0; i < request->count; i++)
		commit_add(commit, &request->records[i]);
	zk.figures.records += request->count;
	**place = request;
	*place = &request->next;
}

static bool fits(const struct commit *commit)
{
	return zk.waiting && !zk.waiting->clean_before && is_owned(zk.waiting) &&
	       commit->bytes + cost_of(zk.waiting) <= COMMIT_MAX;
}

static void send_commit(void)
{
	struct commit *commit = commit_new();
	struct store_request **place = &commit->requests;

	commit->since_ns = now_clock_ns(CLOCK_MONOTONIC);
	while (fits(commit))
		add_request(commit, take_waiting(), &place);
	DL_APPEND(zk.commits, commit);
	zk.count++;
	commit_send(commit, committed);
}

static void cleaned(struct store_request *request)
{
	request->done(request);
}

static int error_of(const struct store_request *request)
{
	if (!zk.usable)
		return -EIO;
	if (!is_owned(request))
		return -ESTALE;
	return !request->clean_before && cost_of(request) > COMMIT_MAX ? -EMSGSIZE : 0;
}

/* A request that cannot be sent ends here. Returns false if the next one has to wait. */
static bool send_next(void)
{
	int error = error_of(zk.waiting);
	bool cleans = zk.waiting->clean_before;

	if (error)
		end(take_waiting(), STORE_REFUSED, error);
	else if (cleans)
		cleaning_begin(take_waiting(), cleaned);
	else if (zk.count < WINDOW)
		send_commit();
	return error || cleans || zk.count < WINDOW;
}

/* Shards that come and go */

static bool is_in_asked(const char *key, size_t length)
{
	return shard_of(key, length) == zk.asked;
}

static bool is_in_lost(const char *key, size_t length)
{
	return zk.is_lost[shard_of(key, length)];
}

static bool is_about_lost(const struct store_request *request)
{
	for (size_t i = 0; i < request->count; i++)
		if (is_in_lost(request->records[i].key, request->records[i].key_length))
			return true;
	return false;
}

/* Requests about them end first. */
static void refuse_lost(void)
{
	struct store_request **at = &zk.waiting;

	while (*at && !is_about_lost(*at))
		at = &(*at)->next;
	while (*at) {
		struct store_request *request = *at;

		*at = request->next;
		if (!*at)
			zk.waiting_end = at;
		end(request, STORE_REFUSED, -ESTALE);
		for (at = &zk.waiting; *at && !is_about_lost(*at);)
			at = &(*at)->next;
	}
}

static void forget_lost(void)
{
	if (!zk.has_lost)
		return;
	refuse_lost();
	zk.moves->lost(zk.service, is_in_lost);
	memset(zk.is_lost, 0, shard_count() * sizeof(*zk.is_lost));
	zk.has_lost = false;
}

static void lost(unsigned int shard)
{
	zk.loaded_from[shard] = 0;
	zk.is_lost[shard] = true;
	zk.has_lost = true;
}

static void gained(unsigned int shard)
{
	zk.asked = shard;
	if (zk.loaded_from[shard])
		zk.moves->gained(zk.service, zk.loaded_from[shard], is_in_asked);
}

static void load_record(void *data, const struct record *record)
{
	(void)data;
	zk.moves->load(zk.service, trail_numbers(1), record);
}

static bool load_commit(const char *bytes, size_t length, unsigned int shard, uint64_t number)
{
	zk.loaded_from[shard] = zk.loaded_from[shard] ?: trail_numbers(0);
	if (!commit_decode(bytes, length, load_record, NULL))
		return false;
	trail_add(shard, shard_tenure(shard), number, trail_numbers(0));
	return true;
}

static const struct shard_events shard_events = {
	.load = load_commit,
	.gained = gained,
	.lost = lost,
};

/* The connection */

static void look_whether_usable(void)
{
	if (zk.usable || !zk.connected || !zk.has_epochs || zk.unknown || !versions_are_fine())
		return;
	zk.usable = true;
	say(LOG_NOTICE, "cluster: connected");
}

static void read_back(void)
{
	struct commit *commit, *next;

	zk.has_epochs = true;
	DL_FOREACH_SAFE(zk.commits, commit, next)
		if (commit->is_unknown)
			commit_read_back(commit);
	cleaning_read_back();
	look_whether_usable();
}

static void connected(bool is_new)
{
	zk.connected = true;
	zk.has_epochs = false;
	versions_look();
	members_connected();
	shared_clock_connected();
	shard_connected(is_new, read_back);
}

static void disconnected(void)
{
	if (zk.connected)
		say(LOG_WARNING, "cluster: the connection is lost");
	zk.connected = false;
	zk.usable = false;
	shard_disconnected();
}

static void expired(void)
{
	struct commit *commit, *next;

	say(LOG_WARNING, "cluster: the session has ended");
	zk.connected = false;
	zk.usable = false;
	DL_FOREACH_SAFE(zk.commits, commit, next)
		commit_give_up(commit);
	cleaning_give_up();
	shared_clock_expired();
	shard_expired();
}

static void changed(const char *path)
{
	members_changed(path);
	shard_changed(path);
}

/* Nothing more is written while a server may lose it. */
static void versions_changed(void)
{
	zk.usable = zk.usable && versions_are_fine();
	look_whether_usable();
}

static const struct ensemble_events ensemble_events = {
	.connected = connected,
	.disconnected = disconnected,
	.expired = expired,
	.changed = changed,
};

/*
 * Others take over when the session has ended, which is so long after the servers have heard of
 * this node at the latest: a node that was stopped knows so before it has heard of them.
 */
static bool is_sure(void)
{
	return zk.usable &&
	       now_clock_ns(CLOCK_BOOTTIME) < shared_clock_heard_ns() + ensemble_sure_ns();
}

/* The store's operations */

static int load(struct store *store, store_each each, void *data)
{
	(void)store;
	(void)each;
	(void)data;
	return 0;
}

/* It is shared: the clock follows it. */
static void get_time(struct store *store, struct store_time *time)
{
	(void)store;
	*time = (struct store_time) { 0 };
}

/* The ensemble has the time. */
static int mark(struct store *store, const struct store_time *time)
{
	(void)store;
	(void)time;
	return 0;
}

static void submit(struct store *store, struct store_request *request)
{
	(void)store;
	request->next = NULL;
	*zk.waiting_end = request;
	zk.waiting_end = &request->next;
}

static void flush(struct store *store)
{
	(void)store;
	forget_lost();
	while (zk.waiting && send_next())
		;
	if (zk.usable)
		merging_go_on();
	forget_lost();
}

static int get_fd(const struct store *store)
{
	(void)store;
	return ensemble_fd();
}

static void reap(struct store *store)
{
	(void)store;
	ensemble_reap();
	forget_lost();
}

static bool is_lost(const struct store *store)
{
	(void)store;
	return !zk.usable || cleaning_is_unknown();
}

/* The library connects again by itself while there is a session. */
static void recover(struct store *store)
{
	(void)store;
	ensemble_retry();
	if (zk.connected && zk.has_epochs && (zk.unknown || cleaning_is_unknown()))
		connected(false);
}

static bool is_settled(const struct store *store)
{
	(void)store;
	return members_count() && shard_is_settled();
}

static void show(const struct store *store, struct json_object *object)
{
	(void)store;
	json_object_object_add(object, "nodes", members_show());
	json_object_object_add(object, "shards", json_object_new_int64(shard_count()));
	json_object_object_add(object, "shards_here", json_object_new_int64(shard_owned_count()));
}

static void get_figures(struct store *store, struct store_figures *figures)
{
	(void)store;
	*figures = zk.figures;
}

static bool is_busy(void)
{
	return zk.usable && (zk.count || cleaning_is_busy());
}

/* Commits on their way have a moment to end, each one. */
static void close_store(struct store *store)
{
	struct pollfd ended = { .fd = ensemble_fd(), .events = POLLIN };

	flush(store);
	while (is_busy() && poll(&ended, 1, LAST_MS) == 1)
		reap(store);
	zk.usable = false;
	flush(store);
	versions_end();
	ensemble_close();
	zk.service->nodes = NULL;
	feed_end();
	peer_end();
	members_end();
	merging_end();
	shard_end();
}

static const struct store_ops ops = {
	.load = load,
	.time = get_time,
	.mark = mark,
	.submit = submit,
	.flush = flush,
	.fd = get_fd,
	.reap = reap,
	.is_lost = is_lost,
	.recover = recover,
	.is_settled = is_settled,
	.show = show,
	.figures = get_figures,
	.close = close_store,
};

/* The first line of the file, if there is one */
static int read_secret(char *secret, int size)
{
	FILE *stream;
	bool read;

	*secret = 0;
	if (!zk.settings->zookeeper_secret_file)
		return 0;
	stream = fopen(zk.settings->zookeeper_secret_file, "re");
	read = stream && fgets(secret, size, stream);
	secret[strcspn(secret, "\n")] = 0;
	if (stream)
		fclose(stream);
	if (read && strchr(secret, ':'))
		return 0;
	say(LOG_ERR, "%s: NAME:PASSWORD is expected", zk.settings->zookeeper_secret_file);
	return -EINVAL;
}

static int connect_first(void)
{
	const struct settings *settings = zk.settings;
	char secret[256];
	int error = read_secret(secret, sizeof(secret)) ?:
		    ensemble_open(settings->zookeeper,
				  (unsigned int)(settings->session / NS_PER_MS),
				  *secret ? secret : NULL, &ensemble_events);

	explicit_bzero(secret, sizeof(secret));
	if (error)
		return error;
	while (!ensemble_wait(PATIENCE_MS))
		say(LOG_WARNING, "cluster: no server of %s answers", settings->zookeeper);
	return versions_begin(settings->zookeeper, settings->zookeeper_may_lose,
			      versions_changed) ? 0 : -EPROTONOSUPPORT;
}

static int name_node(void)
{
	if (zk.settings->node)
		snprintf(zk.node, sizeof(zk.node), "%s", zk.settings->node);
	else if (gethostname(zk.node, sizeof(zk.node) - 1))
		return -errno;
	return tree_is_name(zk.node) && tree_is_name(zk.settings->cluster) ? 0 : -EINVAL;
}

struct store *zk_store_open(struct service *service, const struct store_moves *moves)
{
	unsigned int shards;

	zk.store.ops = &ops;
	zk.service = service;
	zk.settings = &service->settings;
	zk.moves = moves;
	zk.waiting_end = &zk.waiting;
	if (name_node() || peer_begin(zk.settings) || connect_first())
		return NULL;
	shards = tree_open(zk.settings->cluster, (unsigned int)zk.settings->shards);
	if (!shards || shared_clock_begin(service, zk.node))
		return NULL;
	zk.loaded_from = memory_get(shards, sizeof(*zk.loaded_from));
	zk.is_lost = memory_get(shards, sizeof(*zk.is_lost));
	shard_begin(shards, zk.node, &shard_events);
	merging_begin();
	members_begin(zk.node, shards, feed_members_changed);
	feed_begin(service);
	owner_begin(service, is_sure);
	return &zk.store;
}
