// SPDX-License-Identifier: GPL-2.0-only
/*
 * etcd, by gRPC: the services KV, Lease, Watch and Maintenance of etcdserverpb, whose fields are
 * named at each message.
 *
 * Calls go to one server, until one of them fails there: then to the next one that is fine. What
 * the servers are, their version and how full they are, is asked at the beginning and at times; no
 * txn goes to a server whose version may lose data.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "consensus/consensus.h"
#include "consensus/grpc.h"
#include "memory.h"
#include "say.h"

#define ETCD_NS_PER_MS	1000000ULL
#define ETCD_NS_PER_S	1000000000ULL
#define ETCD_MS		((long)(CONSENSUS_PATIENCE_NS / ETCD_NS_PER_MS))

/* All servers are asked again after so long, and those that are not fine sooner. */
#define ETCD_LOOK_NS	(5 * ETCD_NS_PER_S)
#define ETCD_RETRY_NS	ETCD_NS_PER_S

/* A session's client gives so many signs of life in its time. */
#define ETCD_BEATS	3

/* What is older than this, and not newest, may be compacted: a load at its revision has ended. */
#define ETCD_KEEP_NS	(60 * ETCD_NS_PER_S)

/* How long close() waits for the session's end */
#define ETCD_LAST_MS	1000

#define ETCD_ROOT	128
#define ETCD_PATH	(ETCD_ROOT + CONSENSUS_KEY + 1)
#define ETCD_SERVERS	16

enum etcd_health {
	ETCD_UNASKED,
	ETCD_FINE,
	ETCD_OLD,			/* its version may lose data */
	ETCD_AWAY,
};

struct etcd_server {
	struct grpc_call call;		/* of its status */
	struct etcd *etcd;
	char *address;
	enum etcd_health health;
	bool is_asked;
	bool has_alarm;
	uint64_t bytes;
	char version[32];
	uint64_t next_ns;		/* when it is asked again */
};

/* A call of the caller's */
struct etcd_call {
	struct grpc_call call;
	struct etcd_call *next, *prev;
	struct etcd *etcd;
	struct consensus_txn *txn;	/* or */
	struct consensus_range *range;
	struct etcd_server *server;
	uint64_t seen;			/* the revision that was seen when it was sent */
	int error;			/* that ends it before it is sent */
	bool has_answer;
	bool succeeded;
	uint64_t revision;
	unsigned char *answer;		/* of a range, which its items point to */
	size_t size;
	struct consensus_item *items;
	size_t count;
	bool has_more;
};

/* Changes that a watch has told of, until reap() passes them on */
struct etcd_news {
	struct etcd_news *next;
	unsigned char *bytes;
	size_t size;
};

struct etcd {
	struct consensus store;
	const struct consensus_settings *settings;
	const struct consensus_events *events;
	void *owner;
	struct grpc *grpc;
	int epoll, timer;
	char root[ETCD_ROOT];		/* with a slash behind it */
	struct etcd_server servers[ETCD_SERVERS];
	size_t count;
	size_t current;

	struct etcd_call *calls;	/* on their way */
	struct etcd_call *waiting;	/* until a server is known to be fine */
	struct etcd_call *ended;	/* that reap() ends */

	struct consensus_mark mark;
	bool is_restored;

	struct grpc_call beat;		/* a grant, or a sign of life */
	bool is_beating;
	bool is_granting;
	uint64_t beat_ns;		/* when the next one is due */
	uint64_t sent_ns;
	uint64_t lease, lease_s;	/* what the answer has */
	uint64_t session;
	uint64_t sure_ns;

	struct grpc_call watch;
	bool is_watching;		/* with the call */
	bool wants_watch;
	bool was_cancelled;
	struct etcd_server *watched;
	char from[ETCD_PATH], end[ETCD_PATH];
	uint64_t next;			/* the revision that the watch goes on with */
	uint64_t heard_ns;
	struct etcd_news *news;

	struct grpc_call compaction;
	bool is_compacting;
	uint64_t own;			/* revision of the last own txn */
	uint64_t compact;		/* up to there, when the time has come */
	uint64_t compact_ns;
};

static uint64_t etcd_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * ETCD_NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct etcd *etcd_of(const struct consensus *store)
{
	return (struct etcd *)store;
}

/* reap() runs soon. */
static void etcd_wake(struct etcd *etcd)
{
	struct itimerspec soon = { .it_value.tv_nsec = 1 };

	timerfd_settime(etcd->timer, 0, &soon, NULL);
}

static void etcd_ignore(struct grpc_call *call, const unsigned char *bytes, size_t size)
{
}

/* Servers */

static struct etcd_server *etcd_server(struct etcd *etcd)
{
	for (size_t i = 0; i < etcd->count; i++) {
		struct etcd_server *server = &etcd->servers[(etcd->current + i) % etcd->count];

		if (server->health != ETCD_FINE)
			continue;
		etcd->current = (size_t)(server - etcd->servers);
		return server;
	}
	return NULL;
}

