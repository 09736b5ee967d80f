/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A commit: records of some shards, one znode for each shard. All of it happens or nothing, and
 * nothing if the epoch of any of the shards is over.
 */
#ifndef COMMIT_H
#define COMMIT_H

#include "consensus/ensemble.h"
#include "consensus/tree.h"
#include "store/store.h"

/* ZooKeeper drops the connection at 1 MiB. */
#define COMMIT_MAX	(900 << 10)

/* What a part takes beside its records: its paths twice, and what is around them */
#define COMMIT_PART_COST	500

struct commit_part {
	unsigned int shard;
	unsigned int tenure;
	uint64_t number;
	char *bytes;
	size_t size;
	size_t room;
	char shard_path[TREE_PATH];
	char log_path[TREE_PATH];
	char created[TREE_PATH];
};

struct commit {
	struct ensemble_call call;
	struct commit *prev, *next;	/* the owner's */
	struct store_request *requests;	/* the owner's */
	uint64_t since_ns;		/* the owner's */
	bool is_unknown;		/* the owner's */
	void (*done)(struct commit *commit, enum store_outcome outcome, int error);
	struct commit_part *parts;
	size_t count;
	size_t bytes;
	zoo_op_t *ops;
	zoo_op_result_t *results;
	unsigned int *index;		/* of each shard's part, plus 1 */
	bool is_reading;		/* back, with the call */
	bool was_there;
	size_t witness;			/* the part that is read back */
};

struct commit *commit_new(void);

/* How many bytes a record adds to a part */
size_t commit_cost(const struct record *record);

void commit_add(struct commit *commit, const struct record *record);

/*
 * Calls done(), with error 0 exactly if it is STORE_COMMITTED. Afterwards the commit is
 * freed, unless it is STORE_UNKNOWN: then it waits for commit_read_back() or commit_give_up(), and
 * done() comes again. No shard of it is lost before.
 */
void commit_send(struct commit *commit,
		 void (*done)(struct commit *commit, enum store_outcome outcome, int error));

/* There is a connection again, and epochs are new: calls done() when it is known. */
void commit_read_back(struct commit *commit);

/* Nobody will ever know: the session has ended. Calls done(). */
void commit_give_up(struct commit *commit);

/* The bytes of a commit, record by record. Returns false if they are damaged. */
bool commit_decode(const char *bytes, size_t size,
		   void (*each)(void *data, const struct record *record), void *data);

#endif /* COMMIT_H */
