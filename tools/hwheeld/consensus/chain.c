// SPDX-License-Identifier: GPL-2.0-only
/* selftests/models/chain.pml has what a walk finds. */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "consensus/chain.h"

#define CHAIN_VERSION	1
#define CHAIN_MENDS	1

/* Little-endian; the contents follow */
struct chain_header {
	uint8_t version;
	uint8_t flags;
	uint8_t reserved[6];
	uint64_t first;
	uint64_t last;
	uint64_t owner;
	unsigned char before[CHAIN_HASH];
};

struct chain_end {
	uint64_t oldest;
	uint64_t last;
	uint64_t owner;
	unsigned char hash[CHAIN_HASH];
};

static_assert(sizeof(struct chain_header) == CHAIN_HEADER, "commits have this header");
static_assert(sizeof(struct chain_end) == CHAIN_TAIL, "tails are so");

void chain_hash(const void *bytes, size_t size, unsigned char hash[CHAIN_HASH])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
	memcpy(hash, canonical.digest, CHAIN_HASH);
}

void chain_seal(const struct chain_commit *commit, unsigned char *bytes)
{
	struct chain_header header = {
		.version = CHAIN_VERSION, .flags = commit->mends ? CHAIN_MENDS : 0,
		.first = htole64(commit->first), .last = htole64(commit->last),
		.owner = htole64(commit->owner),
	};

	memcpy(header.before, commit->before, CHAIN_HASH);
	memcpy(bytes, &header, sizeof(header));
}

bool chain_read(struct chain_commit *commit, const void *bytes, size_t size)
{
	static const uint8_t none[sizeof(((struct chain_header *)0)->reserved)];
	struct chain_header header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	*commit = (struct chain_commit) {
		.first = le64toh(header.first), .last = le64toh(header.last),
		.owner = le64toh(header.owner), .mends = header.flags & CHAIN_MENDS,
		.content = (const char *)bytes + sizeof(header), .size = size - sizeof(header),
	};
	memcpy(commit->before, header.before, CHAIN_HASH);
	return header.version == CHAIN_VERSION && !(header.flags & ~CHAIN_MENDS) &&
	       !memcmp(header.reserved, none, sizeof(none)) && commit->first &&
	       commit->last >= commit->first;
}

void chain_write_tail(const struct chain_tail *tail, unsigned char bytes[CHAIN_TAIL])
{
	struct chain_end end = {
		.oldest = htole64(tail->oldest), .last = htole64(tail->last),
		.owner = htole64(tail->owner),
	};

	memcpy(end.hash, tail->hash, CHAIN_HASH);
	memcpy(bytes, &end, sizeof(end));
}

bool chain_read_tail(struct chain_tail *tail, const void *bytes, size_t size)
{
	struct chain_end end;

	if (size != sizeof(end))
		return false;
	memcpy(&end, bytes, sizeof(end));
	*tail = (struct chain_tail) {
		.oldest = le64toh(end.oldest), .last = le64toh(end.last),
		.owner = le64toh(end.owner),
	};
	memcpy(tail->hash, end.hash, CHAIN_HASH);
	return tail->last && tail->oldest <= tail->last;
}

bool chain_is_same(const struct chain_tail *one, const struct chain_tail *other)
{
	return one->last == other->last && !memcmp(one->hash, other->hash, CHAIN_HASH);
}

/* Keys */

void chain_tail_key(unsigned int shard, char key[CONSENSUS_KEY])
{
	snprintf(key, CONSENSUS_KEY, CHAIN_TAILS "%04u", shard);
}

void chain_held_key(unsigned int shard, uint64_t node, char key[CONSENSUS_KEY])
{
	snprintf(key, CONSENSUS_KEY, CHAIN_HELD "%04u/%016" PRIx64, shard, node);
}

void chain_log_key(unsigned int shard, uint64_t number, char key[CONSENSUS_KEY])
{
	snprintf(key, CONSENSUS_KEY, "log/%04u/%016" PRIx64, shard, number);
}

void chain_log_end(unsigned int shard, char key[CONSENSUS_KEY])
{
	snprintf(key, CONSENSUS_KEY, "log/%04u0", shard);
}

unsigned int chain_tail_shard(const char *key)
{
	unsigned int shard;
	char more;

	return sscanf(key, CHAIN_TAILS "%4u%c", &shard, &more) == 1 && shard < CHAIN_SHARDS ?
	       shard : CHAIN_SHARDS;
}

unsigned int chain_held_shard(const char *key, uint64_t *node)
{
	unsigned int shard;
	char more;

	return sscanf(key, CHAIN_HELD "%4u/%16" SCNx64 "%c", &shard, node, &more) == 2 &&
	       shard < CHAIN_SHARDS ? shard : CHAIN_SHARDS;
}

/* Walks */

void chain_begin(struct chain_walk *walk, const struct chain_tail *tail,
		 const struct chain_tail *heard, size_t heard_count)
{
	*walk = (struct chain_walk) { .oldest = tail->oldest, .heard = heard,
				      .heard_count = heard_count };
}

bool chain_walk(struct chain_walk *walk, const void *bytes, size_t size,
		struct chain_commit *commit)
{
	bool is_whole = chain_read(commit, bytes, size), follows;

	if (!is_whole) {
		walk->has_hole = true;
		return false;
	}
	/* Before the oldest number that is kept there may be others, of the same commit. */
	if (walk->at.last)
		follows = commit->first == walk->at.last + 1 &&
			  !memcmp(commit->before, walk->at.hash, CHAIN_HASH);
	else
		follows = commit->first <= walk->oldest && commit->last >= walk->oldest;
	walk->has_hole = (walk->has_hole || !follows) && !commit->mends;
	walk->mended = commit->mends ? commit->first : walk->mended;
	walk->at.last = commit->last;
	walk->at.owner = commit->owner;
	chain_hash(bytes, size, walk->at.hash);
	for (size_t i = 0; i < walk->heard_count; i++)
		if (chain_is_same(&walk->heard[i], &walk->at))
			walk->met |= 1U << i;
	return true;
}

const char *chain_judge(const struct chain_walk *walk, const struct chain_tail *tail)
{
	if (walk->has_hole)
		return "a commit is missing or damaged";
	if (!chain_is_same(&walk->at, tail))
		return "the last commit is missing or damaged";
	/* An operator accepted what is missing before a commit that mends. */
	for (size_t i = 0; i < walk->heard_count; i++)
		if (!(walk->met & 1U << i) && walk->heard[i].last >= walk->oldest &&
		    walk->heard[i].last >= walk->mended)
			return "a commit that a node has heard of is missing";
	return NULL;
}
