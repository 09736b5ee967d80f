// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "hwheelctl/json.h"
#include "memory.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "say.h"

static struct {
	struct roster *roster;
	const struct roster_member *list;
	size_t count;
	size_t *owners;			/* of each shard */
	unsigned int shards;
	bool are_known;
	void (*changed)(void);
} members;

static void members_note(void *owner)
{
	size_t before = members.count;
	const char **names;

	members.are_known = true;
	members.list = roster_members(members.roster, &members.count);
	names = memory_get(members.count, sizeof(*names));
	for (size_t i = 0; i < members.count; i++)
		names[i] = members.list[i].name;
	for (unsigned int i = 0; i < members.shards; i++)
		members.owners[i] = members.count ? hash_owner(i, names, members.count) : 0;
	free(names);
	if (members.count != before)
		say(LOG_NOTICE, "cluster: %zu nodes are there", members.count);
	members.changed();
}

struct roster *members_roster(void)
{
	return members.roster;
}

void members_enter(void)
{
	roster_enter(members.roster);
}

bool members_are_known(void)
{
	return members.are_known;
}

size_t members_count(void)
{
	return members.count;
}

const char *members_address(size_t index)
{
	const char *address = members.list[index].text;

	return members_is_here(index) || !peer_is_safe(address) ? NULL : address;
}

bool members_is_here(size_t index)
{
	return members.list[index].is_here;
}

bool members_have(const char *address)
{
	size_t i = 0;

	while (i < members.count &&
	       (!members_address(i) || strcmp(members_address(i), address)))
		i++;
	return i < members.count;
}

bool members_have_this(void)
{
	size_t i = 0;

	while (i < members.count && !members_is_here(i))
		i++;
	return i < members.count;
}

size_t members_owner(unsigned int shard)
{
	return members.owners[shard];
}

size_t members_oldest(void)
{
	size_t oldest = 0;

	for (size_t i = 1; i < members.count; i++)
		if (members.list[i].revision < members.list[oldest].revision)
			oldest = i;
	return oldest;
}

uint64_t members_revision(size_t index)
{
	return members.list[index].revision;
}

struct json_object *members_show(void)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < members.count; i++) {
		struct json_object *object = json_object_new_object();
		size_t owned = 0;

		for (unsigned int shard = 0; shard < members.shards; shard++)
			owned += members.owners[shard] == i;
		json_add_text(object, "name", members.list[i].name);
		json_add_text(object, "address", members.list[i].text);
		json_add_number(object, "shards", owned);
		json_object_array_add(array, object);
	}
	return array;
}

void members_begin(struct consensus *store, const char *node, uint64_t id, unsigned int shards,
		   void (*changed)(void))
{
	members.shards = shards;
	members.changed = changed;
	members.owners = memory_get(shards, sizeof(*members.owners));
	members.roster = roster_new(store, node, id, peer_own_address(), members_note, NULL);
}

void members_end(void)
{
	roster_free(members.roster);
	free(members.owners);
	members.roster = NULL;
	members.list = NULL;
	members.count = 0;
}
