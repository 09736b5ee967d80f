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

#define WIDTH	16
#define LEVELS	2

/* A piece of so many bytes is large enough. */
#define LARGE	(32 << 10)

/* So many requests are on their way at a time. */
#define MOST	64

/* Of what is written faster than it is merged, the pieces stay small. */
#define KEPT_MOST	(64 << 20)

/* A piece; its bytes are kept until it is merged. */
struct piece {
	uint64_t first, last;		/* numbers of the commits in it; the last one is its name */
	size_t place;
	char *bytes;
	size_t size;
};

struct level {
	struct piece *pieces;		/* each one follows the one before it */
	size_t count;
	size_t room;
};

/* The end of a shard's log */
struct tail {
	struct level levels[LEVELS];
	unsigned int tenure;
	bool is_busy;			/* a merge is on its way */
};

struct merge {
	struct ensemble_call call;
	unsigned int shard;
	unsigned int tenure;
	size_t level;
	struct piece pieces[WIDTH];
	struct piece whole;
	zoo_op_t ops[WIDTH + 2];
	zoo_op_result_t results[WIDTH + 2];
	char shard_path[TREE_PATH];
	char paths[WIDTH][TREE_PATH];
	char created[TREE_PATH];
};

static struct tail *tails;
static size_t ready;			/* levels that are full, or more than that */
static size_t under_way;
static size_t kept;			/* bytes */
static unsigned int turn;		/* the shard that is looked at first */

static void forget_level(struct level *level)
{
	for (size_t i = 0; i < level->count; i++) {
		kept -= level->pieces[i].size;
		free(level->pieces[i].bytes);
	}
	ready -= level->count >= WIDTH;
	free(level->pieces);
	*level = (struct level) { 0 };
}

static void forget_tail(struct tail *tail)
{
	for (size_t i = 0; i < LEVELS; i++)
		forget_level(&tail->levels[i]);
}

static void append(struct level *level, const struct piece *piece)
{
	if (level->count && level->pieces[level->count - 1].last + 1 != piece->first)
		forget_level(level);
	if (level->count == level->room) {
		level->room = level->room ? 2 * level->room : WIDTH;
		level->pieces = memory_need(realloc(level->pieces, level->room *
						    sizeof(*level->pieces)));
	}
	level->pieces[level->count++] = *piece;
	kept += piece->size;
	ready += level->count == WIDTH;
}

/* A piece that stays as it is: those before and behind it do not follow each other. */
static void add(struct tail *tail, size_t level, const struct piece *piece)
{
	if (level < LEVELS && piece->size < LARGE && kept + piece->size <= KEPT_MOST)
		append(&tail->levels[level], piece);
	else
		free(piece->bytes);
}

void merging_add(unsigned int shard, unsigned int tenure, uint64_t number, size_t place,
		 char *bytes, size_t size)
{
	struct tail *tail = &tails[shard];
	struct piece piece = {
		.first = number, .last = number, .place = place, .size = size,
		.bytes = memory_need(realloc(bytes, size ?: 1)),
	};

	if (tail->tenure != tenure)
		forget_tail(tail);
	tail->tenure = tenure;
	add(tail, 0, &piece);
}

/* Merging */

/* Of an unknown outcome the trail keeps all places: what is not there needs no removal. */
static void merged(struct ensemble_call *call)
{
	struct merge *merge = (struct merge *)call;
	struct tail *tail = &tails[merge->shard];

	under_way--;
	tail->is_busy = false;
	for (size_t i = 0; i < WIDTH - 1 && call->error == ZOK; i++)
		trail_forget(merge->pieces[i].place);
	if (call->error == ZOK && tail->tenure == merge->tenure)
		add(tail, merge->level + 1, &merge->whole);
	else
		free(merge->whole.bytes);
	shard_release(merge->shard);
	free(merge);
}

static void join(struct merge *merge)
{
	struct piece *whole = &merge->whole;

	*whole = (struct piece) {
		.first = merge->pieces[0].first,
		.last = merge->pieces[WIDTH - 1].last,
		.place = merge->pieces[WIDTH - 1].place,
	};
	for (size_t i = 0; i < WIDTH; i++)
		whole->size += merge->pieces[i].size;
	whole->bytes = memory_get(whole->size, 1);
	whole->size = 0;
	for (size_t i = 0; i < WIDTH; i++) {
		memcpy(whole->bytes + whole->size, merge->pieces[i].bytes, merge->pieces[i].size);
		whole->size += merge->pieces[i].size;
		free(merge->pieces[i].bytes);
	}
}

static void make_ops(struct merge *merge)
{
	tree_shard_path(merge->shard, "", merge->shard_path);
	zoo_check_op_init(&merge->ops[0], merge->shard_path, shard_epoch(merge->shard));
	for (size_t i = 0; i < WIDTH; i++) {
		tree_log_path(merge->shard, merge->pieces[i].last, merge->paths[i]);
		zoo_delete_op_init(&merge->ops[1 + i], merge->paths[i], -1);
	}
	zoo_create_op_init(&merge->ops[WIDTH + 1], merge->paths[WIDTH - 1], merge->whole.bytes,
			   (int)merge->whole.size, ensemble_acl(), 0, merge->created,
			   sizeof(merge->created));
}

static void send_merge(unsigned int shard, size_t level)
{
	struct merge *merge = memory_get(1, sizeof(*merge));
	struct level *from = &tails[shard].levels[level];

	merge->shard = shard;
	merge->tenure = tails[shard].tenure;
	merge->level = level;
	memcpy(merge->pieces, from->pieces, sizeof(merge->pieces));
	for (size_t i = 0; i < WIDTH; i++)
		kept -= merge->pieces[i].size;
	from->count -= WIDTH;
	ready -= from->count < WIDTH;
	memmove(from->pieces, from->pieces + WIDTH, from->count * sizeof(*from->pieces));
	join(merge);
	make_ops(merge);
	merge->call.done = merged;
	tails[shard].is_busy = true;
	under_way++;
	shard_hold(shard);
	ensemble_multi(&merge->call, WIDTH + 2, merge->ops, merge->results);
}

static void look_at(unsigned int shard)
{
	struct tail *tail = &tails[shard];

	for (size_t level = 0; level < LEVELS && !tail->is_busy; level++)
		if (tail->levels[level].count >= WIDTH)
			send_merge(shard, level);
}

void merging_go_on(void)
{
	for (unsigned int i = 0; i < shard_count() && ready && under_way < MOST; i++) {
		unsigned int shard = turn++ % shard_count();

		if (shard_state(shard) != SHARD_OWNED ||
		    shard_tenure(shard) != tails[shard].tenure)
			forget_tail(&tails[shard]);
		else
			look_at(shard);
	}
}

void merging_begin(void)
{
	tails = memory_get(shard_count(), sizeof(*tails));
}

void merging_end(void)
{
	for (unsigned int i = 0; i < shard_count(); i++)
		forget_tail(&tails[i]);
	free(tails);
}
