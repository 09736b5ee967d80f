/* SPDX-License-Identifier: GPL-2.0-only */
/* Which request is for whom. */
#ifndef ROUTE_H
#define ROUTE_H

#include "http/exchange.h"
#include "store/store.h"

void route_begin(struct store *store);

/* The request is complete. It is answered now, or later. */
void route(struct exchange *exchange);

#endif /* ROUTE_H */
