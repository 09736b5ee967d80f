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
void replay_record(struct service *service, uint64_t seq, const struct record *record);

/* A shard has come: its records had numbers from @seq on, among those of other ones. */
void replay_gained(struct service *service, uint64_t seq, unsigned int shard);

/* Of each shard: forgets its timeouts. No request is about them any more. */
void replay_lost(struct service *service, const bool *is_lost);

#endif /* REPLAY_H */
