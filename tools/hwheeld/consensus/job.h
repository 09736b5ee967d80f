/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job: a request of the store, as one commit for each shard that it is about. A request is
 * committed or refused as a whole, but the commits of its shards are not:
 *
 *	all are refused		the request is
 *	some are done		those that were refused, and whose shard this node has, are sent
 *				again until they are done: the request is unknown until then
 *	a shard is lost		the request is committed when all others are done; what it said of
 *				that shard is forgotten with it
 */
#ifndef JOB_H
#define JOB_H

#include "store/store.h"

/* From its submission to its end each job holds the shards that it is about. */
void job_begin(struct store_figures *figures, unsigned int shards);

/* The tenures are gone, and all jobs have ended. */
void job_end(void);

void job_submit(struct store_request *request);

/* Hands what waits to the tenures, or refuses it. */
void job_flush(void);

/* Is there any of unknown outcome? Then job_send_again() is to be called each second or so. */
bool job_is_unknown(void);
void job_send_again(void);

bool job_is_busy(void);

#endif /* JOB_H */
