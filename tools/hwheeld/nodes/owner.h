/* SPDX-License-Identifier: GPL-2.0-only */
/* Which node a request is for: the owner of its shard. */
#ifndef OWNER_H
#define OWNER_H

#include "service.h"

/* Requests go to other nodes, too. */
void owner_begin(struct service *service);

#endif /* OWNER_H */