/* Calls go on with another one. It is asked whether it is there again. */
static void etcd_avoid(struct etcd *etcd, struct etcd_server *server)
{
	if (server->health != ETCD_FINE)
		return;
	server->health = ETCD_AWAY;
	server->next_ns = etcd_now() + ETCD_RETRY_NS;
	if (server == &etcd->servers[etcd->current])
		etcd->current = (etcd->current + 1) % etcd->count;
	/* All others may just have been avoided, too: this one is better than none. */
	if (!etcd_server(etcd))
		server->next_ns = 0;
	etcd_wake(etcd);
}

/* StatusResponse: version = 2, dbSize = 3, errors = 8 */
static void etcd_take_status(struct grpc_call *call, const unsigned char *bytes, size_t size)
{
	struct etcd_server *server = (struct etcd_server *)call;
	struct protobuf_field field;

	server->has_alarm = false;
	protobuf_read(&field, bytes, size);
	while (protobuf_next(&field)) {
		if (field.field == 2 && field.bytes)
			snprintf(server->version, sizeof(server->version), "%.*s",
				 (int)field.number, field.bytes);
		else if (field.field == 3 && !field.bytes)
			server->bytes = field.number;
		else if (field.field == 8 && field.bytes)
			server->has_alarm |= !!memmem(field.bytes, field.number, "NOSPACE", 7);
	}
}

static bool etcd_is_old(const struct etcd_server *server)
{
	unsigned int major, minor, patch;

	if (sscanf(server->version, "%u.%u.%u", &major, &minor, &patch) != 3)
		return true;
	return major < 3 || (major == 3 && (minor < 5 || (minor == 5 && patch < 16)));
}

static void etcd_send_waiting(struct etcd *etcd);

static void etcd_status_done(struct grpc_call *call)
{
	struct etcd_server *server = (struct etcd_server *)call;
	struct etcd *etcd = server->etcd;
	enum etcd_health before = server->health;

	server->is_asked = false;
	if (call->status != GRPC_OK)
		server->health = ETCD_AWAY;
	else if (etcd_is_old(server) && !etcd->settings->may_lose)
		server->health = ETCD_OLD;
	else
		server->health = ETCD_FINE;
	if (server->health == ETCD_OLD && before != ETCD_OLD)
		say(LOG_CRIT, "cluster: etcd %s at %s may lose accepted timeouts: 3.5.16 is needed",
		    server->version, server->address);
	server->next_ns = etcd_now() + (server->health == ETCD_FINE ? ETCD_LOOK_NS : ETCD_RETRY_NS);
	etcd_send_waiting(etcd);
}

static void etcd_ask_status(struct etcd *etcd, struct etcd_server *server)
{
	server->is_asked = true;
	server->call.server = server->address;
	server->call.method = "/etcdserverpb.Maintenance/Status";
	server->call.ms = ETCD_MS;
	server->call.receive = etcd_take_status;
	server->call.done = etcd_status_done;
	grpc_begin(etcd->grpc, &server->call);
}

static bool etcd_is_full(const struct consensus *store)
{
	const struct etcd *etcd = etcd_of(store);
	bool is_full = false;

	for (size_t i = 0; i < etcd->count; i++)
		is_full |= etcd->servers[i].has_alarm ||
			   etcd->servers[i].bytes >= etcd->settings->quota / 4 * 3;
	return is_full;
}

/* Why there is no server */
static int etcd_reason(const struct etcd *etcd)
{
	for (size_t i = 0; i < etcd->count; i++)
		if (etcd->servers[i].health == ETCD_OLD)
			return -EPROTONOSUPPORT;
	return -ENOTCONN;
}

static bool etcd_is_asking(const struct etcd *etcd)
{
	for (size_t i = 0; i < etcd->count; i++)
		if (etcd->servers[i].health == ETCD_UNASKED ||
		    (etcd->servers[i].is_asked && etcd->servers[i].health != ETCD_OLD))
			return true;
	return false;
}

/* Keys */

static const char *etcd_path(const struct etcd *etcd, const char *key, char path[ETCD_PATH])
{
	snprintf(path, ETCD_PATH, "%s%s", etcd->root, key);
	return path;
}

static void etcd_put_key(const struct etcd *etcd, struct protobuf *message, unsigned int field,
			 const char *key)
{
	char path[ETCD_PATH];

	protobuf_text(message, field, etcd_path(etcd, key, path));
}

/* KeyValue: key = 1, mod_revision = 3, value = 5. Returns false if it is not below the root. */
static bool etcd_read_item(const struct etcd *etcd, const struct protobuf_field *at,
			   struct consensus_item *item, char key[CONSENSUS_KEY])
{
	size_t root = strlen(etcd->root);
	struct protobuf_field field;
	bool has_key = false;

