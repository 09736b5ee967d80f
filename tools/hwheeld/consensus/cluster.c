// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store of several machines. All of it runs in the loop's thread, but for threads that an
 * adapter may have.
 *
 *	cluster -> job -> shards -> tenure -> adapter of consensus.h -> servers
 *	           members -> roster ---------^
 *	owner -> batch, takings, feed -> relay -> parcel -> peer -> other nodes
 *	         keeper, tails --------------------------^
 *
 * The members say which shards this node should own, while it has a session.
 */
#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "consensus/contents.h"
#include "consensus/job.h"
#include "consensus/mark.h"
#include "consensus/shards.h"
#include "log/log.h"
#include "log/replay.h"
#include "nodes/again.h"
#include "nodes/feed.h"
#include "nodes/keeper.h"
#include "nodes/members.h"
#include "nodes/nodes.h"
#include "nodes/parcel.h"
#include "nodes/peer.h"
#include "nodes/tails.h"
#include "say.h"
#include "text.h"

#define CLUSTER_KEY	"cluster"
#define CLUSTER_FORMAT	"hwheeld 2, %u shards"
#define CLUSTER_TICK_NS	NS_PER_S
#define CLUSTER_TICK_MS	1000

/* The mark is written after so many ticks. */
#define CLUSTER_MARK	8

/* How long the end waits for an answer of the servers */
#define CLUSTER_LAST_MS	1000

/* Live records that a step of cleaning may copy: a commit of a shard with room for others */
#define CLUSTER_CLEAN	(TENURE_CONTENT / 2)

static struct {
	struct store store;
	struct service *service;
	struct consensus *consensus;
	struct consensus_settings settings;
	struct alarm *tick;
	unsigned int ticks;
	bool is_running;		/* shards may come */
	bool was_sure;
	unsigned int refusals;		/* ticks for which its name was another node's */
	char node[ROSTER_NAME + 1];
	char root[ROSTER_NAME + 1];
} cluster;

/* Shards that come and go */

static bool cluster_should_own(unsigned int shard)
{
	return cluster.is_running && members_count() && members_is_here(members_owner(shard)) &&
	       cluster.consensus->ops->session(cluster.consensus);
}

static void cluster_want(void)
{
	for (unsigned int i = 0; i < cluster.service->shards; i++)
		shards_want(i, cluster_should_own(i));
}

static void cluster_members_changed(void)
{
	cluster_want();
	if (!cluster.is_running)
		return;
	feed_members_changed();
	parcels_members_changed();
	again_soon();
}

static void cluster_forget(unsigned int shard)
{
	replay_lost(cluster.service, shard);
	if (cluster.is_running)
		roster_look(members_roster());
}

static void cluster_gained(void *owner, unsigned int shard)
{
	replay_gained(cluster.service, shard);
	again_soon();
}

static void cluster_broken(void *owner, unsigned int shard, const char *why)
{
	say(LOG_CRIT, "cluster: shard %u: %s: nothing of it is served until it is accepted", shard,
	    why);
}

static void cluster_commit(void *owner, unsigned int shard, uint64_t first)
{
	log_note_commit(cluster.service, shard, first);
}

static bool cluster_load(void *owner, unsigned int shard, uint64_t first, const void *content,
			 size_t size)
{
	return contents_read(content, size, first, replay_record, cluster.service);
}

/* getrandom() gives as much at once, and fails only as it is interrupted. */
static uint64_t cluster_draw(void *owner)
{
	uint64_t number = 0;

	while (!number)
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			number = 0;
	return number;
}

static const struct tenure_events cluster_tenure_events = {
	.commit = cluster_commit,
	.load = cluster_load,
	.gained = cluster_gained,
	.broken = cluster_broken,
	.draw = cluster_draw,
};

/* The servers */

static void cluster_note_mark(void)
{
	struct consensus_mark mark;

	cluster.consensus->ops->mark(cluster.consensus, &mark);
	mark_write(cluster.service->settings.mark, &mark);
}

/* Another node may have all shards by now. The mark has a session before that has anything. */
static void cluster_session(void *owner, uint64_t id)
{
	say(id ? LOG_NOTICE : LOG_WARNING, "cluster: %s", id ? "a session has begun" :
	    "the session has ended");
	cluster_note_mark();
	if (!members_roster())
		return;
	if (id)
		roster_retry(members_roster());
	else
		tenures_end_session(shards_tenures());
	cluster_want();
}

static void cluster_changed(void *owner, const struct consensus_item *changes, size_t count,
			    uint64_t revision)
{
	roster_changed(members_roster(), changes, count);
	tenures_changed(shards_tenures(), changes, count);
}

static void cluster_gap(void *owner)
{
	roster_look(members_roster());
	tenures_look(shards_tenures());
}

static const struct consensus_events cluster_events = {
	.session = cluster_session,
	.changed = cluster_changed,
	.gap = cluster_gap,
};

static void cluster_note_sure(void)
{
	bool is_sure = shards_are_sure();

	if (is_sure != cluster.was_sure)
		say(is_sure ? LOG_NOTICE : LOG_WARNING, "cluster: %s", is_sure ?
		    "the servers answer" : "the servers do not answer: nothing is served");
	cluster.was_sure = is_sure;
}

