// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "consensus/ensemble.h"
#include "consensus/loading.h"
#include "memory.h"
#include "consensus/tree.h"
#include "say.h"

/* So many reads are under way at a time: a commit has up to 900 KiB. */
#define LOADING_READS	16

struct loading;

struct loading_piece {
	struct ensemble_call call;
	struct loading *loading;
	uint64_t number;
};

struct loading {
	struct ensemble_call call;
	unsigned int shard;
	bool (*each)(const char *bytes, size_t length, unsigned int shard, uint64_t number);
	void (*done)(unsigned int shard, uint64_t next, bool is_whole);
	uint64_t *numbers;
	size_t count;
	size_t begun;
	size_t ended;
	bool is_broken;
};

static void loading_go_on(struct loading *loading);

static void loading_read_one(struct ensemble_call *call)
{
	struct loading_piece *piece = (struct loading_piece *)call;
	struct loading *loading = piece->loading;

	loading->is_broken |= call->error != ZOK;
	if (!loading->is_broken && !loading->each(call->value ?: "", (size_t)call->length,
						  loading->shard, piece->number)) {
		say(LOG_CRIT, "cluster: commit %llx of shard %u is damaged",
		    (unsigned long long)piece->number, loading->shard);
		loading->is_broken = true;
	}
	loading->ended++;
	free(call->value);
	free(piece);
	loading_go_on(loading);
}

static void loading_go_on(struct loading *loading)
{
	uint64_t next = loading->count ? loading->numbers[loading->count - 1] + 1 : 1;

	while (!loading->is_broken && loading->begun < loading->count &&
	       loading->begun < loading->ended + LOADING_READS) {
		struct loading_piece *piece = memory_get(1, sizeof(*piece));
		char path[TREE_PATH];

		piece->call.done = loading_read_one;
		piece->loading = loading;
		piece->number = loading->numbers[loading->begun++];
		tree_log_path(loading->shard, piece->number, path);
		ensemble_get(&piece->call, path);
	}
	if (loading->begun > loading->ended)
		return;
	loading->done(loading->shard, next, !loading->is_broken);
	free(loading->numbers);
	free(loading);
}

static int loading_compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

static void loading_read_names(struct ensemble_call *call)
{
	struct loading *loading = (struct loading *)call;

	loading->is_broken = call->error;
	loading->count = (size_t)call->names.count;
	loading->numbers = memory_get(loading->count, sizeof(*loading->numbers));
	for (size_t i = 0; i < loading->count; i++)
		loading->numbers[i] = strtoull(call->names.data[i], NULL, 16);
	qsort(loading->numbers, loading->count, sizeof(*loading->numbers), loading_compare);
	loading_go_on(loading);
}

void loading_begin(unsigned int shard,
		   bool (*each)(const char *bytes, size_t length, unsigned int shard,
				uint64_t number),
		   void (*done)(unsigned int shard, uint64_t next, bool is_whole))
{
	struct loading *loading = memory_get(1, sizeof(*loading));
	char path[TREE_PATH];

	loading->call.done = loading_read_names;
	loading->shard = shard;
	loading->each = each;
	loading->done = done;
	tree_shard_path(shard, "/log", path);
	ensemble_children(&loading->call, path, false);
}
