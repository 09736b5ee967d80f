/* SPDX-License-Identifier: GPL-2.0-only */
/* Timeouts are created, or restarted: one, or many in one commit. */
#ifndef PUT_H
#define PUT_H

#include "http/request.h"

void put_one(struct request *request);

/* The body is request->json already, or is read. */
void put_many(struct request *request);

#endif /* PUT_H */