static void cluster_note_figures(void)
{
	struct consensus_figures figures;

	cluster.consensus->ops->figures(cluster.consensus, &figures);
	cluster.store.figures.bytes = figures.bytes;
	cluster.store.figures.quota = figures.quota;
}

/*
 * A node of a name that is taken waits for more than a session: the one before it may have crashed.
 * It has no shard.
 */
static void cluster_look_for_name(void)
{
	cluster.refusals = roster_is_refused(members_roster()) ? cluster.refusals + 1 : 0;
	if (cluster.refusals * CLUSTER_TICK_NS < 2 * cluster.settings.session_ns)
		return;
	say(LOG_CRIT, "cluster: another node has the name %s: set node, or end that one",
	    cluster.node);
	exit(EXIT_FAILURE);
}

static void cluster_tick(void *owner, uint64_t at_ns)
{
	cluster_look_for_name();
	cluster_note_sure();
	cluster_note_figures();
	tenures_retry(shards_tenures());
	roster_retry(members_roster());
	tails_send();
	if (++cluster.ticks % CLUSTER_MARK == 0)
		cluster_note_mark();
	alarm_set(&cluster.tick, now_ns() + CLUSTER_TICK_NS, cluster_tick, NULL);
}

/* The store's operations */

static bool cluster_reserve(struct store *store, uint64_t bytes)
{
	return !cluster.consensus->ops->is_full(cluster.consensus);
}

static void cluster_submit(struct store *store, struct store_request *request)
{
	job_submit(request);
}

/* The loop runs: alarms may be set. */
static void cluster_run(void)
{
	cluster.is_running = true;
	keeper_run();
	cluster_want();
	cluster_tick(NULL, 0);
}

static void cluster_flush(struct store *store)
{
	if (!cluster.is_running)
		cluster_run();
	job_flush();
	tenures_flush(shards_tenures());
	parcels_flush();
}

static void cluster_reap(struct store *store)
{
	cluster.consensus->ops->reap(cluster.consensus);
}

static bool cluster_is_lost(const struct store *store)
{
	return !shards_are_sure() || job_is_unknown();
}

static void cluster_recover(struct store *store)
{
	job_send_again();
}

static bool cluster_is_settled(const struct store *store)
{
	bool is_settled = members_have_this();

	for (unsigned int i = 0; i < cluster.service->shards; i++)
		is_settled = is_settled &&
			     tenure_state(shards_tenures(), i) ==
			     (cluster_should_own(i) ? TENURE_OWNED : TENURE_FREE);
	return is_settled;
}

/* Shards go to other nodes as this one is none; with none of these they stay in the store. */
static bool cluster_leave(struct store *store)
{
	bool has_left = true;

	roster_leave(members_roster());
	for (unsigned int i = 0; i < cluster.service->shards; i++) {
		enum tenure_state state = tenure_state(shards_tenures(), i);

		has_left = has_left && (state == TENURE_FREE || state == TENURE_BROKEN);
	}
	return has_left && !members_have_this();
}

static void cluster_show(const struct store *store, struct json_object *object)
{
	struct json_object *broken = json_object_new_array();
	int owned = 0;

	for (unsigned int i = 0; i < cluster.service->shards; i++) {
		enum tenure_state state = tenure_state(shards_tenures(), i);

		owned += state == TENURE_OWNED;
		if (state == TENURE_BROKEN)
			json_object_array_add(broken, json_object_new_int64(i));
	}
	json_object_object_add(object, "nodes", members_show());
	json_object_object_add(object, "shards", json_object_new_int64(cluster.service->shards));
	json_object_object_add(object, "shards_here", json_object_new_int64(owned));
	json_object_object_add(object, "shards_broken", broken);
}

/* Commits on their way have a moment to end, each one. */
static void cluster_close(struct store *store)
{
	struct pollfd ended = { .fd = store->fd, .events = POLLIN };

	job_flush();
	tenures_flush(shards_tenures());
	while (job_is_busy() && shards_are_sure() && poll(&ended, 1, CLUSTER_LAST_MS) == 1) {
		cluster_reap(store);
		tenures_flush(shards_tenures());
	}
	cluster.is_running = false;
	alarm_clear(&cluster.tick);
	cluster_note_mark();
	keeper_end();
	tails_end();
	parcels_end();
	again_end();
	cluster.consensus->ops->close(cluster.consensus);
	shards_end();
	job_end();
	cluster.service->nodes = NULL;
	feed_end();
	peer_end();
	members_end();
}

static const struct store_ops cluster_ops = {
	.reserve = cluster_reserve,
	.submit = cluster_submit,
	.flush = cluster_flush,
	.reap = cluster_reap,
	.is_lost = cluster_is_lost,
	.recover = cluster_recover,
	.is_settled = cluster_is_settled,
	.leave = cluster_leave,
	.show = cluster_show,
	.close = cluster_close,
};

/* Beginning */

