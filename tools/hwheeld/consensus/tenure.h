/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tenures: the shards that this node owns, on a store that others share. No lock keeps them apart:
 * a txn checks that the tail of each of its shards has the revision of this node's own last commit.
 *
 *	FREE -> READING -> FENCING -> LOADING -> OWNED -> FREE
 *
 * An owner has a key in its session, which its fence puts, and deletes it when it has left the
 * shard. A new owner waits for the end of other nodes' keys. So no other node changes the shard
 * while the owner's session lasts, and what the owner does not find nobody has. The new owner reads
 * the tail and commits an empty commit on it, the fence, after which nothing is done that its
 * predecessor still has on its way. Then it loads the chain, and serves nothing before. When its
 * session ends it leaves all shards, to take them anew.
 *
 * One commit of a shard is on its way at a time. If its txn was not done, the tail is read back:
 * that of this commit means done, that of the one before means that the same commit is sent again,
 * unchanged; with any other the shard is lost. Txns have commits of several shards.
 *
 * A chain that has a hole, or does not have what this node or another one heard of, is BROKEN: an
 * operator decides. selftests/models/chain.pml and held.pml search this.
 *
 * The loop's thread calls all this, and all events and done() come from within reap() of the store
 * or from a function of this header.
 */
#ifndef TENURE_H
#define TENURE_H

#include "consensus/chain.h"

enum tenure_state {
	TENURE_FREE,			/* this node has nothing of it */
	TENURE_READING,			/* the tail, for a fence */
	TENURE_FENCING,
	TENURE_LOADING,
	TENURE_OWNED,
	TENURE_BROKEN,			/* until tenure_accept() */
};

/* The submitter's until the last done() */
struct tenure_commit {
	struct tenure_commit *next;	/* the tenure's */
	unsigned int shard;
	const void *content;
	size_t size;			/* TENURE_CONTENT at most */
	uint64_t count;			/* of numbers it takes, 1 at least */
	uint64_t clean_before;		/* removes commits of smaller numbers only; 0: none */
	uint64_t first;			/* out: its first number, when it is done */

	/*
	 * Out: done; refused; or unknown. Unknown with -EAGAIN: done() comes again. Unknown with
	 * -ESTALE: another node has the shard, and it may be there or not.
	 */
	enum consensus_outcome outcome;
	int error;
	void (*done)(struct tenure_commit *commit);
};

#define TENURE_CONTENT	(CONSENSUS_BYTES - CHAIN_HEADER - CHAIN_TAIL - 8 * CONSENSUS_KEY)

struct tenure_events {
	/* A commit is in the chain, by its first number: it was loaded, or is this node's own. */
	void (*commit)(void *owner, unsigned int shard, uint64_t first);

	/* A commit's contents, the oldest first. Returns false if they are damaged. */
	bool (*load)(void *owner, unsigned int shard, uint64_t first, const void *content,
		     size_t size);
	void (*gained)(void *owner, unsigned int shard);

	/* What was loaded is to be forgotten. tenure_want() may take it again, when it should. */
	void (*lost)(void *owner, unsigned int shard);

	/* Accepted timeouts may be missing. Nothing of it is served until tenure_accept(). */
	void (*broken)(void *owner, unsigned int shard, const char *why);

	/* A random number that no other owner draws, not 0 */
	uint64_t (*draw)(void *owner);
};

struct tenures;

struct tenures *tenures_new(struct consensus *store, unsigned int shards,
			    const struct tenure_events *events, void *owner);

/* After the store is closed. Commits that wait are refused. */
void tenures_free(struct tenures *tenures);

/* Takes the shard, or ends what is on its way and leaves it. */
void tenure_want(struct tenures *tenures, unsigned int shard, bool wanted);

enum tenure_state tenure_state(const struct tenures *tenures, unsigned int shard);

/*
 * Is it owned, and to stay so? Else tenure_submit() refuses. No other node serves it then, until
 * sure_ns() of the store.
 */
bool tenure_serves(const struct tenures *tenures, unsigned int shard);

/* Commits of a shard are done in the order in which they were submitted. */
void tenure_submit(struct tenures *tenures, struct tenure_commit *commit);

/* Sends what waits, if there is something. */
void tenures_flush(struct tenures *tenures);

/* To be called each second or so: what failed is tried again. */
void tenures_retry(struct tenures *tenures);

/*
 * The events of the store: changes below CHAIN_HELD, among others; a gap, which may have had some;
 * the end of its session
 */
void tenures_changed(struct tenures *tenures, const struct consensus_item *changes, size_t count);
void tenures_look(struct tenures *tenures);
void tenures_end_session(struct tenures *tenures);

/* An operator accepts what is missing in the shard: its chain goes on behind that. */
void tenure_accept(struct tenures *tenures, unsigned int shard);

/*
 * Nodes exchange tails, so that one of them notices if the store loses the end of a chain: a node
 * sends all tails that it has, and the other one answers with its own, as they were before it heard
 * of those. Returns how many there are: what this node heard of and is not the owner of, or its own
 * one. @is_owner: out: this node owns the shard, and has checked all that it heard of.
 */
size_t tenure_tails(const struct tenures *tenures, unsigned int shard,
		    struct chain_tail tails[CHAIN_HEARD], bool *is_owner);

/* @by_owner: an owner's answer to a node that has sent its tails, which may forget these then. */
void tenure_hear(struct tenures *tenures, unsigned int shard, const struct chain_tail *tail,
		 bool by_owner);

#endif /* TENURE_H */
