/* SPDX-License-Identifier: GPL-2.0-only */
/* Timeouts are created, or restarted: one, or many in one commit. */
#ifndef PUT_H
#define PUT_H

#include "http/exchange.h"

void put_one(struct exchange *exchange, const char *key, size_t length);
void put_many(struct exchange *exchange);

#endif /* PUT_H */
