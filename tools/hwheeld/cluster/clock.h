/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ensemble's time, which all nodes share: the time that ZooKeeper gives changes. The service's
 * time on a node is never ahead of it, so that nothing is early.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include "../store.h"

/* Measures it. Returns 0 or a negative errno. */
int clock_begin(void);

/* What now_begin() needs: the service's time is the ensemble's. */
void clock_time(struct store_time *time);

#endif /* CLOCK_H */