	*item = (struct consensus_item) { .key = key, .value = "" };
	protobuf_enter(&field, at);
	while (protobuf_next(&field)) {
		if (field.field == 1 && field.bytes && field.number > root &&
		    field.number - root < CONSENSUS_KEY && !memcmp(field.bytes, etcd->root, root)) {
			memcpy(key, field.bytes + root, field.number - root);
			key[field.number - root] = 0;
			has_key = true;
		} else if (field.field == 3) {
			item->revision = field.number;
		} else if (field.field == 5 && field.bytes) {
			item->value = field.bytes;
			item->size = field.number;
		}
	}
	return has_key;
}

/* ResponseHeader: cluster_id = 1, revision = 3 */
static void etcd_read_header(struct etcd *etcd, const struct protobuf_field *at,
			     uint64_t *identity, uint64_t *revision)
{
	struct protobuf_field field;

	protobuf_enter(&field, at);
	while (protobuf_next(&field)) {
		if (field.field == 1)
			*identity = field.number;
		else if (field.field == 3)
			*revision = field.number;
	}
}

/* Answers may overtake others: what counts is what was seen before the call. */
static void etcd_see(struct etcd *etcd, uint64_t identity, uint64_t revision, uint64_t seen)
{
	if (etcd->mark.identity && (identity != etcd->mark.identity || revision < seen)) {
		if (!etcd->is_restored)
			say(LOG_CRIT, "cluster: etcd went back to a backup: nothing is written");
		etcd->is_restored = true;
	}
	etcd->mark.identity = etcd->mark.identity ?: identity;
	if (revision > etcd->mark.revision)
		etcd->mark.revision = revision;
}

/* Calls of the caller's */

/* RangeResponse: header = 1, kvs = 2, more = 3; TxnResponse: header = 1, succeeded = 2 */
static void etcd_take_answer(struct grpc_call *grpc_call, const unsigned char *bytes, size_t size)
{
	struct etcd_call *call = (struct etcd_call *)grpc_call;
	struct protobuf_field field;
	uint64_t identity = 0;

	if (call->has_answer)
		return;
	call->has_answer = true;
	if (call->range) {
		call->answer = memory_get(size, 1);
		call->size = size;
		memcpy(call->answer, bytes, size);
		bytes = call->answer;
	}
	protobuf_read(&field, bytes, size);
	while (protobuf_next(&field)) {
		if (field.field == 1)
			etcd_read_header(call->etcd, &field, &identity, &call->revision);
		else if (field.field == 2 && call->range)
			call->count++;
		else if (field.field == 2)
			call->succeeded = field.number;
		else if (field.field == 3)
			call->has_more = field.number;
	}
	etcd_see(call->etcd, identity, call->revision, call->seen);
}

static void etcd_free_call(struct etcd_call *call)
{
	free(call->answer);
	free(call->items);
	free(call);
}

/* The pages' keys are the only copies. */
static void etcd_give_range(struct etcd_call *call, int error)
{
	char (*keys)[CONSENSUS_KEY] = memory_get(call->count, CONSENSUS_KEY);
	struct consensus_range *range = call->range;
	struct protobuf_field field;
	size_t count = 0;

	call->items = memory_get(call->count, sizeof(*call->items));
	protobuf_read(&field, call->answer, call->size);
	while (!error && count < call->count && protobuf_next(&field))
		if (field.field == 2 && field.bytes &&
		    etcd_read_item(call->etcd, &field, &call->items[count], keys[count]))
			count++;
	range->error = error;
	range->items = call->items;
	range->count = count;
	range->has_more = call->has_more;
	if (!error && !range->revision)
		range->revision = call->revision;
	range->done(range);
	free(keys);
}

static void etcd_give_txn(struct etcd_call *call, enum consensus_outcome outcome, int error)
{
	struct consensus_txn *txn = call->txn;

	if (outcome == CONSENSUS_DONE && call->revision > call->etcd->own)
		call->etcd->own = call->revision;
	txn->outcome = outcome;
	txn->error = error;
	txn->revision = outcome == CONSENSUS_DONE ? call->revision : 0;
	txn->done(txn);
}

/* What a server's refusal means: 0: nothing is known. */
static int etcd_refusal(const struct grpc_call *call)
{
	switch (call->status) {
	case GRPC_NOT_SENT:
		return -ENOTCONN;
	case GRPC_INVALID:
		return strstr(call->text, "too large") ? -E2BIG : -EINVAL;
	case GRPC_NOT_FOUND:
		return -ENOENT;
	case GRPC_FORBIDDEN:
	case GRPC_UNAUTHENTICATED:
		return -EACCES;
	case GRPC_EXHAUSTED:
		return strstr(call->text, "space exceeded") ? -ENOSPC : 0;
	default:
		return 0;
	}
}