/* Each wait tries again what failed. */
static void cluster_wait(int ms)
{
	struct pollfd readable = { .fd = cluster.store.fd, .events = POLLIN };
	uint64_t end = now_clock_ns(CLOCK_BOOTTIME) + (uint64_t)ms * NS_PER_MS, now;

	if (members_roster())
		roster_retry(members_roster());
	while ((now = now_clock_ns(CLOCK_BOOTTIME)) < end) {
		if (poll(&readable, 1, (int)((end - now) / NS_PER_MS) + 1) == 1)
			cluster_reap(&cluster.store);
	}
}

static bool cluster_is_read;

static void cluster_read_done(struct consensus_range *range)
{
	char text[64] = "";
	unsigned int shards;

	cluster_is_read = true;
	if (range->error || !range->count)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)range->items->size,
		 (const char *)range->items->value);
	if (sscanf(text, CLUSTER_FORMAT, &shards) == 1 && shards && shards <= CHAIN_SHARDS)
		cluster.service->shards = shards;
	else
		range->error = -EPROTO;
}

static void cluster_created(struct consensus_txn *txn)
{
	cluster_is_read = true;
}

static void cluster_create(void)
{
	struct consensus_check check = { .key = CLUSTER_KEY };
	struct consensus_put put = { .key = CLUSTER_KEY };
	struct consensus_txn txn = { .checks = &check, .checks_count = 1, .puts = &put,
				     .puts_count = 1, .done = cluster_created };
	char text[64];

	put.size = (size_t)snprintf(text, sizeof(text), CLUSTER_FORMAT,
				    (unsigned int)cluster.service->settings.shards);
	put.value = text;
	cluster_is_read = false;
	cluster.consensus->ops->txn(cluster.consensus, &txn);
	while (!cluster_is_read)
		cluster_wait(10);
	if (txn.outcome == CONSENSUS_REFUSED && txn.error != -ESTALE)
		say(LOG_ERR, "cluster: it cannot be created: %s", strerror(-txn.error));
}

/* The first node creates it: an outcome that is unknown shows with the next reading. */
static int cluster_read_shards(void)
{
	while (!cluster.service->shards) {
		struct consensus_range range = { .from = CLUSTER_KEY, .end = CLUSTER_KEY "\1",
						 .most = 1, .done = cluster_read_done };

		cluster_is_read = false;
		cluster.consensus->ops->range(cluster.consensus, &range);
		while (!cluster_is_read)
			cluster_wait(10);
		if (range.error == -EPROTO || range.error == -ENOTRECOVERABLE) {
			say(LOG_ERR, "cluster: %s", range.error == -EPROTO ?
			    "it is of another version of hwheeld" :
			    "the store was restored from a backup");
			return range.error;
		}
		if (range.error) {
			say(LOG_WARNING, "cluster: no server of %s answers",
			    cluster.settings.servers);
			cluster_wait(CLUSTER_TICK_MS);
		} else if (!range.count) {
			cluster_create();
		}
	}
	return 0;
}

/* A name is a part of keys. */
static int cluster_name(char *to, const char *name)
{
	if (!text_is_queue(name, strlen(name)) || strlen(name) > ROSTER_NAME) {
		say(LOG_ERR, "configuration: %s is no name: letters, digits, . - _ are", name);
		return -EINVAL;
	}
	memcpy(to, name, strlen(name));
	return 0;
}

static int cluster_connect(const struct settings *settings)
{
	cluster.settings = (struct consensus_settings) {
		.servers = settings->etcd, .root = cluster.root, .ca = settings->etcd_ca,
		.certificate = settings->etcd_certificate, .key = settings->etcd_key,
		.session_ns = settings->session, .quota = settings->etcd_quota,
		.may_lose = settings->etcd_may_lose,
	};
	if (mark_read(settings->mark, &cluster.settings.mark))
		return -EINVAL;
	cluster.consensus = etcd_open(&cluster.settings, &cluster_events, NULL);
	if (!cluster.consensus)
		return -EINVAL;
	cluster.store.fd = cluster.consensus->ops->fd(cluster.consensus);
	return cluster_read_shards();
}

struct store *cluster_store_open(struct service *service)
{
	const struct settings *settings = &service->settings;
	char host[256] = "";

	cluster.store = (struct store) { .ops = &cluster_ops, .commit = CLUSTER_CLEAN };
	cluster.service = service;
	gethostname(host, sizeof(host) - 1);
	if (cluster_name(cluster.node, settings->node ?: host) ||
	    cluster_name(cluster.root, settings->cluster) || peer_begin(service))
		return NULL;
	if (cluster_connect(settings))
		return NULL;
	log_begin(service);
	shards_begin(cluster.consensus, service->shards, &cluster_tenure_events, cluster_forget);
	job_begin(&cluster.store.figures, service->shards);
	members_begin(cluster.consensus, cluster.node, cluster_draw(NULL), service->shards,
		      cluster_members_changed);
	keeper_begin(service, cluster_wait);
	tails_begin(service);
	parcels_begin(service);
	service->nodes = &owner_ops;
	return &cluster.store;
}
