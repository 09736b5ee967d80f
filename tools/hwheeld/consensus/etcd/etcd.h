/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * etcd, by gRPC: the services KV, Lease, Watch and Maintenance of etcdserverpb, whose fields are
 * named at each message.
 *
 * Calls go to one server, until one of them fails there: then to the next one that is fine. What
 * the servers are, their version and how full they are, is asked at the beginning and at times; no
 * txn goes to a server whose version may lose data.
 */
#ifndef ETCD_H
#define ETCD_H

#include "consensus/consensus.h"
#include "consensus/etcd/grpc.h"

#define ETCD_NS_PER_MS	1000000ULL
#define ETCD_NS_PER_S	1000000000ULL
#define ETCD_MS		((long)(CONSENSUS_PATIENCE_NS / ETCD_NS_PER_MS))

/* Servers that are not fine are asked again after so long. */
#define ETCD_RETRY_NS	ETCD_NS_PER_S

/* A leader that is no more may have had a txn that takes so long: servers are asked who leads. */
#define ETCD_SLOW_NS	(250 * ETCD_NS_PER_MS)

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
	uint64_t leader, term;		/* as of its last status; leader is 0: there is none */
	uint64_t asked_ns;
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
	uint64_t term;			/* the newest one that an answer had by then */
	uint64_t sent_ns;
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
	uint64_t term;			/* the newest one that an answer had */
	bool looks_at_calls;		/* the timer rings within ETCD_SLOW_NS */

	struct grpc_call beat;		/* the end of a former session, a grant, a sign of life */
	bool is_beating;
	bool is_granting;
	uint64_t former;		/* a session that is to end first; 0: none */
	uint64_t beat_ns;		/* when the next one is due */
	uint64_t sent_ns;
	uint64_t lease, lease_s;	/* what the answer has */
	uint64_t session;
	uint64_t sure_ns;

	struct grpc_call watch;
	bool is_watching;		/* with the call */
	bool wants_watch;
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

static inline struct etcd *etcd_of(const struct consensus *store)
{
	return (struct etcd *)store;
}

uint64_t etcd_now(void);

/* reap() runs soon. */
void etcd_wake(struct etcd *etcd);

/* A call whose answer says nothing that is needed */
void etcd_ignore(struct grpc_call *call, const unsigned char *bytes, size_t size);
void etcd_compacted(struct grpc_call *call);

/* servers.c: which server is asked */

/* https://HOST:PORT,... Returns false if it is something else. */
bool etcd_read_servers(struct etcd *etcd, const char *list);

/* One that is fine, or NULL. The reason why there is none: a negative errno */
struct etcd_server *etcd_server(struct etcd *etcd);
int etcd_reason(const struct etcd *etcd);

/* Calls go on with another one. It is asked whether it is there again. */
void etcd_avoid(struct etcd *etcd, struct etcd_server *server);

void etcd_ask_status(struct etcd *etcd, struct etcd_server *server);

/* When it is to be asked */
uint64_t etcd_status_ns(const struct etcd *etcd, const struct etcd_server *server);

/* May one that is not known to be fine turn out to be? */
bool etcd_is_asking(const struct etcd *etcd);

bool etcd_is_full(const struct consensus *store);

/* item.c: keys below the root, and what messages have of them */

const char *etcd_path(const struct etcd *etcd, const char *key, char path[ETCD_PATH]);
void etcd_put_key(const struct etcd *etcd, struct protobuf *message, unsigned int field,
		  const char *key);

/* A KeyValue. @item points to @key and into the message. Returns false: not below the root. */
bool etcd_read_item(const struct etcd *etcd, const struct protobuf_field *at,
		    struct consensus_item *item, char key[CONSENSUS_KEY]);

/* A ResponseHeader */
void etcd_read_header(struct etcd *etcd, const struct protobuf_field *at, uint64_t *identity,
		      uint64_t *revision, uint64_t *term);

/* Notes the store's state, of an answer to what was sent when @seen was the revision. */
void etcd_see(struct etcd *etcd, uint64_t identity, uint64_t revision, uint64_t seen);

/* call.c: txns and ranges of the caller's */

void etcd_txn(struct consensus *store, struct consensus_txn *txn);
void etcd_range(struct consensus *store, struct consensus_range *range);

/* Those that waited until a server is known to be fine */
void etcd_send_waiting(struct etcd *etcd);

/* Calls done(), and frees the call. */
void etcd_end_call(struct etcd_call *call);

/* All calls of the list end as unknown. */
void etcd_give_up(struct etcd *etcd, struct etcd_call **list);

/*
 * A leader that is deposed drops proposals, and no server says so: slow txns of an earlier term end
 * as unknown. Servers begin reads anew by themselves.
 */
void etcd_give_up_former(struct etcd *etcd);

/* On its way; NULL: there is none */
struct etcd_call *etcd_oldest_txn(const struct etcd *etcd);

/* Is the call's server to be avoided? */
bool etcd_has_failed(const struct grpc_call *call);

/* session.c */

/* Gives a sign of life, or begins a session. */
void etcd_beat(struct etcd *etcd, uint64_t now);
uint64_t etcd_session(const struct consensus *store);
uint64_t etcd_sure_ns(const struct consensus *store);

/* Ends the session, and waits a moment for it. */
void etcd_revoke(struct etcd *etcd);

/* watch.c */

void etcd_watch(struct consensus *store, const char *from, const char *end, uint64_t revision);
void etcd_begin_watch(struct etcd *etcd);
void etcd_end_watch(struct etcd *etcd);

/* Asks a server that has said nothing for a while, or leaves it. */
void etcd_prod_watch(struct etcd *etcd, uint64_t now);

/* To the store's events */
void etcd_pass_news_on(struct etcd *etcd);

#endif /* ETCD_H */