static void etcd_end_call(struct etcd_call *call)
{
	struct etcd *etcd = call->etcd;
	int error = call->error ?: etcd_refusal(&call->call);
	bool is_whole = !call->error && call->call.status == GRPC_OK && call->has_answer;

	if (call->range) {
		if (call->call.status == GRPC_OUT_OF_RANGE && !call->error)
			error = -ESTALE;
		if (etcd->is_restored)
			error = -ENOTRECOVERABLE;
		else if (!is_whole && error != -ESTALE)
			error = -EIO;
		etcd_give_range(call, is_whole && !etcd->is_restored ? 0 : error);
	} else if (is_whole && call->succeeded) {
		etcd_give_txn(call, CONSENSUS_DONE, 0);
	} else if (is_whole) {
		etcd_give_txn(call, CONSENSUS_REFUSED, -ESTALE);
	} else if (error) {
		etcd_give_txn(call, CONSENSUS_REFUSED, error);
	} else {
		etcd_give_txn(call, CONSENSUS_UNKNOWN,
			      call->call.status == GRPC_LOST ? -ETIMEDOUT : -EIO);
	}
	etcd_free_call(call);
}

static bool etcd_has_failed(const struct grpc_call *call)
{
	return call->status == GRPC_NOT_SENT || call->status == GRPC_LOST ||
	       call->status == GRPC_UNAVAILABLE;
}

static void etcd_call_done(struct grpc_call *grpc_call)
{
	struct etcd_call *call = (struct etcd_call *)grpc_call;

	DL_DELETE(call->etcd->calls, call);
	if (etcd_has_failed(grpc_call))
		etcd_avoid(call->etcd, call->server);
	etcd_end_call(call);
}

static void etcd_send(struct etcd *etcd, struct etcd_call *call)
{
	call->server = etcd_server(etcd);
	if (!call->server && etcd_is_asking(etcd) && !call->error) {
		DL_APPEND(etcd->waiting, call);
		return;
	}
	if (!call->server && !call->error)
		call->error = etcd_reason(etcd);
	if (call->error) {
		free(call->call.message.bytes);
		DL_APPEND(etcd->ended, call);
		etcd_wake(etcd);
		return;
	}
	DL_APPEND(etcd->calls, call);
	call->seen = etcd->mark.revision;
	call->call.server = call->server->address;
	call->call.ms = ETCD_MS;
	call->call.receive = etcd_take_answer;
	call->call.done = etcd_call_done;
	grpc_begin(etcd->grpc, &call->call);
}

static void etcd_send_waiting(struct etcd *etcd)
{
	struct etcd_call *list = etcd->waiting, *call, *next;

	etcd->waiting = NULL;
	DL_FOREACH_SAFE(list, call, next) {
		DL_DELETE(list, call);
		etcd_send(etcd, call);
	}
}

/* Txns */

static bool etcd_is_key(const char *key)
{
	return *key && strlen(key) < CONSENSUS_KEY;
}

static bool etcd_is_in(const char *key, const struct consensus_delete *delete)
{
	return delete->end ? strcmp(key, delete->key) >= 0 && strcmp(key, delete->end) < 0 :
	       !strcmp(key, delete->key);
}

/* What is refused before anything is sent */
static int etcd_judge(const struct consensus_txn *txn)
{
	size_t bytes = 0;

	if (txn->checks_count > CONSENSUS_CHANGES ||
	    txn->puts_count + txn->deletes_count > CONSENSUS_CHANGES)
		return -E2BIG;
	for (size_t i = 0; i < txn->checks_count; i++) {
		bytes += strlen(txn->checks[i].key);
		if (!etcd_is_key(txn->checks[i].key))
			return -EINVAL;
	}
	for (size_t i = 0; i < txn->puts_count; i++) {
		const char *key = txn->puts[i].key;

		bytes += strlen(key) + txn->puts[i].size;
		if (!etcd_is_key(key))
			return -EINVAL;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(key, txn->puts[j].key))
				return -EINVAL;
		for (size_t j = 0; j < txn->deletes_count; j++)
			if (etcd_is_in(key, &txn->deletes[j]))
				return -EINVAL;
	}
	for (size_t i = 0; i < txn->deletes_count; i++) {
		const struct consensus_delete *delete = &txn->deletes[i];

		bytes += strlen(delete->key) + (delete->end ? strlen(delete->end) : 0);
		if (!etcd_is_key(delete->key) || (delete->end && !etcd_is_key(delete->end)))
			return -EINVAL;
	}
	return bytes > CONSENSUS_BYTES ? -E2BIG : 0;
}

/* Compare: target = 2 (MOD is 2), key = 3, mod_revision = 6; EQUAL is 0, as an absent revision. */
static void etcd_write_check(const struct etcd *etcd, struct protobuf *message,
			     const struct consensus_check *check)
{
	size_t compare = protobuf_open(message, 1);

	protobuf_number(message, 2, 2);
	etcd_put_key(etcd, message, 3, check->key);
	protobuf_number(message, 6, check->revision);
	protobuf_close(message, compare);
}

/* RequestOp: request_put = 2; PutRequest: key = 1, value = 2, lease = 3 */
static void etcd_write_put(const struct etcd *etcd, struct protobuf *message,
			   const struct consensus_put *put)
{
	size_t op = protobuf_open(message, 2), request = protobuf_open(message, 2);

	etcd_put_key(etcd, message, 1, put->key);
	protobuf_bytes(message, 2, put->value, put->size);
	if (put->in_session)
		protobuf_number(message, 3, etcd->session);
	protobuf_close(message, request);
	protobuf_close(message, op);
}

