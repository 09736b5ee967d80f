// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "../memory.h"
#include "../say.h"
#include "ensemble.h"
#include "members.h"
#include "rendezvous.h"
#include "shard.h"
#include "tree.h"

static const char *node;
static char path[TREE_PATH], all[TREE_PATH];
static char **names;
static size_t count;

/* A call of its own for each, as events may come while one is on its way */
static struct ensemble_call *new_call(void (*done)(struct ensemble_call *call))
{
	struct ensemble_call *call = memory_get(1, sizeof(*call));

	call->done = done;
	return call;
}

static void want(void)
{
	for (unsigned int i = 0; i < shard_count(); i++) {
		size_t owner = count ? rendezvous_owner(i, (const char *const *)names, count) : 0;

		shard_want(i, count && !strcmp(names[owner], node));
	}
}

static void drop(void)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
	names = NULL;
	count = 0;
}

static void read_names(struct ensemble_call *call)
{
	if (!call->error) {
		drop();
		count = (size_t)call->names.count;
		names = memory_get(count, sizeof(*names));
		for (size_t i = 0; i < count; i++)
			names[i] = memory_copy(call->names.data[i], strlen(call->names.data[i]));
		say(LOG_NOTICE, "cluster: %zu nodes are there", count);
		want();
	}
	free(call);
}

static void join(void);

static void looked(struct ensemble_call *call)
{
	if (call->error == ZNONODE)
		join();
	free(call);
}

static void joined(struct ensemble_call *call)
{
	if (call->error == ZNODEEXISTS)
		ensemble_exists(new_call(looked), path, true);
	free(call);
}

/* A node of this name that ended a moment ago is there until its session ends. */
static void join(void)
{
	ensemble_create(new_call(joined), path, "", ZOO_EPHEMERAL);
}

void members_connected(void)
{
	join();
	ensemble_children(new_call(read_names), all, true);
}

void members_changed(const char *changed)
{
	if (!strcmp(changed, path))
		join();
	else if (!strcmp(changed, all))
		ensemble_children(new_call(read_names), all, true);
}

size_t members_count(void)
{
	return count;
}

const char *members_name(size_t index)
{
	return names[index];
}

void members_begin(const char *the_node)
{
	node = the_node;
	tree_path(all, "/members");
	tree_path(path, "/members/%s", node);
}

void members_end(void)
{
	drop();
}
