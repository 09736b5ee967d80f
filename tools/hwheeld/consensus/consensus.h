/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store that several machines share: keys with values, which a majority of its servers keeps. An
 * adapter for each kind of server implements struct consensus_ops; test/consensus_test.c is what
 * every adapter has to pass.
 *
 * Threads: the loop's thread makes all calls. An adapter may have threads of its own, but each call
 * ends with a done() from within reap() or close(), never from within the call that began it.
 *
 * Ownership: txns and ranges belong to the caller, who embeds them and changes nothing of them, nor
 * of what they point to, until done(). In done() the caller may free them or send them again. What
 * an adapter hands out is valid until the function that gets it returns.
 *
 * Keys are texts of 1 to CONSENSUS_KEY - 1 bytes without control characters, ordered by bytes,
 * below the root that open names: neither calls nor events have that root. Values are bytes, at
 * most CONSENSUS_VALUE of them.
 *
 * Revisions: the store counts its changes. A txn that is done has a revision of its own, larger
 * than all before; the revision of a key is that of the txn that put it last, and 0 if there is no
 * such key. Reads see all txns that were done before they were sent.
 *
 * Time: nanoseconds of CLOCK_BOOTTIME.
 *
 * A server that does not answer within CONSENSUS_PATIENCE_NS is left for another one. An adapter
 * never sends a txn a second time: its caller reads back, see chain.h.
 */
#ifndef CONSENSUS_H
#define CONSENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONSENSUS_KEY		128
#define CONSENSUS_PATIENCE_NS	2000000000ULL

/* A txn beyond one of these is refused with -E2BIG before anything is sent. */
#define CONSENSUS_CHANGES	128		/* checks; puts and deletes together */
#define CONSENSUS_BYTES		(900U << 10)	/* of keys and values, of all checks and changes */
#define CONSENSUS_VALUE		(CONSENSUS_BYTES - CONSENSUS_KEY)

enum consensus_outcome {
	CONSENSUS_DONE,		/* all of it is, on a majority */
	CONSENSUS_REFUSED,	/* nothing of it is, nor will be by this call; see the error */
	CONSENSUS_UNKNOWN,	/* all of it may be, or may become so at any later time, or never */
};

/* The key has this revision; 0: there is no such key. */
struct consensus_check {
	const char *key;
	uint64_t revision;
};

/* A key that is put in the session ends with it. Without one the txn is refused. */
struct consensus_put {
	const char *key;
	const void *value;
	size_t size;
	bool in_session;
};

/* All keys from @key to before @end; NULL: this key. Keys that are not there are no error. */
struct consensus_delete {
	const char *key;
	const char *end;
};

/*
 * If all checks hold, all puts and deletes happen, at one revision. No key is changed twice.
 *
 * Errors of CONSENSUS_REFUSED:
 *	-ESTALE			a check did not hold. A way that doubles txns may have done it
 *				before: the caller reads back
 *	-ENOENT			the session of a put has ended
 *	-E2BIG			beyond a limit; nothing was sent
 *	-EINVAL			a key is empty or too long, or is changed twice; nothing was sent
 *	-ENOSPC			the store is full
 *	-ENOTCONN		no server could be reached; nothing was sent
 *	-EACCES			the servers refuse this node
 *	-EPROTONOSUPPORT	a server's version may lose data; nothing was sent
 *	-ENOTRECOVERABLE	the store went back in time: see struct consensus_mark
 * and of CONSENSUS_UNKNOWN: -ETIMEDOUT, -EIO.
 */
struct consensus_txn {
	const struct consensus_check *checks;
	const struct consensus_put *puts;
	const struct consensus_delete *deletes;
	size_t checks_count, puts_count, deletes_count;
	enum consensus_outcome outcome;		/* out */
	int error;				/* out: 0: done; else negative */
	uint64_t revision;			/* out: if done */
	void (*done)(struct consensus_txn *txn);
	void *adapter;				/* the adapter's own */
};

struct consensus_item {
	const char *key;
	const void *value;			/* NULL: in a change: deleted, or ended */
	size_t size;
	uint64_t revision;
};

