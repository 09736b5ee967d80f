/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The nodes that live: /members/NAME, ephemeral, with the address at which others reach the node.
 * Each node owns shards by their names.
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

struct json_object;

/* @changed: is called when others, or their addresses, are known. */
void members_begin(const char *node, unsigned int shards, void (*changed)(void));
void members_end(void);

/* There is a connection: joins, and reads who else is there. */
void members_connected(void);
void members_changed(const char *path);

/* In the order of their names */
size_t members_count(void);

/* The address of a node; NULL: it is this one, or is not known yet */
const char *members_address(size_t index);

/* Is it this node? */
bool members_is_here(size_t index);

/* The node that should have the shard, by now or soon; there is one at least. */
size_t members_owner(unsigned int shard);

/* Names, addresses, and how many shards each should have */
struct json_object *members_show(void);

#endif /* MEMBERS_H */
