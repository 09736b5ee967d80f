/* SPDX-License-Identifier: GPL-2.0-only */
/* Which request is for whom: the table of all paths. */
#ifndef ROUTE_H
#define ROUTE_H

#include "http/request.h"

/* The request is complete. It is answered now, or later. */
void route(struct request *request);

#endif /* ROUTE_H */
