// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "consensus/ensemble.h"
#include "consensus/tree.h"
#include "hash.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "nodes/shard.h"
#include "say.h"

struct member {
	char *name;
	char *address;
};

/* The address of a node is read; the list may be another one by then. */
struct members_reading {
	struct ensemble_call call;
	char name[];
};

static struct {
	const char *node;
	char path[TREE_PATH];		/* of this node */
	char all[TREE_PATH];
	char address[PEER_ADDRESS + 1];	/* its own */
	struct member *list;
	const char **names;		/* theirs */
	size_t count;
	size_t *owners;			/* of each shard */
	unsigned int shards;
	void (*changed)(void);
} members;

/* A call of its own for each, as events may come while one is on its way */
static struct ensemble_call *members_call(void (*done)(struct ensemble_call *call))
{
	struct ensemble_call *call = memory_get(1, sizeof(*call));

	call->done = done;
	return call;
}

static void members_drop(void)
{
	for (size_t i = 0; i < members.count; i++) {
		free(members.list[i].name);
		free(members.list[i].address);
	}
	free(members.list);
	free(members.names);
	members.list = NULL;
	members.names = NULL;
	members.count = 0;
}

static struct member *members_find(const char *name)
{
	for (size_t i = 0; i < members.count; i++)
		if (!strcmp(members.names[i], name))
			return &members.list[i];
	return NULL;
}

static void members_read_address(struct ensemble_call *call)
{
	struct member *member = members_find(((struct members_reading *)call)->name);

	if (member && call->value && call->length <= PEER_ADDRESS && peer_is_safe(call->value)) {
		free(member->address);
		member->address = call->value;
		call->value = NULL;
		members.changed();
	}
	free(call->value);
	free(call);
}

static void members_ask_address(const char *name)
{
	struct members_reading *reading = memory_get(1, sizeof(*reading) + strlen(name) + 1);
	char path[TREE_PATH];

	reading->call.done = members_read_address;
	memcpy(reading->name, name, strlen(name));
	tree_path(path, "/members/%s", name);
	ensemble_get(&reading->call, path);
}

static int members_compare(const void *one, const void *other)
{
	return strcmp(((const struct member *)one)->name, ((const struct member *)other)->name);
}

/* Addresses that were known stay known. */
static void members_take_names(const struct String_vector *vector)
{
	size_t count = (size_t)vector->count;
	struct member *list = memory_get(count, sizeof(*list));

	for (size_t i = 0; i < count; i++) {
		struct member *member = members_find(vector->data[i]);

		list[i].name = memory_copy(vector->data[i], strlen(vector->data[i]));
		if (!member)
			continue;
		list[i].address = member->address;
		member->address = NULL;
	}
	qsort(list, count, sizeof(*list), members_compare);
	members_drop();
	members.list = list;
	members.count = count;
	members.names = memory_get(count, sizeof(*members.names));
	for (size_t i = 0; i < count; i++)
		members.names[i] = list[i].name;
}

static void members_read_names(struct ensemble_call *call)
{
	size_t count;

	if (!call->error) {
		members_take_names(&call->names);
		count = members.count;
		say(LOG_NOTICE, "cluster: %zu nodes are there", count);
		for (unsigned int i = 0; i < members.shards; i++) {
			members.owners[i] = count ? hash_owner(i, members.names, count) : 0;
			shard_want(i, count && members_is_here(members.owners[i]));
		}
		for (size_t i = 0; i < count; i++)
			if (!members_is_here(i))
				members_ask_address(members.names[i]);
	}
	free(call);
}

/* A node of this name that ended a moment ago is there until its session ends. */

static void members_join(void);

static void members_looked(struct ensemble_call *call)
{
	if (call->error == ZNONODE)
		members_join();
	free(call);
}

static void members_joined(struct ensemble_call *call)
{
	if (call->error == ZNODEEXISTS)
		ensemble_exists(members_call(members_looked), members.path, true);
	free(call);
}

static void members_join(void)
{
	ensemble_create(members_call(members_joined), members.path, members.address, ZOO_EPHEMERAL);
}

void members_connected(void)
{
	members_join();
	ensemble_children(members_call(members_read_names), members.all, true);
}

void members_changed(const char *path)
{
	if (!strcmp(path, members.path))
		members_join();
	else if (!strcmp(path, members.all))
		ensemble_children(members_call(members_read_names), members.all, true);
}

size_t members_count(void)
{
	return members.count;
}

const char *members_address(size_t index)
{
	return members.list[index].address;
}

bool members_is_here(size_t index)
{
	return !strcmp(members.names[index], members.node);
}

size_t members_owner(unsigned int shard)
{
	return members.owners[shard];
}

struct json_object *members_show(void)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < members.count; i++) {
		const char *address = members.list[i].address;
		struct json_object *object = json_object_new_object();
		size_t owned = 0;

		for (unsigned int shard = 0; shard < members.shards; shard++)
			owned += members.owners[shard] == i;
		json_add_text(object, "name", members.names[i]);
		json_add_text(object, "address",
			      members_is_here(i) ? members.address : address ?: "");
		json_add_number(object, "shards", owned);
		json_object_array_add(array, object);
	}
	return array;
}

void members_begin(const char *node, unsigned int shards, void (*changed)(void))
{
	members.node = node;
	members.shards = shards;
	members.changed = changed;
	members.owners = memory_get(shards, sizeof(*members.owners));
	peer_own_address(members.address, sizeof(members.address));
	tree_path(members.all, "/members");
	tree_path(members.path, "/members/%s", node);
}

void members_end(void)
{
	members_drop();
	free(members.owners);
}