/* RequestOp: request_delete_range = 3; DeleteRangeRequest: key = 1, range_end = 2 */
static void etcd_write_delete(const struct etcd *etcd, struct protobuf *message,
			      const struct consensus_delete *delete)
{
	size_t op = protobuf_open(message, 2), request = protobuf_open(message, 3);

	etcd_put_key(etcd, message, 1, delete->key);
	if (delete->end)
		etcd_put_key(etcd, message, 2, delete->end);
	protobuf_close(message, request);
	protobuf_close(message, op);
}

static struct etcd_call *etcd_call(struct etcd *etcd, const char *method)
{
	struct etcd_call *call = memory_get(1, sizeof(*call));

	call->etcd = etcd;
	call->call.method = method;
	return call;
}

/* TxnRequest: compare = 1, success = 2 */
static void etcd_txn(struct consensus *store, struct consensus_txn *txn)
{
	struct etcd *etcd = etcd_of(store);
	struct etcd_call *call = etcd_call(etcd, "/etcdserverpb.KV/Txn");
	struct protobuf *message = &call->call.message;

	call->txn = txn;
	call->error = etcd->is_restored ? -ENOTRECOVERABLE : etcd_judge(txn);
	for (size_t i = 0; i < txn->puts_count; i++)
		if (txn->puts[i].in_session && !etcd->session && !call->error)
			call->error = -ENOENT;
	if (!call->error) {
		for (size_t i = 0; i < txn->checks_count; i++)
			etcd_write_check(etcd, message, &txn->checks[i]);
		for (size_t i = 0; i < txn->puts_count; i++)
			etcd_write_put(etcd, message, &txn->puts[i]);
		for (size_t i = 0; i < txn->deletes_count; i++)
			etcd_write_delete(etcd, message, &txn->deletes[i]);
	}
	etcd_send(etcd, call);
}

/* RangeRequest: key = 1, range_end = 2, limit = 3, revision = 4; reads are linearizable. */
static void etcd_range(struct consensus *store, struct consensus_range *range)
{
	struct etcd *etcd = etcd_of(store);
	struct etcd_call *call = etcd_call(etcd, "/etcdserverpb.KV/Range");
	struct protobuf *message = &call->call.message;

	call->range = range;
	etcd_put_key(etcd, message, 1, range->from);
	etcd_put_key(etcd, message, 2, range->end);
	protobuf_number(message, 3, range->most);
	protobuf_number(message, 4, range->revision);
	etcd_send(etcd, call);
}

/* The session */

static void etcd_end_session(struct etcd *etcd)
{
	if (!etcd->session)
		return;
	etcd->session = 0;
	etcd->sure_ns = 0;
	etcd->events->session(etcd->owner, 0);
}

/* LeaseGrantResponse and LeaseKeepAliveResponse: ID = 2, TTL = 3 */
static void etcd_take_lease(struct grpc_call *call, const unsigned char *bytes, size_t size)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, beat));
	struct protobuf_field field;

	protobuf_read(&field, bytes, size);
	while (protobuf_next(&field)) {
		if (field.field == 2)
			etcd->lease = field.number;
		else if (field.field == 3)
			etcd->lease_s = field.number;
	}
}

/* A deposed leader may have answered: the session's time counts from when it was asked. */
static void etcd_beat_done(struct grpc_call *call)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, beat));
	bool is_new = !etcd->session;

	etcd->is_beating = false;
	if (etcd_has_failed(call)) {
		for (size_t i = 0; i < etcd->count; i++)
			if (etcd->servers[i].address == call->server)
				etcd_avoid(etcd, &etcd->servers[i]);
		etcd->beat_ns = etcd_now();
		etcd_wake(etcd);
	} else if (call->status == GRPC_OK && etcd->lease && etcd->lease_s &&
		   (etcd->is_granting || etcd->lease == etcd->session)) {
		etcd->session = etcd->lease;
		if (etcd->sent_ns + etcd->lease_s * ETCD_NS_PER_S > etcd->sure_ns)
			etcd->sure_ns = etcd->sent_ns + etcd->lease_s * ETCD_NS_PER_S;
		if (is_new)
			etcd->events->session(etcd->owner, etcd->session);
	} else if (!etcd->is_granting && (call->status == GRPC_NOT_FOUND ||
					  (call->status == GRPC_OK && !etcd->lease_s))) {
		etcd_end_session(etcd);
		etcd->beat_ns = etcd_now();
		etcd_wake(etcd);
	}
}

