/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time that all nodes share, see reckoning.h, becomes the service's time. Its keeper is the
 * node that has been a member for the longest time, and the revision of that node's key is the
 * epoch. All others ask it each second. From time to time the keeper has the store keep the time,
 * for the case that all nodes end.
 */
#ifndef KEEPER_H
#define KEEPER_H

#include "http/request.h"

/* Waits until this node has the time. The members are read as @wait waits for so long. */
void keeper_begin(struct service *service, void (*wait)(int ms));

/* The loop runs. */
void keeper_run(void);
void keeper_end(void);

/* Another node asks for the time. */
void keeper_answer(struct request *request);

#endif /* KEEPER_H */
