/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The nodes that live. Each one has a key in its session, with what others are to have of it:
 *
 *	members/NODE
 *
 * The value has a random number, by which a node recognises its own key, and then the text for
 * others. A second node of the same name waits for the end of the first one's session. The revision
 * of a node's key orders nodes by when they joined.
 */
#ifndef ROSTER_H
#define ROSTER_H

#include "consensus/consensus.h"

#define ROSTER_NAME	64
#define ROSTER_TEXT	512

struct roster_member {
	char name[ROSTER_NAME + 1];
	char text[ROSTER_TEXT + 1];
	uint64_t revision;
	bool is_here;			/* it is this roster's, and none of the same name */
};

struct roster;

/*
 * @name: 1 to ROSTER_NAME letters, digits, dots, dashes or underscores; @id: a random number, which
 * shows whether a key of this name is this node's own; @text: for others, of ROSTER_TEXT bytes at
 * most. changed() comes when the members are others, and when what
 * roster_look() asked for is there.
 */
struct roster *roster_new(struct consensus *store, const char *name, uint64_t id,
			  const char *text, void (*changed)(void *owner), void *owner);
/* From now on this node is one of them, while it has a session. */
void roster_enter(struct roster *roster);

/* From now on it is none of them: its key goes. What fails is tried again. */
void roster_leave(struct roster *roster);
void roster_free(struct roster *roster);

/* Changes of the store's watch, also those below CHAIN_HELD */
void roster_changed(struct roster *roster, const struct consensus_item *changes, size_t count);

/* Reads the members anew, as after a gap of the watch: a view that is not older than this call. */
void roster_look(struct roster *roster);

/* To be called each second or so, and when a session has begun: what failed is tried again. */
void roster_retry(struct roster *roster);

/*
 * This node has a session, and another one has a key of this name: it is another node's, or has not
 * ended yet.
 */
bool roster_is_refused(const struct roster *roster);

/* By name. None before they were read for the first time. */
const struct roster_member *roster_members(const struct roster *roster, size_t *count);

#endif /* ROSTER_H */
