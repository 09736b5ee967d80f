/* SPDX-License-Identifier: GPL-2.0-only */
/* Timeouts are created, or restarted: one, or many in one commit. */
#ifndef PUT_H
#define PUT_H

#include "http/request.h"

/* By the path, one: that of the key. The body is request->json already, or is read. */
void put(struct request *request);

#endif /* PUT_H */
