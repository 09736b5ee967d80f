/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests about a shard that is on its way from one node to another, or whose node is gone: each
 * is decided on anew, until a node has the shard or the request's time is over.
 */
#ifndef AGAIN_H
#define AGAIN_H

#include "http/request.h"

/* The answer of a node that has done nothing: the node that asked decides anew */
#define AGAIN_STATUS	MHD_HTTP_MISDIRECTED_REQUEST

/* The client's request waits. Nothing has changed for it. */
void again_decide(struct request *request);

/* This node has a shard, or other nodes are there: all that wait need not wait longer. */
void again_soon(void);

/* All that wait are answered. */
void again_end(void);

#endif /* AGAIN_H */
