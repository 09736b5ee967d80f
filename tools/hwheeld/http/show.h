/* SPDX-License-Identifier: GPL-2.0-only */
/* GET: what there is, as JSON. */
#ifndef SHOW_H
#define SHOW_H

#include "http/request.h"

extern const char openapi_begin[], openapi_end[];

/* The state of a store that has a damaged record */
#define SHOW_DAMAGED	"a record is damaged: an operator has to decide"

void show_one(struct request *request);
void show_queues(struct request *request);
void show_openapi(struct request *request);

/* All figures, as OpenMetrics has them, see openmetrics.c */
void show_metrics(struct request *request);
void show_health(struct request *request);
void show_cluster(struct request *request);

/* An operator accepts what is missing in a shard, or damaged in the log of one machine. */
void show_accept_missing(struct request *request);

/* For other nodes: the time, the tails of shards, and what their clients ask */
void show_for_nodes(struct request *request);

#endif /* SHOW_H */