/*
 * A page of the keys from @from to before @end, in order. More pages: send it again with @from set
 * to the last key with a byte 1 behind it, and @revision as it is, to read the keys as they were
 * when the first page was read. An error of -ESTALE means that these are compacted: begin again.
 * Other errors: -EIO, nothing is known, as of a txn; -ENOTRECOVERABLE.
 */
struct consensus_range {
	const char *from, *end;
	size_t most;				/* items of a page */
	uint64_t revision;			/* in: 0: as it is now; out: of the store then */
	int error;				/* out: 0 or negative */
	const struct consensus_item *items;	/* out: until done() returns */
	size_t count;
	bool has_more;
	void (*done)(struct consensus_range *range);
	void *adapter;				/* the adapter's own */
};

/*
 * The state that a node has seen, to be kept in a file of its own and given to the next open: a
 * store of another identity, or of a lower revision, was restored from a backup. It refuses all
 * txns with -ENOTRECOVERABLE from then on. 0: nothing was seen.
 *
 * The next open ends the session, which a node that crashed has left, before it begins another one.
 */
struct consensus_mark {
	uint64_t identity;
	uint64_t revision;
	uint64_t session;		/* the last one; 0: there was none */
};

/* Events. Each comes from within reap(). */
struct consensus_events {
	/* A session has begun: @id is not 0 and was none before. 0: it has ended. */
	void (*session)(void *owner, uint64_t id);

	/* Of the watched keys: all changes of some revisions, in order; @revision: the last one */
	void (*changed)(void *owner, const struct consensus_item *changes, size_t count,
			uint64_t revision);

	/*
	 * Changes may have been missed, and the watch has ended. Range at some revision R, apply
	 * also what is gone, and watch from R + 1.
	 */
	void (*gap)(void *owner);
};

struct consensus_settings {
	const char *servers;		/* as the adapter has them */
	const char *root;
	const char *ca, *certificate, *key;	/* files of TLS */
	uint64_t session_ns;		/* how long one goes on without a sign of life */
	uint64_t quota;			/* bytes that servers are configured to take */
	bool may_lose;			/* take servers of versions that lose data */
	struct consensus_mark mark;
};

struct consensus_figures {
	uint64_t bytes;			/* that the fullest server has on its disk; 0: unknown */
	uint64_t quota;
};

struct consensus;

struct consensus_ops {
	/* Calls on their way end as unknown. The session ends at once if a server answers. */
	void (*close)(struct consensus *store);

	/* Readable when reap() has something to do */
	int (*fd)(const struct consensus *store);
	void (*reap)(struct consensus *store);

	/* Calls on their way keep no order among them. */
	void (*txn)(struct consensus *store, struct consensus_txn *txn);
	void (*range)(struct consensus *store, struct consensus_range *range);

	/*
	 * Watches the keys from @from to before @end, for changes of @revision and later ones.
	 * The one watch of this store: another one, or NULL, ends it.
	 */
	void (*watch)(struct consensus *store, const char *from, const char *end,
		      uint64_t revision);

	/*
	 * The session, 0 if there is none. The adapter begins one when it is opened and after one
	 * has ended, and keeps it alive.
	 */
	uint64_t (*session)(const struct consensus *store);

	/*
	 * Until when the session surely goes on: what a server accepted, counted from when it was
	 * asked. Nothing that needs the session may begin later than that, also not what a txn had
	 * done that ends later.
	 */
	uint64_t (*sure_ns)(const struct consensus *store);

	/*
	 * At 75 % of the quota: nothing that makes the data more may be put, so that there is room
	 * to end it.
	 */
	bool (*is_full)(const struct consensus *store);

	void (*mark)(const struct consensus *store, struct consensus_mark *mark);
	void (*figures)(const struct consensus *store, struct consensus_figures *figures);
};

struct consensus {
	const struct consensus_ops *ops;
};

/*
 * An adapter's open returns at once; a server need not be there. NULL, with a line on stderr, if
 * the settings are wrong. @settings and what it points to stay as they are until close(); @owner is
 * for the events.
 */
struct consensus *etcd_open(const struct consensus_settings *settings,
			    const struct consensus_events *events, void *owner);

#endif /* CONSENSUS_H */
