/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node of a record, in the mapping's slots or in one of its lists.
 */
#ifndef _HWHEEL_MAPPED_NODE_H
#define _HWHEEL_MAPPED_NODE_H

#include "engine/edge.h"
#include "engine/slots.h"
#include "mapping.h"

static inline struct hwheel_map_node *hwheel_map_node_of(struct hwheel_node *node)
{
	return container_of(node, struct hwheel_map_node, node);
}

/* The first of a list, which it leaves, or NULL */
static __always_inline struct hwheel_map_node *
hwheel_map_node_pop(struct hwheel_mapping *map, struct hlist_head *list)
{
	struct hlist_node *first = list->first;

	if (!first)
		return NULL;
	map->counts.filed--;
	return hwheel_map_node_of(hwheel_slots_pop_first(list, first, false));
}

/* To a list, where a node counts as filed, too. @node is in none. */
static inline void hwheel_map_node_add(struct hwheel_mapping *map, struct hwheel_map_node *node,
				       struct hlist_head *list)
{
	map->counts.filed++;
	hlist_add_head(&node->node.link, list);
}

/*
 * Files a node, that is in no list, for the record's deadline, and for @first at the earliest. If
 * the cursor has passed that, the node is due at once. With @plain the cursor has not, and the
 * slots have one level.
 */
static __always_inline void hwheel_map_node_file(struct hwheel_mapping *map,
						 struct hwheel_map_node *node, u64 word,
						 u64 first, u32 batch, bool plain)
{
	u64 edge = max(hwheel_edge_due(hwheel_mapping_wheel(map),
				       hwheel_word_deadline(word)), first);
	struct hwheel_slots *slots = &map->slots;

	map->counts.filed++;
	node->batch = batch;
	if (plain)
		hwheel_slots_enqueue_in(slots, &node->node, edge, edge & slots->mask, 0);
	else if (edge <= slots->cursor)
		hwheel_slots_add_due(slots, &node->node, 0);
	else
		hwheel_slots_enqueue(slots, &node->node, edge, 0);
}

static __always_inline void hwheel_map_node_unlink(struct hwheel_mapping *map,
						   struct hwheel_map_node *node)
{
	if (hlist_unhashed(&node->node.link))
		return;
	map->counts.filed--;
	hwheel_slots_unlink(&map->slots, &node->node);
}

#endif /* _HWHEEL_MAPPED_NODE_H */
