/* SPDX-License-Identifier: GPL-2.0-only */
/* The log, read into the index: as the daemon begins, and what comes from other nodes later. */
#ifndef REPLAY_H
#define REPLAY_H

#include "store/store.h"

/* Returns 0 or a negative errno. Then all timeouts are there; none is waited for yet. */
int replay(struct service *service);

/* Waits for all of them. */
void replay_arm_all(struct service *service);

/* Applies one record to memory; the timeout stays busy. */
void replay_record(void *service, struct record *record);

/* All records of a shard have come. */
void replay_gained(struct service *service, unsigned int shard);

/* Forgets the timeouts of a shard. No change is about them. */
void replay_lost(struct service *service, unsigned int shard);

#endif /* REPLAY_H */
