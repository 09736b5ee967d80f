/* SPDX-License-Identifier: GPL-2.0-only */
/* The log, read into the index. */
#ifndef REPLAY_H
#define REPLAY_H

#include "store/store.h"

/* Returns 0 or a negative errno. Then all timeouts are there; none is waited for yet. */
int replay(struct store *store);

/* What one record says becomes true in memory; the timeout stays busy. */
void replay_record(uint64_t seq, const struct record *record);

#endif /* REPLAY_H */
