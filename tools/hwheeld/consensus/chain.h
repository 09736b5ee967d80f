/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A shard's log is a chain of commits: each one has the hash of the one before. Commits have
 * contents, which are the caller's, and numbers, of which no number comes twice. The tail names the
 * last commit, and is put together with it.
 *
 *	shards/NNNN		the tail
 *	shards-held/NNNN/NODE	that node has the shard while the key is there, as its session is
 *	log/NNNN/NUMBER		a commit, by the last one of its numbers
 *
 * The oldest commits may be cleaned away: the tail has the oldest number that is kept.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include "consensus/consensus.h"

#define CHAIN_HASH	16
#define CHAIN_SHARDS	4096		/* at most */

/* So many tails are kept that a chain has to have. */
#define CHAIN_HEARD	8

/* A bare chain: no commit, number 0, a hash of zeros */
struct chain_tail {
	uint64_t oldest;
	uint64_t last;
	uint64_t owner;			/* a number that each owner draws for itself */
	unsigned char hash[CHAIN_HASH];
};

struct chain_commit {
	uint64_t first, last;		/* its numbers, one at least */
	uint64_t owner;
	bool mends;			/* an operator accepts what is missing before it */
	unsigned char before[CHAIN_HASH];
	const void *content;		/* what chain_read() found behind the header */
	size_t size;
};

/* Bytes in front of the contents, and of a tail */
#define CHAIN_HEADER	48
#define CHAIN_TAIL	40

/* Writes the header in front of @size bytes of contents at @bytes + CHAIN_HEADER. */
void chain_seal(const struct chain_commit *commit, unsigned char *bytes);

void chain_hash(const void *bytes, size_t size, unsigned char hash[CHAIN_HASH]);

/* Return false if these are something else. */
bool chain_read(struct chain_commit *commit, const void *bytes, size_t size);
bool chain_read_tail(struct chain_tail *tail, const void *bytes, size_t size);

void chain_write_tail(const struct chain_tail *tail, unsigned char bytes[CHAIN_TAIL]);

/* Do both name the same commit? */
bool chain_is_same(const struct chain_tail *one, const struct chain_tail *other);

/* Keys, and where a shard's log and all tails end */
void chain_tail_key(unsigned int shard, char key[CONSENSUS_KEY]);
void chain_held_key(unsigned int shard, uint64_t node, char key[CONSENSUS_KEY]);
void chain_log_key(unsigned int shard, uint64_t number, char key[CONSENSUS_KEY]);
void chain_log_end(unsigned int shard, char key[CONSENSUS_KEY]);

#define CHAIN_HELD	"shards-held/"
#define CHAIN_HELD_END	"shards-held0"
#define CHAIN_TAILS	"shards/"
#define CHAIN_TAILS_END	"shards0"

/* The shard that the key of a tail names, or that one has who holds it; CHAIN_SHARDS: none */
unsigned int chain_tail_shard(const char *key);
unsigned int chain_held_shard(const char *key, uint64_t *node);

/*
 * A walk along a chain, from its oldest commit. A missing commit is a hole, until another mends it.
 */
struct chain_walk {
	uint64_t oldest;		/* from the tail */
	struct chain_tail at;		/* the last commit that came */
	bool has_hole;
	const struct chain_tail *heard;	/* that have to come if they are not cleaned away */
	size_t heard_count;		/* CHAIN_HEARD at most */
	unsigned int met;		/* a bit for each that came */
	uint64_t mended;		/* first number of the last commit that mends; 0: none */
};

void chain_begin(struct chain_walk *walk, const struct chain_tail *tail,
		 const struct chain_tail *heard, size_t heard_count);

/* The next one of the log. Returns false if it is damaged, which is a hole, too. */
bool chain_walk(struct chain_walk *walk, const void *bytes, size_t size,
		struct chain_commit *commit);

/* NULL if the chain is whole and ends with @tail, else what is wrong */
const char *chain_judge(const struct chain_walk *walk, const struct chain_tail *tail);

#endif /* CHAIN_H */
