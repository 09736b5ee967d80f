/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The nodes that live, by the roster, each with the address at which others reach it. Nodes own
 * shards by their names, and keep the clock by the order in which they joined.
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "consensus/roster.h"

struct json_object;

/* @changed: is called when the members are others, or were read anew. Else as roster_new() */
void members_begin(struct consensus *store, const char *node, uint64_t id, unsigned int shards,
		   void (*changed)(void));
void members_end(void);

/* This node is to be one of them. Before that it owns nothing. */
void members_enter(void);

/* Have they been read? */
bool members_are_known(void);

/* Of the store's events, for the roster: see there */
struct roster *members_roster(void);

/* In the order of their names */
size_t members_count(void);

/* The address of a node; NULL: it is this one, or has none that is safe */
const char *members_address(size_t index);

/* Has any other node this address? */
bool members_have(const char *address);

/* Is it this node? Another one of its name is not. */
bool members_is_here(size_t index);

/* Is this node one of them? */
bool members_have_this(void);

/* The node that should have the shard, by now or soon; there is one at least. */
size_t members_owner(unsigned int shard);

/* The node that has been there for the longest time; there is one at least. */
size_t members_oldest(void);

/* Larger than that of each node that joined before */
uint64_t members_revision(size_t index);

/* Names, addresses, and how many shards each should have */
struct json_object *members_show(void);

#endif /* MEMBERS_H */
