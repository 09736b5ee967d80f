// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "consensus/ensemble.h"
#include "consensus/tree.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "nodes/rendezvous.h"
#include "nodes/shard.h"
#include "say.h"

struct member {
	char *name;
	char *address;
};

/* The address of a node is read; the list may be another one by then. */
struct reading {
	struct ensemble_call call;
	char name[];
};

static const char *node;
static char path[TREE_PATH], all[TREE_PATH], own[PEER_ADDRESS + 1];
static struct member *members;
static const char **names;		/* theirs */
static size_t count;
static size_t *owners;			/* of each shard */
static unsigned int shards;
static void (*changed)(void);

/* A call of its own for each, as events may come while one is on its way */
static struct ensemble_call *new_call(void (*done)(struct ensemble_call *call))
{
	struct ensemble_call *call = memory_get(1, sizeof(*call));

	call->done = done;
	return call;
}

static bool is_own(size_t index)
{
	return !strcmp(names[index], node);
}

static void want(void)
{
	for (unsigned int i = 0; i < shards; i++) {
		owners[i] = count ? rendezvous_owner(i, names, count) : 0;
		shard_want(i, count && is_own(owners[i]));
	}
}

static void drop(void)
{
	for (size_t i = 0; i < count; i++) {
		free(members[i].name);
		free(members[i].address);
	}
	free(members);
	free(names);
	members = NULL;
	names = NULL;
	count = 0;
}

static struct member *find(const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(members[i].name, name))
			return &members[i];
	return NULL;
}

static void read_address(struct ensemble_call *call)
{
	struct reading *reading = (struct reading *)call;
	struct member *member = find(reading->name);

	if (member && call->value && call->length <= PEER_ADDRESS && peer_is_safe(call->value)) {
		free(member->address);
		member->address = call->value;
		call->value = NULL;
		changed();
	}
	free(call->value);
	free(reading);
}

static void ask_address(const char *name)
{
	struct reading *reading = memory_get(1, sizeof(*reading) + strlen(name) + 1);
	char of[TREE_PATH];

	reading->call.done = read_address;
	memcpy(reading->name, name, strlen(name));
	tree_path(of, "/members/%s", name);
	ensemble_get(&reading->call, of);
}

static char *take_known_address(const char *name)
{
	struct member *member = find(name);
	char *address = member ? member->address : NULL;

	if (member)
		member->address = NULL;
	return address;
}

static int compare(const void *one, const void *other)
{
	return strcmp(((const struct member *)one)->name, ((const struct member *)other)->name);
}

static void take_names(const struct String_vector *vector)
{
	size_t new_count = (size_t)vector->count;
	struct member *new = memory_get(new_count, sizeof(*new));

	for (size_t i = 0; i < new_count; i++) {
		new[i].name = memory_copy(vector->data[i], strlen(vector->data[i]));
		new[i].address = take_known_address(new[i].name);
	}
	qsort(new, new_count, sizeof(*new), compare);
	drop();
	members = new;
	count = new_count;
	names = memory_get(count, sizeof(*names));
	for (size_t i = 0; i < count; i++)
		names[i] = members[i].name;
}

static void read_names(struct ensemble_call *call)
{
	if (!call->error) {
		take_names(&call->names);
		say(LOG_NOTICE, "cluster: %zu nodes are there", count);
		want();
		for (size_t i = 0; i < count; i++)
			if (!is_own(i))
				ask_address(names[i]);
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
	ensemble_create(new_call(joined), path, own, ZOO_EPHEMERAL);
}

void members_connected(void)
{
	join();
	ensemble_children(new_call(read_names), all, true);
}

void members_changed(const char *at)
{
	if (!strcmp(at, path))
		join();
	else if (!strcmp(at, all))
		ensemble_children(new_call(read_names), all, true);
}

size_t members_count(void)
{
	return count;
}

bool members_is_first(void)
{
	return count && is_own(0);
}

const char *members_address(size_t index)
{
	return members[index].address;
}

bool members_is_here(size_t index)
{
	return is_own(index);
}

size_t members_owner(unsigned int shard)
{
	return owners[shard];
}

static size_t count_shards(size_t member)
{
	size_t found = 0;

	for (unsigned int i = 0; i < shards; i++)
		found += owners[i] == member;
	return found;
}

static struct json_object *show(size_t index)
{
	const char *address = is_own(index) ? own : members[index].address;
	struct json_object *object = json_object_new_object();

	json_add_text(object, "name", names[index]);
	json_add_text(object, "address", address ?: "");
	json_add_number(object, "shards", count_shards(index));
	return object;
}

struct json_object *members_show(void)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, show(i));
	return array;
}

void members_begin(const char *the_node, unsigned int the_shards, void (*the_changed)(void))
{
	node = the_node;
	shards = the_shards;
	changed = the_changed;
	owners = memory_get(shards, sizeof(*owners));
	peer_own_address(own, sizeof(own));
	tree_path(all, "/members");
	tree_path(path, "/members/%s", node);
}

void members_end(void)
{
	drop();
	free(owners);
}