/* LeaseGrantRequest: TTL = 1; LeaseKeepAliveRequest, of a stream with one message: ID = 1 */
static void etcd_beat(struct etcd *etcd, uint64_t now)
{
	uint64_t seconds = (etcd->settings->session_ns + ETCD_NS_PER_S - 1) / ETCD_NS_PER_S;
	const struct etcd_server *server = etcd_server(etcd);

	etcd->beat_ns = now + seconds * ETCD_NS_PER_S / ETCD_BEATS;
	if (!server) {
		etcd->beat_ns = now + ETCD_RETRY_NS / 4;
		return;
	}
	etcd->is_granting = !etcd->session;
	etcd->is_beating = true;
	etcd->sent_ns = now;
	etcd->lease = 0;
	etcd->lease_s = 0;
	etcd->beat.server = server->address;
	etcd->beat.method = etcd->is_granting ? "/etcdserverpb.Lease/LeaseGrant" :
						"/etcdserverpb.Lease/LeaseKeepAlive";
	etcd->beat.ms = ETCD_MS;
	etcd->beat.receive = etcd_take_lease;
	etcd->beat.done = etcd_beat_done;
	protobuf_number(&etcd->beat.message, 1, etcd->is_granting ? seconds : etcd->session);
	grpc_begin(etcd->grpc, &etcd->beat);
}

static uint64_t etcd_session(const struct consensus *store)
{
	return etcd_of(store)->session;
}

static uint64_t etcd_sure_ns(const struct consensus *store)
{
	return etcd_of(store)->sure_ns;
}

/* The watch */

/* It is taken from libcurl's hands here, and passed on by reap(). */
static void etcd_take_news(struct grpc_call *call, const unsigned char *bytes, size_t size)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, watch));
	struct etcd_news *news = memory_get(1, sizeof(*news));

	news->bytes = memory_get(size, 1);
	news->size = size;
	memcpy(news->bytes, bytes, size);
	LL_APPEND(etcd->news, news);
	etcd->heard_ns = etcd_now();
	etcd_wake(etcd);
}

static void etcd_end_watch(struct etcd *etcd)
{
	struct etcd_news *news, *next;

	if (etcd->is_watching)
		grpc_cancel(&etcd->watch);
	etcd->is_watching = false;
	LL_FOREACH_SAFE(etcd->news, news, next) {
		free(news->bytes);
		free(news);
	}
	etcd->news = NULL;
}

/* Event: type = 1 (DELETE is 1), kv = 2 */
static bool etcd_read_event(const struct etcd *etcd, const struct protobuf_field *at,
			    struct consensus_item *item, char key[CONSENSUS_KEY])
{
	struct protobuf_field field;
	bool is_there = false, is_gone = false;

	protobuf_enter(&field, at);
	while (protobuf_next(&field)) {
		if (field.field == 1)
			is_gone = field.number == 1;
		else if (field.field == 2 && field.bytes)
			is_there = etcd_read_item(etcd, &field, item, key);
	}
	if (is_gone)
		item->value = NULL;
	return is_there;
}

/* WatchResponse: header = 1, canceled = 4, compact_revision = 5, events = 11 */
static void etcd_pass_on(struct etcd *etcd, const struct etcd_news *news)
{
	char (*keys)[CONSENSUS_KEY];
	struct consensus_item *items;
	struct protobuf_field field;
	size_t events = 0, count = 0;
	bool is_cancelled = false;
	uint64_t last = 0;

	protobuf_read(&field, news->bytes, news->size);
	while (protobuf_next(&field)) {
		events += field.field == 11;
		is_cancelled |= (field.field == 4 || field.field == 5) && field.number;
	}
	if (is_cancelled) {
		etcd_end_watch(etcd);
		etcd->wants_watch = false;
		etcd->events->gap(etcd->owner);
		return;
	}
	if (!events)
		return;
	items = memory_get(events, sizeof(*items));
	keys = memory_get(events, CONSENSUS_KEY);
	protobuf_read(&field, news->bytes, news->size);
	while (count < events && protobuf_next(&field)) {
		if (field.field != 11 || !field.bytes ||
		    !etcd_read_event(etcd, &field, &items[count], keys[count]))
			continue;
		if (items[count].revision > last)
			last = items[count].revision;
		count += items[count].revision >= etcd->next;
	}
	if (last >= etcd->next)
		etcd->next = last + 1;
	if (count)
		etcd->events->changed(etcd->owner, items, count, last);
	free(items);
	free(keys);
}

static void etcd_pass_news_on(struct etcd *etcd)
{
	struct etcd_news *news;

	while ((news = etcd->news)) {
		LL_DELETE(etcd->news, news);
		etcd_pass_on(etcd, news);
		free(news->bytes);
		free(news);
	}
}

/* It goes on at another server, from where it was. */
static void etcd_watch_done(struct grpc_call *call)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, watch));

	etcd->is_watching = false;
	if (etcd->watched)
		etcd_avoid(etcd, etcd->watched);
	etcd_wake(etcd);
}

