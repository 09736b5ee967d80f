/* SPDX-License-Identifier: GPL-2.0-only */
/* Which node a request is for: the owner of its shard. */
#ifndef OWNER_H
#define OWNER_H

#include "service.h"

/* Requests go to other nodes, too. @is_sure: does this node have its shards, as it thinks? */
void owner_begin(struct service *service, bool (*is_sure)(void));

#endif /* OWNER_H */
