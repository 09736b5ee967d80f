/* SPDX-License-Identifier: GPL-2.0-only */
/* The log, read into the index: as the daemon begins, and what comes from other nodes later. */
#ifndef REPLAY_H
#define REPLAY_H

#include "store/store.h"

/* Returns 0 or a negative errno. Then all timeouts are there; none is waited for yet. */
int replay(struct service *service);

/* Waits for all of them. */
void replay_arm_all(struct service *service);

/* Parts of the log come and go while the daemon runs. */
extern const struct store_moves replay_moves;

#endif /* REPLAY_H */
