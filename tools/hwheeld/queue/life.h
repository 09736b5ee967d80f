/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timeout's life in memory: pending until its deadline, due until it is leased, and due again
 * when the lease ends.
 */
#ifndef LIFE_H
#define LIFE_H

#include "queue/timeout.h"

/* Waits for its deadline, or for the end of its lease. */
void life_arm(struct timeout *timeout);

/* The change that it was busy with has ended: becomes what it would have become meanwhile. */
void life_go_on(struct timeout *timeout);

/*
 * If its lease has ended, and the alarm is still on its way: it is due. So a request that comes
 * too late for the lease's client finds it as another client does.
 */
void life_end_lease(struct timeout *timeout);

/* Ends the lease, if any: it is due. */
void life_make_due(struct timeout *timeout);

/*
 * The wall clock was set: deadlines that are points in time move. Or the time that is shared has
 * moved ahead: all alarms that are set come too late.
 */
void life_arm_anew(struct service *service);

#endif /* LIFE_H */