/* WatchRequest: create_request = 1, of key = 1, range_end = 2, start_revision = 3 */
static void etcd_begin_watch(struct etcd *etcd)
{
	size_t create;

	etcd->watched = etcd_server(etcd);
	if (!etcd->watched)
		return;
	etcd->is_watching = true;
	etcd->heard_ns = etcd_now();
	create = protobuf_open(&etcd->watch.message, 1);
	protobuf_text(&etcd->watch.message, 1, etcd->from);
	protobuf_text(&etcd->watch.message, 2, etcd->end);
	protobuf_number(&etcd->watch.message, 3, etcd->next);
	protobuf_close(&etcd->watch.message, create);
	etcd->watch.server = etcd->watched->address;
	etcd->watch.method = "/etcdserverpb.Watch/Watch";
	etcd->watch.ms = 0;
	etcd->watch.receive = etcd_take_news;
	etcd->watch.done = etcd_watch_done;
	grpc_begin(etcd->grpc, &etcd->watch);
}

/*
 * A server that cannot be reached says nothing: it is asked at times how far it is, and left when
 * it does not answer. WatchRequest: progress_request = 3
 */
static void etcd_prod_watch(struct etcd *etcd, uint64_t now)
{
	struct protobuf message = { 0 };

	if (now > etcd->heard_ns + CONSENSUS_PATIENCE_NS + ETCD_NS_PER_S) {
		grpc_cancel(&etcd->watch);
		etcd_watch_done(&etcd->watch);
		return;
	}
	protobuf_close(&message, protobuf_open(&message, 3));
	grpc_send(&etcd->watch, &message);
}

static void etcd_watch(struct consensus *store, const char *from, const char *end,
		       uint64_t revision)
{
	struct etcd *etcd = etcd_of(store);

	etcd_end_watch(etcd);
	etcd->wants_watch = from;
	if (!from)
		return;
	etcd_path(etcd, from, etcd->from);
	etcd_path(etcd, end, etcd->end);
	etcd->next = revision ?: 1;
	etcd_begin_watch(etcd);
}

/* Compaction */

static void etcd_compacted(struct grpc_call *call)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, compaction));

	etcd->is_compacting = false;
}

/* CompactionRequest: revision = 1. Another node may have compacted more: that is no error. */
static void etcd_compact(struct etcd *etcd, uint64_t now)
{
	const struct etcd_server *server = etcd_server(etcd);
	uint64_t revision = etcd->compact;

	etcd->compact_ns = now + ETCD_KEEP_NS;
	etcd->compact = etcd->own;
	if (!server || !revision || etcd->is_compacting)
		return;
	etcd->is_compacting = true;
	protobuf_number(&etcd->compaction.message, 1, revision);
	etcd->compaction.server = server->address;
	etcd->compaction.method = "/etcdserverpb.KV/Compact";
	etcd->compaction.ms = ETCD_MS;
	etcd->compaction.receive = etcd_ignore;
	etcd->compaction.done = etcd_compacted;
	grpc_begin(etcd->grpc, &etcd->compaction);
}

/* Time */

