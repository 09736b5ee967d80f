/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store keeps the log of records. One thread, that of the loop, calls these functions.
 *
 * Requests are asynchronous, and are committed in the order in which they were submitted. Each one
 * ends with a call of its done():
 *
 *   STORE_COMMITTED  its records are on disk (or on a majority), and come back from load()
 *   STORE_REFUSED    none of them is, nor ever will be
 *   STORE_UNKNOWN    the store cannot tell yet. done() comes again, with one of the other two,
 *                    once it can; until then the store refuses further requests.
 *
 * STORE_REFUSED behind STORE_UNKNOWN with -ESTALE is the one that may be there: another node has
 * its part of the log, and this one forgets the timeouts of that part.
 *
 * A request stands for one commit or for a part of one. It may also remove the records at the
 * oldest end of the log; these are gone exactly if its own records are there, and then it is a
 * commit of its own.
 */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/record.h"

enum store_outcome {
	STORE_COMMITTED,
	STORE_REFUSED,
	STORE_UNKNOWN,
};

/* The submitter's until submit(), the store's until the last done() */
struct store_request {
	struct store_request *prev, *next;	/* the store's own */
	struct record *records;		/* with their texts; out: their numbers, if committed */
	size_t count;
	size_t bytes;			/* of the store that they need */
	bool ends_commit;		/* the store's own */
	unsigned int shard;		/* that is cleaned: all records are of it */
	uint64_t clean_before;		/* remove records with smaller numbers; 0: none */
	enum store_outcome outcome;
	int error;			/* 0: committed; or -ENOSPC, -EIO, ... */
	void (*done)(struct store_request *request);
};

/* What the store knows of time, for the time to go on from there; see now.h */
struct store_time {
	char boot_id[40];
	uint64_t at_ns;
	uint64_t wall_ns;
	int64_t offset_ns;		/* valid in the boot that boot_id names */
};

/* Counted since the store was opened */
struct store_figures {
	uint64_t commits;
	uint64_t records;
	uint64_t failures;
	uint64_t commit_ns;
	uint64_t commit_max_ns;
	uint64_t bytes;			/* on the disk of the fullest server, as it said last */
	uint64_t quota;			/* that a server takes; 0: there are no servers */
};

struct json_object;
struct service;
struct store;

/* Returns false to end the loading. */
typedef bool (*store_each)(void *data, struct record *record);

struct store_ops {
	/*
	 * load, discard, time and mark are NULL in a store whose log and time several nodes share.
	 *
	 * Calls @each for all records, the oldest first; a false one ends it. Comes before any
	 * submit(). If a record is damaged, the store is, and nobody knows what the others mean.
	 * Returns 0 or a negative errno, and says on stderr what is wrong.
	 */
	int (*load)(struct store *store, store_each each, void *data);

	/* Removes damaged records. Then load() has to come again. Returns 0 or a negative errno. */
	int (*discard)(struct store *store);

	/* The time that was stored last; an empty boot_id if none was */
	void (*time)(struct store *store, struct store_time *time);

	/*
	 * Stores @time, at once while the loop does not run, else with the next flush(). Returns 0
	 * or a negative errno; then flush() tries again.
	 */
	int (*mark)(struct store *store, const struct store_time *time);

	/*
	 * Takes up space on disk, so that the log may have so many bytes. Returns false if there is
	 * none. NULL: the store has no such limit.
	 */
	bool (*reserve)(struct store *store, uint64_t bytes);

	void (*submit)(struct store *store, struct store_request *request);

	/* The loop has read all requests that there were: time to commit. May call done(). */
	void (*flush)(struct store *store);

	/* Calls done() of what has ended. */
	void (*reap)(struct store *store);

	/* Is an outcome unknown? Then recover() tries to find out; the loop calls it at times. */
	bool (*is_lost)(const struct store *store);
	void (*recover)(struct store *store);

	/* Are all parts here that should be here? NULL: they are, always. */
	bool (*is_settled)(const struct store *store);

	/*
	 * Hands all parts over to other nodes, while requests go on. Returns true when that is
	 * done, and is called again until then. NULL: there are no other nodes.
	 */
	bool (*leave)(struct store *store);

	/* Adds to the object what there is to say of the nodes. NULL: there is one. */
	void (*show)(const struct store *store, struct json_object *object);

	/*
	 * Commits the requests that wait, or refuses them if an outcome is unknown, and calls
	 * done() for them; not for those that are unknown.
	 */
	void (*close)(struct store *store);
};

struct store {
	const struct store_ops *ops;
	int fd;				/* readable when reap() has something to do */
	uint64_t room;			/* bytes that the log may have */
	size_t commit;			/* bytes of records that a commit may have; 0: any */
	bool is_damaged;		/* nothing of it is served until an operator decides */
	struct store_figures figures;

	/*
	 * Takes one turn of the loop, which waits for what there is to do. The store may call it in
	 * another thread while flush() takes long. NULL: flush() holds the loop.
	 */
	void (*turn)(void *owner);
	void *turn_owner;
};

/*
 * The back end for one machine: a table in an SQLite database. @synchronous is that pragma's
 * value; anything less than FULL loses accepted timeouts with the machine's power. Returns NULL,
 * and says on stderr what is wrong.
 */
struct store *sqlite_store_open(const char *path, const char *synchronous);

/*
 * The back end for several machines, on a store of consensus.h, as the settings say. It has the
 * service ask other nodes. Returns NULL, and says on stderr what is wrong.
 */
struct store *cluster_store_open(struct service *service);

#endif /* STORE_H */
