// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "consensus/ensemble.h"
#include "consensus/loading.h"
#include "memory.h"
#include "consensus/tree.h"
#include "say.h"

/* So many reads are under way at a time: a commit has up to 900 KiB. */
#define READS	16

struct loading;

struct reading {
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

static void end(struct loading *loading)
{
	uint64_t next = loading->count ? loading->numbers[loading->count - 1] + 1 : 1;

	loading->done(loading->shard, next, !loading->is_broken);
	free(loading->numbers);
	free(loading);
}

static void go_on(struct loading *loading);

static void take(struct loading *loading, const struct reading *reading)
{
	if (reading->call.error)
		loading->is_broken = true;
	if (loading->is_broken)
		return;
	if (loading->each(reading->call.value ?: "", (size_t)reading->call.length,
			  loading->shard, reading->number))
		return;
	say(LOG_CRIT, "cluster: commit %llx of shard %u is damaged",
	    (unsigned long long)reading->number, loading->shard);
	loading->is_broken = true;
}

static void read_one(struct ensemble_call *call)
{
	struct reading *reading = (struct reading *)call;
	struct loading *loading = reading->loading;

	take(loading, reading);
	loading->ended++;
	free(call->value);
	free(reading);
	go_on(loading);
}

static void begin_one(struct loading *loading)
{
	struct reading *reading = memory_get(1, sizeof(*reading));
	char path[TREE_PATH];

	reading->call.done = read_one;
	reading->loading = loading;
	reading->number = loading->numbers[loading->begun++];
	tree_log_path(loading->shard, reading->number, path);
	ensemble_get(&reading->call, path);
}

static void go_on(struct loading *loading)
{
	while (!loading->is_broken && loading->begun < loading->count &&
	       loading->begun < loading->ended + READS)
		begin_one(loading);
	if (loading->begun == loading->ended)
		end(loading);
}

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

static void read_names(struct ensemble_call *call)
{
	struct loading *loading = (struct loading *)call;

	loading->is_broken = call->error;
	loading->count = (size_t)call->names.count;
	loading->numbers = memory_get(loading->count, sizeof(*loading->numbers));
	for (size_t i = 0; i < loading->count; i++)
		loading->numbers[i] = strtoull(call->names.data[i], NULL, 16);
	qsort(loading->numbers, loading->count, sizeof(*loading->numbers), compare);
	go_on(loading);
}

void loading_begin(unsigned int shard,
		   bool (*each)(const char *bytes, size_t length, unsigned int shard,
				uint64_t number),
		   void (*done)(unsigned int shard, uint64_t next, bool is_whole))
{
	struct loading *loading = memory_get(1, sizeof(*loading));
	char path[TREE_PATH];

	loading->call.done = read_names;
	loading->shard = shard;
	loading->each = each;
	loading->done = done;
	tree_shard_path(shard, "/log", path);
	ensemble_children(&loading->call, path, false);
}
