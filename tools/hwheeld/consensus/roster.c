// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consensus/chain.h"
#include "consensus/roster.h"
#include "memory.h"

#define ROSTER_ALL	"members/"
#define ROSTER_END	"members0"

/* A store has one watch, which is also for what is between: the shards that nodes hold. */
#define ROSTER_WATCH_END	CHAIN_HELD_END

/* More would not fit into a page; that is far beyond what anybody has. */
#define ROSTER_MOST	1000

struct roster {
	struct consensus *store;
	char text[sizeof(uint64_t) + ROSTER_TEXT];	/* the id, and what others get */
	size_t size;
	void (*changed)(void *owner);
	void *owner;

	struct roster_member *members;	/* by name */
	size_t count;

	struct consensus_range range;
	bool is_reading;
	bool wants_reading;

	struct consensus_txn join;
	struct consensus_check check;
	struct consensus_put put;
	char key[CONSENSUS_KEY];
	struct consensus_delete delete;
	bool has_entered;
	bool is_joining;		/* or leaving */
	bool is_refused;
};

/* The members */

static struct roster_member *roster_find(struct roster *roster, const char *name, size_t *place)
{
	size_t i = 0;
	int order = 1;

	while (i < roster->count && (order = strcmp(roster->members[i].name, name)) < 0)
		i++;
	*place = i;
	return i < roster->count && !order ? &roster->members[i] : NULL;
}

static void roster_remove(struct roster *roster, size_t place)
{
	roster->count--;
	memmove(&roster->members[place], &roster->members[place + 1],
		(roster->count - place) * sizeof(*roster->members));
}

static struct roster_member *roster_add(struct roster *roster, const char *name, size_t place)
{
	struct roster_member *member;

	roster->members = memory_need(realloc(roster->members, (roster->count + 1) *
					      sizeof(*roster->members)));
	member = &roster->members[place];
	memmove(member + 1, member, (roster->count - place) * sizeof(*member));
	roster->count++;
	snprintf(member->name, sizeof(member->name), "%s", name);
	return member;
}

/* A key that no node of this version puts is no member. Returns whether it is one. */
static bool roster_apply(struct roster *roster, const struct consensus_item *item)
{
	const char *name = item->key + strlen(ROSTER_ALL);
	const size_t id = sizeof(uint64_t);
	struct roster_member *member;
	size_t place;

	if (strncmp(item->key, ROSTER_ALL, strlen(ROSTER_ALL)) || strlen(name) > ROSTER_NAME ||
	    (item->value && (item->size < id || item->size > id + ROSTER_TEXT)))
		return false;
	member = roster_find(roster, name, &place);
	if (!item->value) {
		if (member)
			roster_remove(roster, place);
		return member;
	}
	member = member ?: roster_add(roster, name, place);
	memcpy(member->text, (const char *)item->value + id, item->size - id);
	member->text[item->size - id] = 0;
	member->revision = item->revision;
	member->is_here = !strcmp(item->key, roster->key) && !memcmp(item->value, roster->text, id);
	return true;
}

/* Reading */

static void roster_settle(struct roster *roster);

static void roster_read_done(struct consensus_range *range)
{
	struct roster *roster = (struct roster *)((char *)range - offsetof(struct roster, range));

	roster->is_reading = false;
	if (range->error) {
		roster->wants_reading = true;
		return;
	}
	roster->count = 0;
	for (size_t i = 0; i < range->count; i++)
		roster_apply(roster, &range->items[i]);
	roster->store->ops->watch(roster->store, ROSTER_ALL, ROSTER_WATCH_END,
				  range->revision + 1);
	roster->changed(roster->owner);
	roster_settle(roster);
	if (roster->wants_reading)
		roster_look(roster);
}

void roster_look(struct roster *roster)
{
	roster->wants_reading = roster->is_reading;
	if (roster->is_reading)
		return;
	roster->is_reading = true;
	roster->range = (struct consensus_range) { .from = ROSTER_ALL, .end = ROSTER_END,
						   .most = ROSTER_MOST, .done = roster_read_done };
	roster->store->ops->range(roster->store, &roster->range);
}

/* Joining */

static const struct roster_member *roster_own(const struct roster *roster)
{
	for (size_t i = 0; i < roster->count; i++)
		if (roster->members[i].is_here)
			return &roster->members[i];
	return NULL;
}

/* The members show whether it was done. */
static void roster_settled(struct consensus_txn *txn)
{
	struct roster *roster = (struct roster *)((char *)txn - offsetof(struct roster, join));

	roster->is_joining = false;
	roster->is_refused = txn->error == -ESTALE;
	if (roster->is_refused)
		roster_look(roster);
}

/*
 * Puts or deletes this node's key. One of this name that is there is another node's, or of a
 * session that has not ended yet.
 */
static void roster_settle(struct roster *roster)
{
	const struct roster_member *own = roster_own(roster);

	if (roster->is_joining || !roster->store->ops->session(roster->store) ||
	    roster->has_entered == !!own)
		return;
	roster->is_joining = true;
	roster->check = (struct consensus_check) { roster->key, own ? own->revision : 0 };
	roster->put = (struct consensus_put) { .key = roster->key, .value = roster->text,
					       .size = roster->size, .in_session = true };
	roster->delete = (struct consensus_delete) { .key = roster->key };
	roster->join = (struct consensus_txn) {
		.checks = &roster->check, .checks_count = 1,
		.puts = &roster->put, .puts_count = !own,
		.deletes = &roster->delete, .deletes_count = !!own, .done = roster_settled,
	};
	roster->store->ops->txn(roster->store, &roster->join);
}

/* Events */

void roster_changed(struct roster *roster, const struct consensus_item *changes, size_t count)
{
	bool are_others = false;

	for (size_t i = 0; i < count; i++)
		are_others |= roster_apply(roster, &changes[i]);
	if (!are_others)
		return;
	roster->changed(roster->owner);
	roster_settle(roster);
}

void roster_retry(struct roster *roster)
{
	if (roster->wants_reading)
		roster_look(roster);
	roster_settle(roster);
}

bool roster_is_refused(const struct roster *roster)
{
	return roster->is_refused && !roster_own(roster) &&
	       roster->store->ops->session(roster->store);
}

const struct roster_member *roster_members(const struct roster *roster, size_t *count)
{
	*count = roster->count;
	return roster->members;
}

struct roster *roster_new(struct consensus *store, const char *name, uint64_t id,
			  const char *text, void (*changed)(void *owner), void *owner)
{
	struct roster *roster = memory_get(1, sizeof(*roster));

	roster->store = store;
	roster->size = sizeof(id) + strlen(text);
	memcpy(roster->text, &id, sizeof(id));
	memcpy(roster->text + sizeof(id), text, strlen(text));
	roster->changed = changed;
	roster->owner = owner;
	snprintf(roster->key, sizeof(roster->key), ROSTER_ALL "%s", name);
	roster_look(roster);
	return roster;
}

void roster_enter(struct roster *roster)
{
	roster->has_entered = true;
	roster_settle(roster);
}

void roster_leave(struct roster *roster)
{
	if (!roster->has_entered)
		return;
	roster->has_entered = false;
	roster_settle(roster);
}

void roster_free(struct roster *roster)
{
	free(roster->members);
	free(roster);
}
