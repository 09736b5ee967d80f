/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The versions of ZooKeeper's servers. One below 3.9.4 may lose what it has accepted when leaders
 * are killed, so hwheeld works with none, unless zookeeper_may_lose says that it may.
 *
 * A thread asks each address of the list by ZooKeeper's command srvr. A server that does not answer
 * is no old server; it is asked again later.
 */
#ifndef VERSIONS_H
#define VERSIONS_H

#include <stdbool.h>

/*
 * There is a connection: asks all servers, until one answers; none does during an election.
 * Returns false, and says why, if one of them is refused; none is if it may lose. In the loop
 * changed() is called when that has changed.
 */
bool versions_begin(const char *servers, bool may_lose, void (*changed)(void));
void versions_end(void);

/* Asks all servers again, soon. */
void versions_look(void);

bool versions_are_fine(void);

#endif /* VERSIONS_H */
