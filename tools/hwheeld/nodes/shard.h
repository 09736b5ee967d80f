/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shards: parts of all timeouts, by their keys. A node owns a shard while it has its lock. The
 * version of the shard's own znode is its epoch, which each write of the owner checks: see
 * selftests/models/shard.pml.
 *
 *	/CLUSTER/shards/NNNNN			the name of the last owner
 *	/CLUSTER/shards/NNNNN/lock		ephemeral
 *	/CLUSTER/shards/NNNNN/log/NUMBER	the records of one commit
 */
#ifndef SHARD_H
#define SHARD_H

#include <stdint.h>

#include "consensus/ensemble.h"
#include "consensus/tree.h"
#include "store/store.h"

enum shard_state {
	SHARD_FREE,			/* this node has nothing of it */
	SHARD_TAKING,			/* a takeover is on its way */
	SHARD_WAITING,			/* taken over, and to be loaded */
	SHARD_LOADING,
	SHARD_OWNED,
	SHARD_LEAVING,			/* nothing more is written; writes on their way end */
	SHARD_RETURNING,		/* the lock is being removed */
};

struct shard {
	struct ensemble_call call;	/* shard.c's own: one at a time; not while it is owned */
	enum shard_state state;
	int epoch;
	unsigned int tenure;		/* changes each time that the shard is owned anew */
	uint64_t next;			/* number of the next commit in its log */
	size_t held;			/* by writes on their way, until shard_release() */

	/* shard.c's own */
	struct ensemble_call renewal;
	bool is_wanted;
	bool may_be_locked;		/* by this session */
	bool is_renewing;
	zoo_op_t ops[2];
	zoo_op_result_t results[2];
	struct Stat stat;
	char path[TREE_PATH];
	char lock[TREE_PATH];
	char created[TREE_PATH];
};

/* What the shard is owned for, and by whom it is lost: the store */
struct shard_events {
	bool (*load)(const char *bytes, size_t length, unsigned int shard, uint64_t number);
	void (*gained)(unsigned int shard);
	void (*lost)(unsigned int shard);	/* at once; the timeouts are to be forgotten */
};

/* The tree has to be there. */
void shard_begin(unsigned int count, const char *node, const struct shard_events *events);
void shard_end(void);

unsigned int shard_count(void);

struct shard *shard_at(unsigned int number);

/* Are those owned that are wanted, and no others? */
bool shard_is_settled(void);

/* A write has ended: the shard may be left when it was the last one. */
void shard_release(unsigned int number);

/* Which shards the node should own: takes what is free, and leaves what it should not have. */
void shard_want(unsigned int shard, bool wanted);

/* Somebody else has it, or it cannot be told: it is taken over anew, if it is wanted. */
void shard_lose(unsigned int shard);

/* There is a connection again, of the same session or not. done() when epochs are new. */
void shard_connected(bool is_new, void (*done)(void));
void shard_disconnected(void);
void shard_expired(void);

/* The lock of the shard that the path names has changed. */
void shard_changed(const char *path);

#endif /* SHARD_H */
