// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consensus/ensemble.h"
#include "consensus/tree.h"
#include "memory.h"
#include "say.h"

#define TREE_MOST		4096
#define TREE_PATIENCE_MS	10000
#define TREE_FORMAT		"hwheeld 1, %u shards"

static char tree_root[TREE_NAME + 2];

struct tree {
	zoo_op_t *ops;
	char (*paths)[TREE_PATH];
	int count;
};

bool tree_is_name(const char *name)
{
	size_t length = strlen(name);

	return length && length <= TREE_NAME && *name != '.' && !strchr(name, '/');
}

void tree_path(char path[TREE_PATH], const char *format, ...)
{
	size_t length = strlen(tree_root);
	va_list arguments;

	memcpy(path, tree_root, length);
	va_start(arguments, format);
	vsnprintf(path + length, TREE_PATH - length, format, arguments);
	va_end(arguments);
}

void tree_shard_path(unsigned int shard, const char *below, char path[TREE_PATH])
{
	tree_path(path, "/shards/%05u%s", shard, below);
}

void tree_log_path(unsigned int shard, uint64_t number, char path[TREE_PATH])
{
	tree_path(path, "/shards/%05u/log/%016" PRIx64, shard, number);
}

const char *tree_below(const char *path)
{
	size_t length = strlen(tree_root);

	return strncmp(path, tree_root, length) ? "" : path + length;
}

static void tree_add(struct tree *tree, const char *path, const char *value)
{
	int i = tree->count++;

	tree_path(tree->paths[i], "%s", path);
	zoo_create_op_init(&tree->ops[i], tree->paths[i], value, (int)strlen(value),
			   ensemble_acl(), ZOO_PERSISTENT, NULL, 0);
}

/* In one request: there is no half of a tree. */
static int tree_create(unsigned int shards)
{
	size_t most = 4 + 2 * (size_t)shards;
	struct tree tree = { .ops = memory_get(most, sizeof(*tree.ops)),
			     .paths = memory_get(most, sizeof(*tree.paths)) };
	zoo_op_result_t *results = memory_get(most, sizeof(*results));
	char format[64], path[64];
	int error;

	snprintf(format, sizeof(format), TREE_FORMAT, shards);
	tree_add(&tree, "", format);
	tree_add(&tree, "/members", "");
	tree_add(&tree, "/clock", "");
	tree_add(&tree, "/shards", "");
	for (unsigned int i = 0; i < shards; i++) {
		snprintf(path, sizeof(path), "/shards/%05u", i);
		tree_add(&tree, path, "");
		snprintf(path, sizeof(path), "/shards/%05u/log", i);
		tree_add(&tree, path, "");
	}
	error = zoo_multi(ensemble_handle(), tree.count, tree.ops, results);
	free(results);
	free(tree.paths);
	free(tree.ops);
	return error;
}

static unsigned int tree_read_count(void)
{
	char value[64] = "";
	int length = sizeof(value) - 1;
	unsigned int shards = 0;
	int error = zoo_get(ensemble_handle(), tree_root, 0, value, &length, NULL);

	if (error)
		say(LOG_ERR, "cluster: %s: %s", tree_root, zerror(error));
	else if (sscanf(value, TREE_FORMAT, &shards) != 1 || !shards || shards > TREE_MOST)
		say(LOG_ERR, "cluster: %s is of another version of hwheeld", tree_root);
	return shards > TREE_MOST ? 0 : shards;
}

unsigned int tree_open(const char *cluster, unsigned int shards)
{
	int error;

	snprintf(tree_root, sizeof(tree_root), "/%s", cluster);
	do {
		error = zoo_exists(ensemble_handle(), tree_root, 0, NULL);
		if (error == ZNONODE)
			error = tree_create(shards);
	} while (ensemble_is_lost(error) && ensemble_wait(TREE_PATIENCE_MS));
	if (error && error != ZNODEEXISTS) {
		say(LOG_ERR, "cluster: the tree cannot be created: %s", zerror(error));
		return 0;
	}
	return tree_read_count();
}
