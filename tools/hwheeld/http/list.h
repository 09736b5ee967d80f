/* SPDX-License-Identifier: GPL-2.0-only */
/* GET /timeouts: a page of all timeouts that a filter lets through. */
#ifndef LIST_H
#define LIST_H

#include "http/request.h"

void list(struct request *request);

#endif /* LIST_H */
