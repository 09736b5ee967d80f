/* SPDX-License-Identifier: GPL-2.0-only */
/* GET: what there is, as JSON. */
#ifndef SHOW_H
#define SHOW_H

#include "http/request.h"

void show_one(struct request *request);
void show_list(struct request *request);
void show_queues(struct request *request);
void show_health(struct request *request);
void show_cluster(struct request *request);

#endif /* SHOW_H */
