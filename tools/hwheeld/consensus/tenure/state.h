/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a tenure, for the files that have a part of what goes on:
 *
 *	tenure.c	from one state to the next, and what it submits as one commit of the chain
 *	held.c		the key that keeps other nodes from the shard
 *	heard.c		what other nodes heard of the chain
 *	load.c		the chain, from the store
 *	reading.c	tails, from the store
 *	group.c		commits of several shards in one txn, and what each shard does next
 */
#ifndef STATE_H
#define STATE_H

#include "consensus/tenure.h"

/* So many shards are loaded at a time; a range has so many items. */
#define TENURE_LOADS		4
#define TENURE_PAGE_MOST	10000

/* A range of a tenure's, with its keys */
struct tenure_range {
	struct consensus_range range;
	struct tenure *tenure;
	char from[CONSENSUS_KEY];
	char end[CONSENSUS_KEY];
};

struct tenure {
	struct tenure *prev, *next;	/* in tenures.todo */
	struct tenures *tenures;
	unsigned int shard;
	enum tenure_state state;
	bool is_wanted;
	bool is_leaving;		/* as its session has ended */
	bool accepts;			/* an operator does */
	bool is_listed;			/* in tenures.todo */

	struct chain_tail tail;		/* that is known to be there, with its revision */
	uint64_t revision;

	/* The commit that is on its way, or in doubt; it stays the same until it is known. */
	unsigned char *bytes;		/* NULL: there is none */
	size_t size;
	struct chain_tail becomes;
	struct tenure_commit *carried;
	bool is_busy;			/* in a txn */
	bool was_unknown;		/* or may be done though the answer was a refusal */
	bool is_refused;		/* as the store is full, if the tail is the one before */
	bool is_stale;			/* a check did not hold */

	bool wants_reading;		/* the tail is to be read back */
	bool is_read;			/* by the reading that is on its way */
	const char *suspicion;		/* why it is broken if it still is this node's */

	/* Keys below CHAIN_HELD */
	uint64_t held;			/* the revision of this node's, as last heard of; 0: none */
	bool is_held;			/* by another node, as the reading on its way has it */
	bool is_held_here;		/* by this node, as that reading has it */
	struct consensus_txn release;
	struct consensus_check release_check;
	struct consensus_delete release_delete;
	char release_key[CONSENSUS_KEY];
	bool is_releasing;

	struct tenure_commit *waiting;
	struct tenure_range load;
	struct chain_walk walk;
	struct chain_tail expected[CHAIN_HEARD];	/* the walk's copy of what was heard */
	bool is_loading;		/* with the range */
	bool has_loaded;
	uint64_t mended;

	/* Tails that the chain has to have. An owner checks these, one after the other. */
	struct chain_tail heard[CHAIN_HEARD];
	size_t heard_count;
	uint64_t told;			/* the owner that has heard of all, and may check them */
	struct tenure_range check;	/* of the first one, as it was then */
	struct chain_tail checked;
	bool is_checking;
};

struct tenures {
	struct consensus *store;
	const struct tenure_events *events;
	void *owner;
	uint64_t id;			/* this node's, in its keys below CHAIN_HELD */
	struct tenure *list;
	unsigned int count;
	struct tenure *todo;		/* with something to send, read or load */
	size_t commits, fences;		/* txns on their way */
	size_t loads;
	struct consensus_range reading;	/* of all tails */
	bool is_reading;
	bool is_stalled;		/* until tenures_retry() */
	char from[CONSENSUS_KEY];
};

/* tenure.c */

/* The next tenures_flush() looks at it. */
void tenure_list(struct tenure *tenure);

/* A reading that is on its way may have missed what gave the reason for another one. */
void tenure_read_anew(struct tenure *tenure);

/* Its tail was read: @revision: 0: there is none, and the chain is bare. */
void tenure_read(struct tenure *tenure, const struct chain_tail *tail, uint64_t revision);

/* Makes one commit of the chain of as many waiting ones as fit. */
void tenure_gather(struct tenure *tenure);

/* The txn of its commit has ended. */
void tenure_done(struct tenure *tenure, const struct consensus_txn *txn);

/* Nothing of it is served until an operator accepts what is missing. */
void tenure_break(struct tenure *tenure, const char *why);

/* Another node may have the log: that is looked at before it is called broken. */
void tenure_suspect(struct tenure *tenure, const char *why);

/*
 * Nothing is on its way or to be checked: a shard that is not wanted is left, or one whose session
 * has ended. The node that forgets what was loaded of it may want it again.
 */
void tenure_leave_if_idle(struct tenure *tenure);

/* held.c */

/* Another node may have the shard, if this one has left it. What fails is tried again. */
void tenure_release(struct tenure *tenure);

/* This node's key had that revision. */
void tenure_note_held(struct tenure *tenure, uint64_t revision);

/* heard.c */

/* The chain has to have it. What is oldest among too many goes. */
void tenure_keep(struct tenure *tenure, const struct chain_tail *tail);

/* After a load: what was heard meanwhile goes to the front. Returns how much that is. */
size_t tenure_count_new(struct tenure *tenure);

/* Looks whether the log of an owned shard has the first of what was heard. */
void tenure_check(struct tenure *tenure);

/* load.c */

void tenure_begin_load(struct tenure *tenure);

/* reading.c */

/* Reads all tails, and who has the shards, if a tail is to be read back. */
void tenures_begin_reading(struct tenures *tenures);

#endif /* STATE_H */
