/* SPDX-License-Identifier: GPL-2.0-only */
/* A request that another node answers, as a whole. */
#ifndef RELAY_H
#define RELAY_H

#include "http/request.h"

/* The client gets that node's answer, or 503. */
void relay(struct request *request, const char *address);

#endif /* RELAY_H */