static uint64_t etcd_earlier(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static void etcd_tick(struct etcd *etcd)
{
	uint64_t now = etcd_now(), next = now + ETCD_NS_PER_S;
	struct itimerspec when = { 0 };

	for (size_t i = 0; i < etcd->count; i++) {
		struct etcd_server *server = &etcd->servers[i];

		if (!server->is_asked && now >= server->next_ns)
			etcd_ask_status(etcd, server);
		if (!server->is_asked)
			next = etcd_earlier(next, server->next_ns);
	}
	if (!etcd->is_beating && now >= etcd->beat_ns)
		etcd_beat(etcd, now);
	if (!etcd->is_beating)
		next = etcd_earlier(next, etcd->beat_ns);
	if (etcd->wants_watch && !etcd->is_watching)
		etcd_begin_watch(etcd);
	else if (etcd->is_watching && now > etcd->heard_ns + ETCD_NS_PER_S)
		etcd_prod_watch(etcd, now);
	if (now >= etcd->compact_ns)
		etcd_compact(etcd, now);
	next = next > now ? next - now : 1;
	when.it_value.tv_sec = (time_t)(next / ETCD_NS_PER_S);
	when.it_value.tv_nsec = (long)(next % ETCD_NS_PER_S);
	timerfd_settime(etcd->timer, 0, &when, NULL);
}

static void etcd_reap(struct consensus *store)
{
	struct etcd *etcd = etcd_of(store);
	struct etcd_call *call;
	uint64_t expirations;
	bool is_due = read(etcd->timer, &expirations, sizeof(expirations)) == sizeof(expirations);

	grpc_reap(etcd->grpc);
	while ((call = etcd->ended)) {
		DL_DELETE(etcd->ended, call);
		etcd_end_call(call);
	}
	etcd_pass_news_on(etcd);
	if (is_due)
		etcd_tick(etcd);
}

static int etcd_fd(const struct consensus *store)
{
	return etcd_of(store)->epoll;
}

/* Opening and closing */

static void etcd_mark(const struct consensus *store, struct consensus_mark *mark)
{
	*mark = etcd_of(store)->mark;
}

static void etcd_figures(const struct consensus *store, struct consensus_figures *figures)
{
	const struct etcd *etcd = etcd_of(store);

	*figures = (struct consensus_figures) { .quota = etcd->settings->quota };
	for (size_t i = 0; i < etcd->count; i++)
		if (etcd->servers[i].bytes > figures->bytes)
			figures->bytes = etcd->servers[i].bytes;
}

static void etcd_give_up(struct etcd *etcd, struct etcd_call **list)
{
	struct etcd_call *call;

	while ((call = *list)) {
		DL_DELETE(*list, call);
		grpc_cancel(&call->call);
		call->call.status = GRPC_LOST;
		call->has_answer = false;
		etcd_end_call(call);
	}
}

/* LeaseRevokeRequest: ID = 1 */
static void etcd_revoke(struct etcd *etcd)
{
	const struct etcd_server *server = etcd_server(etcd);
	struct epoll_event event;
	uint64_t end = etcd_now() + ETCD_LAST_MS * ETCD_NS_PER_MS;

	if (etcd->is_beating)
		grpc_cancel(&etcd->beat);
	if (!etcd->session || !server)
		return;
	etcd->is_compacting = true;
	protobuf_number(&etcd->compaction.message, 1, etcd->session);
	etcd->compaction.server = server->address;
	etcd->compaction.method = "/etcdserverpb.Lease/LeaseRevoke";
	etcd->compaction.ms = ETCD_LAST_MS;
	etcd->compaction.receive = etcd_ignore;
	etcd->compaction.done = etcd_compacted;
	grpc_begin(etcd->grpc, &etcd->compaction);
	while (etcd->is_compacting && etcd_now() < end) {
		epoll_wait(grpc_fd(etcd->grpc), &event, 1, 100);
		grpc_reap(etcd->grpc);
	}
}

static void etcd_close(struct consensus *store)
{
	struct etcd *etcd = etcd_of(store);

	etcd_give_up(etcd, &etcd->calls);
	etcd_give_up(etcd, &etcd->waiting);
	etcd_give_up(etcd, &etcd->ended);
	etcd_end_watch(etcd);
	if (etcd->is_compacting)
		grpc_cancel(&etcd->compaction);
	etcd_revoke(etcd);
	if (etcd->is_compacting)
		grpc_cancel(&etcd->compaction);
	for (size_t i = 0; i < etcd->count; i++) {
		if (etcd->servers[i].is_asked)
			grpc_cancel(&etcd->servers[i].call);
		free(etcd->servers[i].address);
	}
	grpc_free(etcd->grpc);
	close(etcd->timer);
	close(etcd->epoll);
	free(etcd);
}

static const struct consensus_ops etcd_ops = {
	.close = etcd_close,
	.fd = etcd_fd,
	.reap = etcd_reap,
	.txn = etcd_txn,
	.range = etcd_range,
	.watch = etcd_watch,
	.session = etcd_session,
	.sure_ns = etcd_sure_ns,
	.is_full = etcd_is_full,
	.mark = etcd_mark,
	.figures = etcd_figures,
};

/* https://HOST:PORT,... */
static bool etcd_read_servers(struct etcd *etcd, const char *list)
{
	while (*list && etcd->count < ETCD_SERVERS) {
		struct etcd_server *server = &etcd->servers[etcd->count];
		size_t length = strcspn(list, ",");

		if (strncmp(list, "https://", 8) || length < 9)
			return false;
		server->etcd = etcd;
		server->address = memory_copy(list, length);
		etcd->count++;
		list += length + (list[length] == ',');
	}
	return etcd->count && !*list;
}

static bool etcd_add_fd(struct etcd *etcd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return fd >= 0 && !epoll_ctl(etcd->epoll, EPOLL_CTL_ADD, fd, &event);
}

struct consensus *etcd_open(const struct consensus_settings *settings,
			    const struct consensus_events *events, void *owner)
{
	struct etcd *etcd = memory_get(1, sizeof(*etcd));

	etcd->store.ops = &etcd_ops;
	etcd->settings = settings;
	etcd->events = events;
	etcd->owner = owner;
	etcd->mark = settings->mark;
	etcd->compact_ns = etcd_now() + ETCD_KEEP_NS;
	snprintf(etcd->root, sizeof(etcd->root), "%s/", settings->root);
	if (!etcd_read_servers(etcd, settings->servers)) {
		say(LOG_ERR, "configuration: etcd: https://HOST:PORT,... is expected, %d at most",
		    ETCD_SERVERS);
		goto free;
	}
	etcd->grpc = grpc_new(settings->ca, settings->certificate, settings->key);
	etcd->epoll = epoll_create1(EPOLL_CLOEXEC);
	etcd->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!etcd->grpc || etcd->epoll < 0 || !etcd_add_fd(etcd, etcd->timer) ||
	    !etcd_add_fd(etcd, grpc_fd(etcd->grpc))) {
		say(LOG_ERR, "cluster: etcd: %m");
		goto free;
	}
	etcd_wake(etcd);
	return &etcd->store;
free:
	for (size_t i = 0; i < etcd->count; i++)
		free(etcd->servers[i].address);
	free(etcd);
	return NULL;
}
