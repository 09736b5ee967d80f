// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "consensus/ensemble.h"
#include "consensus/merging.h"
#include "consensus/trail.h"
#include "consensus/tree.h"
#include "memory.h"
#include "nodes/shard.h"

#define MERGING_WIDTH	16
#define MERGING_LEVELS	2

/* A piece of so many bytes is large enough. */
#define MERGING_LARGE	(32 << 10)

/* So many requests are on their way at a time. */
#define MERGING_MOST	64

/* Of what is written faster than it is merged, the pieces stay small. */
#define MERGING_KEPT	(64 << 20)

/* A piece; its bytes are kept until it is merged. */
struct merging_piece {
	uint64_t first, last;		/* numbers of the commits in it; the last one is its name */
	size_t place;
	char *bytes;
	size_t size;
};

struct merging_level {
	struct merging_piece *pieces;	/* each one follows the one before it */
	size_t count;
	size_t room;
};

/* The end of a shard's log */
struct merging_tail {
	struct merging_level levels[MERGING_LEVELS];
	unsigned int tenure;
	bool is_busy;			/* a merge is on its way */
};

struct merge {
	struct ensemble_call call;
	unsigned int shard;
	unsigned int tenure;
	size_t level;
	struct merging_piece pieces[MERGING_WIDTH];
	struct merging_piece whole;
	zoo_op_t ops[MERGING_WIDTH + 2];
	zoo_op_result_t results[MERGING_WIDTH + 2];
	char shard_path[TREE_PATH];
	char paths[MERGING_WIDTH][TREE_PATH];
	char created[TREE_PATH];
};

static struct {
	struct merging_tail *tails;
	size_t ready;			/* levels that are full, or more than that */
	size_t under_way;
	size_t kept;			/* bytes */
	unsigned int turn;		/* the shard that is looked at first */
} merging;

static void merging_forget_level(struct merging_level *level)
{
	for (size_t i = 0; i < level->count; i++) {
		merging.kept -= level->pieces[i].size;
		free(level->pieces[i].bytes);
	}
	merging.ready -= level->count >= MERGING_WIDTH;
	free(level->pieces);
	*level = (struct merging_level) { 0 };
}

static void merging_forget(struct merging_tail *tail)
{
	for (size_t i = 0; i < MERGING_LEVELS; i++)
		merging_forget_level(&tail->levels[i]);
}

/* A piece may stay as it is: those before and behind it do not follow each other then. */
static void merging_keep(struct merging_tail *tail, size_t index, const struct merging_piece *piece)
{
	struct merging_level *level = &tail->levels[index];

	if (index == MERGING_LEVELS || piece->size >= MERGING_LARGE ||
	    merging.kept + piece->size > MERGING_KEPT) {
		free(piece->bytes);
		return;
	}
	if (level->count && level->pieces[level->count - 1].last + 1 != piece->first)
		merging_forget_level(level);
	if (level->count == level->room) {
		level->room = level->room ? 2 * level->room : MERGING_WIDTH;
		level->pieces = memory_need(realloc(level->pieces, level->room *
						    sizeof(*level->pieces)));
	}
	level->pieces[level->count++] = *piece;
	merging.kept += piece->size;
	merging.ready += level->count == MERGING_WIDTH;
}

void merging_add(unsigned int shard, unsigned int tenure, uint64_t number, size_t place,
		 char *bytes, size_t size)
{
	struct merging_tail *tail = &merging.tails[shard];
	struct merging_piece piece = {
		.first = number, .last = number, .place = place, .size = size,
		.bytes = memory_need(realloc(bytes, size ?: 1)),
	};

	if (tail->tenure != tenure)
		merging_forget(tail);
	tail->tenure = tenure;
	merging_keep(tail, 0, &piece);
}

/* Of an unknown outcome the trail keeps all places: what is not there needs no removal. */
static void merging_merged(struct ensemble_call *call)
{
	struct merge *merge = (struct merge *)call;
	struct merging_tail *tail = &merging.tails[merge->shard];

	merging.under_way--;
	tail->is_busy = false;
	for (size_t i = 0; i < MERGING_WIDTH - 1 && call->error == ZOK; i++)
		trail_forget(merge->pieces[i].place);
	if (call->error == ZOK && tail->tenure == merge->tenure)
		merging_keep(tail, merge->level + 1, &merge->whole);
	else
		free(merge->whole.bytes);
	shard_release(merge->shard);
	free(merge);
}

/* Puts the bytes of all pieces into one. */
static void merging_join(struct merge *merge)
{
	struct merging_piece *whole = &merge->whole, *pieces = merge->pieces;

	*whole = pieces[MERGING_WIDTH - 1];
	whole->first = pieces[0].first;
	whole->size = 0;
	for (size_t i = 0; i < MERGING_WIDTH; i++)
		whole->size += pieces[i].size;
	merging.kept -= whole->size;
	whole->bytes = memory_get(whole->size, 1);
	whole->size = 0;
	for (size_t i = 0; i < MERGING_WIDTH; i++) {
		memcpy(whole->bytes + whole->size, pieces[i].bytes, pieces[i].size);
		whole->size += pieces[i].size;
		free(pieces[i].bytes);
	}
}

static void merging_send(unsigned int shard, size_t level)
{
	struct merge *merge = memory_get(1, sizeof(*merge));
	struct merging_level *from = &merging.tails[shard].levels[level];

	merge->shard = shard;
	merge->tenure = merging.tails[shard].tenure;
	merge->level = level;
	memcpy(merge->pieces, from->pieces, sizeof(merge->pieces));
	from->count -= MERGING_WIDTH;
	merging.ready -= from->count < MERGING_WIDTH;
	memmove(from->pieces, from->pieces + MERGING_WIDTH, from->count * sizeof(*from->pieces));
	merging_join(merge);
	tree_shard_path(shard, "", merge->shard_path);
	zoo_check_op_init(&merge->ops[0], merge->shard_path, shard_at(shard)->epoch);
	for (size_t i = 0; i < MERGING_WIDTH; i++) {
		tree_log_path(shard, merge->pieces[i].last, merge->paths[i]);
		zoo_delete_op_init(&merge->ops[1 + i], merge->paths[i], -1);
	}
	zoo_create_op_init(&merge->ops[MERGING_WIDTH + 1], merge->paths[MERGING_WIDTH - 1],
			   merge->whole.bytes, (int)merge->whole.size, ensemble_acl(), 0,
			   merge->created, sizeof(merge->created));
	merge->call.done = merging_merged;
	merging.tails[shard].is_busy = true;
	merging.under_way++;
	shard_at(shard)->held++;
	ensemble_multi(&merge->call, MERGING_WIDTH + 2, merge->ops, merge->results);
}

void merging_go_on(void)
{
	for (unsigned int i = 0; i < shard_count() && merging.ready &&
	     merging.under_way < MERGING_MOST; i++) {
		unsigned int shard = merging.turn++ % shard_count();
		struct merging_tail *tail = &merging.tails[shard];

		if (shard_at(shard)->state != SHARD_OWNED ||
		    shard_at(shard)->tenure != tail->tenure)
			merging_forget(tail);
		for (size_t level = 0; level < MERGING_LEVELS && !tail->is_busy; level++)
			if (tail->levels[level].count >= MERGING_WIDTH)
				merging_send(shard, level);
	}
}

void merging_begin(void)
{
	merging.tails = memory_get(shard_count(), sizeof(*merging.tails));
}

void merging_end(void)
{
	for (unsigned int i = 0; i < shard_count(); i++)
		merging_forget(&merging.tails[i]);
	free(merging.tails);
}
