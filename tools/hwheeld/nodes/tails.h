/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes exchange the tails of shards, so that one of them notices if the store loses the end of a
 * chain; see tenure.h. A node sends its own to each other node, which answers with what it had
 * before.
 */
#ifndef TAILS_H
#define TAILS_H

#include "http/request.h"

void tails_begin(struct service *service);
void tails_end(void);

/* To be called each second or so: sends those of some shards. */
void tails_send(void);

/* Another node has sent its own. */
void tails_answer(struct request *request);

#endif /* TAILS_H */
